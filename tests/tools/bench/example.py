"""Synthetic result with every layer: plausible, deterministic figures."""

from __future__ import annotations

import random

from tools.bench.labels import PARTS, WORKLOADS
from tools.bench.model import Measurement, Result, Skipped

SIZES = (100, 1_000, 5_000, 20_000)
POLICIES = {"nodenumber": 1.0, "label-cpu": 1.6, "filter-reasons": 1.3}
# Fixed microseconds and microseconds a node: of an unchanged cycle, and of the first one.
FORMS = {
    "builtin": (30, 0.02, 0.3),
    "in-process": (5, 1.4, 1.6),
    "go": (90, 0.2, 4.8),
    "python": (400, 1.0, 100.0),
    "wat": (70, 0.07, 2.6),
    "callbacks": (40, 57.0, 60.0),
    "extender-full": (900, 40.0, 41.0),
    "extender-names": (700, 3.0, 9.0),
    "go-extension": (200, 130.0, 150.0),
    "go-extension-guest-here": (120, 20.0, 25.0),
    "wazero": (150, 90.0, 95.0),
    "wazero-guest-here": (120, 18.0, 21.0),
    "rust": (80, 0.15, 3.0),
    "c": (75, 0.08, 2.7),
    "javascript": (500, 1.1, 60.0),
}
GUESTS = ("go", "rust", "c", "python", "javascript", "wat")
COUNTED = ("go", "python", "wat")
PEERS = ("go-extension", "go-extension-guest-here", "wazero", "wazero-guest-here")
RATES = {"kube-scheduler": 500.0, "kubewasp": 640.0}
OVERHEADS = {
    "none": 1.0,
    "builtin": 1.01,
    "wasm-1": 1.04,
    "wasm-1-signed": 1.06,
    "wasm-1-unsigned": 1.2,
    "wasm-2": 1.07,
    "wasm-5": 1.19,
    "extender": 30.0,
}


def result(*, plugin: bool = True, scheduler: bool = True, counts: bool = True, peers: bool = True) -> Result:
    made = Result(
        machine={"cpu": "Example CPU 3000", "cores": 2, "memory_gib": 16, "system": "Linux x86_64"},
        versions={"kubewasp": "0.1.0", "python": "3.11.7", "wasmtime": "50.0.1", "kubernetes": "1.36.4"},
        measured_on="2026-01-02",
    )
    chance = random.Random(7)
    if plugin:
        made.seconds["plugin"] = 1_130.0
        made.measurements += plugin_layer(chance, peers=peers)
        if not peers:
            made.skipped.append(Skipped("plugin", "go-extension", "its modules\ncannot be had | here"))
            made.skipped.append(Skipped("plugin", "wazero", "there is no Go"))
    if scheduler:
        made.seconds["scheduler"] = 5_400.0
        made.measurements += scheduler_layer(chance)
        made.skipped.append(Skipped("scheduler", "extender at 20,000 nodes", "it takes hours"))
    if counts:
        made.seconds["counts"] = 40.0
        made.measurements += counts_layer()
    return made


def measurement(
    layer: str, metric: str, value: float, unit: str, chance: random.Random, *, better: str = "lower", **case: str | int
) -> Measurement:
    values = tuple(round(value * chance.uniform(0.97, 1.03), 6) for _ in range(5))
    return Measurement(layer, case, metric, unit, values, better)


def plugin_layer(chance: random.Random, *, peers: bool = True) -> list[Measurement]:
    made = []
    for policy, weight in POLICIES.items():
        for form, (fixed, unchanged, first) in FORMS.items():
            if form in PEERS and (policy != "nodenumber" or not peers):
                continue
            for nodes in SIZES:
                if nodes > 5_000 and form in ("callbacks", "extender-full", *PEERS):
                    continue
                case = {"policy": policy, "form": form, "nodes": nodes}
                spent = {
                    "unchanged_cycle": fixed + unchanged * nodes * weight,
                    "changed_cycle": fixed + (unchanged * 0.99 + first * 0.01) * nodes * weight,
                    "first_cycle": fixed + first * nodes * weight,
                }
                made += [measurement("plugin", name, value, "µs", chance, **case) for name, value in spent.items()]
                made.append(measurement("plugin", "host_memory", 2e6 + 900.0 * nodes, "bytes", chance, **case))
                if form in GUESTS:
                    made.append(measurement("plugin", "guest_memory", 3e6 + 200.0 * nodes, "bytes", chance, **case))
                    fuel = (float(2_000 + 40 * nodes),)
                    made.append(Measurement("plugin", case, "fuel", "units", fuel, exact=True))
            case = {"policy": policy, "form": form}
            if form in GUESTS:
                made.append(measurement("plugin", "load_cold", 900, "ms", chance, **case, nodes=5_000))
                made.append(measurement("plugin", "load_cached", 17, "ms", chance, **case, nodes=5_000))
                for cycle, each in (("unchanged", unchanged), ("first", first)):
                    for part, share in zip(PARTS, (0.1, 0.05, 0.15, 0.6, 0.1), strict=True):
                        spent_here = (fixed + each * 5_000) * share
                        made.append(
                            measurement("plugin", part, spent_here, "µs", chance, **case, nodes=5_000, cycle=cycle)
                        )
            else:
                made.append(measurement("plugin", "load", 0.4, "ms", chance, **case, nodes=5_000))
    return made


def scheduler_layer(chance: random.Random) -> list[Measurement]:
    made = []
    for where in ("embedded", "real"):
        for nodes in (500, 5_000):
            for number, workload in enumerate(WORKLOADS):
                for scheduler, plugins in (
                    *(
                        ("kubewasp", plugins)
                        for plugins in (
                            "none",
                            "builtin",
                            "wasm-1",
                            "wasm-1-signed",
                            "wasm-1-unsigned",
                            "wasm-2",
                            "wasm-5",
                        )
                    ),
                    ("kube-scheduler", "none"),
                    ("kube-scheduler", "extender"),
                ):
                    if scheduler == "kube-scheduler" and where == "embedded":
                        continue
                    if workload != "basic" and plugins not in ("none", "wasm-1"):
                        continue
                    rate = RATES[scheduler] / OVERHEADS[plugins] / (1 + number / 4) * (1.3 if nodes == 500 else 1)
                    if workload == "pod-anti-affinity" and scheduler == "kubewasp":
                        rate /= 2.5
                    case = {"where": where, "workload": workload, "nodes": nodes}
                    case |= {"scheduler": scheduler, "plugins": plugins}
                    made.append(measurement("scheduler", "rate", rate, "pods/s", chance, better="higher", **case))
                    for name, value, unit in (
                        ("attempt_p50", 700 / rate, "ms"),
                        ("attempt_p90", 1_100 / rate, "ms"),
                        ("attempt_p99", 2_900 / rate, "ms"),
                        ("cpu", 900 / rate, "ms a pod"),
                        ("memory", 120e6 if scheduler == "kubewasp" else 90e6, "bytes"),
                    ):
                        made.append(measurement("scheduler", name, value, unit, chance, **case))
    return made


def counts_layer() -> list[Measurement]:
    made = []
    for form in COUNTED:
        for cycle in ("first", "unchanged", "changed"):
            case = {"policy": "nodenumber", "form": form, "nodes": 1_000, "cycle": cycle}
            for number, metric in enumerate(("fuel", "bytes_copied", "calls", "allocated", "python_calls")):
                value = float(1_000 * (5 - number))
                made.append(Measurement("counts", case, metric, "", (value,), exact=True))
    return made
