"""Where in a guest a trap was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wasmtime import Trap

if TYPE_CHECKING:
    from wasmtime import Frame

# Modules that stand between a guest and the host; their frames tell nothing.
OUR_MODULES = ("kubewasp_adapter", "kubewasp_shim", "kubewasp_wasi_door", "kubewasp_wasi_shim")
_MAX_FRAMES = 16


def stack_trace(error: Exception) -> str:
    """One line a frame; nothing if that is not known."""
    if not isinstance(error, Trap):
        return ""
    frames = [frame for frame in error.frames if frame.module_name not in OUR_MODULES]
    lines = [f"\t{frame.func_name or f'func[{frame.func_index}]'}{_place(frame)}" for frame in frames]
    if len(lines) > _MAX_FRAMES:
        lines[_MAX_FRAMES:] = [f"\t… {len(lines) - _MAX_FRAMES} more"]
    return "\n".join(["wasm stack trace:", *lines]) if lines else ""


def _place(frame: Frame) -> str:
    """The runtime does not know where a function was that had just begun."""
    return f" @ {frame.module_offset:#x}" if frame.module_offset < 2**32 else ""
