"""`kubewasp config`: checks a KubeSchedulerConfiguration and shows what it comes to."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kubewasp.cli.options import OutputOrYaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kubewasp.framework.config.model import EnabledPlugin, Extender, Profile, SchedulerConfig

app = typer.Typer(
    help="Check a scheduler configuration: which plugins run where, in which order, with which args.",
    no_args_is_help=True,
)


_DEFAULT_COMMENT = """\
# What runs without a configuration file. Leave out what you do not change.
# multiPoint has the plugins of every extension point. As `*` disables the defaults, the list is complete:
# a plugin that is taken out does not run. A wasm plugin is added to this list by its name, and to pluginConfig
# with args such as {guestURL: "file://policy.wasm"}.
"""


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A KubeSchedulerConfiguration, YAML or JSON.", show_default=False)],
    output: Annotated[
        OutputOrYaml, typer.Option("-o", "--output", help="A table, or the whole configuration in effect.")
    ] = OutputOrYaml.TABLE,
) -> None:
    """Check a configuration file and show what it comes to: settings, plugins of each extension point, their args.

    The guests of wasm plugins are loaded, to see which extension points they have. JSON and YAML are a complete
    KubeSchedulerConfiguration again. Exit code 1: the file has errors, each told with its path.

    Example: kubewasp config check scheduler.yaml
    """
    from kubewasp.cli.output import print_json, print_yaml, warn
    from kubewasp.framework.config.reading import load_config
    from kubewasp.framework.config.writing import as_document
    from kubewasp.framework.registry import Registry
    from kubewasp.wasm.guest_loader import GuestLoader
    from kubewasp.wasm.limits import limits_problem

    config = load_config(file, check_limits=limits_problem)
    profiles = [_showable(profile) for profile in Registry(wasm=GuestLoader()).profiles(config)]
    for warning in config.warnings:
        warn(warning)
    if output is OutputOrYaml.TABLE:
        _print_tables(config, profiles)
    elif output is OutputOrYaml.JSON:
        print_json(as_document(config, profiles))
    else:
        print_yaml([as_document(config, profiles)])


@app.command()
def default() -> None:
    """Print the configuration that runs without a file, as YAML to start your own from.

    Example: kubewasp config default > scheduler.yaml
    """
    from kubewasp.cli.output import print_yaml
    from kubewasp.framework.config.reading import default_config
    from kubewasp.framework.config.writing import as_template

    sys.stdout.write(_DEFAULT_COMMENT)
    sys.stdout.flush()
    print_yaml([as_template(default_config())])


def _showable(profile: Profile) -> Profile:
    """Without the passwords that addresses may hold."""
    from kubewasp.wasm.source import without_credentials

    wasm = {
        name: replace(settings, guest_url=without_credentials(settings.guest_url))
        for name, settings in profile.wasm.items()
    }
    return replace(profile, wasm=wasm)


def _in_one_line(args: Mapping[str, Any]) -> str:
    import yaml

    text: str = yaml.safe_dump(args, default_flow_style=True, sort_keys=False, allow_unicode=True, width=sys.maxsize)
    return text.strip()


def _print_tables(config: SchedulerConfig, profiles: Sequence[Profile]) -> None:
    from kubewasp.cli.output import print_facts, print_table
    from kubewasp.framework.config.writing import as_document
    from kubewasp.framework.plugin import EXTENSION_POINTS

    print_facts(_facts(config))
    entries = as_document(config, profiles)["profiles"]
    for profile, entry in zip(profiles, entries, strict=True):
        points = [*EXTENSION_POINTS, *(point for point in profile.plugins if point not in EXTENSION_POINTS)]
        rows = [(point, _plugins(profile.plugins[point], profile)) for point in points if profile.plugins[point]]
        sys.stdout.write("\n")
        print_facts([("profile", profile.scheduler_name), ("nodes to score", _share(profile))])
        sys.stdout.write("\n")
        print_table(("extension point", "plugins"), rows)
        sys.stdout.write("\n")
        args = [(item["name"], _in_one_line(item["args"])) for item in entry["pluginConfig"]]
        print_table(("plugin", "args"), args)


def _facts(config: SchedulerConfig) -> Iterator[tuple[str, str]]:
    from kubewasp.k8s.duration import format_duration

    election, connection = config.leader_election, config.client_connection
    yield "parallelism", str(config.parallelism)
    yield "backoff", f"{config.pod_initial_backoff_seconds}s to {config.pod_max_backoff_seconds}s"
    if election.leader_elect:
        lease = f"{election.resource_namespace}/{election.resource_name}"
        times = (election.lease_duration, election.renew_deadline, election.retry_period)
        lasts, renew, retry = (format_duration(seconds) for seconds in times)
        yield "leader election", f"lease {lease}, {lasts}, renewed within {renew}, tried every {retry}"
    else:
        yield "leader election", "off"
    where = connection.kubeconfig or "in-cluster or default kubeconfig"
    yield "API server", f"{where}, {connection.qps:g} requests/s, bursts of {connection.burst}"
    for extender in config.extenders:
        yield "extender", f"{extender.url_prefix}: {_verbs(extender)}"


def _verbs(extender: Extender) -> str:
    named = {
        "filter": extender.filter_verb,
        "preempt": extender.preempt_verb,
        f"prioritize (weight {extender.weight})": extender.prioritize_verb,
        "bind": extender.bind_verb,
    }
    verbs = ", ".join(name for name, verb in named.items() if verb) or "no verb"
    return f"{verbs}; ignorable" if extender.ignorable else verbs


def _share(profile: Profile) -> str:
    share = profile.percentage_of_nodes_to_score
    return f"{share}%" if share else "adaptive"


def _plugins(enabled: Sequence[EnabledPlugin], profile: Profile) -> str:
    return ", ".join(
        plugin.name
        + (" (wasm)" if plugin.name in profile.wasm else "")
        + (f" ×{plugin.weight}" if plugin.weight else "")
        for plugin in enabled
    )
