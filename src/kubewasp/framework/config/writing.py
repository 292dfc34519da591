"""Writer of a KubeSchedulerConfiguration: reading its output gives the same configuration."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final

from kubewasp.framework.config.model import API_VERSION, KIND, MULTI_POINT
from kubewasp.framework.config.profiles import ALL
from kubewasp.framework.config.registries import written_registries
from kubewasp.framework.config.rollout import DEFAULT_RELOAD, DEFAULT_ROLLOUT
from kubewasp.framework.config.rollout_reading import reload_document, rollout_document
from kubewasp.k8s import json_documents
from kubewasp.k8s.duration import format_duration
from kubewasp.registry.settings import RegistrySettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kubewasp.framework.config.model import (
        EnabledPlugin,
        Extender,
        ExtenderTLS,
        Profile,
        ProfileConfig,
        SchedulerConfig,
        WasmPluginSettings,
    )

    Json = dict[str, Any]

# Replaces a private key. It is valid base64, so that the document can be read again.
REDACTED: Final = "REDACTED"


def as_document(config: SchedulerConfig, profiles: Sequence[Profile]) -> Json:
    """The effective configuration: every extension point with its plugins, and all defaults."""
    return _document(config, [_expanded_profile(profile) for profile in profiles])


def as_template(config: SchedulerConfig) -> Json:
    """The configuration in its usual form: plugins under `multiPoint`."""
    return _document(config, [_compact_profile(profile) for profile in config.profiles])


def _document(config: SchedulerConfig, profiles: list[Json]) -> Json:
    election, connection = config.leader_election, config.client_connection
    document: Json = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "parallelism": config.parallelism,
        "percentageOfNodesToScore": config.percentage_of_nodes_to_score,
        "podInitialBackoffSeconds": config.pod_initial_backoff_seconds,
        "podMaxBackoffSeconds": config.pod_max_backoff_seconds,
        "delayCacheUntilActive": config.delay_cache_until_active,
        "enableProfiling": config.enable_profiling,
        "enableContentionProfiling": config.enable_contention_profiling,
        "leaderElection": {
            "leaderElect": election.leader_elect,
            "leaseDuration": format_duration(election.lease_duration),
            "renewDeadline": format_duration(election.renew_deadline),
            "retryPeriod": format_duration(election.retry_period),
            "resourceLock": election.resource_lock,
            "resourceName": election.resource_name,
            "resourceNamespace": election.resource_namespace,
        },
        "clientConnection": {
            "kubeconfig": connection.kubeconfig,
            "acceptContentTypes": connection.accept_content_types,
            "contentType": connection.content_type,
            "qps": json_documents.integer(int(connection.qps)) if connection.qps.is_integer() else connection.qps,
            "burst": connection.burst,
        },
        "profiles": profiles,
    }
    if config.reload != DEFAULT_RELOAD:
        document["reload"] = reload_document(config.reload)
    if config.extenders:
        document["extenders"] = [extender_entry(extender) for extender in config.extenders]
    if config.registries != RegistrySettings():
        document["registries"] = written_registries(config.registries)
    if config.trust is not None:
        from kubewasp.framework.config.trust import written_trust

        document["trust"] = written_trust(config.trust)
    return document


def _expanded_profile(profile: Profile) -> Json:
    plugins: Json = {MULTI_POINT: {"disabled": [{"name": ALL}]}}
    plugins |= {point: {"enabled": _plugins(enabled)} for point, enabled in profile.plugins.items() if enabled}
    return {
        "schedulerName": profile.scheduler_name,
        "percentageOfNodesToScore": profile.percentage_of_nodes_to_score,
        "plugins": plugins,
        "pluginConfig": _plugin_config(profile),
    }


def _compact_profile(profile: ProfileConfig) -> Json:
    plugins: Json = {}
    for point, given in profile.plugins.items():
        disabled = (ALL,) if point == MULTI_POINT else given.disabled
        entry: Json = {"disabled": [{"name": name} for name in disabled], "enabled": _plugins(given.enabled)}
        if given.enabled or disabled:
            plugins[point] = {name: value for name, value in entry.items() if value}
    written: Json = {"schedulerName": profile.scheduler_name}
    if profile.percentage_of_nodes_to_score is not None:
        written["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    return written | {"plugins": plugins, "pluginConfig": _plugin_config(profile)}


def _plugins(enabled: Iterable[EnabledPlugin]) -> list[Json]:
    return [
        {"name": plugin.name, "weight": plugin.weight} if plugin.weight else {"name": plugin.name} for plugin in enabled
    ]


def _plugin_config(profile: Profile | ProfileConfig) -> list[Json]:
    built_in_or_python = [{"name": name, "args": dict(args)} for name, args in profile.args.items()]
    return built_in_or_python + [{"name": name, "args": _wasm(settings)} for name, settings in profile.wasm.items()]


def _wasm(settings: WasmPluginSettings) -> Json:
    written: Json = {
        "guestURL": str(settings.guest_url),
        "guestConfig": settings.guest_config,
        "logSeverity": settings.log_severity,
        "args": list(settings.args),
        "limits": dict(settings.limits),
        "failurePolicy": settings.failure_policy,
    }
    if settings.rollout != DEFAULT_ROLLOUT:
        written["rollout"] = rollout_document(settings.rollout)
    if settings.image_pull_policy is not None:
        written["imagePullPolicy"] = settings.image_pull_policy
    return written | ({"sha256": settings.sha256} if settings.sha256 else {})


def extender_entry(extender: Extender) -> Json:
    written: Json = {
        "urlPrefix": extender.url_prefix,
        "filterVerb": extender.filter_verb,
        "preemptVerb": extender.preempt_verb,
        "prioritizeVerb": extender.prioritize_verb,
        "weight": extender.weight,
        "bindVerb": extender.bind_verb,
        "enableHTTPS": extender.enable_https,
        "tlsConfig": None if extender.tls is None else _tls(extender.tls),
        "httpTimeout": format_duration(extender.http_timeout),
        "nodeCacheCapable": extender.node_cache_capable,
        "managedResources": [
            {"name": resource.name, "ignoredByScheduler": resource.ignored_by_scheduler}
            for resource in extender.managed_resources
        ],
        "ignorable": extender.ignorable,
    }
    return {name: value for name, value in written.items() if value not in ("", None, [])}


def _tls(tls: ExtenderTLS) -> Json:
    written: Json = {
        "insecure": tls.insecure,
        "serverName": tls.server_name,
        "certFile": tls.cert_file,
        "keyFile": tls.key_file,
        "caFile": tls.ca_file,
        "certData": base64.b64encode(tls.cert_data).decode(),
        "keyData": REDACTED if tls.key_data else "",
        "caData": base64.b64encode(tls.ca_data).decode(),
    }
    return {name: value for name, value in written.items() if value != ""}
