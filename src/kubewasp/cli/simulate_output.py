"""Output of `kubewasp simulate`: tables, JSON, or pods as YAML. Long tables are folded unless every line is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubewasp.cli import comparison_output, output
from kubewasp.cli.explain_output import print_explanation
from kubewasp.cli.folding import by_reason, counted, folded, in_short, node_pool, node_pools, shortened, workload
from kubewasp.cli.logs_output import print_logs
from kubewasp.k8s.resources import CPU, MEMORY
from kubewasp.simulation.workloads import is_made_up

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.cli.simulate import Baseline, Simulated
    from kubewasp.simulation.result import ErrorCause, NodeUsage, PendingPod, SimulationResult
    from kubewasp.simulation.simulator import SimulationReport

_MOST_LINES: Final = 40  # of a table with one line per pod or node
_MOST_GROUPS: Final = 15  # of a folded table
_MOST_POOLS: Final = 12
_MOST_NAMES: Final = 6  # workloads in a cell
_MOST_CAUSES: Final = 5
_BANDS: Final = ((0, 20), (20, 40), (40, 60), (60, 80), (80, 95), (95, 101))  # percent
_HINT: Final = "--all shows every line"


def print_result(simulated: Simulated, *, form: str, is_all: bool = False) -> None:
    report, baseline = simulated.report, simulated.baseline
    if form == "json":
        found = report.as_dict()
        if baseline is not None:
            found["baseline"] = {"name": baseline.name, **baseline.comparison.as_dict()}
        output.print_json(found)
    elif form == "yaml":
        _print_yaml(report)
    else:
        _print_tables(simulated, is_all=is_all)
        print_logs(report.logs)


def _print_yaml(report: SimulationReport) -> None:
    documents = []
    for pod in report.placements():
        manifest = report.cluster.objects.manifests[pod.key]
        metadata = {key: value for key, value in manifest["metadata"].items() if key != "uid"}
        # A simulated owner has a uid unknown to a real cluster, whose garbage collector would delete the pod.
        owners = [item for item in metadata.pop("ownerReferences", None) or () if not is_made_up(item, pod.namespace)]
        if owners:
            metadata["ownerReferences"] = owners
        documents.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": metadata,
                "spec": {**manifest["spec"], "nodeName": pod.node},
            }
        )
    output.print_yaml(documents)


def _print_tables(simulated: Simulated, *, is_all: bool) -> None:
    report, result, baseline = simulated.report, simulated.report.result, simulated.baseline
    if baseline is not None:
        comparison_output.print_comparison(baseline.comparison, baseline.name, is_all=is_all)
        output.write("\n")
    elif result.placements:
        if is_all or len(result.placements) <= _MOST_LINES:
            _print_placements(report)
        else:
            _print_workloads(result)
        output.write("\n")
    print_pending([pod for pod in result.pending if not pod.is_error], is_all=is_all)
    _print_preempted(result, is_all=is_all)
    if baseline is None and result.nodes:
        print_nodes(result.nodes, is_all=is_all)
        output.write("\n")
    _print_facts(report, baseline)
    if result.errors:
        output.write("\n")
        print_errors(result, is_all=is_all)
    if report.explanation is not None:
        output.write("\n")
        print_explanation(report.explanation.as_dict(), is_all=is_all)


def _print_placements(report: SimulationReport) -> None:
    """A line per pod; with the annotations of the bindings, if there are any."""
    pods = report.placements()
    if not any(map(report.annotations_of, pods)):
        output.print_table(("PLACED", "NODE"), [(pod.key, pod.node) for pod in pods])
        return
    rows = [
        (pod.key, pod.node, "\n".join(f"{key}: {in_short(value)}" for key, value in report.annotations_of(pod).items()))
        for pod in pods
    ]
    output.print_table(("PLACED", "NODE", "ANNOTATIONS"), rows)


def _print_facts(report: SimulationReport, baseline: Baseline | None) -> None:
    """Numbers of pods and time of the slowest plugins; beside a baseline, of the plugins that it does not have."""
    result, spent = report.result, report.plugin_seconds()
    facts = []
    if baseline is None:
        others = f"{len(result.pending):,} pending, {len(result.preempted):,} preempted"
        facts.append(("placed", f"{counted(len(result.placements), 'pod')}, {others}"))
    else:
        spent = {name: seconds for name, seconds in spent.items() if name not in baseline.report.plugin_seconds()}
    facts.append(duration_fact(report))
    slowest = sorted(spent.items(), key=lambda item: -item[1])[:6]
    if slowest:
        facts.append(("plugin time", ", ".join(f"{name} {seconds * 1e3:.1f} ms" for name, seconds in slowest)))
    output.print_facts(facts)


def duration_fact(report: SimulationReport) -> tuple[str, str]:
    """Wall-clock time of a simulation, and that of an attempt."""
    each = f", {report.seconds * 1e6 / report.attempts:,.0f} µs each" if report.attempts else ""
    return "duration", f"{report.seconds:.3f} s for {counted(report.attempts, 'attempt')}{each}"


def _print_workloads(result: SimulationResult) -> None:
    """Placed and pending pods of each workload, with its nodes."""
    placed: dict[str, dict[str, int]] = {}
    pools = node_pools((node.name for node in result.nodes), _MOST_POOLS)
    for item in result.placements:
        nodes = placed.setdefault(workload(item.pod, item.workload), {})
        place = node_pool(item.node) if pools else item.node
        nodes[place] = nodes.get(place, 0) + 1
    waiting: dict[str, int] = {}
    for pod in result.pending:
        name = workload(pod.pod, pod.workload)
        waiting[name] = waiting.get(name, 0) + 1
    sizes = {name: sum(nodes.values()) for name, nodes in placed.items()}
    names = sorted(sizes, key=lambda name: (-sizes[name], name))
    rows = [
        (name, f"{sizes[name]:,}", f"{waiting.get(name, 0):,}", places(placed[name])) for name in names[:_MOST_GROUPS]
    ]
    output.print_table(("WORKLOAD", "PLACED", "PENDING", "NODES"), rows, right=("PLACED", "PENDING"))
    _print_more(names, _MOST_GROUPS, "workloads")


def places(nodes: Mapping[str, int]) -> str:
    """`spot-* 60, od-* 2`; of many nodes their number."""
    listed = sorted(nodes.items(), key=lambda item: (-item[1], item[0]))
    if len(listed) > _MOST_NAMES:
        return f"{len(listed):,} nodes"
    return ", ".join(f"{name} {count:,}" for name, count in listed)


def print_pending(pending: Sequence[PendingPod], *, is_all: bool, title: str = "PENDING") -> None:
    """Pods with their reasons; folded, one line per reason."""
    if not pending:
        return
    if is_all:
        rows = [(pod.pod, pod.message) for pod in pending]
    else:
        groups = by_reason(pending)
        names = [folded((pod.pod, pod.workload) for pod in pods) for _, pods in groups]
        rows = [
            ("\n".join(shortened(some, _MOST_NAMES)), message)
            for (message, _), some in zip(groups[:_MOST_GROUPS], names, strict=False)
        ]
    output.print_table((title, "REASON"), rows)
    if not is_all:
        _print_more(groups, _MOST_GROUPS, "reasons")
    output.write("\n")


def _print_preempted(result: SimulationResult, *, is_all: bool) -> None:
    preempted = result.preempted
    if not preempted:
        return
    if is_all or len(preempted) <= _MOST_GROUPS:
        rows = [(item.pod, item.by, item.node) for item in preempted]
    else:
        groups: dict[tuple[str, str], list[str]] = {}
        for item in preempted:
            groups.setdefault((workload(item.pod), workload(item.by)), []).append(item.node)
        pairs = sorted(groups.items(), key=lambda item: -len(item[1]))
        rows = [(f"{victim} ({len(nodes):,})", by, f"{len(set(nodes)):,} nodes") for (victim, by), nodes in pairs]
    output.print_table(("PREEMPTED", "BY", "NODE"), rows if is_all else rows[:_MOST_GROUPS])
    if not is_all:
        _print_more(rows, _MOST_GROUPS, "lines")
    output.write("\n")


def print_nodes(nodes: Sequence[NodeUsage], *, is_all: bool) -> None:
    """A line per node; of many nodes, a line per pool, and the distribution of their utilization."""
    if is_all or len(nodes) <= _MOST_LINES:
        rows = [(node.name, *_usage([node])) for node in nodes]
        output.print_table(("NODE", "PODS", "CPU", "MEMORY"), rows)
        return
    pools: Mapping[str, list[NodeUsage]] = {"all": list(nodes)}
    if node_pools((node.name for node in nodes), _MOST_POOLS):
        grouped: dict[str, list[NodeUsage]] = {}
        for node in nodes:
            grouped.setdefault(node_pool(node.name), []).append(node)
        pools = {**grouped, **pools}
    rows = [(f"{name} ({len(some):,})", *_usage(some)) for name, some in pools.items()]
    output.print_table(("NODES", "PODS", "CPU", "MEMORY"), rows)
    output.write("\n")
    _print_bands(nodes)


def _print_bands(nodes: Sequence[NodeUsage]) -> None:
    """Number of nodes by requested share."""
    rows = []
    for low, high in _BANDS:
        counts = [
            sum(low <= 100 * share < high for node in nodes if (share := node.share(name)) is not None)
            for name in (CPU, MEMORY)
        ]
        rows.append((f"{low}% to {min(high, 100)}%", *(f"{count:,}" for count in counts)))
    output.print_table(
        ("REQUESTED", "NODES BY CPU", "NODES BY MEMORY"), rows, right=("NODES BY CPU", "NODES BY MEMORY")
    )
    output.write(f"{_HINT}\n")


def _usage(nodes: Sequence[NodeUsage]) -> tuple[str, str, str]:
    """Pods, CPU and memory of nodes as a whole, before and after."""
    before, after = ([getattr(node, state) for node in nodes] for state in ("before", "after"))
    shares = []
    for name in (CPU, MEMORY):
        total = sum(node.allocatable.get(name, 0) for node in nodes)
        shares.append(f"{share_of(before, name, total)} → {share_of(after, name, total)}")
    return (
        f"{sum(used.get('pods', 0) for used in before):,} → {sum(used.get('pods', 0) for used in after):,}",
        shares[0],
        shares[1],
    )


def share_of(used: Sequence[Mapping[str, int]], name: str, total: int) -> str:
    """Requested share of a resource in percent."""
    return f"{100 * sum(amounts.get(name, 0) for amounts in used) // total}%" if total else "-"


def print_errors(result: SimulationResult, *, is_all: bool) -> None:
    """One text per cause, with its pods."""
    owners = {item.pod: item.workload for item in result.placements}
    owners |= {item.pod: item.workload for item in result.pending}
    causes = result.errors if is_all else result.errors[:_MOST_CAUSES]
    facts = []
    for cause in causes:
        facts.append(("error", cause.message))
        facts.append(("", f"× {_pods_of(cause, owners, is_all=is_all)}"))
    output.print_facts(facts)
    _print_more(result.errors, len(causes), "causes")


def _pods_of(cause: ErrorCause, owners: Mapping[str, str], *, is_all: bool) -> str:
    pods = len(cause.pods)
    names = folded((pod, owners.get(pod, "")) for pod in cause.pods)
    listed = ", ".join(cause.pods if is_all else shortened(names, _MOST_NAMES))
    return f"{counted(pods, 'pod')} in {counted(cause.attempts, 'attempt')}: {listed}"


def _print_more(listed: Sequence[object], most: int, name: str) -> None:
    if len(listed) > most:
        output.write(f"… {len(listed) - most:,} more {name}; {_HINT}\n")
