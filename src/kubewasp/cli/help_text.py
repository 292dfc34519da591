"""Help of all commands: plain text of the terminal's width, of 80 columns at most."""

from __future__ import annotations

import inspect
import re
import shutil
from enum import Enum
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from kubewasp.cli.output import has_styles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_WIDEST: Final = 80
_NARROWEST: Final = 40
# Width of the names of options and commands, at most; the text of a longer one begins in the next line.
_NAMES: Final = 28
_EXAMPLE: Final = "Example: "
_TOGETHER: Final = "\xa0"  # a blank at which no line ends


def help_text(command: Any, context: Any) -> str:
    """Help of a command (a `typer.core.TyperCommand` or `TyperGroup`): usage, text, examples, parameters."""
    width = max(_NARROWEST, min(shutil.get_terminal_size().columns, _WIDEST))
    paragraphs = _paragraphs(command.help or "")
    texts = [text for text in paragraphs if not text.startswith(_EXAMPLE)]
    examples = [text.removeprefix(_EXAMPLE) for text in paragraphs if text.startswith(_EXAMPLE)]
    sections = ["\n".join(_wrapped(usage(command, context), width, after="    "))]
    sections += [text if text.startswith(" ") else "\n".join(_wrapped(text, width)) for text in texts]
    if examples:
        heading = "Example" if len(examples) == 1 else "Examples"
        sections.append(_section(heading, (line for text in examples for line in _command_lines(text, width))))
    shown = [param for param in command.get_params(context) if not getattr(param, "hidden", False)]
    arguments = [(_name(param), _argument_text(param)) for param in shown if param.param_type_name == "argument"]
    options = [(_option_names(param), _option_text(param)) for param in shown if param.param_type_name == "option"]
    if arguments:
        sections.append(_section("Arguments", _columns(arguments, width)))
    sections.append(_section("Options", _columns(options, width)))
    commands: dict[str, list[tuple[str, str]]] = {}
    for name, each in getattr(command, "commands", {}).items():
        if not each.hidden:
            row = (name, each.short_help or _paragraphs(each.help or "")[0])
            commands.setdefault(each.rich_help_panel or "Commands", []).append(row)
    for heading in sorted(commands):
        sections.append(_section(heading, _columns(commands[heading], width)))
    if commands:
        more = f"Options and examples of a command: {context.command_path} COMMAND --help"
        sections.append("\n".join(_wrapped(more, width)))
    return "\n\n".join(sections) + "\n"


def usage(command: Any, context: Any) -> str:
    arguments = [_in_usage(param) for param in command.get_params(context) if param.param_type_name == "argument"]
    subcommand = []
    if getattr(command, "commands", None):
        subcommand = ["[COMMAND]" if command.invoke_without_command else "COMMAND"]
    return " ".join([f"Usage: {context.command_path} [OPTIONS]", *arguments, *subcommand])


def _paragraphs(text: str) -> list[str]:
    """Paragraphs of a docstring, each in one line; indented ones are kept as they are."""
    found = inspect.cleandoc(text).split("\n\n")
    return [part if part.startswith(" ") else " ".join(part.split()) for part in found if part]


def _wrapped(text: str, width: int, *, after: str = "") -> list[str]:
    lines = wrap(text, width, subsequent_indent=after, break_long_words=False, break_on_hyphens=False)
    return [line.replace(_TOGETHER, " ") for line in lines]


def _section(heading: str, lines: Iterable[str]) -> str:
    title = f"{heading}:"
    return "\n".join([f"\x1b[1m{title}\x1b[0m" if has_styles() else title, *lines])


def _columns(rows: list[tuple[str, str]], width: int) -> Iterator[str]:
    """Names and their texts, side by side."""
    names = min(_NAMES, max(len(name) for name, _ in rows))
    indent = names + 4
    for name, text in rows:
        lines = _wrapped(text, width - indent) or [""]
        if len(name) > names:
            yield f"  {name}"
        else:
            yield f"  {name:{names}}  {lines.pop(0)}".rstrip()
        for line in lines:
            yield " " * indent + line


def _command_lines(command: str, width: int) -> Iterator[str]:
    """A command, in lines that a shell reads as one."""
    lines = [""]
    for part in re.split(r" (?=--?\w|> )", command):
        if lines[-1] and len(lines[-1]) + len(part) + 5 > width:
            lines.append("  " + part)
        else:
            lines[-1] = f"{lines[-1]} {part}".lstrip() if len(lines) == 1 else f"{lines[-1]} {part}"
    for number, line in enumerate(lines, 1):
        yield f"  {line}" + (" \\" if number < len(lines) else "")


def _name(param: Any) -> str:
    name = str(param.metavar or param.name.upper())
    return f"{name}..." if param.nargs != 1 else name


def _in_usage(param: Any) -> str:
    return _name(param) if param.required else f"[{_name(param)}]"


def _option_names(param: Any) -> str:
    """Names up to the first long one, and the value. Names after it are old ones, which still work."""
    if param.name == "help":
        return "-h, --help"
    long = next((place for place, name in enumerate(param.opts) if name.startswith("--")), len(param.opts))
    short = param.opts[:long]
    shown = ", ".join(param.opts[: long + 1])
    if param.secondary_opts:
        shown += f", {param.secondary_opts[0]}"
    value = "" if param.is_flag else f" {param.metavar or param.name.upper()}"
    return ("" if short else "    ") + shown + value


def _argument_text(param: Any) -> str:
    return " ".join(filter(None, [param.help, _default(param)]))


def _option_text(param: Any) -> str:
    notes = ["Required." if param.required else "", _range(param)]
    return " ".join(filter(None, [param.help, *notes, _default(param)]))


def _default(param: Any) -> str:
    default = param.default
    if isinstance(default, bool) and param.secondary_opts:
        default = (param.opts if default else param.secondary_opts)[0]
    if not param.show_default or default is None or isinstance(default, bool) or default in ("", (), []):
        return ""
    return f"[default:{_TOGETHER}{default.value if isinstance(default, Enum) else default}]"


def _range(param: Any) -> str:
    low, high = getattr(param, "min", None), getattr(param, "max", None)
    if low is None or (low == 0 and high is None):
        return ""
    return f"At least {low:g}." if high is None else f"From {low:g} to {high:,}."
