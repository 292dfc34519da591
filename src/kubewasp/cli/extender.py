"""`kubewasp extender`: options and help; the work is done in `extender_server` and `extender_config`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kubewasp.cli.cluster_commands import ConfigFile, LogFormat, PluginConfigs, Plugins, plugin_texts
from kubewasp.cli.options import JsonOrYaml

app = typer.Typer(invoke_without_command=True)

_LISTEN = "127.0.0.1:8888"
AllPlugins = Annotated[
    bool, typer.Option("--all-plugins", help="Ask built-in plugins too, which kube-scheduler has asked already.")
]
ManagedResources = Annotated[
    list[str] | None,
    typer.Option(
        "--managed-resource",
        metavar="NAME",
        help="Look only at pods that ask for this extended resource; may be repeated.",
    ),
]


@app.callback()
def serve(
    context: typer.Context,
    config: ConfigFile = None,
    plugin: Plugins = None,
    plugin_config: PluginConfigs = None,
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where; port 0 is any free one.")] = _LISTEN,
    tls_cert: Annotated[
        str, typer.Option(metavar="FILE", help="Speak HTTPS: a certificate, PEM, with its chain.")
    ] = "",
    tls_key: Annotated[str, typer.Option(metavar="FILE", help="The certificate's key, PEM.")] = "",
    client_ca: Annotated[
        str, typer.Option(metavar="FILE", help="Take requests only from clients with a certificate of this CA, PEM.")
    ] = "",
    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Watch this cluster, so that names of nodes are enough.")
    ] = None,
    in_cluster: Annotated[
        bool, typer.Option("--in-cluster", help="The same with the account of the pod this runs in.")
    ] = False,
    bind: Annotated[bool, typer.Option("--bind", help="Offer bind too; needs a cluster to write to.")] = False,
    all_plugins: AllPlugins = False,
    managed_resource: ManagedResources = None,
    max_body: Annotated[int, typer.Option(metavar="MIB", min=1, max=4096, help="The largest request.")] = 128,
    logging_format: Annotated[LogFormat, typer.Option(help="Lines for people, or JSON.")] = LogFormat.TEXT,
    verbosity: Annotated[int, typer.Option("-v", "--v", metavar="N", min=0, help="How much is logged.")] = 0,
) -> None:
    """Answer a stock kube-scheduler as its HTTP extender: it keeps its job and asks your plugins.

    The plugins are the wasm plugins (and other plugins of your own) of a KubeSchedulerConfiguration, with their
    weights. kube-scheduler sends whole nodes, or with --kubeconfig and `nodeCacheCapable: true` just their names, which
    is many times faster. `kubewasp extender config` prints what to put into kube-scheduler's configuration.

    Example: kubewasp extender --config scheduler.yaml --kubeconfig ~/.kube/config --listen 127.0.0.1:8888
    """
    if context.invoked_subcommand is not None:
        for name in context.params:
            source = context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                text = f"--{name.replace('_', '-')}: put options after {context.invoked_subcommand}"
                raise typer.BadParameter(text)
        return
    from kubewasp.cli import extender_server as command

    command.run(
        config=config,
        plugins=tuple(plugin or ()),
        plugin_configs=plugin_texts(plugin_config),
        listen=listen,
        certificate=tls_cert,
        key=tls_key,
        client_ca=client_ca,
        kubeconfig=kubeconfig,
        in_cluster=in_cluster,
        bind=bind,
        all_plugins=all_plugins,
        managed=tuple(managed_resource or ()),
        max_body=max_body * 2**20,
        log_format=logging_format.value,
        verbosity=verbosity,
    )


@app.command("config")
def show_config(
    config: ConfigFile = None,
    plugin: Plugins = None,
    plugin_config: PluginConfigs = None,
    url: Annotated[
        str, typer.Option(metavar="URL", help="Where kube-scheduler reaches the extender.")
    ] = f"http://{_LISTEN}",
    full_nodes: Annotated[
        bool, typer.Option("--full-nodes", help="Whole nodes instead of names: for an extender without --kubeconfig.")
    ] = False,
    weight: Annotated[int, typer.Option(metavar="N", min=1, help="Of its scores, against kube-scheduler's.")] = 1,
    timeout: Annotated[str, typer.Option(metavar="DURATION", help="How long kube-scheduler waits.")] = "5s",
    ignorable: Annotated[
        bool, typer.Option("--ignorable", help="Schedule without the extender when it cannot be asked.")
    ] = False,
    ca: Annotated[str, typer.Option(metavar="FILE", help="The CA of the extender's certificate, for https.")] = "",
    bind: Annotated[bool, typer.Option("--bind", help="The extender binds; it must run with --bind.")] = False,
    all_plugins: AllPlugins = False,
    managed_resource: Annotated[
        list[str] | None,
        typer.Option(
            "--managed-resource",
            metavar="NAME[:ignored]",
            help="Send only pods that ask for this; `:ignored` has kube-scheduler not count it. May be repeated.",
        ),
    ] = None,
    output: Annotated[JsonOrYaml, typer.Option("-o", "--output", help="With comments, or JSON.")] = JsonOrYaml.YAML,
) -> None:
    """Print the stanza for kube-scheduler's configuration, with what an extender switches off there and costs.

    The verbs are those that the plugins really have. Paste it into the file that kube-scheduler's --config names.

    Example: kubewasp extender config --config scheduler.yaml --url http://127.0.0.1:8888
    """
    from kubewasp.cli import extender_config as command

    command.show(
        config=config,
        plugins=tuple(plugin or ()),
        plugin_configs=plugin_texts(plugin_config),
        url=url,
        full_nodes=full_nodes,
        weight=weight,
        timeout=timeout,
        ignorable=ignorable,
        ca=ca,
        bind=bind,
        all_plugins=all_plugins,
        managed=tuple(managed_resource or ()),
        as_json=output is JsonOrYaml.JSON,
    )
