"""Answers of the console's API for a cluster that is made up: equal for equal arguments, and of any size."""

from __future__ import annotations

import datetime as dt
import math
import random
from typing import Any

from kubewasp import __version__

RESOURCES = ("cpu", "memory", "nvidia.com/gpu")
UNITS = {"cpu": "cores", "memory": "bytes", "nvidia.com/gpu": "count"}
ALLOCATABLE = {"cpu": 64.0, "memory": 256.0 * 2**30, "nvidia.com/gpu": 8.0}
NAMESPACES = ("training", "inference", "web", "batch", "data", "monitoring", "ci", "research", "kube-system")
ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c", "eu-west-1d")
PARTS = ("active", "backoff", "unschedulable", "waiting", "gated")
FILTERS = ("NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread")
SCORES = (
    "NodeResourcesFit",
    "NodeResourcesBalancedAllocation",
    "PodTopologySpread",
    "TaintToleration",
    "ImageLocality",
    "gpu-share",
)
WEIGHTS = {
    "NodeResourcesFit": 1,
    "NodeResourcesBalancedAllocation": 1,
    "PodTopologySpread": 2,
    "TaintToleration": 3,
    "ImageLocality": 1,
    "gpu-share": 5,
}
START = dt.datetime(2026, 3, 14, 9, 0, tzinfo=dt.UTC)
REASONS = (
    ("Insufficient nvidia.com/gpu", "NodeResourcesFit", "2 more GPUs on any of 12 nodes of zone eu-west-1b"),
    ("node(s) had untolerated taint {dedicated: research}", "TaintToleration", "the toleration dedicated=research"),
    ("Insufficient memory", "NodeResourcesFit", "48 GiB less memory requested, or one more node of this size"),
    ("node(s) didn't match pod topology spread constraints", "PodTopologySpread", "a node in zone eu-west-1d"),
)
HOSTILE = (
    "<img src=x onerror=\"document.title='broken'\">",
    "</script><script>window.broken = true</script>",
    "admin\u202etxt.exe\u2066 \u200b\ufeffname",
    "\u05e9\u05dc\u05d5\u05dd-\u0639\u0631\u0628\u064a",
    "a\x00b\x1b[31mred\nline\ttab",
    "javascript:alert(1)",
    "Z" + "a\u0301\u0302\u0303\u0304\u0305" * 200,
    "long-" + "x" * 100_000,
)


class NotThereError(Exception):
    """No such answer: 404."""


def when(seconds: float) -> str:
    return (START + dt.timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class FakeCluster:
    """A cluster of `nodes` nodes; `hostile` names are put where a cluster's names stand."""

    def __init__(
        self, nodes: int = 240, mode: str = "live", *, hostile: bool = False, seed: int = 7, length: int = 2400
    ) -> None:
        self.random = random.Random(seed)
        self.mode = mode
        self.hostile = HOSTILE if hostile else ()
        self.length = length
        self.state = {"promoted": False}
        self.names = [
            f"{'gpu' if index % 3 == 0 else 'cpu'}-{index // 40:02d}-{index % 40:02d}" for index in range(nodes)
        ]
        self.names[: len(self.hostile)] = self.hostile
        self.zones = [index * len(ZONES) // nodes for index in range(nodes)]
        waves = [0.55 + 0.3 * math.sin(index / 9) for index in range(nodes)]
        self.shares = {
            resource: [round(min(1.0, max(0.0, wave + self.random.gauss(0, 0.14))), 4) for wave in waves]
            for resource in RESOURCES
        }
        self.shares["nvidia.com/gpu"] = [
            share if index % 3 == 0 else 0.0 for index, share in enumerate(self.shares["nvidia.com/gpu"])
        ]
        self.pods_on = [round(share * 30) for share in self.shares["cpu"]]
        self.unschedulable = [int(self.random.random() < 0.02) for _ in range(nodes)]
        self.namespace = [
            -1 if not pods else min(len(NAMESPACES) - 1, int(self.random.expovariate(0.5))) for pods in self.pods_on
        ]
        self.change_count = 0

    @property
    def placed(self) -> int:
        return sum(self.pods_on) + self.change_count

    def pod(self, number: int) -> str:
        if number < len(self.hostile):
            return f"{NAMESPACES[0]}/{self.hostile[number]}"
        namespace = NAMESPACES[number % 5]
        return f"{namespace}/{namespace}-worker-{number:05d}"

    def answer(self, path: str, query: dict[str, str]) -> Any:
        first, *rest = path.strip("/").split("/")
        if first == "pods":
            return self.decision("/".join(rest[:-1]), query) if rest[-1] == "decision" else self.pod_of("/".join(rest))
        if first == "nodes":
            return self.node("/".join(rest))
        name = "_".join(path.strip("/").split("/")[:2]).replace("/", "_")
        if first == "pending" and rest:
            return self.pending_group(rest[0])
        method = getattr(self, f"get_{name}", None)
        if method is None:
            raise NotThereError(path)
        return method(query)

    # ------------------------------------------------------------------ frame

    def get_session(self, query: dict[str, str]) -> Any:
        runs = [{"id": "a", "name": "Spread (today)"}, {"id": "b", "name": "Pack GPUs"}]
        return {
            "version": __version__,
            "mode": self.mode,
            "title": "production-eu" if self.mode == "live" else "one week of the GPU cluster",
            "runs": runs if self.mode == "comparison" else runs[:1],
            "now": when(3600),
            "capabilities": {
                "timeline": self.mode != "live",
                "compare": self.mode == "comparison",
                "decisions": True,
                "events": True,
                "actions": self.mode == "live",
            },
            "resources": [{"name": name, "unit": UNITS[name]} for name in RESOURCES],
            "labels": ["topology.kubernetes.io/zone", "node.kubernetes.io/instance-type", "team"],
            "profiles": [
                {
                    "name": "default-scheduler",
                    "plugins": [
                        {"name": name, "weight": WEIGHTS.get(name, 0), "points": self.points(name)}
                        for name in self.plugin_names()
                    ],
                }
            ],
            "viewer": None,
            "csrf": "made-up",
        }

    @staticmethod
    def plugin_names() -> list[str]:
        return list(dict.fromkeys((*FILTERS, *SCORES)))

    @staticmethod
    def points(name: str) -> list[str]:
        return [*(["Filter"] if name in FILTERS else []), *(["Score"] if name in SCORES else [])]

    def get_overview(self, query: dict[str, str]) -> Any:
        count = 60
        placed = [round(self.placed * (0.4 + 0.6 * index / count)) for index in range(count + 1)]
        pending = [round(90 + 60 * math.sin(index / 7) + 20 * math.sin(index / 2)) for index in range(count + 1)]
        rate = [round(18 + 8 * math.sin(index / 5), 1) for index in range(count + 1)]
        kinds = ("scheduled", "scheduled", "unschedulable", "preempted", "scheduled", "node-changed", "rollout")
        recent = []
        for index in range(self.change_count + 14, self.change_count, -1):
            kind = kinds[index % len(kinds)]
            item = {"time": when(3500 + 7 * index), "kind": kind, "text": ""}
            if kind in ("scheduled", "unschedulable", "preempted"):
                item["pod"] = self.pod(index)
            if kind in ("scheduled", "node-changed"):
                item["node"] = self.names[index * 7 % len(self.names)]
            if kind == "unschedulable":
                item["text"] = f"0/{len(self.names)} nodes are available: {REASONS[0][0]}"
            if kind == "preempted":
                item["text"] = "for training/training-worker-00400"
            if kind == "rollout":
                item["text"] = "gpu-share 1.4.0 is shadowing 1.3.2"
            recent.append(item)
        return {
            "time": when(3600 + self.change_count),
            "pods": {
                "placed": self.placed,
                "waiting": 6,
                "pending": 142,
                "gated": 12,
                "failing": 3,
                "total": self.placed + 160,
            },
            "nodes": {
                "total": len(self.names),
                "used": sum(pods > 0 for pods in self.pods_on),
                "unschedulable": sum(self.unschedulable),
            },
            "utilisation": [
                {
                    "resource": name,
                    "allocatable": ALLOCATABLE[name] * len(self.names),
                    "requested": ALLOCATABLE[name] * sum(shares),
                    "share": sum(shares) / len(shares),
                }
                for name, shares in self.shares.items()
            ],
            "attempts": {"scheduled": self.placed, "unschedulable": 812, "error": 3},
            "rate": 21.4,
            "latency": {"p50": 0.00231, "p99": 0.0187},
            "plugins": [
                {
                    "name": name,
                    "point": self.points(name)[-1],
                    "calls": 5210 - 31 * index,
                    "seconds": 4.2 / (index + 1),
                    "p50": 0.00018 / (index + 1),
                    "p99": 0.0021 / (index + 1),
                }
                for index, name in enumerate(reversed(self.plugin_names()))
            ],
            "recent": recent,
            "series": {
                "time": [when(60 * index) for index in range(count + 1)],
                "placed": placed,
                "pending": pending,
                "rate": rate,
            },
        }

    # ------------------------------------------------------------------ pending, queue, pods, nodes

    def get_pending(self, query: dict[str, str]) -> Any:
        texts = [*((text, "NodeAffinity", text) for text in self.hostile), *REASONS]
        groups = [
            {
                "id": f"group-{number}",
                "reason": reason,
                "plugins": [plugin],
                "pods": max(1, 86 >> (2 * number)),
                "oldest": {"pod": self.pod(number), "since": when(-4000 + 900 * number)},
                "help": [help_text],
                "examples": [self.pod(100 * number + offset) for offset in range(3)],
            }
            for number, (reason, plugin, help_text) in enumerate(texts)
        ]
        return {"total": sum(group["pods"] for group in groups), "groups": groups}

    def pending_group(self, key: str) -> Any:
        group = next((found for found in self.get_pending({})["groups"] if found["id"] == key), None)
        if group is None:
            raise NotThereError(key)
        pods = [
            {
                "key": self.pod(number),
                "since": when(-4000 + 11 * number),
                "attempts": 1 + 90 // (number + 1),
                "priority": 100 * (number % 3),
                "owner": f"Job/train-{number // 8}",
                "message": f"0/{len(self.names)} nodes are available: {group['reason']}",
            }
            for number in range(group["pods"])
        ]
        return {
            "id": key,
            "reason": group["reason"],
            "plugins": group["plugins"],
            "help": group["help"],
            "pods": pods,
            "total": len(pods),
        }

    def get_queue(self, query: dict[str, str]) -> Any:
        part = query.get("part") or "active"
        counts = {"active": 4, "backoff": 31, "unschedulable": 107, "waiting": 6, "gated": 12}
        whys = {
            "active": "ready for its next attempt",
            "backoff": "waits until its backoff ends",
            "unschedulable": "waits for a change that NodeResourcesFit may accept",
            "waiting": "waits for 3 more pods of its group",
            "gated": "gated: scheduling gate example.com/quota",
        }
        plugins = {"unschedulable": "NodeResourcesFit", "waiting": "gang", "gated": "SchedulingGates"}
        pods = [
            {
                "key": self.pod(number),
                "part": part,
                "position": number,
                "why": self.hostile[number] if number < len(self.hostile) else whys[part],
                "plugin": plugins.get(part),
                "node": None,
                "until": when(3600 + 4 * number + 3) if part in ("backoff", "waiting") else None,
                "since": when(3500 - 20 * number),
                "attempts": number % 7,
                "priority": 100 * (number % 3),
            }
            for number in range(counts[part])
        ]
        return {"counts": counts, "pods": pods, "total": len(pods)}

    def pod_of(self, key: str) -> Any:
        if "missing" in key:
            raise NotThereError(f"no pod {key}")
        hostile = {f"label-{index}": text[:3000] for index, text in enumerate(self.hostile)}
        return {
            "key": key,
            "uid": "7c1d8b52-91f8-4f56-9f42-4c3b7a6f0e11",
            "node": None if key.endswith("0") else self.names[3],
            "phase": "Pending" if key.endswith("0") else "Running",
            "part": "unschedulable" if key.endswith("0") else None,
            "profile": "default-scheduler",
            "priority": 100,
            "owner": "Job/train-llm-7b",
            "created": when(-3000),
            "since": when(120),
            "attempts": 4,
            "message": self.hostile[0]
            if self.hostile
            else f"0/{len(self.names)} nodes are available: 81 {REASONS[0][0]}, 24 {REASONS[1][0]}",
            "requests": [
                {"resource": "cpu", "amount": 8.0},
                {"resource": "memory", "amount": 64.0 * 2**30},
                {"resource": "nvidia.com/gpu", "amount": 2},
            ],
            "labels": {"app": "train", "team": "vision", "job-name": "train-llm-7b", **hostile},
            "tolerations": ["nvidia.com/gpu:NoSchedule", "node.kubernetes.io/not-ready:NoExecute"],
            "selectors": ["accelerator in (a100, h100)"],
            "annotations": ["example.com/owner"],
            "decided_at": 812 if self.mode != "live" else None,
        }

    def node(self, name: str) -> Any:
        if name not in self.names:
            raise NotThereError(f"no node {name[:80]}")
        row = self.names.index(name)
        pods = [
            {
                "key": self.pod(number + (0 if self.hostile else 31 * row)),
                "priority": 100 * (number % 3),
                "requests": [
                    {"resource": "cpu", "amount": 0.5 + number % 4},
                    {"resource": "memory", "amount": 2.0**31},
                ],
                "since": when(-900 * number),
            }
            for number in range(self.pods_on[row])
        ]
        return {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "topology.kubernetes.io/zone": ZONES[self.zones[row]],
                "node.kubernetes.io/instance-type": "g5.12xlarge",
            },
            "taints": ["nvidia.com/gpu:NoSchedule"] if row % 3 == 0 else [],
            "unschedulable": bool(self.unschedulable[row]),
            "created": when(-86_400 * 40),
            "resources": [
                {
                    "resource": key,
                    "allocatable": ALLOCATABLE[key],
                    "requested": ALLOCATABLE[key] * self.shares[key][row],
                }
                for key in RESOURCES
            ]
            + [{"resource": "pods", "allocatable": 110, "requested": self.pods_on[row]}],
            "pods": pods,
            "total": len(pods),
        }

    def get_search(self, query: dict[str, str]) -> Any:
        text = query.get("q", "").lower()
        found = [
            {"kind": "plugin", "key": key, "detail": "Filter, Score"}
            for key in self.plugin_names()
            if text in key.lower()
        ]
        found += [
            {"kind": "node", "key": key, "detail": ZONES[self.zones[row]]}
            for row, key in enumerate(self.names)
            if text in key.lower()
        ]
        found += [
            {"kind": "pod", "key": key, "detail": f"on {self.names[2]}"}
            for key in map(self.pod, range(300))
            if text in key.lower()
        ]
        return {"results": found[:50]}

    # ------------------------------------------------------------------ decision

    def decision(self, key: str, query: dict[str, str]) -> Any:
        if "missing" in key:
            raise NotThereError(f"no pod {key}")
        weights = dict(WEIGHTS)
        for item in filter(None, query.get("weights", "").split(",")):
            plugin, _, weight = item.partition(":")
            weights[plugin] = int(weight)
        without = set(filter(None, query.get("without", "").split(",")))
        before = self.decided(key, dict(WEIGHTS), set(), {})
        found = self.decided(key, weights, without, query)
        if weights != WEIGHTS or without:
            found["what_if"] = {
                "node_before": before["node"],
                "total_before": before["margin"]["total"] if before["margin"] else None,
                "node": found["node"],
                "total": found["margin"]["total"] if found["margin"] else None,
                "changed": before["node"] != found["node"],
            }
        return found

    def decided(self, key: str, weights: dict[str, int], without: set[str], query: dict[str, str]) -> Any:
        chance = random.Random(key)
        is_hopeless = key.endswith("0")
        plugins = self.plugin_names()
        scored = [name for name in SCORES if name not in without]
        reasons = [
            *self.hostile,
            "Insufficient nvidia.com/gpu",
            "Insufficient cpu",
            "node(s) had untolerated taint {dedicated: research}",
            "node(s) were unschedulable",
            "node(s) didn't match Pod's node affinity/selector",
        ]
        base = len(self.hostile)
        columns = []
        for row, name in enumerate(self.names):
            objections = []
            if self.unschedulable[row] and "NodeUnschedulable" not in without:
                objections.append([plugins.index("NodeUnschedulable"), base + 3])
            if row % 3 and "NodeResourcesFit" not in without:
                objections.append([plugins.index("NodeResourcesFit"), base])
            if row % 3 == 1 and row % 2 and "NodeAffinity" not in without:
                objections.append([plugins.index("NodeAffinity"), base + 4])
            if (is_hopeless or self.shares["cpu"][row] > 0.88) and "NodeResourcesFit" not in without:
                objections.append([plugins.index("NodeResourcesFit"), base + 1 if row % 3 == 0 else base])
            if row % 21 == 0 and "TaintToleration" not in without:
                objections.append([plugins.index("TaintToleration"), base + 2])
            if base and objections:
                objections[0][1] = row % base
            unique = list({plugin: [plugin, reason] for plugin, reason in objections}.values())
            raw = {
                plugin: round(100 * abs(math.sin(row / (5 + 3 * index) + index)) * 0.9 + chance.random() * 10)
                for index, plugin in enumerate(scored)
            }
            total = sum(min(100, raw[plugin]) * weights.get(plugin, 0) for plugin in scored)
            columns.append((len(unique), -total if not unique else 0, row, name, unique, raw, total))
        columns.sort()
        feasible = sum(not column[0] for column in columns)
        if query.get("only") == "feasible":
            columns = [column for column in columns if not column[0]]
        if query.get("only") == "rejected":
            columns = [column for column in columns if column[0]]
        if query.get("sort") == "name":
            columns.sort(key=lambda column: column[3])
        total_count = len(columns)
        after, limit = int(query.get("after") or 0), int(query.get("limit") or 100)
        page = columns[after : after + limit]
        best = sorted((column for column in columns if not column[0]), key=lambda column: -column[6])
        margin = None
        if best:
            margin = {"winner": best[0][3], "total": best[0][6], "runner_up": None, "runner_up_total": None, "by": None}
            if len(best) > 1:
                margin |= {"runner_up": best[1][3], "runner_up_total": best[1][6], "by": "gpu-share"}

        def column_of(name: str, kind: str) -> list[int | None]:
            weight = weights.get(name, 0) if kind == "weighted" else 1
            return [
                None if column[0] else (column[5][name] * 7 if kind == "raw" else min(100, column[5][name]) * weight)
                for column in page
            ]

        victims = [{"key": self.pod(500 + number), "priority": 0, "owner": "Job/etl-nightly"} for number in range(3)]
        return {
            "pod": key,
            "time": when(3600),
            "basis": "study",
            "result": "scheduled" if best else "unschedulable",
            "node": best[0][3] if best else None,
            "nominated_node": None if best else self.names[9],
            "message": None if best else f"0/{len(self.names)} nodes are available",
            "sample": "",
            "notes": [],
            "plugins": [
                {
                    "name": name,
                    "points": self.points(name),
                    "weight": weights.get(name, 0),
                    "origin": "wasm" if name == "gpu-share" else "built-in",
                    "removed": name in without,
                }
                for name in plugins
            ],
            "nodes": {
                "total": total_count,
                "feasible": feasible,
                "names": [column[3] for column in page],
                "status": [int(bool(column[0])) for column in page],
                "rejected_by": [column[4][0][0] if column[4] else -1 for column in page],
                "reason": [column[4][0][1] if column[4] else -1 for column in page],
                "total_score": [None if column[0] else column[6] for column in page],
                "scores": {
                    name: {kind: column_of(name, kind) for kind in ("raw", "normalized", "weighted")} for name in scored
                },
                "objections": [column[4] for column in page],
                "hints": [
                    ["would fit with 1 GPU less"] if column[0] == 1 and column[2] % 5 == 0 else [] for column in page
                ],
            },
            "reasons": reasons,
            "margin": margin,
            "preemption": []
            if best
            else [
                {
                    "node": self.names[9],
                    "victims": victims,
                    "budget_violations": 0,
                    "reason": "chosen: 3 pods of priority up to 0",
                },
                {
                    "node": self.names[12],
                    "victims": [*victims, {"key": self.pod(510), "priority": 50, "owner": None}],
                    "budget_violations": 1,
                    "reason": "4 pods of priority up to 50, 1 against a PodDisruptionBudget",
                },
            ],
            "victims": [] if best else [victim["key"] for victim in victims],
            "logs": [
                {
                    "plugin": "gpu-share",
                    "lines": [
                        "Score  log  fragmentation before 0.31, after 0.27",
                        "Score  log  8 shapes of 12 still fit",
                        *self.hostile,
                    ],
                }
            ],
            "what_if": None,
            **({"next": str(after + limit)} if after + limit < total_count else {}),
        }

    # ------------------------------------------------------------------ map, timeline, compare, plugins

    def get_map(self, query: dict[str, str]) -> Any:
        by = query.get("by") or "zone"
        at = int(query["at"]) if query.get("at") else self.length
        part = at / self.length
        shift = 0.12 if query.get("run") == "b" else 0.0
        if by in ("zone", "topology.kubernetes.io/zone"):
            groups, group = list(ZONES), self.zones
        elif by == "team":
            groups, group = ["vision", "language", "shared"], [row % 3 for row in range(len(self.names))]
        else:
            groups, group = ["c6i.16xlarge", "g5.12xlarge"], [int(row % 3 == 0) for row in range(len(self.names))]
        groups[: len(self.hostile) and 2] = self.hostile[: len(self.hostile) and 2]
        step = self.change_count % 7

        def moved(share: float, row: int) -> float:
            return round(
                max(0.0, min(1.0, share * part + (shift if row % 2 else -shift) + (0.1 if row % 7 == step else 0))), 4
            )

        return {
            "by": by,
            "groups": [{"name": name, "nodes": group.count(index)} for index, name in enumerate(groups)],
            "names": self.names,
            "group": group,
            "pods": [round(pods * part) for pods in self.pods_on],
            "resources": {
                key: [moved(share, row) if share else 0 for row, share in enumerate(shares)]
                for key, shares in self.shares.items()
            },
            "namespaces": list(NAMESPACES),
            "namespace": self.namespace,
            "unschedulable": self.unschedulable,
            "truncated": False,
        }

    def get_map_scores(self, query: dict[str, str]) -> Any:
        if "/" not in query.get("pod", ""):
            raise NotThereError("pod")
        return {
            "names": self.names,
            "values": [None if row % 3 else round(100 * abs(math.sin(row / 8))) for row in range(len(self.names))],
        }

    def get_timeline(self, query: dict[str, str]) -> Any:
        count = 300
        steps = [self.length * index // count for index in range(count + 1)]
        return {
            "length": self.length,
            "start": when(0),
            "end": when(7 * 86_400),
            "series": {
                "position": steps,
                "time": [when(7 * 86_400 * index / count) for index in range(count + 1)],
                "pending": [
                    max(0, round(60 + 55 * math.sin(index / 22) + 14 * math.sin(index / 3)))
                    for index in range(count + 1)
                ],
                "placed": [round(self.placed * (index / count) ** 0.7) for index in range(count + 1)],
                "nodes_used": [round(len(self.names) * min(1, 0.2 + index / count)) for index in range(count + 1)],
                "utilisation": {
                    key: [
                        round(0.75 * (index / count) ** 0.7 + 0.05 * math.sin(index / (9 + place)) ** 2, 4)
                        for index in range(count + 1)
                    ]
                    for place, key in enumerate(RESOURCES)
                },
            },
            "differences": 18 if self.mode == "comparison" else 0,
            "marks": [
                {"position": 800, "time": when(200_000), "text": "zone eu-west-1c drained"},
                {"position": 1600, "time": when(400_000), "text": "40 nodes added"},
            ],
        }

    def get_timeline_changes(self, query: dict[str, str]) -> Any:
        start = int(query.get("from") or 0)
        return {
            "changes": [
                {
                    "position": position,
                    "time": when(252 * position),
                    "kind": "scheduled" if position % 5 else "unschedulable",
                    "text": "" if position % 5 else REASONS[0][0],
                    "pod": self.pod(position),
                    **({"node": self.names[position * 7 % len(self.names)]} if position % 5 else {}),
                }
                for position in range(start, min(self.length, start + int(query.get("limit") or 100)))
            ]
        }

    def get_timeline_next(self, query: dict[str, str]) -> Any:
        position = (int(query.get("from") or 0) // 130 + 1) * 130
        if position > self.length:
            raise NotThereError("there is no such change after this position")
        return {"position": position}

    def get_compare(self, query: dict[str, str]) -> Any:
        bell = [[round(90 * math.exp(-(((index - middle) / 4) ** 2))) for index in range(20)] for middle in (8, 12)]
        wait = [[round(220 * math.exp(-index / scale)) for index in range(20)] for scale in (4, 2.6)]
        edges = [index / 20 for index in range(21)]
        return {
            "runs": [{"id": "a", "name": "Spread (today)"}, {"id": "b", "name": "Pack GPUs"}],
            "measures": [
                {
                    "name": "placed",
                    "text": "Pods placed",
                    "unit": "count",
                    "values": [8120, 8344],
                    "best": [1],
                    "significant": True,
                },
                {
                    "name": "pending",
                    "text": "Pods pending at the end",
                    "unit": "count",
                    "values": [224, 0],
                    "best": [1],
                    "significant": True,
                },
                {
                    "name": "wait",
                    "text": "Wait of a pod, median",
                    "unit": "s",
                    "values": [41.2, 18.9],
                    "best": [1],
                    "significant": True,
                },
                {
                    "name": "gpu",
                    "text": "GPU allocation",
                    "unit": "share",
                    "values": [0.812, 0.897],
                    "best": [1],
                    "significant": True,
                },
                {
                    "name": "fragmentation",
                    "text": "GPU fragmentation",
                    "unit": "share",
                    "values": [0.31, 0.18],
                    "best": [1],
                    "significant": True,
                },
                {
                    "name": "nodes",
                    "text": "Nodes in use",
                    "unit": "count",
                    "values": [231, 204],
                    "best": [1],
                    "significant": None,
                },
                {
                    "name": "preempted",
                    "text": "Pods preempted",
                    "unit": "count",
                    "values": [12, 15],
                    "best": [0],
                    "significant": False,
                },
            ],
            "moved": {
                "total": 1870,
                "causes": [
                    {
                        "text": "gpu-share prefers nodes with the least fragmentation",
                        "plugin": "gpu-share",
                        "pods": 1402,
                    },
                    {
                        "text": "NodeResourcesFit: another pod took the place first",
                        "plugin": "NodeResourcesFit",
                        "pods": 468,
                    },
                ],
            },
            "distributions": [
                {"name": "GPU use per node", "unit": "share", "edges": edges, "counts": bell},
                {"name": "Wait of a pod", "unit": "s", "edges": [edge * 300 for edge in edges], "counts": wait},
            ],
        }

    def get_compare_pods(self, query: dict[str, str]) -> Any:
        limit = int(query.get("limit") or 100)
        pods = [
            {
                "key": self.pod(number),
                "places": [
                    self.names[number * 3 % len(self.names)],
                    None if number % 17 == 3 else self.names[number * 5 % len(self.names)],
                ],
                "cause": {"plugin": "gpu-share", "text": "gpu-share gives 84 instead of 31"} if number % 3 else None,
            }
            for number in range(min(limit, 1870))
        ]
        return {"pods": pods, "total": 1870, **({"next": str(limit)} if limit < 1870 else {})}

    def get_plugins(self, query: dict[str, str]) -> Any:
        found = []
        for index, name in enumerate(self.plugin_names()):
            is_wasm = name == "gpu-share"
            rollout = {
                "state": "promoted" if self.state["promoted"] else "shadow",
                "step": "1,204 of 5,000 pods",
                "detail": [["Candidate", "1.4.0"], ["Same node", "98.2 %"], ["Slower by", "4 %"]],
                "actions": ["promote", "abort"],
            }
            found.append(
                {
                    "name": name,
                    "origin": "wasm" if is_wasm else "built-in",
                    "profiles": ["default-scheduler"],
                    "weight": WEIGHTS.get(name, 0),
                    "hooks": ["PreFilter", *self.points(name)],
                    "source": "oci://registry.internal/policies/gpu-share:1.3.2" if is_wasm else None,
                    "version": "1.3.2" if is_wasm else None,
                    "digest": "sha256:" + "4f1c9a" * 10 + "4f1c" if is_wasm else None,
                    "signature": {
                        "state": "verified" if is_wasm else "not-required",
                        "signer": "policies@platform.internal" if is_wasm else None,
                    },
                    "calls": 5210 - 31 * index,
                    "errors": 2 if is_wasm else 0,
                    "timeouts": 1 if is_wasm else 0,
                    "seconds": 4.2 / (index + 1),
                    "p50": 0.00018,
                    "p99": 0.0021,
                    "memory": 18 * 2**20 if is_wasm else None,
                    "rollout": rollout if is_wasm and self.mode == "live" else None,
                }
            )
        found += [
            {
                "name": text,
                "origin": "wasm",
                "profiles": [text[:200]],
                "weight": 1,
                "hooks": [text[:200]],
                "source": text,
                "version": text[:200],
                "digest": text,
                "signature": {"state": "unsigned", "signer": text},
                "calls": 0,
                "errors": 0,
                "timeouts": 0,
                "seconds": 0,
                "p50": None,
                "p99": None,
                "memory": None,
                "rollout": None,
            }
            for text in self.hostile
        ]
        return {"plugins": found}
