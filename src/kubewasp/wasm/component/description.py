"""A component's description of itself: the checked answer of `start`. Nothing in it is trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from kubewasp.framework.cluster_events import RESOURCES, ClusterEvent
from kubewasp.wasm.component.component_log import ComponentLog
from kubewasp.wasm.errors import GuestLoadError, GuestStartError
from kubewasp.wasm.guest_log import NO_LOG, GuestLog
from kubewasp.wasm.hooks import HOOKS

PROTOCOL = 1


@dataclass(frozen=True, slots=True)
class ComponentDescription:
    """The answer of `start`. `events` is None for all events; `signs` is set by plugins that sign pods."""

    hooks: tuple[str, ...]
    events: tuple[ClusterEvent, ...] | None = None
    wants_pods: bool = False
    wants_waiting_pods: bool = False
    signature: int = 0
    signs: bool = False
    sdk: str = ""
    plugin: str = ""
    log: GuestLog = NO_LOG


def parse(text: str) -> ComponentDescription:
    """The description; GuestLoadError with the plugin's own error, if it has one."""
    try:
        sent = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise GuestLoadError(f"wasm: start error: the answer is not JSON: {error}") from None
    if not isinstance(sent, dict):
        raise GuestLoadError("wasm: start error: the answer is not a JSON object")
    if sent.get("protocol") != PROTOCOL:
        raise GuestLoadError(
            f"wasm: start error: the guest speaks protocol {sent.get('protocol')!r}, this host {PROTOCOL}; "
            "build it again with the SDK that comes with this kubewasp"
        )
    if sent.get("error"):
        raise GuestStartError(f"wasm: start error: {sent['error']}", refused=sent.get("refused") is True)
    try:
        return _description(sent)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise GuestLoadError(f"wasm: start error: the answer cannot be read: {type(error).__name__}: {error}") from None


def _description(sent: dict[str, Any]) -> ComponentDescription:
    hooks = tuple(sent["hooks"])
    for hook in hooks:
        if hook not in HOOKS or hook == "signpod":  # a component signs in its answers
            raise GuestLoadError(f"wasm: start error: the guest has an unknown hook {hook!r}")
    if not hooks:
        raise GuestLoadError("wasm: guest does not implement any hook")
    events = sent.get("events")
    signature = int(sent.get("signature") or 0)
    if not 0 <= signature < 2**64:
        raise ValueError("a signature has 64 bits")
    wants = [str(want) for want in sent.get("wants") or ()]
    return ComponentDescription(
        hooks=hooks,
        events=None if events is None else tuple(ClusterEvent(RESOURCES[kind], int(bits)) for kind, bits in events),
        wants_pods="pods" in wants,
        wants_waiting_pods="waiting_pods" in wants,
        signature=signature,
        signs=bool(sent.get("signs")),
        sdk=str(sent.get("sdk") or ""),
        plugin=str(sent.get("plugin") or ""),
        log=_log(sent),
    )


def _log(sent: dict[str, Any]) -> GuestLog:
    lines = [(int(severity), str(line)) for severity, line in sent.get("logs") or ()]
    output = str(sent.get("output") or "")
    if not lines and not output:
        return NO_LOG
    log = ComponentLog()
    log.add(lines, output, 0)
    return log
