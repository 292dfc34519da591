"""PodTopologySpread: topology spread constraints, of the pod or by default.  HOT PATH (guard: make counts).

There is no loop over pods: the pod index has the number of matching pods per row. Data of nodes (eligible rows and
their domains) is kept until a node changes. More than 400 lines: Filter and Score share constraints and layouts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.cycle_state import StateKey
from kubewasp.framework.plugin import (
    MAX_SCORE,
    EnqueueExtensions,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Registration,
    RejectionHints,
    ScorePlugin,
    Verdicts,
    rejection,
)
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.nodes import HOSTNAME, ZONE
from kubewasp.k8s.pods import SpreadConstraint, spread_constraint
from kubewasp.k8s.selectors import LabelSelector, Requirement
from kubewasp.k8s.taints import untolerated
from kubewasp.plugins.hint_texts import domain_text, selector_text
from kubewasp.plugins.node_affinity import matches_required
from kubewasp.state.columns import ABSENT
from kubewasp.state.object_kinds import REPLICA_SET, REPLICATION_CONTROLLER, SERVICE, STATEFUL_SET

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.plugin import Rows, Scores
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.objects import PodOwner
    from kubewasp.k8s.pods import Pod, PodSpec
    from kubewasp.state.node_table import NodeTable
    from kubewasp.state.object_store import ObjectStore

    Numbers = NDArray[np.intp]
    Amounts = NDArray[np.float64]  # whole numbers, the result of bincount

NAME = "PodTopologySpread"
SYSTEM_DEFAULTS = (
    SpreadConstraint(max_skew=3, topology_key=HOSTNAME, is_hard=False, selector=None),
    SpreadConstraint(max_skew=5, topology_key=ZONE, is_hard=False, selector=None),
)
_REASON = "node(s) didn't match pod topology spread constraints"
_MISSING, _SKEWED = 1, 2
_STATUSES = (
    SUCCESS,
    rejection(f"{_REASON} (missing required label)", resolvable=False),
    rejection(_REASON, resolvable=True),
)
_SKIP = Status(Code.SKIP)
_SKIPPED = PreFilterResult(_SKIP)
_FILTERING: Final[StateKey[_Filtering]] = StateKey(NAME)
_SCORING: Final[StateKey[_Scoring]] = StateKey(f"{NAME}/scoring")
_NO_DOMAIN = 2**31 - 1  # the minimum without eligible domains
_MOST, _MOST_LAYOUTS = 1024, 256


class PodTopologySpread(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin, EnqueueExtensions, RejectionHints):
    """Hard constraints filter, soft constraints score."""

    name = NAME

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        self._is_system = args.get("defaultingType", "System") == "System"
        configured = tuple(spread_constraint(item) for item in args.get("defaultConstraints") or ())
        self._defaults = SYSTEM_DEFAULTS if self._is_system else configured
        self._has_default = {hard: any(c.is_hard == hard for c in self._defaults) for hard in (True, False)}
        self._selectors = DefaultSelectors(handle.store)
        self._prepared: dict[tuple[int, int], _Prepared] = {}
        self._layouts: dict[tuple[str, tuple[str, ...], str], tuple[int, _Layout]] = {}

    # ------------------------------------------------------------------ filtering

    def pre_filter(self, state: CycleState, pod: Pod, table: NodeTable) -> PreFilterResult:
        constraints = self._constraints(pod, is_hard=True)
        if not constraints:
            return _SKIPPED
        keys = tuple(constraint.key for constraint in constraints)
        spreads = []
        for constraint in constraints:
            layout = self._layout(table, constraint, keys)
            spreads.append(_Spread(constraint, layout, layout.sums(constraint.counts(table))))
        state[_FILTERING] = _Filtering(spreads)
        return PreFilterResult()

    def add_pod(self, state: CycleState, pod: Pod, added: Pod, row: int, table: NodeTable) -> Status:
        state[_FILTERING].move(pod, added, row, 1)
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, row: int, table: NodeTable) -> Status:
        state[_FILTERING].move(pod, removed, row, -1)
        return SUCCESS

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        filtering = state[_FILTERING]
        first, *others = filtering.spreads
        numbers = first.verdicts()[first.layout.ids[rows]]
        for spread in others:
            numbers = np.where(numbers, numbers, spread.verdicts()[spread.layout.ids[rows]])
        return Verdicts(numbers, _STATUSES)

    def node_hints(self, state: CycleState, pod: Pod, table: NodeTable, row: int) -> Sequence[str]:
        texts = [spread.hint(table, row) for spread in state[_FILTERING].spreads]
        return [text for text in texts if text]

    # ------------------------------------------------------------------ scoring

    def pre_score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Status:
        constraints = self._constraints(pod, is_hard=False)
        if not constraints or not len(table):
            return _SKIP
        needs_all = bool(pod.spec.spread) or not self._is_system
        keys = tuple(constraint.key for constraint in constraints) if needs_all else ()
        layouts = [self._layout(table, constraint, keys) for constraint in constraints]
        places = [layout.ids[rows] for layout in layouts]
        ignored = _any_absent(places) if needs_all else None
        parts = []
        for constraint, layout, at in zip(constraints, layouts, places, strict=True):
            counts = constraint.counts(table)
            seen = at if ignored is None else at[~ignored]
            if constraint.key == HOSTNAME:  # each node is a domain, independent of the label
                weight = math.log(len(seen) + 2)
                part = (np.zeros(len(rows)) if counts is None else counts[rows] * weight) + (constraint.max_skew - 1)
                parts.append(np.where(at == ABSENT, 0.0, part))
            else:
                weight = math.log(layout.distinct(seen) + 2)
                of_domains = layout.sums(counts, merge_empty=True) * weight + (constraint.max_skew - 1)
                of_domains[ABSENT] = 0
                parts.append(of_domains[at])
        state[_SCORING] = _Scoring(parts, ignored)
        return SUCCESS

    def score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Scores | Status:
        """Smaller is better until the scores are normalized."""
        scoring = state[_SCORING]
        total = scoring.parts[0]
        for part in scoring.parts[1:]:
            total = total + part
        whole = np.floor(total)
        scores = (whole + (total - whole >= 0.5)).astype(np.int64)  # halves are rounded up
        if scoring.ignored is not None:
            scores[scoring.ignored] = 0
        return scores

    def normalize(self, state: CycleState, pod: Pod, scores: Scores) -> Scores | Status:
        ignored = state[_SCORING].ignored
        judged = scores if ignored is None else scores[~ignored]
        if not len(judged):
            return np.zeros_like(scores)
        low, high = judged.min(), judged.max()
        found = np.full_like(scores, MAX_SCORE) if high == 0 else MAX_SCORE * (high + low - scores) // high
        if ignored is not None:
            found[ignored] = 0
        return found

    # ------------------------------------------------------------------ events

    def events(self) -> Sequence[Registration]:
        of_pods = Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION
        of_nodes = Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
        return [
            Registration("Pod", of_pods, self._after_pod_change),
            Registration("Node", of_nodes, self._after_node_change),
        ]

    def _after_pod_change(self, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
        changed = [item for item in (old, new) if item is not None]
        if not all(_is_involved(item, pod) for item in changed):
            return False
        constraints = self._constraints(pod, is_hard=True)
        if old is None or new is None:
            return any(constraint.matches(changed[0].labels) for constraint in constraints)
        tolerates_more = new.uid == pod.uid and old.spec.tolerations != new.spec.tolerations
        if tolerates_more and any(constraint.honor_taints for constraint in constraints):
            return True
        return any(constraint.matches(old.labels) != constraint.matches(new.labels) for constraint in constraints)

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node | None) -> bool:
        keys = [constraint.key for constraint in self._constraints(pod, is_hard=True)]
        had = old is not None and all(key in old.labels for key in keys)
        has = new is not None and all(key in new.labels for key in keys)
        if had != has or old is None or new is None:
            return had != has
        moved = any(old.labels[key] != new.labels[key] for key in keys) if has else False
        return has and (moved or old.taints != new.taints)

    # ------------------------------------------------------------------ caches

    def _constraints(self, pod: Pod, *, is_hard: bool) -> tuple[_Constraint, ...]:
        """The constraints of the pod, else the default ones, each with a selector."""
        derived = None
        if not pod.spec.spread:
            if not self._has_default[is_hard]:
                return ()
            derived = self._selectors.of(pod)
            if derived is None:
                return ()
        key = (pod.spec.id, id(pod.labels))
        known = self._prepared.get(key)
        if known is None or known.labels is not pod.labels or known.derived is not derived:
            if len(self._prepared) >= _MOST:
                self._prepared.clear()
            known = self._prepared[key] = _Prepared(pod, self._defaults, derived)
        return known.hard if is_hard else known.soft

    def _layout(self, table: NodeTable, constraint: _Constraint, keys: tuple[str, ...]) -> _Layout:
        """`keys` are the labels of eligible nodes."""
        key = (constraint.key, keys, constraint.policies)
        generation, known = self._layouts.get(key, (-1, None))
        if known is None or generation != table.objects.generation:
            if len(self._layouts) >= _MOST_LAYOUTS:
                self._layouts.clear()
            known = _Layout(table, constraint, keys)
            self._layouts[key] = (table.objects.generation, known)
        return known


class DefaultSelectors:
    """Selectors of the default constraints: those of the services and the controller of a pod."""

    _CONTROLLERS: Final = {
        ("v1", "ReplicationController"): REPLICATION_CONTROLLER,
        ("apps/v1", "ReplicaSet"): REPLICA_SET,
        ("apps/v1", "StatefulSet"): STATEFUL_SET,
    }

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._generation = -1
        self._services: dict[str, list[LabelSelector]] = {}
        self._known: dict[tuple[str, int, str], tuple[Mapping[str, str], LabelSelector | None, LabelSelector]] = {}

    def of(self, pod: Pod) -> LabelSelector | None:
        """The same object for equal pods; None if nothing selects the pod."""
        if self._store.generation(SERVICE) != self._generation:
            self._read_services()
        owner = self._owner(pod)
        theirs = None if owner is None else owner.selector
        if theirs is None and pod.namespace not in self._services:
            return None
        key = (pod.namespace, id(pod.labels), "" if owner is None else owner.kind)
        known = self._known.get(key)
        if known is None or known[0] is not pod.labels or not (known[1] is theirs or known[1] == theirs):
            if len(self._known) >= _MOST:
                self._known.clear()
            known = self._known[key] = (pod.labels, theirs, self._derive(pod, owner))
        return None if known[2].is_empty else known[2]

    def _read_services(self) -> None:
        self._generation = self._store.generation(SERVICE)
        self._known.clear()
        self._services.clear()
        for service in self._store.all(SERVICE):
            if service.selector is not None:
                self._services.setdefault(service.namespace, []).append(service.selector)

    def _owner(self, pod: Pod) -> PodOwner | None:
        owner = pod.owner
        kind = None if owner is None else self._CONTROLLERS.get((owner.api_version, owner.kind))
        return None if owner is None or kind is None else self._store.get(kind, owner.name, pod.namespace)

    def _derive(self, pod: Pod, owner: PodOwner | None) -> LabelSelector:
        matching = (item for item in self._services.get(pod.namespace, ()) if item.matches(pod.labels))
        pairs = {requirement.key: requirement for selector in matching for requirement in selector.requirements}
        more: tuple[Requirement, ...] = ()
        if owner is not None and owner.selector is not None:
            if owner.kind == "ReplicationController":  # a plain map, with precedence over the services
                pairs |= {requirement.key: requirement for requirement in owner.selector.requirements}
            else:
                more = owner.selector.requirements
        return LabelSelector(tuple(pairs.values()) + more)


class _Constraint:
    """A constraint of one pod; shared by all pods with the same spec and labels."""

    __slots__ = (
        *("_query", "honor_affinity", "honor_taints", "key", "matches_itself", "max_skew", "min_domains"),
        *("namespace", "policies", "selector", "spec"),
    )

    def __init__(self, constraint: SpreadConstraint, pod: Pod) -> None:
        spec = pod.spec
        keys = [key for key in constraint.match_label_keys if key in pod.labels]
        selector = constraint.selector
        if selector is not None and keys:
            selector = selector.with_values({key: pod.labels[key] for key in keys})
        self.key = constraint.topology_key
        self.max_skew = constraint.max_skew
        self.min_domains = constraint.min_domains
        self.spec = spec
        self.honor_affinity = constraint.honor_affinity and (
            bool(spec.node_selector) or spec.required_affinity is not None
        )
        self.honor_taints = constraint.honor_taints
        self.namespace = pod.namespace
        self.selector = selector
        self.matches_itself = self.matches(pod.labels)
        # The node inclusion policies as a text: the key of shared layouts.
        wanted = _wanted_nodes(spec) if self.honor_affinity else ""
        self.policies = f"{wanted} {spec.tolerations if self.honor_taints else ''}"
        counts_none = selector is None or selector.is_empty  # although an empty selector matches everything
        self._query = "" if counts_none else f"{NAME} {pod.namespace} {selector}"

    def matches(self, labels: Mapping[str, str]) -> bool:
        return self.selector is not None and self.selector.matches(labels)

    def counts(self, table: NodeTable) -> NDArray[np.int32] | None:
        """The number of matching pods per row without terminating ones; None if none can match."""
        if not self._query:
            return None
        return table.pods.counts(self._query, self._counts, with_terminating=False)

    def _counts(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return namespace == self.namespace and self.matches(labels)


class _Prepared:
    """The constraints of a pod; `derived` is the selector of the default ones."""

    __slots__ = ("derived", "hard", "labels", "soft")

    def __init__(self, pod: Pod, defaults: Sequence[SpreadConstraint], derived: LabelSelector | None) -> None:
        self.labels = pod.labels
        self.derived = derived
        found = pod.spec.spread
        if derived is not None:
            found = tuple(replace(item, selector=derived, match_label_keys=()) for item in defaults)
        self.hard = tuple(_Constraint(item, pod) for item in found if item.is_hard)
        self.soft = tuple(_Constraint(item, pod) for item in found if not item.is_hard)


class _Layout:
    """The nodes of a constraint: the domain of each row, and the eligible rows.

    A domain is a number of the label's column; one extra bin at the end collects the rows that are not eligible.
    """

    __slots__ = ("_bins", "_domains", "_empty", "_size", "domain_count", "ids")

    def __init__(self, table: NodeTable, constraint: _Constraint, keys: tuple[str, ...]) -> None:
        column = table.label(constraint.key)
        size, count = len(column.values), len(table.nodes)
        counted = np.ones(count, np.bool_)
        for key in keys:
            counted &= table.label(key).ids[:count] != ABSENT
        if constraint.honor_affinity:
            counted &= _wanted_rows(table, constraint.spec)[:count]
        if constraint.honor_taints:
            tolerated = [untolerated(taints, constraint.spec.tolerations) is None for taints in table.taint_sets]
            counted &= np.array(tolerated)[table.taint_ids[:count]]
        self.ids: Numbers = column.ids[:count].astype(np.intp)
        self._empty = max(column.find(""), ABSENT)
        self._bins: Numbers = np.where(counted, self.ids, size)
        self._size = size
        has_rows = np.bincount(self._bins, minlength=size + 1)[:size] > 0
        self._domains = np.flatnonzero(has_rows)
        self.domain_count = len(self._domains)

    def sums(self, counts: NDArray[np.int32] | None, *, merge_empty: bool = False) -> Amounts:
        """Sums of the eligible rows by domain. `merge_empty`: a missing label counts as an empty one."""
        if counts is None:
            return np.zeros(self._size + 1)
        sums = np.bincount(self._bins, counts[: len(self._bins)], self._size + 1).astype(np.float64, copy=False)
        if merge_empty and self._empty != ABSENT:
            sums[self._empty] += sums[ABSENT]
        return sums

    def minimum(self, sums: Amounts) -> int:
        """The minimum over domains with eligible rows."""
        return int(sums[self._domains].min(initial=_NO_DOMAIN))

    def counts_row(self, row: int) -> bool:
        return bool(self._bins[row] != self._size)

    def distinct(self, places: Numbers) -> int:
        """The number of domains; a missing label counts as an empty one."""
        seen = np.bincount(places, minlength=self._size)
        both = self._empty != ABSENT and seen[ABSENT] and seen[self._empty]
        return int(np.count_nonzero(seen)) - bool(both)


class _Spread:
    """A hard constraint and the number of matching pods per domain."""

    __slots__ = ("constraint", "layout", "matching")

    def __init__(self, constraint: _Constraint, layout: _Layout, matching: Amounts) -> None:
        self.constraint = constraint
        self.layout = layout
        self.matching = matching

    def verdicts(self) -> NDArray[np.int8]:
        """The verdict number of each domain."""
        verdicts = np.where(self.matching > self.most(), np.int8(_SKEWED), np.int8(0))
        verdicts[ABSENT] = _MISSING
        return verdicts

    def fewest(self) -> int:
        """The global minimum; 0 with fewer domains than `minDomains`."""
        layout = self.layout
        return layout.minimum(self.matching) if layout.domain_count >= self.constraint.min_domains else 0

    def most(self) -> int:
        """The largest number of matching pods in a domain that can take the pod."""
        return self.constraint.max_skew + self.fewest() - self.constraint.matches_itself

    def hint(self, table: NodeTable, row: int) -> str:
        """What the domain of a row lacks; empty if it can take the pod."""
        constraint, domain = self.constraint, self.layout.ids[row]
        if domain == ABSENT:
            return f"label {constraint.key}"
        matching = int(self.matching[domain])
        surplus = matching - self.most()
        if surplus <= 0:
            return ""
        pods = f"pods with {selector_text(constraint.selector)} in {domain_text(table, constraint.key, row)}"
        least = f"least {self.fewest()}"
        if self.layout.domain_count < constraint.min_domains:
            least = f"minDomains {constraint.min_domains}, there are {self.layout.domain_count}"
        return f"{surplus} fewer of {matching} {pods} (maxSkew {constraint.max_skew}, {least})"


class _Filtering:
    """State for Filter, changed in place in a trial."""

    __slots__ = ("spreads",)

    def __init__(self, spreads: list[_Spread]) -> None:
        self.spreads = spreads

    def clone(self) -> _Filtering:
        return _Filtering([_Spread(item.constraint, item.layout, item.matching.copy()) for item in self.spreads])

    def move(self, pod: Pod, other: Pod, row: int, amount: int) -> None:
        """In a trial terminating pods count and an empty selector matches, as in kube-scheduler."""
        if other.namespace != pod.namespace:
            return
        for spread in self.spreads:
            if spread.layout.counts_row(row) and spread.constraint.matches(other.labels):
                spread.matching[spread.layout.ids[row]] += amount


@dataclass(frozen=True, slots=True)
class _Scoring:
    """State for Score: the share of each soft constraint per feasible row, and the ignored rows."""

    parts: list[Amounts]
    ignored: NDArray[np.bool_] | None


def _any_absent(places: Sequence[Numbers]) -> NDArray[np.bool_] | None:
    """The rows without one of the labels; None if there is none."""
    absent = places[0] == ABSENT
    for item in places[1:]:
        absent |= item == ABSENT
    return absent if absent.any() else None


def _wanted_nodes(spec: PodSpec) -> str:
    """Node selector and required node affinity as a text."""
    return f"{sorted((spec.node_selector or {}).items())} {spec.required_affinity}"


def _wanted_rows(table: NodeTable, spec: PodSpec) -> NDArray[np.bool_]:
    """The rows that match them."""

    def compute(rows: Rows) -> NDArray[np.bool_]:
        return np.fromiter((matches_required(spec, table.node(row)) for row in rows.tolist()), np.bool_, len(rows))

    return table.cache.get((NAME, _wanted_nodes(spec)), compute, of_nodes=True)


def _is_involved(changed: Pod, pod: Pod) -> bool:
    if changed.uid == pod.uid:
        return True
    return bool(changed.node or changed.nominated_node) and changed.namespace == pod.namespace
