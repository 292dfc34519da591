"""InterPodAffinity: verdicts and scores, compared with a node-by-node reference."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.framework.cluster_events import Action
from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.k8s.nodes import Node
from kubewasp.k8s.pods import AffinityTerm, Pod
from kubewasp.plugins.inter_pod_affinity import InterPodAffinity
from kubewasp.state.node_table import NodeTable
from tests.plugins.building import (
    HOSTNAME,
    ZONE,
    FakeHandle,
    affinity,
    filtered,
    make_node,
    make_pod,
    make_table,
    scored,
    term,
)

ARGS = {"hardPodAffinityWeight": 1, "ignorePreferredTermsOfExistingPods": False}
AFFINITY = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) didn't match pod affinity rules")
ANTI = Status(Code.UNSCHEDULABLE, "node(s) didn't match pod anti-affinity rules")
EXISTING = Status(Code.UNSCHEDULABLE, "node(s) didn't satisfy existing pods anti-affinity rules")
SKIP = Status(Code.SKIP)
WEB, DB = {"app": "web"}, {"app": "db"}
BROKEN = {"matchExpressions": [{"key": "app", "operator": "Nonsense"}]}


def make_plugin(objects: Iterable[Mapping[str, Any]] = (), **args: Any) -> InterPodAffinity:
    return InterPodAffinity({**ARGS, **args}, FakeHandle(objects=objects))


def namespace(name: str, **labels: str) -> dict[str, Any]:
    return {"kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def zoned(*zones: str) -> list[Node]:
    """Nodes n1, n2 … in those zones."""
    return [make_node(f"n{i}", {ZONE: zone, HOSTNAME: f"n{i}"}) for i, zone in enumerate(zones, 1)]


def verdicts(pod: Pod, table: NodeTable, plugin: InterPodAffinity | None = None) -> dict[str, Status] | Status:
    """By name of the node, or what PreFilter says if it does not succeed."""
    plugin, state = plugin or make_plugin(), CycleState()
    status = plugin.pre_filter(state, pod, table).status
    return filtered(plugin, state, pod, table) if status.is_success else status


def scores(pod: Pod, table: NodeTable, plugin: InterPodAffinity | None = None) -> tuple[list[int], list[int]] | Status:
    """Raw and normalized, in the order of names."""
    found = scored(plugin or make_plugin(), CycleState(), pod, table)
    if isinstance(found, Status):
        return found
    raw, normal = found
    return [raw[name] for name in sorted(raw)], [normal[name] for name in sorted(normal)]


class TestPreFilter:
    def test_skips_a_plain_pod_in_a_plain_cluster(self) -> None:
        assert verdicts(make_pod(), make_table(zoned("a"), [make_pod(node="n1")])) == SKIP

    def test_skips_where_no_existing_anti_affinity_concerns_the_pod(self) -> None:
        guard = make_pod(node="n1", affinity=affinity(anti=[term(ZONE, DB)]))
        table = make_table(zoned("a"), [guard])
        assert verdicts(make_pod(labels=WEB), table) == SKIP
        preferring = make_pod(labels=WEB, affinity=affinity(preferred=[(1, term(ZONE, WEB))]))
        assert verdicts(preferring, table) == SKIP

    def test_skips_where_the_node_of_the_existing_pod_lacks_the_label(self) -> None:
        guard = make_pod(node="bare", affinity=affinity(anti=[term(ZONE, WEB)]))
        assert verdicts(make_pod(labels=WEB), make_table([make_node("bare"), *zoned("a")], [guard])) == SKIP

    def test_terms_that_cannot_be_parsed_reject_the_pod(self) -> None:
        pod = make_pod(affinity=affinity(anti=[term(ZONE, selector=BROKEN)]))
        status = make_plugin().pre_filter(CycleState(), pod, make_table(zoned("a"))).status
        assert status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        assert status.reason.startswith("parsing pod: requiredAntiAffinityTerms: ")
        pod = make_pod(
            affinity=affinity(required=[term(ZONE, selector=BROKEN)], preferred=[(1, term(ZONE, selector=BROKEN))])
        )
        status = make_plugin().pre_filter(CycleState(), pod, make_table(zoned("a"))).status
        assert status.reason.startswith("parsing pod: [requiredAffinityTerms: ")
        assert ", preferredAffinityTerms: " in status.reason

    def test_existing_terms_that_cannot_be_parsed_are_left_out_together(self) -> None:
        guard = make_pod(node="n1", affinity=affinity(anti=[term(ZONE, WEB), term(ZONE, selector=BROKEN)]))
        assert verdicts(make_pod(labels=WEB), make_table(zoned("a"), [guard])) == SKIP


class TestAffinity:
    def test_only_domains_with_a_matching_pod_will_do(self) -> None:
        table = make_table([*zoned("a", "a", "b"), make_node("bare")], [make_pod(labels=DB, node="n1")])
        pod = make_pod(labels=WEB, affinity=affinity(required=[term(ZONE, DB)]))
        assert verdicts(pod, table) == {"n1": SUCCESS, "n2": SUCCESS, "n3": AFFINITY, "bare": AFFINITY}

    def test_one_pod_must_match_all_terms(self) -> None:
        terms = [term(ZONE, DB), term(HOSTNAME, {"tier": "1"})]
        pod = make_pod(affinity=affinity(required=terms))
        separate = [make_pod(labels=DB, node="n1"), make_pod(labels={"tier": "1"}, node="n1")]
        assert verdicts(pod, make_table(zoned("a", "a"), separate)) == {"n1": AFFINITY, "n2": AFFINITY}
        both = make_pod(labels={**DB, "tier": "1"}, node="n1")
        assert verdicts(pod, make_table(zoned("a", "a"), [both])) == {"n1": SUCCESS, "n2": AFFINITY}

    def test_the_first_of_a_series_may_go_anywhere_that_has_the_labels(self) -> None:
        table = make_table([*zoned("a", "b"), make_node("bare")])
        pod = make_pod(labels=WEB, affinity=affinity(required=[term(ZONE, WEB)]))
        assert verdicts(pod, table) == {"n1": SUCCESS, "n2": SUCCESS, "bare": AFFINITY}

    def test_it_is_not_the_first_if_it_does_not_match_itself(self) -> None:
        pod = make_pod(labels=DB, affinity=affinity(required=[term(ZONE, WEB)]))
        assert verdicts(pod, make_table(zoned("a"))) == {"n1": AFFINITY}

    def test_it_is_not_the_first_if_another_is_anywhere(self) -> None:
        table = make_table(zoned("a", "b"), [make_pod(labels=WEB, node="n2")])
        pod = make_pod(labels=WEB, affinity=affinity(required=[term(ZONE, WEB)]))
        assert verdicts(pod, table) == {"n1": AFFINITY, "n2": SUCCESS}

    def test_a_pod_on_a_node_without_the_label_does_not_make_it_second(self) -> None:
        table = make_table([*zoned("a"), make_node("bare")], [make_pod(labels=WEB, node="bare")])
        pod = make_pod(labels=WEB, affinity=affinity(required=[term(ZONE, WEB)]))
        assert verdicts(pod, table) == {"n1": SUCCESS, "bare": AFFINITY}

    def test_terminating_pods_count(self) -> None:
        table = make_table(zoned("a", "b"), [make_pod(labels=DB, node="n1", terminating=True)])
        pod = make_pod(affinity=affinity(required=[term(ZONE, DB)]))
        assert verdicts(pod, table) == {"n1": SUCCESS, "n2": AFFINITY}

    def test_no_selector_matches_nothing_and_an_empty_one_everything(self) -> None:
        table = make_table(zoned("a", "b"), [make_pod(node="n1")])
        assert verdicts(make_pod(affinity=affinity(required=[term(ZONE)])), table) == {"n1": AFFINITY, "n2": AFFINITY}
        empty = make_pod(affinity=affinity(required=[term(ZONE, selector={})]))
        assert verdicts(empty, table) == {"n1": SUCCESS, "n2": AFFINITY}


class TestNamespaces:
    OBJECTS = (namespace("default"), namespace("one", team="red"), namespace("two", team="blue"))

    def places(self, **more: Any) -> set[str]:
        """The namespaces whose pods the term of a pod in namespace default selects."""
        names = ["default", "one", "two", "unknown"]
        pods = [make_pod(labels=DB, namespace=name, node=f"n{i}") for i, name in enumerate(names, 1)]
        table = make_table(zoned("a", "b", "c", "d"), pods)
        pod = make_pod(affinity=affinity(anti=[term(HOSTNAME, DB, **more)]))
        found = verdicts(pod, table, make_plugin(self.OBJECTS))
        assert isinstance(found, dict)
        return {name for i, name in enumerate(names, 1) if found[f"n{i}"] == ANTI}

    def test_its_own_by_default(self) -> None:
        assert self.places() == {"default"}

    def test_those_that_are_listed(self) -> None:
        assert self.places(namespaces=["one", "unknown"]) == {"one", "unknown"}

    def test_those_that_are_selected(self) -> None:
        assert self.places(namespaceSelector={"matchLabels": {"team": "red"}}) == {"one"}

    def test_both_together(self) -> None:
        assert self.places(namespaces=["two"], namespaceSelector={"matchLabels": {"team": "red"}}) == {"one", "two"}

    def test_an_empty_selector_means_all(self) -> None:
        assert self.places(namespaceSelector={}) == {"default", "one", "two", "unknown"}

    def test_a_negative_selector_matches_all_as_if_they_had_no_labels(self) -> None:
        negative = {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["red"]}]}
        assert self.places(namespaceSelector=negative) == {"default", "one", "two", "unknown"}

    def test_labels_of_a_namespace_may_change(self) -> None:
        handle = FakeHandle(objects=self.OBJECTS)
        plugin = InterPodAffinity(ARGS, handle)
        table = make_table(zoned("a"), [make_pod(labels=DB, namespace="two", node="n1")])
        terms = [term(ZONE, DB, namespaceSelector={"matchLabels": {"team": "red"}})]
        pod = make_pod(affinity=affinity(anti=terms))
        assert verdicts(pod, table, plugin) == {"n1": SUCCESS}
        handle.store.put(namespace("two", team="red"))
        assert verdicts(pod, table, plugin) == {"n1": ANTI}

    @pytest.mark.parametrize(
        ("more", "places"),
        [
            ({}, {"default"}),
            ({"namespaces": ["one", "unknown"]}, {"one", "unknown"}),
            ({"namespaceSelector": {}}, {"default", "one", "two", "unknown"}),
            ({"namespaceSelector": {"matchLabels": {"team": "red"}}}, {"one"}),
            (
                {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}},
                {"default", "unknown"},
            ),
        ],
    )
    def test_terms_of_existing_pods_are_asked_about_the_incoming_pods_namespace(
        self, more: Mapping[str, Any], places: set[str]
    ) -> None:
        guard = make_pod(node="n1", affinity=affinity(anti=[term(ZONE, WEB, **more)]))
        table, plugin = make_table(zoned("a"), [guard]), make_plugin(self.OBJECTS)
        for name in ("default", "one", "two", "unknown"):
            expected = {"n1": EXISTING} if name in places else SKIP
            assert verdicts(make_pod(labels=WEB, namespace=name), table, plugin) == expected


class TestAntiAffinity:
    def test_domains_with_a_matching_pod_will_not_do(self) -> None:
        table = make_table([*zoned("a", "a", "b"), make_node("bare")], [make_pod(labels=DB, node="n1")])
        pod = make_pod(labels=WEB, affinity=affinity(anti=[term(ZONE, DB)]))
        assert verdicts(pod, table) == {"n1": ANTI, "n2": ANTI, "n3": SUCCESS, "bare": SUCCESS}

    def test_each_term_counts_alone(self) -> None:
        pods = [make_pod(labels=DB, node="n1"), make_pod(labels={"tier": "1"}, node="n2", terminating=True)]
        pod = make_pod(affinity=affinity(anti=[term(HOSTNAME, DB), term(HOSTNAME, {"tier": "1"})]))
        assert verdicts(pod, make_table(zoned("a", "a", "a"), pods)) == {"n1": ANTI, "n2": ANTI, "n3": SUCCESS}

    def test_existing_pods_have_theirs(self) -> None:
        guard = make_pod(labels=DB, node="n1", affinity=affinity(anti=[term(ZONE, DB), term(ZONE, WEB)]))
        table = make_table([*zoned("a", "a", "b"), make_node("bare")], [guard])
        assert verdicts(make_pod(labels=WEB), table) == {"n1": EXISTING, "n2": EXISTING, "n3": SUCCESS, "bare": SUCCESS}

    def test_many_existing_pods_of_many_kinds(self) -> None:
        """More than a few rows each, so that their counts are columns."""
        nodes = zoned(*(f"z{i % 50}" for i in range(100)))
        guards = [
            make_pod(node=f"n{i}", affinity=affinity(anti=[term(key, WEB)]))
            for key in (ZONE, HOSTNAME)
            for i in range(1, 41)
        ]
        found = verdicts(make_pod(labels=WEB), make_table(nodes, guards))
        assert isinstance(found, dict)
        kept_off = {f"n{i}" for i in range(1, 101) if (i - 1) % 50 < 40}
        assert {name for name, status in found.items() if status == EXISTING} == kept_off

    def test_affinity_goes_before_anti_affinity_goes_before_existing_pods(self) -> None:
        nodes = [
            make_node("n1", {ZONE: "a", "rack": "1"}),
            make_node("n2", {ZONE: "a", "rack": "2"}),
            make_node("n3", {ZONE: "b", "rack": "3"}),
        ]
        pods = [
            make_pod(labels=DB, node="n1"),
            make_pod(labels=DB, node="n2"),
            make_pod(labels={"bad": "1"}, node="n1"),
            *(make_pod(node=name, affinity=affinity(anti=[term("rack", WEB)])) for name in ("n1", "n2", "n3")),
        ]
        spec = affinity(required=[term(ZONE, DB)], anti=[term("rack", {"bad": "1"})])
        assert verdicts(make_pod(labels=WEB, affinity=spec), make_table(nodes, pods)) == {
            "n1": ANTI,
            "n2": EXISTING,
            "n3": AFFINITY,
        }


class TestTrials:
    def trial(self, pod: Pod, other: Pod, *others: Pod) -> tuple[Any, Any, Any]:
        """Verdicts before, without the other pod, which is on n1, and with it again. The first state stays so."""
        table = make_table(zoned("a", "b"), [other, *others])
        plugin, state = make_plugin(), CycleState()
        assert plugin.pre_filter(state, pod, table).status == SUCCESS
        before = filtered(plugin, state, pod, table)
        trial = state.clone()
        table.remove_pod(other)
        plugin.remove_pod(trial, pod, other, 0, table)
        without = filtered(plugin, trial, pod, table)
        assert filtered(plugin, state, pod, table) == before
        table.add_pod(other)
        plugin.add_pod(trial, pod, other, 0, table)
        return before, without, filtered(plugin, trial, pod, table)

    def test_the_last_pod_of_an_affinity_goes(self) -> None:
        pod = make_pod(affinity=affinity(required=[term(ZONE, DB)]))
        here = {"n1": SUCCESS, "n2": AFFINITY}
        nowhere = {"n1": AFFINITY, "n2": AFFINITY}
        assert self.trial(pod, make_pod(labels=DB, node="n1")) == (here, nowhere, here)

    def test_the_pod_becomes_the_first_of_its_series(self) -> None:
        pod = make_pod(labels=DB, affinity=affinity(required=[term(ZONE, DB)]))
        here = {"n1": SUCCESS, "n2": AFFINITY}
        assert self.trial(pod, make_pod(labels=DB, node="n1")) == (here, {"n1": SUCCESS, "n2": SUCCESS}, here)

    def test_anti_affinity(self) -> None:
        pod = make_pod(affinity=affinity(anti=[term(ZONE, DB)]))
        before = {"n1": ANTI, "n2": SUCCESS}
        assert self.trial(pod, make_pod(labels=DB, node="n1")) == (before, {"n1": SUCCESS, "n2": SUCCESS}, before)

    def test_existing_anti_affinity(self) -> None:
        guard = make_pod(node="n1", affinity=affinity(anti=[term(ZONE, WEB)]))
        before = {"n1": EXISTING, "n2": SUCCESS}
        assert self.trial(make_pod(labels=WEB), guard) == (before, {"n1": SUCCESS, "n2": SUCCESS}, before)

    def test_terms_never_seen_before(self) -> None:
        table = make_table(zoned("a", "b"))
        pod = make_pod(labels=WEB, affinity=affinity(anti=[term(ZONE, DB)]))
        plugin, state = make_plugin(), CycleState()
        plugin.pre_filter(state, pod, table)
        guard = make_pod(node="n2", affinity=affinity(anti=[term(HOSTNAME, WEB)]))
        table.add_pod(guard)
        plugin.add_pod(state, pod, guard, 1, table)
        assert filtered(plugin, state, pod, table) == {"n1": SUCCESS, "n2": EXISTING}


class TestScore:
    def test_skips_where_nothing_contributes(self) -> None:
        table = make_table(zoned("a"), [make_pod(labels=DB, node="n1")])
        assert scores(make_pod(), table) == SKIP
        pod = make_pod(affinity=affinity(preferred=[(5, term(ZONE, WEB)), (5, term("absent", DB))]))
        assert scores(pod, table) == SKIP

    def test_does_not_skip_where_contributions_cancel_out(self) -> None:
        table = make_table(zoned("a"), [make_pod(labels=DB, node="n1")])
        both = affinity(preferred=[(5, term(ZONE, DB))], preferred_anti=[(5, term(ZONE, DB))])
        assert scores(make_pod(affinity=both), table) == ([0], [0])

    def test_preferred_terms_of_the_pod(self) -> None:
        table = make_table(
            zoned("a", "b", "c"), [make_pod(labels=DB, node="n1"), make_pod(labels=WEB, node="n3", terminating=True)]
        )
        terms = affinity(preferred=[(10, term(ZONE, DB))], preferred_anti=[(5, term(ZONE, WEB))])
        assert scores(make_pod(affinity=terms), table) == ([10, 0, -5], [100, 33, 0])

    def test_shares_are_truncated(self) -> None:
        pods = [make_pod(labels=DB, node="n1"), make_pod(labels=WEB, node="n3")]
        terms = affinity(preferred=[(29, term(ZONE, DB)), (50, term(ZONE, WEB))])
        assert scores(make_pod(affinity=terms), make_table(zoned("a", "b", "c"), pods)) == ([29, 0, 50], [57, 0, 100])

    def test_equal_nodes_have_nothing(self) -> None:
        pods = [make_pod(labels=DB, node=node) for node in ("n1", "n2")]
        pod = make_pod(affinity=affinity(preferred=[(7, term(HOSTNAME, DB))]))
        assert scores(pod, make_table(zoned("a", "b"), pods)) == ([7, 7], [0, 0])

    def test_every_pod_of_a_domain_counts_on_every_node_of_it(self) -> None:
        pods = [make_pod(labels=DB, node=node) for node in ("n1", "n1", "n2")]
        pod = make_pod(affinity=affinity(preferred=[(2, term(ZONE, DB)), (1, term(HOSTNAME, DB))]))
        table = make_table([*zoned("a", "a", "b"), make_node("x", {HOSTNAME: "x"})], pods)
        assert scores(pod, table) == ([8, 7, 0, 0], [100, 87, 0, 0])

    def test_terms_of_existing_pods(self) -> None:
        pods = [
            make_pod(node="n1", affinity=affinity(required=[term(HOSTNAME, WEB)])),
            make_pod(node="n2", affinity=affinity(preferred=[(20, term(HOSTNAME, WEB))])),
            make_pod(node="n3", affinity=affinity(preferred_anti=[(30, term(HOSTNAME, WEB))])),
            make_pod(node="n4", affinity=affinity(anti=[term(HOSTNAME, WEB)])),
        ]
        table = make_table(zoned("a", "b", "c", "d"), pods)
        assert scores(make_pod(labels=WEB), table) == ([1, 20, -30, 0], [62, 100, 0, 60])
        assert scores(make_pod(labels=WEB), table, make_plugin(hardPodAffinityWeight=100)) == (
            [100, 20, -30, 0],
            [100, 38, 0, 23],
        )
        assert scores(make_pod(labels=WEB), table, make_plugin(hardPodAffinityWeight=0)) == (
            [0, 20, -30, 0],
            [60, 100, 0, 60],
        )

    def test_a_hard_weight_of_zero_leaves_nothing(self) -> None:
        table = make_table(zoned("a"), [make_pod(node="n1", affinity=affinity(required=[term(ZONE, WEB)]))])
        assert scores(make_pod(labels=WEB), table, make_plugin(hardPodAffinityWeight=0)) == SKIP

    def test_preferences_of_existing_pods_may_be_ignored_unless_the_pod_has_its_own(self) -> None:
        pods = [
            make_pod(node="n1", affinity=affinity(preferred=[(20, term(ZONE, WEB))])),
            make_pod(labels=DB, node="n2"),
        ]
        table = make_table(zoned("a", "b"), pods)
        plugin = make_plugin(ignorePreferredTermsOfExistingPods=True)
        assert scores(make_pod(labels=WEB), table, plugin) == SKIP
        pod = make_pod(labels=WEB, affinity=affinity(preferred=[(5, term(ZONE, {"no": "such"}))]))
        assert scores(pod, table, plugin) == ([20, 0], [100, 0])

    def test_new_terms_are_seen(self) -> None:
        table, plugin = make_table(zoned("a", "b")), make_plugin()
        pod = make_pod(labels=WEB)
        assert scores(pod, table, plugin) == SKIP
        friend = make_pod(node="n1", affinity=affinity(preferred=[(20, term(ZONE, WEB))]))
        table.add_pod(friend)
        assert scores(pod, table, plugin) == ([20, 0], [100, 0])
        table.add_pod(make_pod(node="n2", affinity=affinity(preferred=[(10, term(ZONE, WEB))])))
        assert scores(pod, table, plugin) == ([20, 10], [100, 0])
        table.remove_pod(friend)
        assert scores(pod, table, plugin) == ([0, 10], [0, 100])

    def test_terms_that_cannot_be_parsed_are_an_error(self) -> None:
        pod = make_pod(affinity=affinity(preferred=[(1, term(ZONE, selector=BROKEN))]))
        found = scores(pod, make_table(zoned("a")))
        assert isinstance(found, Status)
        assert found.code == Code.ERROR
        assert found.reason.startswith("failed to parse pod: preferredAffinityTerms: ")


class TestEvents:
    def hint(self, resource: str, *objects: Mapping[str, Any]) -> Any:
        return {item.resource: item.hint for item in make_plugin(objects).events()}[resource]

    def test_registrations(self) -> None:
        actions = {item.resource: item.actions for item in make_plugin().events()}
        assert actions == {
            "Pod": Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE,
            "Node": Action.ADD | Action.UPDATE_NODE_LABEL,
        }

    def test_own_labels(self) -> None:
        pod = make_pod("waiting", WEB)
        assert self.hint("Pod")(pod, make_pod("waiting", DB), pod)

    def test_a_pod_comes(self) -> None:
        hint = self.hint("Pod")
        pod = make_pod(affinity=affinity(required=[term(ZONE, DB), term(HOSTNAME, {"tier": "1"})]))
        both = {**DB, "tier": "1"}
        assert hint(pod, None, make_pod(labels=both, node="n"))
        assert hint(pod, None, make_pod(labels=both, status={"nominatedNodeName": "n"}))
        assert not hint(pod, None, make_pod(labels=both))
        assert not hint(pod, None, make_pod(labels=DB, node="n"))
        assert not hint(pod, None, make_pod(labels=both, node="n", namespace="other"))
        assert not hint(make_pod(), None, make_pod(node="n"))

    def test_a_pod_of_a_selected_namespace_comes(self) -> None:
        hint = self.hint("Pod", namespace("other", team="red"))
        terms = [term(ZONE, DB, namespaceSelector={"matchLabels": {"team": "red"}})]
        pod = make_pod(affinity=affinity(required=terms))
        assert hint(pod, None, make_pod(labels=DB, node="n", namespace="other"))

    def test_a_pods_labels_change(self) -> None:
        hint = self.hint("Pod")
        db, web = make_pod("p", DB, node="n"), make_pod("p", WEB, node="n")
        wants = make_pod(affinity=affinity(required=[term(ZONE, DB)]))
        assert hint(wants, web, db)
        assert not hint(wants, db, web)
        shuns = make_pod(affinity=affinity(anti=[term(ZONE, DB)]))
        assert hint(shuns, db, web)
        assert not hint(shuns, web, db)
        assert not hint(shuns, db, make_pod("p", {**DB, "more": "1"}, node="n"))

    def test_a_pod_goes(self) -> None:
        hint = self.hint("Pod")
        shuns = make_pod(affinity=affinity(anti=[term(ZONE, DB)]))
        assert hint(shuns, make_pod(labels=DB, node="n"), None)
        assert not hint(shuns, make_pod(labels=WEB, node="n"), None)
        assert not hint(shuns, make_pod(labels=DB), None)
        guard = make_pod(node="n", affinity=affinity(anti=[term(ZONE, WEB)]))
        assert hint(make_pod(labels=WEB), guard, None)
        assert not hint(make_pod(labels=DB), guard, None)
        strict = make_pod(node="n", affinity=affinity(anti=[term(ZONE, WEB), term(ZONE, DB)]))
        assert not hint(make_pod(labels=WEB), strict, None)

    def test_nodes_for_affinity(self) -> None:
        hint, pod = self.hint("Node"), make_pod(affinity=affinity(required=[term(ZONE, DB)]))
        bare, a, b = make_node("n"), make_node("n", {ZONE: "a"}), make_node("n", {ZONE: "b"})
        assert hint(pod, None, a)
        assert not hint(pod, None, bare)
        assert hint(pod, bare, a)
        assert hint(pod, a, b)
        assert not hint(pod, a, bare)
        assert not hint(pod, a, make_node("n", {ZONE: "a", "more": "1"}))

    def test_nodes_for_anti_affinity(self) -> None:
        hint, pod = self.hint("Node"), make_pod(affinity=affinity(anti=[term(ZONE, DB)]))
        bare, a, b = make_node("n"), make_node("n", {ZONE: "a"}), make_node("n", {ZONE: "b"})
        assert hint(pod, None, a)
        assert hint(pod, None, bare)
        assert not hint(pod, bare, a)
        assert hint(pod, a, b)
        assert hint(pod, a, bare)
        assert not hint(pod, a, make_node("n", {ZONE: "a", "more": "1"}))
        assert not hint(make_pod(), None, a)

    def test_terms_that_cannot_be_parsed_are_worth_another_try(self) -> None:
        pod = make_pod(affinity=affinity(anti=[term(ZONE, selector=BROKEN)]))
        assert self.hint("Pod")(pod, None, make_pod(node="n"))
        assert self.hint("Node")(pod, make_node("n"), make_node("n"))


# ---------------------------------------------------------------------- node by node, for comparison

NAMESPACES = {"default": {}, "one": {"team": "red"}}


class Reference:
    """The same rules, written for one node and one pod at a time."""

    def __init__(self, table: NodeTable, pod: Pod) -> None:
        self.nodes = {table.node(row).name: table.node(row) for row in table.order().tolist()}
        self.pods = {name: list(table.pods_on[table.row(name) or 0].values()) for name in self.nodes}
        self.pod = pod
        own = pod.spec.pod_affinity
        self.required = () if own is None else own.required
        self.required_anti = () if own is None else own.required_anti
        self.preferred = () if own is None else own.preferred
        self.preferred_anti = () if own is None else own.preferred_anti
        self.affinity: dict[tuple[str, str], int] = {}
        self.anti: dict[tuple[str, str], int] = {}
        self.existing: dict[tuple[str, str], int] = {}
        for name, pods in self.pods.items():
            for other in pods:
                self.move(other, self.nodes[name], 1)

    @staticmethod
    def own_matches(item: AffinityTerm, other: Pod) -> bool:
        selector, places = item.namespace_selector, set(item.namespaces)
        if selector is not None:
            places |= {
                name
                for name, labels in NAMESPACES.items()
                if selector.matches({"kubernetes.io/metadata.name": name, **labels})
            }
        if other.namespace not in places and not (selector is not None and selector.matches({})):
            return False
        return item.selector is not None and item.selector.matches(other.labels)

    def others_match(self, item: AffinityTerm) -> bool:
        name = self.pod.namespace
        labels = {"kubernetes.io/metadata.name": name, **NAMESPACES[name]} if name in NAMESPACES else {}
        selector = item.namespace_selector
        if name not in item.namespaces and not (selector is not None and selector.matches(labels)):
            return False
        return item.selector is not None and item.selector.matches(self.pod.labels)

    def matches_all(self, other: Pod) -> bool:
        return bool(self.required) and all(self.own_matches(item, other) for item in self.required)

    @staticmethod
    def put(sums: dict[tuple[str, str], int], item: AffinityTerm, node: Node, amount: int) -> None:
        if item.topology_key in node.labels:
            pair = item.topology_key, node.labels[item.topology_key]
            sums[pair] = sums.get(pair, 0) + amount

    def move(self, other: Pod, node: Node, amount: int) -> None:
        theirs = other.spec.pod_affinity
        for item in () if theirs is None else theirs.required_anti:
            if self.others_match(item):
                self.put(self.existing, item, node, amount)
        if self.matches_all(other):
            for item in self.required:
                self.put(self.affinity, item, node, amount)
        for item in self.required_anti:
            if self.own_matches(item, other):
                self.put(self.anti, item, node, amount)

    @property
    def is_skipped(self) -> bool:
        return not any(self.existing.values()) and not self.required and not self.required_anti

    def verdict(self, node: Node) -> Status:
        if not all(item.topology_key in node.labels for item in self.required):
            return AFFINITY
        pairs = [(item.topology_key, node.labels[item.topology_key]) for item in self.required]
        is_first = not any(self.affinity.values()) and self.matches_all(self.pod)
        if not all(self.affinity.get(pair, 0) > 0 for pair in pairs) and not is_first:
            return AFFINITY
        keys = {item.topology_key for item in self.required_anti} & node.labels.keys()
        if any(self.anti.get((key, node.labels[key]), 0) > 0 for key in keys):
            return ANTI
        if any(self.existing.get(pair, 0) > 0 for pair in node.labels.items()):
            return EXISTING
        return SUCCESS

    def scores(self, hard_weight: int, ignores: bool, feasible: list[str]) -> Any:
        prefers = self.preferred or self.preferred_anti
        if ignores and not prefers:
            return SKIP
        sums: dict[tuple[str, str], int] = {}
        for name, pods in self.pods.items():
            for other in pods:
                for sign, terms in ((1, self.preferred), (-1, self.preferred_anti)):
                    for item in terms:
                        if self.own_matches(item, other):
                            self.put(sums, item, self.nodes[name], sign * item.weight)
                theirs = other.spec.pod_affinity
                if theirs is None:
                    continue
                weighted = [(item, hard_weight) for item in theirs.required if hard_weight > 0]
                weighted += [(item, item.weight) for item in theirs.preferred]
                weighted += [(item, -item.weight) for item in theirs.preferred_anti]
                for item, weight in weighted:
                    if self.others_match(item):
                        self.put(sums, item, self.nodes[name], weight)
        if not sums:
            return SKIP
        raw = {name: sum(sums.get(pair, 0) for pair in self.nodes[name].labels.items()) for name in feasible}
        low, high = min(raw.values()), max(raw.values())
        normal = {name: int(100.0 * ((raw[name] - low) / (high - low))) if high > low else 0 for name in feasible}
        return raw, normal


POD_LABELS = st.fixed_dictionaries(
    {}, optional={"app": st.sampled_from(["web", "db"]), "tier": st.sampled_from(["1", "2"])}
)
NODE_LABELS = st.fixed_dictionaries(
    {}, optional={ZONE: st.sampled_from(["a", "b", ""]), HOSTNAME: st.sampled_from(["x", "y", "z"])}
)
TERMS = st.builds(
    lambda key, selector, more: term(key, selector=selector, **more),
    st.sampled_from([ZONE, ZONE, HOSTNAME, "rack"]),
    st.sampled_from(
        [
            None,
            {},
            {"matchLabels": {"app": "web"}},
            {"matchLabels": {"app": "db", "tier": "1"}},
            {"matchExpressions": [{"key": "tier", "operator": "Exists"}]},
            {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]},
        ]
    ),
    st.sampled_from(
        [
            {},
            {},
            {"namespaces": ["one", "lost"]},
            {"namespaceSelector": {}},
            {"namespaceSelector": {"matchLabels": {"team": "red"}}},
            {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}},
        ]
    ),
)
WEIGHTED = st.tuples(st.integers(1, 100), TERMS)
AFFINITIES = st.builds(
    affinity,
    st.lists(TERMS, max_size=2),
    st.lists(TERMS, max_size=2),
    st.lists(WEIGHTED, max_size=2),
    st.lists(WEIGHTED, max_size=2),
)
PODS = st.builds(
    lambda labels, node, namespace, terminating, terms: make_pod(
        labels=labels, node=f"n{node}", namespace=namespace, terminating=terminating, affinity=terms
    ),
    POD_LABELS,
    st.integers(1, 5),
    st.sampled_from(["default", "default", "one", "lost"]),
    st.sampled_from([False, False, True]),
    st.one_of(st.just({}), AFFINITIES),
)
NODES = st.tuples(st.integers(1, 5), NODE_LABELS)


@given(
    nodes=st.lists(NODES, min_size=1, max_size=5),
    pods=st.lists(PODS, max_size=8),
    later=st.lists(st.one_of(NODES, PODS, st.integers(1, 5)), max_size=6),
    incoming=st.lists(PODS, min_size=1, max_size=2),
    hard_weight=st.sampled_from([0, 1, 10]),
    ignores=st.booleans(),
    data=st.data(),
)
def test_decides_as_node_by_node(
    *,
    nodes: list[Any],
    pods: list[Pod],
    later: list[Any],
    incoming: list[Pod],
    hard_weight: int,
    ignores: bool,
    data: st.DataObject,
) -> None:
    """Also after nodes and pods came, changed and went, with what the plugin keeps from before."""
    table = make_table((make_node(f"n{i}", labels) for i, labels in nodes), pods)
    objects = [namespace(name, **labels) for name, labels in NAMESPACES.items()]
    plugin = make_plugin(objects, hardPodAffinityWeight=hard_weight, ignorePreferredTermsOfExistingPods=ignores)
    for change in [None, *later]:
        if isinstance(change, Pod):
            table.add_pod(change)
        elif isinstance(change, int):
            if len(table) > 1:
                table.remove_node(f"n{change}")
        elif change is not None:
            table.put_node(make_node(f"n{change[0]}", change[1]))
        for pod in incoming:
            reference = Reference(table, pod)
            feasible = data.draw(st.lists(st.sampled_from(list(reference.nodes)), min_size=1, unique=True))
            found = scored(plugin, CycleState(), pod, table, feasible)
            assert found == reference.scores(hard_weight, ignores, feasible)
            compare_filter(plugin, table, pod, reference, data)


def compare_filter(
    plugin: InterPodAffinity, table: NodeTable, pod: Pod, reference: Reference, data: st.DataObject
) -> None:
    state = CycleState()
    status = plugin.pre_filter(state, pod, table).status
    if reference.is_skipped:
        assert status.code == Code.SKIP
        return
    assert status == SUCCESS
    expected = {name: reference.verdict(node) for name, node in reference.nodes.items()}
    assert filtered(plugin, state, pod, table) == expected
    trial = state.clone()
    node = data.draw(st.sampled_from(list(reference.nodes.values())))
    row = table.row(node.name)
    assert row is not None
    victims = list(table.pods_on[row].values())
    steps = [(victim, -1) for victim in victims] + [(victim, 1) for victim in reversed(victims)]
    if data.draw(st.booleans()):
        nominated = make_pod(
            labels=data.draw(POD_LABELS), node=node.name, affinity=data.draw(st.one_of(st.just({}), AFFINITIES))
        )
        steps = [(nominated, 1), *steps, (nominated, -1)]
    for other, amount in steps:
        change_table, change_state = (
            (table.add_pod, plugin.add_pod) if amount > 0 else (table.remove_pod, plugin.remove_pod)
        )
        change_table(other)
        change_state(trial, pod, other, row, table)
        reference.move(other, node, amount)
        found = plugin.filter(trial, pod, table, np.array([row]))
        assert (SUCCESS if found is None else found.statuses[found.numbers[0]]) == reference.verdict(node)
    assert filtered(plugin, state, pod, table) == expected
