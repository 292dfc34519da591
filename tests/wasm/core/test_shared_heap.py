from contextlib import ExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kubewasp.wasm.core import shared_heap as heap_module
from kubewasp.wasm.core.core_engine import core_engine
from kubewasp.wasm.core.shared_heap import SharedHeap, size_class
from kubewasp.wasm.errors import HeapFullError
from kubewasp.wasm.ffi import PAGE
from kubewasp.wasm.limits import Limits


def new_heap() -> SharedHeap:
    return SharedHeap(core_engine(Limits().stack).engine)


def content(heap: SharedHeap, address: int, size: int) -> bytes:
    return heap._view[address : address + size].tobytes()


@given(st.integers(0, 2**32))
def test_a_size_is_rounded_up_by_a_quarter_at_most(size: int) -> None:
    rounded = size_class(size)
    assert size <= rounded <= max(64, size * 5 // 4)
    assert rounded % 8 == 0
    assert size_class(rounded) == rounded


def test_what_is_placed_can_be_read() -> None:
    heap = new_heap()
    address = heap.place(b"some bytes")
    assert content(heap, address, 10) == b"some bytes"
    assert heap.bytes_written == 10


def test_the_address_zero_is_never_given_away() -> None:
    assert new_heap().place(b"x") > 0


def test_a_block_given_back_is_used_again() -> None:
    heap = new_heap()
    first = heap.place(bytes(1000))
    heap.retire(first, 1000)
    assert heap.place(bytes(1000)) == first


def test_a_block_given_back_is_not_used_again_while_somebody_reads() -> None:
    heap = new_heap()
    first = heap.place(b"old" * 100)
    with heap.reading():
        heap.retire(first, 300)
        second = heap.place(b"new" * 100)
        assert second != first
        assert content(heap, first, 300) == b"old" * 100
    assert heap.place(bytes(300)) == first


def test_a_reader_that_came_later_does_not_hold_a_block_back() -> None:
    heap = new_heap()
    first = heap.place(bytes(300))
    heap.retire(first, 300)
    with heap.reading():
        assert heap.place(bytes(300)) == first


def test_the_oldest_reader_counts() -> None:
    heap = new_heap()
    first = heap.place(bytes(300))
    with ExitStack() as old:
        old.enter_context(heap.reading())
        heap.retire(first, 300)
        with heap.reading():
            pass
        assert heap.place(bytes(300)) != first
    assert heap.place(bytes(300)) == first


def test_many_changes_of_one_size_do_not_grow_the_heap() -> None:
    heap = new_heap()
    block = heap.place(bytes(2000))
    end = heap._end
    for size in range(1800, 2000):
        heap.retire(block, 2000)
        block = heap.place(bytes(2000))
        heap.retire(heap.place(bytes(size)), size)
    assert heap._end <= end + 2 * 2048


def test_growing_keeps_what_is_there() -> None:
    heap = new_heap()
    first = heap.place(b"first")
    large = heap.place(b"x" * (5 * PAGE))
    assert content(heap, first, 5) == b"first"
    assert content(heap, large, 5 * PAGE) == b"x" * (5 * PAGE)


def test_a_full_heap_says_how_much_was_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap_module, "MAX_PAGES", 4)
    heap = new_heap()
    kept = heap.place(b"kept" * 1000)
    with pytest.raises(HeapFullError, match=r"the nodes need \d+ bytes; there is room for 262144"):
        heap.place(bytes(4 * PAGE))
    assert content(heap, kept, 4000) == b"kept" * 1000
    heap.place(bytes(PAGE))


class HeapAgainstADict(RuleBasedStateMachine):
    """No block is written while it is in use, or while a reader may have its address."""

    def __init__(self) -> None:
        super().__init__()
        self.heap = new_heap()
        self.live: dict[int, bytes] = {}
        self.readers: list[tuple[ExitStack, dict[int, bytes]]] = []
        self.count = 0

    @rule(size=st.integers(1, 400) | st.sampled_from([64, 65, 4096, 70_000]))
    def place(self, size: int) -> None:
        self.count += 1
        filling = (self.count.to_bytes(4, "little") * (size // 4 + 1))[:size]
        address = self.heap.place(filling)
        assert address not in self.live
        assert address % 8 == 0
        self.live[address] = filling

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def retire(self, data: st.DataObject) -> None:
        address = data.draw(st.sampled_from(sorted(self.live)))
        self.heap.retire(address, len(self.live.pop(address)))

    @rule()
    def begin_reading(self) -> None:
        stack = ExitStack()
        stack.enter_context(self.heap.reading())
        self.readers.append((stack, dict(self.live)))

    @precondition(lambda self: self.readers)
    @rule(data=st.data())
    def end_reading(self, data: st.DataObject) -> None:
        stack, _ = self.readers.pop(data.draw(st.integers(0, len(self.readers) - 1)))
        stack.close()

    @invariant()
    def live_blocks_do_not_overlap(self) -> None:
        end = 0
        for address, filling in sorted(self.live.items()):
            assert address >= end
            end = address + len(filling)

    @invariant()
    def everybody_reads_what_was_there_when_they_began(self) -> None:
        for known in (self.live, *(snapshot for _, snapshot in self.readers)):
            for address, filling in known.items():
                assert content(self.heap, address, len(filling)) == filling


HeapAgainstADict.TestCase.settings = settings(max_examples=40, stateful_step_count=40)
TestHeapAgainstADict = HeapAgainstADict.TestCase
