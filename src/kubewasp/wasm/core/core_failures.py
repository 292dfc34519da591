"""Causes of failed calls of a core module, read from the trap and from the adapter."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wasmtime import ExitTrap, Trap, TrapCode

from kubewasp.wasm.core.abi import BY_KEY
from kubewasp.wasm.core.guest_abort import GuestAbort
from kubewasp.wasm.core.node_records import TooManyResourcesError
from kubewasp.wasm.deadlines import TimeLimit
from kubewasp.wasm.hook_failures import (
    OUR_MODULES,
    hook_failure,
    innermost_function,
    stack_trace,
    stack_trace_of_text,
    time_limit,
)
from kubewasp.wasm.payloads import PayloadError

if TYPE_CHECKING:
    from kubewasp.wasm.hook_failures import HookFailure, TimeSetting
    from kubewasp.wasm.limits import Limits
    from kubewasp.wasm.load_checks import Positions

_TRAP = re.compile(r"wasm trap: .*")
# The first cause in an error of the runtime's own functions, below a stack trace.
_CAUSED_BY = re.compile(r"Caused by:\s+(?:\d+: )?(.*)")


class Overrun(Exception):  # noqa: N818 - raised in a callback, never seen by a user
    """A payload of the guest exceeds its limit."""

    def __init__(self, what: str, length: int, limit: int) -> None:
        super().__init__(f"{what}: {length} bytes are over the limit of {limit}")


def described(
    error: Exception,
    *,
    hook: str,
    plugin: str,
    callback_error: BaseException | None,
    timed_out: bool,
    refused: int,
    output: str,
    memory: int,
    limits: Limits,
    setting: TimeSetting,
    node: str,
    positions: Positions | None = None,
) -> HookFailure:
    """The failure of a call that ended with an error.

    Args:
        error: The trap or error of the runtime.
        hook: The hook that was called, or the start function.
        plugin: The plugin's name.
        callback_error: The exception of a host callback, if one ended the call.
        timed_out: Whether the time limit ended the call.
        refused: The length of a payload that the adapter refused, or 0.
        output: The guest's stdout and stderr in this call.
        memory: The size of the guest's memory in bytes.
        limits: The guest's limits.
        setting: The time limit of this call.
        node: The current node of the call; empty if it has none.
        positions: Positions of a module with load checks.
    """
    kind, cause = _cause(error, callback_error, refused, limits)
    # Where epochs end a call, the error of the callback is no trap.
    trace = stack_trace(error, positions) if isinstance(error, Trap | ExitTrap) else stack_trace_of_text(error)
    if timed_out or kind == "timeout":
        place = f"node {node}" if node else ""
        function = innermost_function(trace)
        kind, cause = "timeout", time_limit(limits, setting, place=place, function=function)
    if kind == "trap" and memory > limits.memory * 0.9:
        cause += f" ({memory} of {limits.memory} bytes of memory in use)"
    return hook_failure(hook, plugin, kind, cause, output=output, trace=trace)


def _cause(error: Exception, callback_error: BaseException | None, refused: int, limits: Limits) -> tuple[str, str]:
    if isinstance(callback_error, TimeLimit):
        return "timeout", ""
    if isinstance(callback_error, IndexError):
        return "trap", f"{callback_error}: buffer outside of the guest's memory"
    if isinstance(callback_error, GuestAbort):
        return "trap", str(callback_error)
    if isinstance(callback_error, Overrun | TooManyResourcesError):
        return "overrun", str(callback_error)
    if isinstance(callback_error, PayloadError):
        return "payload", str(callback_error)
    if callback_error is not None:
        return "host", f"{type(callback_error).__name__}: {callback_error}"
    if isinstance(error, ExitTrap):
        return "exit", f"guest exited with code {error.code}"
    if not isinstance(error, Trap):
        found = _CAUSED_BY.search(str(error))
        return "trap", found.group(1) if found else str(error).strip()
    if error.trap_code is TrapCode.INTERRUPT:
        return "timeout", ""
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
    """The import that trapped; empty if the guest itself did."""
    for frame in trap.frames:
        if frame.module_name not in OUR_MODULES:
            return ""
        known = BY_KEY.get(frame.func_name or "")
        if known is not None:
            return known.name
    return ""
