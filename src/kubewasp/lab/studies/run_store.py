"""Results of experiments in a folder, by content: an experiment that was done is never done again.

One file per experiment, written at once, so that any number of processes may share the folder and be killed.
"""

from __future__ import annotations

import math
import os
import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp import __version__
from kubewasp.lab.studies.fixed_candidates import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

_FOLDER: Final = "runs"
_FORMAT: Final = 1  # of the results; another one does them again
_MAX_BYTES: Final = 16 * 2**20
_RECORD: Final = re.compile(rb'\{"key":"([0-9a-f]{64})",')


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """What decides the result of an experiment."""

    given: str  # digests
    configuration: str
    seed: int

    def as_dict(self) -> dict[str, Any]:
        return {
            "input": self.given,
            "configuration": self.configuration,
            "seed": self.seed,
            "kubewasp": __version__,
            "format": _FORMAT,
        }

    @property
    def key(self) -> str:
        return digest_of(self.as_dict()).removeprefix("sha256:")


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Result of an experiment; `seconds` is the time it took."""

    identity: RunIdentity
    measures: Mapping[str, float]
    seconds: float

    def line(self) -> bytes:
        """The record as a line of JSON."""
        content = {
            "key": self.identity.key,
            "of": self.identity.as_dict(),
            "seconds": self.seconds,
            "measures": dict(self.measures),
        }
        return orjson.dumps(content) + b"\n"


class RunStore:
    """Results in a folder, and those of others that are only read: folders, or files with a record per line."""

    def __init__(self, folder: Path, others: Iterable[Path] = ()) -> None:
        listed = list(others)
        self._folders = [folder / _FOLDER, *(other / _FOLDER for other in listed if other.is_dir())]
        self._lines: dict[str, bytes] = {}
        for other in listed:
            if not other.is_dir():
                self._lines.update(_read_lines(other))

    def get(self, identity: RunIdentity) -> RunRecord | None:
        """A result. A file that cannot be read is none: its experiment is done again."""
        for folder in self._folders:
            found = _parsed(_content(self._path(folder, identity.key)), identity)
            if found is not None:
                return found
        return _parsed(self._lines.get(identity.key, b""), identity)

    def put(self, record: RunRecord) -> None:
        write_file(self._path(self._folders[0], record.identity.key), record.line())

    @staticmethod
    def _path(folder: Path, key: str) -> Path:
        return folder / key[:2] / f"{key}.json"


def write_file(path: Path, content: bytes) -> None:
    """Writes a file as a whole: readers find the old content or the new one, also after a crash."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return b""


def _read_lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Records of a file by key. Other lines, as logs have, are skipped."""
    with path.open("rb") as file:
        while line := file.readline(_MAX_BYTES):
            if found := _RECORD.match(line):
                yield found[1].decode(), line


def _parsed(text: bytes, identity: RunIdentity) -> RunRecord | None:
    try:
        content = orjson.loads(text)
    except ValueError:
        return None
    if not isinstance(content, dict) or content.get("of") != identity.as_dict():
        return None
    measures, seconds = content.get("measures"), content.get("seconds")
    if not isinstance(measures, dict) or not all(_is_number(value) for value in (seconds, *measures.values())):
        return None
    return RunRecord(identity, measures, float(seconds or 0.0))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
