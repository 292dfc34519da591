"""docs/sdk-python.md: code that runs with the shown results, and a complete reference."""

import inspect
import re
from pathlib import Path
from typing import Any

import kubewasp_sdk
import pytest
from kubewasp_sdk import (
    Action,
    Change,
    ClusterEvent,
    Code,
    ConfigError,
    Container,
    Node,
    NodeInfo,
    Nodes,
    Owner,
    Plugin,
    Pod,
    Resources,
    Status,
    Taint,
    Toleration,
    testing,
)
from kubewasp_sdk.guest import implemented_hooks
from kubewasp_sdk.plugin import METHODS, WANTS
from kubewasp_sdk.testing import FakeCluster, Outcome, make_node, make_pod, run

PAGE = Path(__file__).parents[2] / "docs" / "sdk-python.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```py\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
HOOKS = (*METHODS.values(), "events", "signature")
# Methods of nodes that are there for the scheduler, and for the fakes.
NOT_FOR_PLUGINS = {
    "replace_object",
    "replace_numbers",
    "set_sends_pods",
    "object_text",
    "all_pods",
    "put_pod",
    "drop_pod",
    "put",
    "remove",
}


def public_names(*classes: type) -> list[str]:
    """Attributes of the classes and their bases, without those of tuple, int and dict."""
    names = set()
    for owner in (base for item in classes for base in item.__mro__ if base.__module__.startswith("kubewasp_sdk")):
        names |= {name for name in (*vars(owner), *vars(owner).get("__annotations__", {})) if name[0] != "_"}
    return sorted(names - NOT_FOR_PLUGINS)


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """Everything that the code of the page defines, run from top to bottom; its assertions hold."""
    names: dict[str, Any] = {"__name__": "page"}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"{PAGE.name}, block {number}", "exec", dont_inherit=True), names)
    return names


# ---------------------------------------------------------------------- the code of the page


def test_the_tests_of_the_page_pass(page: dict[str, Any]) -> None:
    tests = [item for name, item in page.items() if name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        test()


def test_the_plugins_of_the_page_have_the_hooks_they_seem_to_have(page: dict[str, Any]) -> None:
    plugins = {
        name: set(implemented_hooks(item))
        for name, item in page.items()
        if isinstance(item, type) and issubclass(item, Plugin) and item is not Plugin
    }
    assert plugins == {
        "SpotOnly": {"filter", "score"},
        "Pair": {"permit"},
        "AvoidNoisy": {"prefilter", "filter"},
        "Cheap": {"filter"},
        "SpotSooner": {"filter", "score", "enqueue", "queueinghint"},
        "ByTeam": {"prefilter", "score"},
        "GpuIndex": {"reserve"},
    }


def test_each_pod_gets_a_gpu_of_its_own(page: dict[str, Any]) -> None:
    cluster = FakeCluster(make_node("a", allocatable={"nvidia.com/gpu": 2}))
    plugin = cluster.start(page["GpuIndex"])
    outcomes = [cluster.schedule(plugin, make_pod(name)) for name in "abc"]
    assert [outcome.annotations.get("example.com/gpu-index") for outcome in outcomes] == ["0", "1", None]
    assert outcomes[2].reason == "all GPUs are taken"


def test_the_state_of_the_page_is_carried_from_hook_to_hook(page: dict[str, Any]) -> None:
    nodes = [make_node("loud", labels={"music": "yes"}), make_node("quiet")]
    picky = make_pod(annotations={"example.com/avoid": "music"})
    assert run(page["AvoidNoisy"], picky, nodes).rejected == {"loud": "node is noisy"}
    assert run(page["AvoidNoisy"], make_pod(), nodes).rejected == {}


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"prices": {"a": 3}, "max_price": 1}, "config.prices: every zone costs more than maxPrice"),
        ({"prices": {"a": 3}, "maxPrice": 0}, "config: maxPrice must be more than 0"),
        ({"maxPrice": 1}, "config.prices: missing"),
        ({"maxPrice": "1", "prices": {}}, 'config.maxPrice: expected a number, got "1"'),
    ],
)
def test_the_configuration_of_the_page_is_checked(page: dict[str, Any], config: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        FakeCluster().start(page["Cheap"], config)


def test_the_configuration_of_the_page_is_used(page: dict[str, Any]) -> None:
    nodes = [make_node(zone, labels={"topology.kubernetes.io/zone": zone}) for zone in ("a", "b")]
    config = {"maxPrice": 2, "prices": {"a": 3, "b": 1}}
    assert run(page["Cheap"], make_pod(), nodes, config=config).rejected == {"a": "zone is too expensive"}
    cheap = page["Cheap"](page["Prices"](2, {"b": 1}))
    assert [cheap.filter({}, make_pod(), node) for node in nodes] == ["zone is too expensive", None]


def test_the_hint_of_the_page_looks_at_the_change(page: dict[str, Any]) -> None:
    plugin = FakeCluster().start(page["SpotSooner"], {})
    assert plugin.events() == [ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL)]
    spot, other = (Change("Node", Action.ADD, new=make_node("n", labels={"lifecycle": kind})) for kind in ("spot", "x"))
    assert plugin.queueing_hint(make_pod(), spot)
    assert not plugin.queueing_hint(make_pod(), other)


def test_pods_of_the_page_with_equal_signatures_get_equal_scores(page: dict[str, Any]) -> None:
    plugin, node = page["ByTeam"](), make_node("n", labels={"team": "a"})
    pods = [make_pod(labels={"team": team} if team else {}) for team in ("a", "a", "b", "")]
    found = {plugin.signature(pod): plugin.score({}, pod, node) for pod in pods}
    assert found == {"a": 100, "b": 0, "": 0}
    assert [plugin.score({}, pod, node) for pod in pods] == [found[plugin.signature(pod)] for pod in pods]


# ---------------------------------------------------------------------- what the page must name


@pytest.mark.parametrize("hook", HOOKS)
def test_the_page_has_every_hook_with_its_parameters(hook: str) -> None:
    parameters = list(inspect.signature(getattr(Plugin, hook)).parameters)[1:]
    assert f"`{hook}({', '.join(parameters)})`" in TEXT


@pytest.mark.parametrize("name", sorted({*kubewasp_sdk.__all__, *testing.__all__}))
def test_the_page_has_every_public_name(name: str) -> None:
    assert re.search(rf"`(?:class \w+\()?{name}\b", TEXT)


@pytest.mark.parametrize("name", [name for name in public_names(Plugin) if name not in HOOKS])
def test_the_page_has_what_a_plugin_may_ask_and_say(name: str) -> None:
    assert re.search(rf"`(?:self\.)?{name}\b", TEXT)


@pytest.mark.parametrize("name", WANTS)
def test_the_page_has_what_a_plugin_may_want(name: str) -> None:
    assert f'`"{name}"`' in TEXT


@pytest.mark.parametrize(
    "name",
    public_names(Pod, Node, NodeInfo, Container, Owner, Taint, Toleration, Resources, Status, Change, ClusterEvent),
)
def test_the_page_has_every_attribute_of_objects(name: str) -> None:
    assert re.search(rf"`(?:\w+\.)?{name}\b", TEXT)


@pytest.mark.parametrize("name", public_names(Nodes, FakeCluster, Outcome))
def test_the_page_has_what_clusters_and_outcomes_tell(name: str) -> None:
    assert re.search(rf"`(?:self\.nodes\.)?{name}\b", TEXT)


@pytest.mark.parametrize("member", [*Code, *(item for item in Action.__members__.values())], ids=str)
def test_the_page_has_every_code_and_action(member: Code | Action) -> None:
    assert f"`{type(member).__name__}.{member.name}`" in TEXT


@pytest.mark.parametrize("make", [make_pod, make_node], ids=["make_pod", "make_node"])
def test_the_page_has_every_part_that_a_fake_can_be_given(make: Any) -> None:
    row = next(line for line in TEXT.splitlines() if line.startswith(f"| `{make.__name__}(name, …)`"))
    named = re.findall(r"`(\w+)`", row.split("|", 2)[2])
    assert named == list(inspect.signature(make).parameters)[1:]
