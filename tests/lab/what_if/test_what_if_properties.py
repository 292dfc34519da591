"""Properties of drains on generated clusters: what stays is said to stay, and no budget is exceeded."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubewasp.k8s.pods import Pod
from kubewasp.lab.what_if import eviction, questions
from kubewasp.lab.what_if.what_if_trial import Trial
from tests.lab.what_if.asking import asking, budget, workload
from tests.simulation.simulating import Object, node, pod

SOME = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
KINDS = ("Deployment", "StatefulSet", "ReplicaSet", "Job")


@st.composite
def clusters(draw: st.DrawFn) -> list[Object]:
    objects = [node(name, cpu=str(draw(st.integers(1, 6)))) for name in "abc"]
    for number in range(draw(st.integers(1, 3))):
        name = f"w{number}"
        kind, count = draw(st.sampled_from(KINDS)), draw(st.integers(1, 5))
        objects.append(workload(kind, name, count, cpu=draw(st.sampled_from(("500m", "1", "2")))))
        limits: list[dict[str, Any]] = [{"minAvailable": n} for n in range(4)]
        limits += [{"maxUnavailable": n} for n in range(3)] + [{"maxUnavailable": "30%"}]
        if (limit := draw(st.none() | st.sampled_from(limits))) is not None:
            objects.append(budget(name, **limit))
    if draw(st.booleans()):
        objects.append(workload("DaemonSet", "agent", cpu="0"))
    if draw(st.booleans()):
        objects.append(pod("bare", on="a", cpu="1"))
    return objects


@SOME
@given(objects=clusters(), nodes=st.sets(st.sampled_from("abc"), min_size=1, max_size=2))
def test_after_a_drain_only_what_is_said_to_stay_is_there(objects: list[Object], nodes: set[str]) -> None:
    trial = asking(*objects)
    before = {each.uid: each for each in trial.cluster.pods.values()}
    found = questions.drain_nodes(trial, sorted(nodes))
    left = {each.key for name in nodes for each in trial.cluster.objects.pods_on(name)}
    assert left == {kept.pod for kept in found.answer.kept}
    # Every pod of a drained node is accounted for, once.
    gone = [each.key for each in before.values() if each.node in nodes and each.key not in left]
    touched = [change.pod for change in found.answer.changes]
    assert len(touched) == len(set(touched))
    assert set(gone) <= set(touched)
    assert all(change.to not in nodes for change in found.answer.changes)
    # Pods with a controller are as many as before.
    lost = len(found.answer.of_kind("lost"))
    assert len(trial.cluster.pods) == len(before) - lost


@SOME
@given(objects=clusters(), nodes=st.sets(st.sampled_from("abc"), min_size=1, max_size=2))
def test_no_pod_is_evicted_past_its_budget(objects: list[Object], nodes: set[str]) -> None:
    trial = asking(*objects)
    problems = []
    removed = trial.cluster.objects.remove_pod

    def watched(evicted: Pod) -> None:
        problems.append(_past_budget(trial, evicted))
        removed(evicted)

    trial.cluster.objects.remove_pod = watched  # type: ignore[method-assign]
    done = eviction.drain(trial, sorted(nodes))
    assert len(problems) == len(done.evicted)
    assert not any(problems)


def _past_budget(trial: Trial, evicted: Pod) -> bool:
    """Whether fewer pods than the budget wants are left on nodes without the evicted one, counted anew."""
    for item in trial.given.objects.others:
        app = item["spec"]["selector"]["matchLabels"]["app"]
        pods = [each for each in trial.cluster.pods.values() if each.labels.get("app") == app]
        if evicted.labels.get("app") != app:
            continue
        running = sum(bool(each.node) for each in pods) - 1
        least = item["spec"].get("minAvailable")
        if least is None:
            most = item["spec"]["maxUnavailable"]
            most = -(-len(pods) * 30 // 100) if most == "30%" else most
            least = len(pods) - most
        if running < least:
            return True
    return False


@SOME
@given(objects=clusters(), count=st.integers(1, 3))
def test_nodes_added_and_lost_again_leave_pods_that_were_placed_where_they_were(
    objects: list[Object], count: int
) -> None:
    trial = asking(*objects)
    before = {each.key: each.node for each in trial.cluster.pods.values() if each.node}
    _, names = questions.add_like(trial, "a", count)
    questions.remove_nodes(trial, names)
    assert {key: trial.cluster.pods[key].node for key in before} == before
    assert list(trial.cluster.objects.node_manifests) == ["a", "b", "c"]
