"""Strict reader of a KubeSchedulerConfiguration: all defaults, and the validation of kube-scheduler.

More than 400 lines: one file format, section by section.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kubewasp.framework.config.default_plugins import BUILT_IN
from kubewasp.framework.config.fields import Problems, Section
from kubewasp.framework.config.model import (
    API_VERSION,
    KIND,
    MULTI_POINT,
    POINTS,
    ClientConnection,
    ConfigError,
    EnabledPlugin,
    Extender,
    ExtenderTLS,
    LeaderElection,
    ManagedResource,
    PluginSet,
    Problem,
    ProfileConfig,
    SchedulerConfig,
)
from kubewasp.framework.config.plugin_args import (
    GUEST_URL,
    check_enabled,
    default_args,
    has_args,
    ignore_resources,
    read_args,
    read_wasm_settings,
)
from kubewasp.framework.config.profiles import merged
from kubewasp.framework.config.registries import read_registries
from kubewasp.framework.config.rollout_reading import read_reload
from kubewasp.input_file import input_file
from kubewasp.k8s import json_documents, yaml_documents
from kubewasp.k8s.duration import format_duration
from kubewasp.k8s.errors import described, quoted, shown
from kubewasp.k8s.names import name_problems
from kubewasp.k8s.pods import DEFAULT_SCHEDULER
from kubewasp.k8s.quantity import format_size
from kubewasp.k8s.resources import is_extended

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from kubewasp.framework.config.model import WasmPluginSettings
    from kubewasp.framework.config.plugin_args import LimitsCheck
    from kubewasp.framework.config.rollout import RolloutSettings
    from kubewasp.input_file import InputFile
    from kubewasp.registry.settings import RegistrySettings
    from kubewasp.trust.policy import TrustPolicy

MAX_BYTES: Final = 8 * 2**20
_REMOVED_PLUGINS: Final = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")


def load_config(path: str | InputFile, *, check_limits: LimitsCheck | None = None) -> SchedulerConfig:
    """The configuration in a file; relative guest URLs start at its folder.

    `check_limits` validates the limits of wasm plugins, known to a higher layer.
    """
    return parse_config(_content(path), str(path), check_limits=check_limits, folder=input_file(path).parent)


def read_document(path: str | InputFile, kind: str) -> Any:
    """The single document of any configuration file; `kind` is its name in errors."""
    return _parsed(_content(path), str(path), kind)


def default_config() -> SchedulerConfig:
    """The configuration without a file."""
    return read_config({"apiVersion": API_VERSION, "kind": KIND})


def parse_config(
    content: bytes, source: str, *, check_limits: LimitsCheck | None = None, folder: Path | None = None
) -> SchedulerConfig:
    """The configuration in the content of a file; errors begin with `source`."""
    return read_config(_parsed(content, source, KIND), source, check_limits=check_limits, folder=folder)


def read_config(
    document: Any, source: str = "", *, check_limits: LimitsCheck | None = None, folder: Path | None = None
) -> SchedulerConfig:
    """The configuration in a JSON object. Relative guest URLs start at `folder`, or the working directory."""
    problems = Problems()
    if not isinstance(document, dict):
        raise ConfigError([Problem("", f"expected an object, found {described(document)}")], source=source)
    root = Section(document, "", problems)
    _check_kind(root)
    problems.raise_if_any(source)
    config = _Reader(problems, check_limits, folder).read(root)
    problems.raise_if_any(source)
    return replace(config, source=source)


def _content(path: str | InputFile) -> bytes:
    try:
        with input_file(path).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError([Problem("", f"cannot be read: {reason}")], source=str(path)) from None


def _parsed(content: bytes, source: str, kind: str) -> Any:
    if len(content) > MAX_BYTES:
        raise ConfigError([Problem("", f"larger than {format_size(MAX_BYTES)}")], source=source)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError([Problem("", f"not UTF-8 text: byte {error.start + 1} is wrong")], source=source) from None
    if text.lstrip()[:1] == "{":
        try:
            values = json_documents.documents(text)
        except json_documents.JsonError as error:
            raise ConfigError([Problem("", str(error))], source=source) from None
        if values is not None and len(values) == 1:
            return values[0]
        # YAML may begin like this, and the YAML reader reports the line of an error.
    try:
        documents = [document for document in yaml_documents.documents(text) if document is not None]
    except yaml_documents.YamlError as error:
        raise ConfigError([Problem("", str(error))], source=source) from None
    if len(documents) != 1:
        raise ConfigError([Problem("", f"expected one {kind}, found {len(documents)} documents")], source=source)
    return documents[0]


def _check_kind(root: Section) -> None:
    for name, expected in (("apiVersion", API_VERSION), ("kind", KIND)):
        found = root.take(name)
        if found is None:
            root.problems.add(name, f"missing: add `{name}: {expected}`")
        elif found != expected:
            root.problems.add(name, f"expected {expected}, got {shown(found)}")


class _Reader:
    """Reader of one configuration; collects problems and warnings."""

    def __init__(self, problems: Problems, check_limits: LimitsCheck | None, folder: Path | None) -> None:
        self._problems = problems
        self._check_limits = check_limits
        self._folder = folder
        self._warnings: list[str] = []

    def read(self, root: Section) -> SchedulerConfig:
        extenders = [_extender(section) for section in root.sections("extenders")]
        ignored = [resource.name for item in extenders for resource in item.managed_resources
                   if resource.ignored_by_scheduler]  # fmt: skip
        given = root.sections("profiles") or [Section({}, "profiles[0]", self._problems)]
        profiles = [self._profile(section, len(given) == 1, ignored) for section in given]
        profiling = root.boolean("enableProfiling", True)
        config = SchedulerConfig(
            profiles=tuple(profiles),
            parallelism=root.integer("parallelism", 16),
            leader_election=_leader_election(root.section("leaderElection")),
            client_connection=_client_connection(root.section("clientConnection")),
            enable_profiling=profiling,
            enable_contention_profiling=root.boolean("enableContentionProfiling", profiling),
            percentage_of_nodes_to_score=root.integer("percentageOfNodesToScore"),
            pod_initial_backoff_seconds=root.integer("podInitialBackoffSeconds", 1, bits=64),
            pod_max_backoff_seconds=root.integer("podMaxBackoffSeconds", 10, bits=64),
            # Ignorable extenders run last.
            extenders=tuple(sorted(extenders, key=lambda extender: extender.ignorable)),
            delay_cache_until_active=root.boolean("delayCacheUntilActive"),
            reload=read_reload(root.section("reload")),
            registries=self._registries(root),
            trust=self._trust(root),
            warnings=tuple(self._warnings),
        )
        root.refuse_unknown()
        _check_settings(config, self._problems)
        _check_extenders(extenders, self._problems)
        _check_profiles(profiles, self._problems)
        return config

    def _registries(self, root: Section) -> RegistrySettings:
        return read_registries(root.section("registries"), self._folder)

    def _trust(self, root: Section) -> TrustPolicy | None:
        section = root.section("trust")
        if not root.has("trust"):
            return None
        # Late: cryptography takes a tenth of a second to import.
        from kubewasp.framework.config.trust import read_trust

        return read_trust(section, self._folder)

    # ------------------------------------------------------------------ profiles

    def _profile(self, section: Section, is_only: bool, ignored_resources: Sequence[str]) -> ProfileConfig:
        name = section.text("schedulerName", DEFAULT_SCHEDULER if is_only else "")
        percentage = section.optional_integer("percentageOfNodesToScore")
        plugins = merged(self._plugin_sets(section.section("plugins")))
        args, wasm, paths = self._plugin_config(section)
        section.refuse_unknown()
        if not name:
            self._problems.required(section.at("schedulerName"))
        enabled = ProfileConfig(name, plugins).plugin_names
        args |= {plugin: default_args(plugin) for plugin in sorted(enabled) if has_args(plugin) and plugin not in args}
        if ignored_resources:
            ignore_resources(args, ignored_resources)
        for plugin in sorted(enabled):
            if plugin in args:
                path = paths.get(plugin, section.at("pluginConfig"))
                check_enabled(plugin, args[plugin], f"{path}.args", self._problems)
        for plugin, path in paths.items():
            if plugin not in enabled:
                text = f"{quoted(plugin)} is configured but not enabled; to use it, enable it under plugins.multiPoint"
                self._warnings.append(f"{path}: {text}")
        return ProfileConfig(name, plugins, args, wasm, percentage)

    def _plugin_sets(self, section: Section) -> dict[str, PluginSet]:
        sets = {}
        for point in (MULTI_POINT, *POINTS):
            given = section.section(point)
            enabled = [self._plugin(item) for item in given.sections("enabled")]
            disabled = [self._plugin(item).name for item in given.sections("disabled")]
            given.refuse_unknown()
            sets[point] = PluginSet(tuple(enabled), tuple(disabled))
            if point in POINTS:
                for index, plugin in enumerate(enabled):
                    self._refuse_removed(f"{given.at('enabled')}[{index}]", plugin.name)
        section.refuse_unknown()
        return sets

    def _plugin(self, section: Section) -> EnabledPlugin:
        plugin = EnabledPlugin(section.text("name"), section.integer("weight"))
        section.refuse_unknown()
        return plugin

    def _plugin_config(
        self, profile: Section
    ) -> tuple[dict[str, dict[str, Any]], dict[str, WasmPluginSettings], dict[str, str]]:
        """The args of plugins, the settings of wasm plugins, and the path of each entry."""
        args: dict[str, dict[str, Any]] = {}
        wasm: dict[str, WasmPluginSettings] = {}
        paths: dict[str, str] = {}
        for section in profile.sections("pluginConfig"):
            name = section.text("name")
            given = section.section("args")
            section.refuse_unknown()
            if name in paths:
                self._problems.duplicate(section.path, quoted(name))
            paths.setdefault(name, section.path)
            self._refuse_removed(section.path, name)
            if name in BUILT_IN and given.has(GUEST_URL):
                text = f"{name} is a built-in plugin, give the wasm plugin a name of its own"
                self._problems.add(given.at(GUEST_URL), text)
            elif has_args(name):
                args[name] = read_args(name, given)
            elif given.has(GUEST_URL):
                wasm[name] = read_wasm_settings(given, self._check_limits, self._folder)
            else:
                args[name] = given.everything()
                if name in BUILT_IN and args[name]:
                    self._warnings.append(f"{given.path}: {name} takes no args; they are ignored")
        return args, wasm, paths

    def _refuse_removed(self, path: str, plugin: str) -> None:
        if plugin in _REMOVED_PLUGINS:
            text = f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")'
            self._problems.invalid(path, plugin, text)


# ---------------------------------------------------------------------- other sections


def _leader_election(section: Section) -> LeaderElection:
    default = LeaderElection()
    found = LeaderElection(
        leader_elect=section.boolean("leaderElect", True),
        lease_duration=section.seconds("leaseDuration") or default.lease_duration,
        renew_deadline=section.seconds("renewDeadline") or default.renew_deadline,
        retry_period=section.seconds("retryPeriod") or default.retry_period,
        resource_lock=section.text("resourceLock") or default.resource_lock,
        resource_name=section.text("resourceName") or default.resource_name,
        resource_namespace=section.text("resourceNamespace") or default.resource_namespace,
    )
    section.refuse_unknown()
    return found


def _client_connection(section: Section) -> ClientConnection:
    default = ClientConnection()
    found = ClientConnection(
        kubeconfig=section.text("kubeconfig"),
        accept_content_types=section.text("acceptContentTypes"),
        content_type=section.text("contentType") or default.content_type,
        qps=section.number("qps") or default.qps,
        burst=section.integer("burst") or default.burst,
    )
    section.refuse_unknown()
    return found


def _extender(section: Section) -> Extender:
    has_tls = section.has("tlsConfig")
    tls = section.section("tlsConfig")
    found = Extender(
        url_prefix=section.text("urlPrefix"),
        filter_verb=section.text("filterVerb"),
        preempt_verb=section.text("preemptVerb"),
        prioritize_verb=section.text("prioritizeVerb"),
        weight=section.integer("weight", bits=64),
        bind_verb=section.text("bindVerb"),
        enable_https=section.boolean("enableHTTPS"),
        tls=_extender_tls(tls) if has_tls else None,
        http_timeout=section.seconds("httpTimeout") or Extender().http_timeout,
        node_cache_capable=section.boolean("nodeCacheCapable"),
        managed_resources=tuple(_managed_resource(item) for item in section.sections("managedResources")),
        ignorable=section.boolean("ignorable"),
    )
    section.refuse_unknown()
    return found


def _extender_tls(section: Section) -> ExtenderTLS:
    found = ExtenderTLS(
        insecure=section.boolean("insecure"),
        server_name=section.text("serverName"),
        cert_file=section.text("certFile"),
        key_file=section.text("keyFile"),
        ca_file=section.text("caFile"),
        cert_data=section.base64_bytes("certData"),
        key_data=section.base64_bytes("keyData"),
        ca_data=section.base64_bytes("caData"),
    )
    section.refuse_unknown()
    return found


def _managed_resource(section: Section) -> ManagedResource:
    found = ManagedResource(section.text("name"), section.boolean("ignoredByScheduler"))
    section.refuse_unknown()
    return found


# ---------------------------------------------------------------------- validation


def _check_settings(config: SchedulerConfig, problems: Problems) -> None:
    if config.client_connection.burst < 0:
        problems.invalid("clientConnection.burst", config.client_connection.burst, "must be non-negative")
    if config.leader_election.leader_elect:
        _check_leader_election(config.leader_election, problems)
    if config.parallelism <= 0:
        problems.invalid("parallelism", config.parallelism, "should be an integer value greater than zero")
    _check_percentage("percentageOfNodesToScore", config.percentage_of_nodes_to_score, problems)
    first, longest = config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds
    if first <= 0:
        problems.invalid("podInitialBackoffSeconds", first, "must be greater than 0")
    if longest < first:
        text = "must be greater than or equal to PodInitialBackoffSeconds"
        problems.invalid("podMaxBackoffSeconds", longest, text, also=["podInitialBackoffSeconds"])


def _check_leader_election(election: LeaderElection, problems: Problems) -> None:
    path = "leaderElection"
    durations = {
        "leaseDuration": election.lease_duration,
        "renewDeadline": election.renew_deadline,
        "retryPeriod": election.retry_period,
    }
    for name, seconds in durations.items():
        if seconds <= 0:
            problems.invalid(f"{path}.{name}", format_duration(seconds), "must be greater than zero")
    if election.lease_duration <= election.renew_deadline:
        lease = format_duration(election.lease_duration)
        text = "must be greater than `RenewDeadline`"
        problems.invalid(f"{path}.leaseDuration", lease, text, also=[f"{path}.renewDeadline"])
    if election.resource_lock != "leases":
        problems.invalid(f"{path}.resourceLock", election.resource_lock, 'resourceLock value must be "leases"')


def _check_percentage(path: str, percentage: int | None, problems: Problems) -> None:
    if percentage is not None and not 0 <= percentage <= 100:
        problems.invalid(path, percentage, "not in valid range [0-100]")


def _check_extenders(extenders: Sequence[Extender], problems: Problems) -> None:
    managed: set[str] = set()
    for index, extender in enumerate(extenders):
        path = f"extenders[{index}]"
        if extender.prioritize_verb and extender.weight <= 0:
            problems.invalid(f"{path}.weight", extender.weight, "must have a positive weight applied to it")
        for number, resource in enumerate(extender.managed_resources):
            name = f"{path}.managedResources[{number}].name"
            for text in _resource_problems(resource.name):
                problems.invalid(name, resource.name, text)
            if resource.name in managed:
                problems.invalid(name, resource.name, "duplicate extender managed resource name")
            managed.add(resource.name)
    binders = sum(1 for extender in extenders if extender.bind_verb)
    if binders > 1:
        found = f"found {binders} extenders implementing bind"
        problems.invalid("extenders", found, "only one extender can implement bind")


def _resource_problems(name: str) -> list[str]:
    problems = name_problems(name)
    # The quota of an extended resource has a longer name.
    if not problems and (not is_extended(name) or name_problems(f"requests.{name}")):
        return ["is an invalid extended resource name"]
    return problems


def _check_profiles(profiles: Sequence[ProfileConfig], problems: Problems) -> None:
    places: dict[str, int] = {}
    for index, profile in enumerate(profiles):
        path = f"profiles[{index}]"
        _check_percentage(f"{path}.percentageOfNodesToScore", profile.percentage_of_nodes_to_score, problems)
        first = places.setdefault(profile.scheduler_name, index)
        if first != index and profile.scheduler_name:
            problems.duplicate(f"{path}.schedulerName", f"profiles[{first}].schedulerName")
    for path, name in _rollout_problems(profiles):
        problems.add(path, f"{quoted(name)} has another rollout in another profile: a plugin is rolled out once")
    for path, value, text in _queue_sort_problems(profiles):
        problems.invalid(path, value, text)


def _rollout_problems(profiles: Sequence[ProfileConfig]) -> Iterator[tuple[str, str]]:
    """Plugins of one name are one plugin to a rollout, in all profiles."""
    known: dict[str, RolloutSettings] = {}
    for index, profile in enumerate(profiles):
        for name, settings in profile.wasm.items():
            if known.setdefault(name, settings.rollout) != settings.rollout:
                yield f"profiles[{index}].pluginConfig", name


def _queue_sort_problems(profiles: Sequence[ProfileConfig]) -> Iterator[tuple[str, Any, str]]:
    """All profiles share one queue, so they must have the same queue sort plugin."""
    first = profiles[0].plugins["queueSort"]
    if len(first.enabled) > 1:
        text = "only one queue sort plugin can be enabled"
        yield "profiles[0].plugins.queueSort.enabled", len(first.enabled), text
    name = first.enabled[0].name if first.enabled else ""
    for index, profile in enumerate(profiles[1:], start=1):
        path = f"profiles[{index}]"
        if profile.plugins["queueSort"] != first:
            found = _as_written(profile.plugins["queueSort"])
            yield f"{path}.plugins.queueSort", found, "must be the same for all profiles"
        args = profile.args.get(name)
        if name and args is not None and args != profiles[0].args.get(name):
            yield f"{path}.pluginConfig.args", args, "queueSort must be the same for all profiles"


def _as_written(plugins: PluginSet) -> Mapping[str, Any]:
    return {"enabled": [plugin.name for plugin in plugins.enabled], "disabled": list(plugins.disabled)}
