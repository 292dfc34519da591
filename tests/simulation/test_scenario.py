"""Timelines: steps and their times, and invalid scenarios."""

import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubewasp.k8s.errors import ManifestError
from kubewasp.simulation import scenario
from kubewasp.simulation.binding_history import BindingHistory
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from tests.simulation.simulating import Object, filled, node, pending, placed, pod, workload

HOUR = 3600.0


def written(folder: Path, *steps: Any, **more: Any) -> Path:
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump({"kind": "Scenario", "steps": list(steps), **more}), encoding="utf-8")
    return path


def play(folder: Path, objects: list[Object], *steps: Any, **more: Any) -> EmbeddedCluster:
    return played(folder, objects, *steps, **more)[0]


def played(
    folder: Path, objects: list[Object], *steps: Any, **more: Any
) -> tuple[EmbeddedCluster, list[tuple[float, str, str]]]:
    """The cluster at the end, and the bindings on the way."""
    cluster = filled(*objects)
    history = BindingHistory(cluster)
    scenario.run(cluster, scenario.load(written(folder, *steps, **more)))
    return cluster, [(when, bound.name, bound.node) for when, bound in history.bindings]


def error_of(folder: Path, *steps: Any, **more: Any) -> str:
    with pytest.raises(ManifestError) as caught:
        play(folder, [node("a"), pod("web", on="a"), pod("waits", cpu="8")], *steps, **more)
    return str(caught.value).removeprefix(f"{folder / 'scenario.yaml'}: ")


# ---------------------------------------------------------------------- what happens


def test_a_timeline_can_be_played_up_to_a_time(tmp_path: Path) -> None:
    cluster = filled(node("a"))
    steps = scenario.load(written(tmp_path, {"at": 60, "apply": pod("soon")}, {"at": 120, "apply": pod("late")}))
    scenario.run(cluster, steps, until=90)
    assert (placed(cluster), cluster.clock.now()) == ({"soon": "a"}, 90)


def test_a_timeline_may_say_when_it_begins(tmp_path: Path) -> None:
    path = written(tmp_path, startTime="1970-01-01T02:00:00+01:00")
    assert scenario.load(path).start_time == HOUR
    assert scenario.load(written(tmp_path)).start_time is None


def test_things_are_applied_at_their_time(tmp_path: Path) -> None:
    (tmp_path / "late.yaml").write_text(yaml.safe_dump_all([pod("late"), node("b")]))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "later.yaml").write_text(yaml.safe_dump(pod("later")))
    inline = {"apiVersion": "v1", "kind": "List", "items": [pod("inline"), pod("too")]}
    cluster, history = played(
        tmp_path,
        [node("a"), pod("first")],
        {"at": "2h", "apply": [inline, pod("last")]},
        {"at": "1h", "apply": "late.yaml"},
        {"at": 5400, "apply": ["folder"]},
    )
    times = {name: when for when, name, _ in history}
    assert times == {
        "first": 0,
        "late": HOUR,
        "later": 1.5 * HOUR,
        "inline": 2 * HOUR,
        "too": 2 * HOUR,
        "last": 2 * HOUR,
    }
    assert cluster.clock.now() == 2 * HOUR


def test_pods_that_wait_go_where_room_appears(tmp_path: Path) -> None:
    objects = [node("a"), pod("one", cpu="3"), pod("two", cpu="3"), pod("three", cpu="3"), pod("four", cpu="3")]
    _, history = played(
        tmp_path,
        objects,
        {"at": "10m", "delete": {"kind": "Pod", "name": "one"}},
        {"at": "20m", "finish": "default/two"},
        {"at": "30m", "apply": node("b")},
    )
    assert history == [(0, "one", "a"), (600, "two", "a"), (1200, "three", "a"), (1800, "four", "b")]


def test_a_cordoned_node_takes_nothing_until_it_is_open_again(tmp_path: Path) -> None:
    _, history = played(
        tmp_path,
        [node("a"), pod("early")],
        {"at": "1m", "cordon": "a"},
        {"at": "2m", "apply": pod("late")},
        {"at": "1h", "uncordon": "a"},
    )
    assert history == [(0, "early", "a"), (HOUR, "late", "a")]


def test_a_drained_node_loses_its_pods_but_not_its_daemons(tmp_path: Path) -> None:
    objects = [node("a"), workload("DaemonSet", "agent"), workload("StatefulSet", "db", 2), pod("alone")]
    cluster = play(tmp_path, objects, {"at": "1m", "apply": node("b")}, {"at": "2m", "drain": "a"})
    assert placed(cluster) == {"agent-a": "a", "agent-b": "b", "db-0": "b", "db-1": "b"}


def test_a_deleted_node_takes_its_pods_along(tmp_path: Path) -> None:
    objects = [node("a"), workload("ReplicaSet", "web", 1)]
    steps = [{"at": "1m", "apply": node("b")}, {"at": "2m", "delete": {"kind": "Node", "name": "a"}}]
    assert placed(play(tmp_path, objects, *steps)) == {"web-1": "b"}


def test_a_deleted_pod_is_replaced_by_its_controller(tmp_path: Path) -> None:
    step = {"at": "1m", "delete": {"kind": "Pod", "namespace": "default", "name": "web-0"}}
    assert placed(play(tmp_path, [node("a"), workload("ReplicaSet", "web", 1)], step)) == {"web-1": "a"}


def test_a_deleted_workload_takes_its_pods_along(tmp_path: Path) -> None:
    step = {"at": "1m", "delete": {"kind": "Deployment", "name": "web"}}
    assert not placed(play(tmp_path, [node("a"), workload("Deployment", "web", 3)], step))


def test_pods_finish_after_their_lifetime_and_others_follow(tmp_path: Path) -> None:
    """Four pods of three CPUs on one node: each has to wait for the one before, whatever else is on the agenda."""
    objects = [node("a"), *(pod(f"batch-{number}", cpu="3", labels={"app": "batch"}) for number in range(4))]
    lifetimes = [{"selector": {"app": "batch"}, "after": "10m"}]
    cluster, history = played(tmp_path, objects, {"at": "5h", "cordon": "a"}, lifetimes=lifetimes)
    assert [when for when, _, _ in history] == [0, 600, 1200, 1800]
    assert not cluster.pods
    assert cluster.clock.now() == 5 * HOUR


def test_bound_pods_live_from_the_beginning(tmp_path: Path) -> None:
    objects = [node("a"), pod("old", on="a", cpu="3", labels={"app": "batch"}), pod("new", cpu="3")]
    _, history = played(tmp_path, objects, lifetimes=[{"selector": {"app": "batch"}, "after": "10m"}])
    assert history == [(600, "new", "a")]


def test_the_lifetime_is_that_of_one_pod_not_of_its_name(tmp_path: Path) -> None:
    objects = [node("a"), workload("StatefulSet", "db", 1)]
    lifetimes = [{"selector": {"app": "db"}, "after": "10m"}]
    step = {"at": "5m", "delete": {"kind": "Pod", "name": "db-0"}}
    cluster = play(tmp_path, objects, step, {"at": "12m", "apply": pod("other")}, lifetimes=lifetimes)
    assert cluster.clock.now() == 15 * 60
    assert placed(cluster) == {"other": "a"}


def test_of_several_lifetimes_the_first_counts(tmp_path: Path) -> None:
    lifetimes = [{"selector": {"app": "x"}, "after": "1m"}, {"selector": {}, "after": "1h"}]
    objects = [node("a"), pod("short", labels={"app": "x"}), pod("long")]
    cluster = play(tmp_path, objects, {"at": "30m", "apply": pod("more")}, lifetimes=lifetimes)
    assert not cluster.pods
    assert cluster.clock.now() == 1.5 * HOUR


def test_hours_take_no_time(tmp_path: Path) -> None:
    steps = [{"at": f"{hour}h", "apply": pod(f"web-{hour}")} for hour in range(100)]
    began = time.perf_counter()
    cluster = play(tmp_path, [node("a", cpu="100")], *steps)
    assert len(placed(cluster)) == 100
    assert time.perf_counter() - began < 5


def test_the_same_scenario_ends_the_same(tmp_path: Path) -> None:
    objects = [node("a"), node("b"), workload("Deployment", "web", 12, template={"containers": []})]
    steps = [{"at": "1m", "drain": "a"}, {"at": "2m", "uncordon": "a"}, {"at": "3m", "apply": pod("big", cpu="4")}]
    first, second = (played(tmp_path, objects, *steps)[1] for _ in range(2))
    assert first == second


def test_an_empty_scenario_is_a_plain_simulation(tmp_path: Path) -> None:
    cluster = play(tmp_path, [node("a"), pod("web"), pod("huge", cpu="8")])
    assert (placed(cluster), set(pending(cluster))) == ({"web": "a"}, {"huge"})
    assert cluster.clock.now() == 0


def test_unknown_kinds_are_warned_of(tmp_path: Path) -> None:
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    found = scenario.load(written(tmp_path, {"at": 1, "apply": widget}, {"at": 2, "apply": widget}))
    assert found.warnings == ("ignored objects of unsupported kinds: 2 Widget",)


# ---------------------------------------------------------------------- what makes no sense

ONE_ACTION = "expected `at` and one of apply, delete, cordon, uncordon, drain, finish"
DELETE = "expected an object with kind, name and optional namespace"


@pytest.mark.parametrize(
    ("step", "error"),
    [
        ({"at": "1m", "cordon": "ghost"}, "steps[0].cordon: there is no node ghost"),
        ({"at": "1m", "uncordon": "ghost"}, "steps[0].uncordon: there is no node ghost"),
        ({"at": "1m", "drain": "ghost"}, "steps[0].drain: there is no node ghost"),
        ({"at": "1m", "drain": ["a"]}, "steps[0].drain: expected the name of a node, got a list"),
        ({"at": "1m", "finish": "ghost"}, "steps[0].finish: there is no pod default/ghost"),
        (
            {"at": "1m", "finish": "default/waits"},
            "steps[0].finish: pod default/waits cannot finish: it has no node yet",
        ),
        ({"at": "1m", "finish": 5}, "steps[0].finish: expected namespace/name of a pod, got 5"),
        ({"at": "1m", "delete": {"kind": "Pod", "name": "ghost"}}, "steps[0].delete: there is no Pod ghost"),
        ({"at": "1m", "delete": {"kind": "Node", "name": "ghost"}}, "steps[0].delete: there is no Node ghost"),
        ({"at": "1m", "delete": {"kind": "Widget", "name": "x"}}, "steps[0].delete: there is no Widget x"),
        ({"at": "1m", "delete": "web"}, f"steps[0].delete: {DELETE}"),
        ({"at": "1m", "delete": {"kind": "Pod", "name": 5}}, f"steps[0].delete: {DELETE}"),
        ({"at": "1m", "delete": {"kind": "Pod", "name": "web", "nmespace": "x"}}, f"steps[0].delete: {DELETE}"),
        ({"at": "-1m", "cordon": "a"}, 'steps[0].at: expected a time from 0 to ten years, got "-1m"'),
        ({"at": "100000h", "cordon": "a"}, 'steps[0].at: expected a time from 0 to ten years, got "100000h"'),
        ({"at": float("nan"), "cordon": "a"}, 'steps[0].at: expected a duration such as 90s or 5m, got ".nan"'),
        ({"at": float("inf"), "cordon": "a"}, 'steps[0].at: expected a duration such as 90s or 5m, got ".inf"'),
        ({"at": "soon", "cordon": "a"}, 'steps[0].at: expected a duration such as 90s or 5m, got "soon"'),
        ({"at": True, "cordon": "a"}, "steps[0].at: expected a duration such as 90s or 5m, got true"),
        ({"at": None, "cordon": "a"}, "steps[0].at: expected a duration such as 90s or 5m, got null"),
        ({"at": 10**12, "cordon": "a"}, "steps[0].at: expected a time from 0 to ten years, got 1000000000000"),
        ({"at": "1m", "explode": "a"}, f"steps[0]: {ONE_ACTION}"),
        ({"at": "1m"}, f"steps[0]: {ONE_ACTION}"),
        ({"at": "1m", "cordon": "a", "drain": "a"}, f"steps[0]: {ONE_ACTION}"),
        ("cordon a", 'steps[0]: expected an object, got "cordon a"'),
        ({"at": "1m", "apply": 5}, "steps[0].apply: expected a file or an object, got 5"),
        ({"at": "1m", "apply": {"metadata": {"name": "x"}}}, "steps[0].apply: kind is missing"),
        (
            {"at": "1m", "apply": [pod("x"), pod("x")]},
            "steps[0].apply[1]: metadata.name: duplicate Pod default/x, first in {source}: steps[0].apply[0]",
        ),
        (
            {"at": "1m", "apply": pod("x", cpu="-1")},
            'steps[0].apply: spec.containers[0].resources.requests["cpu"]: expected a quantity from 0 to 1e15, '
            'got "-1"',
        ),
        (
            {"at": "1m", "apply": pod("x", priorityClassName="vip")},
            "steps[0].apply: spec.priorityClassName: no PriorityClass with name vip was found",
        ),
        (
            {"at": "1m", "apply": pod("web", on="b")},
            "steps[0].apply: spec.nodeName: pod default/web is already bound to a",
        ),
        ({"at": "1m", "apply": "scenario.yaml"}, "steps[0].apply: a scenario cannot apply another scenario"),
    ],
)
def test_a_step_that_makes_no_sense_is_told(tmp_path: Path, step: Any, error: str) -> None:
    assert error_of(tmp_path, step) == error.replace("{source}", str(tmp_path / "scenario.yaml"))


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"kind": "Pod"}, 'kind: expected Scenario, got "Pod"'),
        ({"stages": []}, "stages: unknown field; there are startTime, steps and lifetimes"),
        ({"steps": {}}, "steps: expected a list, got an object"),
        ({"startTime": "noon"}, 'startTime: expected a time such as 2026-01-05T12:00:00Z, got "noon"'),
        ({"startTime": 5}, "startTime: expected a time such as 2026-01-05T12:00:00Z, got 5"),
        (
            {"startTime": "2026-13-05T12:00:00Z"},
            'startTime: expected a time such as 2026-01-05T12:00:00Z, got "2026-13-05T12:00:00Z"',
        ),
        (
            {"startTime": "2300-01-05T12:00:00Z"},
            'startTime: expected a time in the years 1970 to 2199, got "2300-01-05T12:00:00Z"',
        ),
        ({"lifetimes": [5]}, "lifetimes[0]: expected selector and after"),
        ({"lifetimes": [{"selector": {"a": 1}, "after": "1m"}]}, "lifetimes[0].selector: expected a map of labels"),
        (
            {"lifetimes": [{"selector": {}, "after": "-1m"}]},
            'lifetimes[0].after: expected a time from 0 to ten years, got "-1m"',
        ),
    ],
)
def test_a_scenario_that_makes_no_sense_is_told(tmp_path: Path, more: Any, error: str) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(yaml.safe_dump({"kind": "Scenario", **more}))
    with pytest.raises(ManifestError) as caught:
        scenario.load(path)
    assert str(caught.value) == f"{path}: {error}"


def test_a_file_that_is_missing_is_told_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"none\.yaml: cannot be read"):
        scenario.load(written(tmp_path, {"at": 1, "apply": "none.yaml"}))
    with pytest.raises(ManifestError, match=r"ghost\.yaml: cannot be read"):
        scenario.load(tmp_path / "ghost.yaml")


def test_a_file_has_one_scenario(tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text("kind: Scenario\n---\nkind: Scenario\n")
    with pytest.raises(ManifestError, match="expected one Scenario, found 2 documents"):
        scenario.load(path)
