"""Pod parsing, and the sharing of specs, labels and affinity terms."""

import gc
import tracemalloc
from typing import Any

import pytest

from kubewasp.k8s.codec import decode, encode
from kubewasp.k8s.pods import HostPort, Owner, Pod, PodParser, SpreadConstraint, placed_on
from kubewasp.k8s.selectors import LabelSelector


def pod(name: str, *, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace, "labels": {"app": "web"}}, "spec": spec}


def token(name: str) -> dict[str, Any]:
    """Service account token of a pod, in a volume with a unique name."""
    return {
        "volumes": [{"name": name, "projected": {"sources": []}}, {"name": "data", "emptyDir": {}}],
        "containers": [{"name": "main", "image": "i", "volumeMounts": [{"name": name, "mountPath": "/token"}]}],
    }


def parsed(*manifests: dict[str, Any]) -> list[Pod]:
    parser = PodParser()
    return [parser.parse(manifest) for manifest in manifests]


def test_pods_of_a_template_share_spec_and_labels_whatever_their_tokens_are_called() -> None:
    one, other = parsed(
        pod("one", hostname="one", nodeName="n1", **token("kube-api-access-1")),
        pod("other", hostname="other", **token("kube-api-access-2")),
    )
    assert one.spec is other.spec
    assert one.labels is other.labels


@pytest.mark.parametrize(
    "difference",
    [
        {"nodeSelector": {"disk": "ssd"}},
        {"priority": 7},
        {"containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}}]},
        {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]},
    ],
)
def test_specs_that_scheduling_tells_apart_are_not_shared(difference: dict[str, Any]) -> None:
    one, other = parsed(pod("one", **token("t")), pod("other", **{**token("t"), **difference}))
    assert one.spec is not other.spec


def test_volumes_that_scheduling_looks_at_are_kept() -> None:
    volumes = [{"name": "token", "projected": {}}, {"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]
    (found,) = parsed(pod("one", volumes=volumes))
    assert [(volume.name, volume.claim) for volume in found.spec.volumes] == [("data", "c")]


def test_equal_terms_of_affinity_are_shared_between_specs() -> None:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    one, other, elsewhere, plain = parsed(
        pod("one", affinity=affinity),
        pod("other", affinity=affinity, priority=7),
        pod("elsewhere", affinity=affinity, namespace="elsewhere"),
        pod("plain", affinity={"podAffinity": {}}),
    )
    assert one.spec is not other.spec
    assert one.spec.pod_affinity is other.spec.pod_affinity
    assert one.spec.pod_affinity is not elsewhere.spec.pod_affinity
    assert plain.spec.pod_affinity is None


# ---------------------------------------------------------------------- what is read of a pod


def test_host_ports_are_those_of_containers_and_sidecars_with_defaults_filled_in() -> None:
    def container(name: str, *ports: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"name": name, "ports": list(ports), **more}

    (found,) = parsed(
        pod(
            "one",
            containers=[container("main", {"hostPort": 80}, {"containerPort": 81}, {"hostPort": 0})],
            initContainers=[
                container("sidecar", {"hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"}, restartPolicy="Always"),
                container("init", {"hostPort": 99}),
            ],
        )
    )
    assert found.spec.host_ports == (HostPort("TCP", "0.0.0.0", 80), HostPort("UDP", "10.0.0.1", 53))


@pytest.mark.parametrize(
    ("wanted", "used", "conflict"),
    [
        (("TCP", "0.0.0.0", 80), ("TCP", "10.0.0.1", 80), True),
        (("TCP", "10.0.0.1", 80), ("TCP", "0.0.0.0", 80), True),
        (("TCP", "10.0.0.1", 80), ("TCP", "10.0.0.1", 80), True),
        (("TCP", "10.0.0.1", 80), ("TCP", "10.0.0.2", 80), False),
        (("UDP", "0.0.0.0", 80), ("TCP", "0.0.0.0", 80), False),
        (("TCP", "0.0.0.0", 81), ("TCP", "0.0.0.0", 80), False),
    ],
)
def test_ports_conflict_where_protocol_and_port_are_the_same_and_addresses_overlap(
    wanted: tuple[str, str, int], used: tuple[str, str, int], conflict: bool
) -> None:
    assert HostPort(*wanted).conflicts_with(HostPort(*used)) is conflict


def test_images_are_those_of_init_containers_and_containers_and_image_volumes_are_apart() -> None:
    (found,) = parsed(
        pod(
            "one",
            containers=[{"name": "main", "image": "a"}, {"name": "side", "image": "b"}],
            initContainers=[{"name": "init", "image": "c"}],
            volumes=[{"name": "models", "image": {"reference": "d"}}],
        )
    )
    assert (found.spec.images, found.spec.image_volumes, found.spec.container_count) == (("c", "a", "b"), ("d",), 3)


@pytest.mark.parametrize(
    ("spec", "needed"),
    [
        ({"hostNetwork": True, "hostUsers": False}, {"UserNamespacesHostNetworkSupport"}),
        ({"hostNetwork": True}, set()),
        ({"hostUsers": False}, set()),
        (
            {"containers": [{"name": "main", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]},
            {"RestartAllContainersOnContainerExits"},
        ),
        (
            {"initContainers": [{"name": "init", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]},
            {"RestartAllContainersOnContainerExits"},
        ),
        ({"containers": [{"name": "main", "restartPolicyRules": [{"action": "Restart"}]}]}, set()),
    ],
)
def test_the_features_of_the_kubelet_that_a_pod_needs(spec: dict[str, Any], needed: set[str]) -> None:
    assert parsed(pod("one", **spec))[0].spec.needed_features == needed


def test_what_is_not_given_has_the_defaults_of_the_api() -> None:
    (found,) = parsed({"metadata": {"name": "one"}, "spec": {}})
    assert (found.namespace, found.key, found.uid) == ("default", "default/one", "default/one")
    assert (found.priority, found.spec.preemption_policy) == (0, "PreemptLowerPriority")
    assert found.spec.scheduler_name == "default-scheduler"
    assert (found.node, found.nominated_node, found.start_time, found.is_terminating) == ("", "", None, False)
    assert found.spec.node_selector is None
    assert found.spec.required_affinity is None


def test_status_and_metadata_are_read() -> None:
    (found,) = parsed(
        {
            "metadata": {
                "name": "one",
                "namespace": "ns",
                "uid": "u",
                "resourceVersion": "7",
                "creationTimestamp": "1970-01-01T00:00:01Z",
                "deletionTimestamp": "2026-01-01T00:00:00Z",
                "ownerReferences": [
                    {"kind": "Other", "name": "no"},
                    {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "o", "controller": True},
                ],
            },
            "spec": {"nodeName": "n"},
            "status": {
                "phase": "Running",
                "startTime": "1970-01-01T00:00:02Z",
                "nominatedNodeName": "m",
                "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}],
            },
        }
    )
    assert (found.uid, found.resource_version, found.created, found.start_time) == ("u", "7", 1_000_000, 2_000_000)
    assert (found.node, found.nominated_node, found.phase) == ("n", "m", "Running")
    assert found.is_terminating
    assert found.is_disrupted
    assert found.owner == Owner("apps/v1", "ReplicaSet", "rs", "o")


@pytest.mark.parametrize(
    ("condition", "disrupted"),
    [
        ({"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}, True),
        ({"type": "DisruptionTarget", "status": "False", "reason": "PreemptionByScheduler"}, False),
        ({"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}, False),
        ({"type": "Ready", "status": "True", "reason": "PreemptionByScheduler"}, False),
    ],
)
def test_a_pod_is_disrupted_where_the_scheduler_preempts_it(condition: dict[str, str], disrupted: bool) -> None:
    (found,) = parsed({"metadata": {"name": "one"}, "status": {"conditions": [condition]}})
    assert found.is_disrupted is disrupted


@pytest.mark.parametrize(
    ("phase", "finished"), [("Succeeded", True), ("Failed", True), ("Running", False), ("", False)]
)
def test_a_pod_has_finished_when_it_succeeded_or_failed(phase: str, finished: bool) -> None:
    (found,) = parsed({"metadata": {"name": "one"}, "status": {"phase": phase}})
    assert found.is_finished is finished


@pytest.mark.parametrize(
    ("status", "milli"),
    [
        ({}, 100),
        ({"containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": "300m"}}}]}, 300),
        ({"initContainerStatuses": [{"name": "sidecar", "resources": {"requests": {"cpu": "300m"}}}]}, 400),
        ({"initContainerStatuses": [{"name": "init", "resources": {"requests": {"cpu": "300m"}}}]}, 100),
    ],
)
def test_a_pod_on_a_node_counts_for_what_it_has_and_its_spec_does_not(status: dict[str, Any], milli: int) -> None:
    spec = {
        "containers": [{"name": "main", "resources": {"requests": {"cpu": "100m"}}}],
        "initContainers": [{"name": "sidecar", "restartPolicy": "Always"}, {"name": "init"}],
    }
    (found,) = parsed({"metadata": {"name": "one"}, "spec": spec, "status": status})
    assert found.resources.requests.cpu == milli
    assert found.spec.resources.requests.cpu == 100


def test_the_namespace_of_a_term_is_its_own_only_where_it_names_none() -> None:
    def term(**more: Any) -> dict[str, Any]:
        return {"topologyKey": "zone", "labelSelector": {}, **more}

    terms = [
        term(),
        term(namespaces=["a", "b"]),
        term(namespaceSelector={}),
        term(namespaceSelector={"matchLabels": {}}),
    ]
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    (found,) = parsed(pod("one", affinity=affinity, namespace="own"))
    assert found.spec.pod_affinity is not None
    required = found.spec.pod_affinity.required
    assert [item.namespaces for item in required] == [{"own"}, {"a", "b"}, frozenset(), frozenset()]
    assert [item.namespace_selector for item in required] == [None, None, LabelSelector(), LabelSelector()]


def test_a_term_that_cannot_be_parsed_says_so() -> None:
    broken = {"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Nonsense"}]}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [broken]}}
    (found,) = parsed(pod("one", affinity=affinity))
    assert found.spec.pod_affinity is not None
    assert "Nonsense" in found.spec.pod_affinity.required[0].error


def test_spread_constraints_have_the_defaults_of_the_api() -> None:
    plain = {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    odd = {
        "maxSkew": 1,
        "topologyKey": "host",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {},
        "minDomains": 3,
        "nodeAffinityPolicy": "Ignore",
        "nodeTaintsPolicy": "Honor",
        "matchLabelKeys": ["hash"],
    }
    (found,) = parsed(pod("one", topologySpreadConstraints=[plain, odd]))
    assert found.spec.spread == (
        SpreadConstraint(2, "zone", is_hard=True, selector=None),
        SpreadConstraint(1, "host", False, LabelSelector(), 3, False, True, ("hash",)),
    )


def test_a_placed_pod_has_its_node_in_its_protobuf_too() -> None:
    manifest = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], "priority": 7}}
    pod = PodParser().parse(manifest, encode("Pod", manifest))
    placed = placed_on(pod, "node-1")
    assert placed.node == "node-1"
    assert decode("Pod", placed.encoded)["spec"] == decode("Pod", pod.encoded)["spec"] | {"nodeName": "node-1"}


def test_what_is_remembered_of_specs_and_labels_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubewasp.k8s.pods._MOST_KEPT", 10)
    parser = PodParser()
    pods = [
        parser.parse({"metadata": {"labels": {"n": str(number)}}, "spec": {"nodeSelector": {"n": str(number)}}})
        for number in range(95)
    ]
    assert (len(parser._specs), len(parser._labels)) == (5, 5)
    assert len({pod.spec.id for pod in pods}) == 95
    assert pods[0].labels == {"n": "0"}


def test_kept_labels_and_specs_take_little_more_memory_than_their_text() -> None:
    parser, count = PodParser(), 2000
    given = [
        {"metadata": {"name": "p", "labels": {"pod": str(number)}}, "spec": {"priority": number}}
        for number in range(count)
    ]
    tracemalloc.start()
    try:
        for manifest in given:
            parser.parse(manifest)
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept / count < 2048
