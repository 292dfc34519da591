"""Writer of recordings: bounds, rotation, permissions, and a scheduler that never waits."""

import errno
import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubewasp.live.recording import writer as writing
from kubewasp.live.recording.segments import RecordingError, SegmentEnd, frames, segment_files
from kubewasp.live.recording.writer import RecordingWriter, Segment

LIMIT = 1 << 20


def noise(item: int) -> list[bytes]:
    """Bytes that do not compress, of the given number."""
    return [os.urandom(item)]


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[RecordingWriter]:
    made = RecordingWriter(tmp_path / "recording", LIMIT, encode=noise)
    made.put(Segment(lambda: [b"checkpoint"]))
    made.write_queued()
    yield made
    made.close()


def contents(path: Path) -> bytes:
    with path.open("rb") as file:
        return b"".join(frames(file, SegmentEnd()))


def test_folder_and_files_are_for_their_owner_only(writer: RecordingWriter) -> None:
    writer.keep_guest("sha256:abc", b"\0asm")
    assert stat.S_IMODE(writer.folder.stat().st_mode) == 0o700
    files = [path for path in writer.folder.rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert (writer.folder / "guests" / "abc.wasm").read_bytes() == b"\0asm"


def test_a_large_segment_asks_for_the_next_one_and_the_oldest_are_dropped(writer: RecordingWriter) -> None:
    rotations = 0
    for _ in range(300):
        writer.put(20_000)
        writer.write_queued()
        if writer.wants_segment:
            rotations += 1
            writer.wants_segment = False
            writer.put(Segment(lambda: [b"checkpoint"]))
            writer.write_queued()
        assert sum(path.stat().st_size for _, path in segment_files(writer.folder)) <= LIMIT
    assert rotations > 8
    numbers = [number for number, _ in segment_files(writer.folder)]
    assert numbers == list(range(numbers[0], rotations + 2))
    assert numbers[0] > 1
    assert all(contents(path).startswith(b"checkpoint") for _, path in segment_files(writer.folder))
    assert not writer.problem


def test_a_segment_is_overdue_at_twice_its_size(writer: RecordingWriter) -> None:
    writer.put(LIMIT // 8 + 1000)
    writer.write_queued()
    assert (writer.wants_segment, writer.is_overdue) == (True, False)
    writer.put(LIMIT // 8 + 1000)
    writer.write_queued()
    assert writer.is_overdue


def test_another_process_cannot_record_to_the_same_folder(writer: RecordingWriter) -> None:
    with pytest.raises(RecordingError, match="another process records to it"):
        RecordingWriter(writer.folder, LIMIT, encode=noise)


def test_the_next_process_goes_on_after_the_last_segment(writer: RecordingWriter) -> None:
    writer.close()
    later = RecordingWriter(writer.folder, LIMIT, encode=noise)
    later.put(Segment(lambda: [b"later"]))
    later.write_queued()
    later.close()
    assert [contents(path) for _, path in segment_files(writer.folder)] == [b"checkpoint", b"later"]
    writer._lock = os.open(os.devnull, os.O_RDONLY)  # closed again by the fixture


def test_a_full_disk_ends_the_recording_with_one_line(
    writer: RecordingWriter, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_file: int, _data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    writer.put(1000)
    with caplog.at_level(logging.ERROR):
        writer._is_closing = True
        writer._run()
    assert writer.problem == "No space left on device"
    assert not writer.is_on
    assert [record.getMessage() for record in caplog.records] == ["Recording stopped, scheduling goes on"]
    writer.put(1000)
    assert not writer._queue


def test_a_queue_that_is_full_ends_the_recording(
    writer: RecordingWriter, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writing, "_MOST_QUEUED", 3)
    with caplog.at_level(logging.ERROR):
        for _ in range(10):
            writer.put(1)
    assert "the disk is too slow" in writer.problem
    assert len(caplog.records) == 1


def test_a_state_that_is_too_large_for_the_limit_ends_the_recording(writer: RecordingWriter) -> None:
    writer.put(Segment(lambda: noise(LIMIT)))
    writer.write_queued()
    assert "--record-size" in writer.problem


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RecordingError, match="cannot be used for a recording"):
        RecordingWriter(tmp_path / "file" / "recording", LIMIT, encode=noise)


def test_the_thread_writes_what_is_queued_before_it_ends(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "recording", LIMIT, encode=lambda item: [item])
    writer.start()
    writer.put(Segment(lambda: [b"checkpoint,"]))
    writer.put(b"turn")
    writer.close()
    ((_, path),) = segment_files(writer.folder)
    assert contents(path) == b"checkpoint,turn"
    assert writer.entries == 1
    assert writer.bytes_written == path.stat().st_size
