"""Capabilities of a WASI program: preopened directories, variables, arguments, limits. Nothing else is available."""

from __future__ import annotations

import math
import os
import posixpath
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from kubewasp.errors import KubewaspError
from kubewasp.k8s.duration import format_duration
from kubewasp.k8s.quantity import format_size
from kubewasp.wasm.limits import COMPILATION, KIB, MIB, CompileLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Number = TypeVar("Number", int, float)

DEFAULT_MEMORY = 1024 * MIB
DEFAULT_STACK = 1 * MIB
MAX_FUEL = 2**63 - 1
MAX_TIMEOUT = 10 * 365 * 24 * 3600.0
_PART = re.compile(r"(?:\\.|[^:\\])*", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class CapabilityError(KubewaspError):
    """Capability that cannot be granted; the text names the option and the cause."""


@dataclass(frozen=True, slots=True)
class SettingNames:
    """Names of the capabilities in messages: the options of `kubewasp wasi run`, unless others are given."""

    directory: str = "--dir"
    environment: str = "--env"
    memory: str = "--memory"
    stack: str = "--stack"
    timeout: str = "--timeout"
    fuel: str = "--fuel"
    compile_timeout: str = "--compile-timeout"
    compile_memory: str = "--compile-memory"


_OPTIONS = SettingNames()


@dataclass(frozen=True, slots=True)
class Preopen:
    """Preopened directory: host path, name for the program, access."""

    host: str
    guest: str
    read_only: bool = False

    @classmethod
    def parse(cls, text: str, names: SettingNames = _OPTIONS) -> Preopen:
        r"""Parses `HOST[:GUEST][:ro]`. A colon in a path is written `\:`, a backslash `\\`."""
        parts = _parts(text)
        read_only = len(parts) > 1 and parts[-1] == "ro"
        if read_only:
            parts.pop()
        if len(parts) > 2 or not all(parts):
            form = r"HOST[:GUEST][:ro]; a colon in a path is written as \:"
            raise CapabilityError(f"{names.directory} {text}: expected {form}")
        return cls(parts[0], parts[-1], read_only)

    def __str__(self) -> str:
        host, guest = (re.sub(r"([:\\])", r"\\\1", path) for path in (self.host, self.guest))
        return host + (f":{guest}" if self.guest != self.host else "") + (":ro" if self.read_only else "")

    @property
    def shown_as(self) -> str:
        """Name that the program receives: below /, the current directory of every C library."""
        plain = plain_path(self.guest)
        return self.guest if plain.split("/")[0] == ".." else f"/{plain}"

    def check(self, names: SettingNames) -> None:
        shown = f"{names.directory} {self}"
        if "\0" in self.host + self.guest:
            raise CapabilityError(f"{shown!r}: NUL character in a path")
        path = Path(self.host)
        if path.exists() and not path.is_dir():
            parent = Preopen(str(path.parent), str(path.parent), self.read_only)
            raise CapabilityError(
                f"{shown}: {self.host} is not a directory; grant its parent: {names.directory} {parent}"
            )
        try:
            os.close(os.open(self.host, os.O_RDONLY | os.O_DIRECTORY))
        except OSError as error:
            raise CapabilityError(f"{shown}: {self.host}: {error.strerror}") from None


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
    """Normalised guest path: `data`, `./data` and `/data` are the same; the root is empty."""
    plain = posixpath.normpath(guest).lstrip("/")
    return "" if plain == "." else plain


@dataclass(frozen=True, slots=True)
class Capabilities:
    """All rights and limits of a program. Times in seconds, sizes in bytes; None: no limit."""

    preopens: tuple[Preopen, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    memory: int = DEFAULT_MEMORY
    stack: int = DEFAULT_STACK
    timeout: float | None = None
    fuel: int | None = None
    compilation: CompileLimits = COMPILATION
    names: SettingNames = _OPTIONS

    def __post_init__(self) -> None:
        names = self.names
        _check_range(names.memory, self.memory, (64 * KIB, 4096 * MIB), "size", format_size)
        _check_range(names.stack, self.stack, (64 * KIB, 4 * MIB), "size", format_size)
        if self.timeout is not None:
            _check_range(names.timeout, self.timeout, (0.001, MAX_TIMEOUT), "duration", format_duration)
        if self.fuel is not None:
            _check_range(names.fuel, self.fuel, (1, MAX_FUEL), "number", str)
        compilation = self.compilation
        _check_range(names.compile_timeout, compilation.timeout, (1, 3600), "duration", format_duration)
        _check_range(names.compile_memory, compilation.memory, (128 * MIB, 65536 * MIB), "size", format_size)
        for name, value in self.environment.items():
            if not name or "=" in name or "\0" in name + value:
                raise CapabilityError(
                    f"{names.environment} {name}={value!r}: expected NAME=VALUE, without NUL characters"
                )
        if any("\0" in argument for argument in self.arguments):
            raise CapabilityError("NUL character in an argument")
        self._check_preopens()

    def preopens_in_order(self) -> list[Preopen]:
        """Preopens in the order of their descriptors, the root first: Go programs start in the first one."""
        return sorted(self._placed().values(), key=lambda preopen: preopen.shown_as != "/")

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment, with PWD where the current directory is a part of the granted root."""
        place = self._current_directory()
        return self.environment if place is None else {"PWD": place, **self.environment}

    def _current_directory(self) -> str | None:
        """Place of `.` below the root, if both are granted: C libraries have one name for the two."""
        if len(self.preopens) < 2:
            return None
        roots = [preopen for preopen in self.preopens if not plain_path(preopen.guest)]
        root = next((preopen for preopen in roots if preopen.guest.startswith("/")), None)
        current = next((preopen for preopen in roots if not preopen.guest.startswith("/")), None)
        if root is None or current is None:
            return None
        top, inner = Path(root.host).resolve(), Path(current.host).resolve()
        return f"/{plain_path(inner.relative_to(top).as_posix())}" if inner.is_relative_to(top) else None

    def _placed(self) -> dict[str, Preopen]:
        """Preopens by their normalised names; CapabilityError if two have the same."""
        option, place = self.names.directory, self._current_directory()
        known: dict[str, Preopen] = {}
        for preopen in self.preopens:
            is_current = place is not None and not plain_path(preopen.guest) and not preopen.guest.startswith("/")
            placed = replace(preopen, guest=cast("str", place)) if is_current else preopen
            other = known.setdefault(plain_path(placed.guest), placed)
            if other is placed or (is_current and other.read_only == preopen.read_only):
                continue
            raise CapabilityError(
                f"{option} {other} and {option} {preopen}: same name {preopen.guest} in the program; "
                f"rename one of them: {option} HOST:GUEST"
            )
        return known

    def _check_preopens(self) -> None:
        option = self.names.directory
        for preopen in self.preopens:
            preopen.check(self.names)
        self._placed()
        writable = [(Path(item.host).resolve(), item) for item in self.preopens if not item.read_only]
        for preopen in self.preopens:
            for path, other in writable:
                if preopen.read_only and Path(preopen.host).resolve().is_relative_to(path):
                    raise CapabilityError(
                        f"{option} {preopen}: writable through {option} {other}, which contains it; "
                        f"add :ro there too, or grant another directory"
                    )


def _check_range(
    name: str, value: Number, bounds: tuple[Number, Number], what: str, show: Callable[[Number], str]
) -> None:
    low, high = bounds
    if isinstance(value, bool) or not math.isfinite(value):
        raise CapabilityError(f"{name}: expected a {what}, got {value}")
    if not low <= value <= high:
        raise CapabilityError(f"{name}: expected a {what} from {show(low)} to {show(high)}, got {show(value)}")
