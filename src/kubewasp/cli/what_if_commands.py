"""Options and help of `kubewasp what-if`. The work is in what_if_changes, what_if_capacity and what_if_upgrade."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kubewasp.cli.cluster_commands import AllLines, Seed, StartTime
from kubewasp.cli.command_group import CommandGroup
from kubewasp.cli.options import ConfigFile, FailOn, Format, Output, PluginConfigs, Plugins, Strict, assignments, utf8
from kubewasp.cli.what_if_options import Cluster, Failures, Labels, Namespace, Nodes, Zone, asked

app = CommandGroup(
    help="Questions about a cluster in memory: nodes drained, lost, added, upgraded; workloads scaled; room left."
)


class Measure(StrEnum):
    """Cost of a set of nodes."""

    NODES = "nodes"
    PRICE = "price"


@app.command()
def drain(
    nodes: Nodes = None,
    *,
    filename: Cluster,
    zone: Zone = "",
    label: Labels = None,
    config: ConfigFile = None,
    plugin: Plugins = None,
    plugin_config: PluginConfigs = None,
    start_time: StartTime = "",
    seed: Seed = 0,
    strict: Strict = False,
    fail_on: Failures = FailOn.ERROR,
    all_lines: AllLines = False,
    output: Format = Output.TABLE,
) -> None:
    """Drain nodes: where their pods go, which stay pending, lost or blocked.

    As `kubectl drain`: the nodes are cordoned and their pods evicted in rounds,
    as PodDisruptionBudgets allow; replacements count as ready once they have a
    node. Pods of DaemonSets and static pods stay. Prints every change of a pod
    against the input as it is, with its pending pods scheduled.

    Exit codes: 0 success; 1 invalid input; 2 usage error; 3 a plugin failed on
    a pod; 4 pods are pending, lost or blocked, with --fail-on pending.

    Example: kubewasp what-if drain node-1 -f examples/clusters/small.yaml
    """
    from kubewasp.cli import what_if_changes as command
    from kubewasp.cli.inputs import Inputs

    given = asked(Inputs(), filename, config, plugin, plugin_config, start_time, seed, strict=strict)
    command.drain(
        given, nodes or (), zone, assignments("--label", label), is_all=all_lines, form=output.value, fail_on=fail_on
    )


@app.command()
def remove(
    nodes: Nodes = None,
    *,
    filename: Cluster,
    zone: Zone = "",
    label: Labels = None,
    config: ConfigFile = None,
    plugin: Plugins = None,
    plugin_config: PluginConfigs = None,
    start_time: StartTime = "",
    seed: Seed = 0,
    strict: Strict = False,
    fail_on: Failures = FailOn.ERROR,
    all_lines: AllLines = False,
    output: Format = Output.TABLE,
) -> None:
    """Lose nodes at once, such as a zone: which pods can be placed again.

    No budget is asked. Prints every change of a pod, with the reasons of those
    that stay without a node.

    Exit codes: as for `what-if drain`.

    Example: kubewasp what-if remove --zone b -f examples/clusters/small.yaml
    """
    from kubewasp.cli import what_if_changes as command
    from kubewasp.cli.inputs import Inputs

    given = asked(Inputs(), filename, config, plugin, plugin_config, start_time, seed, strict=strict)
    command.remove(
        given, nodes or (), zone, assignments("--label", label), is_all=all_lines, form=output.value, fail_on=fail_on
    )


@app.command()
def add(
    *,
    filename: Cluster,
    like: Annotated[str, typer.Option(metavar="NODE", help="Node to copy.", show_default=False, callback=utf8)],
    count: Annotated[int, typer.Option("-n", "--count", metavar="N", min=1, max=10_000, help="Number of copies.")] = 1,
    resource: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=AMOUNT", help="Other allocatable amount, e.g. cpu=16. Repeatable.", callback=utf8
        ),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="KEY=VALUE", help="Other label of the copies. Repeatable.", callback=utf8),
    ] = None,
    config: ConfigFile = None,
    plugin: Plugins = None,
    plugin_config: PluginConfigs = None,
    start_time: StartTime = "",
    seed: Seed = 0,
    strict: Strict = False,
    fail_on: Failures = FailOn.ERROR,
    all_lines: AllLines = False,
    output: Format = Output.TABLE,
) -> None:
    """Add copies of a node: which pending pods fit now, and what still stops the others.

    A copy is a fresh node: own name, no cordon, no taints of a node's state.
    Prints the pods that are placed, those still pending, and the new nodes.

    Exit codes: as for `what-if drain`.

    Example: kubewasp what-if add --like node-1 -n 2 --set cpu=8 -f examples/clusters/small.yaml
    """
    from kubewasp.cli import what_if_changes as command
    from kubewasp.cli.inputs import Inputs

    given = asked(Inputs(), filename, config, plugin, plugin_config, start_time, seed, strict=strict)
    command.add(
        given,
        like,
        count,
        assignments("--set", resource),
        assignments("--label", label),
        is_all=all_lines,
        form=output.value,
        fail_on=fail_on,
    )


@app.command()
def scale(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAMESPACE/]KIND/NAME=COUNT",
            help="Workload and its number of pods, e.g. deploy/web=50. Kinds: deploy, sts, rs, rc, job.",
            show_default=False,
            callback=utf8,
        ),
    ],
    *,
    filename: Cluster,
    namespace: Namespace = "default",
    config: ConfigFile = None,
    plugin: Plugins = None,
    plugin_config: PluginConfigs = None,
    start_time: StartTime = "",
    seed: Seed = 0,
    strict: Strict = False,
    fail_on: Failures = FailOn.ERROR,
    all_lines: AllLines = False,
    output: Format = Output.TABLE,
) -> None:
    """Scale workloads up or down: where new pods go, what stops the rest, which pods go away.

    All targets change at once. Pods are removed in the order of the controllers
    of Kubernetes. Prints every change of a pod.

    Exit codes: as for `what-if drain`.

    Example: kubewasp what-if scale deploy/web=20 -f examples/clusters/small.yaml
    """
    from kubewasp.cli import what_if_changes as command
    from kubewasp.cli.inputs import Inputs

    given = asked(Inputs(), filename, config, plugin, plugin_config, start_time, seed, strict=strict)
    command.scale(given, targets, namespace, is_all=all_lines, form=output.value, fail_on=fail_on)


@app.command()
def how_many(
    manifest: Annotated[
        Path,
        typer.Argument(
            metavar="MANIFEST",
            help="File with a Pod or workload, or a workload of the cluster such as deploy/web.",
            show_default=False,
        ),
    ],
    *,
    filename: Cluster,
    namespace: Namespace = "default",
    at_most: Annotated[
        int, typer.Option(metavar="N", min=1, max=1_000_000, help="Number of pods to try at most.")
    ] = 10_000,
    preempt: Annotated[
        bool, typer.Option("--preempt", help="Also in the place of pods with a lower priority.")
    ] = False,
    config: ConfigFile = None,
    plugin: Plugins = None,
    plugin_config: PluginConfigs = None,
    start_time: StartTime = "",
    seed: Seed = 0,
    strict: Strict = False,
    fail_on: Failures = FailOn.ERROR,
    all_lines: AllLines = False,
    output: Format = Output.TABLE,
) -> None:
    """Count how many more pods fit, and show what stops the next one.

    Copies of the pod are scheduled until one has no node. Prints their nodes,
    the rejections of the next one by plugin, and the resource that most nodes
    lack.

    Exit codes: as for `what-if drain`; 4 if not a single one fits.

    Example: kubewasp what-if how-many deploy/web -f examples/clusters/small.yaml
    """
    from kubewasp.cli import what_if_capacity as command
    from kubewasp.cli.inputs import Inputs

    inputs = Inputs()
    given = asked(inputs, filename, config, plugin, plugin_config, start_time, seed, strict=strict)
    command.run_how_many(
        given,
        inputs.file(manifest),
        namespace=namespace,
        at_most=at_most,
        preempts=preempt,
        is_all=all_lines,
        form=output.value,
        fail_on=fail_on,
    )


@app.command()
def smallest(
    *,
    filename: Cluster,
    pools: Annotated[
        Path,
        typer.Option(
            "--from", metavar="FILE", help="Nodes to choose from: a file of kind NodePools.", show_default=False
        ),
    ],
    by: Annotated[
        Measure | None,
        typer.Option(
            metavar="|".join(Measure), help="Fewest nodes, or lowest price. Default: price, if all pools have one."
        ),
    ] = None,
    keep_nodes: Annotated[
        bool, typer.Option("--keep-nodes", help="Keep the cluster's nodes and the pods on them: nodes to add.")
    ] = False,
    tries: Annotated[
        int, typer.Option(metavar="N", min=0, max=100_000, help="Simulations for a better set, after the first one.")
    ] = 100,
    config: ConfigFile = None,
    plugin: Plugins = None,
    plugin_config: PluginConfigs = None,
    start_time: StartTime = "",
    seed: Seed = 0,
    strict: Strict = False,
    fail_on: Failures = FailOn.ERROR,
    all_lines: AllLines = False,
    output: Format = Output.TABLE,
) -> None:
    """Find the fewest or cheapest nodes for a workload, from pools with prices.

    The cluster's own nodes are left out and all its pods are pending. A set of
    nodes counts if a simulation places all pods on it. Sets are tried upwards
    from a bound by sums of resources, so the answer is proven, or its distance
    from the bound is shown. Prints the set, and what one node less leaves
    pending.

    Exit codes: as for `what-if drain`; 4 if a pod fits on no set.

    Example: kubewasp what-if smallest --from examples/clusters/pools.yaml -f examples/clusters/shop/workloads.yaml
    """
    from kubewasp.cli import what_if_capacity as command
    from kubewasp.cli.inputs import Inputs

    inputs = Inputs()
    given = asked(inputs, filename, config, plugin, plugin_config, start_time, seed, strict=strict)
    command.run_smallest(
        given,
        inputs.file(pools),
        by=by.value if by is not None else "",
        keeps_nodes=keep_nodes,
        tries=tries,
        is_all=all_lines,
        form=output.value,
        fail_on=fail_on,
    )


@app.command()
def upgrade(
    nodes: Nodes = None,
    *,
    filename: Cluster,
    zone: Zone = "",
    label: Labels = None,
    surge: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, max=1000, help="Nodes that get a fresh copy before they are drained, at a time."
        ),
    ] = 0,
    max_unavailable: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, max=1000, help="Nodes drained without a copy, at a time. Default: 1, or 0 with --surge."
        ),
    ] = None,
    config: ConfigFile = None,
    plugin: Plugins = None,
    plugin_config: PluginConfigs = None,
    start_time: StartTime = "",
    seed: Seed = 0,
    strict: Strict = False,
    fail_on: Failures = FailOn.ERROR,
    all_lines: AllLines = False,
    output: Format = Output.TABLE,
) -> None:
    """Upgrade nodes one after the other: evictions per step and workload, and pods that block.

    Each node is drained as by `what-if drain`, and comes back as a fresh one. A
    node with a pod that no budget lets go is left, and tried once more at the
    end. Without NODE, --zone and --label: all nodes, in the order of the input.
    Prints a line per step; --all prints every move.

    Exit codes: as for `what-if drain`.

    Example: kubewasp what-if upgrade -f examples/clusters/small.yaml
    """
    from kubewasp.cli import what_if_upgrade as command
    from kubewasp.cli.inputs import Inputs

    given = asked(Inputs(), filename, config, plugin, plugin_config, start_time, seed, strict=strict)
    command.run(
        given,
        nodes or (),
        zone,
        assignments("--label", label),
        surge=surge,
        max_unavailable=max_unavailable,
        is_all=all_lines,
        form=output.value,
        fail_on=fail_on,
    )
