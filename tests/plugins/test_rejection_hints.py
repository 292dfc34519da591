"""Hints of built-in plugins: what a rejected node would need, beyond the reason."""

from typing import Any

import pytest

from kubewasp.framework.plugin import RejectionHints
from tests.explain.explaining import explained, hints, of
from tests.plugins import storage_building as storage
from tests.simulation.simulating import DEFAULT, Object, node, pod, started

ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def needs(*objects: Object, name: str = "a") -> list[str]:
    """The hints for the pod `web` on a node."""
    return hints(explained("web", *objects))[name]


def placed(name: str, on: str, **labels: str) -> Object:
    return pod(name, on=on, labels=labels)


# ---------------------------------------------------------------------- nodes


@pytest.mark.parametrize(
    ("body", "fields", "expected"),
    [
        (node("a", cpu="1"), {"cpu": "1500m"}, ["500m more cpu (allocatable 1)"]),
        (node("a", memory="1Gi"), {"memory": "3Gi"}, ["2Gi more memory (allocatable 1Gi)"]),
        (node("a", cpu="1", memory="1Gi"), {"cpu": "2", "memory": "2Gi"},
         ["1 more cpu (allocatable 1)", "1Gi more memory (allocatable 1Gi)"]),
        (node("a", pods="0"), {}, ["room for a pod (0 of 0)"]),
        (node("a"), {"nodeSelector": {"disk": "ssd"}}, ["label disk=ssd"]),
        (node("a", disk="hdd"), {"nodeSelector": {"disk": "ssd"}}, ["label disk=ssd (is hdd)"]),
        (node("a", taints=[{"key": "x", "effect": "NoExecute"}]), {}, ["toleration of x:NoExecute"]),
        (node("a", taints=[{"key": "x", "value": "1", "effect": "NoSchedule"}, {"key": "y", "effect": "NoSchedule"}]),
         {}, ["toleration of x=1:NoSchedule", "toleration of y:NoSchedule"]),
    ],
)  # fmt: skip
def test_what_a_node_lacks(body: Object, fields: dict[str, Any], expected: list[str]) -> None:
    assert needs(body, pod("web", **fields)) == expected


def test_resources_taken_by_other_pods_and_extended_resources_are_counted() -> None:
    busy = node("a")
    busy["status"]["allocatable"]["example.com/gpu"] = "2"
    requests = {"cpu": "3", "example.com/gpu": "4"}
    web = pod("web", containers=[{"name": "main", "resources": {"requests": requests, "limits": requests}}])
    assert needs(busy, pod("old", on="a", cpu="2500m"), web) == [
        "1500m more cpu",
        "2 more example.com/gpu (allocatable 2)",
    ]


def test_a_cordoned_node() -> None:
    closed = node("a")
    closed["spec"]["unschedulable"] = True
    assert needs(closed, pod("web")) == ["to be uncordoned"]


def affinity(*terms: list[Object]) -> Object:
    listed = [{"matchExpressions": expressions} for expressions in terms]
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": listed}}}


def expression(key: str, operator: str, *values: str) -> Object:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (expression("disk", "In", "ssd", "nvme"), "label disk in (ssd, nvme) (is hdd)"),
        (expression("disk", "NotIn", "hdd", "tape"), "label disk other than hdd"),
        (expression("gpu", "Exists"), "label gpu"),
        (expression("disk", "DoesNotExist"), "no label disk"),
        (expression("cores", "Gt", "8"), "label cores>8 (is 4)"),
        (expression("size", "Lt", "8"), "label size<8"),
        (expression("z", "In", "a", "b", "c", "d", "e"), "label z in (a, b, c and 2 more)"),
    ],
)
def test_each_operator_of_node_affinity(found: Object, text: str) -> None:
    assert needs(node("a", disk="hdd", cores="4"), pod("web", affinity=affinity([found]))) == [text]


def test_of_several_terms_the_nearest_is_shown() -> None:
    far = [expression("gpu", "Exists"), expression("disk", "In", "ssd")]
    near = [expression("disk", "In", "hdd"), expression("fast", "Exists")]
    assert needs(node("a", disk="hdd"), pod("web", affinity=affinity(far, near))) == [
        "label fast, or another of 2 terms"
    ]


def test_the_holder_of_a_host_port_is_named() -> None:
    def ported(name: str, *ports: Object, **more: Any) -> Object:
        return pod(name, containers=[{"name": "main", "ports": list(ports)}], **more)

    old = ported("old", {"containerPort": 1, "hostPort": 80}, on="a")
    new = ported(
        "web", {"containerPort": 1, "hostPort": 80, "hostIP": "10.0.0.1"}, {"containerPort": 2, "hostPort": 81}
    )
    assert needs(node("a"), old, new) == ["host port 80/TCP on 10.0.0.1, held by default/old"]


# ---------------------------------------------------------------------- other pods


def pod_affinity(kind: str, key: str, **labels: str) -> Object:
    return {kind: {REQUIRED: [{"topologyKey": key, "labelSelector": {"matchLabels": labels}}]}}


def test_affinity_names_the_missing_pod_and_the_domain() -> None:
    web = pod("web", affinity=pod_affinity("podAffinity", ZONE, app="cache"))
    found = explained("web", node("a", zone="x"), node("b"), placed("cache", "b", app="cache"), web)
    assert hints(found) == {"a": [f"a pod with app=cache in {ZONE}=x"], "b": [f"label {ZONE}"]}


def test_anti_affinity_names_the_pods_in_the_way() -> None:
    web = pod("web", affinity=pod_affinity("podAntiAffinity", ZONE, app="db"))
    nodes = [node("a", zone="x"), node("b", zone="x")]
    assert needs(*nodes, placed("db", "b", app="db"), placed("other", "b"), web) == [
        f"no default/db in {ZONE}=x (anti-affinity app=db)"
    ]
    many = [placed(f"db-{number}", "b", app="db") for number in range(5)]
    assert needs(*nodes, *many, web) == [
        f"no default/db-0, default/db-1, default/db-2 and 2 more in {ZONE}=x (anti-affinity app=db)"
    ]


def test_pods_that_repel_the_pod_are_named() -> None:
    lonely = pod("db", on="b", affinity=pod_affinity("podAntiAffinity", ZONE, app="web"))
    web = pod("web", labels={"app": "web"})
    assert needs(node("a", zone="x"), node("b", zone="x"), lonely, web) == [
        f"no default/db in {ZONE}=x (its anti-affinity)"
    ]


def spread(**more: Any) -> list[Object]:
    selector = {"matchLabels": {"app": "web"}}
    return [{"topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1, "labelSelector": selector} | more]


def test_a_spread_constraint_names_domain_and_skew() -> None:
    web = pod("web", labels={"app": "web"}, topologySpreadConstraints=spread())
    nodes = [node("a", zone="x"), node("b", zone="y", cpu="0"), node("c")]
    others = [placed(f"web-{number}", "a", app="web") for number in range(3)]
    found = explained("web", *nodes, *others, web)
    assert hints(found)["a"] == [f"3 fewer of 3 pods with app=web in {ZONE}=x (maxSkew 1, least 0)"]
    assert hints(found)["c"] == [f"label {ZONE}"]


def test_a_spread_constraint_with_too_few_domains() -> None:
    web = pod("web", labels={"app": "web"}, topologySpreadConstraints=spread(minDomains=3))
    assert needs(node("a", zone="x"), placed("web-0", "a", app="web"), web) == [
        f"1 fewer of 1 pods with app=web in {ZONE}=x (maxSkew 1, minDomains 3, there are 1)"
    ]


# ---------------------------------------------------------------------- volumes


def mounted(*claims: str, **more: Any) -> Object:
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    return pod("web", volumes=volumes, **more)


def test_a_missing_claim_is_named() -> None:
    assert needs(node("a"), mounted("data")) == ["PersistentVolumeClaim default/data"]


def test_a_claim_of_an_immediate_class_is_named() -> None:
    objects = [storage.storage_class("slow", delayed=False), node("a")]
    [text] = needs(*objects, storage.claim("data", storage_class="slow"), mounted("data"))
    assert text == "claim data bound to a volume"


def test_the_labels_of_a_volume_are_named() -> None:
    volume = storage.volume("pv-1", claim="default/data", affinity={ZONE: ["x"]}, phase="Bound")
    claim = storage.claim("data", volume="pv-1")
    assert needs(node("a", zone="y"), volume, claim, mounted("data")) == [
        f"label {ZONE}=x (is y), where volume pv-1 is"
    ]


def test_the_zone_of_a_volume_is_named() -> None:
    volume = storage.volume("pv-1", claim="default/data", labels={ZONE: "x"}, phase="Bound")
    claim = storage.claim("data", volume="pv-1")
    found = of(explained("web", node("a", zone="y"), volume, claim, mounted("data")), "a")
    assert (found.rejected_by, found.hints) == ("VolumeZone", [f"label {ZONE}=x (is y), where volume pv-1 is"])


def test_a_missing_volume_of_a_delayed_class_is_named() -> None:
    objects = [storage.storage_class("local", provisioner="kubernetes.io/no-provisioner"), node("a")]
    assert needs(*objects, storage.claim("data", storage_class="local"), mounted("data")) == [
        "a free volume of 5Gi in class local, for claim data"
    ]


def test_the_user_of_an_exclusive_claim_is_named() -> None:
    claim = storage.claim("data", volume="pv-1", modes=["ReadWriteOncePod"])
    volume = storage.volume("pv-1", claim="default/data", modes=["ReadWriteOncePod"], phase="Bound")
    user = {**mounted("data", on="b"), "metadata": {"name": "old"}}
    assert needs(node("a"), node("b"), claim, volume, user, mounted("data")) == [
        "claim data free, default/old on b uses it"
    ]


def test_the_user_of_a_disk_is_named() -> None:
    disk = [{"name": "d", "gcePersistentDisk": {"pdName": "pd-1"}}]
    assert needs(node("a"), pod("old", on="a", volumes=disk), pod("web", volumes=disk)) == [
        "volume d free, its disk is used by default/old"
    ]


def test_the_volume_limit_of_a_driver_is_named() -> None:
    objects = [
        node("a"),
        storage.csi_node("a", {"csi.example.com": 1}),
        storage.volume("pv-1", claim="default/one", phase="Bound", **storage.csi("csi.example.com", "1")),
        storage.volume("pv-2", claim="default/two", phase="Bound", **storage.csi("csi.example.com", "2")),
        storage.claim("one", volume="pv-1"),
        storage.claim("two", volume="pv-2"),
    ]
    user = {**mounted("one", on="a"), "metadata": {"name": "old"}}
    assert needs(*objects, user, mounted("two")) == ["1 fewer volumes of csi.example.com (limit 1, attached 1, new 1)"]


# ---------------------------------------------------------------------- all of them


def test_every_built_in_plugin_that_rejects_nodes_gives_hints() -> None:
    filtering = started().scheduler.frameworks[DEFAULT].filter
    assert len(filtering) > 10
    without = [plugin.name for plugin in filtering if not isinstance(plugin, RejectionHints)]
    assert without == ["DynamicResources"]  # its Filter rejects no node
