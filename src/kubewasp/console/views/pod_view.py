"""One pod: its place, its requests and what it asks of nodes. No environment, no values of annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.console.json_values import Document, amounts, name_of, owner_of, text_of, when
from kubewasp.k8s.codec import decode
from kubewasp.plugins.hint_texts import requirement_text

if TYPE_CHECKING:
    from kubewasp.console.picture import Picture
    from kubewasp.k8s.pods import Pod
    from kubewasp.k8s.taints import Toleration


def pod_document(picture: Picture, key: str, decided_at: int | None) -> Document | None:
    pod = picture.pods.get(key)
    if pod is None:
        return None
    entry = picture.queue.get(key)
    metadata = decode("Pod", pod.encoded).get("metadata") or {} if pod.encoded else {}
    return {
        "key": name_of(pod.key),
        "uid": name_of(pod.uid),
        "node": name_of(pod.node) or None,
        "phase": _phase(pod),
        "part": None if entry is None else entry.part,
        "profile": name_of(pod.spec.scheduler_name),
        "priority": pod.priority,
        "owner": owner_of(pod),
        "created": when(pod.created / 1e6) if pod.created else None,
        "since": None if entry is None else when(entry.since),
        "attempts": 0 if entry is None else entry.attempts,
        "message": None if entry is None or not entry.message else text_of(entry.message),
        "requests": amounts(pod.resources.requests),
        "labels": {name_of(name): name_of(value) for name, value in pod.labels.items()},
        "tolerations": [text_of(_toleration(item)) for item in pod.spec.tolerations],
        "selectors": [text_of(text) for text in _selectors(pod)],
        "annotations": [name_of(name) for name in metadata.get("annotations") or ()],
        "decided_at": decided_at,
    }


def _phase(pod: Pod) -> str:
    """The phase; Scheduled while a pod has a node and does not run, as in a simulation."""
    if pod.node and pod.phase in ("", "Pending"):
        return "Scheduled"
    return pod.phase or "Pending"


def _toleration(found: Toleration) -> str:
    """In the form of kubectl: `key=value:effect`."""
    name = found.key or "any taint"
    value = f"={found.value}" if found.operator in ("", "Equal") and found.key else ""
    return f"{name}{value}" + (f":{found.effect}" if found.effect else "")


def _selectors(pod: Pod) -> list[str]:
    """Conditions on labels of nodes; terms of affinity are alternatives."""
    found = [f"{key}={value}" for key, value in (pod.spec.node_selector or {}).items()]
    terms = [
        ", ".join(requirement_text(item) for item in (*term.expressions, *term.fields)) or f"invalid: {term.invalid}"
        for term in pod.spec.required_affinity or ()
    ]
    return [*found, *([" or ".join(terms)] if terms else [])]
