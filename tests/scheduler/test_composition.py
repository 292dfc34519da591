"""From a configuration to a running scheduler: built-in, Python and wasm plugins."""

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from kubewasp.framework import registry
from kubewasp.framework.config.model import ConfigError
from kubewasp.framework.plugin import NodeByNode, PreEnqueuePlugin, rejection
from kubewasp.framework.status import SUCCESS, Status
from tests.framework.configs import named
from tests.simulation.simulating import config, node, pending, placed, pod, profile, settled, started


class Names(NodeByNode):
    """Rejects a node by name, and prefers the node with the fewest pods."""

    name = "Names"

    def __init__(self, args: dict[str, Any], handle: Any) -> None:
        self.closed = args.get("closed", "")

    def filter_node(self, state: Any, pod: Any, node: Any, pods: Any) -> Status:
        return rejection("closed by name", resolvable=False) if node.name == self.closed else SUCCESS

    def score_node(self, state: Any, pod: Any, node: Any, pods: Any) -> int:
        return 100 - len(pods)


class Gate(PreEnqueuePlugin):
    """Holds every pod back."""

    name = "Gate"

    def __init__(self, args: Any, handle: Any) -> None: ...

    def pre_enqueue(self, pod: Any) -> Status:
        return rejection("not today", resolvable=False)


class Broken(Names):
    name = "Broken"

    def __init__(self, args: Any, handle: Any) -> None:
        raise ValueError("no licence")


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [
        EntryPoint(cls.name, f"{__name__}:{cls.__name__}", registry.ENTRY_POINTS) for cls in (Names, Gate, Broken)
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: entries)


def enabling(*names: str, args: Any = None) -> Any:
    found = profile()
    found["plugins"]["multiPoint"]["enabled"] = named(*names)
    if args is not None:
        found["pluginConfig"] = [{"name": names[0], "args": args}]
    return config(found)


def test_a_python_plugin_filters_and_scores_node_by_node() -> None:
    nodes = [node("a"), node("b", cpu="16"), node("c")]
    pods = [pod(f"web-{number}") for number in range(4)]
    cluster = settled(*nodes, *pods, pod("huge", cpu="8"), config=enabling("Names", args={"closed": "b"}))
    assert sorted(placed(cluster).values()) == ["a", "a", "c", "c"]
    told = "0/3 nodes are available: 1 closed by name, 2 Insufficient cpu. "
    assert pending(cluster)["huge"].startswith(told)


def test_a_python_plugin_at_another_point() -> None:
    cluster = settled(node("a"), pod("web"), config=enabling("Gate"))
    assert pending(cluster) == {"web": "not today"}


def test_profiles_have_plugins_of_their_own() -> None:
    plain, closing = profile(scheduler="plain"), profile(scheduler="closing")
    closing["plugins"]["multiPoint"]["enabled"] = named("Names")
    closing["pluginConfig"] = [{"name": "Names", "args": {"closed": "a"}}]
    pods = [pod("one", schedulerName="plain"), pod("two", schedulerName="closing")]
    cluster = settled(node("a"), *pods, config=config(plain, closing))
    assert placed(cluster) == {"one": "a"}
    assert pending(cluster)["two"].startswith("0/1 nodes are available: 1 closed by name.")


def test_plugins_that_do_not_exist_or_do_not_start_are_told() -> None:
    with pytest.raises(ConfigError, match="Nonsense"):
        started(enabling("Nonsense"))
    with pytest.raises(ConfigError, match='initializing plugin "Broken": no licence'):
        started(enabling("Broken"))


def test_the_backoff_of_the_configuration_counts() -> None:
    cluster = started(config(profile(), podInitialBackoffSeconds=3, podMaxBackoffSeconds=7))
    tuning = cluster.scheduler.profiles.stable.tuning
    assert (tuning.initial_backoff, tuning.max_backoff) == (3, 7)
