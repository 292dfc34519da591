"""One embedded run of one workload, in its own process: `python -m tools.bench.embedded_run`.

Reads the plan as JSON from standard input and writes the measurements as JSON to standard output. A separate process
has its own peak of memory, and no caches of an earlier run.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from kubewasp.framework.config.reading import read_config
from kubewasp.scheduler.composition import set_up
from kubewasp.simulation.binding_history import BindingHistory
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from tools.bench.workload_list import workload
from tools.bench.workloads import MEASURED, PART, problems
from tools.testbed.process import peak_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.bench.workloads import Object, Workload

_FIRST: Final = 0.1  # of the measured pods


@dataclass(frozen=True, slots=True)
class EmbeddedRun:
    """Pods, seconds of each attempt, total wall-clock and CPU seconds, peak of resident bytes."""

    pods: int
    attempts: tuple[float, ...]
    seconds: float
    cpu: float
    memory: int


def run(what: Workload, profile: Object) -> EmbeddedRun:
    """Only scheduling is measured, and what happens meanwhile: the cluster is there before.

    The first pods are not measured. What is made only once, as an instance of a guest, is there after them.
    """
    document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    cluster = EmbeddedCluster(set_up(read_config({**document, "profiles": [profile]})))
    history = BindingHistory(cluster)
    for manifest in (*what.objects, *what.node_manifests(), *what.initial_pods(), *what.pending_pods()):
        cluster.apply(manifest)
    gc.collect()
    attempts = _schedule(cluster, history, what)
    _skip(attempts, _FIRST * what.measured.count, history)
    before = len(history.bindings)
    cpu, began = time.process_time(), time.perf_counter()
    seconds_of = tuple(attempts)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    _check(cluster, history, what)
    return EmbeddedRun(len(history.bindings) - before, seconds_of, seconds, cpu, peak_memory("self"))


def _skip(attempts: Iterator[float], pods: float, history: BindingHistory) -> None:
    """Warm-up pods, as long as each attempt places one; waiting for room is part of the measurement."""
    for number in range(round(pods)):
        if next(attempts, None) is None or len(history.bindings) <= number:
            return


def _schedule(cluster: EmbeddedCluster, history: BindingHistory, what: Workload) -> Iterator[float]:
    """Seconds of each attempt, until all measured pods are placed or none is left in the queue."""
    turn, meanwhile = 0, what.meanwhile
    while True:
        before = time.perf_counter()
        attempt = cluster.scheduler.schedule_one()
        if attempt is None:
            return
        spent = time.perf_counter() - before
        if attempt.is_error:
            raise RuntimeError(f"{attempt.pod.key}: {attempt.message}")
        yield spent
        if len(history.bindings) >= what.measured.count:
            return
        if meanwhile is not None and len(history.bindings) >= (turn + 1) * meanwhile.every_pods:
            _happen(cluster, *meanwhile.turn(turn))
            turn += 1


def _happen(cluster: EmbeddedCluster, objects: tuple[Object, ...], deleted: bool) -> None:
    for manifest in objects:
        if deleted:
            cluster.delete(manifest["kind"], "default", manifest["metadata"]["name"])
        else:
            cluster.apply(manifest)


def _check(cluster: EmbeddedCluster, history: BindingHistory, what: Workload) -> None:
    placements = {
        pod.name: (pod.labels.get(PART, ""), pod.node)
        # Pods that left with a transient node were placed all the same.
        for pod in (*(pod for _, pod in history.bindings), *cluster.pods.values())
    }
    wrong = problems(what, placements)
    placed = [pod.uid for _, pod in history.bindings if pod.labels.get(PART) == MEASURED]
    if len(placed) != len(set(placed)):
        wrong.append("a pod was placed more than once")
    if wrong:
        raise RuntimeError(f"{what.name} on {what.nodes:,} nodes came out wrong: {'; '.join(wrong)}")


def main() -> None:
    asked: dict[str, Any] = json.load(sys.stdin)
    done = run(workload(asked["workload"], asked["nodes"], asked["pods"]), asked["profile"])
    json.dump(asdict(done), sys.stdout)


if __name__ == "__main__":
    main()
