from contextlib import suppress

import pytest
import wasmtime
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.k8s.varint import leb128
from kubewasp.wasm import binary
from kubewasp.wasm.binary import BinaryError
from tests.guests.build import go_guest, wat

HEADER = b"\0asm\x01\0\0\0"


def named(text: str) -> bytes:
    return leb128(len(text)) + text.encode()


def section(number: int, content: bytes) -> bytes:
    return bytes([number]) + leb128(len(content)) + content


def read_everything(wasm: bytes) -> None:
    binary.check_header(wasm)
    binary.is_component(wasm)
    list(binary.sections(wasm))
    binary.producers(wasm)
    binary.without_start(wasm)


# ---------------------------------------------------------------- header


@pytest.mark.parametrize(
    ("wasm", "text"),
    [
        (b"", "this is not WebAssembly: the file is empty"),
        (b"\0as", "this is not WebAssembly: the file does not start with \\0asm"),
        (b"<!DOCTYPE html>", "this is not WebAssembly: the file does not start with \\0asm"),
        (b"\0asm\x01\0", "the file is truncated: it ends within its 8-byte header"),
        (b"\0asm\x02\0\0\0", "unknown WebAssembly version 02000000"),
    ],
)
def test_a_header_that_is_not_wasm_is_refused(wasm: bytes, text: str) -> None:
    with pytest.raises(BinaryError) as caught:
        binary.check_header(wasm)
    assert str(caught.value) == text


def test_a_component_is_told_from_a_module() -> None:
    binary.check_header(b"\0asm\x0d\0\x01\0")
    assert binary.is_component(b"\0asm\x0d\0\x01\0")
    assert not binary.is_component(HEADER)


# ---------------------------------------------------------------- sections


def test_sections_are_told_with_their_place_and_content() -> None:
    wasm = HEADER + section(1, b"\0") + section(0, named("x") + b"rest")
    assert [(item.number, item.offset, item.content) for item in binary.sections(wasm)] == [
        (1, 8, b"\0"),
        (0, 11, b"\x01xrest"),
    ]


def test_a_section_that_runs_over_the_end_is_told_with_what_is_missing() -> None:
    with pytest.raises(BinaryError) as caught:
        list(binary.sections(HEADER + b"\x01\x05abc"))
    assert str(caught.value) == "the file is truncated: section 1 at byte 8 has 3 of 5 bytes"


@given(st.integers(0, 2**32 - 1))
def test_a_number_is_read_as_it_was_written(value: int) -> None:
    encoded = leb128(value)
    assert binary.leb_at(encoded, 0) == (value, len(encoded))


def test_a_number_that_never_ends_is_refused() -> None:
    with pytest.raises(BinaryError, match="truncated or damaged at byte 14"):
        list(binary.sections(HEADER + b"\x01" + b"\x80" * 20))


@given(st.binary(max_size=200))
def test_garbage_is_nothing_worse_than_a_binary_error(garbage: bytes) -> None:
    for wasm in (garbage, HEADER + garbage, HEADER + section(0, named("producers") + garbage)):
        with suppress(BinaryError):
            read_everything(wasm)


@given(st.data())
def test_a_damaged_module_is_nothing_worse_than_a_binary_error(data: st.DataObject) -> None:
    wasm = bytearray(wat("start_section").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        wasm[data.draw(st.integers(8, len(wasm) - 1))] = data.draw(st.integers(0, 255))
    with suppress(BinaryError):
        read_everything(bytes(wasm))


# ---------------------------------------------------------------- producers


def test_producers_are_listed_by_field() -> None:
    tools = leb128(2) + named("clang") + named("19") + named("lld") + named("")
    content = named("producers") + leb128(2) + named("language") + leb128(1) + named("C") + named("11")
    content += named("processed-by") + tools
    found = binary.producers(HEADER + section(0, named("other")) + section(0, content))
    assert found == {"language": ["C 11"], "processed-by": ["clang 19", "lld"]}


def test_a_guest_made_by_go_says_so() -> None:
    found = binary.producers(go_guest("nodenumber").read_bytes())
    assert found["language"][0].startswith("Go")


def test_producers_that_cannot_be_read_are_left_out() -> None:
    broken = named("producers") + leb128(3) + named("language") + leb128(1) + named("C") + named("11") + b"\xff"
    assert binary.producers(HEADER + section(0, broken)) == {"language": ["C 11"]}


# ---------------------------------------------------------------- start section


def test_a_module_without_a_start_section_stays_as_it_is() -> None:
    wasm = wat("filter").read_bytes()
    assert binary.without_start(wasm) is wasm


def test_a_start_section_becomes_an_export() -> None:
    lifted = binary.without_start(wat("start_section").read_bytes())
    assert all(item.number != 8 for item in binary.sections(lifted))
    module = wasmtime.Module(wasmtime.Engine(), lifted)
    exports = {item.name: item.type for item in module.exports}
    assert list(exports) == ["memory", "filter", binary.START_SECTION_EXPORT]
    assert isinstance(exports[binary.START_SECTION_EXPORT], wasmtime.FuncType)


def test_a_start_section_becomes_an_export_of_a_module_that_had_none() -> None:
    wasm = bytes(wasmtime.wat2wasm('(module (import "a" "b" (func)) (func $f) (start $f))'))
    module = wasmtime.Module(wasmtime.Engine(), binary.without_start(wasm))
    assert [item.name for item in module.exports] == [binary.START_SECTION_EXPORT]


def test_a_start_section_with_more_than_a_number_is_refused() -> None:
    with pytest.raises(BinaryError, match="the start section is malformed"):
        binary.without_start(HEADER + section(8, b"\0\0"))


def test_producers_of_unusual_size_are_not_read() -> None:
    """A list of a million entries took seconds before anything was checked."""
    content = b"\x09producers\x01\x08language" + leb128(40_000) + b"\0\0" * 40_000
    wasm = b"\0asm\1\0\0\0\0" + leb128(len(content)) + content
    assert binary.producers(wasm) == {}
