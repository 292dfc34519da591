"""A component's description of itself: the checked answer of `start`. Nothing in it is trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kubewasp.framework.cluster_events import RESOURCES, ClusterEvent
from kubewasp.framework.unexpected import described
from kubewasp.wasm.component import answers
from kubewasp.wasm.component.component_log import ComponentLog
from kubewasp.wasm.errors import GuestLoadError, GuestStartError
from kubewasp.wasm.guest_log import NO_LOG, GuestLog
from kubewasp.wasm.guest_runner import declared_normalization
from kubewasp.wasm.hooks import HOOKS

if TYPE_CHECKING:
    from kubewasp.framework.normalization import Normalization
    from kubewasp.wasm.limits import Limits

PROTOCOL = 1
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class ComponentDescription:
    """The answer of `start`. `events` is None for all events; `signs` is set by plugins that sign pods."""

    hooks: tuple[str, ...]
    events: tuple[ClusterEvent, ...] | None = None
    wants_pods: bool = False
    wants_waiting_pods: bool = False
    signature: int = 0
    signs: bool = False
    normalization: Normalization | None = None
    pure: bool = False
    sdk: str = ""
    plugin: str = ""
    log: GuestLog = NO_LOG


def parse(text: str, limits: Limits) -> ComponentDescription:
    """The description; GuestLoadError with the plugin's own error, if it has one."""
    try:
        sent = answers.parse(text, limits)
    except answers.AnswerError as error:
        raise GuestLoadError(f"wasm: start error: {error}") from None
    protocol = sent.get("protocol")
    if protocol != PROTOCOL:
        shown = repr(protocol)[:_LONGEST] if isinstance(protocol, int | str | None) else type(protocol).__name__
        raise GuestLoadError(
            f"wasm: start error: the guest speaks protocol {shown}, this host {PROTOCOL}; "
            "build it again with the SDK that comes with this kubewasp"
        )
    failure = sent.get("error")
    if failure:
        shown = failure[: limits.reason] if isinstance(failure, str) else "the error is not a string"
        raise GuestStartError(f"wasm: start error: {shown}", refused=sent.get("refused") is True)
    try:
        return _description(sent, limits)
    except (KeyError, TypeError, ValueError, IndexError, RecursionError) as wrong:
        cause = described(wrong)
        raise GuestLoadError(f"wasm: start error: the answer cannot be read: {cause}") from None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _description(sent: dict[str, Any], limits: Limits) -> ComponentDescription:
    hooks = tuple(sent["hooks"])
    for hook in hooks:
        if hook not in HOOKS or hook == "signpod":  # a component signs in its answers
            raise GuestLoadError(f"wasm: start error: the guest has an unknown hook {str(hook)[:_LONGEST]!r}")
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
        pure=bool(sent.get("pure")),
        normalization=_normalization(sent.get("normalization"), hooks),
        sdk=_text(sent.get("sdk")),
        plugin=_text(sent.get("plugin")),
        log=_log(sent, limits),
    )


def _normalization(sent: object, hooks: tuple[str, ...]) -> Normalization | None:
    if sent is None:
        return None
    if not isinstance(sent, list) or len(sent) != 3 or not all(isinstance(part, int) for part in sent):
        raise ValueError("normalization: expected method, reverse and maximum")
    method, reverse, maximum = sent
    return declared_normalization(method, reverse, maximum, hooks)


def _log(sent: dict[str, Any], limits: Limits) -> GuestLog:
    lines, dropped = answers.log_lines(sent, limits, answers.MAX_LINES)
    output = _text(sent.get("output"))[: limits.output]
    if not lines and not output and not dropped:
        return NO_LOG
    log = ComponentLog()
    log.add(lines, output, dropped)
    return log
