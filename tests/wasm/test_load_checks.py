"""Load checks: where they are put, what stays as it was, and that no path without one is long."""

import random

import pytest
import wasmtime
from wasmtime import wat2wasm

from kubewasp.wasm import binary
from kubewasp.wasm.binary import BinaryError
from kubewasp.wasm.core.core_engine import STRICT
from kubewasp.wasm.load_checks import GUARD, LIGHT, UNKNOWN, CheckedModule, Positions, entry_checks, with_checks
from tests.guests.build import go_guest, wat
from tools.fuzz.targets import load_checks as fuzzed

CHECK = b"\x41\x00\xfe\x10"


def checked(text: str) -> CheckedModule:
    made = with_checks(bytes(wat2wasm(text)))
    wasmtime.Module.validate(fuzzed._engine(), made.wasm)
    return made


# ---------------------------------------------------------------- where checks are


@pytest.mark.parametrize(
    ("functions", "checks"),
    [
        pytest.param("(func)", 0, id="nothing"),
        pytest.param("(func (nop) (call 1)) (func)", 0, id="a call of a function that ends"),
        pytest.param("(func (loop))", 1, id="a loop"),
        pytest.param("(func (loop (loop) (loop)))", 3, id="loops in loops"),
        pytest.param("(func (call 0))", 1, id="recursion"),
        pytest.param("(func (call 1)) (func (call 0))", 2, id="recursion in two functions"),
        pytest.param("(func (call 1)) (func (call 2)) (func (call 1))", 2, id="a way into a recursion"),
        pytest.param("(func (return_call 0))", 1, id="tail calls"),
        pytest.param(
            "(type $t (func)) (table 1 funcref) (func (call_indirect (type $t) (i32.const 0)))", 1, id="table"
        ),
        pytest.param(
            "(type $t (func)) (table 1 funcref) (func (return_call_indirect (type $t) (i32.const 0)))",
            1,
            id="tail table",
        ),
        pytest.param('(import "a" "b" (func)) (func (call 0) (call 0))', 2, id="calls of an import"),
        pytest.param(
            "(memory 1) (func (memory.fill (i32.const 0) (i32.const 0) (i32.const 9)))", 1, id="a range of memory"
        ),
        pytest.param("(memory 1) (func (drop (memory.grow (i32.const 0))))", 0, id="one instruction"),
    ],
)
def test_checks_are_where_a_path_may_be_endless(functions: str, checks: int) -> None:
    made = checked(f"(module {functions})")
    assert made.checks == checks
    assert made.wasm.count(CHECK) == checks


def test_a_large_function_has_a_check_at_its_entry() -> None:
    nops = "(nop) " * LIGHT
    assert checked(f"(module (func {nops}))").checks == 1


def test_calls_that_double_sixty_times_have_checks() -> None:
    """Neither a loop nor a recursion, and it would run for years."""
    functions = " ".join(f"(func $f{n} (call $f{n + 1}) (call $f{n + 1}))" for n in range(60))
    made = checked(f"(module {functions} (func $f60))")
    assert 5 <= made.checks < 60


def test_a_function_that_calls_much_code_without_checks_checks_every_call() -> None:
    nops = "(nop) " * (LIGHT - 40)
    assert checked(f"(module (func {nops}) (func {'(call 0) ' * 100}))").checks == 1
    assert checked(f"(module (func {nops}) (func {'(call 0) ' * 1000}))").checks == 1000


def unchecked_work(calls: list[list[int]], costs: list[int], always: set[int]) -> None:
    """Walks all paths of calls from each function without passing an entry check: they end, and are short."""
    found = entry_checks(calls, costs, always)

    def work(number: int, path: tuple[int, ...]) -> int:
        assert number not in path, "a cycle without a check"
        return costs[number] + sum(work(n, (*path, number)) for n in calls[number] if n not in found.entries)

    for number in range(len(calls)):
        spent = work(number, ())
        if number not in found.entries:
            assert spent <= LIGHT


@pytest.mark.parametrize("seed", range(200))
def test_every_cycle_of_calls_has_a_check_and_every_path_without_one_is_short(seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randrange(1, 12)
    calls = [[chance.randrange(count) for _ in range(chance.randrange(4))] for _ in range(count)]
    if seed % 2:  # without cycles
        calls = [[callee for callee in called if callee > number] for number, called in enumerate(calls)]
    costs = [chance.choice((2, 100, LIGHT - 1, LIGHT + 1)) for _ in range(count)]
    always = {number for number in range(count) if not chance.randrange(6)}
    unchecked_work(calls, costs, always)
    if seed % 2:
        assert entry_checks(calls, [2] * count, set()).entries == frozenset()


# ---------------------------------------------------------------- what stays


@pytest.mark.parametrize("text", ["(module)", "(module (memory 1))", '(module (func (export "f")))'])
def test_every_module_has_a_guard(text: str) -> None:
    made = checked(text)
    module = wasmtime.Module(fuzzed._engine(), made.wasm)
    guard = next(item.type for item in module.exports if item.name == GUARD)
    assert isinstance(guard, wasmtime.MemoryType)
    assert (guard.limits.min, guard.limits.max) == (1, 1)


def test_a_guest_cannot_have_the_guards_name() -> None:
    wasm = bytes(wat2wasm(f'(module (memory (export "{GUARD}") 1))'))
    with pytest.raises(wasmtime.WasmtimeError, match="duplicate export name"):
        wasmtime.Module(fuzzed._engine(), with_checks(wasm).wasm)


def test_names_and_custom_sections_stay() -> None:
    wasm = wat("misbehave").read_bytes()
    custom = [section.content for section in binary.sections(wasm) if section.number == 0]
    made = with_checks(wasm)
    assert [section.content for section in binary.sections(made.wasm) if section.number == 0] == custom
    assert custom


def test_positions_are_those_of_the_file() -> None:
    wasm = bytes(wat2wasm('(module (func (export "f") (loop (br_if 0 (i32.const 0))) (unreachable)))'))
    made = with_checks(wasm)
    place = made.wasm.index(CHECK)
    assert made.positions.original(made.wasm.rindex(b"\x00\x0b")) == wasm.rindex(b"\x00\x0b")
    assert made.positions.original(place + 3) == wasm.index(b"\x03\x40") + 2, "a check is where the next instruction is"
    assert made.positions.original(4) == 4
    assert made.positions.original(UNKNOWN) == UNKNOWN
    again = Positions.unpacked(made.positions.packed())
    assert [again.original(n) for n in range(len(made.wasm))] == [
        made.positions.original(n) for n in range(len(made.wasm))
    ]


def test_every_instruction_of_a_large_guest_keeps_its_position() -> None:
    wasm = binary.without_start(go_guest("nodenumber").read_bytes())
    made = with_checks(wasm)
    wasmtime.Module.validate(fuzzed._engine(), made.wasm)
    code = next(section for section in binary.sections(made.wasm) if section.number == 10)
    begin = len(made.wasm) - len(made.wasm[code.offset :])
    places = range(begin + 16, begin + len(code.content), 997)
    matches = sum(made.wasm[at : at + 4] == wasm[(to := made.positions.original(at)) : to + 4] for at in places)
    assert matches > 0.95 * len(places)


@pytest.mark.parametrize("instruction", ["d3", "fc12", "fd8c00", "fe03000000", "06", "08"])
def test_an_unknown_instruction_is_an_error(instruction: str) -> None:
    body = b"\x00" + bytes.fromhex(instruction) + b"\x0b"
    content = b"\x01" + bytes([len(body)]) + body
    wasm = b"\0asm\1\0\0\0\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x0a" + bytes([len(content)]) + content
    with pytest.raises(BinaryError, match="unknown instruction"):
        with_checks(wasm)


@pytest.mark.parametrize("cut", range(60))
def test_a_damaged_module_is_an_error_or_as_valid_as_before(cut: int) -> None:
    wasm = wat("filter").read_bytes()
    damaged = wasm[: len(wasm) * cut // 60]
    try:
        made = with_checks(damaged).wasm
    except (BinaryError, IndexError):
        return
    try:
        wasmtime.Module.validate(STRICT.engine(), damaged)
    except wasmtime.WasmtimeError:
        return
    wasmtime.Module.validate(fuzzed._engine(), made)


# ---------------------------------------------------------------- behaviour


@pytest.mark.parametrize("number", range(0, 200, 10))
def test_generated_modules_do_the_same_with_checks_and_without(number: int) -> None:
    """`make fuzz` has as many more as there is time for."""
    chance = random.Random(number)
    for _ in range(10):
        fuzzed.one(bytes([number % 4]) + chance.randbytes(250))
