"""Extender protocol v1: request and response bodies, with the field names of kube-scheduler.

HOT PATH (guard: make counts). Pods and nodes stay unparsed. Errors in a body name the field.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.k8s.errors import quoted, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VERBS: Final = ("filter", "prioritize", "preempt", "bind")
MAX_PRIORITY: Final = 10

Manifest = dict[str, Any]


class ProtocolError(ValueError):
    """An invalid request body; the text names the field."""


@dataclass(frozen=True, slots=True)
class ExtenderArgs:
    """Arguments of `filter` and `prioritize`. `nodes` are whole nodes, None if only names were sent."""

    pod: Manifest
    names: Sequence[str]
    nodes: Sequence[Manifest] | None


@dataclass(frozen=True, slots=True)
class Victims:
    """Victims on a node: uids and, if sent, whole pods."""

    uids: Sequence[str]
    pods: Sequence[Manifest]
    violations: int


@dataclass(frozen=True, slots=True)
class PreemptionArgs:
    """Arguments of `preempt`: victims by candidate node."""

    pod: Manifest
    victims: Mapping[str, Victims]


@dataclass(frozen=True, slots=True)
class BindingArgs:
    """Arguments of `bind`."""

    name: str
    namespace: str
    uid: str
    node: str


# ---------------------------------------------------------------------- requests


def extender_args(body: bytes) -> ExtenderArgs:
    request = _object(body)
    pod = _pod(request)
    listed = request.get("Nodes")
    if listed is not None:
        nodes = _list(_checked(listed, dict, "Nodes").get("items"), "Nodes.items")
        return ExtenderArgs(pod, [_name(node, f"Nodes.items[{index}]") for index, node in enumerate(nodes)], nodes)
    names = request.get("NodeNames")
    if names is None:
        raise ProtocolError("Nodes, NodeNames: one of them is required")
    if {*map(type, _list(names, "NodeNames"))} - {str}:
        for index, name in enumerate(names):
            _checked(name, str, f"NodeNames[{index}]")
    return ExtenderArgs(pod, names, None)


def preemption_args(body: bytes) -> PreemptionArgs:
    request = _object(body)
    pod = _pod(request)
    for field in ("NodeNameToMetaVictims", "NodeNameToVictims"):
        if request.get(field) is not None:
            candidates = _checked(request[field], dict, field)
            is_meta = field == "NodeNameToMetaVictims"
            return PreemptionArgs(
                pod, {name: _victims(item, f"{field}[{quoted(name)}]", is_meta) for name, item in candidates.items()}
            )
    raise ProtocolError("NodeNameToVictims, NodeNameToMetaVictims: one of them is required")


def binding_args(body: bytes) -> BindingArgs:
    request = _object(body)
    values = []
    for field in ("PodName", "PodNamespace", "PodUID", "Node"):
        value = _checked(request.get(field), str, field)
        if not value:
            raise ProtocolError(f"{field}: must not be empty")
        values.append(value)
    return BindingArgs(*values)


def _victims(given: Any, path: str, is_meta: bool) -> Victims:
    item = _checked(given, dict, path)
    pods = _list(item.get("Pods"), f"{path}.Pods")
    violations = _checked(item.get("NumPDBViolations") or 0, int, f"{path}.NumPDBViolations")
    uids = []
    for index, pod in enumerate(pods):
        place = f"{path}.Pods[{index}]"
        holder = _checked(pod, dict, place)
        if not is_meta:
            holder, place = _checked(holder.get("metadata"), dict, f"{place}.metadata"), f"{place}.metadata"
        uids.append(_checked(holder.get("UID" if is_meta else "uid"), str, f"{place}.{'UID' if is_meta else 'uid'}"))
    return Victims(uids, () if is_meta else pods, violations)


def _object(body: bytes) -> Manifest:
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ProtocolError(f"the body is not JSON: {error}") from None
    if not isinstance(request, dict):
        raise ProtocolError(f"expected an object, got {shown(request)}")
    return request


def _pod(request: Manifest) -> Manifest:
    pod: Manifest = _checked(request.get("Pod"), dict, "Pod")
    _name(pod, "Pod")
    return pod


def _name(manifest: Any, path: str) -> str:
    metadata = _checked(_checked(manifest, dict, path).get("metadata"), dict, f"{path}.metadata")
    name: str = _checked(metadata.get("name"), str, f"{path}.metadata.name")
    if not name:
        raise ProtocolError(f"{path}.metadata.name: must not be empty")
    return name


def _list(value: Any, path: str) -> list[Any]:
    """The list; null, as Go writes empty lists, is empty."""
    found: list[Any] = [] if value is None else _checked(value, list, path)
    return found


_NAMES: Final = {dict: "an object", list: "a list", str: "a string", int: "a number"}


def _checked(value: Any, kind: type, path: str) -> Any:
    if value is None:
        raise ProtocolError(f"{path}: missing, expected {_NAMES[kind]}")
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ProtocolError(f"{path}: expected {_NAMES[kind]}, got {shown(value)}")
    return value


# ---------------------------------------------------------------------- responses


def filter_result(args: ExtenderArgs, failed: Mapping[str, str], unresolvable: Mapping[str, str]) -> bytes:
    """Result in the form of the request: whole nodes or names."""
    kept: Sequence[Any] = args.nodes if args.nodes is not None else args.names
    if failed or unresolvable:
        kept = [
            item for name, item in zip(args.names, kept, strict=True) if name not in failed and name not in unresolvable
        ]
    has_nodes = args.nodes is not None
    return orjson.dumps(
        {
            "Nodes": {"metadata": {}, "items": kept} if has_nodes else None,
            "NodeNames": None if has_nodes else kept,
            "FailedNodes": failed,
            "FailedAndUnresolvableNodes": unresolvable,
            "Error": "",
        }
    )


def host_priorities(names: Sequence[str], scores: Sequence[int]) -> bytes:
    return orjson.dumps([{"Host": name, "Score": score} for name, score in zip(names, scores, strict=True)])


def preemption_result(victims: Mapping[str, Victims]) -> bytes:
    """Result with uids only, regardless of the form of the request."""
    return orjson.dumps(
        {
            "NodeNameToMetaVictims": {
                node: {"Pods": [{"UID": uid} for uid in item.uids], "NumPDBViolations": item.violations}
                for node, item in victims.items()
            }
        }
    )


def failure(text: str) -> bytes:
    """Result with the error field of `filter` and `bind` only."""
    return orjson.dumps({"Error": text})
