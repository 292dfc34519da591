"""Output of `kubewasp simulate`: tables, JSON, or pods as YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.cli import output
from kubewasp.cli.explain_output import print_explanation
from kubewasp.cli.logs_output import print_logs
from kubewasp.k8s.resources import CPU, MEMORY
from kubewasp.simulation.workloads import is_made_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.k8s.pods import Pod
    from kubewasp.simulation.simulator import SimulationReport


def print_result(result: SimulationReport, *, form: str) -> None:
    if form == "json":
        output.print_json(result.as_dict())
    elif form == "yaml":
        _print_yaml(result)
    else:
        _print_tables(result)
        print_logs(result.logs)


def _print_yaml(result: SimulationReport) -> None:
    documents = []
    for pod in result.placements():
        manifest = result.cluster.objects.manifests[pod.key]
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


def _print_tables(result: SimulationReport) -> None:
    screen = output.console()
    placements, pending = result.placements(), result.pending()
    _print_placements(placements)
    if pending:
        screen.print()
        output.print_table(("PENDING", "REASON"), [(pod.key, message) for pod, message in pending])
    if result.cluster.objects.preemptions:
        screen.print()
        rows = [(item.pod.key, item.by.key, item.node) for item in result.cluster.objects.preemptions]
        output.print_table(("PREEMPTED", "BY", "NODE"), rows)
    screen.print()
    _print_nodes(result)
    spent = result.as_dict()["timing"]
    slowest = sorted(spent["plugins_ms"].items(), key=lambda item: -item[1])[:6]
    screen.print()
    output.print_facts(
        [
            (
                "placed",
                f"{len(placements)} pods, {len(pending)} pending, {len(result.cluster.objects.preemptions)} preempted",
            ),
            (
                "duration",
                f"{spent['seconds']:.3f} s for {spent['attempts']} attempts, {spent['us_per_attempt']:.0f} µs each",
            ),
            ("plugin time", ", ".join(f"{name} {ms:.1f} ms" for name, ms in slowest)),
        ]
    )
    if result.explanation is not None:
        screen.print()
        print_explanation(result.explanation.as_dict())


def _print_placements(placements: Sequence[Pod], most: int = 40) -> None:
    if len(placements) <= most:
        output.print_table(("PLACED", "NODE"), [(pod.key, pod.node) for pod in placements])
        return
    by_node: dict[str, dict[str, int]] = {}
    for pod in placements:
        groups = by_node.setdefault(pod.node, {})
        group = pod.owner.name if pod.owner is not None else pod.name
        groups[group] = groups.get(group, 0) + 1
    rows = [
        (node, str(sum(groups.values())), ", ".join(f"{count} {name}" for name, count in groups.items()))
        for node, groups in sorted(by_node.items())
    ]
    output.print_table(("NODE", "PLACED", "PODS"), rows[:most], right=("PLACED",))
    if len(rows) > most:
        output.console().print(f"… {len(rows) - most} more nodes")


def _print_nodes(result: SimulationReport, most: int = 40) -> None:
    rows = []
    for node in result.nodes():
        shares = []
        for name in (CPU, MEMORY):
            total = node["allocatable"].get(name, 0)
            shares.append(f"{_share(node['before'], name, total)} → {_share(node['after'], name, total)}")
        rows.append((node["name"], f"{node['before']['pods']} → {node['after']['pods']}", *shares))
    output.print_table(("NODE", "PODS", "CPU", "MEMORY"), rows[:most])
    if len(rows) > most:
        output.console().print(f"… {len(rows) - most} more nodes")


def _share(used: dict[str, int], name: str, total: int) -> str:
    return f"{100 * used.get(name, 0) // total}%" if total else "-"
