"""Named ratios of a result and their bars, computed repetition by repetition."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tools.bench import labels
from tools.bench.labels import HEADLINE_NODES, HEADLINE_POLICY, HERE
from tools.bench.statistics import Range, paired

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.bench.model import Measurement, Result

TIMES, OVERHEAD = "times", "overhead"
_OVERHEAD_BAR: Final = 0.10
_SAME_GUEST_BAR: Final = 2.0
_PEERS: Final = {"go-extension": "kube-scheduler-wasm-extension", "wazero": "the stand-in, a Go host on wazero"}
# A guest in the sandbox against other forms of the same policy, without bars.
_WAYS: Final = (
    ("wat", "callbacks", "in the sandbox against Python callbacks"),
    ("wat", "extender-full", "in the sandbox against an extender with whole nodes"),
    ("wat", "extender-names", "in the sandbox against an extender with names only"),
    ("go", "in-process", "a Go guest against Python in process"),
    ("go", "builtin", "a Go guest against the same policy built in"),
)


@dataclass(frozen=True, slots=True)
class Ratio:
    """A speed factor (`times`), or an additional cost as a share (`overhead`)."""

    group: str
    name: str
    kind: str
    ours: Measurement | None
    theirs: Measurement | None
    values: tuple[float, ...] = ()
    bar: float | None = None
    aim: float | None = None
    binding: bool = True  # a bar for comparison only is never missed
    missing: str = ""

    @property
    def range(self) -> Range | None:
        return Range.of(self.values) if self.values else None

    @property
    def reached(self) -> bool | None:
        """None without a bar or without figures."""
        if self.bar is None or self.range is None:
            return None
        return self.range.median >= self.bar if self.kind == TIMES else self.range.median <= self.bar


def ratios(result: Result) -> list[Ratio]:
    """All ratios in the order of the page; a ratio without figures has the reason in `missing`."""
    return [*_plugin(result), *_scheduler(result)]


def why_missing(result: Result, layer: str, *words: str) -> str:
    """The reason in `skipped` for the first of these words that is found there."""
    for word in words:
        whole = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
        for skipped in result.skipped:
            if skipped.layer == layer and whole.search(skipped.what):
                return skipped.why
    if not any(one.layer == layer for one in result.measurements):
        return f"the {layer} layer is not in this result"
    return "not in this result"


def _plugin(result: Result) -> Iterator[Ratio]:
    yield _forms(
        result, "peer", "a Go guest against kube-scheduler-wasm-extension", ("go", "go-extension"), bar=200.0, aim=500.0
    )
    for peer, name in _PEERS.items():
        group = "peer" if peer == "go-extension" else "stand-in"
        if group == "stand-in":
            yield _forms(result, group, f"a Go guest against {name}", ("go", peer))
        yield _forms(
            result, group, f"the same guest file here against {name}", (peer + HERE, peer), bar=_SAME_GUEST_BAR
        )
    name = f"a guest file that reads every node whole, here against {_PEERS['wazero']}"
    yield _forms(result, "stand-in", name, ("wazero" + HERE, "wazero"), bar=_SAME_GUEST_BAR, policy="labels")
    for ours, theirs, name in _WAYS:
        yield _forms(result, "way", name, (ours, theirs))


def _forms(
    result: Result,
    group: str,
    name: str,
    sides: tuple[str, str],
    *,
    bar: float | None = None,
    aim: float | None = None,
    policy: str = HEADLINE_POLICY,
) -> Ratio:
    """Two forms of a policy, ours first."""
    ours, theirs = sides
    ours_found, theirs_found = (
        result.find("plugin", "unchanged_cycle", policy=policy, form=form, nodes=HEADLINE_NODES)
        for form in (ours, theirs)
    )
    if ours_found is None or theirs_found is None:
        missing = theirs if theirs_found is None else ours
        why = why_missing(result, "plugin", missing, missing.removesuffix(HERE))
        return Ratio(group, name, TIMES, ours_found, theirs_found, bar=bar, aim=aim, missing=why)
    values = paired(theirs_found.values, ours_found.values)
    return Ratio(
        group, name, TIMES, ours_found, theirs_found, values, bar, aim, missing="" if values else "a time of 0 µs"
    )


def _scheduler(result: Result) -> Iterator[Ratio]:
    measured = [one for one in result.measurements if one.layer == "scheduler"]
    sizes = {
        place: sorted({int(one.case["nodes"]) for one in measured if one.case.get("where") == place})
        for place in labels.PLACES
    }
    for place in labels.PLACES:
        for nodes in sizes[place] or [HEADLINE_NODES]:
            for plugins in labels.WASM_PLUGINS:
                for metric in ("cpu", "rate"):
                    yield _overhead(result, place, nodes, plugins, metric)
    workloads = {str(one.case["workload"]) for one in measured if one.case.get("where") == "real"} | {"basic"}
    for workload in labels.in_order(workloads, labels.WORKLOADS):
        for nodes in sizes["real"] or [HEADLINE_NODES]:
            for plugins in labels.ONE_WASM_PLUGIN:
                for other in ("none", "extender"):
                    yield from _side_by_side(result, workload, nodes, plugins, other)


def _overhead(result: Result, place: str, nodes: int, plugins: str, metric: str) -> Ratio:
    case: dict[str, str | int] = {"where": place, "workload": "basic", "scheduler": "kubewasp", "nodes": nodes}
    ours = result.find("scheduler", metric, **case, plugins=plugins)
    plain = result.find("scheduler", metric, **case, plugins="none")
    what = "CPU time per pod" if metric == "cpu" else "time per pod"
    name = f"{labels.PLUGINS[plugins]}: {what}, {labels.PLACES[place]}, {nodes:,} nodes"
    bar = _OVERHEAD_BAR if plugins in labels.ONE_WASM_PLUGIN else None
    # Embedded, the signature call alone is more than a tenth of the time of a pod: no bar there.
    binding = plugins == "wasm-1" or (plugins == "wasm-1-signed" and place == "real")
    if ours is None or plain is None:
        words = (plugins if ours is None else "none", place, "kubewasp")
        why = why_missing(result, "scheduler", *words)
        return Ratio("overhead", name, OVERHEAD, ours, plain, bar=bar, binding=binding, missing=why)
    # A rate is inverted: the cost of a plugin is time.
    found = paired(plain.values, ours.values) if ours.better == "higher" else paired(ours.values, plain.values)
    values = tuple(value - 1 for value in found)
    missing = "" if values else "a value of 0"
    return Ratio("overhead", name, OVERHEAD, ours, plain, values, bar, binding=binding, missing=missing)


def _side_by_side(result: Result, workload: str, nodes: int, plugins: str, other: str) -> Iterator[Ratio]:
    """Kubewasp with a wasm plugin against kube-scheduler, for the sizes measured."""
    case: dict[str, str | int] = {"where": "real", "workload": workload, "nodes": nodes}
    ours = result.find("scheduler", "rate", **case, scheduler="kubewasp", plugins=plugins)
    theirs = result.find("scheduler", "rate", **case, scheduler="kube-scheduler", plugins=other)
    against = "without a plugin" if other == "none" else "with an extender"
    name = f"{labels.PLUGINS[plugins]}, {workload}, {nodes:,} nodes, against kube-scheduler {against}"
    bar = 1.0 if other == "none" else None
    binding = workload == "basic"
    if ours is not None and theirs is not None:
        values = paired(ours.values, theirs.values)
        missing = "" if values else "no pod was bound"
        yield Ratio("peer scheduler", name, TIMES, ours, theirs, values, bar, binding=binding, missing=missing)
    elif binding:
        words = (other, "kube-scheduler", "real") if theirs is None else (plugins, "kubewasp", "real")
        why = why_missing(result, "scheduler", *words)
        yield Ratio("peer scheduler", name, TIMES, ours, theirs, bar=bar, binding=binding, missing=why)
