from typing import Any

import pytest

from kubewasp.k8s import codec
from kubewasp.k8s.errors import ManifestError, WireError
from kubewasp.k8s.wire_table import VALUE_MESSAGES, messages
from kubewasp.k8s.wire_values import VALUE_TYPES

# Worked out by hand from the field table: tag, length, content.
METADATA_OF_P = b"\x0a\x01p\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00"
CONTAINER = (
    b"\x0a\x01c"  # 1 name
    b"\x12\x01i"  # 2 image
    b"\x2a\x00"  # 5 workingDir
    b"\x42\x00"  # 8 resources
    b"\x6a\x00\x72\x00"  # 13 terminationMessagePath, 14 imagePullPolicy
    b"\x80\x01\x00\x88\x01\x00\x90\x01\x00"  # 16 stdin, 17 stdinOnce, 18 tty
    b"\xa2\x01\x00"  # 20 terminationMessagePolicy
)
POD_SPEC = (
    b"\x12\x1a" + CONTAINER +  # 2 containers
    b"\x1a\x00\x32\x00\x42\x00\x4a\x00\x52\x00"  # 3 restartPolicy, 6 dnsPolicy, 8, 9 serviceAccount, 10 nodeName
    b"\x58\x00\x60\x00\x68\x00"  # 11 hostNetwork, 12 hostPID, 13 hostIPC
    b"\x82\x01\x00\x8a\x01\x00\x9a\x01\x00\xc2\x01\x00"  # 16 hostname, 17 subdomain, 19 schedulerName, 24 priority
)  # fmt: skip
POD_STATUS = (
    b"\x0a\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x4a\x00"  # 1 phase, 3 message, 4 reason, 5 hostIP, 6 podIP, 9 qosClass
    b"\x5a\x00\x72\x00\x88\x01\x00"  # 11 nominatedNodeName, 14 resize, 17 observedGeneration
)
POD = b"\x0a\x11" + METADATA_OF_P + b"\x12\x38" + POD_SPEC + b"\x1a\x13" + POD_STATUS

NODE_METADATA = METADATA_OF_P + b"\x5a\x06\x0a\x01a\x12\x011" + b"\x5a\x06\x0a\x01b\x12\x012"  # 11 labels, sorted
NODE_SPEC = b"\x0a\x00\x12\x00\x1a\x00\x20\x00"  # podCIDR, externalID, providerID, unschedulable
NODE_CONDITION = (
    b"\x0a\x05Ready\x12\x00"  # 1 type, 2 status
    b"\x1a\x04\x08\x01\x10\x00"  # 3 lastHeartbeatTime: seconds and nanos
    b"\x22\x00"  # 4 lastTransitionTime: absent, so an empty message
    b"\x2a\x00\x32\x00"  # 5 reason, 6 message
)
NODE_STATUS = (
    b"\x0a\x0a\x0a\x03cpu\x12\x03\x0a\x011"  # 1 capacity: a map entry with a quantity
    b"\x1a\x00"  # 3 phase
    b"\x22\x15" + NODE_CONDITION +  # 4 conditions
    b"\x32\x04\x0a\x02\x08\x00"  # 6 daemonEndpoints.kubeletEndpoint.Port
    b"\x3a\x14\x0a\x00\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x3a\x00\x42\x00\x4a\x00\x52\x00"  # 7 nodeInfo
)  # fmt: skip
NODE = b"\x0a\x21" + NODE_METADATA + b"\x12\x08" + NODE_SPEC + b"\x1a\x41" + NODE_STATUS


def container(**fields: Any) -> dict[str, Any]:
    return {"spec": {"containers": [fields]}}


def problem(kind: str, manifest: Any) -> str:
    with pytest.raises(ManifestError) as caught:
        codec.encode(kind, manifest)
    return str(caught.value)


def test_small_pod_has_the_bytes_the_api_server_writes() -> None:
    pod = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert codec.encode("Pod", pod) == POD


def test_small_node_has_the_bytes_the_api_server_writes() -> None:
    condition = {"type": "Ready", "lastHeartbeatTime": "1970-01-01T00:00:01Z"}
    node = {
        "metadata": {"name": "p", "labels": {"b": "2", "a": "1"}},
        "status": {"conditions": [condition], "capacity": {"cpu": "1000m"}},
    }
    assert codec.encode("Node", node) == NODE


def test_small_node_is_decoded_to_what_it_says() -> None:
    assert codec.decode("Node", NODE) == {
        "metadata": {"name": "p", "labels": {"a": "1", "b": "2"}},
        "status": {
            "capacity": {"cpu": "1"},
            "conditions": [{"type": "Ready", "lastHeartbeatTime": "1970-01-01T00:00:01Z"}],
        },
    }


@pytest.mark.parametrize("name", sorted(messages().keys() - VALUE_MESSAGES))
def test_empty_object_of_every_message_comes_back_empty(name: str) -> None:
    assert codec.decode_message(name, codec.encode_message(name, {})) == {}


@pytest.mark.parametrize(
    ("name", "written", "wire", "read"),
    [
        ("api.resource.Quantity", "1024Mi", b"\x0a\x031Gi", "1Gi"),
        ("api.resource.Quantity", 0.5, b"\x0a\x04500m", "500m"),
        ("apis.meta.v1.Time", "1970-01-01T01:00:02.9+01:00", b"\x08\x02\x10\x00", "1970-01-01T00:00:02Z"),
        ("apis.meta.v1.Time", "0001-01-01T00:00:00Z", b"", "0001-01-01T00:00:00Z"),
        (
            "apis.meta.v1.MicroTime",
            "1970-01-01T00:00:02.000001Z",
            b"\x08\x02\x10\xe8\x07",
            "1970-01-01T00:00:02.000001Z",
        ),
        ("apis.meta.v1.MicroTime", "0001-01-01T00:00:00Z", b"", "0001-01-01T00:00:00.000000Z"),
        ("util.intstr.IntOrString", 80, b"\x08\x00\x10\x50\x1a\x00", 80),
        ("util.intstr.IntOrString", "http", b"\x08\x01\x10\x00\x1a\x04http", "http"),
        ("apis.meta.v1.FieldsV1", {"f:a": {}}, b'\x0a\x0a{"f:a":{}}', {"f:a": {}}),
        ("runtime.RawExtension", b"k8s\0", b"\x0a\x04k8s\0", b"k8s\0"),
        ("bytes", "aGk=", b"hi", "aGk="),
    ],
)
def test_single_values_have_their_own_json_form(name: str, written: Any, wire: bytes, read: Any) -> None:
    assert VALUE_TYPES[name].to_wire(written) == wire
    assert VALUE_TYPES[name].from_wire(wire) == read


def test_single_values_can_be_coded_by_message_name() -> None:
    assert codec.encode_message("api.resource.Quantity", "1000m") == b"\x0a\x011"
    assert codec.decode_message("api.resource.Quantity", b"") == "0"


def test_absent_required_quantity_is_zero_on_the_wire() -> None:
    wire = codec.encode_message("core.v1.ResourceFieldSelector", {"resource": "limits.cpu"})
    assert wire == b"\x0a\x00\x12\x0alimits.cpu\x1a\x03\x0a\x010"
    assert codec.decode_message("core.v1.ResourceFieldSelector", wire) == {"resource": "limits.cpu"}


@pytest.mark.parametrize(
    ("name", "manifest"),
    [
        ("core.v1.ConfigMapKeySelector", {"name": "settings", "key": "mode"}),
        ("core.v1.EphemeralContainer", {"name": "shell", "image": "busybox", "targetContainerName": "app"}),
        ("core.v1.Probe", {"httpGet": {"path": "/live", "port": "http"}, "periodSeconds": 5}),
        ("core.v1.Volume", {"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}}),
        ("core.v1.PersistentVolumeSpec", {"capacity": {"storage": "5Gi"}, "csi": {"driver": "d", "volumeHandle": "v"}}),
    ],
)
def test_inlined_fields_stand_in_the_parent_object(name: str, manifest: dict[str, Any]) -> None:
    assert codec.decode_message(name, codec.encode_message(name, manifest)) == manifest


def test_optional_empty_objects_and_zeros_are_kept() -> None:
    volume = {"name": "v", "emptyDir": {}}
    security = {"runAsUser": 0, "privileged": False}
    pod = {"spec": {"volumes": [volume], "containers": [{"name": "c", "securityContext": security}]}}
    assert codec.decode("Pod", codec.encode("Pod", pod)) == pod


def test_null_means_absent_and_unknown_fields_are_ignored() -> None:
    manifest: Any = {"metadata": None, "spec": {"nodeName": None, "noSuchField": 1}, 7: 8, "status": {}}
    assert codec.encode("Pod", manifest) == codec.encode("Pod", {})


def test_maps_come_back_in_the_order_of_their_keys() -> None:
    labels = {f"key-{number:02}": "" for number in range(40)}
    pod = codec.encode("Pod", {"metadata": {"labels": dict(reversed(labels.items()))}})
    assert list(codec.decode("Pod", pod)["metadata"]["labels"]) == list(labels)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ([], "expected an object, got a list"),
        ({"spec": "x"}, 'spec: expected an object, got "x"'),
        ({"spec": {"containers": {}}}, "spec.containers: expected a list, got an object"),
        ({"spec": {"containers": [None]}}, "spec.containers[0]: expected an object, got null"),
        (container(image=1), "spec.containers[0].image: expected a string, got 1"),
        (container(image="\ud800"), r'spec.containers[0].image: expected valid Unicode text, got "\ud800"'),
        (container(tty="yes"), 'spec.containers[0].tty: expected true or false, got "yes"'),
        (
            container(ports=[{}, {"hostPort": "eighty"}]),
            'spec.containers[0].ports[1].hostPort: expected an integer, got "eighty"',
        ),
        (container(ports=[{"hostPort": True}]), "spec.containers[0].ports[0].hostPort: expected an integer, got true"),
        (container(ports=[{"hostPort": 80.0}]), "spec.containers[0].ports[0].hostPort: expected an integer, got 80.0"),
        (
            container(ports=[{"hostPort": 2**31}]),
            "spec.containers[0].ports[0].hostPort: expected a 32-bit integer, got 2147483648",
        ),
        (
            container(livenessProbe={"httpGet": {"port": 1.5}}),
            "spec.containers[0].livenessProbe.httpGet.port: expected an integer or a string, got 1.5",
        ),
        (
            container(resources={"requests": {"cpu": "lots"}}),
            'spec.containers[0].resources.requests["cpu"]: expected a quantity such as 500m or 2Gi, got "lots"',
        ),
        (
            {"metadata": {"deletionGracePeriodSeconds": 2**63}},
            "metadata.deletionGracePeriodSeconds: expected a 64-bit integer, got 9223372036854775808",
        ),
        ({"metadata": {"labels": {"a.b/c": 1}}}, 'metadata.labels["a.b/c"]: expected a string, got 1'),
        ({"metadata": {"labels": {1: "a"}}}, "metadata.labels: expected string keys, got 1"),
        ({"metadata": {"labels": {"\ud800": "a"}}}, r'metadata.labels: expected valid Unicode text, got "\ud800"'),
        ({"metadata": {"labels": ["a"]}}, "metadata.labels: expected an object, got a list"),
        (
            {"metadata": {"creationTimestamp": "today"}},
            'metadata.creationTimestamp: expected a time such as 2006-01-02T15:04:05Z, got "today"',
        ),
        (
            {"metadata": {"managedFields": [{"fieldsV1": {"a": {1, 2}}}]}},
            "metadata.managedFields[0].fieldsV1: expected plain JSON, got an object",
        ),
    ],
)
def test_wrong_value_is_named_with_its_path(manifest: Any, message: str) -> None:
    assert problem("Pod", manifest) == message


def test_wrong_base64_is_named() -> None:
    with pytest.raises(Exception, match=r'expected base64 text, got "a"'):
        VALUE_TYPES["bytes"].to_wire("a")


@pytest.mark.parametrize(
    "data",
    [b"\x0a", b"\x0a\x05ab", b"\xff" * 20, b"\x0a\x03\x0a\x01\xff", b"\x0a\x09\x5a\x07\x0a\x02\xff\xff\x12\x01a"],
)
def test_malformed_bytes_are_a_wire_error(data: bytes) -> None:
    with pytest.raises(WireError, match=r"core\.v1\.Pod: not a valid protobuf message"):
        codec.decode("Pod", data)


def test_managed_fields_that_are_not_json_are_a_wire_error() -> None:
    with pytest.raises(WireError, match="not JSON"):
        codec.decode_message("apis.meta.v1.ManagedFieldsEntry", b"\x3a\x03\x0a\x01{")


def test_envelope_carries_api_version_kind_and_object() -> None:
    body = codec.wrap_unknown("v1", "Pod", POD)
    assert body.startswith(b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12")
    assert body.endswith(POD + b"\x1a\x00\x22\x00")
    assert codec.unwrap_unknown(body) == ("v1", "Pod", POD)


@pytest.mark.parametrize("body", [b"", b"{}", b"k8s\0\x0a", b"k8s\0\x0a\x03\x0a\x01\xff"])
def test_body_without_a_proper_envelope_is_a_wire_error(body: bytes) -> None:
    with pytest.raises(WireError):
        codec.unwrap_unknown(body)


def test_watch_event_carries_the_bytes_of_its_object() -> None:
    event = {"type": "ADDED", "object": codec.wrap_unknown("v1", "Pod", POD)}
    wire = codec.encode_message("apis.meta.v1.WatchEvent", event)
    assert codec.decode_message("apis.meta.v1.WatchEvent", wire) == event


def test_delete_options_write_only_what_is_asked_for() -> None:
    # 1 gracePeriodSeconds, 2 preconditions with 1 uid
    assert (
        codec.encode("DeleteOptions", {"gracePeriodSeconds": 0, "preconditions": {"uid": "u"}})
        == b"\x08\x00\x12\x03\x0a\x01u"
    )
    assert codec.encode("DeleteOptions", {}) == b""


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
def test_the_selector_of_a_workload_survives_the_wire(kind: str) -> None:
    workload = {"metadata": {"name": "w"}, "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "x"}}}}
    assert codec.decode(kind, codec.encode(kind, workload)) == workload
