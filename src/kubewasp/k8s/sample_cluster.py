"""Sample clusters: a small one for commands without manifests, a large one for benchmarks."""

from __future__ import annotations

from typing import Any


def pod(name: str = "web-2") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-of-{name}", "labels": {"app": "web"}},
        "spec": {
            "schedulerName": "kubewasp",
            "containers": [
                {
                    "name": "web",
                    "image": "registry.example/web:1.4",
                    "resources": {"requests": {"cpu": "250m", "memory": "256Mi"}},
                }
            ],
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
        },
        "status": {"phase": "Pending"},
    }


def nodes(count: int = 3) -> list[dict[str, Any]]:
    """`node-1`, `node-2` …, each about 2 KB with the fields that a kubelet writes."""
    return [node(number) for number in range(1, count + 1)]


def node(number: int) -> dict[str, Any]:
    name = f"node-{number}"
    resources = {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    healthy = {"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"uid-of-{name}",
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": "m5.2xlarge",
                "topology.kubernetes.io/region": "eu-west-1",
                "topology.kubernetes.io/zone": f"eu-west-1{'abc'[number % 3]}",
            },
            "annotations": {
                "node.alpha.kubernetes.io/ttl": "0",
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            },
        },
        "spec": {"podCIDR": f"10.{number // 256 % 256}.{number % 256}.0/24", "providerID": f"example:///{name}"},
        "status": {
            "capacity": resources,
            "allocatable": resources | {"cpu": "7910m", "memory": "31Gi"},
            "conditions": [
                {
                    "type": kind,
                    "status": status,
                    "lastHeartbeatTime": "2026-01-01T12:00:00Z",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                    "reason": f"Kubelet{kind}",
                    "message": f"kubelet reports {kind} as {status}",
                }
                for kind, status in healthy.items()
            ],
            "addresses": [
                {"type": "InternalIP", "address": f"192.0.2.{number % 256}"},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "containerRuntimeVersion": "containerd://2.1.0",
                "kernelVersion": "6.12.0",
                "kubeletVersion": "v1.36.0",
                "operatingSystem": "linux",
                "osImage": "Example Linux 12",
            },
            "images": [
                {"names": [f"registry.example/{image}:1.4"], "sizeBytes": 50_000_000 + 1_000_000 * number}
                for image in ("web", "proxy", "agent")[: 1 + number % 3]
            ],
        },
    }
