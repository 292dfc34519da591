"""Resource amounts of pods and nodes, by resource name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubewasp_sdk.quantity import amount, nanos, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Amounts = dict[str, int]  # exact, in billionths

_DEFAULTS = {"cpu": 100 * 10**6, "memory": 200 * 1024 * 1024 * 10**9}


class Resources(dict[str, int]):
    """Integer amounts by resource name; 0 for a missing name.

    `cpu` is in milli-CPU, `memory` and `ephemeral-storage` in bytes, other resources in units.
    """

    def __missing__(self, name: str) -> int:
        return 0

    def get(self, name: str, default: int = 0) -> int:  # type: ignore[override]
        return dict.get(self, name, default)

    @property
    def cpu(self) -> int:
        return self["cpu"]

    @property
    def memory(self) -> int:
        return self["memory"]

    @property
    def ephemeral_storage(self) -> int:
        return self["ephemeral-storage"]

    @property
    def pods(self) -> int:
        return self["pods"]


def from_quantities(quantities: Mapping[str, Any] | None) -> Resources:
    """`{"cpu": "500m"}` as numbers."""
    return Resources((name, amount(name, value)) for name, value in (quantities or {}).items())


def pod_requests(spec: Mapping[str, Any]) -> Resources:
    """Effective requests of a pod: sum of its containers, or the peak of its init containers, plus overhead."""
    return _rounded(_requests(spec, {}))


def pod_non_zero_requests(spec: Mapping[str, Any]) -> Resources:
    """CPU and memory for scoring, with a small default for containers without requests."""
    total = _rounded(_requests(spec, _DEFAULTS))
    return Resources(cpu=total.cpu, memory=total.memory)


def _requests(spec: Mapping[str, Any], defaults: Amounts) -> Amounts:
    level = _amounts(spec.get("resources"))
    level = {name: value for name, value in level.items() if name in _DEFAULTS or name.startswith("hugepages-")}
    if level:
        # No default for resources that the pod requests at pod level.
        asked = _plus(_total(spec, lambda container: _amounts(container.get("resources"))) | level, _overhead(spec))
        defaults = {name: value for name, value in defaults.items() if name not in asked}
    total = _total(spec, lambda container: defaults | _amounts(container.get("resources"))) | level
    return _plus(total, _overhead(spec))


def _total(spec: Mapping[str, Any], amounts_of: Callable[[Mapping[str, Any]], Amounts]) -> Amounts:
    together: Amounts = {}
    for container in spec.get("containers") or ():
        together = _plus(together, amounts_of(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        amounts = amounts_of(container)
        if container.get("restartPolicy") == "Always":  # a sidecar, which runs beside all later containers
            together, sidecars = _plus(together, amounts), _plus(sidecars, amounts)
            moment = sidecars
        else:
            moment = _plus(amounts, sidecars)
        peak = _largest(peak, moment)
    return _largest(together, peak)


def _overhead(spec: Mapping[str, Any]) -> Amounts:
    return {name: nanos(value) for name, value in (spec.get("overhead") or {}).items()}


def _amounts(resources: Mapping[str, Any] | None) -> Amounts:
    return {name: nanos(value) for name, value in ((resources or {}).get("requests") or {}).items()}


def _plus(left: Amounts, right: Amounts) -> Amounts:
    return left | {name: left.get(name, 0) + value for name, value in right.items()}


def _largest(left: Amounts, right: Amounts) -> Amounts:
    return left | {name: max(left.get(name, 0), value) for name, value in right.items()}


def _rounded(amounts: Amounts) -> Resources:
    return Resources((name, whole(name, value)) for name, value in amounts.items())
