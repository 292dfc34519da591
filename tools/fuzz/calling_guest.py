"""A guest that makes host calls with random numbers, many in one hook, and goes on behind a call that failed.

Its numbers come from the global `state` (xorshift), so calls repeat; `left` is the number of calls still to make. Of
256 numbers, `wild` are edges or any number, most of them outside of the memory; the others are small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubewasp.wasm.core.abi import ADAPTER_IMPORTS, WASI, Import
from kubewasp.wasm.hooks import HOOKS, STATE_HOOKS, Answer

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE: Final = 65536
# All functions of the adapter without poll_oneoff, which sleeps; of the runtime, some that take any address.
CALLED: Final = (
    *(item for item in ADAPTER_IMPORTS if item.name != "poll_oneoff"),
    Import(WASI, "random_get", ("buf", "len"), "i32"),
    Import(WASI, "args_get", ("argv", "buf"), "i32"),
    Import(WASI, "environ_get", ("environ", "buf"), "i32"),
)


def edges(size: int = PAGE) -> list[int]:
    """Addresses and lengths around everything that could be an edge, for a memory of that size; unsigned."""
    found = {0, 1, 6, 8, 48, 64, 128, 1024, size - 8, size - 1, size, size + 1, 2**31 - 1, 2**31, 2**32 - 1}
    return sorted(edge % 2**32 for edge in found)


def wat() -> str:
    """The guest as text."""
    return f"(module {' '.join(_parts())})"


def _parts() -> Iterator[str]:
    for number, item in enumerate(CALLED):
        parameters = f" (param{' i32' * len(item.parameters)})" if item.parameters else ""
        result = f" (result {item.result})" if item.result else ""
        yield f'(import "{item.module}" "{item.name}" (func $import{number}{parameters}{result}))'
    yield '(memory (export "memory") 1)'
    # Names, a uid, and lists of addresses and lengths, to point at.
    yield r'(data (i32.const 64) "node-1\00node-2\00cpu\00uid-waiting\00{\22reason\22:\22x\22}")'
    yield r'(data (i32.const 128) "\40\00\00\00\06\00\00\00\00\00\01\00\01\00\00\00\ff\ff\ff\ff\ff\ff\ff\ff")'
    yield '(global $state (export "random") (mut i64) (i64.const 1))'
    yield '(global $left (export "left") (mut i32) (i32.const 0))'
    yield '(global $wild (export "wild") (mut i32) (i32.const 0))'
    yield f"(table funcref (elem {' '.join(f'$call{number}' for number in range(len(CALLED)))}))"
    yield """
        (func $random (result i32)
          (global.set $state (i64.xor (global.get $state) (i64.shl (global.get $state) (i64.const 13))))
          (global.set $state (i64.xor (global.get $state) (i64.shr_u (global.get $state) (i64.const 7))))
          (global.set $state (i64.xor (global.get $state) (i64.shl (global.get $state) (i64.const 17))))
          (i32.wrap_i64 (i64.shr_u (global.get $state) (i64.const 16))))
    """
    known = edges()
    chosen = " ".join(
        f"(if (i32.eq (local.get $which) (i32.const {number})) (then (return (i32.const {edge}))))"
        for number, edge in enumerate(known)
    )
    # Half of the small numbers are rows, severities and the like.
    yield f"""
        (func $number (result i32) (local $which i32)
          (if (i32.ge_u (i32.and (call $random) (i32.const 255)) (global.get $wild))
            (then (return (i32.and (call $random)
              (select (i32.const 7) (i32.const 255) (i32.and (call $random) (i32.const 1)))))))
          (local.set $which (i32.rem_u (call $random) (i32.const {len(known) + 2})))
          {chosen}
          (call $random))
    """
    for number, item in enumerate(CALLED):
        call = f"(call $import{number}{' (call $number)' * len(item.parameters)})"
        yield f"(func $call{number} {f'(drop {call})' if item.result else call})"
    yield f"""
        (func $all
          (loop $next
            (if (i32.eqz (global.get $left)) (then (return)))
            (global.set $left (i32.sub (global.get $left) (i32.const 1)))
            (call_indirect (i32.rem_u (call $random) (i32.const {len(CALLED)})))
            (br $next)))
    """
    for name, hook in HOOKS.items():
        if name not in STATE_HOOKS:
            kind, has_answer = hook.answer.wasm_type, hook.answer is not Answer.NOTHING
            result, answer = (f"(result {kind})", f"({kind}.const 0)") if has_answer else ("", "")
            yield f'(func (export "{name}") {result} (call $all) {answer})'
