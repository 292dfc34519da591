"""Sandboxed runs of WASI programs, core modules (preview 1) and components (preview 2), with granted capabilities only.

Public: the names in `__all__`, described in docs/wasi.md. The modules of this package are private.

>>> from kubewasp.wasi import Capabilities, load_program, run           # doctest: +SKIP
>>> granted = Capabilities(arguments=("--help",))                       # doctest: +SKIP
>>> run(load_program(wasm, granted), granted).exit_code                 # doctest: +SKIP
0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = [
    "Buffer",
    "Capabilities",
    "CapabilityError",
    "Denial",
    "Ending",
    "Outcome",
    "Preopen",
    "WasiProgram",
    "load_program",
    "of_bytes",
    "run",
]

if TYPE_CHECKING:
    from kubewasp.wasi.capabilities import Capabilities, CapabilityError, Preopen
    from kubewasp.wasi.command import Ending, Outcome, run
    from kubewasp.wasi.denials import Denial
    from kubewasp.wasi.program import WasiProgram, load_program
    from kubewasp.wasi.streams import Buffer, of_bytes

_HOMES = {
    "Buffer": "streams",
    "Capabilities": "capabilities",
    "CapabilityError": "capabilities",
    "Denial": "denials",
    "Ending": "command",
    "Outcome": "command",
    "Preopen": "capabilities",
    "WasiProgram": "program",
    "load_program": "program",
    "of_bytes": "streams",
    "run": "command",
}


def __getattr__(name: str) -> object:
    """Import on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
