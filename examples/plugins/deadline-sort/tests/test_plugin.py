from datetime import UTC, datetime
from typing import Any

import pytest
from kubewasp_sdk import Action, Change, Code, ConfigError, Pod
from kubewasp_sdk.testing import FakeCluster, make_node, make_pod, run

from plugin import DeadlineSort

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)


def due(name: str, deadline: str | None, *, priority: int = 0) -> Pod:
    annotations = {} if deadline is None else {"kubewasp.dev/deadline": deadline}
    return make_pod(name, annotations=annotations, priority=priority)


def in_order(*pods: Pod, **config: Any) -> list[str]:
    cluster = FakeCluster(now=NOW)
    return [pod.name for pod in cluster.queue(cluster.start(DeadlineSort, config), pods)]


def test_the_earliest_deadline_comes_first() -> None:
    pods = (
        due("later", "2026-01-06T00:00:00Z"),
        due("soon", "2026-01-05T13:00:00Z"),
        due("next", "2026-01-05T18:00:00Z"),
    )
    assert in_order(*pods) == ["soon", "next", "later"]


def test_time_zones_and_fractions_count() -> None:
    pods = due("b", "2026-01-05T13:00:00.5Z"), due("c", "2026-01-05T13:00:01Z"), due("a", "2026-01-05T13:30:00+01:00")
    assert in_order(*pods) == ["a", "b", "c"]


def test_pods_without_a_deadline_come_last_whatever_their_priority() -> None:
    assert in_order(due("vip", None, priority=1000), due("due", "2026-01-09T00:00:00Z")) == ["due", "vip"]


def test_of_equal_deadlines_the_higher_priority_comes_first_and_then_who_came_first() -> None:
    same = "2026-01-05T18:00:00Z"
    assert in_order(due("a", same), due("b", same), due("vip", same, priority=5)) == ["vip", "a", "b"]
    assert in_order(due("a", None), due("low", None, priority=-5), due("vip", None, priority=5)) == ["vip", "a", "low"]


def test_pods_past_their_deadline_come_first_or_last() -> None:
    pods = due("none", None), due("soon", "2026-01-05T13:00:00Z"), due("missed", "2026-01-05T11:00:00Z")
    assert in_order(*pods) == ["missed", "soon", "none"]
    assert in_order(*pods, late="last") == ["soon", "none", "missed"]


@pytest.mark.parametrize("deadline", ["tomorrow", "", "2026-01-05", "2026-01-05T18:00:00", "2026-13-05T18:00:00Z"])
def test_a_deadline_that_cannot_be_read_keeps_the_pod_out_of_the_queue(deadline: str) -> None:
    outcome = run(DeadlineSort, due("web", deadline), [make_node()])
    assert outcome.status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert outcome.reason == (
        "annotation kubewasp.dev/deadline: expected a time with its zone, such as 2026-01-05T18:00:00Z, "
        f'got "{deadline}"'
    )


@pytest.mark.parametrize("deadline", [None, "2026-01-05T18:00:00Z"])
def test_other_pods_are_let_in(deadline: str | None) -> None:
    assert run(DeadlineSort, due("web", deadline), [make_node()]).node == "node"


def test_only_a_change_of_the_pod_itself_helps_it() -> None:
    plugin, pod = DeadlineSort(), due("web", "tomorrow")
    assert plugin.queueing_hint(pod, Change("Pod", Action.UPDATE_OTHER, pod, pod))
    assert not plugin.queueing_hint(pod, Change("Pod", Action.UPDATE_OTHER, pod, due("other", None)))


def test_the_annotation_is_configurable() -> None:
    first = make_pod("first", annotations={"example.com/due": "2026-01-05T13:00:00Z"})
    assert in_order(make_pod("second"), first, annotation="example.com/due") == ["first", "second"]


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"late": "never"}, "config.late: expected one of 'first', 'last', got \"never\""),
        ({"annotation": ""}, "config: annotation must not be empty"),
    ],
)
def test_a_bad_configuration_is_refused(config: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        in_order(**config)
