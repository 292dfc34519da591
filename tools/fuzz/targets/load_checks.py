"""Load checks: modules with and without them do the same, and none with them runs for ever.

An input that begins like WebAssembly is given checks as it is; with them it must be as valid as without. Any other
input is a list of choices, from which a module is generated: with a budget that ends it, it must end in the same way
with checks and without (results, memory, trap, places of its stack trace); without a budget, a timer must end it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, cast

from wasmtime import Engine, Func, Instance, Memory, Module, Store, Trap, WasmtimeError, wat2wasm

from kubewasp.wasm import binary, guard_timers
from kubewasp.wasm.binary import MAGIC, BinaryError
from kubewasp.wasm.core.core_engine import STRICT
from kubewasp.wasm.engine_settings import SWITCHED_OFF, EngineSettings
from kubewasp.wasm.ffi import address_of
from kubewasp.wasm.load_checks import GUARD, with_checks
from tests.guests.build import wat
from tools.fuzz.targets.core_guests import Choices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FUNCTIONS: Final = 5
LIMIT: Final = 0.01
_BUDGET: Final = 300
_DEEPEST: Final = 4
_ON: Final = ("wasm_threads", "wasm_multi_memory")
_SETTINGS: Final = EngineSettings(
    "checked", tuple(name for name in SWITCHED_OFF if name not in _ON), _ON, stack=64 * 1024, load_checks=True
)


def seeds() -> Iterator[bytes]:
    """Binaries, whole and damaged, and choices with a budget and without."""
    for name in ("all_hooks", "imports", "misbehave", "extension"):
        wasm = wat(name).read_bytes()
        yield wasm
        for place in range(8, len(wasm), max(len(wasm) // 20, 1)):
            yield wasm[:place] + bytes([wasm[place] ^ 0x41]) + wasm[place + 1 :]
    yield b""
    for number in range(60):
        yield bytes([number % 4, *((number * 31 + place * (number + 7)) % 256 for place in range(120))])


def one(data: bytes) -> str:
    """AssertionError if checks change anything, or end nothing."""
    if data[:4] == MAGIC:
        return _validated(data)
    choices = Choices(data)
    if choices.below(4) == 3:
        wasm = bytes(wat2wasm(generated(choices, budget=0)))
        return f"ended: {_ended(wasm)}"
    wasm = bytes(wat2wasm(generated(choices, budget=_BUDGET)))
    checked = with_checks(wasm)
    expected = _outcome(wasm, lambda offset: offset)
    assert _outcome(checked.wasm, checked.positions.original) == expected
    return f"same: {expected.end}"


def _validated(data: bytes) -> str:
    try:
        binary.check_header(data)
        wasm = binary.without_start(data)
        Module.validate(_strict(), wasm)
    except (BinaryError, WasmtimeError):
        return "invalid"
    try:
        checked = with_checks(wasm)
    except BinaryError:  # an instruction in an unusual form: such a guest is not loaded
        return "refused"
    Module.validate(_engine(), checked.wasm)
    return "valid"


@cache
def _strict() -> Engine:
    return STRICT.engine()


@cache
def _engine() -> Engine:
    return _SETTINGS.engine()


@dataclass(frozen=True, slots=True)
class Outcome:
    """End of a call: its results, or the trap with the functions and offsets of its stack; and the memory."""

    end: str
    results: str
    frames: tuple[tuple[int, int], ...]
    memory: str


def _outcome(wasm: bytes, original: Callable[[int], int]) -> Outcome:
    store = Store(_engine())
    exports = Instance(store, Module(_engine(), wasm), []).exports(store)
    end, results = "returned", ""
    frames: tuple[tuple[int, int], ...] = ()
    try:
        results = str(cast("Func", exports["run"])(store, 7, 11))
    except Trap as trap:
        end = trap.trap_code.name if trap.trap_code is not None else "trap"
        if end != "STACK_OVERFLOW":  # frames are larger with checks
            frames = tuple((frame.func_index, original(frame.module_offset)) for frame in trap.frames)
    memory = cast("Memory", exports["memory"])
    content = bytes(memory.read(store, 0, memory.data_len(store)))
    if end == "STACK_OVERFLOW":
        return Outcome(end, "", (), "")
    return Outcome(end, results, frames, hashlib.sha256(content).hexdigest())


def _ended(wasm: bytes) -> str:
    """Runs a module without a budget under a time limit."""
    if not guard_timers.are_there():
        return "not tried"
    store = Store(_engine())
    exports = Instance(store, Module(_engine(), with_checks(wasm).wasm), []).exports(store)
    page = address_of(store, cast("Memory", exports[GUARD]))
    timer = guard_timers.take()
    timer.arm(page, LIMIT)
    try:
        cast("Func", exports["run"])(store, 7, 11)
    except Trap as trap:
        if timer.has_fired:
            return "by the timer"
        return trap.trap_code.name if trap.trap_code is not None else "trap"
    finally:
        timer.disarm()
        guard_timers.give_back(timer)
    return "returned"


# ---------------------------------------------------------------- modules


def generated(choices: Choices, *, budget: int) -> str:
    """A module as text, of the choices; with a budget, loop rounds and calls are limited by it."""
    maker = _Maker(choices, budget)
    functions = [
        f"(func $f{number} (param $a i32) (param $b i32) (result i32) (local $c i32) (local $d f64) (local $v v128) "
        f"{maker.spend()} {maker.statements(0)} {maker.number(0)})"
        for number in range(FUNCTIONS)
    ]
    names = " ".join(f"$f{number}" for number in range(FUNCTIONS))
    sizes = ("1 1", "1 2", "1")[choices.below(3)]
    return f"""(module
      (type $two (func (param i32 i32) (result i32)))
      (memory (export "memory") {sizes}) (table $t 8 funcref) (elem (table $t) (i32.const 0) func {names})
      (elem $some func $f0 $f1) (data $text "some text")
      (global $left (mut i32) (i32.const {budget})) (global $sum (mut i32) (i32.const 1))
      {" ".join(functions)}
      (func (export "run") (param i32 i32) (result i32) (call $f0 (local.get 0) (local.get 1))))"""


class _Maker:
    """Statements and expressions; `depth` bounds their nesting."""

    def __init__(self, choices: Choices, budget: int) -> None:
        self._choices = choices
        self._budget = budget

    def spend(self) -> str:
        """Takes one from the budget, and traps at its end."""
        if not self._budget:
            return ""
        return (
            "(global.set $left (i32.sub (global.get $left) (i32.const 1)))"
            " (if (i32.eqz (global.get $left)) (then (unreachable)))"
        )

    def statements(self, depth: int) -> str:
        count = self._choices.below(5)
        return " ".join(self.statement(depth + 1) for _ in range(count))

    def number(self, depth: int) -> str:
        """An i32."""
        if depth >= _DEEPEST or self._choices.is_over:
            return ("(local.get $a)", "(local.get $b)", "(local.get $c)", "(global.get $sum)", "(i32.const 3)")[
                self._choices.below(5)
            ]
        kind = self._choices.below(16)
        a, b = self.number(depth + 1), self.number(depth + 1)
        function = self._choices.below(FUNCTIONS)
        return (
            f"(i32.const {self._choices.below(256) << self._choices.below(24)})",
            f"(i32.add {a} {b})",
            f"(i32.div_s {a} {b})",
            f"(i32.load offset={self._choices.below(256)} (i32.and {a} (i32.const 0x1ffff)))",
            f"(call $f{function} {a} {b})",
            f"(call_indirect $t (type $two) {a} {b} (i32.and {a} (i32.const 7)))",
            f"(if (result i32) {a} (then {b}) (else {a}))",
            f"(block (result i32) {a})",
            f"(select {a} {b} (local.get $c))",
            f"(select (result i32) {a} {b} (local.get $a))",
            "(memory.size)",
            f"(memory.grow (i32.and {a} (i32.const 1)))",
            f"(i32.trunc_sat_f64_s (f64.add (f64.const 1.5) (f64.convert_i32_s {a})))",
            f"(i32x4.extract_lane 1 (i32x4.add (i32x4.splat {a}) (v128.const i32x4 1 2 3 4)))",
            f"(i8x16.extract_lane_s 3 (i8x16.shuffle 0 17 2 19 4 21 6 23 8 25 10 27 12 29 14 31 "
            f"(i32x4.splat {a}) (v128.load offset=3 (i32.and {b} (i32.const 0xffff)))))",
            f"(i32.wrap_i64 (i64.mul (i64.const 0x123456789abcdef) (i64.extend_i32_u {a})))",
        )[kind]

    def statement(self, depth: int) -> str:
        if depth >= _DEEPEST or self._choices.is_over:
            return "(nop)"
        kind = self._choices.below(18)
        a = self.number(depth)
        inner = self.statements(depth + 1)
        function = self._choices.below(FUNCTIONS)
        return (
            f"(local.set $c {a})",
            f"(global.set $sum (i32.xor (global.get $sum) {a}))",
            f"(i32.store (i32.and {a} (i32.const 0xfffc)) (global.get $sum))",
            f"(loop {self.spend()} {inner} (br_if 0 {a}))",
            f"(loop {self.spend()} {inner} (br 0))",
            f"(block (drop (loop (result i32) {self.spend()} {inner} (br_if 1 (i32.eqz {a})) {a})))",
            f"{a} (loop (param i32) {self.spend()} (drop) {inner})",
            f"(block (block (br_table 0 1 0 1 1 0 {a})) {inner})",
            f"(if {a} (then {inner}) (else (local.set $a {a})))",
            f"(memory.fill (i32.and {a} (i32.const 0xff)) (i32.const 7) (i32.const 40))",
            f"(memory.copy (i32.const 8) (i32.and {a} (i32.const 0xff)) (i32.const 9))",
            f"(memory.init $text (i32.const 5) (i32.const 0) (i32.and {a} (i32.const 15)))",
            "(data.drop $text)",
            f"(table.copy $t $t (i32.const 1) (i32.and {a} (i32.const 3)) (i32.const 2))",
            f"(table.init $t $some (i32.const 5) (i32.const 0) (i32.and {a} (i32.const 3)))",
            f"(if {a} (then (return_call $f{function} (local.get $c) (local.get $a))))",
            f"(if {a} (then (return_call_indirect $t (type $two) (local.get $c) {a} (i32.and {a} (i32.const 7)))))",
            f"(v128.store (i32.const 16) (v128.load8_lane 2 (i32.const 32) (i32x4.splat {a})))"
            f" (local.set $d (f64.reinterpret_i64 (i64.extend_i32_s {a})))",
        )[kind]
