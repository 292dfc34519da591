"""Bounds of memories, tables and structures together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wasmtime import wat2wasm

from kubewasp.k8s.varint import leb128
from kubewasp.wasi.capabilities import Capabilities
from kubewasp.wasi.command import new_store, run
from kubewasp.wasi.program import load_program
from kubewasp.wasm import footprint
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.footprint import Extent, Footprint, HostModules, bounds

KIB, MIB, PAGE = 1024, 1 << 20, 65536


def read(wat: str) -> Footprint:
    return footprint.read(bytes(wat2wasm(wat)))


def test_a_module_declares_its_memories_tables_functions_and_globals() -> None:
    found = read(
        """(module (import "a" "b" (func)) (func) (func) (global i32 (i32.const 0))
             (memory 2 3) (table 10 funcref) (table 5 7 externref))"""
    )
    assert found == Footprint((Extent(2 * PAGE, 3 * PAGE),), (Extent(10, None), Extent(5, 7)), 3 * 32 + 16)


def test_a_component_has_the_modules_of_all_its_parts() -> None:
    found = read(
        """(component
             (core module $m (memory 1) (table 3 funcref) (func))
             (core module $unused (memory 5) (func) (func))
             (core instance (instantiate $m))
             (component (core module $n (memory 2)) (core instance (instantiate $n))))"""
    )
    assert [memory.minimum // PAGE for memory in found.memories] == [1, 5, 2]
    assert [table.minimum for table in found.tables] == [3]
    assert found.instances == footprint.MAX_INSTANCES, "parts may call each other"


def test_a_component_of_one_part_has_exactly_its_instances() -> None:
    found = read(
        """(component
             (core module $m (func (export "f")) (func))
             (core instance $a (instantiate $m))
             (core instance (instantiate $m))
             (alias core export $a "f" (core func $f))
             (core instance (export "f" (func $f))))"""
    )
    assert (found.instances, found.structures) == (2, 2 * 2 * 32)


EXTENTS = st.builds(
    lambda low, more: Extent(low, None if more is None else low + more),
    st.integers(0, 100 * MIB),
    st.none() | st.integers(0, 100 * MIB),
)
TABLES = st.builds(
    lambda low, more: Extent(low, None if more is None else low + more),
    st.integers(0, 2_000_000),
    st.none() | st.integers(0, 2_000_000),
)


@given(
    st.lists(EXTENTS, max_size=5).map(tuple),
    st.lists(TABLES, max_size=5).map(tuple),
    st.integers(0, 40 * MIB),
    st.integers(64 * KIB, 512 * MIB),
)
def test_everything_that_may_be_allocated_fits_into_the_limit(
    memories: tuple[Extent, ...], tables: tuple[Extent, ...], structures: int, limit: int
) -> None:
    declared = Footprint(memories, tables, structures)
    try:
        found = bounds(declared, limit)
    except GuestLoadError:
        assert declared.initial > 0
        return
    assert all(memory.minimum <= found.memory_size for memory in memories)
    assert all(table.minimum <= found.table_elements for table in tables)
    largest = sum(memory.up_to(found.memory_size) for memory in memories)
    largest += 8 * sum(table.up_to(found.table_elements) for table in tables) + structures
    assert largest <= limit + footprint.UNCOUNTED
    assert (found.memories, found.tables) == (len(memories), len(tables))


def test_the_only_memory_has_the_whole_limit() -> None:
    assert bounds(Footprint((Extent(PAGE, None),), (Extent(100, 100),)), 10 * PAGE).memory_size == 10 * PAGE


def test_memories_share_the_limit() -> None:
    assert bounds(Footprint((Extent(PAGE, None), Extent(PAGE, PAGE))), 10 * PAGE).memory_size == 9 * PAGE
    with pytest.raises(GuestLoadError) as caught:
        bounds(Footprint((Extent(6 * PAGE, None), Extent(PAGE, None))), 10 * PAGE)
    assert str(caught.value) == (
        "wasm: guest starts with 458752 bytes in 2 memories and 0 tables, over the limit of 655360; "
        "2 memories share the limit; raise limits.memory or build it with less"
    )


def test_modules_of_the_host_are_not_the_guests() -> None:
    found = bounds(Footprint((Extent(PAGE, None),)), PAGE, HostModules(2, 3, 4, 5000))
    assert (found.instances, found.tables, found.memories, found.table_elements) == (3, 3, 5, 5000)


def test_nested_components_end_somewhere() -> None:
    wasm = header = bytes(wat2wasm("(component)"))
    for _ in range(101):
        wasm = header + b"\x04" + leb128(len(wasm)) + wasm
    with pytest.raises(GuestLoadError, match="nested more than 100 deep"):
        footprint.read(wasm)


TABLES_OF_A_PROGRAM = """
(module (memory (export "memory") 1) {tables}
  (func (export "_start")
    (loop (br_if 0 (i32.ne (table.grow 0 (ref.null func) (i32.const 100000)) (i32.const -1))))
    (if (i32.gt_u (table.size 0) (i32.const 4096)) (then unreachable))))
"""


def test_tables_of_a_program_do_not_grow_beyond_its_memory_limit() -> None:
    wasm = bytes(wat2wasm(TABLES_OF_A_PROGRAM.format(tables="(table 1 funcref)" * 20)))
    small = Capabilities(memory=64 * KIB)
    assert run(load_program(wasm, small), small).exit_code == 0


def test_a_program_whose_tables_begin_above_the_limit_is_refused() -> None:
    wasm = bytes(wat2wasm(TABLES_OF_A_PROGRAM.format(tables="(table 1000000 funcref)" * 20)))
    small = Capabilities(memory=MIB)
    with pytest.raises(GuestLoadError) as caught:
        run(load_program(wasm, small, name="p.wasm"), small)
    assert str(caught.value).startswith("p.wasm: guest starts with 160065568 bytes in 1 memories and 20 tables")
    assert "raise --memory" in str(caught.value)


COMPONENT = """
(component
  (core module $m (memory 1) (func (export "run") (result i32) (memory.grow (i32.const 9)) drop (i32.const 0)))
  (core module $n (memory 1))
  (core instance $a (instantiate $m))
  (core instance (instantiate $n)){more}
  (func $run (result (result)) (canon lift (core func $a "run")))
  (instance $i (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $i)))
"""


def test_memories_of_a_component_share_the_limit() -> None:
    granted = Capabilities(memory=10 * PAGE)
    program = load_program(bytes(wat2wasm(COMPONENT.format(more=""))), granted)
    assert program.bounds(granted).memory_size == 5 * PAGE
    assert run(program, granted).exit_code == 0
    new_store(program, granted).close()


def test_a_module_of_a_component_has_no_more_memories_than_declared() -> None:
    granted = Capabilities(memory=10 * PAGE)
    more = " (core instance (instantiate $n))" * 3
    outcome = run(load_program(bytes(wat2wasm(COMPONENT.format(more=more))), granted), granted)
    assert "memory count too high" in outcome.message


def test_types_that_take_long_to_read_are_refused() -> None:
    types = leb128(400_000) + b"\x60\x00\x00" * 400_000
    with pytest.raises(GuestLoadError, match="guest has 1200003 bytes of function types, over the limit of 1048576"):
        footprint.read(b"\0asm\1\0\0\0\x01" + leb128(len(types)) + types)
