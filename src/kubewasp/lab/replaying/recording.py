"""Recordings of `kubewasp run --record`, read: segments with their headers and entries. Files are not trusted."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kubewasp.live.recording.entries import Entry, EntryError, EntryKind, decode_entries
from kubewasp.live.recording.segments import RecordingError, SegmentEnd, frames, segment_files
from kubewasp.live.recording.writer import guest_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class SegmentHeader:
    """Header of a segment. `guests` are digests by profile and plugin, `seed` is that of all random numbers."""

    version: str
    run: str
    number: int
    seed: int
    config: Mapping[str, Any]
    guests: Mapping[str, Mapping[str, str]]
    now: float
    wall: float

    def follows(self, before: SegmentHeader) -> bool:
        """Whether the segment goes on where the one before has ended."""
        return self.run == before.run and self.number == before.number + 1

    def is_like(self, before: SegmentHeader) -> bool:
        return (self.config, self.guests) == (before.config, before.guests)


@dataclass(slots=True)
class Segment:
    """A segment. Its entries can be read once; afterwards `problem` says why there are no more of them, if so."""

    path: Path
    header: SegmentHeader
    entries: Iterator[Entry]
    end: SegmentEnd = field(default_factory=SegmentEnd)

    @property
    def problem(self) -> str:
        return f"{self.path.name}: {self.end.problem}, at byte {self.end.offset:,}" if self.end.problem else ""


class RecordingReader:
    """A recording in a folder. `warnings` grow while it is read."""

    def __init__(self, folder: Path) -> None:
        """Raises RecordingError if there is none."""
        self.folder = folder
        self.warnings: list[str] = []
        try:
            self.files = [path for _, path in segment_files(folder)]
            self.size = sum(path.stat().st_size for path in self.files)
        except OSError as error:
            raise RecordingError(f"{folder}: cannot be read: {error.strerror}") from None
        if not self.files:
            raise RecordingError(f"{folder}: there is no recording; `kubewasp run --record {folder}` makes one")

    def segments(self, moved: Callable[[int], None] = lambda _count: None) -> Iterator[Segment]:
        """The segments that can be read, oldest first; `moved` gets the bytes read."""
        read = 0
        for path in self.files:
            end = SegmentEnd()
            entries = self._entries(path, end, moved)
            header = _header(next(entries, None), end)
            if header is not None:
                read += 1
                yield Segment(path, header, entries, end)
            for _ in entries:  # whatever is left
                pass
            if end.problem:
                problem = f"{path.name}: {end.problem}, at byte {end.offset:,}"
                rest = "" if path is self.files[-1] else "; the rest of this segment is left out"
                self.warnings.append(f"{problem}{rest}")
        if not read:
            raise RecordingError(f"{self.folder}: no segment can be read: {'; '.join(self.warnings)}")

    def guest(self, digest: str) -> Path | None:
        """The file of a guest, if it was kept and is as it was."""
        digits = digest.removeprefix("sha256:")
        path = self.folder / "guests" / guest_name(digest)
        if not digits.isalnum() or not path.is_file():
            return None
        with path.open("rb") as file:
            return path if hashlib.file_digest(file, "sha256").hexdigest() == digits else None

    def _entries(self, path: Path, end: SegmentEnd, moved: Callable[[int], None]) -> Iterator[Entry]:
        try:
            with path.open("rb") as file:
                before = 0
                for content in frames(file, end):
                    moved(end.offset - before)
                    before = end.offset
                    yield from decode_entries(content)
        except EntryError as error:
            end.problem = f"damaged: {error}"
        except OSError as error:
            end.problem = f"cannot be read: {error.strerror}"


def _header(entry: Entry | None, end: SegmentEnd) -> SegmentHeader | None:
    if entry is None:
        end.problem = end.problem or "empty"
        return None
    body = entry.body
    try:
        if entry.kind is not EntryKind.HEADER:
            raise TypeError
        guests = {str(profile): dict(found) for profile, found in body["guests"].items()}
        version, run, number = str(body["version"]), str(body["run"]), int(body["segment"])
        config, seed = dict(body["config"]), int(body["seed"])
    except (KeyError, TypeError, ValueError, AttributeError):
        end.problem = "damaged: it does not begin with a header"
        return None
    return SegmentHeader(version, run, number, seed, config, guests, entry.now, entry.wall)
