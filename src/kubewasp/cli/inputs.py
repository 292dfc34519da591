"""Inputs of a command line: files, standard input as `-`, guests, the values of `--plugin`, addresses of servers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, urlsplit

import typer

from kubewasp.input_file import StandardInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubewasp.input_file import InputFile
    from kubewasp.scheduler.configuration import AddedPlugin

_DASH: Final = "-"
_WEIGHT_FIRST: Final = re.compile(r"weight=([^,]*),(.+)", re.DOTALL)
_WEIGHT_LAST: Final = re.compile(r"(.+),weight=([^,]*)", re.DOTALL)
NAMED: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,62})=(.+)", re.DOTALL)
_SETTING_LAST: Final = re.compile(r"([^,]+),([^,=]+)(?:=.*)?", re.DOTALL)
_MAX_WEIGHT: Final = 2**31 - 1


class Inputs:
    """Inputs of one command line. Standard input can be read once, so only one argument may be `-`."""

    def __init__(self) -> None:
        self._is_taken = False

    def standard_input(self) -> StandardInput:
        if self._is_taken:
            raise typer.BadParameter("standard input is read once: only one argument may be -")
        self._is_taken = True
        return StandardInput()

    def file(self, path: Path) -> InputFile:
        return self.standard_input() if str(path) == _DASH else path

    def optional(self, path: Path | None) -> InputFile | None:
        return None if path is None else self.file(path)

    def files(self, paths: Iterable[Path] | None) -> tuple[InputFile, ...]:
        return tuple(self.file(path) for path in paths or ())

    def guest(self, text: str) -> str | StandardInput:
        """A guest: a path, a URL or standard input. A folder is a plugin project, built if its sources changed."""
        if text != _DASH and exists(text) and Path(text).is_dir():
            from kubewasp.cli import plugin_project

            return str(plugin_project.current(Path(text)).wasm)
        return self.program(text)

    def program(self, text: str) -> str | StandardInput:
        """A wasm file: a path, a URL or standard input."""
        return self.standard_input() if text == _DASH else text

    def plugins(self, given: Iterable[str] | None) -> tuple[AddedPlugin, ...]:
        return tuple(self.plugin(text) for text in given or ())

    def plugin(self, text: str) -> AddedPlugin:
        """`[NAME=]GUEST[,weight=N]`, also with the weight first. An existing file or folder is the guest itself.

        What remains after the weight is removed may be such a file again, so names with `=` and `,` are usable.
        """
        name, rest, weight = "", text, 0
        if not exists(rest):
            rest, weight = _weight(rest)
        if not exists(rest) and (named := NAMED.fullmatch(rest)):
            name, rest = named[1], named[2]
        if not exists(rest) and (setting := _SETTING_LAST.fullmatch(rest)) and exists(setting[1]):
            problem = f"{text}: unknown setting {setting[2]!r}; only weight=N may follow the guest"
            raise typer.BadParameter(problem, param_hint="--plugin")
        # Late: commands without plugins need no scheduler.
        from kubewasp.scheduler.configuration import AddedPlugin
        from kubewasp.wasm.source import default_name

        guest = self.guest(rest)
        return AddedPlugin(name or default_name(guest), guest, weight)


def exists(text: str) -> bool:
    """Whether the text is the path of a file or folder."""
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False


def _weight(text: str) -> tuple[str, int]:
    """The text without its weight, and the weight; 0 if there is none."""
    if (last := _WEIGHT_LAST.fullmatch(text)) is not None:
        rest, given = last[1], last[2]
    elif (first := _WEIGHT_FIRST.fullmatch(text)) is not None:
        rest, given = first[2], first[1]
    else:
        return text, 0
    if not (given.isascii() and given.isdigit() and len(given) <= 20 and 1 <= int(given) <= _MAX_WEIGHT):
        problem = f"{text}: weight: expected an integer from 1 to {_MAX_WEIGHT}, got {given[:40]!r}"
        raise typer.BadParameter(problem, param_hint="--plugin")
    return rest, int(given)


def server_url(url: str, example: str, option: str) -> SplitResult:
    """Parts of a server's address."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_valid = False
    if not is_valid or parts.query or parts.fragment:
        raise typer.BadParameter(f"expected a URL such as {example}, got {url!r}", param_hint=option)
    return parts
