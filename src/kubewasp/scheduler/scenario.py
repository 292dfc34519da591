"""A timeline for a simulation: what happens to the cluster, and when.

```yaml
kind: Scenario
lifetimes:
  - selector: {app: batch}     # pods with these labels finish so long after they were placed
    after: 10m
steps:
  - {at: 1m, apply: burst.yaml}
  - {at: 5m, drain: node-3}
  - {at: 8m, delete: {kind: Pod, namespace: default, name: web-1}}
```
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kubewasp.k8s import manifests
from kubewasp.k8s.duration import parse_duration
from kubewasp.k8s.errors import ManifestError, shown
from kubewasp.k8s.selectors import map_selector
from kubewasp.scheduler import input as cluster_input

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from kubewasp.k8s.pods import Pod
    from kubewasp.k8s.selectors import LabelSelector
    from kubewasp.scheduler.embedded import EmbeddedCluster

_ACTIONS = ("apply", "delete", "cordon", "uncordon", "drain", "finish")
_LONGEST = 10 * 365 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happens."""

    at: float
    action: str
    argument: Any
    path: str


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Pods with those labels finish some time after they were placed."""

    selector: LabelSelector
    after: float


@dataclass(frozen=True, slots=True)
class Scenario:
    """A timeline, in order of time."""

    source: str
    steps: tuple[Step, ...] = ()
    lifetimes: tuple[Lifetime, ...] = ()


def load(path: Path) -> Scenario:
    found = manifests.load(path)
    if len(found) != 1:
        raise ManifestError("", f"expected one Scenario, found {len(found)} documents", source=str(path))
    body = found[0].body
    try:
        if body.get("kind") != "Scenario":
            raise ManifestError("kind", f"expected Scenario, got {shown(body.get('kind'))}")
        for key in body:
            if key not in ("apiVersion", "kind", "metadata", "steps", "lifetimes"):
                raise ManifestError(key, "unknown field; there are steps and lifetimes")
        steps = [_step(item, f"steps[{n}]", path.parent) for n, item in enumerate(_list(body, "steps"))]
        lifetimes = [_lifetime(item, f"lifetimes[{n}]") for n, item in enumerate(_list(body, "lifetimes"))]
    except ManifestError as error:
        raise (error if error.source else error.at(str(path))) from None
    return Scenario(str(path), tuple(sorted(steps, key=lambda step: step.at)), tuple(lifetimes))


def run(cluster: EmbeddedCluster, scenario: Scenario, on_step: Callable[[Step], None] = lambda _step: None) -> None:
    """Plays the timeline to its end, scheduling all the while, and then until nothing changes."""
    order = itertools.count()
    agenda: list[tuple[float, int, Step | Pod]] = [(step.at, next(order), step) for step in scenario.steps]
    heapq.heapify(agenda)
    seen = 0
    cluster.settle(agenda[0][0] if agenda else None)
    while True:
        for when, pod in cluster.placed[seen:]:
            for lifetime in scenario.lifetimes:
                if lifetime.selector.matches(pod.labels):
                    heapq.heappush(agenda, (when + lifetime.after, next(order), pod))
                    break
        seen = len(cluster.placed)
        if not agenda:
            break
        when, _, what = heapq.heappop(agenda)
        cluster.settle(when)
        if isinstance(what, Step):
            on_step(what)
            _perform(cluster, what, scenario.source)
        else:
            known = cluster.pods.get(what.key)
            if known is not None and known.uid == what.uid:
                cluster.finish_pod(known)
        cluster.settle(cluster.clock.now())
    cluster.settle()


def _perform(cluster: EmbeddedCluster, step: Step, source: str) -> None:
    try:
        if step.action == "apply":
            cluster_input.fill(cluster, step.argument)
        elif step.action == "delete":
            kind, namespace, name = step.argument
            if not cluster.delete(kind, namespace, name):
                raise ManifestError(f"{step.path}.delete", f"there is no {kind} {name}")
        elif step.action == "finish":
            _finish(cluster, step)
        else:
            _on_node(cluster, step)
    except ManifestError as error:
        raise (error if error.source else error.at(source)) from None


def _finish(cluster: EmbeddedCluster, step: Step) -> None:
    pod = cluster.pods.get(step.argument)
    if pod is None:
        raise ManifestError(f"{step.path}.finish", f"there is no pod {step.argument}")
    cluster.finish_pod(pod)


def _on_node(cluster: EmbeddedCluster, step: Step) -> None:
    manifest = cluster.node_manifests.get(step.argument)
    if manifest is None:
        raise ManifestError(f"{step.path}.{step.action}", f"there is no node {step.argument}")
    spec = {**(manifest.get("spec") or {}), "unschedulable": step.action != "uncordon"}
    cluster.apply({**manifest, "spec": spec})
    if step.action == "drain":
        on_node = [pod for pod in cluster.pods.values() if pod.node == step.argument]
        for pod in on_node:
            if pod.owner is None or pod.owner.kind != "DaemonSet":
                cluster.remove_pod(pod)


def _step(item: Any, path: str, folder: Path) -> Step:
    if not isinstance(item, dict):
        raise ManifestError(path, f"expected an object, got {shown(item)}")
    actions = [key for key in item if key != "at"]
    if len(actions) != 1 or actions[0] not in _ACTIONS:
        raise ManifestError(path, f"expected `at` and one of {', '.join(_ACTIONS)}")
    action = actions[0]
    when = _time(item.get("at", "0"), f"{path}.at")
    return Step(when, action, _argument(action, item[action], f"{path}.{action}", folder), path)


def _argument(action: str, value: Any, path: str, folder: Path) -> Any:
    if action == "apply":
        return _objects(value, path, folder)
    if action == "delete":
        if (
            not isinstance(value, dict)
            or not isinstance(value.get("kind"), str)
            or not isinstance(value.get("name"), str)
        ):
            raise ManifestError(path, "expected an object with kind, name and, where it has one, namespace")
        return value["kind"], value.get("namespace") or "default", value["name"]
    if not isinstance(value, str) or not value:
        wanted = "namespace/name of a pod" if action == "finish" else "the name of a node"
        raise ManifestError(path, f"expected {wanted}, got {shown(value)}")
    return value if action != "finish" or "/" in value else f"default/{value}"


def _objects(value: Any, path: str, folder: Path) -> cluster_input.ClusterInput:
    """The objects of a file, of several, or written right there."""
    found = cluster_input.ClusterInput()
    for number, item in enumerate(value if isinstance(value, list) else [value]):
        place = f"{path}[{number}]" if isinstance(value, list) else path
        if isinstance(item, str):
            for manifest in manifests.load(folder / item):
                cluster_input.add(found, manifest)
        elif isinstance(item, dict):
            kind, version = item.get("kind"), item.get("apiVersion")
            if not isinstance(kind, str):
                raise ManifestError(place, "an object needs a kind")
            cluster_input.add(found, manifests.Manifest(place, str(version or ""), kind, item))
        else:
            raise ManifestError(place, f"expected a file or an object, got {shown(item)}")
    return found


def _lifetime(item: Any, path: str) -> Lifetime:
    if not isinstance(item, dict) or set(item) != {"selector", "after"}:
        raise ManifestError(path, "expected selector and after")
    labels = item["selector"]
    if not isinstance(labels, dict) or not all(isinstance(v, str) for v in labels.values()):
        raise ManifestError(f"{path}.selector", "expected labels and their values")
    return Lifetime(map_selector(labels), _time(item["after"], f"{path}.after"))


def _time(value: Any, path: str) -> float:
    try:
        seconds = parse_duration(value) if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        raise ManifestError(path, f"expected a duration such as 90s or 5m, got {shown(value)}") from None
    if not 0 <= seconds <= _LONGEST:
        raise ManifestError(path, f"expected a time from 0 to ten years, got {shown(value)}")
    return seconds


def _list(body: Mapping[str, Any], key: str) -> list[Any]:
    value = body.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ManifestError(key, f"expected a list, got {shown(value)}")
    return value
