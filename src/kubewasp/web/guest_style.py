"""Style of a guest from its exports, for guests without `style` in the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubewasp.wasm import binary
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.footprint import read as read_footprint
from kubewasp.web.run_abi import LINES, MESSAGE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.web.web_config import Style

_MODULE: Final = "() -> (i64)"


def detect_style(wasm: bytes) -> Style:
    """The only style that the exports fit; GuestLoadError if there is none, or more than one."""
    try:
        binary.check_header(wasm)
        if binary.is_component(wasm):
            return "wasi"
        read_footprint(wasm)  # bounds the numbers of types and exports
        exported = binary.signatures(wasm).exported
    except binary.BinaryError as error:
        raise GuestLoadError(f"wasm: {error}") from None
    found = _fitting(exported)
    if len(found) == 1:
        return found[0]
    if found:
        raise GuestLoadError(f"wasm: exports fit the styles {' and '.join(found)}: set style")
    raise GuestLoadError(
        "wasm: style not recognized: expected an exported _start (wasi), run (module, run) or handle_request "
        f"(http-wasm); {_run_shown(exported)}"
    )


def _fitting(exported: Mapping[str, str]) -> list[Style]:
    found: list[Style] = []
    if "handle_request" in exported:
        found.append("http-wasm")
    run = exported.get("run")
    if run == _MODULE:
        found.append("module")
    elif run in (LINES, MESSAGE):
        found.append("run")
    if not found and run is None and exported.get("_start") == "() -> ()":
        found.append("wasi")
    return found


def _run_shown(exported: Mapping[str, str]) -> str:
    return f"run has the type {exported['run']}" if "run" in exported else "none of them is there"
