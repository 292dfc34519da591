"""One node with its pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.console.json_values import Document, amount, amounts, name_of, page_of, text_of, when
from kubewasp.k8s.codec import decode
from kubewasp.k8s.timestamps import MICROSECONDS, parse

if TYPE_CHECKING:
    from kubewasp.console.picture import Picture
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import Pod


def node_document(picture: Picture, name: str, after: int, limit: int) -> Document | None:
    """The node, with a page of its pods: the most important first."""
    node = picture.nodes.get(name)
    row = picture.rows.get(name)
    if node is None or row is None:
        return None
    columns = picture.columns
    pods = sorted(picture.pods_on.get(name, ()), key=lambda pod: (-pod.priority, pod.key))
    shown, more = page_of(pods, after, limit)
    resources = [
        {
            "resource": resource,
            "allocatable": amount(resource, _at(columns.allocatable.get(resource), row)),
            "requested": amount(resource, _at(columns.requested.get(resource), row)),
        }
        for resource in columns.resources
    ]
    resources.append(
        {"resource": "pods", "allocatable": int(columns.max_pods[row]), "requested": int(columns.pods[row])}
    )
    return {
        "name": name_of(name),
        "labels": {name_of(key): name_of(value) for key, value in node.labels.items()},
        "taints": [text_of(str(taint)) for taint in node.taints],
        "unschedulable": node.is_unschedulable,
        "created": _created(node),
        "resources": [item for item in resources if item["allocatable"] or item["requested"]],
        "pods": [
            {
                "key": name_of(pod.key),
                "priority": pod.priority,
                "requests": amounts(pod.resources.requests),
                "since": when((pod.start_time or pod.created) / MICROSECONDS)
                if pod.start_time or pod.created
                else None,
            }
            for pod in shown
        ],
        **more,
    }


def _at(column: object, row: int) -> int:
    return 0 if column is None else int(column[row])  # type: ignore[index]


def _since(pod: Pod) -> str | None:
    """The start of the pod, or its creation."""
    began = pod.start_time or pod.created
    return when(began / MICROSECONDS) if began else None


def _created(node: Node) -> str | None:
    """Creation time; the scheduling view of a node has none."""
    text = (decode("Node", node.encoded).get("metadata") or {}).get("creationTimestamp") if node.encoded else None
    try:
        return when(parse(text) / MICROSECONDS) if text else None
    except ValueError:
        return None
