"""What a program may do: the directories it sees, its variables and arguments, its bounds. There is nothing else."""

from __future__ import annotations

import math
import os
import posixpath
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kubewasp.errors import KubewaspError
from kubewasp.wasm.limits import KIB, MIB

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_MEMORY = 1024 * MIB
DEFAULT_STACK = 1 * MIB
MAX_FUEL = 2**63 - 1
MAX_TIMEOUT = 10 * 365 * 24 * 3600.0
_PART = re.compile(r"(?:\\.|[^:\\])*", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class GrantError(KubewaspError):
    """A grant that cannot be given; the text says which, and why."""


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory of this machine that the program sees, by what name, and whether it may change something there."""

    host: str
    guest: str
    read_only: bool = False

    @classmethod
    def parse(cls, text: str) -> Directory:
        r"""HOST[:GUEST][:ro]. A colon that belongs to a path is written `\:`, a backslash `\\`."""
        parts = _parts(text)
        read_only = len(parts) > 1 and parts[-1] == "ro"
        if read_only:
            parts.pop()
        if len(parts) > 2 or not all(parts):
            raise GrantError(
                rf"--dir {text}: expected HOST[:GUEST][:ro]; a colon that belongs to a path is written as \:"
            )
        return cls(parts[0], parts[-1], read_only)

    def __str__(self) -> str:
        host, guest = (re.sub(r"([:\\])", r"\\\1", path) for path in (self.host, self.guest))
        return host + (f":{guest}" if self.guest != self.host else "") + (":ro" if self.read_only else "")

    @property
    def shown_as(self) -> str:
        """Its name as the program is told: below /, which every program's library takes for the current directory."""
        plain = plain_path(self.guest)
        return self.guest if plain.split("/")[0] == ".." else f"/{plain}"

    def check(self) -> None:
        shown = f"--dir {self}"
        if "\0" in self.host + self.guest:
            raise GrantError(f"{shown!r}: a path cannot hold a NUL character")
        path = Path(self.host)
        if path.exists() and not path.is_dir():
            parent = Directory(str(path.parent), str(path.parent), self.read_only)
            raise GrantError(f"{shown}: {self.host} is not a directory; grant the one that holds it: --dir {parent}")
        try:
            os.close(os.open(self.host, os.O_RDONLY | os.O_DIRECTORY))
        except OSError as error:
            raise GrantError(f"{shown}: {self.host}: {error.strerror}") from None


def _parts(text: str) -> list[str]:
    found, at = [], 0
    while True:
        match = _PART.match(text, at)
        end = at if match is None else match.end()
        found.append(_ESCAPE.sub(r"\1", text[at:end]))
        if end >= len(text) or text[end] != ":":
            return found if end >= len(text) else [""]
        at = end + 1


def plain_path(guest: str) -> str:
    """A path as programs look it up: `data`, `./data` and `/data` are one; the empty one is where everything is."""
    plain = posixpath.normpath(guest).lstrip("/")
    return "" if plain == "." else plain


@dataclass(frozen=True, slots=True)
class Grants:
    """Everything that a program may have. Times are seconds, sizes bytes; without a bound it is None."""

    directories: tuple[Directory, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    memory: int = DEFAULT_MEMORY
    stack: int = DEFAULT_STACK
    timeout: float | None = None
    fuel: int | None = None

    def __post_init__(self) -> None:
        _check_range("--memory", self.memory, 64 * KIB, 4096 * MIB)
        _check_range("--stack", self.stack, 64 * KIB, 4 * MIB)
        if self.timeout is not None:
            _check_range("--timeout", self.timeout, 0.001, MAX_TIMEOUT)
        if self.fuel is not None:
            _check_range("--fuel", self.fuel, 1, MAX_FUEL)
        for name, value in self.environment.items():
            if not name or "=" in name or "\0" in name + value:
                raise GrantError(f"--env {name}={value!r}: expected NAME=VALUE, without NUL characters")
        if any("\0" in argument for argument in self.arguments):
            raise GrantError("an argument cannot hold a NUL character")
        self._check_directories()

    def in_order(self) -> list[Directory]:
        """The directories as they are handed over. The root is the first: Go's programs start in the first one."""
        return sorted(self.directories, key=lambda directory: directory.shown_as != "/")

    def _check_directories(self) -> None:
        known: dict[str, Directory] = {}
        for directory in self.directories:
            directory.check()
            other = known.setdefault(plain_path(directory.guest), directory)
            if other is not directory:
                raise GrantError(
                    f"--dir {other} and --dir {directory}: both are {directory.guest} to the program; "
                    "give one of them another name: --dir HOST:GUEST"
                )
        writable = [(Path(item.host).resolve(), item) for item in self.directories if not item.read_only]
        for directory in self.directories:
            for path, other in writable:
                if directory.read_only and Path(directory.host).resolve().is_relative_to(path):
                    raise GrantError(
                        f"--dir {directory}: it can be written through --dir {other}, which holds it; "
                        f"add :ro there too, or grant something else"
                    )


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if isinstance(value, bool) or math.isnan(value) or not low <= value <= high:
        raise GrantError(f"{name}: expected a number from {low} to {high}, got {value}")
