"""Runs side by side: measures, pods that differ by cause, distributions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kubewasp.console.json_values import Document, name_of, page_of, text_of

if TYPE_CHECKING:
    from kubewasp.console.console_source import Session
    from kubewasp.console.run_comparison import ComparedPod, RunComparison

_OTHERS = "cause not looked for"


def compare_document(session: Session, found: RunComparison) -> Document:
    causes: Counter[tuple[str, str]] = Counter((pod.plugin or _OTHERS, pod.plugin) for pod in found.pods)
    return {
        "runs": [{"id": run.id, "name": name_of(run.name)} for run in session.runs],
        "measures": [
            {
                "name": measure.name,
                "text": measure.text,
                "unit": measure.unit,
                "values": list(measure.values),
                "best": list(measure.best),
                "significant": measure.is_significant,
            }
            for measure in found.measures
        ],
        "moved": {
            "total": len(found.pods),
            "causes": [
                {"text": text_of(text), "plugin": plugin or None, "pods": number}
                for (text, plugin), number in causes.most_common()
            ],
        },
        "distributions": [
            {
                "name": item.name,
                "unit": item.unit,
                "edges": list(item.edges),
                "counts": [list(counts) for counts in item.counts],
            }
            for item in found.distributions
        ],
    }


def compared_pods(found: RunComparison, after: int, limit: int) -> Document:
    shown, more = page_of(found.pods, after, limit)
    return {"pods": [_pod(pod) for pod in shown], **more}


def _pod(pod: ComparedPod) -> Document:
    cause = {"plugin": pod.plugin or None, "text": text_of(pod.cause)} if pod.cause else None
    found: Document = {
        "key": name_of(pod.key),
        "places": [None if node is None else name_of(node) for node in pod.places],
        "cause": cause,
    }
    if pod.position is not None:
        found["position"] = pod.position
    return found
