"""AssemblyScript's `env.abort`, by hand-written guests with strings as AssemblyScript has them in memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp import Guest
from kubewasp.wasm.core.guest_abort import aborted
from kubewasp.wasm.errors import GuestLoadError
from tests.guests.build import wat_text

POD = {"metadata": {"name": "web"}}
NODES = [{"metadata": {"name": "a"}}]


def text_at(address: int, text: str) -> str:
    """A data segment: the size in bytes, then UTF-16."""
    encoded = text.encode("utf-16-le")
    content = len(encoded).to_bytes(4, "little") + encoded
    escaped = "".join(f"\\{byte:02x}" for byte in content)
    return f'(data (i32.const {address - 4}) "{escaped}")'


def guest(call: str, *, data: str = "", start: str = "") -> Guest:
    text = f"""(module
      (import "env" "abort" (func $abort (param i32 i32 i32 i32)))
      (memory (export "memory") 1)
      {data}
      {start}
      (func (export "filter") (result i32) {call} (i32.const 0)))"""
    return Guest.load(wat_text(text, "abort"), name="script")


def failure(call: str, data: str = "") -> str:
    verdict = guest(call, data=data).evaluate(POD, NODES)
    return str(verdict.rejected["a"].reason).splitlines()[0]


STRINGS = text_at(64, "Index out of range ✓") + text_at(256, "assembly/index.ts")


def test_an_abort_names_message_file_line_and_column() -> None:
    call = "(call $abort (i32.const 64) (i32.const 256) (i32.const 12) (i32.const 7))"
    assert failure(call, STRINGS) == (
        'wasm: filter error: abort: Index out of range ✓ at assembly/index.ts:12:7 (plugin "script")'
    )


def test_an_abort_without_strings_is_a_trap_too() -> None:
    call = "(call $abort (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))"
    assert failure(call) == 'wasm: filter error: abort: no message (plugin "script")'


@pytest.mark.parametrize("address", [3, 65536, -1, -2147483648])
def test_strings_outside_of_the_memory_are_left_out(address: int) -> None:
    call = f"(call $abort (i32.const {address}) (i32.const {address}) (i32.const 3) (i32.const 1))"
    assert failure(call) == 'wasm: filter error: abort: no message at line 3, column 1 (plugin "script")'


def test_a_guest_that_never_aborts_works() -> None:
    assert guest("").evaluate(POD, NODES).rejected == {}


def test_an_abort_in_the_start_function_is_a_load_error() -> None:
    abort = "(call $abort (i32.const 64) (i32.const 256) (i32.const 1) (i32.const 2))"
    with pytest.raises(GuestLoadError, match=r"abort: Index out of range ✓ at assembly/index\.ts:1:2"):
        guest("", data=STRINGS, start=f'(func (export "_initialize") {abort})')


def test_another_signature_is_a_load_error() -> None:
    text = """(module (import "env" "abort" (func (param i32)))
      (memory (export "memory") 1) (func (export "filter") (result i32) (i32.const 0)))"""
    with pytest.raises(GuestLoadError, match=r'"abort" as \(i32\) -> \(\)\. should be \(i32, i32, i32, i32\) -> \(\)'):
        Guest.load(wat_text(text, "abort-signature"))


def test_other_functions_of_env_are_unknown() -> None:
    text = """(module (import "env" "seed" (func (result f64)))
      (memory (export "memory") 1) (func (export "filter") (result i32) (i32.const 0)))"""
    with pytest.raises(GuestLoadError, match='unknown function: module "env" function "seed"'):
        Guest.load(wat_text(text, "abort-seed"))


@given(memory=st.binary(max_size=200), message=st.integers(0, 2**32 - 1) | st.integers(0, 220), line=st.integers(0, 9))
def test_any_memory_gives_one_bounded_line(memory: bytes, message: int, line: int) -> None:
    def read(address: int, length: int) -> bytes:
        if address + length > len(memory):
            raise IndexError
        return memory[address : address + length]

    text = str(aborted(read, message, message, line, 1))
    assert text.startswith("abort: ")
    assert text.isprintable()


def test_a_long_message_is_cut() -> None:
    memory = (2**20).to_bytes(4, "little") + "x".encode("utf-16-le") * 2**19
    text = str(aborted(lambda address, length: memory[address : address + length], 4, 0, 0, 0))
    assert text == f"abort: {'x' * 2048}…"
