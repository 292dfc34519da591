"""`CommandGroup`: a group of commands with the help format of this project."""

from __future__ import annotations

import copy
import itertools
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_name

from kubewasp.cli.help_text import help_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from typer.models import CommandInfo


class _Command(TyperCommand):
    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(help_text(self, ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_without_equals(args, self.get_params(ctx))))


def _without_equals(args: list[str], parameters: Iterable[Any]) -> Iterator[str]:
    """`-v 2` for `-v=2`, the form of Kubernetes components and kubectl, which the parser would read as `=2`."""
    options = (one for one in parameters if one.param_type_name == "option")
    with_value = {name for one in options if not one.is_flag and not one.count for name in one.opts}
    words = iter(args)
    for word in words:
        if word == "--":
            yield word
            break
        if word[:2] in with_value and word[2:3] == "=":
            yield from (word[:2], word[3:])
            continue
        yield word
        if word in with_value:  # the next word is its value, whatever it looks like
            yield from itertools.islice(words, 1)
    yield from words


class _Group(TyperGroup):
    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(help_text(self, ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_without_equals(args, self.get_params(ctx))))


class CommandGroup(typer.Typer):
    """`typer.Typer` with help as plain text. Errors are left to the caller, and `completion` is a command."""

    def __init__(self, *, help: str | None = None, invoke_without_command: bool = False) -> None:  # noqa: A002 - as in typer
        # Without a help, that of the callback counts.
        settings: dict[str, Any] = {} if help is None else {"help": help}
        super().__init__(
            cls=_Group,
            **settings,
            invoke_without_command=invoke_without_command,
            no_args_is_help=not invoke_without_command,
            add_completion=False,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
            context_settings={"help_option_names": ["-h", "--help"]},
        )

    def command(self, name: str | None = None, **settings: Any) -> Callable[..., Any]:
        return super().command(name, cls=_Command, **settings)

    def narrowed(self, words: Sequence[str], *, is_root: bool = True) -> CommandGroup:
        """The group without the commands that the words of a command line pass by; itself if they name none.

        typer builds all parameters of all commands before it looks at the words: a third of a short command's time.
        """
        first = words[0] if words else ""
        groups = [found for found in self.registered_groups if found.name == first]
        commands = [found for found in self.registered_commands if _name(found) == first]
        # A root that has a single command and no callback becomes that command, and its name an argument.
        if not groups and (not commands or (is_root and not self.registered_callback)):
            return self
        made = copy.copy(self)
        made.registered_groups, made.registered_commands = [copy.copy(group) for group in groups], commands
        for group in made.registered_groups:
            if isinstance(group.typer_instance, CommandGroup):
                group.typer_instance = group.typer_instance.narrowed(words[1:], is_root=False)
        return made


def _name(command: CommandInfo) -> str:
    return command.name or get_command_name(getattr(command.callback, "__name__", ""))
