"""Drawn volumes: classes, volumes, claims, and attach limits of nodes."""

from typing import Final

from tests.e2e.parity.dice import NODE_LABELS, ZONE, Dice
from tools.testbed.client import Object

STORAGE: Final = "storage.k8s.io/v1"
_DRIVER: Final = "disk.example.com"
_MEASURED: Final = "measured.example.com"  # tells how much room it has where
_LATE: Final = "parity-late"
_ZONAL: Final = "parity-zonal"
_LOCAL: Final = "parity-local"
_COUNTED: Final = "parity-measured"
_EARLY: Final = "parity-early"
_BOUND: Final = {"pv.kubernetes.io/bind-completed": "yes"}


def draw_storage(dice: Dice, namespace: str, nodes: list[str]) -> list[Object]:
    """Classes, drivers, volumes and claims; the claims are in one namespace."""
    made = [
        _class(_LATE, _DRIVER, late=True),
        _class(_ZONAL, _DRIVER, late=True, zones=dice.some(NODE_LABELS[ZONE], 1, 2)),
        _class(_LOCAL, "kubernetes.io/no-provisioner", late=True),
        _class(_COUNTED, _MEASURED, late=True),
        _class(_EARLY, _DRIVER, late=False),
        _driver(_MEASURED),
    ]
    made += [_capacity(dice, namespace, number) for number in range(dice.number(0, 3))]
    for number in range(dice.number(4, 8)):
        made += _bound(dice, namespace, number, nodes)
    made += [_free(dice, number, nodes) for number in range(dice.number(1, 5))]
    made += [_unbound(dice, namespace, number) for number in range(dice.number(3, 6))]
    made.append(_claim(namespace, "lost", volume="gone", phase="Lost"))
    made.append(_claim(namespace, "dangling", volume="gone", annotations=_BOUND))
    return made


def claims_in(objects: list[Object]) -> list[str]:
    return [found["metadata"]["name"] for found in objects if found["kind"] == "PersistentVolumeClaim"]


def csi_node(dice: Dice, name: str) -> Object:
    driver = {"name": _DRIVER, "nodeID": name, "topologyKeys": [ZONE], "allocatable": {"count": dice.number(1, 4)}}
    metadata: Object = {"name": name}
    if dice.chance(0.5):
        metadata["annotations"] = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
    migrated = {"name": "ebs.csi.aws.com", "nodeID": name, "topologyKeys": [], "allocatable": {"count": 1}}
    return {
        "apiVersion": STORAGE,
        "kind": "CSINode",
        "metadata": metadata,
        "spec": {"drivers": [driver, migrated] if dice.chance(0.5) else [driver]},
    }


def use_claims(dice: Dice, pod: Object, claims: list[str]) -> None:
    """One or two claims as volumes; sometimes a missing claim, or an ephemeral one that does not exist yet."""
    volumes = pod["spec"].setdefault("volumes", [])
    for number, claim in enumerate(dice.some([*claims, *claims, "missing"], 1, 2)):
        volumes.append({"name": f"v{number}", "persistentVolumeClaim": {"claimName": claim}})
    if dice.chance(0.08):
        size = {"requests": {"storage": "1Gi"}}
        spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": _LATE, "resources": size}
        volumes.append({"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}})


def use_disk(dice: Dice, pod: Object) -> None:
    """A disk named in the pod itself, which two pods may not write to."""
    read_only = dice.chance(0.4)
    disks: list[Object] = [
        {"gcePersistentDisk": {"pdName": "disk", "readOnly": read_only}},
        {"awsElasticBlockStore": {"volumeID": dice.one(("vol-1", "vol-2")), "readOnly": read_only}},
        {
            "iscsi": {
                "targetPortal": "10.0.0.9:3260",
                "iqn": "iqn.2026-01.example:disk",
                "lun": 0,
                "readOnly": read_only,
            }
        },
        {"rbd": {"monitors": dice.some(("m1", "m2", "m3"), 1, 2), "image": "image", "readOnly": read_only}},
    ]
    pod["spec"].setdefault("volumes", []).append({"name": "disk", **dice.one(disks)})


def attachment(dice: Dice, number: int, nodes: list[str], volumes: list[str]) -> Object:
    return {
        "apiVersion": STORAGE,
        "kind": "VolumeAttachment",
        "metadata": {"name": f"parity-attachment-{number}"},
        "spec": {
            "attacher": _DRIVER,
            "nodeName": dice.one(nodes),
            "source": {"persistentVolumeName": dice.one(volumes)},
        },
    }


def _class(name: str, provisioner: str, *, late: bool, zones: list[str] | None = None) -> Object:
    made: Object = {
        "apiVersion": STORAGE,
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer" if late else "Immediate",
    }
    if zones:
        made["allowedTopologies"] = [{"matchLabelExpressions": [{"key": ZONE, "values": zones}]}]
    return made


def _driver(name: str) -> Object:
    spec = {"storageCapacity": True, "attachRequired": True}
    return {"apiVersion": STORAGE, "kind": "CSIDriver", "metadata": {"name": name}, "spec": spec}


def _capacity(dice: Dice, namespace: str, number: int) -> Object:
    return {
        "apiVersion": STORAGE,
        "kind": "CSIStorageCapacity",
        "metadata": {"name": f"capacity-{number}", "namespace": namespace},
        "storageClassName": _COUNTED,
        "nodeTopology": {"matchLabels": {ZONE: dice.one(NODE_LABELS[ZONE])}},
        "capacity": dice.one(("1Gi", "8Gi", "100Gi")),
    }


def _bound(dice: Dice, namespace: str, number: int, nodes: list[str]) -> list[Object]:
    """A volume and its claim."""
    name = f"bound-{number}"
    modes = [dice.one(("ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod"))]
    source: Object = {"csi": {"driver": _DRIVER, "volumeHandle": f"handle-{number}"}}
    if dice.chance(0.2) and modes != ["ReadWriteOncePod"]:
        source = {"awsElasticBlockStore": {"volumeID": f"vol-{number}"}}
    volume = _volume(name, "5Gi", modes, source)
    volume["spec"]["claimRef"] = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": namespace,
        "name": name,
        "uid": "{CLAIM}",
    }
    volume["status"] = {"phase": "Bound"}
    if dice.chance(0.4):
        volume["metadata"]["labels"] = {ZONE: dice.one(("a", "b", "c", "a__b"))}
    if dice.chance(0.4):
        _tie(volume, dice.some(nodes, 1, max(2, len(nodes) // 2)))
    return [volume, _claim(namespace, name, volume=name, annotations=_BOUND, modes=modes)]


def _free(dice: Dice, number: int, nodes: list[str]) -> Object:
    """A volume that waits for a claim. Of several that are as large, kube-scheduler takes any: each has its size."""
    source: Object = {"local": {"path": "/disk"}}
    volume = _volume(f"free-{number}", f"{dice.one((2, 10)) + number}Gi", ["ReadWriteOnce"], source)
    volume["spec"]["storageClassName"] = _LOCAL
    volume["status"] = {"phase": dice.one(("Available", "Available", "Released"))}
    _tie(volume, dice.some(nodes, 1, 2))
    return volume


def _unbound(dice: Dice, namespace: str, number: int) -> Object:
    storage = dice.one((_LATE, _LATE, _ZONAL, _LOCAL, _LOCAL, _COUNTED, _EARLY, "unknown"))
    made = _claim(namespace, f"claim-{number}", size=dice.one(("1Gi", "5Gi", "20Gi")), storage=storage)
    if dice.chance(0.1):
        made["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": "{NODE}"}
    return made


def _claim(
    namespace: str,
    name: str,
    *,
    volume: str = "",
    storage: str = "",
    size: str = "5Gi",
    modes: list[str] | None = None,
    annotations: dict[str, str] | None = None,
    phase: str = "",
) -> Object:
    metadata: Object = {"name": name, "namespace": namespace, "annotations": dict(annotations or {})}
    spec: Object = {
        "accessModes": modes or ["ReadWriteOnce"],
        "storageClassName": storage,
        "resources": {"requests": {"storage": size}},
    }
    if volume:
        spec["volumeName"] = volume
    made: Object = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
    if phase:
        made["status"] = {"phase": phase}
    return made


def _volume(name: str, size: str, modes: list[str], source: Object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {"capacity": {"storage": size}, "accessModes": modes, **source},
    }


def _tie(volume: Object, nodes: list[str]) -> None:
    """Only these nodes reach it, by the label with their name, which all nodes have."""
    term = {"matchExpressions": [{"key": "own-name", "operator": "In", "values": nodes}]}
    volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
