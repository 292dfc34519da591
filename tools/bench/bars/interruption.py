"""Bars of load checks: what a guest pays for being interruptible, beside epochs and beside no checks at all.

CPU time of the same code in rounds by turns, the best of each.
"""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Final, get_args

from wasmtime import Config, Engine, Instance, Module, Store, wat2wasm

from kubewasp.cli.plugin_bench import run_cycle, sample_work
from kubewasp.wasm import binary, guard_timers
from kubewasp.wasm.core.core_module import CoreModule, load_core_module
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.limits import Interruption, Limits
from kubewasp.wasm.load_checks import with_checks
from tests.guests.build import go_guest
from tools.bench.bars.bar import Bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

KINDS: Final = ("none", *get_args(Interruption))
NODES: Final = 5000
_ROUNDS: Final = 15
_LIMITS: Final = Limits(call_timeout=60, cycle_timeout=60)
_ITERATIONS: Final = 10_000_000
_LOOP: Final = """(module (memory 1)
  (func (export "run") (param $n i32) (result i32) (local $i i32) (local $sum i32)
    (loop $next
      (local.set $sum (i32.add (local.get $sum) (i32.load8_u (i32.and (local.get $i) (i32.const 65535)))))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (local.get $sum)))"""
_CALLS: Final = """(module
  (func $fib (param $n i32) (result i32)
    (if (result i32) (i32.lt_u (local.get $n) (i32.const 2)) (then (local.get $n))
      (else (i32.add (call $fib (i32.sub (local.get $n) (i32.const 1)))
                     (call $fib (i32.sub (local.get $n) (i32.const 2)))))))
  (func (export "run") (param $n i32) (result i32) (call $fib (i32.const 32))))"""


def bars(step: Callable[[str], None]) -> Iterator[Bar]:
    if not guard_timers.are_there():
        return
    step("checks in a small loop, in calls, and in a Go guest")
    for name, text, at_most in (("a small loop", _LOOP, 1.15), ("recursive calls", _CALLS, 1.25)):
        yield _bar(f"load checks: {name}", _alone(text), at_most, 1e9 / _ITERATIONS, "ns per iteration")
    cost = per_node(go_guest("nodenumber").read_bytes(), NODES)
    yield _bar(f"load checks: a Go guest, {NODES:,} nodes", cost, 1.12, 1e6, "µs per node")


def _bar(name: str, cost: Mapping[str, float], at_most: float, factor: float, unit: str) -> Bar:
    note = ", ".join(f"{kind}: {cost[kind] * factor:.3g}" for kind in KINDS)
    epochs = cost["epoch"] / cost["none"]
    note += f" {unit}; with epochs {epochs:.2f}x"
    return Bar(name, cost["load"] / cost["none"], "x no checks", at_most=at_most, note=note)


def _alone(text: str) -> dict[str, float]:
    """CPU time of a module's only function, with each kind of checks."""
    runs = {}
    for kind in KINDS:
        config = Config()
        config.wasm_multi_memory = config.wasm_threads = True
        config.epoch_interruption = kind == "epoch"
        store = Store(Engine(config))
        store.set_epoch_deadline(2**40)
        wasm = with_checks(bytes(wat2wasm(text)), only_guard=kind != "load").wasm
        run = Instance(store, Module(store.engine, wasm), []).exports(store)["run"]
        runs[kind] = lambda run=run, store=store: run(store, _ITERATIONS)
    return _best(runs)


def per_node(wasm: bytes, nodes: int, severity: int = 3) -> dict[str, float]:
    """CPU time of a cycle per node, all hooks up to Score, with each kind of checks."""
    table, pods = sample_work(nodes, 1)
    runs = {}
    for kind in KINDS:
        guest = Guest(_loaded(wasm, kind), log_severity=severity, limits=_LIMITS)
        hooks = [hook for hook in ("prefilter", "filter", "prescore", "score") if hook in guest.hooks]

        def run(guest: Guest = guest, hooks: Sequence[str] = hooks) -> None:
            run_cycle(guest, pods[0], table, hooks, {})

        for _ in range(3):
            run()
        runs[kind] = run
    return {kind: seconds / nodes for kind, seconds in _best(runs).items()}


def _loaded(wasm: bytes, kind: str) -> CoreModule:
    module = load_core_module(wasm, dataclasses.replace(_LIMITS, interruption="epoch" if kind == "epoch" else "load"))
    if kind != "none":
        return module
    unchecked = with_checks(binary.without_start(wasm), only_guard=True).wasm
    return dataclasses.replace(module, compiled=Module(module.engine.engine, unchecked))


def _best(runs: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    spent: dict[str, list[float]] = {kind: [] for kind in runs}
    for _ in range(_ROUNDS):
        for kind, run in runs.items():
            began = time.thread_time()
            run()
            spent[kind].append(time.thread_time() - began)
    return {kind: min(values) for kind, values in spent.items()}


def rows(wasm: bytes, sizes: Sequence[int], severity: int) -> list[tuple[str, ...]]:
    """CPU time per node in a table's rows, and as a multiple of that without checks."""
    found = []
    for nodes in sizes:
        cost = per_node(wasm, nodes, severity)
        cells = [f"{cost[kind] * 1e6:.2f} µs ({cost[kind] / cost['none']:.2f}x)" for kind in KINDS]
        found.append((f"{nodes:,}", *cells))
    return found
