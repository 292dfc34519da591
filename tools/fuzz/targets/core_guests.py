"""Core guests, loaded and called in all hooks under small limits.

An input that begins like WebAssembly is loaded as it is. Any other input is a list of choices, from which a valid guest
is generated: mutations of it stay valid, and reach the hooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from wasmtime import wat2wasm

from kubewasp.errors import KubewaspError
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.binary import MAGIC
from kubewasp.wasm.core.abi import ADAPTER_IMPORTS
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.hooks import HOOKS, STATE_HOOKS, Answer
from kubewasp.wasm.limits import KIB, MIB, Limits
from tests import samples
from tests.guests.build import wat
from tools.fuzz.hook_calls import HOOK_CALLS, ReadingSink
from tools.fuzz.labels import error_label

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.wasm.core.abi import Import

LIMITS: Final = Limits(
    memory=2 * MIB,
    call_timeout=0.02,
    cycle_timeout=0.05,
    start_timeout=0.02,
    stack=64 * KIB,
    payload=64 * KIB,
    reason=KIB,
    log=KIB,
    output=KIB,
    compile_timeout=5,
    compile_memory=256 * MIB,
)


def seeds() -> Iterator[bytes]:
    """Choices, two large binaries, and a small one, whole and damaged: a large one is compiled in a child process."""
    yield wat("all_hooks").read_bytes()
    yield wat("imports").read_bytes()
    wasm = bytes(wat2wasm(generated(bytes(range(7, 200, 5)))))
    yield wasm
    yield wasm[: len(wasm) // 2]
    for place in range(8, len(wasm), max(len(wasm) // 20, 1)):
        yield wasm[:place] + bytes([wasm[place] ^ 0xFF]) + wasm[place + 1 :]
    yield b""
    for number in range(40):
        yield bytes((number * 37 + place * (number + 11)) % 256 for place in range(60))


def one(data: bytes) -> str:
    """Loads a guest and calls its hooks. AssertionError for a failure of the host, or for too much memory."""
    wasm = data if data[:4] == MAGIC else bytes(wat2wasm(generated(data)))
    try:
        guest = Guest.load(wasm, name="fuzzed", limits=LIMITS, logs=ReadingSink())
    except KubewaspError as error:
        assert len(str(error)) < 100_000, "the text is bounded"
        return error_label(error)
    table, outcomes = NodeTable.of(samples.nodes(3)), []
    for hook in guest.hooks:
        if hook in STATE_HOOKS:
            continue
        with guest.cycle(samples.pod(), table) as cycle:
            HOOK_CALLS[hook](cycle)
            failure = cycle.hooks.failure
            assert failure is None or failure.kind != "host", failure
            if failure is None:
                assert cycle.runner.memory_bytes <= LIMITS.memory
            outcomes.append("returned" if failure is None else failure.kind)
    return f"called: {', '.join(sorted(set(outcomes)))}"


class Choices:
    """Numbers from the bytes of an input; 0 after its end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_over(self) -> bool:
        return self._at >= len(self._data)

    def below(self, count: int) -> int:
        value = self._data[self._at] if self._at < len(self._data) else 0
        self._at += 1
        return value % count


def generated(data: bytes) -> str:
    """A guest as text, of the choices in the data."""
    choices = Choices(data)
    names = [name for name in HOOKS if name not in STATE_HOOKS]
    hooks = [names[choices.below(len(names))] for _ in range(1 + choices.below(4))]
    hooks = list(dict.fromkeys([*hooks, "filter"]))
    imports = [ADAPTER_IMPORTS[choices.below(len(ADAPTER_IMPORTS))] for _ in range(choices.below(6))]
    lines = [
        f'(import "{item.module}" "{item.name}" (func $import{number}{" (param" + " i32" * len(item.parameters) + ")"}'
        f"{f' (result {item.result})' if item.result else ''}))"
        for number, item in enumerate(imports)
    ]
    lines.append(f'(memory (export "memory") {choices.below(3)})')
    lines += [f"(table {choices.below(200) * choices.below(200)} funcref)" for _ in range(choices.below(4))]
    lines.append("(global $number (mut i32) (i32.const 0))")
    tables = sum(line.startswith("(table") for line in lines)
    for hook in hooks:
        kind = HOOKS[hook].answer
        result = "" if kind is Answer.NOTHING else f"(result {kind.wasm_type})"
        body = " ".join(_statement(choices, imports, tables) for _ in range(choices.below(6)))
        value = "" if kind is Answer.NOTHING else f"({kind.wasm_type}.const {_value(choices)})"
        lines.append(f'(func (export "{hook}") {result} (local $i i32) {body} {value})')
    if choices.below(4) == 3:
        lines.append(f'(func (export "_initialize") {_statement(choices, imports, tables)})')
    if choices.below(8) == 7:
        lines.append('(data (i32.const 60000) "fuzzed") (func $main (global.set $number (i32.const 1))) (start $main)')
    return f"(module {' '.join(lines)})"


_VALUES: Final = (0, 1, 2, 8, 64, 1024, 65535, 65536, 65537, 131072, 2**31 - 1, -1, -8, -(2**31))


def _value(choices: Choices) -> int:
    return _VALUES[choices.below(len(_VALUES))]


def _operand(choices: Choices) -> str:
    return ("(global.get $number)", "(memory.size)", f"(i32.const {_value(choices)})")[min(choices.below(6), 2)]


def _statement(choices: Choices, imports: list[Import], tables: int) -> str:
    a, b, c = (_operand(choices) for _ in range(3))
    kinds = [
        f"(global.set $number {a})",
        f"(i32.store {a} {b})",
        f"(global.set $number (i32.load {a}))",
        f"(drop (memory.grow {a}))",
        f"(memory.fill {a} {b} {c})",
        f"(memory.copy {a} {b} {c})",
        "(unreachable)",
        "(loop (br 0))",
        f"(if (i32.eqz {a}) (then (global.set $number {b})))",
        f"(global.set $number (i32.div_s {a} {b}))",
    ]
    kinds += [f"(drop (table.grow {number} (ref.null func) {a}))" for number in range(tables)]
    for number, item in enumerate(imports):
        arguments = " ".join(_operand(choices) for _ in item.parameters)
        call = f"(call $import{number} {arguments})"
        kinds.append(f"(drop {call})" if item.result else call)
    return kinds[choices.below(len(kinds))]
