"""Turns what ended a call into one text: which plugin, which hook, what happened, where in the guest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wasmtime import ExitTrap, Trap, TrapCode

from kubewasp.wasm.core.abi import BY_KEY
from kubewasp.wasm.core.node_records import TooManyResourcesError
from kubewasp.wasm.traces import OUR_MODULES, stack_trace

if TYPE_CHECKING:
    from kubewasp.wasm.limits import Limits

_MAX_OUTPUT = 4096
_TRAP = re.compile(r"wasm trap: .*")


class TimeLimit(Exception):  # noqa: N818 - raised in a callback, never seen by a user
    """The guest sleeps longer than its time limit allows."""


class Overrun(Exception):  # noqa: N818 - as above
    """The guest handed over more than it may."""

    def __init__(self, what: str, length: int, limit: int) -> None:
        super().__init__(f"{what}: {length} bytes are over the limit of {limit}")


@dataclass(frozen=True, slots=True)
class HookFailure:
    """Why a call has no answer."""

    text: str
    cause: str
    kind: str


def describe(
    error: Exception,
    *,
    hook: str,
    plugin: str,
    callback_error: BaseException | None,
    refused: int,
    output: str,
    memory: int,
    limits: Limits,
    seconds: float,
) -> HookFailure:
    kind, cause = _cause(error, callback_error, refused, limits, seconds)
    if kind == "trap" and memory > limits.memory * 0.9:
        cause += f" ({memory} of {limits.memory} bytes of memory in use)"
    return failure(hook, plugin, kind, cause, output=output, trace=stack_trace(error))


def failure(hook: str, plugin: str, kind: str, cause: str, *, output: str = "", trace: str = "") -> HookFailure:
    """`wasm: HOOK error: TEXT`, where the text is what the guest printed, if it did; then the rest."""
    told = f'{cause} (plugin "{plugin}")'
    printed = output.strip(" \t\r\n\0")
    if len(printed) > _MAX_OUTPUT:
        printed = f"{printed[:_MAX_OUTPUT]}…"
    lines = [f"wasm: {hook} error: {printed}", told] if printed else [f"wasm: {hook} error: {told}"]
    return HookFailure("\n".join([*lines, trace] if trace else lines), cause, kind)


def _cause(
    error: Exception, callback_error: BaseException | None, refused: int, limits: Limits, seconds: float
) -> tuple[str, str]:
    if isinstance(callback_error, TimeLimit):
        return "timeout", f"time limit of {seconds:g} s exceeded"
    if isinstance(callback_error, IndexError):
        return "trap", f"{callback_error}: buffer outside of the guest's memory"
    if isinstance(callback_error, Overrun | TooManyResourcesError):
        return "overrun", str(callback_error)
    if callback_error is not None:
        return "host", f"{type(callback_error).__name__}: {callback_error}"
    if isinstance(error, ExitTrap):
        return "exit", f"guest exited with code {error.code}"
    if not isinstance(error, Trap):
        return "trap", str(error).strip()
    if error.trap_code is TrapCode.INTERRUPT:
        return "timeout", f"time limit of {seconds:g} s exceeded"
    if error.trap_code is TrapCode.STACK_OVERFLOW:
        return "overrun", f"stack limit of {limits.stack} bytes exceeded"
    called = _called_import(error)
    if refused:
        limit = limits.reason if called.endswith("status_reason") else limits.log
        return "overrun", f"{called}: {refused} bytes are over the limit of {limit}"
    if called and error.trap_code is TrapCode.MEMORY_OUT_OF_BOUNDS:
        return "trap", f"{called}: buffer outside of the guest's memory"
    found = _TRAP.search(error.message)
    return "trap", found.group() if found else error.message.strip()


def _called_import(trap: Trap) -> str:
    """The import that the guest was in when it trapped, if it was in one."""
    for frame in trap.frames:
        if frame.module_name not in OUR_MODULES:
            return ""
        known = BY_KEY.get(frame.func_name or "")
        if known is not None:
            return known.name
    return ""
