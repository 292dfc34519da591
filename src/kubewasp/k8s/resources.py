"""Resource requests of pods and allocatable amounts of nodes: exact sums, rounded up once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kubewasp.k8s import quantity
from kubewasp.k8s.names import name_problems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

CPU, MEMORY, EPHEMERAL, PODS = "cpu", "memory", "ephemeral-storage", "pods"
DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 200 * 1024 * 1024
_POD_LEVEL = (CPU, MEMORY)
_LARGEST = 2**63 - 1

Amounts = dict[str, int]  # exact, in billionths
_DEFAULTS: Amounts = {CPU: DEFAULT_MILLI_CPU * 10**6, MEMORY: DEFAULT_MEMORY * 10**9}


@dataclass(frozen=True, slots=True)
class Resources:
    """CPU in milli, memory and ephemeral storage in bytes, all others (`scalars`) in their own unit."""

    cpu: int = 0
    memory: int = 0
    ephemeral: int = 0
    scalars: Mapping[str, int] = field(default_factory=dict)

    def get(self, name: str) -> int:
        if name == CPU:
            return self.cpu
        if name == MEMORY:
            return self.memory
        if name == EPHEMERAL:
            return self.ephemeral
        return self.scalars.get(name, 0)

    @property
    def is_empty(self) -> bool:
        return not (self.cpu or self.memory or self.ephemeral or self.scalars)


def is_scalar(name: str) -> bool:
    """Whether a resource other than CPU, memory, ephemeral storage and pods is counted."""
    return is_extended(name) or name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name


@lru_cache(maxsize=1024)
def is_extended(name: str) -> bool:
    native = "/" not in name or "kubernetes.io/" in name
    return not native and not name.startswith("requests.") and not name_problems(f"requests.{name}")


def rounded(amounts: Mapping[str, int]) -> Resources:
    """Exact amounts as the integers that the scheduler compares, without resources that are not counted."""
    return Resources(
        cpu=_up(amounts.get(CPU, 0), 10**6),
        memory=_up(amounts.get(MEMORY, 0), 10**9),
        ephemeral=_up(amounts.get(EPHEMERAL, 0), 10**9),
        scalars={name: _up(value, 10**9) for name, value in amounts.items() if is_scalar(name)},
    )


def allocatable(status: Mapping[str, Any]) -> tuple[Resources, int]:
    """The allocatable resources of a node, and its maximal number of pods."""
    amounts = _amounts(status.get("allocatable"))
    return rounded(amounts), _up(amounts.get(PODS, 0), 10**9)


@dataclass(frozen=True, slots=True)
class PodResources:
    """The requests of a pod for three purposes.

    `requests` decides whether it fits. `non_zero` is its share in the requested amounts of a node for scoring (CPU and
    memory, with a small default per container without a request). `scoring` is its own amount while it is scored.
    """

    requests: Resources
    non_zero: Resources
    scoring: Resources


def pod_resources(spec: Mapping[str, Any], status: Mapping[str, Any] | None = None) -> PodResources:
    """The requests of a spec; for a pod on a node also of its status, because a resize may be in progress."""
    given = _given(spec, status or {})
    is_feasible = not _is_infeasible(status or {})
    levels = _pod_level(spec, status or {}, is_feasible=is_feasible)
    overhead = _amounts(spec.get("overhead"))

    def total(defaults: Amounts) -> Amounts:
        return _total(spec, lambda container: defaults | _container(container, given, is_feasible=is_feasible))

    requests = _plus(total({}) | levels, overhead)
    defaulted = _plus(total(_DEFAULTS), overhead)
    if levels:
        missing = {name: amount for name, amount in _DEFAULTS.items() if name not in requests}
        non_zero = _plus(total(missing) | levels, overhead) if missing else requests
    else:
        non_zero = defaulted
    return PodResources(requests=rounded(requests), non_zero=rounded(non_zero), scoring=rounded(defaulted))


def _total(spec: Mapping[str, Any], amounts_of: Callable[[Mapping[str, Any]], Amounts]) -> Amounts:
    """The sum of the containers, or the maximum during the init containers, sidecars included."""
    together: Amounts = {}
    for container in spec.get("containers") or ():
        together = _plus(together, amounts_of(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        amounts = amounts_of(container)
        if container.get("restartPolicy") == "Always":
            together = _plus(together, amounts)
            sidecars = _plus(sidecars, amounts)
            moment = sidecars
        else:
            moment = _plus(amounts, sidecars)
        peak = _largest(peak, moment)
    return _largest(together, peak)


def _container(container: Mapping[str, Any], given: Mapping[str, Amounts], *, is_feasible: bool) -> Amounts:
    """The larger of requested and allocated; an infeasible resize does not count."""
    asked = _amounts((container.get("resources") or {}).get("requests"))
    has = given.get(container.get("name") or "")
    if has is None:
        return asked
    return _largest(asked, has) if is_feasible else has


def _given(spec: Mapping[str, Any], status: Mapping[str, Any]) -> dict[str, Amounts]:
    """The amounts allocated by the kubelet to containers and sidecars, by name."""
    passing = {c.get("name") for c in spec.get("initContainers") or () if c.get("restartPolicy") != "Always"}
    items = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    return {
        item.get("name") or "": _has(item)
        for item in items
        if item.get("resources") is not None and item.get("name") not in passing
    }


def _has(status: Mapping[str, Any]) -> Amounts:
    return _largest(_amounts(status["resources"].get("requests")), _amounts(status.get("allocatedResources")))


def _is_infeasible(status: Mapping[str, Any]) -> bool:
    return any(
        c.get("type") == "PodResizePending" and c.get("reason") == "Infeasible" for c in status.get("conditions") or ()
    )


def _pod_level(spec: Mapping[str, Any], status: Mapping[str, Any], *, is_feasible: bool) -> Amounts:
    """The pod-level requests, by the same rule as for a container; empty if the spec has none."""
    levels = _of_pods(_amounts((spec.get("resources") or {}).get("requests")))
    if not levels or status.get("resources") is None:
        return levels
    has = _of_pods(_has(status))
    return _largest(levels, has) if is_feasible else has


def _of_pods(amounts: Amounts) -> Amounts:
    """The resources that are supported at pod level."""
    return {name: value for name, value in amounts.items() if name in _POD_LEVEL or name.startswith("hugepages-")}


def _amounts(requests: Mapping[str, Any] | None) -> Amounts:
    return {name: quantity.parse(value).nanos for name, value in (requests or {}).items()}


def _plus(left: Amounts, right: Amounts) -> Amounts:
    if not left:
        return dict(right)
    total = dict(left)
    for name, value in right.items():
        total[name] = total.get(name, 0) + value
    return total


def _largest(left: Amounts, right: Amounts) -> Amounts:
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in _names((left, right))}


def _names(maps: Iterable[Mapping[str, int]]) -> dict[str, None]:
    return {name: None for item in maps for name in item}


def _up(amount: int, unit: int) -> int:
    """Rounded up, within 64 bits: bodies of an extender are not validated by an API server."""
    return max(min(-(-amount // unit), _LARGEST), -_LARGEST)


def amount_text(name: str, value: int) -> str:
    """Amount of a resource in its usual unit, rounded up."""
    if name == CPU:
        return f"{value}m" if value % 1000 else str(value // 1000)
    return bytes_text(value) if name in (MEMORY, EPHEMERAL) else str(value)


def bytes_text(value: int) -> str:
    """Bytes in a binary unit, rounded up to a tenth."""
    for unit, size in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if value >= size:
            tenths = -(-value * 10 // size)
            return f"{tenths // 10}{unit}" if tenths % 10 == 0 else f"{tenths / 10:.1f}{unit}"
    return str(value)
