"""VolumeBinding: nodes with access to a pod's volumes or provisioning for them; binding of its claims in PreBind.

Volume matching is in `volume_binder.py`; this module has the extension points and the writes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.cycle_state import StateKey
from kubewasp.framework.plugin import (
    EnqueueExtensions,
    FilterPlugin,
    PreBindPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Registration,
    RejectionHints,
    ReservePlugin,
    ScorePlugin,
    Verdicts,
    rejection,
)
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.storage import bound_to, claim_name, not_owner, uses_claim, with_selected_node
from kubewasp.plugins.volume_binder import (
    BIND_CONFLICT,
    NODE_CONFLICT,
    NOT_ENOUGH_SPACE,
    VOLUME_MISSING,
    BindingError,
    PodClaims,
    VolumeBinder,
)
from kubewasp.plugins.volume_binding_hints import claim_hint, node_hints
from kubewasp.state.object_kinds import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.plugin import Rows, Scores
    from kubewasp.k8s.pods import Pod, Volume
    from kubewasp.k8s.storage import PersistentVolume, PersistentVolumeClaim
    from kubewasp.state.node_table import NodeTable
    from kubewasp.state.object_kinds import ObjectKind
    from kubewasp.state.object_store import Stored

_SKIP = Status(Code.SKIP)
_REASONS = {
    NODE_CONFLICT: "node(s) didn't match PersistentVolume's node affinity",
    BIND_CONFLICT: "node(s) didn't find available persistent volumes to bind",
    NOT_ENOUGH_SPACE: "node(s) did not have enough free storage",
    VOLUME_MISSING: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
}
_STATUSES = (
    SUCCESS,
    *(
        Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, tuple(text for bit, text in _REASONS.items() if combination & bit))
        for combination in range(1, 2 * VOLUME_MISSING)
    ),
)


@dataclass(slots=True)
class _Work:
    """The claims of a pod and, from Reserve on, the objects to write: old and assumed state of each."""

    claims: PodClaims
    bindings: list[tuple[PersistentVolume | None, PersistentVolume, PersistentVolumeClaim]] = field(
        default_factory=list
    )
    provisions: list[tuple[PersistentVolumeClaim | None, PersistentVolumeClaim]] = field(default_factory=list)
    sent_at: float | None = None

    @property
    def is_done(self) -> bool:
        return not self.bindings and not self.provisions


_WORK = StateKey[_Work]("VolumeBinding")


class VolumeBinding(
    PreFilterPlugin,
    FilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    ReservePlugin,
    PreBindPlugin,
    EnqueueExtensions,
    RejectionHints,
):
    """Volume binding; skipped for pods without claims."""

    name = "VolumeBinding"

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        self._handle = handle
        self._store = handle.store
        self._binder = VolumeBinder(handle.store)
        self._timeout = float(args["bindTimeoutSeconds"])

    # ------------------------------------------------------------------ scheduling

    def pre_filter(self, state: CycleState, pod: Pod, table: NodeTable) -> PreFilterResult:
        volumes = [volume for volume in pod.spec.volumes if uses_claim(volume)]
        if not volumes:
            return PreFilterResult(_SKIP)
        for volume in volumes:
            problem = self._problem(pod, volume)
            if problem:
                return PreFilterResult(rejection(problem, resolvable=False))
        try:
            claims = self._binder.claims_of(pod)
        except BindingError as error:
            return PreFilterResult(Status(Code.ERROR, str(error)))
        if claims.immediate:
            return PreFilterResult(rejection("pod has unbound immediate PersistentVolumeClaims", resolvable=False))
        state[_WORK] = _Work(claims)
        return PreFilterResult()

    def _problem(self, pod: Pod, volume: Volume) -> str:
        """The problem of a claim on all nodes; empty if there is none."""
        name = claim_name(pod, volume)
        claim = self._store.get(PERSISTENT_VOLUME_CLAIM, name, pod.namespace)
        if claim is None:
            missing = f'persistentvolumeclaim "{name}"'
            if volume.is_ephemeral:
                return f"waiting for ephemeral volume controller to create the {missing}"
            return f"{missing} not found"
        if claim.phase == "Lost":
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{claim.volume}"'
        if claim.is_deleting:
            return f'persistentvolumeclaim "{name}" is being deleted'
        return not_owner(pod, claim) if volume.is_ephemeral and not claim.is_controlled_by(pod) else ""

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        work = state[_WORK]
        try:
            findings = self._binder.find(work.claims, table, rows)
        except BindingError as error:
            return Verdicts(np.ones(len(rows), np.bool_), (SUCCESS, Status(Code.ERROR, str(error))))
        return Verdicts(findings.reasons, _STATUSES) if findings.reasons.any() else None

    def pre_score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Status:
        return _SKIP

    def score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Scores | Status:
        return np.zeros(len(rows), np.int64)

    def pod_hints(self, state: CycleState, pod: Pod, table: NodeTable) -> Sequence[str]:
        volumes = [volume for volume in pod.spec.volumes if uses_claim(volume)]
        problems = [claim_name(pod, volume) for volume in volumes if self._problem(pod, volume)]
        if problems:
            return [self._remedy(pod, name) for name in problems]
        return [claim_hint(claim, self._store) for claim in self._binder.claims_of(pod).immediate]

    def _remedy(self, pod: Pod, name: str) -> str:
        claim = self._store.get(PERSISTENT_VOLUME_CLAIM, name, pod.namespace)
        if claim is None:
            return f"PersistentVolumeClaim {pod.namespace}/{name}"
        if claim.phase == "Lost":
            return f"PersistentVolume {claim.volume}, for claim {name}"
        return f"a new claim {name}" if claim.is_deleting else f"claim {name} owned by this pod"

    def node_hints(self, state: CycleState, pod: Pod, table: NodeTable, row: int) -> Sequence[str]:
        return node_hints(self._binder, state[_WORK].claims, table, row)

    # ------------------------------------------------------------------ binding

    def reserve(self, state: CycleState, pod: Pod, node: str) -> Status:
        """Assumes volumes for the claims, so that no other pod takes them."""
        work = state.get(_WORK)
        row = self._handle.table.row(node)
        if work is None or not work.claims.delayed:
            return SUCCESS
        if row is None:
            return Status(Code.ERROR, f'node "{node}" not found')
        try:
            findings = self._binder.find(work.claims, self._handle.table, np.array([row]))
        except BindingError as error:
            return Status(Code.ERROR, str(error))
        if findings.reasons[0]:
            return _STATUSES[int(findings.reasons[0])]
        for claim, choice in findings.matches:
            if choice[0] >= 0:
                volume = bound_to(work.claims.candidates[claim.storage_class][choice[0]], claim)
                work.bindings.append((self._binder.volumes.promise(volume), volume, claim))
        for claim, wanted in findings.provisions:
            if wanted[0]:
                selected = with_selected_node(claim, node)
                work.provisions.append((self._binder.claims.promise(selected), selected))
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node: str) -> None:
        work = state.get(_WORK)
        if work is not None:
            self._forget(work)

    def _forget(self, work: _Work) -> None:
        for _, volume, _ in work.bindings:
            self._binder.volumes.take_back(volume)
        for _, claim in work.provisions:
            self._binder.claims.take_back(claim)
        work.bindings.clear()
        work.provisions.clear()

    def pre_bind(self, state: CycleState, pod: Pod, node: str) -> Status:
        """Writes the assumed changes once. Returns Wait until the claims are bound or the timeout has passed."""
        work = state.get(_WORK)
        if work is None or work.is_done:
            return SUCCESS
        if work.sent_at is None:
            status = self._send(work)
            if not status.is_success:
                return status
            work.sent_at = self._handle.clock.now()
        try:
            waiting = self._unbound(work, node)
        except BindingError as error:
            return Status(Code.ERROR, f"binding volumes: {error}")
        if not waiting:
            self._forget(work)
            return SUCCESS
        if self._handle.clock.now() - work.sent_at >= self._timeout:
            return Status(Code.ERROR, "binding volumes: context deadline exceeded")
        return Status(Code.WAIT, f'binding volumes: persistentvolumeclaim "{waiting}" is not bound yet')

    def _send(self, work: _Work) -> Status:
        manifests = [promised.manifest for _, promised, _ in work.bindings]
        manifests += [selected.manifest for _, selected in work.provisions]
        for manifest in manifests:
            status = self._handle.client.update(manifest)
            if not status.is_success:
                return status
        return SUCCESS

    def _unbound(self, work: _Work, node: str) -> str:
        """The first unbound claim; empty if all are bound."""
        for stored, promised, claim in work.bindings:
            volume = self._stored(PERSISTENT_VOLUME, promised.name)
            current = self._stored(PERSISTENT_VOLUME_CLAIM, claim.name, claim.namespace)
            if volume is stored and not volume.is_bound_to(claim):
                return claim.name
            self._check_affinity(volume, node)
            if volume.claim is None:
                raise BindingError(f'ClaimRef got reset for pv "{volume.name}"')
            if not current.is_bound:
                return claim.name
        for before, selected in work.provisions:
            current = self._stored(PERSISTENT_VOLUME_CLAIM, selected.name, selected.namespace)
            if current.selected_node != node:
                if current is before:
                    return selected.name
                raise BindingError(f'provisioning failed for PVC "{selected.name}"')
            provisioned = self._store.get(PERSISTENT_VOLUME, current.volume) if current.volume else None
            if provisioned is not None:
                self._check_affinity(provisioned, node)
            if provisioned is None or not current.is_bound:
                return selected.name
        return ""

    def _stored(self, kind: ObjectKind[Stored], name: str, namespace: str = "") -> Stored:
        found = self._store.get(kind, name, namespace)
        if found is None:
            key = f"{namespace}/{name}" if namespace else name
            raise BindingError(f'failed to check binding: could not find v1.{kind.name} "{key}"')
        return found

    def _check_affinity(self, volume: PersistentVolume, node: str) -> None:
        table = self._handle.table
        row = table.row(node)
        if row is None:
            raise BindingError(f'failed to get node "{node}": node "{node}" not found')
        if not self._binder.reaches(volume, table, np.array([row])).all():
            raise BindingError(
                f'pv "{volume.name}" node affinity doesn\'t match node "{node}": no matching NodeSelectorTerms'
            )

    # ------------------------------------------------------------------ events

    def events(self) -> Sequence[Registration]:
        return [
            Registration("StorageClass", Action.ADD | Action.UPDATE, _topologies_changed),
            Registration("PersistentVolumeClaim", Action.ADD | Action.UPDATE, _is_claimed),
            Registration("PersistentVolume", Action.ADD | Action.UPDATE),
            Registration("Node", Action.ADD | Action.UPDATE_NODE_LABEL),
            Registration("CSINode", Action.ADD | Action.UPDATE, _migration_changed),
            Registration("CSIDriver", Action.UPDATE, _stopped_checking),
            Registration("CSIStorageCapacity", Action.ADD | Action.UPDATE, _space_grew),
        ]


def _topologies_changed(_pod: Pod, old: Any, new: Any) -> bool:
    return old is None or old.topologies != new.topologies


def _is_claimed(pod: Pod, _old: Any, new: Any) -> bool:
    names = (claim_name(pod, volume) for volume in pod.spec.volumes if uses_claim(volume))
    return bool(new.namespace == pod.namespace and new.name in names)


def _migration_changed(_pod: Pod, old: Any, new: Any) -> bool:
    return old is None or old.migrated_plugins != new.migrated_plugins


def _stopped_checking(pod: Pod, old: Any, new: Any) -> bool:
    inline = (volume.details.get("driver") for volume in pod.spec.volumes if volume.source == "csi")
    return new.name in inline and old.checks_capacity and not new.checks_capacity


def _space_grew(_pod: Pod, old: Any, new: Any) -> bool:
    if old is None:
        return True
    return new.limit is not None and (old.limit is None or new.limit > old.limit)
