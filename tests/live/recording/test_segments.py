"""Segments: whole frames are read, whatever happened to the rest of the file."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.live.recording import segments
from kubewasp.live.recording.segments import MAGIC, SegmentEnd, frame, frames, segment_files, segment_name

CONTENTS = [b"first", b"second" * 100, b"third"]
FILE = MAGIC + b"".join(map(frame, CONTENTS))


def read(data: bytes) -> tuple[list[bytes], SegmentEnd]:
    end = SegmentEnd()
    return list(frames(io.BytesIO(data), end)), end


def test_frames_are_read_as_they_were_written() -> None:
    found, end = read(FILE)
    assert found == CONTENTS
    assert (end.offset, end.problem) == (len(FILE), "")


@given(st.integers(0, len(FILE)))
def test_a_file_that_is_cut_off_has_the_frames_before_the_cut(size: int) -> None:
    found, end = read(FILE[:size])
    assert found == CONTENTS[: len(found)]
    whole = size in (len(MAGIC), *(len(MAGIC) + sum(len(frame(one)) for one in CONTENTS[:n]) for n in (1, 2, 3)))
    assert bool(end.problem) is not whole


@given(st.integers(0, len(FILE) - 1), st.integers(1, 255))
def test_a_changed_byte_ends_the_segment_before_its_frame(place: int, change: int) -> None:
    damaged = bytearray(FILE)
    damaged[place] ^= change
    found, end = read(bytes(damaged))
    assert found == CONTENTS[: len(found)]
    assert len(found) < len(CONTENTS)
    assert end.problem


@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_an_exception(data: bytes) -> None:
    found, end = read(MAGIC + data)
    assert found == [] or not end.problem or end.offset


def test_a_frame_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = MAGIC + frame(bytes(100_000))
    monkeypatch.setattr(segments, "MOST_FRAME_BYTES", 10_000)
    found, end = read(bomb)
    assert found == []
    assert "too large" in end.problem


def test_segments_are_listed_by_number_and_other_files_are_not(tmp_path: Path) -> None:
    for number in (10, 2, 1_000_000):
        (tmp_path / segment_name(number)).touch()
    (tmp_path / "lock").touch()
    assert [number for number, _ in segment_files(tmp_path)] == [2, 10, 1_000_000]
