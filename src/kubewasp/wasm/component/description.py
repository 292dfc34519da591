"""What a component says of itself when it is started, checked. Nothing in it is trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from kubewasp.framework.cluster_events import RESOURCES, ClusterEvent
from kubewasp.wasm.core.abi import HOOKS
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.klog import LogLine

PROTOCOL = 1


@dataclass(frozen=True, slots=True)
class ComponentDescription:
    """The answer of `start`. `events` is None where the plugin waits for all; `signs` says that it signs pods."""

    hooks: tuple[str, ...]
    events: tuple[ClusterEvent, ...] | None = None
    wants_pods: bool = False
    wants_waiting_pods: bool = False
    signature: int = 0
    signs: bool = False
    sdk: str = ""
    plugin: str = ""
    logs: tuple[LogLine, ...] = ()


def parse(text: str) -> ComponentDescription:
    """The description, or a GuestLoadError: that of the plugin, if it has one to tell."""
    try:
        told = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise GuestLoadError(f"wasm: start error: the answer is not JSON: {error}") from None
    if not isinstance(told, dict):
        raise GuestLoadError("wasm: start error: the answer is not a JSON object")
    if told.get("protocol") != PROTOCOL:
        raise GuestLoadError(
            f"wasm: start error: the guest speaks protocol {told.get('protocol')!r}, this host {PROTOCOL}; "
            "build it again with the SDK that comes with this kubewasp"
        )
    if told.get("error"):
        raise GuestLoadError(f"wasm: start error: {told['error']}")
    try:
        return _description(told)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise GuestLoadError(f"wasm: start error: the answer cannot be read: {type(error).__name__}: {error}") from None


def _description(told: dict[str, Any]) -> ComponentDescription:
    hooks = tuple(told["hooks"])
    for hook in hooks:
        if hook not in HOOKS or hook == "signpod":  # a component signs in its answers
            raise GuestLoadError(f"wasm: start error: the guest has an unknown hook {hook!r}")
    if not hooks:
        raise GuestLoadError("wasm: guest does not implement any hook")
    events = told.get("events")
    signature = int(told.get("signature") or 0)
    if not 0 <= signature < 2**64:
        raise ValueError("a signature has 64 bits")
    wants = [str(want) for want in told.get("wants") or ()]
    return ComponentDescription(
        hooks=hooks,
        events=None if events is None else tuple(ClusterEvent(RESOURCES[kind], int(bits)) for kind, bits in events),
        wants_pods="pods" in wants,
        wants_waiting_pods="waiting_pods" in wants,
        signature=signature,
        signs=bool(told.get("signs")),
        sdk=str(told.get("sdk") or ""),
        plugin=str(told.get("plugin") or ""),
        logs=tuple(LogLine(int(severity), str(line)) for severity, line in told.get("logs") or ()),
    )
