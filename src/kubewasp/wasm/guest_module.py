"""Compiled guests of either kind, core module or component."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kubewasp.wasm import binary
from kubewasp.wasm.component.component_module import load_component
from kubewasp.wasm.core.core_module import load_core_module
from kubewasp.wasm.errors import GuestLoadError

if TYPE_CHECKING:
    from kubewasp.framework.handle import Handle
    from kubewasp.wasm.guest_log import GuestLogSink
    from kubewasp.wasm.guest_runner import GuestSettings, RunnerPool
    from kubewasp.wasm.limits import Limits


class GuestModule(Protocol):
    """A compiled guest that conforms to its ABI."""

    @property
    def digest(self) -> str:
        """SHA-256 of the wasm, in hexadecimal digits."""

    @property
    def size(self) -> int:
        """Bytes of wasm."""

    @property
    def from_cache(self) -> bool:
        """Whether the compiled code came from the cache on disk."""

    @property
    def compile_seconds(self) -> float: ...

    @property
    def producers(self) -> dict[str, list[str]]:
        """Languages and tools of the `producers` section."""

    @property
    def uses_records(self) -> bool:
        """Whether the guest reads more of nodes than their objects: it then needs a node table."""

    @property
    def uses_signatures(self) -> bool:
        """Whether the guest may set a pod's signature in `prefilter`."""

    def start(self, limits: Limits, settings: GuestSettings, handle: Handle, logs: GuestLogSink) -> RunnerPool:
        """Starts the first instance; `handle` serves start functions, `logs` takes their log lines."""


def load_guest_module(wasm: bytes, limits: Limits, *, use_cache: bool = True, fueled: bool = False) -> GuestModule:
    """Compiles a guest, or loads it from the cache, and checks that it conforms to its ABI.

    Instances of a `fueled` module count the fuel that they burn, which makes them slower.
    """
    if len(wasm) > limits.guest_size:
        raise GuestLoadError(f"wasm: guest has {len(wasm)} bytes, over the limit of {limits.guest_size}")
    try:
        binary.check_header(wasm)
    except binary.BinaryError as error:
        raise GuestLoadError(f"wasm: {error}") from None
    load = load_component if binary.is_component(wasm) else load_core_module
    return load(wasm, limits, use_cache=use_cache, fueled=fueled)
