"""Writer of a recording: a thread of its own, a bounded queue before it, segments in a folder of bounded size.

The scheduler never waits for it. A queue that is full, or a disk that is, ends the recording with one line in the log.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kubewasp.live.recording.entries import EntryKind, encode_entry
from kubewasp.live.recording.segments import (
    FRAME_BYTES,
    MAGIC,
    MOST_FRAME_BYTES,
    RecordingError,
    frame,
    segment_files,
    segment_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

logger = logging.getLogger(__name__)

# Turns in the queue; memory for them is bounded by the objects, which the scheduler has as well.
_MOST_QUEUED: Final = 50_000
_PAUSE: Final = 0.25  # seconds between two looks at the queue: lost if the process is killed
_SEGMENTS: Final = 8  # of a full recording
_LEAST_SEGMENT: Final = 64 * 1024
_GUESTS: Final = "guests"


class Segment(NamedTuple):
    """A new segment in the queue: entries at its beginning, made by the writer's thread."""

    begin: Callable[[], Iterable[bytes]]


class RecordingWriter:
    """Files of a recording. `put` and `wants_segment` are for the scheduler's thread, counts are for any."""

    def __init__(self, folder: Path, limit: int, *, encode: Callable[[Any], Iterable[bytes]]) -> None:
        """`limit` bounds the bytes of all segments; `encode` makes entries of what is put, on the writer's thread."""
        self.folder = folder
        self.bytes_written = 0
        self.entries = 0
        self.problem = ""
        self.wants_segment = False
        self._limit = limit
        self._encode = encode
        self._queue: deque[Any] = deque()
        self._wake = threading.Event()
        self._is_closing = False
        self._lock = _locked(folder)
        found = segment_files(folder)
        self._number = found[-1][0] if found else 0
        self._file: int | None = None
        self._size = 0  # bytes of the current segment
        self._base = 0  # of them, up to the end of its checkpoint
        self._thread = threading.Thread(target=self._run, name="kubewasp-recording", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def is_on(self) -> bool:
        return not self.problem

    @property
    def is_overdue(self) -> bool:
        """Whether the current segment is so large that the next one may not wait for a quiet moment."""
        return self._size - self._base > 2 * self._segment_bytes()

    # ------------------------------------------------------------------ scheduler's thread

    def put(self, item: Any) -> None:
        """Queues an item for `encode`, or a `Segment`. Never waits."""
        if self.problem:
            return
        if len(self._queue) >= _MOST_QUEUED:
            self._stop("the disk is too slow: too many entries are waiting")
            return
        self._queue.append(item)

    # ------------------------------------------------------------------ start and end

    def keep_guest(self, digest: str, wasm: bytes) -> None:
        """Keeps a guest beside the segments. Any thread."""
        folder = self.folder / _GUESTS
        path = folder / guest_name(digest)
        try:
            if not path.exists():
                folder.mkdir(mode=0o700, exist_ok=True)
                partial = path.with_suffix(f".{os.getpid()}")
                with os.fdopen(_opened(partial), "wb") as file:
                    file.write(wasm)
                partial.replace(path)
        except OSError as error:
            logger.warning("Guest not kept in the recording", extra={"digest": digest, "err": str(error)})

    def close(self) -> None:
        """Writes what is queued, and ends."""
        self._is_closing = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(10.0)
        self._close_file()
        os.close(self._lock)

    def _stop(self, problem: str) -> None:
        self.problem = problem
        self._queue.clear()
        fields = {"folder": str(self.folder), "err": problem}
        logger.error("Recording stopped, scheduling goes on", extra=fields)

    # ------------------------------------------------------------------ writer's thread

    def _run(self) -> None:
        try:
            while not self.problem:
                is_last = self._is_closing
                self.write_queued()
                if is_last:
                    return
                self._wake.wait(_PAUSE)
        except OSError as error:
            self._stop(error.strerror or str(error))
        except Exception as error:  # the scheduler's decisions must not depend on it
            logger.exception("Recording failed")
            self._stop(f"unexpected error: {error}")
        finally:
            self._close_file()

    def write_queued(self) -> None:
        queue, parts, size = self._queue, list[bytes](), 0
        for _ in range(len(queue)):
            try:
                item = queue.popleft()
            except IndexError:  # stopped meanwhile
                return
            if isinstance(item, Segment):
                self._write(parts)
                parts, size = [], 0
                self._begin(item)
                continue
            self.entries += 1
            for part in self._encode(item):
                if len(part) > MOST_FRAME_BYTES:
                    self._stop(f"an entry is larger than {MOST_FRAME_BYTES >> 20} MiB")
                    return
                if size + len(part) > FRAME_BYTES:
                    self._write(parts)
                    parts, size = [], 0
                parts.append(part)
                size += len(part)
        self._write(parts)

    def _write(self, parts: list[bytes]) -> None:
        if parts and self._file is not None:
            self._append(frame(b"".join(parts)))
            if self._size - self._base > self._segment_bytes():
                self.wants_segment = True

    def _append(self, data: bytes) -> None:
        if self._file is None:
            return
        view = memoryview(data)
        while view:
            view = view[os.write(self._file, view) :]
        self._size += len(data)
        self.bytes_written += len(data)

    def _begin(self, segment: Segment) -> None:
        self._close_file()
        self._number += 1
        self._file = _opened(self.folder / segment_name(self._number), exclusive=True)
        self._size = 0
        self._append(MAGIC)
        parts, size = list[bytes](), 0
        for part in segment.begin():
            parts.append(part)
            size += len(part)
            if size > FRAME_BYTES:
                self._append(frame(b"".join(parts)))
                parts, size = [], 0
        self._append(frame(b"".join(parts)))
        self._base = self._size
        self.wants_segment = False
        if self._base > self._limit // 2:
            self._stop(f"the cluster's state takes {self._base:,} bytes: --record-size must be four times as much")
            return
        self._drop_oldest()

    def _segment_bytes(self) -> int:
        """Bytes of changes after which a new segment begins: no fewer than its checkpoint has."""
        return max(self._limit // _SEGMENTS, _LEAST_SEGMENT, self._base)

    def _drop_oldest(self) -> None:
        """Removes the oldest segments, so that there is room for one more."""
        found = [(path, path.stat().st_size) for _, path in segment_files(self.folder)]
        total = sum(size for _, size in found) + self._segment_bytes()
        for path, size in found[:-1]:
            if total <= self._limit:
                return
            path.unlink()
            total -= size

    def _close_file(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.fsync(self._file)
            os.close(self._file)
            self._file = None


def guest_name(digest: str) -> str:
    return f"{digest.removeprefix('sha256:')}.wasm"


def list_parts(kind: str, now: float, wall: float, part: EntryKind, objects: Iterable[bytes]) -> Iterable[bytes]:
    """Entries with the objects of a list, in pieces of a bounded size."""
    some, size = list[bytes](), 0
    for item in objects:
        some.append(item)
        size += len(item)
        if size > FRAME_BYTES:
            yield encode_entry(part, now, wall, {"kind": kind}, some)
            some, size = [], 0
    if some:
        yield encode_entry(part, now, wall, {"kind": kind}, some)


def _opened(path: Path, *, exclusive: bool = False) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_EXCL if exclusive else os.O_TRUNC)
    return os.open(path, flags, 0o600)


def _locked(folder: Path) -> int:
    """Creates the folder, readable by its owner only, and locks it. Raises RecordingError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        lock = _opened(folder / "lock")
    except OSError as error:
        raise RecordingError(f"{folder}: cannot be used for a recording: {error.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise RecordingError(f"{folder}: another process records to it; give each its own folder") from None
    return lock
