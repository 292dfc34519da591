"""`kubewasp config check` and `config default`: the effective scheduler configuration, and the default one."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import yaml

from kubewasp.cli import output
from kubewasp.framework.config.reading import default_config, load_config
from kubewasp.framework.config.writing import as_document, as_template
from kubewasp.framework.plugin import EXTENSION_POINTS
from kubewasp.framework.registry import Registry
from kubewasp.k8s.duration import format_duration
from kubewasp.wasm.download import without_credentials
from kubewasp.wasm.guest_loader import GuestLoader
from kubewasp.wasm.limits import limits_problem
from kubewasp.wasm.source import GuestSources

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kubewasp.framework.config.model import EnabledPlugin, Extender, Profile, SchedulerConfig
    from kubewasp.input_file import InputFile
    from kubewasp.trust.policy import TrustPolicy

_DEFAULT_COMMENT: Final = """\
# Default configuration. Delete the settings that you do not change.
# multiPoint lists the plugins of all extension points. `*` disables the defaults, so the list is complete: a plugin
# that is not in it does not run. To add a wasm plugin, add its name to the list and its args to pluginConfig, such as
# {guestURL: "file://policy.wasm"}.
"""


def check(file: InputFile, *, form: str) -> None:
    config = load_config(file, check_limits=limits_problem)
    registry = Registry(wasm=GuestLoader(sources=GuestSources(config.registries, config.trust)))
    found = registry.profiles(config)
    shares = [_share(profile, registry) for profile in found]
    profiles = [_without_credentials(profile) for profile in found]
    for warning in config.warnings:
        output.warn(warning)
    if form == "table":
        _print_tables(config, profiles, shares)
    else:
        output.print_document(as_document(config, profiles), form)


def print_default() -> None:
    output.write(_DEFAULT_COMMENT)
    output.print_yaml([as_template(default_config())])


def _without_credentials(profile: Profile) -> Profile:
    """The profile without passwords in guest URLs."""
    wasm = {
        name: replace(settings, guest_url=without_credentials(str(settings.guest_url)))
        for name, settings in profile.wasm.items()
    }
    return replace(profile, wasm=wasm)


def _in_one_line(args: Mapping[str, Any]) -> str:
    text: str = yaml.safe_dump(args, default_flow_style=True, sort_keys=False, allow_unicode=True, width=sys.maxsize)
    return text.strip()


def _print_tables(config: SchedulerConfig, profiles: Sequence[Profile], shares: Sequence[str]) -> None:
    output.print_facts(_facts(config))
    entries = as_document(config, profiles)["profiles"]
    for profile, entry, share in zip(profiles, entries, shares, strict=True):
        points = [*EXTENSION_POINTS, *(point for point in profile.plugins if point not in EXTENSION_POINTS)]
        rows = [(point, _plugins(profile.plugins[point], profile)) for point in points if profile.plugins[point]]
        output.write("\n")
        output.print_facts([("profile", profile.scheduler_name), ("nodes to score", share)])
        output.write("\n")
        output.print_table(("extension point", "plugins"), rows)
        output.write("\n")
        args = [(item["name"], _in_one_line(item["args"])) for item in entry["pluginConfig"]]
        output.print_table(("plugin", "args"), args)


def _facts(config: SchedulerConfig) -> Iterator[tuple[str, str]]:
    election, connection = config.leader_election, config.client_connection
    yield "parallelism", str(config.parallelism)
    yield "backoff", f"{config.pod_initial_backoff_seconds}s to {config.pod_max_backoff_seconds}s"
    if election.leader_elect:
        lease = f"{election.resource_namespace}/{election.resource_name}"
        times = (election.lease_duration, election.renew_deadline, election.retry_period)
        lasts, renew, retry = (format_duration(seconds) for seconds in times)
        yield "leader election", f"lease {lease}, duration {lasts}, renew deadline {renew}, retry period {retry}"
    else:
        yield "leader election", "off"
    where = connection.kubeconfig or "in-cluster or default kubeconfig"
    yield "API server", f"{where}, {connection.qps:g} requests/s, burst {connection.burst}"
    if config.trust is not None:
        yield "trust", _trust(config.trust)
    for extender in config.extenders:
        yield "extender", f"{extender.url_prefix}: {_verbs(extender)}"


def _trust(policy: TrustPolicy) -> str:
    rule = policy.rule
    needed = rule.needed or ("no guest without a rule of its source" if rule.required else "no signature is needed")
    text = needed if rule.required or not rule.needed else f"{needed}; not required"
    count = len(policy.sources)
    return f"{text}; rules of {count} source{'s' * (count > 1)}" if count else text


def _verbs(extender: Extender) -> str:
    named = {
        "filter": extender.filter_verb,
        "preempt": extender.preempt_verb,
        f"prioritize (weight {extender.weight})": extender.prioritize_verb,
        "bind": extender.bind_verb,
    }
    verbs = ", ".join(name for name, verb in named.items() if verb) or "no verb"
    return f"{verbs}; ignorable" if extender.ignorable else verbs


def _share(profile: Profile, registry: Registry) -> str:
    """The part of the feasible nodes that is scored, with the cause of a sample."""
    if profile.percentage_of_nodes_to_score:
        return f"{profile.percentage_of_nodes_to_score}%"
    asking = registry.asking_each_node(profile)
    return f"adaptive sample, for {', '.join(asking)}" if asking else "all"


def _plugins(enabled: Sequence[EnabledPlugin], profile: Profile) -> str:
    return ", ".join(
        plugin.name
        + (" (wasm)" if plugin.name in profile.wasm else "")
        + (f" ×{plugin.weight}" if plugin.weight else "")
        for plugin in enabled
    )
