"""Data model of the scheduler configuration, validated and with defaults. `reading` makes it from a file.

`SchedulerConfig` and `ProfileConfig` mirror the file. A `Profile` is the effective form: the plugins of each extension
point in order, expanded from a `ProfileConfig` once the extension points of each plugin are known.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from kubewasp.framework.config.default_plugins import BUILT_IN, plugins_at
from kubewasp.framework.config.rollout import DEFAULT_RELOAD, DEFAULT_ROLLOUT, ReloadSettings, RolloutSettings
from kubewasp.k8s.errors import ManifestError, quoted
from kubewasp.registry.settings import RegistrySettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.input_file import StandardInput
    from kubewasp.registry.settings import PullPolicy
    from kubewasp.trust.policy import TrustPolicy

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"

# In the order in which kube-scheduler expands them and reports problems.
POINTS: Final = (
    "preFilter",
    "filter",
    "postFilter",
    "reserve",
    "preScore",
    "score",
    "preBind",
    "bind",
    "postBind",
    "permit",
    "preEnqueue",
    "queueSort",
    "placementGenerate",
    "placementScore",
)
MULTI_POINT: Final = "multiPoint"
SCORED_POINTS: Final = ("score", "placementScore")
_NEEDED: Final = ("queueSort", "bind")  # a profile needs a plugin at these

FailurePolicy = Literal["Fail", "Ignore"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem with its path; the path is empty for the whole file."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


class ConfigError(ManifestError):
    """An invalid configuration, with all its problems, one per line."""

    def __init__(self, problems: Sequence[Problem], *, source: str = "") -> None:
        self.problems = tuple(problems)
        if len(self.problems) == 1:
            super().__init__(self.problems[0].path, self.problems[0].text, source=source)
        else:
            lines = "".join(f"\n  {problem}" for problem in self.problems)
            super().__init__("", f"{len(self.problems)} problems{lines}", source=source)

    def at(self, source: str) -> ConfigError:
        return ConfigError(self.problems, source=source)

    def under(self, path: str) -> ConfigError:
        """The same error with the path as a prefix."""
        moved = [Problem(f"{path}.{item.path}" if item.path else path, item.text) for item in self.problems]
        return ConfigError(moved, source=self.source)


@dataclass(frozen=True, slots=True)
class LeaderElection:
    """Leader election; times are in seconds."""

    leader_elect: bool = True
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    resource_lock: str = "leases"
    resource_name: str = "kube-scheduler"
    resource_namespace: str = "kube-system"


@dataclass(frozen=True, slots=True)
class ClientConnection:
    """The connection to the API server."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = 50.0
    burst: int = 100


@dataclass(frozen=True, slots=True)
class ExtenderTLS:
    """TLS of an extender; the `...Data` fields take precedence over files."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = field(default=b"", repr=False)
    ca_data: bytes = b""


@dataclass(frozen=True, slots=True)
class ManagedResource:
    """A resource managed by an extender; `ignored_by_scheduler` excludes it from the fit check."""

    name: str
    ignored_by_scheduler: bool = False


@dataclass(frozen=True, slots=True)
class Extender:
    """An HTTP extender; an empty verb is not called. The timeout is in seconds."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: int = 0
    bind_verb: str = ""
    enable_https: bool = False
    tls: ExtenderTLS | None = None
    http_timeout: float = 5.0
    node_cache_capable: bool = False
    managed_resources: tuple[ManagedResource, ...] = ()
    ignorable: bool = False


@dataclass(frozen=True, slots=True)
class EnabledPlugin:
    """A plugin in a list. The weight is for scoring; 0 means none given."""

    name: str
    weight: int = 0


@dataclass(frozen=True, slots=True)
class PluginSet:
    """The plugins of one extension point in a file; `*` in `disabled` means all."""

    enabled: tuple[EnabledPlugin, ...] = ()
    disabled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WasmPluginSettings:
    """The settings of a wasm plugin. `limits` is unparsed. `rollout` is about new versions, not about this one."""

    guest_url: str | StandardInput
    guest_config: str = ""
    log_severity: int = 0
    args: tuple[str, ...] = ()
    sha256: str | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)
    failure_policy: FailurePolicy = "Fail"
    rollout: RolloutSettings = DEFAULT_ROLLOUT
    image_pull_policy: PullPolicy | None = None


@dataclass(frozen=True, slots=True)
class ProfileConfig:
    """A profile of the file, merged with the defaults.

    `plugins` has a set for each extension point and for `multiPoint`. `args` are those of built-in and Python plugins
    with defaults, in the form of the file; `wasm` has the settings of wasm plugins.
    """

    scheduler_name: str
    plugins: Mapping[str, PluginSet]
    args: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    wasm: Mapping[str, WasmPluginSettings] = field(default_factory=dict)
    percentage_of_nodes_to_score: int | None = None

    @property
    def plugin_names(self) -> tuple[str, ...]:
        """Every enabled plugin, also without an effective extension point: all are instantiated."""
        sets = (self.plugins.get(point, PluginSet()) for point in (MULTI_POINT, *POINTS))
        return tuple(dict.fromkeys(plugin.name for plugins in sets for plugin in plugins.enabled))


@dataclass(frozen=True, slots=True)
class Profile:
    """An effective profile: the plugins of each extension point with order and weight."""

    scheduler_name: str
    percentage_of_nodes_to_score: int
    plugins: Mapping[str, tuple[EnabledPlugin, ...]]
    args: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    wasm: Mapping[str, WasmPluginSettings] = field(default_factory=dict)

    def names(self, point: str) -> tuple[str, ...]:
        return tuple(plugin.name for plugin in self.plugins[point])


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """A KubeSchedulerConfiguration with all defaults. Extenders are in calling order."""

    profiles: tuple[ProfileConfig, ...]
    parallelism: int = 16
    leader_election: LeaderElection = field(default_factory=LeaderElection)
    client_connection: ClientConnection = field(default_factory=ClientConnection)
    enable_profiling: bool = True
    enable_contention_profiling: bool = True
    percentage_of_nodes_to_score: int = 0
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
    reload: ReloadSettings = DEFAULT_RELOAD
    registries: RegistrySettings = field(default_factory=RegistrySettings)
    trust: TrustPolicy | None = None
    source: str = ""
    warnings: tuple[str, ...] = ()

    def with_wasm_plugin(
        self, name: str, guest_url: str | StandardInput, guest_config: str | None = None, *, weight: int = 0
    ) -> SchedulerConfig:
        """The configuration with a wasm plugin, enabled at all its extension points in every profile.

        An existing wasm plugin of that name gets this guest, this configuration and this weight (if given) and keeps
        its other settings.
        """
        if name in BUILT_IN or any(name in profile.args for profile in self.profiles):
            problem = Problem(
                "", f"{quoted(name)} is the name of another plugin, give the wasm plugin a name of its own"
            )
            raise ConfigError([problem], source=self.source)
        profiles = tuple(_with_wasm_plugin(profile, name, guest_url, guest_config, weight) for profile in self.profiles)
        return replace(self, profiles=profiles)

    def without_wasm_plugins(self) -> SchedulerConfig:
        """The configuration without its wasm plugins. Where they alone sort or bind, the default plugins do."""
        return replace(self, profiles=tuple(map(_without_wasm_plugins, self.profiles)))


def _without_wasm_plugins(profile: ProfileConfig) -> ProfileConfig:
    plugins = {
        point: replace(given, enabled=tuple(plugin for plugin in given.enabled if plugin.name not in profile.wasm))
        for point, given in profile.plugins.items()
    }
    everywhere = {plugin.name for plugin in plugins.get(MULTI_POINT, PluginSet()).enabled}
    for point in _NEEDED:
        given, defaults = plugins.get(point, PluginSet()), plugins_at(point)
        is_there = everywhere.intersection(defaults) and not {"*", *defaults}.intersection(given.disabled)
        if not given.enabled and not is_there:
            plugins[point] = PluginSet(tuple(map(EnabledPlugin, defaults)))
    return replace(profile, plugins=plugins, wasm={})


def _with_wasm_plugin(
    profile: ProfileConfig, name: str, guest_url: str | StandardInput, guest_config: str | None, weight: int
) -> ProfileConfig:
    settings = replace(profile.wasm.get(name, WasmPluginSettings(guest_url)), guest_url=guest_url)
    if guest_config is not None:
        settings = replace(settings, guest_config=guest_config)
    plugins = dict(profile.plugins)
    if name not in profile.plugin_names:
        everywhere = plugins.get(MULTI_POINT, PluginSet())
        plugins[MULTI_POINT] = replace(everywhere, enabled=(*everywhere.enabled, EnabledPlugin(name, weight)))
    elif weight:
        plugins = {point: weighted(given, name, weight) for point, given in plugins.items()}
    return replace(profile, plugins=plugins, wasm={**profile.wasm, name: settings})


def weighted(given: PluginSet, name: str, weight: int) -> PluginSet:
    """The set with another weight of a plugin, if it has it."""
    enabled = tuple(EnabledPlugin(name, weight) if plugin.name == name else plugin for plugin in given.enabled)
    return replace(given, enabled=enabled)
