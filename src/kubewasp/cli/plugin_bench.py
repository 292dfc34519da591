"""`kubewasp plugin bench`: timings and memory of a guest, compared with plain Python callbacks."""

from __future__ import annotations

import json
import os
import statistics
import time
from typing import TYPE_CHECKING, Any

from wasmtime import Trap, WasmtimeError

from kubewasp.cli import output
from kubewasp.k8s import sample_cluster
from kubewasp.k8s.codec import encode
from kubewasp.k8s.quantity import format_size
from kubewasp.state.node_objects import Nodes
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.core.callback_host import CallbackHost
from kubewasp.wasm.core.core_module import CoreModule
from kubewasp.wasm.download import without_credentials
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.hook_results import HookResult, NodeScores, NodeStatuses
from kubewasp.wasm.source import fetch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubewasp.input_file import StandardInput
    from kubewasp.wasm.guest_cycle import GuestCycle
    from kubewasp.wasm.limits import Limits

# Hooks of a scheduling cycle, in order. Those from reserve on are called for the selected node only.
CYCLE = (
    "prefilter",
    "filter",
    "prescore",
    "score",
    "normalizescore",
    "reserve",
    "permit",
    "prebind",
    "bind",
    "postbind",
)
_EACH_NODE = ("filter", "score")
_CALLBACK_SECONDS = 2.0


def run(
    source: str | StandardInput,
    *,
    nodes: int,
    pods: int,
    config: str,
    args: Sequence[str],
    limits: Limits,
    sha256: str | None,
    form: str,
) -> None:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    wasm = fetch(source, sha256=sha256, max_bytes=limits.guest_size)
    columns = (TextColumn("{task.description:24}"), BarColumn(), TimeElapsedColumn())
    screen = output.console(stderr=True)
    with Progress(*columns, console=screen, transient=True, disable=not output.has_progress()) as progress:
        task = progress.add_task("loading", total=pods + 20)

        def step(what: str, done: float = 1) -> None:
            progress.update(task, advance=done, description=what)

        report = measure(wasm, nodes=nodes, pods=pods, config=config, args=args, limits=limits, step=step)
    report = {"guest": os.fsencode(without_credentials(str(source))).decode(errors="replace")} | report
    if form != "table":
        output.print_document(report, form)
    else:
        _print(report)


def measure(
    wasm: bytes,
    *,
    nodes: int,
    pods: int,
    limits: Limits,
    config: str = "",
    args: Sequence[str] = (),
    step: Callable[..., None] = lambda *_: None,
) -> dict[str, Any]:
    """All figures of the report; `step` receives the progress."""

    def load(*, use_cache: bool) -> tuple[Guest, float]:
        began = time.perf_counter()
        guest = Guest.load(wasm, limits=limits, config=config, args=args, use_cache=use_cache)
        return guest, (time.perf_counter() - began) * 1e3

    Guest.load(wasm, limits=limits, config=config, args=args)  # warm-up: engine and adapter are loaded once
    guest, cold = load(use_cache=False)
    step("loading from the cache", 5)
    cached = min(load(use_cache=True)[1] for _ in range(5))
    step("encoding nodes", 5)
    table, encoded = sample_work(nodes, pods)
    hooks = [hook for hook in CYCLE if hook in guest.hooks]
    first = run_cycle(guest, encoded[0], table, hooks, {})
    seconds: dict[str, list[float]] = {}
    cycles = []
    for number in range(pods):
        cycles.append(run_cycle(guest, encoded[number % len(encoded)], table, hooks, seconds))
        step("running cycles")
    try:
        callback = _callbacks(guest, encoded, table, hooks=hooks, config=config, args=args)
    except (Trap, WasmtimeError):  # filter and score alternate there, which a guest may not support
        callback = None
    step("done", 10)
    with guest.cycle(encoded[0], table) as cycle:
        memory = cycle.runner.memory_bytes
    per_node = statistics.median(cycles) * 1e6 / nodes
    return {
        "nodes": nodes,
        "pods": pods,
        "size_bytes": len(wasm),
        "load_cold_ms": round(cold, 3),
        "load_cached_ms": round(cached, 3),
        "first_cycle_us_per_node": round(first * 1e6 / nodes, 4),
        "cycle_us": round(statistics.median(cycles) * 1e6, 2),
        "cycle_us_per_node": round(per_node, 4),
        "callback_us_per_node": None if callback is None else round(callback * 1e6, 3),
        "speedup": None if callback is None else round(callback * 1e6 / per_node, 1),
        "hooks_us": {hook: round(statistics.median(spent) * 1e6, 3) for hook, spent in seconds.items()},
        "hooks_us_per_node": {
            hook: round(statistics.median(spent) * 1e6 / nodes, 4)
            for hook, spent in seconds.items()
            if hook in _EACH_NODE
        },
        "guest_memory_bytes": memory,
        "instances": guest.stats.created,
    }


def sample_work(nodes: int, pods: int) -> tuple[NodeTable, list[bytes]]:
    """The nodes, and up to 100 different pods."""
    table = NodeTable.of(Nodes(sample_cluster.nodes(nodes)))
    return table, [encode("Pod", sample_cluster.pod(f"web-{number}")) for number in range(min(pods, 100))]


def run_cycle(
    guest: Guest, pod: bytes, nodes: NodeTable, hooks: Sequence[str], seconds: dict[str, list[float]]
) -> float:
    """Duration of a whole cycle over all nodes; the durations of the hooks are appended to `seconds`."""
    began = time.perf_counter()
    with guest.cycle(pod, nodes) as cycle:
        scores: dict[str, int] = {}
        for hook in hooks:
            start = time.perf_counter()
            answer = _call(cycle, hook, scores)
            seconds.setdefault(hook, []).append(time.perf_counter() - start)
            if cycle.failed:
                failure = answer.reason if isinstance(answer, HookResult) else answer.reason(len(answer) - 1)
                raise GuestLoadError(f"the guest failed during the measurement: {failure}")
            if isinstance(answer, NodeScores) and "normalizescore" in hooks:
                scores = answer.as_dict()
    return time.perf_counter() - began


def _call(cycle: GuestCycle, hook: str, scores: dict[str, int]) -> HookResult | NodeStatuses:
    if hook == "filter":
        return cycle.filter()
    if hook == "score":
        return cycle.score()
    if hook == "normalizescore":
        return cycle.normalize_score(scores)
    node = () if hook in ("prefilter", "prescore") else (next(iter(cycle.nodes)),)
    answer: HookResult = getattr(cycle, hook)(*node)
    return answer


def _callbacks(
    guest: Guest, pods: Sequence[bytes], table: NodeTable, *, hooks: Sequence[str], config: str, args: Sequence[str]
) -> float | None:
    """Seconds per node on plain callbacks, for the per-node hooks; ends after a time limit."""
    before = [hook for hook in hooks if hook in ("prefilter", "prescore")]
    hooks = [hook for hook in hooks if hook in _EACH_NODE]
    if not hooks or not isinstance(guest.module, CoreModule):
        return None
    nodes = table.objects
    host = CallbackHost(guest.module, config=config, args=args)
    host.nodes, host.table = nodes, table
    host.values["filteredNodeList"] = json.dumps(list(nodes)).encode()
    until = time.perf_counter() + _CALLBACK_SECONDS
    spent: list[float] = []
    for pod in pods:
        host.pod = pod
        host.cycle += 1
        began = time.perf_counter()
        for hook in before:
            host.call(hook)
        done = 0
        for name in nodes:
            for hook in hooks:
                host.call(hook, name)
            done += 1
            if time.perf_counter() > until and done >= 100:
                break
        spent.append((time.perf_counter() - began) / done)
        if time.perf_counter() > until:
            break
    return statistics.median(spent)


def _print(report: dict[str, Any]) -> None:
    per_node = report["hooks_us_per_node"]
    facts = [
        ("guest", f"{report['guest']} ({format_size(report['size_bytes'])})"),
        ("load, cold", f"{report['load_cold_ms']:.1f} ms"),
        ("load, cached", f"{report['load_cached_ms']:.1f} ms"),
        ("cycle", f"{report['cycle_us']:.0f} µs for {report['nodes']} nodes, median of {report['pods']} pods"),
        ("per node", f"{report['cycle_us_per_node']:.3f} µs"),
    ]
    for hook, spent in report["hooks_us"].items():
        share = f" ({per_node[hook]:.3f} µs per node)" if hook in per_node else ""
        facts.append((f"  {hook}", f"{spent:.1f} µs{share}"))
    if report["callback_us_per_node"] is not None:
        slower = f"{report['speedup']:.0f} times slower"
        facts.append(("Python callbacks", f"{report['callback_us_per_node']:.1f} µs per node, {slower}"))
    facts.append(("guest memory", format_size(report["guest_memory_bytes"])))
    output.print_facts(facts)
