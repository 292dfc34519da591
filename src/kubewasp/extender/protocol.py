"""The v1 extender protocol: what kube-scheduler sends and expects, with its field names.

HOT PATH (guard: make counts). Pods and nodes are left as they came; what is wrong with a
body is told with its field.
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
    """A body that is not what the verb takes; the text says which field is wrong."""


@dataclass(frozen=True, slots=True)
class ExtenderArgs:
    """Of `filter` and `prioritize`. `nodes` are whole nodes, where those were sent; `names` are always there."""

    pod: Manifest
    names: Sequence[str]
    nodes: Sequence[Manifest] | None


@dataclass(frozen=True, slots=True)
class Victims:
    """The pods that would leave a node: their uids, and the pods themselves if they were sent."""

    uids: Sequence[str]
    pods: Sequence[Manifest]
    violations: int


@dataclass(frozen=True, slots=True)
class PreemptionArgs:
    """Of `preempt`: the candidates, by the names of their nodes."""

    pod: Manifest
    victims: Mapping[str, Victims]


@dataclass(frozen=True, slots=True)
class BindingArgs:
    """Of `bind`."""

    name: str
    namespace: str
    uid: str
    node: str


# ---------------------------------------------------------------------- what is asked


def extender_args(body: bytes) -> ExtenderArgs:
    asked = _object(body)
    pod = _pod(asked)
    listed = asked.get("Nodes")
    if listed is not None:
        nodes = _list(_checked(listed, dict, "Nodes").get("items"), "Nodes.items")
        return ExtenderArgs(pod, [_name(node, f"Nodes.items[{index}]") for index, node in enumerate(nodes)], nodes)
    names = asked.get("NodeNames")
    if names is None:
        raise ProtocolError("Nodes, NodeNames: one of them must be there")
    if {*map(type, _list(names, "NodeNames"))} - {str}:
        for index, name in enumerate(names):
            _checked(name, str, f"NodeNames[{index}]")
    return ExtenderArgs(pod, names, None)


def preemption_args(body: bytes) -> PreemptionArgs:
    asked = _object(body)
    pod = _pod(asked)
    for field in ("NodeNameToMetaVictims", "NodeNameToVictims"):
        if asked.get(field) is not None:
            candidates = _checked(asked[field], dict, field)
            is_meta = field == "NodeNameToMetaVictims"
            return PreemptionArgs(
                pod, {name: _victims(item, f"{field}[{quoted(name)}]", is_meta) for name, item in candidates.items()}
            )
    raise ProtocolError("NodeNameToVictims, NodeNameToMetaVictims: one of them must be there")


def binding_args(body: bytes) -> BindingArgs:
    asked = _object(body)
    values = []
    for field in ("PodName", "PodNamespace", "PodUID", "Node"):
        value = _checked(asked.get(field), str, field)
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
        asked = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ProtocolError(f"the body is not JSON: {error}") from None
    if not isinstance(asked, dict):
        raise ProtocolError(f"expected an object, got {shown(asked)}")
    return asked


def _pod(asked: Manifest) -> Manifest:
    pod: Manifest = _checked(asked.get("Pod"), dict, "Pod")
    _name(pod, "Pod")
    return pod


def _name(manifest: Any, path: str) -> str:
    metadata = _checked(_checked(manifest, dict, path).get("metadata"), dict, f"{path}.metadata")
    name: str = _checked(metadata.get("name"), str, f"{path}.metadata.name")
    if not name:
        raise ProtocolError(f"{path}.metadata.name: must not be empty")
    return name


def _list(value: Any, path: str) -> list[Any]:
    """Go writes a list without items as null."""
    found: list[Any] = [] if value is None else _checked(value, list, path)
    return found


_NAMES: Final = {dict: "an object", list: "a list", str: "a string", int: "a number"}


def _checked(value: Any, kind: type, path: str) -> Any:
    if value is None:
        raise ProtocolError(f"{path}: missing, expected {_NAMES[kind]}")
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ProtocolError(f"{path}: expected {_NAMES[kind]}, got {shown(value)}")
    return value


# ---------------------------------------------------------------------- what is answered


def filter_result(args: ExtenderArgs, failed: Mapping[str, str], unresolvable: Mapping[str, str]) -> bytes:
    """In the form that was asked in: whole nodes, or names."""
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
    """Always uids alone, however the victims were sent."""
    return orjson.dumps(
        {
            "NodeNameToMetaVictims": {
                node: {"Pods": [{"UID": uid} for uid in item.uids], "NumPDBViolations": item.violations}
                for node, item in victims.items()
            }
        }
    )


def failure(text: str) -> bytes:
    """Something went wrong: the field that results of `filter` and `bind` have for it, alone."""
    return orjson.dumps({"Error": text})
