"""Fuzzed arguments of every import: a result or an Error, without effects on others."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.wasm.core.abi import EXTENSION_IMPORTS
from kubewasp.wasm.guest import Guest
from tests import samples
from tests.guests import EXTENSION, IMPORTS
from tests.guests.build import wat
from tests.wasm.core.abi_checks import (
    FIXED_TEXTS,
    HUGE,
    SMALL,
    check_extension,
    check_import,
    cluster,
    guest,
    own_texts,
)
from tests.wasm.steering import steer
from tools.fuzz.calling_guest import edges
from tools.fuzz.targets.abi_calls import signed


def numbers(size: int) -> st.SearchStrategy[int]:
    """Addresses and lengths as i32."""
    return (st.sampled_from(edges(size)) | st.integers(0, 2**32 - 1)).map(signed)


@cache
def impatient() -> Guest:
    return Guest.load(wat("imports"), name="fuzzed", limits={"call_timeout": 0.05})


def fuzz(size: int, which: int, data: st.DataObject) -> None:
    drawn = st.tuples(*[numbers(size)] * IMPORTS[which][2])
    check_import(size, which, data.draw(drawn, label="arguments"))


def fuzz_extension(size: int, which: int, data: st.DataObject) -> None:
    rows = st.sampled_from([0, 1, 8, 9, -1]) | numbers(size)
    drawn = st.tuples(*[rows if name == "row" else numbers(size) for name in EXTENSION_IMPORTS[which].parameters])
    check_extension(size, which, data.draw(drawn, label="arguments"))


@pytest.mark.parametrize("which", range(len(IMPORTS)), ids=[name for _, name, _ in IMPORTS])
@given(data=st.data())
@settings(max_examples=50)
def test_an_import_called_with_any_numbers_answers_or_fails_cleanly(which: int, data: st.DataObject) -> None:
    fuzz(SMALL, which, data)


# random_get is left out: it would fill the 4 GiB.
@pytest.mark.parametrize(
    "which", [pytest.param(index, id=name) for index, (_, name, _) in enumerate(IMPORTS) if name != "random_get"]
)
@given(data=st.data())
@settings(max_examples=25)
def test_a_guest_that_has_all_the_memory_there_is_gets_no_further(which: int, data: st.DataObject) -> None:
    fuzz(HUGE, which, data)


@pytest.mark.parametrize("which", range(len(EXTENSION)), ids=[name for name, _ in EXTENSION])
@given(data=st.data())
@settings(max_examples=40)
def test_an_import_of_the_extension_answers_or_fails_cleanly(which: int, data: st.DataObject) -> None:
    fuzz_extension(SMALL, which, data)


@pytest.mark.parametrize(
    "which", [pytest.param(index, id=name) for index, (name, parameters) in enumerate(EXTENSION) if parameters]
)
@given(data=st.data())
@settings(max_examples=20)
def test_an_extended_guest_that_has_all_the_memory_there_is_gets_no_further(which: int, data: st.DataObject) -> None:
    fuzz_extension(HUGE, which, data)


@given(
    st.lists(st.tuples(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 6, 65536, 2**31, 2**32 - 1])), max_size=8),
    st.integers(0, 10),
)
@settings(max_examples=60)
def test_output_from_anywhere_is_captured_or_fails_cleanly(pieces: list[tuple[int, int]], count: int) -> None:
    """fd_write goes through a list of addresses and lengths that lies in the guest's memory."""
    listed = b"".join(at.to_bytes(4, "little") + length.to_bytes(4, "little") for at, length in pieces)
    with guest(SMALL).cycle(samples.pod(), cluster()) as cycle:
        cycle.runner.guest_memory.write(2048, listed, "test")
        which = [name for _, name, _ in IMPORTS].index("fd_write")
        steer(cycle, which=which, a=1, b=2048, c=min(count, len(pieces)), d=4096)
        verdicts = cycle.filter(["node-2"])
        assert verdicts.codes[0] in (0, 1)
        assert len(verdicts.trace.output) <= cycle.guest.limits.output + 100
        assert own_texts(cycle) == FIXED_TEXTS


@given(st.binary(min_size=96, max_size=96), st.integers(-1, 3))
@settings(max_examples=40)
def test_a_sleep_of_any_kind_ends_or_fails_cleanly(subscriptions: bytes, count: int) -> None:
    with impatient().cycle(samples.pod(), cluster()) as cycle:
        cycle.runner.guest_memory.write(2048, subscriptions, "test")
        which = [name for _, name, _ in IMPORTS].index("poll_oneoff")
        steer(cycle, which=which, a=2048, b=8192, c=count, d=4096)
        verdicts = cycle.filter(["node-2"])
        assert verdicts.codes[0] in (0, 1)
        if verdicts.codes[0]:
            assert "time limit of 0.05 s exceeded" in verdicts.reason(0)
