"""`kubewasp what-if how-many` and `smallest`: room for further pods, and the nodes that a workload needs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kubewasp.cli import output
from kubewasp.cli.folding import counted, node_pool, node_pools
from kubewasp.cli.progress import Progress
from kubewasp.cli.simulate import warn
from kubewasp.cli.simulate_output import print_nodes, print_pending
from kubewasp.cli.what_if_input import Asked, end, trial
from kubewasp.cli.what_if_output import print_changes, print_document
from kubewasp.k8s.objects import name_of
from kubewasp.lab.what_if.how_many import Copies, RejectionLog, how_many, template_in
from kubewasp.lab.what_if.node_shapes import load_shapes
from kubewasp.lab.what_if.scaling import workload_named
from kubewasp.lab.what_if.smallest import SmallestSearch, check_shapes
from kubewasp.simulation import loading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.cli.options import FailOn
    from kubewasp.input_file import InputFile
    from kubewasp.lab.what_if.how_many import HowMany
    from kubewasp.lab.what_if.smallest import Smallest
    from kubewasp.simulation.loading import ClusterInput
    from kubewasp.simulation.simulator import SimulationInput

_MOST_LINES: Final = 40
_MOST_POOLS: Final = 12


def run_how_many(
    asked: Asked,
    given: InputFile,
    *,
    namespace: str,
    at_most: int,
    preempts: bool,
    is_all: bool,
    form: str,
    fail_on: FailOn,
) -> None:
    cluster = asked.read()
    copied, more = _template(given, cluster, namespace)
    copies = Copies(copied, preempts)
    log = RejectionLog(copies.stem)
    with_more = replace(cluster, objects=_joined(cluster.objects, more))
    with trial(asked, [log], given=with_more) as (made, progress):
        progress.phase("adding pods")
        found = how_many(made, copies, log, at_most=at_most)
    if form != "table":
        print_document({"howMany": copies.text, "atMost": at_most}, found.as_dict(), form)
    else:
        _print_how_many(found, is_all=is_all)
    end({"of which none fits": int(not found.fits)}, found.answer.report.result.errors, fail_on)


def _template(given: InputFile, cluster: SimulationInput, namespace: str) -> tuple[Mapping[str, Any], ClusterInput]:
    """The pod or workload to copy, of a file or of the input, and further objects of the file."""
    if isinstance(given, Path) and not given.exists():
        named = workload_named(str(given), namespace, cluster.objects.workloads)
        if named is not None:
            return named, loading.ClusterInput()
    found = loading.read([given])
    return template_in(found, str(given)), replace(found, pods=[], workloads=[], nodes=[])


def _joined(objects: ClusterInput, more: ClusterInput) -> ClusterInput:
    """The input with further objects, such as a PriorityClass; those that it has already stay."""
    known = {
        (item.get("kind"), (item.get("metadata") or {}).get("namespace"), name_of(item)) for item in objects.others
    }
    new = [
        item
        for item in more.others
        if (item.get("kind"), (item.get("metadata") or {}).get("namespace"), name_of(item)) not in known
    ]
    return replace(objects, others=[*objects.others, *new])


def _print_how_many(found: HowMany, *, is_all: bool) -> None:
    if found.by_node:
        places = {"NODE": found.by_node}
        nodes = [node.name for node in found.answer.report.result.nodes]
        if not is_all and len(found.by_node) > _MOST_LINES and node_pools(nodes, _MOST_POOLS) is not None:
            pools: dict[str, int] = {}
            for node, count in found.by_node.items():
                pools[node_pool(node)] = pools.get(node_pool(node), 0) + count
            places = {"NODES": pools}
        ((title, counts),) = places.items()
        rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        shown = rows if is_all else rows[:_MOST_LINES]
        output.print_table((title, "PODS"), [(name, f"{count:,}") for name, count in shown], right=("PODS",))
        if len(shown) < len(rows):
            output.write(f"… {len(rows) - len(shown):,} more nodes; --all shows every line\n")
        output.write("\n")
    if found.rejections:
        rejected = [(f"{item.nodes:,}", item.plugin, item.reason) for item in found.rejections]
        output.print_table(("NODES", "REJECTED BY", "REASON"), rejected, right=("NODES",))
        output.write("\n")
    touched = [change for change in found.answer.changes if change.cause.startswith("preempted")]
    print_changes(touched, [], is_all=is_all)
    fits = f"{found.fits:,} more of {found.copied}"
    facts = [("fits", f"at least {fits}: --at-most" if found.is_bounded else fits)]
    if found.message:
        facts.append(("the next one", found.message))
    if found.limiting:
        facts.append(("limited by", found.limiting))
    output.print_facts(facts)


def run_smallest(
    asked: Asked, pools: InputFile, *, by: str, keeps_nodes: bool, tries: int, is_all: bool, form: str, fail_on: FailOn
) -> None:
    candidate, given = asked.candidate(), asked.read()
    warn([*candidate.settings.warnings, *given.objects.warnings])
    shapes = load_shapes(pools, {name_of(node): node for node in given.objects.nodes})
    by_price = by == "price" if by else all(shape.price is not None for shape in shapes)
    check_shapes(shapes, by_price=by_price)
    with Progress() as progress:
        progress.phase("simulating sets of nodes")
        search = SmallestSearch(
            given,
            candidate,
            shapes,
            by_price=by_price,
            keeps_nodes=keeps_nodes,
            tries=tries,
            tried=lambda: progress.moved(1),
        )
        found = search.run()
    if form != "table":
        print_document({"smallest": [shape.name for shape in shapes]}, found.as_dict(), form)
    else:
        _print_smallest(found, is_all=is_all)
    end({"without a node on any set": len(found.impossible)}, found.result.errors, fail_on)


def _print_smallest(found: Smallest, *, is_all: bool) -> None:
    rows = []
    less = {item.shape: item for item in found.one_less}
    for shape, count in zip(found.shapes, found.counts, strict=True):
        price = f"{count * shape.price:,.4g}" if shape.price is not None else "-"
        one_less = less.get(shape.name)
        pending = counted(len(one_less.pending), "pod") + " pending" if one_less is not None else "-"
        rows.append((shape.name, f"{count:,}", price, pending))
    output.print_table(("POOL", "NODES", "PRICE", "ONE NODE LESS"), rows, right=("NODES", "PRICE"))
    output.write("\n")
    print_pending(found.impossible, is_all=is_all, title="NO SET HOSTS")
    if found.result.nodes:
        print_nodes(found.result.nodes, is_all=is_all)
        output.write("\n")
    unit = "price" if found.by_price else "nodes"
    facts = [("nodes", f"{sum(found.counts):,} for {counted(len(found.result.placements), 'pod')}")]
    if found.price is not None:
        facts.append(("price", f"{found.price:,.6g}"))
    if found.is_proven:
        facts.append(
            (
                "proven",
                f"no set with fewer {unit} hosts all pods" if not found.by_price else "no cheaper set hosts all pods",
            )
        )
    else:
        facts.append(
            ("bound", f"at least {found.bound:,.6g} {unit}: this set is at most {found.gap:.1%} above the best")
        )
    cheaper = "too many to list" if found.below is None else f"{found.below:,}"
    facts.append(
        ("method", f"{counted(found.tried, 'set')} simulated; cheaper sets that sums of resources allow: {cheaper}")
    )
    output.print_facts(facts)
