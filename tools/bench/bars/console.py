"""Bars of the console: first view, decision views, scrubbing, and memory, at 5,000 nodes and 50,000 pods."""

from __future__ import annotations

import gc
import statistics
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from kubewasp.console.api_answers import Answers
from kubewasp.console.console_source import Activity, Change
from kubewasp.console.history import PODS, History, State
from kubewasp.console.picture import UNSCHEDULABLE, QueueEntry
from kubewasp.console.played_run import PlayedRun
from kubewasp.console.simulated_source import SimulatedSource
from kubewasp.console.study import Study
from kubewasp.framework.config.reading import default_config
from kubewasp.k8s import sample_cluster
from kubewasp.k8s.codec import encode
from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.pods import PodParser, placed_on
from kubewasp.scheduler.composition import set_up
from tools.bench.bars.bar import Bar
from tools.bench.bars.host import resident

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kubewasp.k8s.pods import Pod

NODES: Final = 5000
PODS_ON: Final = 47_000
PENDING: Final = 3000
ROUNDS: Final = 7
_CHANGES: Final = 20_000
_LARGE: Final = "64"  # cores, of pods that fit nowhere
_FIRST: Final = ("/session", "/overview", "/pending", "/map")


def bars(step: Callable[[str], None]) -> Iterator[Bar]:
    step(f"a cluster of {NODES:,} nodes and {PODS_ON + PENDING:,} pods")
    state = _state()
    gc.collect()
    before = resident()
    source = _source(state)
    answers = Answers(source)
    step("first view")
    began = time.process_time()
    for path in _FIRST:
        if answers.answer(path).status != 200:
            raise RuntimeError(f"{path} failed")
    first = time.process_time() - began
    note = f"CPU of {', '.join(_FIRST)}; a study is filled for the help of pending pods"
    yield Bar("console, first view", first * 1e3, "ms", at_most=1000, note=note)
    step("decisions")
    kinds = (("feasible everywhere", "small"), ("rejected everywhere, with hints", "large"), ("with victims", "urgent"))
    for name, pod in kinds:
        spent = [_decision(answers, f"/pods/default/{pod}-{number}/decision") for number in range(ROUNDS)]
        note = f"CPU, another pod each time, 1,000 nodes of {NODES:,} in the answer"
        yield Bar(f"console, decision {name}", statistics.median(spent) * 1e3, "ms", at_most=300, note=note)
    step("scrubbing")
    spent = [_elapsed(partial(answers.answer, "/overview", f"at={at}")) for at in range(500, _CHANGES, 3000)]
    note = f"CPU, /overview at a position that was not asked for before, of {_CHANGES:,}"
    yield Bar("console, another position", statistics.median(spent) * 1e3, "ms", at_most=500, note=note)
    gc.collect()
    grown = (resident() - before) / 2**20
    note = "resident, beside the objects: history, study, kept pictures and answers"
    yield Bar("console, memory", grown, "MiB", at_most=500, note=note)


def _decision(answers: Answers, path: str) -> float:
    return _elapsed(partial(answers.answer, path, "limit=1000"))


def _elapsed(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _state() -> State:
    nodes = {}
    for number in range(1, NODES + 1):
        manifest = sample_cluster.node(number)
        node = parse_node(manifest, encode("Node", manifest))
        nodes[node.name] = node
    parser, names = PodParser(), list(nodes)
    pods: dict[str, Pod] = {}
    queue: dict[str, QueueEntry] = {}
    message = f"0/{NODES} nodes are available: {NODES} Insufficient cpu."
    for number in range(PODS_ON):
        pod = _pod(parser, f"web-{number}", "100m")
        pods[pod.key] = placed_on(pod, names[number % NODES])
    for number in range(PENDING):
        is_large = number % 2 == 0
        pod = _pod(parser, f"{'large' if is_large else 'small'}-{number // 2}", _LARGE if is_large else "250m")
        pods[pod.key] = pod
        queue[pod.key] = QueueEntry(pod, UNSCHEDULABLE, float(number), 3, message=message if is_large else "")
    for number in range(ROUNDS):  # there is room on every node once its pods are gone
        pod = _pod(parser, f"urgent-{number}", "7500m", priority=1000)
        pods[pod.key] = pod
        queue[pod.key] = QueueEntry(pod, UNSCHEDULABLE, 0.0)
    return State(nodes, pods, queue)


def _pod(parser: PodParser, name: str, cpu: str, priority: int = 0) -> Pod:
    manifest = sample_cluster.pod(name)
    manifest["spec"]["priority"] = priority
    manifest["spec"]["schedulerName"] = "default-scheduler"
    manifest["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
    return parser.parse(manifest, encode("Pod", manifest))


def _source(state: State) -> SimulatedSource:
    """A history in which pods change their priority, one after the other."""
    history = History(state, 0.0)
    keys = list(state.pods)
    for number in range(_CHANGES):
        key = keys[number % len(keys)]
        pod = history.state.pods[key]
        history.add(Change(float(number), "scheduled", key, key, pod.node))
        history.effect(PODS, key, replace(pod))
    history.close(float(_CHANGES), dict(history.state.queue))
    study = Study(lambda _clock, logs: set_up(default_config(), guest_logs=logs))
    return SimulatedSource("bars", [PlayedRun("bars", history, study, Activity(), (), ())])
