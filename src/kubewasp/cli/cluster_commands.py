"""Options and help of `kubewasp simulate`, `explain` and `run`. The work is in the modules of these names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kubewasp.cli.options import (
    AllowedHosts,
    ConfigFile,
    LogFormat,
    LoggingFormat,
    Output,
    OutputOrYaml,
    PluginConfigs,
    Plugins,
    Verbosity,
    plugin_texts,
)

Paths = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH",
        help="Manifests: YAML or JSON files or folders, such as the output of `kubectl get -o yaml`.",
        show_default=False,
    ),
]
KubeconfigFile = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig",
        metavar="FILE",
        help="Kubeconfig of the cluster. Default: $KUBECONFIG, the pod's service account, ~/.kube/config.",
    ),
]
StartTime = Annotated[
    str, typer.Option(metavar="TIME", help="Start of the simulated clock, e.g. 2026-01-05T12:00:00Z. Default: now.")
]


def simulate(
    paths: Paths,
    config: ConfigFile = None,
    plugin: Plugins = None,
    plugin_config: PluginConfigs = None,
    scenario: Annotated[Path | None, typer.Option(metavar="FILE", help="Timeline of changes to the cluster.")] = None,
    explain: Annotated[
        str, typer.Option(metavar="POD", help="Explain the last attempt of this pod (namespace/name).")
    ] = "",
    start_time: StartTime = "",
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of random choices (preemption).")] = 0,
    output: Annotated[
        OutputOrYaml, typer.Option("-o", "--output", help="Tables, JSON, or the placed pods as YAML for kubectl apply.")
    ] = OutputOrYaml.TABLE,
) -> None:
    """Schedule pods on a cluster in memory: placements, and reasons for pending pods.

    Bound pods keep their nodes. Pending pods are scheduled as by kube-scheduler,
    and so are the pods of Deployments, ReplicaSets, StatefulSets, Jobs and
    DaemonSets.

    Example: kubewasp simulate examples/clusters/small.yaml --plugin examples/guests/nodenumber.wat
    """
    from kubewasp.cli import simulate as command
    from kubewasp.cli import simulate_output as printing

    result = command.run(
        paths,
        config=config,
        plugins=tuple(plugin or ()),
        plugin_configs=plugin_texts(plugin_config),
        timeline=scenario,
        explained=_key(explain),
        seed=seed,
        start_time=_epoch(start_time),
    )
    printing.print_result(result, form=output.value)


def explain(
    pod: Annotated[str, typer.Argument(metavar="[NAMESPACE/]POD", help="Name of the pod.")],
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATH]...", help="Manifests, as for simulate. Default: a real cluster."),
    ] = None,
    namespace: Annotated[
        str,
        typer.Option(
            "-n",
            "--namespace",
            metavar="NAME",
            help="Namespace of the pod. Default: that of the kubeconfig, else default.",
        ),
    ] = "",
    config: ConfigFile = None,
    plugin: Plugins = None,
    plugin_config: PluginConfigs = None,
    profile: Annotated[
        str, typer.Option(metavar="NAME", help="Profile to use instead of the pod's schedulerName.")
    ] = "",
    kubeconfig: KubeconfigFile = None,
    recorded: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Recorded decisions of a running scheduler at this address, e.g. http://127.0.0.1:10259.",
        ),
    ] = "",
    start_time: StartTime = "",
    output: Annotated[Output, typer.Option("-o", "--output", help="Tables or JSON.")] = Output.TABLE,
) -> None:
    """Explain one scheduling attempt of a pod: rejected nodes with plugin and reason, all scores, and hints.

    The pod is in a real cluster or in manifests; neither is changed. All other
    pods keep their state. A bound pod is explained as if it were pending.

    Example: kubewasp explain default/huge examples/clusters/small.yaml

    Example: kubewasp explain web -n shop --config scheduler.yaml --kubeconfig ~/.kube/config
    """
    from kubewasp.cli import explain as command
    from kubewasp.cli import explain_output as printing
    from kubewasp.cli.output import print_json

    place, name = _place(pod, namespace)
    if recorded:
        if paths or config or plugin or kubeconfig or profile or start_time:
            raise typer.BadParameter(
                "recorded decisions take no other option than the pod and its namespace", param_hint="--recorded"
            )
        decisions = command.recorded(recorded, name, place)
        if output is Output.JSON:
            print_json(decisions)
        else:
            printing.print_recorded(decisions)
        return
    if paths and kubeconfig:
        raise typer.BadParameter("not allowed together with manifests", param_hint="--kubeconfig")
    how: dict[str, Any] = {
        "config": config,
        "plugins": tuple(plugin or ()),
        "plugin_configs": plugin_texts(plugin_config),
        "profile": profile,
        "start_time": _epoch(start_time),
    }
    found = (
        command.explain_manifests(name, place, paths, **how)
        if paths
        else command.explain_live(name, place, kubeconfig=str(kubeconfig or ""), **how)
    ).as_dict()
    if output is Output.JSON:
        print_json(found)
    else:
        printing.print_explanation(found)


def run(
    config: ConfigFile = None,
    kubeconfig: KubeconfigFile = None,
    leader_elect: Annotated[
        bool | None,
        typer.Option("--leader-elect/--no-leader-elect", help="Leader election; overrides the configuration."),
    ] = None,
    bind_address: Annotated[
        str,
        typer.Option(metavar="HOST", help="Address of the health and metrics endpoints; 0.0.0.0 for all interfaces."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Port of these endpoints; 0 for any free port.")
    ] = 10259,
    allowed_host: AllowedHosts = None,
    decisions: Annotated[
        float,
        typer.Option(
            metavar="SHARE", min=0.0, max=1.0, help="Share of decisions to record for `explain --recorded`; 0 for none."
        ),
    ] = 0.01,
    logging_format: LoggingFormat = LogFormat.TEXT,
    verbosity: Verbosity = 0,
) -> None:
    """Schedule the pods of a real cluster.

    The scheduler takes pods whose schedulerName names one of its profiles. Of
    several instances, one is the leader and the others are standbys.

    Example: kubewasp run --config scheduler.yaml --kubeconfig ~/.kube/config
    """
    from kubewasp.cli import run as command

    command.run(
        config=config,
        kubeconfig=kubeconfig,
        leader_elect=leader_elect,
        host=bind_address,
        port=port,
        allowed_hosts=tuple(allowed_host or ()),
        decisions=decisions,
        log_format=logging_format.value,
        verbosity=verbosity,
    )


def _key(pod: str) -> str:
    return pod if "/" in pod or not pod else f"default/{pod}"


def _place(pod: str, namespace: str) -> tuple[str, str]:
    """Namespace (empty if not given) and name of a pod."""
    before, slash, name = pod.rpartition("/")
    if not name or "/" in before or (slash and not before):
        raise typer.BadParameter(f"expected POD or NAMESPACE/POD, got {pod!r}", param_hint="POD")
    if before and namespace and before != namespace:
        raise typer.BadParameter(f"{pod} contains another namespace", param_hint="--namespace")
    return before or namespace, name


def _epoch(start_time: str) -> float | None:
    """Unix time; None if no time is given."""
    from kubewasp.k8s.errors import ManifestError
    from kubewasp.simulation import scenario

    if not start_time:
        return None
    try:
        return scenario.start_time(start_time, "")
    except ManifestError as error:
        raise typer.BadParameter(error.problem, param_hint="--start-time") from None


def register(app: typer.Typer) -> None:
    app.command()(simulate)
    app.command()(explain)
    app.command()(run)
