"""`CommandGroup`: a group of commands with the help format of this project."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from kubewasp.cli.help_text import help_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


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
