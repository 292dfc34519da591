"""All commands of both command lines, found by introspection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from kubewasp.cli.main import app
from tools.bench.cli import app as bench_app

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Found:
    """A command or group: its words on the command line, without the program's name."""

    words: tuple[str, ...]
    command: Any

    @property
    def options(self) -> set[str]:
        """All names of all options."""
        names = {name for param in self.command.params for name in (*param.opts, *param.secondary_opts)}
        return {name for name in names if name.startswith("-")} | {"-h", "--help"}

    @property
    def is_group(self) -> bool:
        return bool(getattr(self.command, "commands", None))


def commands(root: typer.Typer) -> list[Found]:
    return list(_below((), typer.main.get_command(root)))


def _below(words: tuple[str, ...], command: Any) -> Iterator[Found]:
    yield Found(words, command)
    for name, each in getattr(command, "commands", {}).items():
        yield from _below((*words, name), each)


KUBEWASP = commands(app)
BENCH = commands(bench_app)


def name(found: object) -> str:
    """Test id."""
    return " ".join(found.words) or "kubewasp" if isinstance(found, Found) else str(found)
