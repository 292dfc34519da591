"""Options and help of `kubewasp simulate`, `explain` and `run`. The work is in the modules of these names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kubewasp.cli.console_options import LOOPBACK, Html, Open, html_file
from kubewasp.cli.options import (
    ERROR_CODE,
    FORMATS,
    AllowedHosts,
    ConfigFile,
    ConsoleAccess,
    FailOn,
    FoldLogs,
    Format,
    LogFormat,
    LoggingFormat,
    Output,
    PluginConfigs,
    Plugins,
    ShowLogs,
    Strict,
    Verbosity,
    byte_count,
    listen_address,
    plugin_texts,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.cli.run_console import ConsoleOptions

Paths = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH",
        help="Manifests: YAML or JSON files, snapshots, folders, or - for standard input.",
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
AllLines = Annotated[bool, typer.Option("--all", help="Show every line of long tables.")]
_HOST, _PORT, _CONSOLE_PORT = "127.0.0.1", 10259, 10260
_LEAST_RECORD, _MOST_RECORD = 1 << 20, 1 << 50
StartTime = Annotated[
    str, typer.Option(metavar="TIME", help="Start of the simulated clock, e.g. 2026-01-05T12:00:00Z. Default: now.")
]

Seed = Annotated[int, typer.Option(metavar="N", help="Seed of random choices: preemption, random numbers of plugins.")]
RealEntropy = Annotated[
    bool, typer.Option("--real-entropy", help="Random numbers and clock of this machine for wasm plugins.")
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
    logs: ShowLogs = False,
    seed: Seed = 0,
    real_entropy: RealEntropy = False,
    strict: Strict = False,
    baseline: Annotated[
        bool,
        typer.Option(
            "--baseline",
            help="Compare with the same input without the --plugin guests; if none, without all wasm plugins.",
        ),
    ] = False,
    baseline_config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Compare with the same input under this configuration, or -.")
    ] = None,
    fail_on: Annotated[
        FailOn,
        typer.Option(
            metavar="|".join(FailOn),
            help="Results that are a failure: errors of plugins, pending pods and errors, or none.",
        ),
    ] = FailOn.ERROR,
    all_lines: AllLines = False,
    output: Annotated[
        Output,
        typer.Option(
            "-o", "--output", metavar=FORMATS, help="Tables, JSON, or the placed pods as YAML for kubectl apply."
        ),
    ] = Output.TABLE,
    opened: Open = False,
    html: Html = None,
) -> None:
    """Schedule pods on a cluster in memory: placements, and reasons for pending pods.

    Bound pods keep their nodes. Pending pods are scheduled as by kube-scheduler,
    and so are the pods of Deployments, ReplicaSets, StatefulSets, Jobs and
    DaemonSets. Long tables are folded; --all shows every line.

    Exit codes: 0 success; 1 invalid input; 2 usage error; 3 a plugin failed on
    a pod; 4 pods are pending, with --fail-on pending.

    Example: kubewasp simulate examples/clusters/small.yaml --plugin examples/guests/nodenumber.wat --baseline
    """
    from kubewasp.cli import simulate as command
    from kubewasp.cli import simulate_output as printing
    from kubewasp.cli.inputs import Inputs

    is_compared = baseline or baseline_config is not None
    if baseline and baseline_config is not None:
        raise typer.BadParameter("not allowed together with --baseline-config", param_hint="--baseline")
    if is_compared and output is Output.YAML:
        raise typer.BadParameter("a comparison has no YAML form; use table or json", param_hint="--output")
    html = html_file(html)
    is_shown = opened or html is not None
    inputs = Inputs()
    simulated = command.run(
        inputs.files(paths),
        config=inputs.optional(config),
        plugins=inputs.plugins(plugin),
        plugin_configs=plugin_texts(plugin_config, inputs),
        timeline=inputs.optional(scenario),
        explained=_key(explain),
        seed=seed,
        real_entropy=real_entropy,
        start_time=epoch(start_time),
        logs=logs,
        strict=strict,
        baseline=baseline,
        baseline_config=inputs.optional(baseline_config),
        is_recorded=is_shown,
    )
    printing.print_result(simulated, form=output.value, is_all=all_lines)
    if simulated.played is not None:
        from kubewasp.cli import console
        from kubewasp.console.simulated_source import SimulatedSource

        source = SimulatedSource(simulated.played.name, [simulated.played])
        console.show(source, html=html, listen=LOOPBACK if opened else None, opened=opened)
    command.end(simulated.report.result, fail_on)


def explain(
    pod: Annotated[str, typer.Argument(metavar="[NAMESPACE/]POD", help="Name of the pod.")],
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="PATH", help="Manifests, as for simulate. Default: a real cluster.")
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
    logs: ShowLogs = False,
    seed: Seed = 0,
    real_entropy: RealEntropy = False,
    strict: Strict = False,
    all_lines: AllLines = False,
    output: Format = Output.TABLE,
) -> None:
    """Explain one scheduling attempt of a pod: rejected nodes with plugin and reason, all scores, and hints.

    The pod is in a real cluster or in manifests; neither is changed. All other
    pods keep their state: pending ones take no room, unlike in `kubewasp simulate
    --explain POD`. A bound pod is explained as if it were pending.

    Exit codes: 0 success; 1 invalid input; 2 usage error; 3 a plugin failed.

    Example: kubewasp explain default/huge examples/clusters/small.yaml

    Example: kubewasp explain web -n shop --config scheduler.yaml --kubeconfig ~/.kube/config
    """
    from kubewasp.cli import explain as command
    from kubewasp.cli import explain_output as printing
    from kubewasp.cli.inputs import Inputs
    from kubewasp.cli.logs_output import print_logs
    from kubewasp.cli.output import print_document
    from kubewasp.explain.plugin_logs import PluginLogs

    place, name = _place(pod, namespace)
    if recorded:
        if paths or config or plugin or kubeconfig or profile or start_time or logs or strict:
            raise typer.BadParameter(
                "recorded decisions take no other option than the pod and its namespace", param_hint="--recorded"
            )
        decisions = command.recorded(recorded, name, place)
        if output is Output.TABLE:
            printing.print_recorded(decisions, is_all=all_lines)
        else:
            print_document(decisions, output.value)
        return
    if (seed or real_entropy) and not paths:
        option = "--seed" if seed else "--real-entropy"
        raise typer.BadParameter("only for manifests: a real cluster is explained with real entropy", param_hint=option)
    if paths and kubeconfig:
        raise typer.BadParameter("not allowed together with manifests", param_hint="--kubeconfig")
    plugin_logs = PluginLogs(is_complete=logs)
    inputs = Inputs()
    how: dict[str, Any] = {
        "config": inputs.optional(config),
        "plugins": inputs.plugins(plugin),
        "plugin_configs": plugin_texts(plugin_config, inputs),
        "profile": profile,
        "start_time": epoch(start_time),
        "logs": plugin_logs,
    }
    found = (
        command.explain_manifests(
            name, place, inputs.files(paths), seed=seed, real_entropy=real_entropy, strict=strict, **how
        )
        if paths
        else command.explain_live(name, place, kubeconfig=str(kubeconfig or ""), **how)
    )
    if output is Output.TABLE:
        printing.print_explanation(found.as_dict(), is_all=all_lines)
        print_logs(plugin_logs)
    else:
        print_document(found.as_dict() | {"logs": plugin_logs.as_dict()}, output.value)
    if found.is_error:
        raise typer.Exit(ERROR_CODE)


def run(
    config: ConfigFile = None,
    kubeconfig: KubeconfigFile = None,
    leader_elect: Annotated[
        bool | None,
        typer.Option("--leader-elect/--no-leader-elect", help="Leader election; overrides the configuration."),
    ] = None,
    listen: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT",
            help="Address of health and metrics: 0.0.0.0 for all interfaces, port 0 for any free port.",
        ),
    ] = f"{_HOST}:{_PORT}",
    bind_address: Annotated[str, typer.Option(metavar="HOST", hidden=True)] = "",
    port: Annotated[int | None, typer.Option(metavar="N", min=0, max=65535, hidden=True)] = None,
    allowed_host: AllowedHosts = None,
    decisions: Annotated[
        float,
        typer.Option(
            metavar="SHARE", min=0.0, max=1.0, help="Share of decisions to record for `explain --recorded`; 0 for none."
        ),
    ] = 0.01,
    record: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Record events and decisions in this folder, for `kubewasp replay`."),
    ] = None,
    record_size: Annotated[
        str, typer.Option(metavar="SIZE", help="Most bytes of a recording: the oldest part is dropped.")
    ] = "1Gi",
    console: Annotated[
        bool, typer.Option("--console", help="Serve the console, a web page about this scheduler, below /console/.")
    ] = False,
    console_listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help=f"Address of the console. Default: {_HOST}:{_CONSOLE_PORT}.")
    ] = "",
    console_access: Annotated[
        ConsoleAccess | None,
        typer.Option(
            metavar="|".join(ConsoleAccess),
            help="Who may view: all on this machine, holders of a token, or users of the cluster by its RBAC. "
            "Default: local on loopback, else token.",
        ),
    ] = None,
    console_token: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Token to view the console. Without the option, one is made and printed."),
    ] = None,
    console_action_token: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Another token, to promote and abort versions as well.")
    ] = None,
    console_cert: Annotated[
        str, typer.Option(metavar="FILE", help="Certificate of the console with chain, PEM. Needed beyond loopback.")
    ] = "",
    console_key: Annotated[str, typer.Option(metavar="FILE", help="Key of the certificate, PEM.")] = "",
    logging_format: LoggingFormat = LogFormat.TEXT,
    verbosity: Verbosity = 0,
    fold_logs: FoldLogs = True,
) -> None:
    """Schedule the pods of a real cluster.

    The scheduler takes pods whose schedulerName names one of its profiles. Of
    several instances, one is the leader and the others are standbys. Changes of
    the configuration and its guests are taken while it runs, and on SIGHUP; see
    `kubewasp rollout`. Logs on stderr; runs until SIGTERM or Ctrl-C.

    Example: kubewasp run --config scheduler.yaml --kubeconfig ~/.kube/config

    Example: kubewasp run --config scheduler.yaml --console
    """
    from kubewasp.cli import run as command
    from kubewasp.cli.inputs import Inputs

    given: dict[str, Any] = {
        "access": console_access,
        "token": console_token,
        "action_token": console_action_token,
        "certificate": console_cert,
        "key": console_key,
    }
    if not console and (console_listen or any(given.values())):
        raise typer.BadParameter("give --console as well", param_hint="--console")
    command.run(
        config=Inputs().optional(config),
        kubeconfig=kubeconfig,
        leader_elect=leader_elect,
        address=_address(listen, bind_address, port),
        allowed_hosts=tuple(allowed_host or ()),
        decisions=decisions,
        record=record,
        record_size=byte_count("--record-size", record_size, low=_LEAST_RECORD, high=_MOST_RECORD),
        console=_console(console_listen, given, allowed_host or ()) if console else None,
        log_format=logging_format.value,
        verbosity=verbosity,
        fold_logs=fold_logs,
    )


def _console(listen: str, given: Mapping[str, Any], allowed_hosts: Sequence[str]) -> ConsoleOptions:
    from kubewasp.cli.run_console import ConsoleOptions

    address = listen_address(listen or f"{_HOST}:{_CONSOLE_PORT}", option="--console-listen")
    if bool(given["certificate"]) != bool(given["key"]):
        raise typer.BadParameter("--console-cert and --console-key go together", param_hint="--console-cert")
    return ConsoleOptions(address, allowed_hosts=tuple(allowed_hosts), **given)


def _address(listen: str, host: str, port: int | None) -> tuple[str, int]:
    """Host and port of --listen; --bind-address and --port are its older form."""
    listen_host, listen_port = listen_address(listen)
    return host or listen_host, listen_port if port is None else port


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


def epoch(start_time: str) -> float | None:
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
