from typing import Any

import pytest
from kubewasp_sdk import ConfigError, NodeInfo
from kubewasp_sdk.testing import make_node, make_pod, run

from plugin import NodeNumber, last_digit


def nodes() -> list[NodeInfo]:
    return [make_node("node-1"), make_node("node-12"), make_node("node-3"), make_node("spare")]


def scores(pod: str, **config: Any) -> dict[str, int]:
    return dict(run(NodeNumber, make_pod(pod), nodes(), config=config).scores)


def test_a_pod_likes_the_node_with_its_number() -> None:
    assert scores("web-3") == {"node-1": 0, "node-12": 0, "node-3": 10, "spare": 0}
    assert run(NodeNumber, make_pod("web-3"), nodes()).node == "node-3"


def test_only_the_last_digit_counts() -> None:
    assert scores("web-42") == {"node-1": 0, "node-12": 10, "node-3": 0, "spare": 0}


def test_reverse_turns_it_around_but_a_node_without_a_number_never_scores() -> None:
    assert scores("web-3", reverse=True) == {"node-1": 10, "node-12": 10, "node-3": 0, "spare": 0}


@pytest.mark.parametrize("reverse", [False, True])
def test_a_pod_without_a_number_likes_no_node(reverse: bool) -> None:
    assert set(scores("web-3a", reverse=reverse).values()) == {0}


def test_a_reserved_number_is_closed_to_everybody() -> None:
    outcome = run(NodeNumber, make_pod("web-3"), nodes(), config={"reserved": 3})
    assert outcome.rejected == {"node-3": "node number 3 is reserved"}


@pytest.mark.parametrize(("name", "digit"), [("web-0", "0"), ("9", "9"), ("", ""), ("web-", ""), ("web-1a", "")])
def test_the_last_digit_of_a_name(name: str, digit: str) -> None:
    assert last_digit(name) == digit


def test_pods_with_the_same_digit_have_the_same_signature() -> None:
    plugin = NodeNumber()
    assert plugin.signature(make_pod("web-3")) == plugin.signature(make_pod("db-13"))
    assert plugin.signature(make_pod("web-3")) != plugin.signature(make_pod("web-30"))
    assert plugin.signature(make_pod("web")) is not None


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"reverse": 1}, "config.reverse: expected true or false, got 1"),
        ({"reserved": 10}, "reserved must be a digit, 0 to 9, not 10"),
        ({"revers": True}, 'revers: unknown field; did you mean "reverse"'),
    ],
)
def test_a_bad_configuration_is_refused(config: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        run(NodeNumber, make_pod(), nodes(), config=config)
