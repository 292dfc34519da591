"""Recorded decisions of a running scheduler (`--decisions`) in the form of the console's decision view.

A pod that has its node was decided on in a cluster that is gone: what was recorded then says more than a study of now.
A record has the best nodes and some others, not all of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, unquote

from kubewasp.console.json_values import Document, name_of, text_of
from kubewasp.console.profile_variants import origin_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kubewasp.framework.runtime import Framework
    from kubewasp.k8s.pods import Pod
    from kubewasp.server.decisions import DecisionStore

_PATH: Final = re.compile(r"/pods/([^/]+)/([^/]+)/decision")
# Parameters that a record can follow; others ask for a study.
_FOLLOWED: Final = frozenset(("run", "limit"))
_FEASIBLE, _REJECTED, _SKIPPED = 0, 1, 2
_NOTE: Final = "recorded when the pod was scheduled: the best nodes and some others; change a weight for a study of now"


class RecordedDecisions:
    """Answers from the store of one scheduler. Safe from any thread."""

    def __init__(
        self,
        store: DecisionStore,
        find_pod: Callable[[str], Pod | None],
        frameworks: Callable[[], Mapping[str, Framework]],
    ) -> None:
        """`find_pod` finds a pod by `namespace/name`."""
        self._store = store
        self._find_pod = find_pod
        self._frameworks = frameworks

    def answer(self, path: str, query: str) -> Document | None:
        """The document for a path below `/api/v1`, if it asks for a decision of which there is a record."""
        match = _PATH.fullmatch(path)
        if match is None or not {name for name, _ in parse_qsl(query, keep_blank_values=True)} <= _FOLLOWED:
            return None
        pod = self._find_pod("/".join(unquote(part) for part in match.groups()))
        if pod is None or not pod.node:
            return None
        framework = self._frameworks().get(pod.spec.scheduler_name)
        trace = self._store.recorded(pod.key)
        if framework is None or trace is None or trace["node"] != pod.node:
            return None
        return _document(pod, trace, framework)


def _document(pod: Pod, trace: Mapping[str, Any], framework: Framework) -> Document:
    plugins, nodes = list(framework.plugins), trace["nodes"]
    reasons: dict[str, int] = {}
    names = list(dict.fromkeys(name for node in nodes for name in node["scores"]))
    points = framework.points.items()
    return {
        "pod": name_of(pod.key),
        "time": trace["time"].removesuffix("Z") + ".000Z",
        "basis": "recorded",
        "result": "scheduled",
        "node": name_of(trace["node"]),
        "nominated_node": None,
        "message": text_of(trace["message"] or "") or None,
        "sample": trace["sample"],
        "notes": [_NOTE, *(text_of(note) for note in trace["notes"])],
        "plugins": [
            {
                "name": name_of(name),
                "points": [point for point, enabled in points if any(plugin.name == name for plugin, _ in enabled)],
                "weight": trace["weights"].get(name, 0),
                "origin": origin_of(framework.plugins[name]),
                "removed": False,
            }
            for name in plugins
        ],
        "nodes": {
            "total": trace["all_nodes"],
            "feasible": trace["feasible"],
            "names": [name_of(node["name"]) for node in nodes],
            "status": [
                _FEASIBLE if node["feasible"] else _REJECTED if node["rejected_by"] else _SKIPPED for node in nodes
            ],
            "rejected_by": [_place(plugins, node["rejected_by"]) for node in nodes],
            "reason": [_reason(reasons, node["reasons"]) for node in nodes],
            "total_score": [node["total"] for node in nodes],
            "scores": {
                name_of(name): {
                    form: [node[key].get(name) for node in nodes]
                    for form, key in (
                        ("raw", "raw_scores"),
                        ("normalized", "normalized_scores"),
                        ("weighted", "scores"),
                    )
                }
                for name in names
            },
            "objections": [
                [[_place(plugins, plugin), _reason(reasons, texts)] for plugin, texts in node["objections"].items()]
                for node in nodes
            ],
            "hints": [[text_of(hint) for hint in node["hints"]] for node in nodes],
        },
        "reasons": [text_of(text) for text in reasons],
        "margin": _margin(nodes),
        "preemption": [],
        "victims": [],
        "logs": [],
        "what_if": None,
    }


def _place(plugins: Sequence[str], name: str | None) -> int:
    return plugins.index(name) if name in plugins else -1


def _reason(reasons: dict[str, int], texts: Sequence[str]) -> int:
    return reasons.setdefault(", ".join(texts), len(reasons)) if texts else -1


def _margin(nodes: Sequence[Mapping[str, Any]]) -> Document | None:
    scored = sorted((node for node in nodes if node["total"] is not None), key=lambda node: -node["total"])
    if not scored:
        return None
    first, second = scored[0], scored[1] if len(scored) > 1 else None
    found: Document = {"winner": name_of(first["name"]), "total": first["total"]}
    if second is None:
        return found | {"runner_up": None, "runner_up_total": None, "by": None}
    leads = {plugin: score - second["scores"].get(plugin, 0) for plugin, score in first["scores"].items()}
    most = max(leads, key=lambda plugin: leads[plugin], default="")
    return found | {
        "runner_up": name_of(second["name"]),
        "runner_up_total": second["total"],
        "by": most if most and leads[most] > 0 else None,
    }
