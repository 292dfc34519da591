"""Options and help of `kubewasp extender`. The work is in extender_server and extender_config."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kubewasp.cli.command_group import CommandGroup
from kubewasp.cli.options import (
    ConfigFile,
    FoldLogs,
    JsonOrYaml,
    LogFormat,
    LoggingFormat,
    PluginConfigs,
    Plugins,
    Verbosity,
    byte_count,
    listen_address,
    plugin_texts,
)

app = CommandGroup(invoke_without_command=True)

_LISTEN = "127.0.0.1:8888"
AllPlugins = Annotated[
    bool, typer.Option("--all-plugins", help="Also run built-in plugins, which kube-scheduler has run already.")
]
ManagedResources = Annotated[
    list[str] | None,
    typer.Option(
        "--managed-resource", metavar="NAME", help="Only pods that request this extended resource. Repeatable."
    ),
]


@app.callback()
def serve(
    context: typer.Context,
    config: ConfigFile = None,
    plugin: Plugins = None,
    plugin_config: PluginConfigs = None,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Listen address; port 0 for any free port.")
    ] = _LISTEN,
    tls_cert: Annotated[
        str, typer.Option(metavar="FILE", help="Server certificate with chain, PEM. Enables HTTPS.")
    ] = "",
    tls_key: Annotated[str, typer.Option(metavar="FILE", help="Key of the certificate, PEM.")] = "",
    client_ca: Annotated[str, typer.Option(metavar="FILE", help="CA of required client certificates, PEM.")] = "",
    kubeconfig: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Kubeconfig of a cluster to watch. Requests then need node names only."),
    ] = None,
    in_cluster: Annotated[
        bool, typer.Option("--in-cluster", help="Watch the cluster of this pod, with its service account.")
    ] = False,
    bind: Annotated[bool, typer.Option("--bind", help="Also offer the verb bind. Requires a cluster.")] = False,
    all_plugins: AllPlugins = False,
    managed_resource: ManagedResources = None,
    max_body: Annotated[str, typer.Option(metavar="SIZE", help="Maximum size of a request.")] = "128Mi",
    logging_format: LoggingFormat = LogFormat.TEXT,
    verbosity: Verbosity = 0,
    fold_logs: FoldLogs = True,
) -> None:
    """Serve plugins to a stock kube-scheduler as its HTTP extender.

    The plugins are the wasm plugins and other custom plugins of a
    KubeSchedulerConfiguration, with their weights. kube-scheduler sends whole
    nodes, or with --kubeconfig and `nodeCacheCapable: true` only their names,
    which is many times faster. `kubewasp extender config` prints the stanza for
    kube-scheduler's configuration. Logs the address and problems on stderr.

    Example: kubewasp extender --config scheduler.yaml --kubeconfig ~/.kube/config --listen 127.0.0.1:8888
    """
    if context.invoked_subcommand is not None:
        for name in context.params:
            source = context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                text = f"--{name.replace('_', '-')}: options go after {context.invoked_subcommand}"
                raise typer.BadParameter(text)
        return
    from kubewasp.cli import extender_server as command
    from kubewasp.cli.inputs import Inputs

    inputs = Inputs()
    command.run(
        config=inputs.optional(config),
        plugins=inputs.plugins(plugin),
        plugin_configs=plugin_texts(plugin_config, inputs),
        listen=listen_address(listen),
        certificate=tls_cert,
        key=tls_key,
        client_ca=client_ca,
        kubeconfig=kubeconfig,
        in_cluster=in_cluster,
        bind=bind,
        all_plugins=all_plugins,
        managed=tuple(managed_resource or ()),
        max_body=byte_count("--max-body", max_body, low=2**20, high=2**32),
        log_format=logging_format.value,
        verbosity=verbosity,
        fold_logs=fold_logs,
    )


@app.command("config")
def show_config(
    config: ConfigFile = None,
    plugin: Plugins = None,
    plugin_config: PluginConfigs = None,
    url: Annotated[
        str, typer.Option(metavar="URL", help="URL of the extender for kube-scheduler.")
    ] = f"http://{_LISTEN}",
    full_nodes: Annotated[
        bool, typer.Option("--full-nodes", help="Whole nodes instead of names, for an extender without a cluster.")
    ] = False,
    weight: Annotated[int, typer.Option(metavar="N", min=1, help="Weight of the extender's scores.")] = 1,
    timeout: Annotated[str, typer.Option(metavar="DURATION", help="Timeout of a request.")] = "5s",
    ignorable: Annotated[
        bool, typer.Option("--ignorable", help="Schedule without the extender while it is unreachable.")
    ] = False,
    ca: Annotated[str, typer.Option(metavar="FILE", help="CA of the extender's certificate, for https.")] = "",
    bind: Annotated[bool, typer.Option("--bind", help="The extender binds pods; it must run with --bind.")] = False,
    all_plugins: AllPlugins = False,
    managed_resource: Annotated[
        list[str] | None,
        typer.Option(
            "--managed-resource",
            metavar="NAME[:ignored]",
            help="Only pods that request this extended resource; with `:ignored`, not counted there. Repeatable.",
        ),
    ] = None,
    output: Annotated[
        JsonOrYaml, typer.Option("-o", "--output", metavar="json|yaml", help="YAML with comments, or JSON.")
    ] = JsonOrYaml.YAML,
) -> None:
    """Print the extender stanza for kube-scheduler's configuration, with notes on side effects and cost.

    The verbs follow from the extension points of the plugins. Add the stanza to
    kube-scheduler's configuration file.

    Example: kubewasp extender config --config scheduler.yaml --url http://127.0.0.1:8888
    """
    from kubewasp.cli import extender_config as command
    from kubewasp.cli.inputs import Inputs

    inputs = Inputs()
    command.show(
        config=inputs.optional(config),
        plugins=inputs.plugins(plugin),
        plugin_configs=plugin_texts(plugin_config, inputs),
        url=url,
        full_nodes=full_nodes,
        weight=weight,
        timeout=timeout,
        ignorable=ignorable,
        ca=ca,
        bind=bind,
        all_plugins=all_plugins,
        managed=tuple(managed_resource or ()),
        form=output.value,
    )
