"""InterPodAffinity: required and preferred pod affinity and anti-affinity.  HOT PATH (guard: make counts).

There is no loop over pods. The pod index counts the pods that match a term of the incoming pod, per row, and the pods
with terms of their own by these terms; the terms that select the incoming pod are computed once per set of labels.
More than 400 lines: the four sorts of terms share their data.
"""

from __future__ import annotations

from dataclasses import dataclass
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
from kubewasp.plugins.hint_texts import domain_text, few, selector_text
from kubewasp.state.columns import ABSENT
from kubewasp.state.object_kinds import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.framework.handle import SchedulerHandle
    from kubewasp.framework.plugin import Rows, Scores
    from kubewasp.k8s.nodes import Node
    from kubewasp.k8s.pods import AffinityTerm, Pod, PodAffinity
    from kubewasp.k8s.selectors import LabelSelector
    from kubewasp.state.node_table import NodeTable
    from kubewasp.state.object_store import ObjectStore
    from kubewasp.state.pod_index import PodIndex, RowCounts

    Amounts = NDArray[np.float64]  # whole numbers, the result of bincount
    Groups = dict[tuple[str, int], list[RowCounts]]  # by label and weight

NAME = "InterPodAffinity"
# The objection with the largest number wins.
_EXISTING, _ANTI, _AFFINITY = 1, 2, 3
_STATUSES = (
    SUCCESS,
    rejection("node(s) didn't satisfy existing pods anti-affinity rules", resolvable=True),
    rejection("node(s) didn't match pod anti-affinity rules", resolvable=True),
    rejection("node(s) didn't match pod affinity rules", resolvable=False),
)
_SKIP = Status(Code.SKIP)
_SKIPPED = PreFilterResult(_SKIP)
_FILTERING: Final[StateKey[_Filtering]] = StateKey(NAME)
_SCORING: Final[StateKey[Domains]] = StateKey(f"{NAME}/scoring")
_ANY_LABEL = ("", "")
_MOST = 1024
_MOST_ROWS = 100  # searched for the pods of a hint


class InterPodAffinity(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin, EnqueueExtensions, RejectionHints):
    """Required terms filter, preferred terms score: those of the incoming pod and of existing pods."""

    name = NAME

    def __init__(self, args: Mapping[str, Any], handle: SchedulerHandle) -> None:
        self._hard_weight = int(args.get("hardPodAffinityWeight", 1))
        self._ignores_others = bool(args.get("ignorePreferredTermsOfExistingPods", False))
        self._store = handle.store
        self._own: dict[PodAffinity, _IncomingTerms] = {}
        self._others: dict[tuple[str, int], _SelectingTerms] = {}
        self._terms = _TermIndex(self._hard_weight)

    # ------------------------------------------------------------------ filtering

    def pre_filter(self, state: CycleState, pod: Pod, table: NodeTable) -> PreFilterResult:
        if pod.spec.pod_affinity is None and not table.pods.with_affinity:
            return _SKIPPED
        own = self._incoming_terms(pod)
        if own.error:
            return PreFilterResult(rejection(f"parsing pod: {own.error}", resolvable=False))
        others = self._selecting_terms(pod, table)
        existing = Domains(table)
        existing.add_groups(others.repelling)
        if existing.is_empty and own.affinity is None and not own.anti:
            return _SKIPPED
        affinity, anti = Domains(table), Domains(table)
        if own.affinity is not None:
            counts = own.affinity.counts(table)
            for key in own.affinity.keys:
                affinity.add(key, counts)
        for query in own.anti:
            anti.add(query.keys[0], query.counts(table))
        state[_FILTERING] = _Filtering(own, others, affinity, anti, existing)
        return PreFilterResult()

    def add_pod(self, state: CycleState, pod: Pod, added: Pod, row: int, table: NodeTable) -> Status:
        state[_FILTERING].move(pod, added, row, 1)
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, row: int, table: NodeTable) -> Status:
        state[_FILTERING].move(pod, removed, row, -1)
        return SUCCESS

    def filter(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Verdicts | None:
        filtering = state[_FILTERING]
        numbers: NDArray[np.int8] | None = None
        for key, verdicts in filtering.verdicts(pod).items():
            found = verdicts[table.label(key).ids[rows]]
            numbers = found if numbers is None else np.maximum(numbers, found)
        return None if numbers is None else Verdicts(numbers, _STATUSES)

    def node_hints(self, state: CycleState, pod: Pod, table: NodeTable, row: int) -> Sequence[str]:
        """Missing pods of affinity terms, pods in the way of anti-affinity terms, and pods that repel this one."""
        filtering, affinity = state[_FILTERING], pod.spec.pod_affinity
        found = []
        together = filtering.own.affinity
        if affinity is not None and together is not None:
            is_first = filtering.affinity.is_empty and together.matches(pod.namespace, pod.labels)
            for term in affinity.required:
                found += _missing(term, filtering.affinity, table, row, is_first=is_first)
        if affinity is not None:
            for term, query in zip(affinity.required_anti, filtering.own.anti, strict=True):
                others = _pods_in_domain(table, term.topology_key, row, query.counts(table) > 0)
                names = [other.key for other in others if query.matches(other.namespace, other.labels)]
                found += _in_the_way(names, f"anti-affinity {selector_text(term.selector)}", term, table, row)
        for theirs in self._terms.selecting(pod, filtering.others.namespace_labels, table.pods):
            if theirs.repels:
                has_term = np.zeros(table.capacity, np.bool_)
                has_term[table.pods.with_affinity[theirs.affinity].rows()] = True
                others = _pods_in_domain(table, theirs.term.topology_key, row, has_term)
                names = [other.key for other in others if other.spec.pod_affinity is theirs.affinity]
                found += _in_the_way(names, "its anti-affinity", theirs.term, table, row)
        return found

    # ------------------------------------------------------------------ scoring

    def pre_score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Status:
        prefers = pod.spec.pod_affinity is not None and bool(
            pod.spec.pod_affinity.preferred or pod.spec.pod_affinity.preferred_anti
        )
        if not prefers and (self._ignores_others or not table.pods.with_affinity):
            return _SKIP
        own = self._incoming_terms(pod)
        if own.error:
            return Status(Code.ERROR, f"failed to parse pod: {own.error}")
        others = self._selecting_terms(pod, table)
        sums = Domains(table)
        for query, weight in own.preferred:
            sums.add(query.keys[0], query.counts(table), weight)
        sums.add_groups(others.preferring)
        if not sums.was_added_to:
            return _SKIP
        state[_SCORING] = sums
        return SUCCESS

    def score(self, state: CycleState, pod: Pod, table: NodeTable, rows: Rows) -> Scores | Status:
        sums = state[_SCORING]
        scores = np.zeros(len(rows))
        for key, of_values in sums.items():
            scores += of_values[table.label(key).ids[rows]]
        return scores.astype(np.int64)

    def normalize(self, state: CycleState, pod: Pod, scores: Scores) -> Scores | Status:
        if not len(scores):
            return scores
        low, high = scores.min(), scores.max()
        if high == low:
            return np.zeros_like(scores)
        shares: Amounts = MAX_SCORE * ((scores - low) / (high - low))
        return shares.astype(np.int64)

    # ------------------------------------------------------------------ events

    def events(self) -> Sequence[Registration]:
        return [
            Registration("Pod", Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE, self._after_pod_change),
            Registration("Node", Action.ADD | Action.UPDATE_NODE_LABEL, self._after_node_change),
        ]

    def _after_pod_change(self, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
        if old is not None and new is not None and new.uid == pod.uid:
            return True
        changed = [item for item in (old, new) if item is not None]
        if not all(item.node or item.nominated_node for item in changed):
            return False
        own = self._incoming_terms(pod)
        if own.error:
            return True
        if new is None:
            return any(_selects(own.all_anti, gone) or self._is_repelled(pod, gone) for gone in changed)
        if old is None:
            return _selects(own.affinity, new)
        if not _selects(own.affinity, old) and _selects(own.affinity, new):
            return True
        return _selects(own.all_anti, old) and not _selects(own.all_anti, new)

    def _is_repelled(self, pod: Pod, other: Pod) -> bool:
        """Whether all required anti-affinity terms of the other pod select this one."""
        affinity = other.spec.pod_affinity
        repelling = _repelling(other, pod, self._namespace_labels(pod))
        return affinity is not None and 0 < len(repelling) == len(affinity.required_anti)

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node | None) -> bool:
        affinity = pod.spec.pod_affinity
        if affinity is None or new is None:
            return False
        if self._incoming_terms(pod).error:
            return True
        before = {} if old is None else old.labels
        for key in (term.topology_key for term in affinity.required):
            if key in new.labels and before.get(key) != new.labels[key]:
                return True
        for key in (term.topology_key for term in affinity.required_anti):
            if old is None or (key in before and before[key] != new.labels.get(key)):
                return True
        return False

    # ------------------------------------------------------------------ caches

    def _incoming_terms(self, pod: Pod) -> _IncomingTerms:
        affinity = pod.spec.pod_affinity
        if affinity is None:
            return _NO_TERMS
        generation = self._store.generation(NAMESPACE)
        known = self._own.get(affinity)
        if known is None or known.generation != generation:
            if len(self._own) >= _MOST:
                self._own.clear()
            known = self._own[affinity] = _IncomingTerms.of(affinity, self._store)
        return known

    def _selecting_terms(self, pod: Pod, table: NodeTable) -> _SelectingTerms:
        """The terms of existing pods that select pods like this one."""
        versions = (self._store.generation(NAMESPACE), table.pods.affinity_version)
        key = (pod.namespace, id(pod.labels))
        known = self._others.get(key)
        if known is None or known.labels is not pod.labels or known.versions != versions:
            if len(self._others) >= _MOST:
                self._others.clear()
            known = _SelectingTerms(pod.labels, self._namespace_labels(pod), versions, {}, {})
            for theirs in self._terms.selecting(pod, known.namespace_labels, table.pods):
                groups = known.repelling if theirs.repels else known.preferring
                counts = table.pods.with_affinity[theirs.affinity]
                groups.setdefault((theirs.term.topology_key, theirs.weight), []).append(counts)
            self._others[key] = known
        return known

    def _namespace_labels(self, pod: Pod) -> Mapping[str, str]:
        found = self._store.get(NAMESPACE, pod.namespace)
        return {} if found is None else found.labels


class Domains:
    """Sums by label and value, of matching pods or of weights. Changed in place in a trial."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._sums: dict[str, Amounts] = {}
        self.was_added_to = False

    def items(self) -> Iterable[tuple[str, Amounts]]:
        """For each label the sums by value number; ABSENT has none."""
        return self._sums.items()

    def value_count(self, key: str) -> int:
        return len(self._table.label(key).values)

    def has_any(self, key: str, value_count: int) -> NDArray[np.bool_]:
        """Whether the sum is positive, for each value of a label."""
        found = np.zeros(value_count, np.bool_)
        sums = self._sums.get(key)
        if sums is not None:
            found[: len(sums)] = sums > 0
        return found

    @property
    def is_empty(self) -> bool:
        return not any(sums.any() for sums in self._sums.values())

    def add(self, key: str, counts: NDArray[np.int32], weight: int = 1) -> None:
        """Adds the count of each row, times the weight, to the sum of its value."""
        column, count = self._table.label(key), len(self._table.nodes)
        sums = np.bincount(column.ids[:count], counts[:count], len(column.values))
        found = sums.astype(np.float64, copy=False)
        found[ABSENT] = 0
        if not found.any():
            return
        self.was_added_to = True
        if weight != 1:
            found *= weight
        known = self._sums.get(key)
        self._sums[key] = found if known is None else known + found

    def add_groups(self, groups: Groups) -> None:
        """Adds pods with terms, grouped by topology key and weight."""
        for (key, weight), members in groups.items():
            column = np.zeros(self._table.capacity, np.int32)
            for counts in members:
                counts.add_to(column)
            self.add(key, column, weight)

    def move(self, key: str, row: int, amount: int) -> None:
        """Adds or removes one pod on a row."""
        column = self._table.label(key)
        number = column.ids[row]
        if number == ABSENT:
            return
        if key not in self._sums:
            self._sums[key] = np.zeros(len(column.values))
        self._sums[key][number] += amount

    def clone(self) -> Domains:
        copy = Domains(self._table)
        copy._sums = {key: sums.copy() for key, sums in self._sums.items()}
        copy.was_added_to = self.was_added_to
        return copy


@dataclass(frozen=True, slots=True)
class _Term:
    """A term of the incoming pod, its namespace selector resolved to names.

    `everywhere`: the selector matches a namespace without labels, and then all namespaces, as in kube-scheduler, which
    evaluates the resolved selector once more, without labels.
    """

    namespaces: frozenset[str]
    everywhere: bool
    selector: LabelSelector | None

    @classmethod
    def of(cls, term: AffinityTerm, store: ObjectStore) -> _Term:
        selector, namespaces = term.namespace_selector, term.namespaces
        if selector is None:
            return cls(namespaces, everywhere=False, selector=term.selector)
        named = (item.name for item in store.all(NAMESPACE) if selector.matches(item.labels))
        return cls(namespaces.union(named), everywhere=selector.matches({}), selector=term.selector)

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        if self.selector is None or not (self.everywhere or namespace in self.namespaces):
            return False
        return self.selector.matches(labels)

    def __str__(self) -> str:
        places = "*" if self.everywhere else ",".join(sorted(self.namespaces))
        return f"{places} {self.selector}"


class _Query:
    """Pods that match all of the given terms, and the topology keys of the terms."""

    __slots__ = ("_name", "_terms", "keys")

    def __init__(self, terms: Sequence[AffinityTerm], store: ObjectStore) -> None:
        self.keys = tuple(dict.fromkeys(term.topology_key for term in terms))
        self._terms = tuple(_Term.of(term, store) for term in terms)
        self._name = f"{NAME} {' and '.join(map(str, self._terms))}"

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return all(term.matches(namespace, labels) for term in self._terms)

    def counts(self, table: NodeTable) -> NDArray[np.int32]:
        return table.pods.counts(self._name, self.matches, with_terminating=True)


@dataclass(frozen=True, slots=True)
class _IncomingTerms:
    """The terms of the incoming pod; `affinity` and `all_anti` select pods that match all required terms."""

    generation: int = 0
    error: str = ""
    affinity: _Query | None = None
    all_anti: _Query | None = None
    anti: tuple[_Query, ...] = ()
    preferred: tuple[tuple[_Query, int], ...] = ()

    @classmethod
    def of(cls, affinity: PodAffinity, store: ObjectStore) -> _IncomingTerms:
        generation = store.generation(NAMESPACE)
        error = _error_of(affinity)
        if error:
            return cls(generation, error)
        weighted = [(term, term.weight) for term in affinity.preferred]
        weighted += [(term, -term.weight) for term in affinity.preferred_anti]
        return cls(
            generation=generation,
            affinity=_Query(affinity.required, store) if affinity.required else None,
            all_anti=_Query(affinity.required_anti, store) if affinity.required_anti else None,
            anti=tuple(_Query([term], store) for term in affinity.required_anti),
            preferred=tuple((_Query([term], store), weight) for term, weight in weighted),
        )


_NO_TERMS = _IncomingTerms()


@dataclass(frozen=True, eq=False, slots=True)
class _ExistingTerm:
    """A term of existing pods: it repels the pods that it selects, or adds its weight to their score."""

    affinity: PodAffinity
    term: AffinityTerm
    weight: int
    repels: bool = False

    def selects(self, pod: Pod, namespace_labels: Mapping[str, str]) -> bool:
        selector, places = self.term.selector, self.term.namespace_selector
        if selector is None or not selector.matches(pod.labels):
            return False
        return pod.namespace in self.term.namespaces or (places is not None and places.matches(namespace_labels))


class _TermIndex:
    """The terms of all existing pods, by a label that a selected pod must have."""

    def __init__(self, hard_weight: int) -> None:
        self._hard_weight = hard_weight
        self._version = -1
        self._known: dict[PodAffinity, list[_ExistingTerm]] = {}
        self._by_label: dict[tuple[str, str], dict[_ExistingTerm, None]] = {}

    def selecting(self, pod: Pod, namespace_labels: Mapping[str, str], index: PodIndex) -> Iterable[_ExistingTerm]:
        """The terms that select a pod."""
        if self._version != index.affinity_version:
            self._version = index.affinity_version
            self._refresh(index)
        for label in (_ANY_LABEL, *pod.labels.items()):
            for theirs in self._by_label.get(label, ()):
                if theirs.selects(pod, namespace_labels):
                    yield theirs

    def _refresh(self, index: PodIndex) -> None:
        """Adds and removes terms after a change of the pod index."""
        for affinity in self._known.keys() - index.with_affinity.keys():
            for theirs in self._known.pop(affinity):
                for label in _labels_needed(theirs.term):
                    del self._by_label[label][theirs]
                    if not self._by_label[label]:
                        del self._by_label[label]
        for affinity in index.with_affinity.keys() - self._known.keys():
            self._known[affinity] = _existing_terms(affinity, self._hard_weight)
            for theirs in self._known[affinity]:
                for label in _labels_needed(theirs.term):
                    self._by_label.setdefault(label, {})[theirs] = None


@dataclass(frozen=True, slots=True)
class _SelectingTerms:
    """The terms of existing pods that select incoming pods with the same namespace and labels."""

    labels: Mapping[str, str]
    namespace_labels: Mapping[str, str]
    versions: tuple[int, int]
    repelling: Groups
    preferring: Groups


@dataclass(frozen=True, slots=True)
class _Filtering:
    """State for Filter: numbers of pods by label and value, for each of the three rules."""

    own: _IncomingTerms
    others: _SelectingTerms
    affinity: Domains
    anti: Domains
    existing: Domains

    def clone(self) -> _Filtering:
        return _Filtering(self.own, self.others, self.affinity.clone(), self.anti.clone(), self.existing.clone())

    def move(self, pod: Pod, other: Pod, row: int, amount: int) -> None:
        for theirs in _repelling(other, pod, self.others.namespace_labels):
            self.existing.move(theirs.term.topology_key, row, amount)
        together = self.own.affinity
        if together is not None and together.matches(other.namespace, other.labels):
            for key in together.keys:
                self.affinity.move(key, row, amount)
        for query in self.own.anti:
            if query.matches(other.namespace, other.labels):
                self.anti.move(query.keys[0], row, amount)

    def verdicts(self, pod: Pod) -> dict[str, NDArray[np.int8]]:
        """The verdict number of each value, by label."""
        verdicts: dict[str, NDArray[np.int8]] = {}
        for domains, number in ((self.existing, _EXISTING), (self.anti, _ANTI)):
            for key, sums in domains.items():
                self._verdicts_of(key, verdicts)[: len(sums)][sums > 0] = number
        together = self.own.affinity
        if together is not None:
            is_first = self.affinity.is_empty and together.matches(pod.namespace, pod.labels)
            for key in together.keys:
                found = self._verdicts_of(key, verdicts)
                if is_first:
                    found[ABSENT] = _AFFINITY
                else:
                    found[~self.affinity.has_any(key, len(found))] = _AFFINITY
        return verdicts

    def _verdicts_of(self, key: str, verdicts: dict[str, NDArray[np.int8]]) -> NDArray[np.int8]:
        if key not in verdicts:
            verdicts[key] = np.zeros(self.affinity.value_count(key), np.int8)
        return verdicts[key]


def _missing(term: AffinityTerm, pods: Domains, table: NodeTable, row: int, *, is_first: bool) -> list[str]:
    """The hint on a required term that the domain of a row does not meet."""
    column = table.label(term.topology_key)
    number = column.ids[row]
    if number == ABSENT:
        return [f"label {term.topology_key}"]
    if is_first or pods.has_any(term.topology_key, len(column.values))[number]:
        return []
    return [f"a pod with {selector_text(term.selector)} in {domain_text(table, term.topology_key, row)}"]


def _pods_in_domain(table: NodeTable, key: str, row: int, mask: NDArray[np.bool_]) -> list[Pod]:
    """The pods on the rows of the mask in the domain of a row; none if the node has no such label."""
    ids = table.label(key).ids
    if ids[row] == ABSENT:
        return []
    rows = np.flatnonzero(mask & (ids == ids[row])).tolist()
    return [pod for other in rows[:_MOST_ROWS] for pod in table.pods_on[other].values()]


def _in_the_way(names: Sequence[str], cause: str, term: AffinityTerm, table: NodeTable, row: int) -> list[str]:
    if not names:
        return []
    return [f"no {few(names)} in {domain_text(table, term.topology_key, row)} ({cause})"]


def _selects(query: _Query | None, pod: Pod) -> bool:
    return query is not None and query.matches(pod.namespace, pod.labels)


def _existing_terms(affinity: PodAffinity, hard_weight: int) -> list[_ExistingTerm]:
    """One invalid term disables all terms of its sort."""
    kinds = [
        [_ExistingTerm(affinity, term, 1, repels=True) for term in affinity.required_anti],
        [_ExistingTerm(affinity, term, hard_weight) for term in affinity.required if hard_weight > 0],
        [_ExistingTerm(affinity, term, term.weight) for term in affinity.preferred],
        [_ExistingTerm(affinity, term, -term.weight) for term in affinity.preferred_anti],
    ]
    return [theirs for kind in kinds if not any(item.term.error for item in kind) for theirs in kind]


def _repelling(other: Pod, pod: Pod, namespace_labels: Mapping[str, str]) -> list[_ExistingTerm]:
    """The required anti-affinity terms of another pod that select this one."""
    affinity = other.spec.pod_affinity
    if affinity is None or not affinity.required_anti:
        return []
    return [item for item in _existing_terms(affinity, 0) if item.repels and item.selects(pod, namespace_labels)]


def _labels_needed(term: AffinityTerm) -> list[tuple[str, str]]:
    """Labels of which a selected pod must have at least one; empty if the term selects no pod."""
    if term.selector is None:
        return []
    for requirement in term.selector.requirements:
        if requirement.operator == "In":
            return [(requirement.key, value) for value in dict.fromkeys(requirement.values)]
    return [_ANY_LABEL]


def _error_of(affinity: PodAffinity) -> str:
    """The error text of invalid terms; empty if all are valid."""
    groups = {
        "requiredAffinityTerms": affinity.required,
        "requiredAntiAffinityTerms": affinity.required_anti,
        "preferredAffinityTerms": affinity.preferred,
        "preferredAntiAffinityTerms": affinity.preferred_anti,
    }
    firsts = {name: next((term.error for term in terms if term.error), "") for name, terms in groups.items()}
    errors = [f"{name}: {error}" for name, error in firsts.items() if error]
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]" if errors else ""
