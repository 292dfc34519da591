import struct
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.wasm import poll_oneoff

REALTIME, MONOTONIC = 0, 1
HOUR = 3_600_000_000_000
EBADF, EINVAL = 8, 28


def clock(timeout: int, *, userdata: int = 7, which: int = MONOTONIC, flags: int = 0) -> bytes:
    return struct.pack("<QB7xI4xQQH6x", userdata, 0, which, timeout, 0, flags)


def file(fd: int, *, tag: int, userdata: int = 9) -> bytes:
    return struct.pack("<QB7xI28x", userdata, tag, fd)


def events(encoded: bytes) -> list[tuple[Any, ...]]:
    """Userdata, errno and kind of each."""
    return [item[:3] for item in struct.iter_unpack("<QHB5xQH6x", encoded)]


def test_a_clock_is_waited_for() -> None:
    delay, answer = poll_oneoff.answer(clock(HOUR), 1)
    assert delay == 3600
    assert events(answer) == [(7, 0, 0)]


def test_of_several_clocks_the_first_to_ring_is_told() -> None:
    asked = clock(HOUR, userdata=1) + clock(5_000_000, userdata=2) + clock(5_000_000, userdata=3)
    delay, answer = poll_oneoff.answer(asked, 3)
    assert delay == 0.005
    assert events(answer) == [(2, 0, 0), (3, 0, 0)]


@pytest.mark.parametrize(("which", "now"), [(MONOTONIC, time.monotonic_ns), (REALTIME, time.time_ns)])
def test_an_absolute_time_is_read_off_its_clock(which: int, now: Any) -> None:
    delay, _ = poll_oneoff.answer(clock(now() + HOUR, which=which, flags=1), 1)
    assert 3500 < delay <= 3600


def test_a_time_in_the_past_has_come() -> None:
    assert poll_oneoff.answer(clock(1, flags=1), 1)[0] == 0


@pytest.mark.parametrize(
    ("fd", "tag", "errno"), [(0, 1, 0), (1, 2, 0), (2, 2, 0), (1, 1, EBADF), (0, 2, EBADF), (3, 1, EBADF)]
)
def test_standard_files_are_ready_and_others_do_not_exist(fd: int, tag: int, errno: int) -> None:
    delay, answer = poll_oneoff.answer(clock(HOUR) + file(fd, tag=tag), 2)
    assert delay == 0, "nobody waits for a clock when something is ready"
    assert events(answer) == [(9, errno, tag)]


def test_an_unknown_subscription_is_told() -> None:
    assert events(poll_oneoff.answer(file(0, tag=77), 1)[1]) == [(9, EINVAL, 0)]


@given(st.integers(1, 8).flatmap(lambda count: st.binary(min_size=48 * count, max_size=48 * count)))
def test_any_bytes_have_an_answer(asked: bytes) -> None:
    count = len(asked) // poll_oneoff.SUBSCRIPTION_SIZE
    delay, answer = poll_oneoff.answer(asked, count)
    assert delay >= 0
    assert 1 <= len(answer) / poll_oneoff.EVENT_SIZE <= count
