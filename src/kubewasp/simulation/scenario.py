"""Scenario: a timeline of changes to a simulated cluster.

```yaml
kind: Scenario
startTime: 2026-01-05T12:00:00Z   # date and time at the start
lifetimes:
  - selector: {app: batch}     # pods with these labels finish 10 minutes after their placement
    after: 10m
steps:
  - {at: 1m, apply: burst.yaml}
  - {at: 5m, drain: node-3}
  - {at: 8m, delete: {kind: Pod, namespace: default, name: web-1}}
```
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from kubewasp.k8s import manifests, timestamps
from kubewasp.k8s.duration import parse_duration
from kubewasp.k8s.errors import ManifestError, shown
from kubewasp.k8s.selectors import map_selector
from kubewasp.simulation import loading
from kubewasp.simulation.manifest_warnings import ManifestWarnings
from kubewasp.simulation.node_drain import cordoned, reason_to_stay

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kubewasp.input_file import InputFile
    from kubewasp.k8s.pods import Pod
    from kubewasp.k8s.selectors import LabelSelector
    from kubewasp.simulation.cluster_objects import ClusterObjects
    from kubewasp.simulation.embedded_cluster import EmbeddedCluster

_ACTIONS = ("apply", "delete", "cordon", "uncordon", "drain", "finish")
_MAX_DURATION_SECONDS = 10 * 365 * 24 * 3600.0
# Guests get the time in nanoseconds, as a signed 64-bit number: up to the year 2262.
_MAX_START_TIME = timestamps.parse("2200-01-01T00:00:00Z") / timestamps.MICROSECONDS


@dataclass(frozen=True, slots=True)
class Step:
    """One change at one time."""

    at: float
    action: str
    argument: Any
    path: str


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Time from placement to completion, for pods with matching labels."""

    selector: LabelSelector
    after: float


@dataclass(frozen=True, slots=True)
class Scenario:
    """A timeline, ordered by time."""

    source: str
    steps: tuple[Step, ...] = ()
    lifetimes: tuple[Lifetime, ...] = ()
    start_time: float | None = None  # seconds since 1970
    unknown: Mapping[str, int] = field(default_factory=dict)  # ignored objects by kind
    mistakes: ManifestWarnings = field(default_factory=ManifestWarnings)

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.mistakes.texts(), *loading.left_out(self.unknown))


@dataclass(slots=True)
class _Reading:
    """Context of parsing: source, base folder of files, ignored objects by kind, mistakes in objects."""

    source: str
    folder: Path
    unknown: dict[str, int] = field(default_factory=dict)
    mistakes: ManifestWarnings = field(default_factory=ManifestWarnings)


def load(path: InputFile) -> Scenario:
    found = manifests.load(path)
    if len(found) != 1:
        raise ManifestError("", f"expected one Scenario, found {len(found)} documents", source=str(path))
    body = found[0].body
    try:
        if body.get("kind") != "Scenario":
            raise ManifestError("kind", f"expected Scenario, got {shown(body.get('kind'))}")
        for key in body:
            if key not in ("apiVersion", "kind", "metadata", "startTime", "steps", "lifetimes"):
                raise ManifestError(key, "unknown field; there are startTime, steps and lifetimes")
    except ManifestError as error:
        raise error.at(str(path)) from None
    return parse(body, str(path), path.parent)


def parse(body: Mapping[str, Any], source: str, folder: Path) -> Scenario:
    """The timeline in an object, which may have other fields; files are relative to the folder."""
    try:
        start = body.get("startTime")
        epoch = None if start is None else start_time(start, "startTime")
        reading = _Reading(source, folder)
        steps = [_step(item, f"steps[{n}]", reading) for n, item in enumerate(_list(body, "steps"))]
        lifetimes = [_lifetime(item, f"lifetimes[{n}]") for n, item in enumerate(_list(body, "lifetimes"))]
    except ManifestError as error:
        raise (error if error.source else error.at(source)) from None
    in_order = tuple(sorted(steps, key=lambda step: step.at))
    return Scenario(source, in_order, tuple(lifetimes), epoch, reading.unknown, reading.mistakes)


def start_time(value: Any, path: str) -> float:
    """An RFC 3339 time in seconds since 1970."""
    try:
        if not isinstance(value, str):
            raise TypeError("not a string")
        seconds = timestamps.parse(value) / timestamps.MICROSECONDS
    except (TypeError, ValueError):
        raise ManifestError(path, f"expected a time such as 2026-01-05T12:00:00Z, got {shown(value)}") from None
    if not 0 <= seconds < _MAX_START_TIME:
        raise ManifestError(path, f"expected a time in the years 1970 to 2199, got {shown(value)}")
    return seconds


def run(cluster: EmbeddedCluster, scenario: Scenario, *, until: float = math.inf) -> None:
    """Runs the timeline to its end, with scheduling, and then until nothing changes.

    With `until`, time advances to exactly that moment, and pods due by then are tried again.
    """
    lifetimes = _Lifetimes(cluster, scenario.lifetimes)
    for step in scenario.steps:
        cluster.at(step.at, partial(_perform, cluster.objects, step, scenario.source))
    if until < math.inf:
        cluster.at(until, lambda: None)
    for pod in cluster.pods.values():
        if pod.node:
            lifetimes.placed(pod)
    cluster.objects.subscribe_placements(lifetimes)
    cluster.settle(until)


class _Lifetimes:
    """Completion of pods after their lifetime. Implements `PlacementListener`."""

    def __init__(self, cluster: EmbeddedCluster, lifetimes: Sequence[Lifetime]) -> None:
        self._cluster = cluster
        self._lifetimes = lifetimes

    def placed(self, pod: Pod) -> None:
        for lifetime in self._lifetimes:
            if lifetime.selector.matches(pod.labels):
                self._cluster.at(self._cluster.clock.now() + lifetime.after, partial(self._finish, pod))
                break

    def _finish(self, pod: Pod) -> None:
        known = self._cluster.pods.get(pod.key)
        if known is not None and known.uid == pod.uid:
            self._cluster.objects.finish_pod(known)


def _perform(cluster: ClusterObjects, step: Step, source: str) -> None:
    try:
        if step.action == "apply":
            loading.fill(cluster, step.argument)
        elif step.action == "delete":
            _delete(cluster, step)
        elif step.action == "finish":
            _finish(cluster, step)
        else:
            _on_node(cluster, step)
    except ManifestError as error:
        raise (error if error.source else error.at(source)) from None


def _delete(cluster: ClusterObjects, step: Step) -> None:
    kind, namespace, name = step.argument
    pod = cluster.pods.get(f"{namespace}/{name}") if kind == "Pod" else None
    if pod is not None:
        cluster.remove_pod(pod)
    elif not cluster.delete(kind, namespace, name):
        raise ManifestError(f"{step.path}.delete", f"there is no {kind} {name}")


def _finish(cluster: ClusterObjects, step: Step) -> None:
    pod = cluster.pods.get(step.argument)
    if pod is None:
        raise ManifestError(f"{step.path}.finish", f"there is no pod {step.argument}")
    if not pod.node:
        raise ManifestError(f"{step.path}.finish", f"pod {step.argument} cannot finish: it has no node yet")
    cluster.finish_pod(pod)


def _on_node(cluster: ClusterObjects, step: Step) -> None:
    manifest = cluster.node_manifests.get(step.argument)
    if manifest is None:
        raise ManifestError(f"{step.path}.{step.action}", f"there is no node {step.argument}")
    cluster.apply(cordoned(manifest, is_cordoned=step.action != "uncordon"))
    if step.action == "drain":
        for pod in cluster.pods_on(step.argument):
            if not reason_to_stay(cluster, pod):
                cluster.remove_pod(pod)


def _step(item: Any, path: str, reading: _Reading) -> Step:
    if not isinstance(item, dict):
        raise ManifestError(path, f"expected an object, got {shown(item)}")
    actions = [key for key in item if key != "at"]
    if len(actions) != 1 or actions[0] not in _ACTIONS:
        raise ManifestError(path, f"expected `at` and one of {', '.join(_ACTIONS)}")
    action = actions[0]
    when = _time(item.get("at", "0"), f"{path}.at")
    return Step(when, action, _argument(action, item[action], f"{path}.{action}", reading), path)


def _argument(action: str, value: Any, path: str, reading: _Reading) -> Any:
    if action == "apply":
        return _objects(value, path, reading)
    if action == "delete":
        if (
            not isinstance(value, dict)
            or not {"kind", "name"} <= value.keys() <= {"kind", "name", "namespace"}
            or not all(isinstance(part, str) and part for part in value.values())
        ):
            raise ManifestError(path, "expected an object with kind, name and optional namespace")
        return value["kind"], value.get("namespace", "default"), value["name"]
    if not isinstance(value, str) or not value:
        wanted = "namespace/name of a pod" if action == "finish" else "the name of a node"
        raise ManifestError(path, f"expected {wanted}, got {shown(value)}")
    return value if action != "finish" or "/" in value else f"default/{value}"


def _objects(value: Any, path: str, reading: _Reading) -> loading.ClusterInput:
    """Objects from files, folders or inline."""
    found = loading.ClusterInput()
    for number, item in enumerate(value if isinstance(value, list) else [value]):
        place = f"{path}[{number}]" if isinstance(value, list) else path
        if isinstance(item, str) and item:
            objects = [one for file in loading.files(reading.folder / item) for one in manifests.load(file)]
        elif isinstance(item, dict):
            objects = list(manifests.taken_apart(item, f"{reading.source}: {place}"))
        else:
            raise ManifestError(place, f"expected a file or an object, got {shown(item)}")
        for manifest in objects:
            if manifest.kind == "Scenario":
                raise ManifestError(place, "a scenario cannot apply another scenario")
            loading.add(found, manifest)
    for kind, count in found.unknown.items():
        reading.unknown[kind] = reading.unknown.get(kind, 0) + count
    reading.mistakes.add_all(found.mistakes)
    return found


def _lifetime(item: Any, path: str) -> Lifetime:
    if not isinstance(item, dict) or set(item) != {"selector", "after"}:
        raise ManifestError(path, "expected selector and after")
    labels = item["selector"]
    if not isinstance(labels, dict) or not all(isinstance(v, str) for v in labels.values()):
        raise ManifestError(f"{path}.selector", "expected a map of labels")
    return Lifetime(map_selector(labels), _time(item["after"], f"{path}.after"))


def _time(value: Any, path: str) -> float:
    try:
        seconds = parse_duration(value) if isinstance(value, str) else _number(value)
    except (TypeError, ValueError, OverflowError):
        raise ManifestError(path, f"expected a duration such as 90s or 5m, got {shown(value)}") from None
    if not 0 <= seconds <= _MAX_DURATION_SECONDS:
        raise ManifestError(path, f"expected a time from 0 to ten years, got {shown(value)}")
    return seconds


def _number(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError("a boolean is not a duration")
    return float(value)


def _list(body: Mapping[str, Any], key: str) -> list[Any]:
    value = body.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ManifestError(key, f"expected a list, got {shown(value)}")
    return value
