"""Snapshot files: objects of a cluster as JSON lines in gzip, between a head and an end with their digest.

Equal content gives equal bytes. A reader takes any file, whatever its name, and trusts none: sizes and counts are
bounded, and a file that was cut off or changed is refused.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Final, Protocol

import orjson

from kubewasp.k8s import json_documents
from kubewasp.k8s.errors import ManifestError, shown
from kubewasp.k8s.quantity import format_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

SUFFIX: Final = ".kwsnap"
FORMAT: Final = 1
# Of the unpacked file: a line is an object, of which etcd stores 1.5 MiB; clusters have a few hundred thousand.
MAX_BYTES: Final = 2**30
MAX_LINE: Final = 16 * 2**20
MAX_OBJECTS: Final = 2_000_000
MAX_WARNINGS: Final = 100

_GZIP: Final = b"\x1f\x8b"
_BEGINNING: Final = b'{"kind":"Snapshot",'
_END_KIND: Final = "SnapshotEnd"
_CHUNK: Final = 2**20
_LEVEL: Final = 6


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class SnapshotHead:
    """Origin of a snapshot: versions, time, and warnings about objects that are not in it."""

    kubewasp: str
    taken: str = ""
    server: str = ""
    is_anonymized: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)
    warnings: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "kubewasp": self.kubewasp,
            "taken": self.taken,
            "server": self.server,
            "anonymized": self.is_anonymized,
            "counts": dict(self.counts),
            "warnings": list(self.warnings),
        }


def write(head: SnapshotHead, objects: Iterable[bytes], file: IO[bytes]) -> None:
    """Writes objects, each as JSON of one line."""
    digest = hashlib.sha256()
    with gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as packed:

        def put(line: bytes) -> None:
            digest.update(line)
            packed.write(line)

        put(orjson.dumps({"kind": "Snapshot", "format": FORMAT, **head.as_dict()}) + b"\n")
        for line in objects:
            put(line + b"\n")
        packed.write(orjson.dumps({"kind": _END_KIND, "sha256": digest.hexdigest()}) + b"\n")


def unpacked(content: bytes, source: str, max_bytes: int) -> SnapshotFile | bytes:
    """A snapshot, or the content of any other file, unpacked if it is gzip."""
    is_packed = content.startswith(_GZIP)
    stream: _Readable = gzip.GzipFile(fileobj=io.BytesIO(content)) if is_packed else io.BytesIO(content)
    beginning = _read(stream, len(_BEGINNING), source)
    if beginning == _BEGINNING:
        return SnapshotFile(beginning, stream, source)
    if not is_packed:
        return content
    found = bytearray(beginning)
    while chunk := _read(stream, _CHUNK, source):
        found += chunk
        if len(found) > max_bytes:
            raise ManifestError("", f"larger than {format_size(max_bytes)} when unpacked", source=source)
    return bytes(found)


class SnapshotFile:
    """A snapshot that is read: its head, then its objects, once. Errors name the line."""

    def __init__(self, beginning: bytes, stream: _Readable, source: str) -> None:
        self._source = source
        self._lines = _lines(beginning, stream, source)
        line = next(self._lines)
        self._digest = hashlib.sha256(line + b"\n")
        place = self._place(1)
        self.head = _head(_document(line, place), place)

    def objects(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """All objects, each with its place. The last step checks that they are complete."""
        missing = dict(self.head.counts)
        for number, line in enumerate(self._lines, start=2):
            place = self._place(number)
            document = _document(line, place)
            kind = document.get("kind")
            if kind == _END_KIND:
                self._check_end(document, missing, place)
                return
            if not isinstance(kind, str) or not missing.get(kind):
                raise ManifestError("kind", f"{shown(kind)} is more than the head counts", source=place)
            missing[kind] -= 1
            self._digest.update(line + b"\n")
            yield place, document
        raise _cut_off(self._source)

    def _check_end(self, end: Mapping[str, Any], missing: Mapping[str, int], place: str) -> None:
        if next(self._lines, None) is not None:
            raise ManifestError("", "damaged: more lines after the end", source=self._source)
        if end.get("sha256") != self._digest.hexdigest() or any(missing.values()):
            problem = "damaged or changed by hand: the digest or the number of objects differs"
            raise ManifestError("", problem, source=place)

    def _place(self, number: int) -> str:
        return f"{self._source}: line {number}"


def _head(document: Mapping[str, Any], place: str) -> SnapshotHead:
    version = document.get("format")
    if version != FORMAT:
        problem = f"format {shown(version)} is not {FORMAT}: the file needs another version of kubewasp"
        raise ManifestError("format", problem, source=place)
    texts = [document.get(name) for name in ("kubewasp", "taken", "server")]
    counts, warnings = document.get("counts"), document.get("warnings")
    is_valid = (
        all(isinstance(text, str) for text in texts)
        and isinstance(counts, dict)
        and all(type(count) is int and count >= 0 for count in counts.values())
        and isinstance(warnings, list)
        and len(warnings) <= MAX_WARNINGS
        and all(isinstance(warning, str) for warning in warnings)
    )
    if not is_valid or not isinstance(counts, dict) or not isinstance(warnings, list):
        raise ManifestError("", "not the head of a snapshot: fields are missing or have another type", source=place)
    if sum(counts.values()) > MAX_OBJECTS:
        raise ManifestError("counts", f"more than {MAX_OBJECTS:,} objects", source=place)
    kubewasp, taken, server = map(str, texts)
    return SnapshotHead(kubewasp, taken, server, bool(document.get("anonymized")), counts, tuple(warnings))


def _document(line: bytes, place: str) -> dict[str, Any]:
    own = _own_document(line)
    if own is not None:
        return own
    try:
        found = json_documents.documents(line.decode())
    except UnicodeDecodeError as error:
        raise ManifestError("", f"not UTF-8 text: byte {error.start + 1} is wrong", source=place) from None
    except json_documents.JsonError as error:
        raise ManifestError("", str(error), source=place) from None
    if not found or len(found) > 1 or not isinstance(found[0], dict):
        raise ManifestError("", "expected one JSON object", source=place)
    return found[0]


def _own_document(line: bytes) -> dict[str, Any] | None:
    """The object of a line in the form of `write`: without duplicate keys and deep levels. A third of the time."""
    if line.count(b"{") + line.count(b"[") > json_documents.MAX_DEPTH:
        return None
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) and orjson.dumps(found) == line else None


def _lines(beginning: bytes, stream: _Readable, source: str) -> Iterator[bytes]:
    """Lines without their ends. Memory is bounded by the longest line that is allowed."""
    rest, total = beginning, 0
    while chunk := _read(stream, _CHUNK, source):
        total += len(chunk)
        if total > MAX_BYTES:
            raise ManifestError("", f"larger than {format_size(MAX_BYTES)} when unpacked", source=source)
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
        if len(rest) > MAX_LINE:
            raise ManifestError("", f"a line is longer than {format_size(MAX_LINE)}", source=source)
    if rest:
        raise _cut_off(source)


def _read(stream: _Readable, size: int, source: str) -> bytes:
    try:
        return stream.read(size)
    except EOFError:
        raise _cut_off(source) from None
    except (OSError, zlib.error) as error:
        raise ManifestError("", f"damaged gzip data: {error}", source=source) from None


def _cut_off(source: str) -> ManifestError:
    return ManifestError("", "cut off: the end is missing; copy the file again", source=source)
