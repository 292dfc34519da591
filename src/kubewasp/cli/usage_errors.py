"""Usage errors of all commands: one line, in the words of this project instead of typer's."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from kubewasp.cli.output import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import typer

# The beginning of errors that name an option or an argument.
_NAMED: Final = re.compile(r"^(Invalid value for|Missing argument|Missing option) ('.+?'(?: / '.+?')*|[^':]+)(:|\.|$)")
_REWORDED: Final = (
    (re.compile(r"^Invalid value: "), ""),
    (re.compile(r"('.*'|\".*\") is not one of (.+)$"), lambda found: f"expected {_choice(found[2])}, got {found[1]}"),
    (re.compile(r"Choose from: (.+)$"), lambda found: f"choose {_choice(found[1])}"),
    (re.compile(r"('.*'|\".*\") is not a valid int(?:eger)?(?: range)?$"), r"expected an integer, got \1"),
    (re.compile(r"('.*'|\".*\") is not a valid float(?: range)?$"), r"expected a number, got \1"),
    (re.compile(r"(\S+) is not in the range x>=([^<>=x]+)$"), r"expected at least \2, got \1"),
    (re.compile(r"(\S+) is not in the range x<=([^<>=x]+)$"), r"expected at most \2, got \1"),
    (re.compile(r"(\S+) is not in the range ([^<>=x]+)<=x<=([^<>=x]+)$"), r"expected \2 to \3, got \1"),
    (re.compile(r"^Got unexpected extra arguments?(?:\(s\))? \((.+)\)$"), r"unexpected argument: \1"),
    (re.compile(r" \(Possible options: (.+)\)$"), lambda found: f"; did you mean {_choice(found[1])}?"),
    (re.compile(r"\. Did you mean (.+)\?$"), r"; did you mean \1?"),
)


def usage_error_text(error: typer.TyperException) -> str:
    """The problem, and the command that shows the right usage."""
    text = " ".join(error.format_message().split()).removesuffix(".")
    text = _NAMED.sub(lambda found: f"{found[1]} {_longest(found[2])}{found[3].replace('.', ':')}", text)
    for pattern, words in _REWORDED:
        text = pattern.sub(words, text)
    context = getattr(error, "ctx", None)
    where = f" (see {context.command_path} --help)" if context is not None else ""
    return printable(text[:1].lower() + text[1:] + where)


def unknown(kind: str, name: str, known: Sequence[str]) -> str:
    """`unknown hook 'fliter'; did you mean filter?`, or all known names if none is similar."""
    similar = get_close_matches(name, known, n=1)
    hint = f"did you mean {similar[0]}?" if similar else f"there are {', '.join(known)}"
    return f"unknown {kind} {name!r}; {hint}"


def _longest(names: str) -> str:
    """`--output` for `'-o' / '--output'`."""
    return max((name.strip().strip("'") for name in names.split(" / ")), key=len)


def _choice(names: str) -> str:
    """`a, b or c` for `'a', 'b', 'c'`."""
    *first, last = (name.strip("' ") for name in names.split(","))
    return f"{', '.join(first)} or {last}" if first else last
