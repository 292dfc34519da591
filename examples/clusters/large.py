"""Manifests of a large cluster, as JSON on stdout: nodes of three kinds, about 50 workloads, too few GPUs.

python examples/clusters/large.py --nodes 3000 --pods 20000 > large.json
kubewasp simulate large.json
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
# Kind of node: share of the nodes, instance type, allocatable resources, taints.
POOLS: dict[str, tuple[float, str, dict[str, str], list[dict[str, str]]]] = {
    "general": (0.60, "m6i.2xlarge", {"cpu": "8", "memory": "30Gi"}, []),
    "spot": (0.37, "m6i.4xlarge", {"cpu": "16", "memory": "60Gi"}, []),
    "gpu": (
        0.03,
        "g5.12xlarge",
        {"cpu": "48", "memory": "180Gi", "nvidia.com/gpu": "4"},
        [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}],
    ),
}
APPS = ("api", "cart", "search", "billing", "mail", "images", "report", "stream", "auth", "feed", "batch", "etl")
TEAMS = ("shop", "data", "media", "platform")
REQUESTS = (("500m", "1Gi"), ("1", "2Gi"), ("2", "4Gi"), ("250m", "3Gi"), ("4", "8Gi"))


def nodes(count: int) -> list[dict[str, Any]]:
    found = []
    for pool, (share, instance, amounts, taints) in POOLS.items():
        for number in range(max(1, round(count * share))):
            name = f"{pool}-{number:04d}"
            labels = {
                "kubernetes.io/hostname": name,
                "topology.kubernetes.io/zone": ZONES[number % len(ZONES)],
                "node.kubernetes.io/instance-type": instance,
                "pool": pool,
            }
            found.append(
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "metadata": {"name": name, "labels": labels},
                    "spec": {"taints": taints},
                    "status": {"allocatable": {"pods": "110", **amounts}},
                }
            )
    return found


def workloads(pods: int) -> list[dict[str, Any]]:
    """Deployments of all teams, a training job that needs more GPUs than there are, and pods that fit nowhere."""
    training, oversized = pods // 40, max(1, pods // 500)
    names = [(team, app) for team in TEAMS for app in APPS]
    weights = [1 + number % 7 for number in range(len(names))]
    left = pods - training - oversized
    found = []
    for number, (team, app) in enumerate(names):
        replicas = left * weights[number] // sum(weights) if number < len(names) - 1 else left - _placed(found)
        cpu, memory = REQUESTS[number % len(REQUESTS)]
        spread = [
            {
                "maxSkew": 5,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app": app}},
            }
        ]
        spec = {"containers": _containers({"cpu": cpu, "memory": memory}), "topologySpreadConstraints": spread}
        found.append(_workload("Deployment", team, app, replicas, spec))
    gpu = {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    found.append(
        _workload("Job", "data", "train", training, {"containers": _containers(gpu), "tolerations": tolerations})
    )
    found.append(_workload("StatefulSet", "data", "warehouse", oversized, {"containers": _containers({"cpu": "64"})}))
    return found


def _placed(found: list[dict[str, Any]]) -> int:
    return sum(item["spec"]["replicas"] for item in found)


def _containers(requests: dict[str, str]) -> list[dict[str, Any]]:
    return [{"name": "main", "image": "registry.example/app:1", "resources": {"requests": requests}}]


def _workload(kind: str, team: str, app: str, count: int, spec: dict[str, Any]) -> dict[str, Any]:
    labels = {"app": app}
    body: dict[str, Any] = {"template": {"metadata": {"labels": labels}, "spec": spec}}
    if kind == "Job":
        body |= {"parallelism": count, "completions": count}
    else:
        body |= {"replicas": count, "selector": {"matchLabels": labels}}
    version = "batch/v1" if kind == "Job" else "apps/v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": app, "namespace": team}, "spec": body}


def main() -> None:
    options = argparse.ArgumentParser(description="Manifests of a large cluster, as JSON on stdout.")
    options.add_argument("--nodes", type=int, default=3000, metavar="N", help="number of nodes; default: 3000")
    options.add_argument("--pods", type=int, default=20_000, metavar="N", help="number of pods; default: 20000")
    given = options.parse_args()
    items = [*nodes(given.nodes), *workloads(given.pods)]
    json.dump({"apiVersion": "v1", "kind": "List", "items": items}, sys.stdout)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
