"""Annotations of Reserve and PreBind on their way to the pod: assumed pod, binding, attempt."""

from kubewasp.framework.handle import SchedulerHandle
from kubewasp.framework.plugin import BindingResult
from kubewasp.framework.runtime import Framework
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.codec import decode
from kubewasp.k8s.pods import Pod
from kubewasp.plugins.default_binder import DefaultBinder
from tests.framework.fakes import Scripted, make_framework
from tests.scheduler.building import Cluster, cluster_of

POINTS = ("queueSort", "preFilter", "filter", "score", "reserve", "permit", "preBind")


def cluster_with(*plugins: Scripted) -> Cluster:
    """A cluster whose pods are bound by the scheduler's client."""

    def frameworks(handle: SchedulerHandle) -> list[Framework]:
        points = make_framework(*plugins, points=POINTS).points
        return [Framework("default-scheduler", {**points, "bind": [(DefaultBinder({}, handle), 0)]})]

    cluster = Cluster(frameworks)
    cluster.node("n0")
    return cluster


def annotations_of(pod: Pod) -> dict[str, str]:
    return (decode("Pod", pod.encoded).get("metadata") or {}).get("annotations") or {}


def on_node(cluster: Cluster) -> list[dict[str, str]]:
    """Annotations of the pods on the node, as other pods' plugins see them."""
    return [annotations_of(pod) for pod in cluster.scheduler.table.pods_on[0].values()]


def test_annotations_go_with_the_binding() -> None:
    chosen, bound = BindingResult(annotations={"gpu": "2"}), BindingResult(annotations={"numa": "0"})
    cluster = cluster_with(Scripted("A", reserve=chosen), Scripted("B", pre_bind=bound))
    cluster.pod("web")
    attempt = cluster.one()
    assert cluster.annotations == {"web": {"gpu": "2", "numa": "0"}}
    assert [(item.key, item.value, item.plugin) for item in attempt.annotations] == [
        ("gpu", "2", "A"),
        ("numa", "0", "B"),
    ]


def test_a_pod_without_annotations_is_bound_without() -> None:
    cluster = cluster_with(Scripted("A"))
    cluster.pod("web")
    assert (cluster.one().annotations, cluster.annotations) == ((), {"web": {}})


def test_the_assumed_pod_has_them_on_its_node_before_it_is_bound() -> None:
    reserve = BindingResult(annotations={"gpu": "2"})
    plugin = Scripted("A", reserve=reserve, permit=(Status(Code.WAIT), 60.0))
    cluster = cluster_with(plugin)
    pod = cluster.pod("web")
    attempt = cluster.one()
    assert (attempt.is_waiting, [item.value for item in attempt.annotations]) == (True, ["2"])
    assert on_node(cluster) == [{"gpu": "2"}]
    (waiting,) = cluster.scheduler.handle.waiting_pods()
    assert decode("Pod", waiting)["metadata"]["annotations"] == {"gpu": "2"}
    cluster.allow(pod, "A")
    assert cluster.annotations == {"web": {"gpu": "2"}}


def test_annotations_of_pre_bind_are_on_the_node_while_the_bind_is_under_way() -> None:
    plugin = Scripted("A", pre_bind=BindingResult(annotations={"gpu": "2"}), bind=Status(Code.WAIT))
    cluster = cluster_of(plugin, nodes=("n0",))
    pod = cluster.pod("web")
    attempt = cluster.one()
    assert (attempt.is_binding, [item.key for item in attempt.annotations]) == (True, ["gpu"])
    assert on_node(cluster) == [{"gpu": "2"}]
    cluster.scheduler.bound(pod.uid, SUCCESS)
    assert [item.key for item in cluster.settled[0].annotations] == ["gpu"]


def test_a_placement_that_is_undone_leaves_no_annotations() -> None:
    plugin = Scripted(
        "A", reserve=BindingResult(annotations={"gpu": "2"}), pre_bind=Status(Code.ERROR, "no such volume")
    )
    cluster = cluster_with(plugin)
    pod = cluster.pod("web")
    attempt = cluster.one()
    assert (attempt.is_error, attempt.annotations) == (True, ())
    assert (on_node(cluster), cluster.annotations) == ([], {})
    plugin.answers["reserve"], plugin.answers["pre_bind"] = SUCCESS, SUCCESS
    cluster.pass_time(100)
    assert cluster.one().node == "n0"
    assert (cluster.annotations, annotations_of(pod)) == ({"web": {}}, {})


def test_a_conflict_between_plugins_is_an_error_of_the_attempt() -> None:
    results = {name: BindingResult(annotations={"gpu": name}) for name in "AB"}
    cluster = cluster_with(Scripted("A", reserve=results["A"]), Scripted("B", pre_bind=results["B"]))
    cluster.pod("web")
    attempt = cluster.one()
    assert attempt.is_error
    assert attempt.message == (
        'running PreBind plugin "B": annotation "gpu": plugin "B" has the value "B", plugin "A" has "A"'
    )
    assert cluster.annotations == {}
