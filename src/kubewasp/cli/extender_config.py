"""`kubewasp extender config`: the extender stanza of kube-scheduler's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from kubewasp.cli import output
from kubewasp.cli.inputs import server_url
from kubewasp.extender import stanza, verb_plugins
from kubewasp.framework.config.default_plugins import BUILT_IN
from kubewasp.framework.config.model import API_VERSION, KIND, Extender, ExtenderTLS, ManagedResource
from kubewasp.framework.config.reading import read_config
from kubewasp.k8s.duration import parse_duration
from kubewasp.scheduler.composition import set_up
from kubewasp.scheduler.configuration import configure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.framework.config.model import Profile
    from kubewasp.input_file import InputFile
    from kubewasp.scheduler.configuration import AddedPlugin


def show(
    *,
    config: InputFile | None,
    plugins: Sequence[AddedPlugin],
    plugin_configs: Mapping[str, str],
    url: str,
    full_nodes: bool,
    weight: int,
    timeout: str,
    ignorable: bool,
    ca: str,
    bind: bool,
    all_plugins: bool,
    managed: Sequence[str],
    form: str,
) -> None:
    settings, named = configure(config, plugins, plugin_configs)
    profiles = set_up(settings, added=named).profiles
    asked = verb_plugins.restricted(profiles, all_plugins=all_plugins, source=settings.source)
    offered = verb_plugins.verbs(asked, bind=bind)
    is_https = server_url(url, "http://127.0.0.1:8888", "--url").scheme == "https"
    extender = Extender(
        url_prefix=url.rstrip("/"),
        filter_verb="filter" if "filter" in offered else "",
        preempt_verb="preempt" if "preempt" in offered else "",
        prioritize_verb="prioritize" if "prioritize" in offered else "",
        weight=weight if "prioritize" in offered else 0,
        bind_verb="bind" if bind else "",
        enable_https=is_https,
        tls=ExtenderTLS(ca_file=ca) if ca else None,
        http_timeout=_seconds(timeout),
        node_cache_capable=not full_nodes,
        managed_resources=managed_resources(managed),
        ignorable=ignorable,
    )
    if ca and not is_https:
        raise typer.BadParameter("requires an https URL", param_hint="--ca")
    check(extender)
    if form == "json":
        output.print_json({"extenders": [stanza.entry(extender)]})
    else:
        unused = verb_plugins.unused_points(profiles)
        output.write(stanza.text(extender, pre_filter_only=_pre_filter_only(asked), unused=unused))


def check(extender: Extender) -> None:
    """Validates the stanza by the rules of kube-scheduler."""
    document: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND, "extenders": [stanza.entry(extender)]}
    read_config(document, "the extender's stanza")


def managed_resources(given: Sequence[str]) -> tuple[ManagedResource, ...]:
    """`NAME`, or `NAME:ignored`."""
    found = []
    for text in given:
        name, colon, what = text.partition(":")
        if colon and what != "ignored":
            raise typer.BadParameter(f"expected NAME or NAME:ignored, got {text!r}", param_hint="--managed-resource")
        found.append(ManagedResource(name, ignored_by_scheduler=bool(colon)))
    return tuple(found)


def _seconds(timeout: str) -> float:
    try:
        seconds = parse_duration(timeout)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--timeout") from None
    if seconds <= 0:
        raise typer.BadParameter(f"expected a positive duration, got {timeout!r}", param_hint="--timeout")
    return seconds


def _pre_filter_only(profiles: Sequence[Profile]) -> list[str]:
    """Custom plugins with PreFilter, if no plugin has Filter: the verb filter is offered for them alone."""
    if any(profile.plugins["filter"] for profile in profiles):
        return []
    names = (item.name for profile in profiles for item in profile.plugins["preFilter"])
    return [name for name in dict.fromkeys(names) if name not in BUILT_IN]
