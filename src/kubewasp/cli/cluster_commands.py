"""`kubewasp simulate`, `explain` and `run`: options and help; the work is done in modules of these names."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from kubewasp.cli.options import Output, OutputOrYaml, assignments, utf8

Paths = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH",
        help="Manifests: files or folders of YAML or JSON, also `kubectl get … -o yaml`.",
        show_default=False,
    ),
]
KubeconfigFile = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig",
        metavar="FILE",
        help="How to reach the cluster; else $KUBECONFIG, the pod's account, ~/.kube/config.",
    ),
]
ConfigFile = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="A KubeSchedulerConfiguration.")]


class LogFormat(StrEnum):
    """How lines are logged."""

    TEXT = "text"
    JSON = "json"


Plugins = Annotated[
    list[str] | None,
    typer.Option("--plugin", metavar="GUEST", help="A wasm plugin with default settings; may be repeated."),
]
PluginConfigs = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin-config",
        metavar="NAME=TEXT",
        help="Its configuration (or @FILE); NAME is that of its file, without the ending; may be repeated.",
        callback=utf8,
    ),
]
StartTime = Annotated[
    str,
    typer.Option(
        metavar="TIME", help="The date and time at which it begins, e.g. 2026-01-05T12:00:00Z; now, if left out."
    ),
]


def simulate(
    paths: Paths,
    config: ConfigFile = None,
    plugin: Plugins = None,
    plugin_config: PluginConfigs = None,
    scenario: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A timeline: what happens to the cluster, and when.")
    ] = None,
    explain: Annotated[
        str, typer.Option(metavar="POD", help="Show how the last try of this pod (namespace/name) was decided.")
    ] = "",
    start_time: StartTime = "",
    seed: Annotated[int, typer.Option(metavar="N", help="Where chance decides, the same seed decides the same.")] = 0,
    output: Annotated[
        OutputOrYaml, typer.Option("-o", "--output", help="Tables, JSON, or the placed pods as YAML for kubectl apply.")
    ] = OutputOrYaml.TABLE,
) -> None:
    """Schedule pods on a cluster in memory: where would they go, and why not?

    Bound pods stay where they are; pending ones, and those that Deployments, ReplicaSets, StatefulSets, Jobs and
    DaemonSets would make, are scheduled as kube-scheduler would.

    Example: kubewasp simulate examples/clusters/small.yaml --plugin examples/guests/nodenumber.wat
    """
    from kubewasp.cli import simulate as command
    from kubewasp.cli import simulation_output as printing

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
    pod: Annotated[str, typer.Argument(metavar="[NAMESPACE/]POD", help="The pod to explain.")],
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATH]...", help="Manifests, as for simulate; if left out, a real cluster is read."),
    ] = None,
    namespace: Annotated[
        str,
        typer.Option(
            "-n", "--namespace", metavar="NAME", help="The pod's namespace; else the kubeconfig's, or default."
        ),
    ] = "",
    config: ConfigFile = None,
    plugin: Plugins = None,
    plugin_config: PluginConfigs = None,
    profile: Annotated[
        str, typer.Option(metavar="NAME", help="Explain it as a pod of this profile, whatever its schedulerName.")
    ] = "",
    kubeconfig: KubeconfigFile = None,
    recorded: Annotated[
        str, typer.Option(metavar="URL", help="Show what a running kubewasp has recorded, e.g. http://127.0.0.1:10259.")
    ] = "",
    start_time: StartTime = "",
    output: Annotated[Output, typer.Option("-o", "--output", help="Tables or JSON.")] = Output.TABLE,
) -> None:
    """Show one scheduling attempt of a pod: which plugin rejected which node and why, every score, what would help.

    Of a real cluster, or of manifests; nothing is written in either. Everything else stays as it is: bound pods are
    bound, other pending pods wait. A pod that is bound is explained as if it were not.

    Example: kubewasp explain default/web examples/clusters/small.yaml

    Example: kubewasp explain web -n shop --config scheduler.yaml --kubeconfig ~/.kube/config
    """
    from kubewasp.cli import explain as command
    from kubewasp.cli import explanation_output as printing
    from kubewasp.cli.output import print_json

    place, name = _place(pod, namespace)
    if recorded:
        if paths or config or plugin or kubeconfig or profile or start_time:
            raise typer.BadParameter("what was recorded is shown as it is; give the pod alone", param_hint="--recorded")
        decisions = command.recorded(recorded, name, place)
        if output is Output.JSON:
            print_json(decisions)
        else:
            printing.print_recorded(decisions)
        return
    if paths and kubeconfig:
        raise typer.BadParameter("give manifests or a cluster, not both", param_hint="--kubeconfig")
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
        bool | None, typer.Option("--leader-elect/--no-leader-elect", help="Overrides the configuration.")
    ] = None,
    bind_address: Annotated[
        str, typer.Option(metavar="HOST", help="Where health and metrics are served; 0.0.0.0 for everybody.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="On which port; 0 is any free one.")] = 10259,
    decisions: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            min=0.0,
            max=1.0,
            help="Which share of the decisions is recorded in full, for `explain --recorded`; 0 records nothing.",
        ),
    ] = 0.01,
    logging_format: Annotated[LogFormat, typer.Option(help="Lines for people, or JSON.")] = LogFormat.TEXT,
    verbosity: Annotated[int, typer.Option("-v", "--v", metavar="N", min=0, help="How much is logged.")] = 0,
) -> None:
    """Schedule the pods of a real cluster.

    It takes the pods whose schedulerName is that of one of its profiles. Several can run: one leads, the others wait.

    Example: kubewasp run --config scheduler.yaml --kubeconfig ~/.kube/config
    """
    from kubewasp.cli import run as command

    command.run(
        config=config,
        kubeconfig=kubeconfig,
        leader_elect=leader_elect,
        host=bind_address,
        port=port,
        decisions=decisions,
        log_format=logging_format.value,
        verbosity=verbosity,
    )


def _key(pod: str) -> str:
    return pod if "/" in pod or not pod else f"default/{pod}"


def _place(pod: str, namespace: str) -> tuple[str, str]:
    """The namespace (empty if none was given) and the name of a pod."""
    before, slash, name = pod.rpartition("/")
    if not name or "/" in before or (slash and not before):
        raise typer.BadParameter(f"expected POD or NAMESPACE/POD, got {pod!r}", param_hint="POD")
    if before and namespace and before != namespace:
        raise typer.BadParameter(f"{pod} is in another namespace", param_hint="--namespace")
    return before or namespace, name


def plugin_texts(given: list[str] | None) -> dict[str, str]:
    """The configurations of plugins; those that begin with @ are in files."""
    found = assignments("--plugin-config", given)
    for name, text in found.items():
        if text.startswith("@"):
            try:
                found[name] = Path(text[1:]).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise typer.BadParameter(f"{name}: {text[1:]}: {error}", param_hint="--plugin-config") from None
    return found


def _epoch(start_time: str) -> float | None:
    """Seconds since 1970; None if no time was given."""
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
