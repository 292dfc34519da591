"""`CommandGroup`: a group of commands with the help format of this project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from kubewasp.cli.help_text import help_text

if TYPE_CHECKING:
    from collections.abc import Callable


class _Command(TyperCommand):
    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(help_text(self, ctx))


class _Group(TyperGroup):
    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(help_text(self, ctx))


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
