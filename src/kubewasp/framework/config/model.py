"""The scheduler's configuration, read and checked: plain data. How it is read stands in `config_reading`.

`SchedulerConfig` and its `ProfileConfig`s are the file with defaults filled in. A `Profile` is what is run: the plugins
of each extension point in their order, made from a `ProfileConfig` when it is known what each plugin implements.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from kubewasp.framework.config.default_plugins import BUILT_IN
from kubewasp.k8s.errors import ManifestError, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"

# In the order in which kube-scheduler fills them, and so in which it finds what is wrong.
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

FailurePolicy = Literal["Fail", "Ignore"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and where; the path is empty if it is the whole file."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


class ConfigError(ManifestError):
    """The configuration cannot be used. All that is wrong is told at once, a line each."""

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
        """The same error, all paths being below that one."""
        moved = [Problem(f"{path}.{item.path}" if item.path else path, item.text) for item in self.problems]
        return ConfigError(moved, source=self.source)


@dataclass(frozen=True, slots=True)
class LeaderElection:
    """Times are in seconds."""

    leader_elect: bool = True
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    resource_lock: str = "leases"
    resource_name: str = "kube-scheduler"
    resource_namespace: str = "kube-system"


@dataclass(frozen=True, slots=True)
class ClientConnection:
    """How the API server is reached."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = 50.0
    burst: int = 100


@dataclass(frozen=True, slots=True)
class ExtenderTLS:
    """The `...Data` take precedence over the files."""

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
    """A resource that an extender looks after; if the scheduler is to ignore it, NodeResourcesFit leaves it alone."""

    name: str
    ignored_by_scheduler: bool = False


@dataclass(frozen=True, slots=True)
class Extender:
    """An HTTP extender; an empty verb means that it does not take part there. The timeout is in seconds."""

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
    """A plugin in a list. The weight counts where nodes are scored; 0 stands for none given."""

    name: str
    weight: int = 0


@dataclass(frozen=True, slots=True)
class PluginSet:
    """What a file says of one extension point; `*` among the disabled stands for all."""

    enabled: tuple[EnabledPlugin, ...] = ()
    disabled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WasmPluginSettings:
    """A wasm plugin: where its guest is and how it is run. The limits are as they were written."""

    guest_url: str
    guest_config: str = ""
    log_severity: int = 0
    args: tuple[str, ...] = ()
    sha256: str | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)
    failure_policy: FailurePolicy = "Fail"


@dataclass(frozen=True, slots=True)
class ProfileConfig:
    """A profile of the file, merged with the defaults.

    `plugins` has a set for each extension point and for `multiPoint`. `args` are those of built-in and Python plugins,
    in the form of the file, with defaults; `wasm` are the plugins that are guests.
    """

    scheduler_name: str
    plugins: Mapping[str, PluginSet]
    args: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    wasm: Mapping[str, WasmPluginSettings] = field(default_factory=dict)
    percentage_of_nodes_to_score: int | None = None

    @property
    def plugin_names(self) -> tuple[str, ...]:
        """Every plugin that is enabled anywhere, and so is made, even where no extension point is left to it."""
        sets = (self.plugins.get(point, PluginSet()) for point in (MULTI_POINT, *POINTS))
        return tuple(dict.fromkeys(plugin.name for plugins in sets for plugin in plugins.enabled))


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile as it is run: which plugins are asked at each extension point, in which order and with which weight."""

    scheduler_name: str
    percentage_of_nodes_to_score: int
    plugins: Mapping[str, tuple[EnabledPlugin, ...]]
    args: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    wasm: Mapping[str, WasmPluginSettings] = field(default_factory=dict)

    def names(self, point: str) -> tuple[str, ...]:
        return tuple(plugin.name for plugin in self.plugins[point])


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """A KubeSchedulerConfiguration with all defaults. Extenders stand in the order in which they are called."""

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
    source: str = ""
    warnings: tuple[str, ...] = ()

    def with_wasm_plugin(self, name: str, guest_url: str, guest_config: str | None = None) -> SchedulerConfig:
        """The same with a wasm plugin, enabled at all its extension points in every profile.

        A wasm plugin of that name which is already there gets this guest and this configuration (if one is given), and
        keeps its other settings.
        """
        if name in BUILT_IN or any(name in profile.args for profile in self.profiles):
            problem = Problem(
                "", f"{quoted(name)} is the name of another plugin, give the wasm plugin a name of its own"
            )
            raise ConfigError([problem], source=self.source)
        profiles = tuple(_with_wasm_plugin(profile, name, guest_url, guest_config) for profile in self.profiles)
        return replace(self, profiles=profiles)


def _with_wasm_plugin(profile: ProfileConfig, name: str, guest_url: str, guest_config: str | None) -> ProfileConfig:
    settings = replace(profile.wasm.get(name, WasmPluginSettings(guest_url)), guest_url=guest_url)
    if guest_config is not None:
        settings = replace(settings, guest_config=guest_config)
    plugins = dict(profile.plugins)
    if name not in profile.plugin_names:
        everywhere = plugins.get(MULTI_POINT, PluginSet())
        plugins[MULTI_POINT] = replace(everywhere, enabled=(*everywhere.enabled, EnabledPlugin(name)))
    return replace(profile, plugins=plugins, wasm={**profile.wasm, name: settings})
