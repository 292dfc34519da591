"""Scenarios: read, and run on a small cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.errors import KubewaspError
from kubewasp.framework.config.reading import default_config
from kubewasp.k8s import manifests
from kubewasp.scheduler.composition import set_up
from kubewasp.simulation import scenario
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from tools.fuzz.labels import error_label

if TYPE_CHECKING:
    from collections.abc import Iterable

_EXAMPLES: Final = Path(__file__).parents[3] / "examples"
# Simulated seconds.
_UNTIL: Final = 600.0
_MOST_STEPS: Final = 50
_EVERY_STEP: Final = b"""\
kind: Scenario
startTime: 2026-01-05T08:00:00Z
steps:
- at: 0s
  apply: [{apiVersion: v1, kind: Node, metadata: {name: n}, status: {allocatable: {cpu: "4", pods: "10"}}}]
- at: 1m
  apply: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}
- {at: 90s, cordon: n}
- {at: 2m, uncordon: n}
- {at: 3m, finish: p}
- {at: 4m, drain: n}
- {at: 5m, delete: {kind: Pod, name: p}}
lifetimes:
- {selector: {app: job}, seconds: 30}
"""


def seeds() -> Iterable[bytes]:
    for path in sorted(_EXAMPLES.rglob("*.yaml")):
        content = path.read_bytes()
        if b"kind: Scenario" in content:
            yield content
    yield _EVERY_STEP


def one(data: bytes) -> str:
    try:
        documents = manifests.parse(data, "fuzz.yaml")
        if len(documents) != 1 or documents[0].kind != "Scenario":
            return "no scenario"
        found = scenario.parse(documents[0].body, "fuzz.yaml", _EXAMPLES)
        if len(found.steps) > _MOST_STEPS:
            return "many steps"
        cluster = EmbeddedCluster(set_up(default_config()))
        scenario.run(cluster, found, until=_UNTIL)
    except KubewaspError as error:
        return error_label(error)
    return f"{len(found.steps)} steps, {len(cluster.pods)} pods"
