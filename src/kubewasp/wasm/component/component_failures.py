"""What ended a call of a component, in the words that other guests' failures have; see failures.py."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from wasmtime import ExitTrap

from kubewasp.wasm.component.component_engine import MAY_NOT_WAIT, NO_NETWORK
from kubewasp.wasm.failures import HookFailure, failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wasmtime import WasmtimeError

    from kubewasp.wasm.limits import Limits

_TRAP = re.compile(r"wasm trap: .*")
_FRAME = re.compile(r"^ *\d+: +(?:0x[0-9a-f]+ - )?(.*)$", re.MULTILINE)
_MAX_FRAMES = 8


def ended(error: WasmtimeError, *, hook: str, plugin: str, limits: Limits, seconds: float) -> HookFailure:
    """The instance is broken: a trap, a time limit, an exit."""
    text = str(error)
    kind, cause, trace = _cause(error, text, limits, seconds)
    if not trace:
        return failure(hook, plugin, kind, cause)
    frames = _FRAME.findall(text)[:_MAX_FRAMES]
    lines = "\n".join(["wasm stack trace:", *(f"\t{frame}" for frame in frames)]) if frames else ""
    return failure(hook, plugin, kind, cause, trace=lines)


def _cause(error: WasmtimeError, text: str, limits: Limits, seconds: float) -> tuple[str, str, bool]:
    """Kind, text, and whether the frames inside of the guest's language runtime tell anything."""
    if isinstance(error, ExitTrap):
        return "exit", f"guest exited with code {error.code}", False
    for reason in (MAY_NOT_WAIT, NO_NETWORK):
        if reason in text:
            return "trap", reason, False
    found = _TRAP.search(text)
    trap = found.group() if found else text.strip().splitlines()[-1].strip()
    if trap == "wasm trap: interrupt":
        return "timeout", f"time limit of {seconds:g} s exceeded", False
    if trap == "wasm trap: call stack exhausted":
        return "overrun", f"stack limit of {limits.stack} bytes exceeded", False
    return "trap", trap, True


def raised(told: Mapping[str, Any], *, hook: str, plugin: str, limits: Limits) -> HookFailure:
    """The plugin raised an exception; the instance is as good as before."""
    kind, cause, trace = (str(told.get(key) or "") for key in ("kind", "cause", "trace"))
    if kind == "SystemExit":
        return failure(hook, plugin, "exit", f"guest exited with code {told.get('exit', 0)}", trace=trace)
    if kind == "MemoryError":
        return failure(hook, plugin, "overrun", f"memory limit of {limits.memory} bytes exceeded", trace=trace)
    return failure(hook, plugin, "exception", cause or "unknown exception", trace=trace)
