"""Pod: the scheduling view of a pod, parsed once from its manifest and frozen.

Pods of one template share one `PodSpec`, so that masks and scores derived from it are computed once. `Pod` adds the
metadata and status of the single pod.
More than 400 lines: one object with all parts that matter for scheduling.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import orjson

from kubewasp.k8s import timestamps
from kubewasp.k8s.annotations import encoded_annotations
from kubewasp.k8s.json_documents import to_keep
from kubewasp.k8s.resources import PodResources, pod_resources
from kubewasp.k8s.selectors import (
    LabelSelector,
    NodeSelectorTerm,
    SelectorError,
    label_selector,
    node_selector_term,
    node_selector_terms,
)
from kubewasp.k8s.taints import Toleration, parse_tolerations
from kubewasp.k8s.varint import leb128

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DEFAULT_SCHEDULER = "default-scheduler"
# The fields of a spec and of a container that are read. All others (mounts, environment, names of token volumes …)
# are removed before specs are compared: in a real cluster they differ from pod to pod.
_SPEC = (
    *("affinity", "containers", "hostNetwork", "hostUsers", "initContainers", "nodeSelector", "overhead"),
    *("preemptionPolicy", "priority", "priorityClassName", "resourceClaims", "resources", "schedulerName"),
    *("schedulingGates", "schedulingGroup", "tolerations", "topologySpreadConstraints", "volumes"),
)
_CONTAINER = ("image", "name", "ports", "resources", "restartPolicy", "restartPolicyRules")
_LOCAL_VOLUMES = ("configMap", "downwardAPI", "emptyDir", "hostPath", "projected", "secret")
ANY_ADDRESS, _PROTOCOL = "0.0.0.0", "TCP"  # noqa: S104 - what an empty hostIP means, nothing is bound here


@dataclass(frozen=True, slots=True)
class HostPort:
    """A host port of a container."""

    protocol: str
    ip: str
    port: int

    def conflicts_with(self, used: HostPort) -> bool:
        if (self.protocol, self.port) != (used.protocol, used.port):
            return False
        return self.ip in (ANY_ADDRESS, used.ip) or used.ip == ANY_ADDRESS


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """A required or preferred term of pod affinity; `error` is set if it is invalid."""

    selector: LabelSelector | None
    namespaces: frozenset[str]
    namespace_selector: LabelSelector | None
    topology_key: str
    weight: int = 0
    error: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class PodAffinity:
    """All pod affinity terms of a spec. Compared by identity: equal terms are one object per cluster."""

    required: tuple[AffinityTerm, ...]
    required_anti: tuple[AffinityTerm, ...]
    preferred: tuple[AffinityTerm, ...]
    preferred_anti: tuple[AffinityTerm, ...]


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """A topology spread constraint with defaults."""

    max_skew: int
    topology_key: str
    is_hard: bool
    selector: LabelSelector | None
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False
    match_label_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PreferredTerm:
    """A preferred node affinity term."""

    weight: int
    term: NodeSelectorTerm


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume of a pod: the fields that scheduling reads."""

    name: str
    claim: str = ""
    is_ephemeral: bool = False
    source: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class PodSpec:
    """The spec of a pod without its node. Compared by identity: equal specs are one object with one `id`."""

    id: int
    scheduler_name: str
    node_selector: Mapping[str, str] | None
    required_affinity: tuple[NodeSelectorTerm, ...] | None
    preferred_affinity: tuple[PreferredTerm, ...]
    pod_affinity: PodAffinity | None
    tolerations: tuple[Toleration, ...]
    spread: tuple[SpreadConstraint, ...]
    scheduling_gates: tuple[str, ...]
    priority: int
    priority_class: str
    preemption_policy: str
    resources: PodResources
    host_ports: tuple[HostPort, ...]
    images: tuple[str, ...]
    image_volumes: tuple[str, ...]
    container_count: int
    volumes: tuple[Volume, ...]
    has_claims: bool
    needed_features: frozenset[str]


@dataclass(frozen=True, slots=True)
class Owner:
    """The controller of a pod."""

    api_version: str
    kind: str
    name: str
    uid: str


@dataclass(frozen=True, eq=False, slots=True)
class Pod:
    """One pod. `encoded` is its protobuf, the form that guests receive; `node` is empty until it is bound."""

    namespace: str
    name: str
    uid: str
    labels: Mapping[str, str]
    owner: Owner | None
    is_terminating: bool
    created: int
    node: str
    spec: PodSpec
    resources: PodResources
    phase: str
    start_time: int | None
    nominated_node: str
    is_disrupted: bool
    is_unready: bool  # a condition says so; a pod without conditions is not known to be unready
    resource_version: str
    encoded: bytes

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def priority(self) -> int:
        return self.spec.priority

    @property
    def is_finished(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    def __repr__(self) -> str:
        return f"Pod({self.key}{f' on {self.node}' if self.node else ''})"


def placed_on(pod: Pod, node: str) -> Pod:
    """The pod with its node, in its protobuf too: a second `spec` that has only `nodeName` is merged into the first."""
    name = node.encode()
    field = b"\x52" + leb128(len(name)) + name
    return replace(pod, node=node, encoded=pod.encoded + b"\x12" + leb128(len(field)) + field)


def annotated(pod: Pod, annotations: Mapping[str, str]) -> Pod:
    """The pod with more annotations: a second `metadata` in its protobuf, merged as in `placed_on`."""
    metadata = encoded_annotations(annotations)
    return replace(pod, encoded=pod.encoded + b"\x0a" + leb128(len(metadata)) + metadata)


# Number of specs, affinities and label sets kept for sharing. Pods keep their own in any case.
_MOST_KEPT = 20_000


class PodParser:
    """Parser of pods. Equal specs are parsed once; one parser per cluster."""

    def __init__(self) -> None:
        self._specs: dict[bytes, PodSpec] = {}
        self._labels: dict[bytes, Mapping[str, str]] = {}
        self._affinities: dict[tuple[tuple[AffinityTerm, ...], ...], PodAffinity] = {}
        self._numbers = itertools.count()

    def parse(self, manifest: Mapping[str, Any], encoded: bytes = b"") -> Pod:
        """A pod from its valid manifest."""
        metadata, spec, status = (manifest.get(part) or {} for part in ("metadata", "spec", "status"))
        namespace = metadata.get("namespace") or "default"
        parsed = self.spec(spec, namespace)
        containers = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
        resized = any(item.get("resources") is not None for item in (status, *containers))
        return Pod(
            namespace=namespace,
            name=metadata.get("name") or "",
            uid=metadata.get("uid") or f"{namespace}/{metadata.get('name')}",
            labels=self._shared_labels(metadata.get("labels") or {}),
            owner=_owner(metadata.get("ownerReferences") or ()),
            is_terminating=bool(metadata.get("deletionTimestamp")),
            created=_time(metadata.get("creationTimestamp")) or 0,
            node=spec.get("nodeName") or "",
            spec=parsed,
            resources=pod_resources(spec, status) if resized else parsed.resources,
            phase=status.get("phase") or "",
            start_time=_time(status.get("startTime")),
            nominated_node=status.get("nominatedNodeName") or "",
            is_disrupted=_is_disrupted(status.get("conditions") or ()),
            is_unready=_is_unready(status.get("conditions") or ()),
            resource_version=metadata.get("resourceVersion") or "",
            encoded=encoded,
        )

    def spec(self, spec: Mapping[str, Any], namespace: str) -> PodSpec:
        """The parsed spec; the namespace is the default of affinity terms."""
        read = _read(spec)
        key = orjson.dumps([namespace, read], option=orjson.OPT_SORT_KEYS)
        found = self._specs.get(key)
        if found is None:
            _make_room(self._specs)
            found = self._specs[to_keep(key)] = _spec(next(self._numbers), read, self._pod_affinity(read, namespace))
        return found

    def _pod_affinity(self, spec: Mapping[str, Any], namespace: str) -> PodAffinity | None:
        affinity = spec.get("affinity") or {}
        together, apart = affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {}
        terms = (
            _terms(together, namespace),
            _terms(apart, namespace),
            _weighted_terms(together, namespace),
            _weighted_terms(apart, namespace),
        )
        if not any(terms):
            return None
        found = self._affinities.get(terms)
        if found is None:
            _make_room(self._affinities)
            found = self._affinities[terms] = PodAffinity(*terms)
        return found

    def _shared_labels(self, labels: Mapping[str, str]) -> Mapping[str, str]:
        key = orjson.dumps(labels, option=orjson.OPT_SORT_KEYS)
        found = self._labels.get(key)
        if found is None:
            _make_room(self._labels)
            found = self._labels[to_keep(key)] = labels
        return found


def _make_room(kept: dict[Any, Any]) -> None:
    """Clears a full cache; later pods fill it again."""
    if len(kept) >= _MOST_KEPT:
        kept.clear()


def _read(spec: Mapping[str, Any]) -> dict[str, Any]:
    read = {name: spec[name] for name in _SPEC if name in spec}
    for containers in ("containers", "initContainers"):
        if read.get(containers):
            read[containers] = [{n: item[n] for n in _CONTAINER if n in item} for item in read[containers]]
    if read.get("volumes"):
        read["volumes"] = [v for v in read["volumes"] if all(v.get(source) is None for source in _LOCAL_VOLUMES)]
    return read


def _spec(number: int, spec: Mapping[str, Any], pod_affinity: PodAffinity | None) -> PodSpec:
    node = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = node.get("requiredDuringSchedulingIgnoredDuringExecution")
    containers = spec.get("containers") or ()
    init_containers = spec.get("initContainers") or ()
    sidecars = [c for c in init_containers if c.get("restartPolicy") == "Always"]
    volumes = spec.get("volumes") or ()
    return PodSpec(
        id=number,
        scheduler_name=spec.get("schedulerName") or DEFAULT_SCHEDULER,
        node_selector=spec.get("nodeSelector"),
        required_affinity=None if required is None else node_selector_terms(required.get("nodeSelectorTerms") or ()),
        preferred_affinity=tuple(
            PreferredTerm(item.get("weight") or 0, node_selector_term(item.get("preference") or {}))
            for item in node.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        ),
        pod_affinity=pod_affinity,
        tolerations=parse_tolerations(spec.get("tolerations")),
        spread=tuple(spread_constraint(item) for item in spec.get("topologySpreadConstraints") or ()),
        scheduling_gates=tuple(item.get("name") or "" for item in spec.get("schedulingGates") or ()),
        priority=spec.get("priority") or 0,
        priority_class=spec.get("priorityClassName") or "",
        preemption_policy=spec.get("preemptionPolicy") or "PreemptLowerPriority",
        resources=pod_resources(spec),
        host_ports=tuple(port for container in [*containers, *sidecars] for port in _host_ports(container)),
        images=tuple(c.get("image") or "" for c in [*init_containers, *containers]),
        image_volumes=tuple((v["image"].get("reference") or "") for v in volumes if v.get("image")),
        container_count=len(init_containers) + len(containers),
        volumes=tuple(_volume(item) for item in volumes),
        has_claims=bool(spec.get("resourceClaims")),
        needed_features=_needed_features(spec, [*containers, *init_containers]),
    )


def _terms(affinity: Mapping[str, Any], namespace: str) -> tuple[AffinityTerm, ...]:
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
    return tuple(_term(item, namespace) for item in terms)


def _weighted_terms(affinity: Mapping[str, Any], namespace: str) -> tuple[AffinityTerm, ...]:
    terms = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return tuple(_term(item.get("podAffinityTerm") or {}, namespace, item.get("weight") or 0) for item in terms)


def _term(item: Mapping[str, Any], namespace: str, weight: int = 0) -> AffinityTerm:
    named = item.get("namespaces") or ()
    error, selector, namespaces = "", None, None
    try:
        selector = label_selector(item.get("labelSelector"))
        namespaces = label_selector(item.get("namespaceSelector"))
    except SelectorError as problem:
        error = str(problem)
    own = not named and item.get("namespaceSelector") is None
    return AffinityTerm(
        selector=selector,
        namespaces=frozenset((namespace,) if own else named),
        namespace_selector=namespaces,
        topology_key=item.get("topologyKey") or "",
        weight=weight,
        error=error,
    )


def spread_constraint(item: Mapping[str, Any]) -> SpreadConstraint:
    """A constraint of a pod, or a default constraint of the configuration."""
    return SpreadConstraint(
        max_skew=item.get("maxSkew") or 0,
        topology_key=item.get("topologyKey") or "",
        is_hard=item.get("whenUnsatisfiable") == "DoNotSchedule",
        selector=label_selector(item.get("labelSelector")),
        min_domains=1 if item.get("minDomains") is None else item["minDomains"],
        honor_affinity=item.get("nodeAffinityPolicy") != "Ignore",
        honor_taints=item.get("nodeTaintsPolicy") == "Honor",
        match_label_keys=tuple(item.get("matchLabelKeys") or ()),
    )


def _host_ports(container: Mapping[str, Any]) -> list[HostPort]:
    return [
        HostPort(port.get("protocol") or _PROTOCOL, port.get("hostIP") or ANY_ADDRESS, port["hostPort"])
        for port in container.get("ports") or ()
        if (port.get("hostPort") or 0) > 0
    ]


def _volume(item: Mapping[str, Any]) -> Volume:
    name = item.get("name") or ""
    if item.get("persistentVolumeClaim"):
        return Volume(name, claim=item["persistentVolumeClaim"].get("claimName") or "", source="persistentVolumeClaim")
    source = next((key for key in item if key != "name" and item[key] is not None), "")
    return Volume(name, is_ephemeral=source == "ephemeral", source=source, details=item.get(source) or {})


def _needed_features(spec: Mapping[str, Any], containers: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    needed = set()
    rules = (rule for container in containers for rule in container.get("restartPolicyRules") or ())
    if any(rule.get("action") == "RestartAllContainers" for rule in rules):
        needed.add("RestartAllContainersOnContainerExits")
    if spec.get("hostNetwork") and spec.get("hostUsers") is False:
        needed.add("UserNamespacesHostNetworkSupport")
    return frozenset(needed)


def _owner(references: Sequence[Mapping[str, Any]]) -> Owner | None:
    for item in references:
        if item.get("controller"):
            return Owner(*(item.get(key) or "" for key in ("apiVersion", "kind", "name", "uid")))
    return None


def _is_disrupted(conditions: Sequence[Mapping[str, Any]]) -> bool:
    return any(
        c.get("type") == "DisruptionTarget" and c.get("status") == "True" and c.get("reason") == "PreemptionByScheduler"
        for c in conditions
    )


def _is_unready(conditions: Sequence[Mapping[str, Any]]) -> bool:
    return any(c.get("type") == "Ready" and c.get("status") != "True" for c in conditions)


def _time(text: str | None) -> int | None:
    """Microseconds since the epoch."""
    return timestamps.parse(text) if text else None
