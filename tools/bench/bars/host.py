"""Bars of the wasm host: calls, growth, loading, memory."""

from __future__ import annotations

import gc
import itertools
import logging
import statistics
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kubewasp.cli.plugin_bench import measure
from kubewasp.k8s import sample_cluster
from kubewasp.k8s.codec import encode
from kubewasp.server.guest_log_writer import GuestLogWriter
from kubewasp.server.logs import JsonFormatter, KlogFormatter
from kubewasp.state.node_objects import Nodes
from kubewasp.wasm.core.core_module import CoreModule
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.limits import Limits
from tests.guests import build
from tools.bench import talking_guest
from tools.bench.bars.bar import Bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kubewasp.server.logs import LogFormat

NODES = 5000
SIZES = (100, 1000, 5000, 10_000)
CYCLES = 10_000
LOGGED = 500


def bars(step: Callable[[str], None]) -> Iterator[Bar]:
    step("a guest that reads pod and node name in score")
    yield from _calls()
    step("growth from 100 to 10,000 nodes")
    yield from _growth()
    step("unchanged nodes")
    yield _unchanged()
    step(f"a guest that logs a line for each of {LOGGED:,} nodes")
    yield from _logging()
    step("loading a 2 MB guest")
    yield from _loading()
    step(f"{CYCLES:,} cycles")
    yield from _memory()


def _calls() -> Iterator[Bar]:
    wasm = build.wat("pod_node_name").read_bytes()
    report = measure(wasm, nodes=NODES, pods=50, limits=Limits())
    note = f"{report['callback_us_per_node']:.1f} µs on callbacks, {report['cycle_us_per_node']:.3f} µs in the sandbox"
    yield Bar("score: in the sandbox against Python callbacks", report["speedup"], "x", at_least=50, note=note)
    yield Bar("score: a whole cycle", report["cycle_us_per_node"], "µs per node", at_most=1)


def _growth() -> Iterator[Bar]:
    guest = Guest.load(build.wat("pod_node_name"))
    pod = encode("Pod", sample_cluster.pod())
    costs = {}
    for size in SIZES:
        nodes = Nodes(sample_cluster.nodes(size))
        spent = []
        for _ in range(30):
            began = time.perf_counter()
            with guest.cycle(pod, nodes) as cycle:
                cycle.score()
            spent.append(time.perf_counter() - began)
        costs[size] = statistics.median(spent) * 1e6 / size
    note = ", ".join(f"{size:,}: {cost:.3f}" for size, cost in costs.items()) + " µs per node"
    yield Bar("cost per node, 10,000 nodes against 100", costs[10_000] / costs[100], "x", at_most=1.2, note=note)
    yield Bar("cost per node, 10,000 nodes against 1,000", costs[10_000] / costs[1000], "x", at_most=1.5)


def _unchanged() -> Bar:
    guest = Guest.load(build.wat("pod_node_name"))
    pod, nodes = encode("Pod", sample_cluster.pod()), Nodes(sample_cluster.nodes(NODES))
    assert isinstance(guest.module, CoreModule)
    heap = guest.module.engine.heap
    guest.evaluate(pod, nodes)
    before = heap.bytes_written
    guest.evaluate(pod, nodes)
    written = heap.bytes_written - before - len(pod)
    return Bar("second cycle: bytes written besides the pod", written, "bytes", at_most=0)


def _logging() -> Iterator[Bar]:
    """CPU time of a line: that of the thread which calls the guest, and of all threads, without the guest's silence.

    Rounds by turns, so that a slower moment of the machine meets the line and the record it is compared with.
    """
    silent = talking_guest.filtering(LOGGED, talking_guest.Kept(), severity=1)
    formats: tuple[LogFormat, ...] = ("text", "json")
    for format_ in formats:
        for fold in (True, False):
            writer = GuestLogWriter(talking_guest.null_handler(), format_, fold=fold, monotonic=_jumping())
            talking = talking_guest.filtering(LOGGED, writer)
            with _records(format_) as record:
                works = ((talking, writer.flush), (silent, writer.flush), (record, _nothing))
                rounds = [[_spent(*work) for work in works] for _ in range(20)]
            writer.close()
            line, silence, written = zip(*rounds, strict=True)
            of_caller = (min(line)[0] - min(silence)[0]) * 1e6 / LOGGED
            of_all = (min(total for _, total in line) - min(total for _, total in silence)) * 1e6 / LOGGED
            of_record = min(total for _, total in written) * 1e6 / LOGGED
            what = f"log line, {format_}, {'folded' if fold else 'not folded'}"
            note = f"{of_all:.2f} µs on all threads, a record {of_record:.1f} µs"
            yield Bar(f"{what}: against a record of logging", of_record / of_all, "x", at_least=2.5, note=note)
            yield Bar(f"{what}: calling thread", of_caller, "µs", at_most=1)


@contextmanager
def _records(format_: LogFormat) -> Iterator[Callable[[], None]]:
    """Writes the same lines through Python's logging."""
    handler, logger = talking_guest.null_handler(), logging.getLogger("bars")
    handler.setFormatter(JsonFormatter() if format_ == "json" else KlogFormatter())
    logger.addHandler(handler)
    logger.propagate = False
    logger.setLevel(logging.INFO)
    fields = {"plugin": "talks", "hook": "filter", "pod": "default/web-1", "node": "node-1"}

    def write() -> None:
        for _ in range(LOGGED):
            logger.info("Looking at a node", extra=fields)

    yield write
    logger.removeHandler(handler)


def _nothing() -> None:
    pass


def _spent(work: Callable[[], object], flush: Callable[[], None]) -> tuple[float, float]:
    """CPU seconds of this thread in the work, and of the process until all is written."""
    thread, process = time.thread_time(), time.process_time()
    work()
    calling = time.thread_time() - thread
    flush()
    return calling, time.process_time() - process


def _jumping() -> Callable[[], float]:
    """Clock by which no bound per second is ever reached."""
    return map(float, itertools.count(step=1000)).__next__


def _loading() -> Iterator[Bar]:
    path: Path = build.go_guest("nodenumber")
    wasm = path.read_bytes()
    Guest.load(wasm)
    cold = min(_seconds(lambda: Guest.load(wasm, use_cache=False)) for _ in range(3))
    cached = statistics.median(_seconds(lambda: Guest.load(wasm)) for _ in range(10))
    note = f"{len(wasm) / 1e6:.1f} MB of Go: {cold * 1e3:.0f} ms cold, {cached * 1e3:.1f} ms from the cache"
    yield Bar("load: from the cache against cold", cold / cached, "x", at_least=20, note=note)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _memory() -> Iterator[Bar]:
    guest = Guest.load(build.wat("pod_node_name"))
    pods = [encode("Pod", sample_cluster.pod(f"web-{number}")) for number in range(100)]
    nodes = Nodes(sample_cluster.nodes(100))

    def run(cycles: int) -> None:
        for number in range(cycles):
            nodes.put(sample_cluster.node(1 + number % 100) | {"spec": {"unschedulable": bool(number % 2)}})
            guest.evaluate(pods[number % 100], nodes)

    run(CYCLES // 5)
    gc.collect()
    before = resident()
    run(CYCLES)
    gc.collect()
    grown = (resident() - before) / 1024
    note = "a node changes in each; resident memory after against before"
    yield Bar(f"{CYCLES:,} cycles: growth of host memory", grown, "KiB", at_most=1024, note=note)


def resident() -> int:
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no VmRSS in /proc/self/status")
