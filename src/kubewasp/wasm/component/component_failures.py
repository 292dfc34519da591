"""Causes of failed calls of a component, read from the error text and from the SDK's answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from wasmtime import ExitTrap

from kubewasp.wasm.component.component_engine import MAY_NOT_WAIT, NO_NETWORK
from kubewasp.wasm.hook_failures import HookFailure, hook_failure, time_limit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wasmtime import WasmtimeError

    from kubewasp.wasm.component.watched_position import Position
    from kubewasp.wasm.hook_failures import TimeSetting
    from kubewasp.wasm.limits import Limits

_TRAP = re.compile(r"wasm trap: .*")
_FRAME = re.compile(r"^ *\d+: +(?:0x[0-9a-f]+ - )?(.*)$", re.MULTILINE)
_MAX_FRAMES = 8


def ended(
    error: WasmtimeError,
    *,
    hook: str,
    plugin: str,
    limits: Limits,
    setting: TimeSetting,
    timed_out: bool,
    place: str,
    position: Position,
) -> HookFailure:
    """The failure of a call that did not return (a trap, a time limit, an exit): the instance is broken."""
    if timed_out:
        place = f"node {position.node}" if position.node else place
        cause = time_limit(limits, setting, place=place, function=position.function)
        return hook_failure(hook, plugin, "timeout", cause)
    text = str(error)
    kind, cause, trace = _cause(error, text, limits)
    if not trace:
        return hook_failure(hook, plugin, kind, cause)
    frames = _FRAME.findall(text)[:_MAX_FRAMES]
    lines = "\n".join(["wasm stack trace:", *(f"\t{frame}" for frame in frames)]) if frames else ""
    return hook_failure(hook, plugin, kind, cause, trace=lines)


def _cause(error: WasmtimeError, text: str, limits: Limits) -> tuple[str, str, bool]:
    """Kind, text, and whether a stack trace (mostly of the language runtime) is worth showing."""
    if isinstance(error, ExitTrap):
        return "exit", f"guest exited with code {error.code}", False
    for reason in (MAY_NOT_WAIT, NO_NETWORK):
        if reason in text:
            return "trap", reason, False
    found = _TRAP.search(text)
    trap = found.group() if found else text.strip().splitlines()[-1].strip()
    if trap == "wasm trap: call stack exhausted":
        return "overrun", f"stack limit of {limits.stack} bytes exceeded", False
    return "trap", trap, True


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def raised(error: Mapping[str, Any], *, hook: str, plugin: str, limits: Limits) -> HookFailure:
    """The failure of a call in which the plugin raised an exception: the instance stays usable."""
    kind, cause, trace = (_text(error.get(key))[: limits.reason] for key in ("kind", "cause", "trace"))
    if kind == "SystemExit":
        code = error.get("exit", 0)
        shown = code if isinstance(code, int) and -(2**31) <= code < 2**31 else "unknown"
        return hook_failure(hook, plugin, "exit", f"guest exited with code {shown}", trace=trace)
    if kind == "MemoryError":
        return hook_failure(hook, plugin, "overrun", f"memory limit of {limits.memory} bytes exceeded", trace=trace)
    return hook_failure(hook, plugin, "exception", cause or "unknown exception", trace=trace)
