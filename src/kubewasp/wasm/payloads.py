"""Payloads of guests, parsed and checked. Nothing in them is trusted.

Reading costs the host time that no limit of the guest counts, so sizes are bounded by what an honest guest can need.
"""

from __future__ import annotations

import logging
import struct
from typing import TYPE_CHECKING, Final

import numpy as np
import orjson

from kubewasp.framework.binding_annotations import MOST_ANNOTATIONS
from kubewasp.framework.cluster_events import RESOURCES, ClusterEvent, ObjectReference, RecordedEvent
from kubewasp.k8s.annotations import key_problem, size_problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


MOST_EVENT_BYTES: Final = 512 * 1024  # of all events of a hook call
_MOST_CLUSTER_EVENTS: Final = 1000
_MOST_UNKNOWN_NODES: Final = 10_000

logger = logging.getLogger(__name__)


class PayloadError(ValueError):
    """A payload violates the ABI; the text names its import."""


def cluster_events(payload: bytes) -> tuple[ClusterEvent, ...]:
    """Whole pairs of u32. An unknown resource number is a resource without events; both give a warning."""
    events = []
    whole = len(payload) // 8 * 8
    if whole > 8 * _MOST_CLUSTER_EVENTS:
        raise PayloadError(f"result.cluster_events: {whole // 8} events are over the limit of {_MOST_CLUSTER_EVENTS}")
    if whole < len(payload):
        logger.warning("Incomplete cluster event ignored", extra={"bytes": len(payload) - whole})
    for resource, action in struct.iter_unpack("<II", payload[:whole]):
        if resource < len(RESOURCES):
            name = RESOURCES[resource]
        else:
            name = f"EventResource({resource})"
            logger.warning("Registration for an unknown resource has no effect", extra={"resource": resource})
        events.append(ClusterEvent(name, action))
    return tuple(events)


def node_names(payload: bytes | None, count: int) -> tuple[str, ...] | None:
    """NUL-terminated names, empty and unterminated ones dropped; None without a name: all nodes remain candidates.

    `count` is the number of nodes; some more may be named.
    """
    if not payload:
        return None
    most = count + _MOST_UNKNOWN_NODES
    *names, rest = payload.split(b"\0", most)
    if b"\0" in rest:
        raise PayloadError(f"result.node_names: more than {most} names for {count} nodes")
    return tuple(name.decode("utf-8", "replace") for name in names if name) or None


def normalized_scores(payload: bytes | None, scores: Mapping[str, int]) -> dict[str, int]:
    """Scores for exactly the scored nodes; without a payload, or with `null`, the scores are unchanged."""
    what = "result.normalized_score_list"
    most = 4096 + sum(64 + 6 * len(name) for name in scores)  # characters may be escaped
    if payload and len(payload) > most:
        raise PayloadError(f"{what}: {len(payload)} bytes for {len(scores)} nodes are over the limit of {most}")
    sent = _json(payload, what) if payload else None
    if sent is None:
        return dict(scores)
    if not isinstance(sent, dict):
        raise PayloadError(f"{what}: expected a JSON object, got {_kind(sent)}")
    for name, score in sent.items():
        if name not in scores:
            raise PayloadError(f'{what}: there is no node "{_short(name)}" among the scored ones')
        if isinstance(score, bool) or not isinstance(score, int) or not -(2**63) <= score < 2**63:
            raise PayloadError(f'{what}: the score of node "{_short(name)}" is not a 64-bit integer')
    for name in scores:
        if name not in sent:
            raise PayloadError(f'{what}: the score of node "{_short(name)}" is missing')
    return {name: sent[name] for name in scores}


def recorded_events(payloads: Sequence[bytes]) -> tuple[RecordedEvent, ...]:
    return tuple(_event(payload) for payload in payloads)


def row_scores(payload: bytes, count: int) -> NDArray[np.int64]:
    if len(payload) != 8 * count:
        raise PayloadError(f"result.node_scores: expected {count} scores of 8 bytes, got {len(payload)} bytes")
    return np.frombuffer(payload, "<i8").astype(np.int64)


def add_annotation(annotations: dict[str, str], key: str, value: str) -> None:
    """Adds an annotation to those of a hook. Keys are checked with the annotations of other plugins, sizes here."""
    what = "result.annotation"
    if key not in annotations and len(annotations) >= MOST_ANNOTATIONS:
        raise PayloadError(f"{what}: more than {MOST_ANNOTATIONS} annotations")
    if problem := key_problem(key):
        raise PayloadError(f"{what}: {problem}")
    annotations[key] = value
    if problem := size_problem(annotations):
        raise PayloadError(f"{what}: {problem}")


def _event(payload: bytes) -> RecordedEvent:
    what = "handle.eventrecorder.eventf"
    sent = _json(payload, what)
    if not isinstance(sent, dict):
        raise PayloadError(f"{what}: expected a JSON object, got {_kind(sent)}")
    return RecordedEvent(
        regarding=_reference(sent, "RegardingReference"),
        related=_reference(sent, "RelatedReference"),
        type=_string(sent, "Eventtype", what),
        reason=_string(sent, "Reason", what),
        action=_string(sent, "Action", what),
        note=_string(sent, "Note", what),
    )


def _reference(event: Mapping[str, object], key: str) -> ObjectReference:
    what = f"handle.eventrecorder.eventf: {key}"
    sent = event.get(key)
    if sent is None:
        return ObjectReference()
    if not isinstance(sent, dict):
        raise PayloadError(f"{what}: expected a JSON object, got {_kind(sent)}")
    return ObjectReference(
        kind=_string(sent, "Kind", what),
        api_version=_string(sent, "APIVersion", what),
        name=_string(sent, "Name", what),
        namespace=_string(sent, "Namespace", what),
        uid=_string(sent, "UID", what),
        resource_version=_string(sent, "ResourceVersion", what),
    )


def _string(sent: Mapping[str, object], key: str, what: str) -> str:
    value = sent.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise PayloadError(f"{what}: {key}: expected a string, got {_kind(value)}")
    return value


def _json(payload: bytes, what: str) -> object:
    try:
        return orjson.loads(payload)
    except orjson.JSONDecodeError as error:
        raise PayloadError(f"{what}: invalid JSON: {error}") from None


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _short(name: str) -> str:
    return name if len(name) <= 80 else f"{name[:80]}…"
