from collections.abc import Collection, Sequence
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from kubewasp.framework import registry
from kubewasp.framework.config.default_plugins import DEFAULT_PLUGINS, DefaultPlugin
from kubewasp.framework.config.model import ConfigError, EnabledPlugin, Profile, WasmPluginSettings
from kubewasp.framework.plugin import (
    EXTENSION_POINTS,
    NodeByNode,
    Plugin,
    PostBindPlugin,
    PreEnqueuePlugin,
    QueueSortPlugin,
    ScorePlugin,
)
from kubewasp.framework.registry import Registry, points_of
from kubewasp.framework.status import SUCCESS, Status
from tests.framework.configs import named, read


class Labels(NodeByNode):
    name = "Labels"

    def __init__(self, args: Any, handle: Any) -> None:
        self.args, self.handle = args, handle

    def score_node(self, *_: Any) -> int:
        return 1


class Judge(NodeByNode):
    name = "Judge"

    def filter_node(self, *_: Any) -> Status:
        return SUCCESS


class Arrays(NodeByNode):
    name = "Arrays"

    def filter(self, *_: Any) -> None:
        return None


class Sort(QueueSortPlugin, PreEnqueuePlugin):
    name = "Sort"

    def sort_key(self, *_: Any) -> int:
        return 0

    def pre_enqueue(self, *_: Any) -> Status:
        return SUCCESS


class Guest(PostBindPlugin):
    def __init__(self, name: str, settings: WasmPluginSettings) -> None:
        self.name, self.settings = name, settings

    def post_bind(self, *_: Any) -> None: ...


class Host:
    """Loader of guests with PostBind."""

    def asks_each_node(self, name: str, settings: WasmPluginSettings) -> bool:
        return True

    def points(self, name: str, settings: WasmPluginSettings) -> Collection[str]:
        return {"postBind"}

    def create(self, name: str, settings: WasmPluginSettings, handle: Any) -> Plugin:
        return Guest(name, settings)


def enabling(*names: str, config: Sequence[Any] = ()) -> Any:
    return read(profiles=[{"plugins": {"multiPoint": {"enabled": named(*names)}}, "pluginConfig": list(config)}])


def error_of(found: Registry, *names: str, config: Sequence[Any] = ()) -> str:
    with pytest.raises(ConfigError) as caught:
        found.profiles(enabling(*names, config=config))
    return str(caught.value)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Installs fake entry points."""

    def install(**values: str) -> None:
        points = [EntryPoint(name.rstrip("_"), value, "kubewasp.plugins") for name, value in values.items()]
        monkeypatch.setattr(registry, "entry_points", lambda *, group: points if group == "kubewasp.plugins" else [])

    return install


def one_point(point: str, name: str, **profile: Any) -> Profile:
    plugins: dict[str, tuple[EnabledPlugin, ...]] = dict.fromkeys(EXTENSION_POINTS, ())
    return Profile("a", 0, plugins | {point: (EnabledPlugin(name, 3),)}, **profile)


# ---------------------------------------------------------------------- what implements what


@pytest.mark.parametrize(
    ("made_by", "points"),
    [
        (Labels, {"score"}),
        (Judge, {"filter"}),
        (Arrays, {"filter"}),
        (Sort, {"queueSort", "preEnqueue"}),
        (ScorePlugin, {"score"}),
    ],
)
def test_the_points_of_a_class_are_the_interfaces_it_implements(made_by: type[Plugin], points: set[str]) -> None:
    assert points_of(made_by) == points


@pytest.mark.parametrize("plugin", DEFAULT_PLUGINS, ids=lambda plugin: plugin.name)
def test_built_in_classes_implement_what_the_table_says(plugin: DefaultPlugin) -> None:
    module, _, class_name = plugin.home.partition(":")
    made_by = getattr(import_module(module), class_name)
    assert made_by.name == plugin.name
    assert points_of(made_by) == plugin.points - {"placementScore"}


# ---------------------------------------------------------------------- Python plugins


def test_a_python_plugin_is_found_by_its_entry_point(installed: Any) -> None:
    installed(Labels="tests.framework.test_registry:Labels")
    [profile] = Registry().profiles(enabling("Labels", config=[{"name": "Labels", "args": {"label": "x"}}]))
    assert profile.plugins["score"][-1] == EnabledPlugin("Labels", 1)
    assert profile.args["Labels"] == {"label": "x"}


def test_a_python_plugin_can_be_handed_in() -> None:
    [profile] = Registry(plugins={"Sort": Sort}).profiles(
        read(profiles=[{"plugins": {"queueSort": {"disabled": named("*"), "enabled": named("Sort")}}}])
    )
    assert profile.names("queueSort") == ("Sort",)


def test_an_entry_point_that_is_not_enabled_is_not_loaded(installed: Any) -> None:
    installed(Broken="no.such.module:Class")
    assert Registry().profiles(read())


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("no.such.module:Class", "cannot be loaded: No module named 'no'"),
        ("tests.framework.test_registry:Host", "is not a subclass of kubewasp.framework.plugin.Plugin"),
        ("tests.framework.test_registry:named", "is not a subclass of kubewasp.framework.plugin.Plugin"),
    ],
)
def test_an_entry_point_that_is_no_plugin_is_refused(installed: Any, value: str, problem: str) -> None:
    installed(Broken=value)
    assert error_of(Registry(), "Broken") == f'profiles[0]: plugin "Broken" ({value}) {problem}'


def test_two_plugins_of_one_name_are_refused(installed: Any) -> None:
    installed(Labels="tests.framework.test_registry:Labels", Labels_="tests.framework.test_registry:Judge")
    assert "a plugin named Labels already exists" in error_of(Registry(), "Labels")
    installed(NodeName="tests.framework.test_registry:Labels")
    assert "a plugin named NodeName already exists" in error_of(Registry(), "X")


def test_a_plugin_that_does_not_exist_is_told_with_its_profile() -> None:
    assert error_of(Registry(), "X") == 'profiles[0].plugins.multiPoint: PreFilterPlugin "X" does not exist'
    assert error_of(Registry(), "NodeResourceFit").endswith("does not exist; did you mean NodeResourcesFit?")


def test_all_profiles_that_cannot_start_are_told() -> None:
    wrong = {"plugins": {"bind": {"disabled": named("*")}}}
    config = read(profiles=[{"schedulerName": "a"} | wrong, {"schedulerName": "b"}, {"schedulerName": "c"} | wrong])
    with pytest.raises(ConfigError) as caught:
        Registry().profiles(config)
    assert [problem.path for problem in caught.value.problems] == [
        "profiles[0].plugins.bind",
        "profiles[2].plugins.bind",
    ]


# ---------------------------------------------------------------------- making plugins


def test_a_plugin_is_made_once_for_all_its_points() -> None:
    profile = one_point("filter", "Labels", args={"Labels": {"x": 1}})
    profile = Profile("a", 0, {**profile.plugins, "score": (EnabledPlugin("Labels", 2),)}, profile.args)
    points = Registry(plugins={"Labels": Labels}).create(profile, handle := object())  # type: ignore[arg-type]
    [(plugin, weight)] = points["score"]
    assert isinstance(plugin, Labels)
    assert (plugin.args, plugin.handle, weight) == ({"x": 1}, handle, 2)
    assert points["filter"] == [(plugin, 3)]
    assert set(points) == set(EXTENSION_POINTS)


def test_a_built_in_plugin_is_imported_when_it_is_made() -> None:
    points = Registry().create(one_point("filter", "NodeName"), None)  # type: ignore[arg-type]
    [(plugin, _)] = points["filter"]
    assert type(plugin).__module__ == "kubewasp.plugins.node_name"


def test_a_wasm_plugin_is_made_by_its_host() -> None:
    settings = WasmPluginSettings("p.wasm")
    profile = one_point("postBind", "policy", wasm={"policy": settings})
    [(plugin, _)] = Registry(wasm=Host()).create(profile, None)["postBind"]  # type: ignore[arg-type]
    assert isinstance(plugin, Guest)
    assert (plugin.name, plugin.settings) == ("policy", settings)


def test_a_plugin_that_cannot_be_made_is_told_by_name() -> None:
    def broken(args: Any, handle: Any) -> Plugin:
        raise KeyError("label")

    with pytest.raises(ConfigError, match="initializing plugin \"Broken\": 'label'"):
        Registry(plugins={"Broken": broken}).create(one_point("score", "Broken"), None)  # type: ignore[dict-item, arg-type]
    with pytest.raises(ConfigError, match="plugin \"Mine\" has the name attribute 'Labels'"):
        Registry(plugins={"Mine": Labels}).create(one_point("score", "Mine"), None)  # type: ignore[arg-type]


# ---------------------------------------------------------------------- wasm plugins

POLICY = {"name": "policy", "args": {"guestURL": "p.wasm"}}


def test_a_wasm_plugin_is_asked_where_its_guest_can_answer() -> None:
    [profile] = Registry(wasm=Host()).profiles(enabling("policy", config=[POLICY]))
    assert profile.names("postBind") == ("policy",)
    assert profile.wasm["policy"].guest_url == "p.wasm"


def test_a_wasm_plugin_added_by_name_is_asked_as_well() -> None:
    [profile] = Registry(wasm=Host()).profiles(read().with_wasm_plugin("policy", "p.wasm"))
    assert profile.names("postBind") == ("policy",)


def test_a_wasm_plugin_that_is_not_enabled_is_not_loaded() -> None:
    [profile] = Registry().profiles(read(profiles=[{"pluginConfig": [POLICY]}]))
    assert profile.names("postBind") == ()


def test_a_wasm_plugin_needs_a_host() -> None:
    assert error_of(Registry(), "policy", config=[POLICY]) == (
        'profiles[0]: "policy" is a wasm plugin, but there is no wasm host'
    )


def test_a_wasm_plugin_cannot_have_the_name_of_a_python_plugin() -> None:
    found = Registry(wasm=Host(), plugins={"policy": Labels})
    assert error_of(found, "policy", config=[POLICY]) == "profiles[0]: a plugin named policy already exists"
