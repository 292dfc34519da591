"""Bars of SDK guests: cost per node, cost of empty hooks, memory over many cycles."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

from kubewasp.framework.cycle_state import CycleState
from kubewasp.k8s import sample_cluster
from kubewasp.k8s.codec import encode
from kubewasp.k8s.pods import PodParser, placed_on
from kubewasp.state.node_objects import Nodes
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.hooks import HOOKS
from tests.guests import build
from tools.bench import guests
from tools.bench.bars.bar import Bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kubewasp.k8s.pods import Pod

NODES = 5000
FRESH = 5
CYCLES = 100_000
SETTLED = 10_000


def bars(step: Callable[[str], None]) -> Iterator[Bar]:
    step("building the guests")
    go, python = (guests.guest("label-cpu", language) for language in ("go", "python"))
    step("Go: a label and the requested CPU of every node")
    first, second, later = _cycles(go)
    size = f"guest of {go.stat().st_size / 1e6:.1f} MB; nodes written, decoded and scored"
    yield Bar("Go guest, first cycle", first, "µs per node", at_most=5, note=size)
    yield Bar("Go guest, second cycle", second, "µs per node", at_most=0.5, note=f"later ones {later:.3f} µs a node")
    step("Python: the same")
    first, second, later = _cycles(python)
    size = f"guest of {python.stat().st_size / 1e6:.1f} MB; first cycle {first:.0f}, later ones {later:.2f} µs a node"
    yield Bar("Python guest, second cycle", second, "µs per node", at_most=5, note=size)
    step("hooks that are exported and not implemented")
    yield _empty_hooks()
    for name, path in (("Go", go), ("Python", python)):
        step(f"{name}: {CYCLES:,} cycles")
        yield _memory(name, path)


def _pod(name: str = "web") -> Pod:
    manifest = sample_cluster.pod(name)
    return PodParser().parse(manifest, encode("Pod", manifest))


def _table(nodes: int) -> NodeTable:
    table = NodeTable.of(Nodes(sample_cluster.nodes(nodes)))
    for number, name in enumerate(list(table.objects)):
        table.add_pod(placed_on(_pod(f"pod-{number}"), name))
    return table


def _cycles(path: Path) -> tuple[float, float, float]:
    """Microseconds per node in the first, second and later cycles of a fresh guest on a fresh table."""
    fresh = [_first_cycles(path) for _ in range(FRESH)]
    return tuple(statistics.median(spent[place] for spent in fresh) for place in range(3))  # type: ignore[return-value]


def _first_cycles(path: Path) -> tuple[float, float, float]:
    guest, table, pod = Guest.load(path), _table(NODES), _pod()
    rows = table.order()
    spent = []
    for _ in range(20):
        began = time.perf_counter()
        with guest.cycle(pod, table) as cycle:
            calls = cycle.hooks.call_rows("score", rows)
        spent.append((time.perf_counter() - began) * 1e6 / NODES)
        if calls.failure is not None or not calls.values.any():
            raise RuntimeError(f"unexpected answers of the guest: {calls.failure}")
    return spent[0], spent[1], statistics.median(spent[2:])


def _empty_hooks() -> Bar:
    """A plugin with all hooks exported and one implemented, against a plugin with one exported."""
    from kubewasp.clock import SYSTEM_CLOCK
    from kubewasp.framework.handle import ReadOnlyClient
    from kubewasp.scheduler.composition import Environment, compose
    from kubewasp.wasm.plugin import WasmPlugin

    table, pod = _table(1000), _pod()
    rows = table.order()
    handle = compose(Environment(clock=SYSTEM_CLOCK, client=ReadOnlyClient(), table=table)).handle
    plugins = [WasmPlugin("score", Guest.load(build.wat_text(text)), handle) for text in (_all_hooks(), _ONE_HOOK)]
    if plugins[0].guest.hooks != ("score",):
        raise RuntimeError("unimplemented hooks of the guest are called")
    costs = [[_scored(plugin, pod, table, rows) for plugin in plugins] for _ in range(300)]
    medians = [statistics.median(each) for each in zip(*costs, strict=True)]
    note = f"{medians[0] * 1e6:.0f} µs with {len(HOOKS) - 1} empty hooks, {medians[1] * 1e6:.0f} µs without"
    return Bar("exported hooks that are not implemented", medians[0] / medians[1], "x", at_most=1.05, note=note)


def _scored(plugin: object, pod: Pod, table: NodeTable, rows: object) -> float:
    began, state = time.perf_counter(), CycleState()
    plugin.score(state, pod, table, rows)  # type: ignore[attr-defined]
    state.close()
    return time.perf_counter() - began


_SCORE = '(func (export "score") (result i64) (i64.const 0x700000000))'
_ONE_HOOK = f'(module (memory (export "memory") 1) {_SCORE})'


def _all_hooks() -> str:
    """A guest whose other hooks cost time if called."""
    results = {"": "", "i32": "(result i32)", "i64": "(result i64)"}
    values = {"": "", "i32": "(i32.const 0)", "i64": "(i64.const 0)"}
    others = "\n".join(
        f'(func (export "{hook.name}") {results[kind]} (call $work) {values[kind]})'
        for hook in HOOKS.values()
        if hook.name != "score" and (kind := hook.answer.wasm_type) is not None
    )
    return f"""(module
      (import "kubewasp/v1" "implemented" (func $implemented (param i32)))
      (memory (export "memory") 1)
      (func $work (local $i i32)
        (loop $next (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br_if $next (i32.lt_u (local.get $i) (i32.const 100000)))))
      (func (export "_initialize") (call $implemented (i32.const {1 << HOOKS["score"].index})))
      {_SCORE} {others})"""


def _memory(name: str, path: Path) -> Bar:
    """Growth of guest memory after settling."""
    guest, table = Guest.load(path), _table(20)
    rows, pods = table.order(), [_pod(f"web-{number}") for number in range(100)]
    sizes = {}
    for number in range(1, CYCLES + 1):
        with guest.cycle(pods[number % 100], table) as cycle:
            cycle.hooks.call_rows("score", rows)
            if number in (SETTLED, CYCLES):
                sizes[number] = cycle.runner.memory_bytes
    growth = (sizes[CYCLES] - sizes[SETTLED]) / 1024
    note = f"{sizes[CYCLES] / 1e6:.1f} MB after {CYCLES:,}; {guest.stats.recycled} instances recycled"
    return Bar(f"{name} guest: growth from {SETTLED:,} to {CYCLES:,} cycles", growth, "KiB", at_most=0, note=note)
