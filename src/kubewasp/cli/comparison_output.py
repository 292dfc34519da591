"""Output of `kubewasp simulate --baseline`: totals, workloads and nodes of two simulations side by side."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from kubewasp.cli import output
from kubewasp.cli.folding import folded, node_pool, node_pools, shortened, workload
from kubewasp.k8s.resources import CPU, MEMORY
from kubewasp.simulation.comparison import totals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.simulation.comparison import Comparison
    from kubewasp.simulation.result import NodeUsage, SimulationResult

_MOST_LINES: Final = 10
_MOST_POOLS: Final = 12
_MOST_NAMES: Final = 3


def print_comparison(comparison: Comparison, name: str, *, is_all: bool) -> None:
    """Prints the comparison with the baseline of that name."""
    output.print_facts([("baseline", f"same input and seed, {name}")])
    output.write("\n")
    _print_totals(comparison)
    if is_all or len(comparison.moved) <= _MOST_LINES:
        _print_every_move(comparison)
    else:
        _print_workloads(comparison)
    _print_nodes(comparison, is_all=is_all)
    _print_changed("NEWLY PENDING", [(item.pod, item.workload) for item in comparison.newly_pending], is_all=is_all)
    _print_changed("NEWLY PLACED", [(item.pod, item.workload) for item in comparison.newly_placed], is_all=is_all)


def _print_totals(comparison: Comparison) -> None:
    before, after = totals(comparison.baseline), totals(comparison.result)
    rows: list[tuple[str, str, str, str]] = []
    for title, key in (
        ("placed pods", "placed"),
        ("pending pods", "pending"),
        ("preempted pods", "preempted"),
        ("empty nodes", "empty_nodes"),
    ):
        change = after[key] - before[key]
        rows.append((title, f"{before[key]:,}", f"{after[key]:,}", f"{change:+,}" if change else ""))
    rows.append(("moved pods", "", f"{len(comparison.moved):,}", ""))
    rows += [_utilization(before, after, name, key) for name in (CPU, MEMORY) for key in ("busiest", "deviation")]
    columns = ("", "BASELINE", "RESULT", "CHANGE")
    output.print_table(columns, rows, right=columns[1:])


def _utilization(before: Mapping[str, Any], after: Mapping[str, Any], name: str, key: str) -> tuple[str, str, str, str]:
    """A row such as `CPU requested, busiest node`."""
    titles = {"busiest": "busiest node", "deviation": "standard deviation"}
    old, new = (round(100 * found["utilization"][name][key]) for found in (before, after))
    title = f"{'CPU' if name == CPU else name} requested, {titles[key]}"
    return title, f"{old}%", f"{new}%", f"{new - old:+}" if new != old else ""


def _print_workloads(comparison: Comparison) -> None:
    """The nodes of each workload with moved pods, in both simulations."""
    moved = Counter(workload(pod.pod, pod.workload) for pod in comparison.moved)
    before, after = (_places(result) for result in (comparison.baseline, comparison.result))
    output.write("\n")
    names = [name for name, _ in moved.most_common()]
    rows = [
        (name, f"{moved[name]:,} of {sum(after[name].values()):,}", *_sides(before.get(name, Counter()), after[name]))
        for name in names[:_MOST_LINES]
    ]
    output.print_table(("WORKLOAD", "MOVED", "BASELINE", "RESULT"), rows, right=("MOVED",))
    if len(names) > _MOST_LINES:
        output.write(f"… {len(names) - _MOST_LINES:,} more workloads; --all shows every pod\n")


def _places(result: SimulationResult) -> dict[str, Counter[str]]:
    """Numbers of pods per node, or per pool of nodes where names tell pools, by workload."""
    pools = node_pools((node.name for node in result.nodes), _MOST_POOLS)
    found: dict[str, Counter[str]] = {}
    for item in result.placements:
        place = node_pool(item.node) if pools else item.node
        found.setdefault(workload(item.pod, item.workload), Counter())[place] += 1
    return found


def _sides(before: Counter[str], after: Counter[str]) -> tuple[str, str]:
    """Both sides in words; of many nodes, the number."""
    if max(len(before), len(after)) > 2 * _MOST_NAMES:
        return f"{len(before):,} nodes", f"{len(after):,} nodes"
    texts = [
        ", ".join(f"{place} {count:,}" for place, count in sorted(side.items(), key=lambda item: (-item[1], item[0])))
        for side in (before, after)
    ]
    return texts[0], texts[1]


def _print_every_move(comparison: Comparison) -> None:
    if comparison.moved:
        output.write("\n")
        rows = [(pod.pod, pod.baseline, pod.node) for pod in comparison.moved]
        output.print_table(("MOVED", "BASELINE", "RESULT"), rows)


def _print_nodes(comparison: Comparison, *, is_all: bool) -> None:
    """Usage of pools of nodes, or of the nodes that differ most."""
    after = {node.name: node for node in comparison.result.nodes}
    pairs = [(node, after[node.name]) for node in comparison.baseline.nodes if node.name in after]
    changed = sorted(
        ((old, new) for old, new in pairs if old.after != new.after), key=lambda pair: (-_change(pair), pair[0].name)
    )
    if not changed:
        return
    output.write("\n")
    pools = None if is_all or len(changed) <= _MOST_LINES else node_pools(after, _MOST_POOLS)
    if pools is not None:
        by_name = {old.name: (old, new) for old, new in pairs}
        rows = [
            (f"{pool} ({len(names):,})", *_usage([by_name[name] for name in names if name in by_name]))
            for pool, names in pools.items()
        ]
    else:
        shown = changed if is_all else changed[:_MOST_LINES]
        rows = [(old.name, *_usage([(old, new)])) for old, new in shown]
    output.print_table(("BASELINE → RESULT", "PODS", "CPU", "MEMORY"), rows)
    if pools is None and len(rows) < len(changed):
        output.write(f"… {len(changed) - len(rows):,} more nodes differ; --all shows every line\n")


def _change(pair: tuple[NodeUsage, NodeUsage]) -> float:
    old, new = pair
    return max(abs((new.share(name) or 0) - (old.share(name) or 0)) for name in (CPU, MEMORY))


def _usage(pairs: Sequence[tuple[NodeUsage, NodeUsage]]) -> tuple[str, str, str]:
    """Pods, CPU and memory of nodes as a whole at the end of both simulations."""
    pods = (f"{sum(pair[side].after.get('pods', 0) for pair in pairs):,}" for side in (0, 1))
    return " → ".join(pods), _shares(pairs, CPU), _shares(pairs, MEMORY)


def _shares(pairs: Sequence[tuple[NodeUsage, NodeUsage]], name: str) -> str:
    shares = []
    for side in (0, 1):
        total = sum(pair[side].allocatable.get(name, 0) for pair in pairs)
        used = sum(pair[side].after.get(name, 0) for pair in pairs)
        shares.append(f"{100 * used // total}%" if total else "-")
    return " → ".join(shares)


def _print_changed(title: str, pods: Sequence[tuple[str, str]], *, is_all: bool) -> None:
    if pods:
        output.write("\n")
        names = [pod for pod, _ in pods] if is_all else shortened(folded(pods), _MOST_LINES)
        output.print_table((title,), [(name,) for name in names])
