"""Anonymised snapshots: other names, the same decisions."""

import json
import re
from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.lab.snapshots.anonymization import Aliases
from kubewasp.lab.snapshots.cluster_snapshot import ClusterSnapshot, of_manifests
from kubewasp.lab.snapshots.snapshot_fields import KeptFields, Sort
from kubewasp.simulation.embedded_cluster import EmbeddedCluster
from tests.simulation.simulating import Object, added, node, owned_by, pod, priority_class, settled, workload

SALT = b"salt"
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def snapshot(*objects: Object) -> ClusterSnapshot:
    return of_manifests(added(*objects), KeptFields())


def bodies(found: ClusterSnapshot) -> list[Object]:
    return [orjson.loads(line) for line in found.objects]


def anonymized(*objects: Object, **more: Any) -> list[Object]:
    return bodies(snapshot(*objects).anonymized(SALT, KeptFields(), **more))


def alias(text: str, *objects: Object, sort: Sort = Sort.NAME) -> str:
    return Aliases(SALT, snapshot(*objects).objects)(sort, text)


# ---------------------------------------------------------------------- decisions


def decisions(cluster: EmbeddedCluster, renamed: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Nodes and messages of all pods, and evictions, by the names of a renaming.

    The name of a ReplicaSet that a simulation makes has a hash of the template, which is another one: it is left out.
    """

    def to(text: str) -> str:
        return text if renamed is None else renamed[text]

    def key(item: Any) -> str:
        made = re.fullmatch(r"(.+)-[0-9a-f]{8}-([0-9]+)|(owner-[0-9]|[a-z][a-z2-7]{9}-[0-9])-(node-.*)", item.name)
        if made and made[1]:
            name = f"{to(made[1])}-hash-{made[2]}"
        elif made:
            name = f"{to(made[3])}-{to(made[4])}"
        else:
            name = to(item.name)
        return f"{to(item.namespace)}/{name}"

    return {
        "placed": {key(item): to(item.node) for item in cluster.pods.values()},
        "preempted": [(key(item.pod), key(item.by), to(item.node)) for item in cluster.objects.preemptions],
    }


class Renaming(dict[str, str]):
    """Names of a snapshot and of all that is composed of them."""

    def __init__(self, aliases: Aliases) -> None:
        super().__init__({"": ""})
        self._aliases = aliases

    def __missing__(self, text: str) -> str:
        return self._aliases(Sort.NAME, text)


def assert_the_same(*objects: Object) -> None:
    taken = snapshot(*objects)
    names = Renaming(Aliases(SALT, taken.objects))
    before = settled(*bodies(taken))
    after = settled(*bodies(taken.anonymized(SALT, KeptFields())))
    assert decisions(settled(*objects)) == decisions(before)
    assert decisions(before, names) == decisions(after)


WORDS = st.sampled_from(["web", "db", "blue", "green", "7", "12345", "20000", "prod-eu", "true", ""])
KEYS = st.sampled_from(["tier", "team", ZONE, HOSTNAME, "size"])
NAMESPACES = st.sampled_from(["default", "shop", "prod-eu"])
LABELS = st.dictionaries(st.sampled_from(["app", "team", "tier"]), WORDS, max_size=2)
NODES = st.lists(
    st.builds(
        lambda zone, labels, taints, cpu, images: (zone, labels, taints, cpu, images),
        st.sampled_from(["eu-a", "eu-b", "us-a", ""]),
        st.dictionaries(st.sampled_from(["tier", "team", "size"]), WORDS, max_size=3),
        st.lists(
            st.builds(
                lambda value, effect: {"key": "dedicated", "value": value, "effect": effect},
                WORDS,
                st.sampled_from(["NoSchedule", "PreferNoSchedule"]),
            ),
            max_size=1,
        ),
        st.sampled_from(["1", "2", "4"]),
        st.lists(st.sampled_from(["nginx:latest", "host:5000/a:v1", "nginx@sha256:00"]), max_size=2),
    ),
    min_size=1,
    max_size=6,
)
EXPRESSION = st.one_of(
    st.builds(
        lambda key, operator, values: {"key": key, "operator": operator, "values": values},
        KEYS,
        st.sampled_from(["In", "NotIn"]),
        st.lists(WORDS, min_size=1, max_size=2),
    ),
    st.builds(
        lambda operator, value: {"key": "size", "operator": operator, "values": [value]},
        st.sampled_from(["Gt", "Lt"]),
        st.sampled_from(["5", "12345", "19999", "many"]),
    ),
    st.builds(lambda key: {"key": key, "operator": "Exists"}, KEYS),
)
SELECTOR = st.builds(lambda labels: {"matchLabels": labels}, LABELS)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
AFFINITY = st.fixed_dictionaries(
    {},
    optional={
        "nodeAffinity": st.builds(
            lambda terms: {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [term]} for term in terms]}},
            st.lists(EXPRESSION, min_size=1, max_size=2),
        ),
        "podAntiAffinity": st.builds(
            lambda selector, key, place: {REQUIRED: [{"labelSelector": selector, "topologyKey": key, **place}]},
            SELECTOR,
            st.sampled_from([ZONE, HOSTNAME]),
            st.sampled_from(
                [
                    {},
                    {"namespaces": ["shop"]},
                    {"namespaceSelector": {}},
                    {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "prod-eu"}}},
                ]
            ),
        ),
    },
)
POD_SPEC = st.builds(
    lambda cpu, image, port, more: {
        **more,
        "containers": [
            {
                "name": "main",
                "image": image,
                "resources": {"requests": {"cpu": cpu}},
                "ports": [{"containerPort": 80, **port}],
            }
        ],
    },
    st.sampled_from(["100m", "600m", "1500m"]),
    st.sampled_from(["nginx", "host:5000/a:v1", "nginx@sha256:00"]),
    st.sampled_from([{}, {"hostPort": 80}, {"hostPort": 80, "hostIP": "192.168.0.7"}]),
    st.fixed_dictionaries(
        {},
        optional={
            "affinity": AFFINITY,
            "nodeSelector": st.dictionaries(KEYS, WORDS, max_size=1),
            "tolerations": st.builds(lambda value: [{"key": "dedicated", "operator": "Equal", "value": value}], WORDS),
            "priorityClassName": st.sampled_from(["gold", "silver", "system-node-critical"]),
            "topologySpreadConstraints": st.builds(
                lambda selector, key: [
                    {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
                ],
                SELECTOR,
                st.sampled_from([ZONE, HOSTNAME, "tier"]),
            ),
            "volumes": st.sampled_from(
                [
                    [{"name": "disk", "awsElasticBlockStore": {"volumeID": "aws://eu-a/vol-1"}}],
                    [{"name": "disk", "persistentVolumeClaim": {"claimName": "shared"}}],
                    [
                        {
                            "name": "scratch",
                            "ephemeral": {
                                "volumeClaimTemplate": {
                                    "spec": {
                                        "storageClassName": "fast",
                                        "accessModes": ["ReadWriteOnce"],
                                        "resources": {"requests": {"storage": "1Gi"}},
                                    }
                                }
                            },
                        }
                    ],
                    [{"name": "token", "secret": {"secretName": "s"}}],
                ]
            ),
        },
    ),
)
PODS = st.lists(
    st.builds(
        lambda body, labels, namespace, bound: (body, labels, namespace, bound),
        POD_SPEC,
        LABELS,
        NAMESPACES,
        st.integers(-6, 5),
    ),
    max_size=8,
)
OWNERS = st.lists(
    st.tuples(
        st.sampled_from(["Deployment", "StatefulSet", "ReplicaSet", "Job", "DaemonSet"]), st.integers(0, 3), POD_SPEC
    ),
    max_size=3,
)


def cluster_of(nodes: list[Any], pods: list[Any], owners: list[Any], allowed: int) -> list[Object]:
    objects: list[Object] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in ("default", "shop", "prod-eu")
    ]
    objects += [priority_class("gold", 100), priority_class("silver", 50, globalDefault=False)]
    objects += [
        {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
         "provisioner": "disk.example.com", "volumeBindingMode": "WaitForFirstConsumer"},
        {"apiVersion": "v1", "kind": "PersistentVolume",
         "metadata": {"name": "pv", "labels": {ZONE: "eu-a__eu-b"}},
         "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "storageClassName": "",
                  "csi": {"driver": "disk.example.com", "volumeHandle": "h"},
                  "claimRef": {"namespace": "default", "name": "shared"}}},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "shared", "namespace": "default"},
         "spec": {"accessModes": ["ReadWriteMany"], "storageClassName": "", "volumeName": "pv",
                  "resources": {"requests": {"storage": "1Gi"}}}},
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "budget"},
         "spec": {"selector": {}, "minAvailable": 1}, "status": {"disruptionsAllowed": allowed}},
    ]  # fmt: skip
    for number, (zone, labels, taints, cpu, images) in enumerate(nodes):
        body = node(f"node-{number}", cpu=cpu, taints=taints, **({"zone": zone} if zone else {}))
        body["metadata"]["labels"] |= labels
        body["status"]["images"] = [{"names": [image], "sizeBytes": 500_000_000} for image in images]
        objects.append(body)
    for number, (kind, count, template) in enumerate(owners):
        body = workload(kind, f"owner-{number}", None if kind == "DaemonSet" else count, template=template)
        if kind == "StatefulSet":
            claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            named = {"metadata": {"name": "data"}, "spec": {**claim, "storageClassName": "fast"}}
            body["spec"]["volumeClaimTemplates"] = [named]
        objects.append(body)
    for number, (template, labels, namespace, bound) in enumerate(pods):
        body = pod(
            f"pod-{number}", labels=labels, namespace=namespace, on=f"node-{bound}" if 0 <= bound < len(nodes) else ""
        )
        body["spec"] = {**template, **({"nodeName": body["spec"]["nodeName"]} if "nodeName" in body["spec"] else {})}
        objects.append(body)
    return objects


@settings(max_examples=20, deadline=None)
@given(st.builds(cluster_of, NODES, PODS, OWNERS, st.integers(0, 2)))
def test_decisions_are_the_same_up_to_the_renaming(objects: list[Object]) -> None:
    assert_the_same(*objects)


@pytest.mark.parametrize(("operator", "value"), [("Gt", "20000"), ("Lt", "20000"), ("Gt", "+12344"), ("Lt", "many")])
def test_comparisons_of_numbers_are_the_same(operator: str, value: str) -> None:
    term = {"matchExpressions": [{"key": "size", "operator": operator, "values": [value]}]}
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}
    nodes = [node(f"n-{size}", size=size) for size in ("12345", "30000", "-40000", "large")]
    assert_the_same(*nodes, *(pod(f"p-{number}", affinity=affinity) for number in range(3)))


def test_a_handle_is_the_same_volume_in_both_of_its_forms() -> None:
    short = alias("vol-1", sort=Sort.HANDLE)
    assert alias("aws://eu-a/vol-1", sort=Sort.HANDLE) == f"aws://{alias('eu-a')}/{short}"
    assert alias("aws:///vol-1", sort=Sort.HANDLE) == f"aws:///{short}"


def test_the_default_class_is_the_same() -> None:
    objects: list[Object] = [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
            "provisioner": f"{name}.example.com",
        }
        for name in ("d", "b", "a", "c")
    ]
    names = [item["metadata"]["name"] for item in anonymized(*objects)]
    assert sorted(range(4), key=lambda place: names[place]) == [2, 1, 3, 0]


# ---------------------------------------------------------------------- names


def test_no_name_label_value_image_uid_or_address_is_left() -> None:
    body = owned_by("ReplicaSet", "s3cret-web", pod("s3cret-web-x7k2p", on="s3cret-node", namespace="s3cret-shop"))
    body["metadata"] |= {"uid": "s3cret-uid", "labels": {"app": "s3cret-web"}}
    body["spec"] |= {
        "affinity": {
            "podAffinity": {
                REQUIRED: [
                    {
                        "labelSelector": {"matchLabels": {"app": "s3cret-web"}},
                        "namespaces": ["s3cret-shop"],
                        "topologyKey": ZONE,
                    }
                ]
            }
        },
        "priorityClassName": "s3cret-gold",
        "volumes": [{"name": "s3cret-v", "persistentVolumeClaim": {"claimName": "s3cret-data"}}],
    }
    body["spec"]["containers"][0] |= {
        "name": "s3cret",
        "image": "registry.s3cret.example:5000/s3cret/web:s3cret-1@sha256:5ec2e7",
        "ports": [{"containerPort": 80, "hostPort": 80, "hostIP": "203.0.113.7"}],
    }
    objects = [
        node("s3cret-node", zone="s3cret-zone-a", team="s3cret", taints=[{"key": "k", "value": "s3cret"}]),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "s3cret-shop"}},
        priority_class("s3cret-gold", 1),
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "s3cret", "namespace": "s3cret-shop"},
            "status": {"disruptionsAllowed": 0, "disruptedPods": {"s3cret-web-x7k2p": "2026-01-05T12:00:00Z"}},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "s3cret-pv", "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}},
            "spec": {
                "csi": {"driver": "d.example.com", "volumeHandle": "s3cret-h"},
                "claimRef": {"namespace": "s3cret-shop", "name": "s3cret-data", "uid": "s3cret-uid-2"},
            },
        },
        body,
    ]
    text = json.dumps(anonymized(*objects))
    assert "s3cret" not in text
    assert "5ec2e7" not in text
    assert "203.0.113.7" not in text
    assert "d.example.com" in text
    assert ZONE in text


def test_one_text_has_one_alias_wherever_it_stands() -> None:
    body = pod("web", on="a", labels={"app": "web"}, nodeSelector={HOSTNAME: "a"}, namespace="shop")
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"name": "shop"}}}
    shop, a, web = anonymized(space, node("a"), body)
    assert shop["metadata"]["labels"]["name"] == shop["metadata"]["name"] == web["metadata"]["namespace"]
    assert a["metadata"]["name"] == a["metadata"]["labels"][HOSTNAME] == web["spec"]["nodeName"]
    assert web["spec"]["nodeSelector"] == {HOSTNAME: a["metadata"]["name"]}
    assert web["metadata"]["name"] == web["metadata"]["labels"]["app"]
    assert a["metadata"]["name"].startswith("node-")
    assert web["metadata"]["namespace"].startswith("ns-")


def test_the_salt_decides_and_the_same_one_gives_the_same_names() -> None:
    taken = snapshot(node("a"), pod("web"))
    once = taken.anonymized(b"one", KeptFields())
    assert once == taken.anonymized(b"one", KeptFields())
    assert once.objects != taken.anonymized(b"two", KeptFields()).objects
    assert once.head.is_anonymized


@pytest.mark.parametrize(
    "text", ["", "default", "kube-system", "system-node-critical", "linux", "arm64", "true", "0", "17", "9999"]
)
def test_public_values_and_small_numbers_stay(text: str) -> None:
    assert alias(text) == text


def test_numbers_that_selectors_compare_stay() -> None:
    term = {"matchExpressions": [{"key": "size", "operator": "Gt", "values": ["20000"]}]}
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}
    objects = node("a", size="30000", customer="40000"), pod("web", affinity=affinity)
    assert [alias(text, *objects) for text in ("20000", "30000")] == ["20000", "30000"]
    assert not alias("40000", *objects).isdigit()


def test_names_of_workloads_are_prefixes_of_the_names_of_their_pods_and_claims() -> None:
    web = workload("StatefulSet", "web", 2, volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {}}])
    scratch = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    one = owned_by("ReplicaSet", "api-5d9", pod("api-5d9-x7k2p", volumes=[scratch]))
    objects = web, owned_by("Deployment", "api", workload("ReplicaSet", "api-5d9", 1)), one

    def to(text: str) -> str:
        return alias(text, *objects)

    assert to("web-0") == f"{to('web')}-0"
    assert to("data-web-1") == f"{to('data')}-{to('web')}-1"
    assert to("api-5d9") == f"{to('api')}-{to('5d9')}"
    assert to("api-5d9-x7k2p") == f"{to('api-5d9')}-{to('x7k2p')}"
    assert to("api-5d9-x7k2p-scratch") == f"{to('api-5d9-x7k2p')}-{to('scratch')}"
    assert "-" not in to("other-0")


def test_zones_keep_their_region_and_lists_of_zones_their_zones() -> None:
    objects = (node("a", zone="eu-west-1a"),)
    assert alias("eu-west-1a", *objects) == f"{alias('eu-west')}-{alias('1a')}"
    both = alias("eu-west-1a__eu-west-1b", *objects).split("__")
    assert both == [alias("eu-west-1a", *objects), alias("eu-west-1b", *objects)]


@pytest.mark.parametrize(
    ("image", "form"),
    [
        ("nginx", r"image-\w+"),
        ("nginx:latest", r"image-\w+:latest"),
        ("host:5000/a", r"image-\w+"),
        ("host:5000/a:v1", r"image-\w+:\w+"),
        ("a/b@sha256:0123", r"image-\w+@sha256:[0-9a-f]{64}"),
        ("a/b:v1@sha256:0123", r"image-\w+:\w+@sha256:[0-9a-f]{64}"),
    ],
)
def test_an_image_keeps_its_form(image: str, form: str) -> None:
    assert re.fullmatch(form, alias(image, sort=Sort.IMAGE))


def test_the_tags_of_one_image_stay_tags_of_one_image() -> None:
    first, second = (alias(f"nginx:{tag}", sort=Sort.IMAGE) for tag in ("v1", "v2"))
    assert first != second
    assert first.partition(":")[0] == second.partition(":")[0] == alias("nginx", sort=Sort.IMAGE)


def test_addresses_and_uids_keep_their_form() -> None:
    assert re.fullmatch(r"10(\.\d+){3}", alias("192.168.0.1", sort=Sort.ADDRESS))
    assert alias("0.0.0.0", sort=Sort.ADDRESS) == "0.0.0.0"
    assert re.fullmatch(r"\w{8}-\w{4}-\w{4}-\w{4}-\w{12}", alias("some", sort=Sort.UID))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.text(max_size=12), unique=True, max_size=20))
def test_different_texts_have_different_aliases(texts: list[str]) -> None:
    aliases = Aliases(SALT, ())
    for sort in (Sort.NAME, Sort.UID, Sort.ADDRESS):
        assert len({aliases(sort, text) for text in texts}) == len(texts)


def test_an_alias_that_is_taken_is_given_to_no_other_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "kubewasp.lab.snapshots.anonymization._word", lambda found: "same" if found[0] < 250 else f"w{found[1]}"
    )
    aliases = Aliases(SALT, ())
    assert len({aliases(Sort.NAME, f"name-{number}") for number in range(20)}) == 20


def test_values_of_a_kept_label_stay() -> None:
    typed = {"node.kubernetes.io/instance-type": "m5.large"}
    body = node("a", team="blue", **typed)
    (kept,) = anonymized(body, kept_labels=list(typed))
    assert typed.items() <= kept["metadata"]["labels"].items()
    assert kept["metadata"]["labels"]["team"] != "blue"
