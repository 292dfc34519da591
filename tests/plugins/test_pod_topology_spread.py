"""PodTopologySpread: verdicts and scores, compared with a node-by-node reference."""

import math
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
from kubewasp.k8s.pods import Pod, SpreadConstraint
from kubewasp.k8s.selectors import LabelSelector
from kubewasp.k8s.taints import untolerated
from kubewasp.plugins.pod_topology_spread import SYSTEM_DEFAULTS, PodTopologySpread
from kubewasp.state.node_table import NodeTable
from tests.plugins.building import HOSTNAME, ZONE, FakeHandle, filtered, make_node, make_pod, make_table, scored, spread

SYSTEM = {"defaultingType": "System", "defaultConstraints": []}
MISSING = Status(
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) didn't match pod topology spread constraints (missing required label)"
)
SKEWED = Status(Code.UNSCHEDULABLE, "node(s) didn't match pod topology spread constraints")
APP = {"app": "web"}
SOFT = "ScheduleAnyway"


def make_plugin(objects: Iterable[Mapping[str, Any]] = (), args: Mapping[str, Any] = SYSTEM) -> PodTopologySpread:
    return PodTopologySpread(args, FakeHandle(objects=objects))


def zoned(*zones: str) -> list[Node]:
    """Nodes n1, n2 … in those zones."""
    return [make_node(f"n{i}", {ZONE: zone, HOSTNAME: f"n{i}"}) for i, zone in enumerate(zones, 1)]


def verdicts(pod: Pod, table: NodeTable, plugin: PodTopologySpread | None = None) -> dict[str, Status]:
    plugin, state = plugin or make_plugin(), CycleState()
    assert plugin.pre_filter(state, pod, table).status == SUCCESS
    return filtered(plugin, state, pod, table)


def scores(
    pod: Pod, table: NodeTable, plugin: PodTopologySpread | None = None, feasible: Iterable[str] | None = None
) -> tuple[list[int], list[int]] | Status:
    """Raw and normalized, in the order of names."""
    found = scored(plugin or make_plugin(), CycleState(), pod, table, feasible)
    if isinstance(found, Status):
        return found
    raw, normal = found
    return [raw[name] for name in sorted(raw)], [normal[name] for name in sorted(normal)]


def service(name: str, selector: Mapping[str, str] | None, namespace: str = "default") -> dict[str, Any]:
    return {"kind": "Service", "metadata": {"name": name, "namespace": namespace}, "spec": {"selector": selector}}


def controller(kind: str, name: str, selector: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": {"selector": selector}}


class TestPreFilter:
    def test_skips_without_constraints(self) -> None:
        status = make_plugin().pre_filter(CycleState(), make_pod(), make_table(zoned("a"))).status
        assert status.code == Code.SKIP

    def test_skips_with_soft_constraints_only(self) -> None:
        pod = make_pod(topologySpreadConstraints=[spread(ZONE, when=SOFT, match=APP)])
        assert make_plugin().pre_filter(CycleState(), pod, make_table(zoned("a"))).status.code == Code.SKIP

    def test_system_defaults_never_filter(self) -> None:
        pod = make_pod(labels=APP)
        plugin = make_plugin([service("s", APP)])
        assert plugin.pre_filter(CycleState(), pod, make_table(zoned("a"))).status.code == Code.SKIP


class TestFilter:
    def test_a_node_without_the_label_is_beyond_help(self) -> None:
        table = make_table([*zoned("a"), make_node("bare")])
        pod = make_pod(labels=APP, topologySpreadConstraints=[spread(ZONE, match=APP)])
        assert verdicts(pod, table) == {"n1": SUCCESS, "bare": MISSING}

    def test_the_skew_counts_the_pod_itself_and_the_emptiest_domain(self) -> None:
        pods = [make_pod(labels=APP, node="n1"), make_pod(labels=APP, node="n1"), make_pod(labels=APP, node="n2")]
        table = make_table(zoned("a", "b", "c"), pods)
        constraint = spread(ZONE, 1, match=APP)
        pod = make_pod(labels=APP, topologySpreadConstraints=[constraint])
        assert verdicts(pod, table) == {"n1": SKEWED, "n2": SKEWED, "n3": SUCCESS}
        stranger = make_pod(labels={"app": "db"}, topologySpreadConstraints=[constraint])
        assert verdicts(stranger, table) == {"n1": SKEWED, "n2": SUCCESS, "n3": SUCCESS}

    @pytest.mark.parametrize(("skew", "passes"), [(1, False), (2, False), (3, True)])
    def test_max_skew_may_be_reached(self, skew: int, passes: bool) -> None:
        table = make_table(zoned("a", "b"), [make_pod(labels=APP, node="n1") for _ in range(2)])
        pod = make_pod(labels=APP, topologySpreadConstraints=[spread(ZONE, skew, match=APP)])
        assert verdicts(pod, table)["n1"] == (SUCCESS if passes else SKEWED)

    def test_the_first_constraint_that_fails_decides(self) -> None:
        table = make_table([make_node("n1", {ZONE: "a"}), make_node("n2", {ZONE: "b"}), make_node("n3", {ZONE: "c"})])
        first, second = spread("rack", match=APP), spread(ZONE, match=APP)
        table.add_pod(make_pod(labels=APP, node="n1"))
        table.put_node(make_node("n4", {ZONE: "d", "rack": "1"}))
        table.put_node(make_node("n5", {ZONE: "e", "rack": "2"}))
        table.add_pod(make_pod(labels=APP, node="n4"))
        one = make_pod(labels=APP, topologySpreadConstraints=[first, second])
        assert verdicts(one, table) == {"n1": MISSING, "n2": MISSING, "n3": MISSING, "n4": SKEWED, "n5": SUCCESS}
        other = make_pod(labels=APP, topologySpreadConstraints=[second, first])
        # n1 does not count in zone a: it lacks the rack.
        assert verdicts(other, table) == {"n1": MISSING, "n2": MISSING, "n3": MISSING, "n4": SKEWED, "n5": SUCCESS}

    def test_a_node_lacking_another_key_does_not_count_but_takes_its_domains_number(self) -> None:
        nodes = [make_node("n1", {ZONE: "a"}), make_node("n2", {ZONE: "a", "rack": "1"}), make_node("n3", {ZONE: "b"})]
        pods = [make_pod(labels=APP, node="n1") for _ in range(5)] + [make_pod(labels=APP, node="n2")]
        table = make_table(nodes, pods)
        constraints = [spread(ZONE, 1, match=APP), spread("rack", 9, match=APP)]
        pod = make_pod(topologySpreadConstraints=constraints)
        # Only zone a counts, with the one pod of n2; n3's zone has none.
        assert verdicts(pod, table) == {"n1": MISSING, "n2": SUCCESS, "n3": MISSING}

    def test_other_namespaces_and_terminating_pods_do_not_count(self) -> None:
        pods = [make_pod(labels=APP, node="n1", namespace="other"), make_pod(labels=APP, node="n1", terminating=True)]
        pod = make_pod(labels=APP, topologySpreadConstraints=[spread(ZONE, match=APP)])
        assert verdicts(pod, make_table(zoned("a", "b"), pods))["n1"] == SUCCESS

    def test_no_selector_matches_nothing(self) -> None:
        table = make_table(zoned("a", "b"), [make_pod(labels=APP, node="n1") for _ in range(3)])
        pod = make_pod(labels=APP, topologySpreadConstraints=[spread(ZONE)])
        assert verdicts(pod, table) == {"n1": SUCCESS, "n2": SUCCESS}

    def test_an_empty_selector_counts_none_but_matches_the_pod_itself(self) -> None:
        table = make_table(zoned("a", "b"), [make_pod(labels=APP, node="n1") for _ in range(3)])
        pod = make_pod(topologySpreadConstraints=[spread(ZONE, 1, selector={})])
        assert verdicts(pod, table) == {"n1": SUCCESS, "n2": SUCCESS}
        plugin, state = make_plugin(), CycleState()
        plugin.pre_filter(state, pod, table)
        plugin.add_pod(state, pod, make_pod(), 0, table)  # in a trial it counts
        assert filtered(plugin, state, pod, table) == {"n1": SKEWED, "n2": SUCCESS}

    def test_match_label_keys_narrow_the_selector_to_the_pods_own_values(self) -> None:
        old, new = {"app": "web", "version": "1"}, {"app": "web", "version": "2"}
        table = make_table(zoned("a", "b"), [make_pod(labels=old, node="n1") for _ in range(3)])
        constraint = spread(ZONE, 1, match=APP, matchLabelKeys=["version", "absent"])
        pod = make_pod(labels=new, topologySpreadConstraints=[constraint])
        assert verdicts(pod, table) == {"n1": SUCCESS, "n2": SUCCESS}
        same = make_pod(labels=old, topologySpreadConstraints=[constraint])
        assert verdicts(same, table) == {"n1": SKEWED, "n2": SUCCESS}

    @pytest.mark.parametrize(("domains", "passes"), [(None, True), (2, True), (3, False)])
    def test_too_few_domains_make_the_minimum_zero(self, domains: int | None, passes: bool) -> None:
        table = make_table(zoned("a", "b"), [make_pod(labels=APP, node=node) for node in ("n1", "n2")])
        constraint = spread(ZONE, 1, match=APP, minDomains=domains)
        pod = make_pod(labels=APP, topologySpreadConstraints=[constraint])
        assert verdicts(pod, table)["n1"] == (SUCCESS if passes else SKEWED)

    @pytest.mark.parametrize(("policy", "passes"), [(None, True), ("Honor", True), ("Ignore", False)])
    def test_nodes_the_pod_does_not_want_count_only_if_affinity_is_ignored(
        self, policy: str | None, passes: bool
    ) -> None:
        nodes = [make_node("n1", {ZONE: "a", "disk": "ssd"}), make_node("n2", {ZONE: "b"})]
        table = make_table(nodes, [make_pod(labels=APP, node="n1")])
        constraint = spread(ZONE, 1, match=APP, nodeAffinityPolicy=policy)
        pod = make_pod(labels=APP, nodeSelector={"disk": "ssd"}, topologySpreadConstraints=[constraint])
        assert verdicts(pod, table)["n1"] == (SUCCESS if passes else SKEWED)

    def test_required_node_affinity_is_honored_too(self) -> None:
        terms = [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        nodes = [make_node("n1", {ZONE: "a", "disk": "ssd"}), make_node("n2", {ZONE: "b"})]
        table = make_table(nodes, [make_pod(labels=APP, node="n1")])
        constraints = [spread(ZONE, 1, match=APP)]
        pod = make_pod(labels=APP, affinity={"nodeAffinity": required}, topologySpreadConstraints=constraints)
        plugin = make_plugin()
        assert verdicts(pod, table, plugin)["n1"] == SUCCESS
        table.put_node(make_node("n2", {ZONE: "b", "disk": "hdd"}))  # now it counts, and is empty
        assert verdicts(pod, table, plugin)["n1"] == SKEWED

    @pytest.mark.parametrize(("policy", "passes"), [(None, False), ("Ignore", False), ("Honor", True)])
    def test_tainted_nodes_count_unless_taints_are_honored(self, policy: str | None, passes: bool) -> None:
        nodes = [make_node("n1", {ZONE: "a"}), make_node("n2", {ZONE: "b"}, taints=["k=v:NoExecute"])]
        table = make_table(nodes, [make_pod(labels=APP, node="n1")])
        constraint = spread(ZONE, 1, match=APP, nodeTaintsPolicy=policy)
        pod = make_pod(labels=APP, topologySpreadConstraints=[constraint])
        assert verdicts(pod, table)["n1"] == (SUCCESS if passes else SKEWED)
        tolerant = make_pod(
            labels=APP, topologySpreadConstraints=[constraint], tolerations=[{"key": "k", "operator": "Exists"}]
        )
        assert verdicts(tolerant, table)["n1"] == SKEWED

    def test_a_preference_against_a_taint_is_not_honored(self) -> None:
        nodes = [make_node("n1", {ZONE: "a"}), make_node("n2", {ZONE: "b"}, taints=["k=v:PreferNoSchedule"])]
        table = make_table(nodes, [make_pod(labels=APP, node="n1")])
        constraint = spread(ZONE, 1, match=APP, nodeTaintsPolicy="Honor")
        pod = make_pod(labels=APP, topologySpreadConstraints=[constraint])
        assert verdicts(pod, table)["n1"] == SKEWED

    def test_a_list_of_defaults_may_filter(self) -> None:
        args = {"defaultingType": "List", "defaultConstraints": [spread(ZONE, 1)]}
        plugin = make_plugin([service("s", APP)], args)
        table = make_table(zoned("a", "b"), [make_pod(labels=APP, node="n1")])
        assert verdicts(make_pod(labels=APP), table, plugin) == {"n1": SKEWED, "n2": SUCCESS}
        assert plugin.pre_filter(CycleState(), make_pod(), table).status.code == Code.SKIP


class TestTrials:
    def test_a_clone_takes_the_change_and_the_original_does_not(self) -> None:
        victim = make_pod(labels=APP, node="n1")
        table = make_table(zoned("a", "b"), [victim])
        pod = make_pod(labels=APP, topologySpreadConstraints=[spread(ZONE, match=APP)])
        plugin, state = make_plugin(), CycleState()
        plugin.pre_filter(state, pod, table)
        trial = state.clone()
        table.remove_pod(victim)
        plugin.remove_pod(trial, pod, victim, 0, table)
        assert filtered(plugin, trial, pod, table) == {"n1": SUCCESS, "n2": SUCCESS}
        table.add_pod(victim)
        assert filtered(plugin, state, pod, table) == {"n1": SKEWED, "n2": SUCCESS}
        plugin.add_pod(trial, pod, victim, 0, table)
        assert filtered(plugin, trial, pod, table) == {"n1": SKEWED, "n2": SUCCESS}

    def test_a_terminating_victim_was_not_counted_but_is_taken_off(self) -> None:
        victims = [make_pod(labels=APP, node="n1", terminating=True), make_pod(labels=APP, node="n1")]
        table = make_table(zoned("a", "b"), [*victims, make_pod(labels=APP, node="n2")])
        pod = make_pod(labels=APP, topologySpreadConstraints=[spread(ZONE, 1, match=APP)])
        plugin, state = make_plugin(), CycleState()
        plugin.pre_filter(state, pod, table)
        for victim in victims:
            plugin.remove_pod(state, pod, victim, 0, table)
        # Zone a is down to -1 now, so zone b with its one pod is too far ahead.
        assert filtered(plugin, state, pod, table) == {"n1": SUCCESS, "n2": SKEWED}

    def test_pods_that_do_not_count_change_nothing(self) -> None:
        nodes = [*zoned("a", "b"), make_node("bare")]
        table = make_table(nodes, [make_pod(labels=APP, node="n1")])
        pod = make_pod(labels=APP, topologySpreadConstraints=[spread(ZONE, match=APP)])
        plugin, state = make_plugin(), CycleState()
        plugin.pre_filter(state, pod, table)
        before = filtered(plugin, state, pod, table)
        plugin.remove_pod(state, pod, make_pod(labels=APP, namespace="other"), 0, table)
        plugin.remove_pod(state, pod, make_pod(labels={"app": "db"}), 0, table)
        plugin.add_pod(state, pod, make_pod(labels=APP), 2, table)
        assert filtered(plugin, state, pod, table) == before

    def test_pods_on_nodes_left_out_by_policy_change_nothing(self) -> None:
        table = make_table([*zoned("a", "b"), make_node("tainted", {ZONE: "a"}, taints=["k=v:NoSchedule"])])
        constraint = spread(ZONE, match=APP, nodeTaintsPolicy="Honor")
        pod = make_pod(labels=APP, topologySpreadConstraints=[constraint])
        plugin, state = make_plugin(), CycleState()
        plugin.pre_filter(state, pod, table)
        plugin.add_pod(state, pod, make_pod(labels=APP), 2, table)
        assert filtered(plugin, state, pod, table) == dict.fromkeys(("n1", "n2", "tainted"), SUCCESS)


class TestScore:
    def test_skips_without_soft_constraints(self) -> None:
        pod = make_pod(labels=APP, topologySpreadConstraints=[spread(ZONE, match=APP)])
        assert scores(pod, make_table(zoned("a"))) == Status(Code.SKIP)
        assert scores(make_pod(), make_table(zoned("a"))) == Status(Code.SKIP)

    def test_skips_without_nodes(self) -> None:
        pod = make_pod(topologySpreadConstraints=[spread(ZONE, when=SOFT, match=APP)])
        assert make_plugin().pre_score(CycleState(), pod, make_table(), np.zeros(0, np.int64)).code == Code.SKIP

    def test_one_constraint_three_domains(self) -> None:
        pods = [make_pod(labels=APP, node=node) for node in ("n1", "n1", "n2")]
        pod = make_pod(topologySpreadConstraints=[spread(ZONE, 1, when=SOFT, match=APP)])
        assert scores(pod, make_table(zoned("a", "b", "c"), pods)) == ([3, 2, 0], [0, 33, 100])

    def test_system_defaults_with_the_selector_of_a_service(self) -> None:
        pods = [make_pod(labels=APP, node=node) for node in ("n1", "n1", "n2")]
        table = make_table(zoned("a", "a", "b"), pods)
        plugin = make_plugin([service("s", APP)])
        assert scores(make_pod(labels=APP), table, plugin) == ([13, 12, 6], [46, 53, 100])

    def test_nothing_matching_is_best_everywhere(self) -> None:
        pod = make_pod(topologySpreadConstraints=[spread(ZONE, 1, when=SOFT, match=APP)])
        assert scores(pod, make_table(zoned("a", "b"))) == ([0, 0], [100, 100])

    def test_equal_nodes_are_all_best(self) -> None:
        pods = [make_pod(labels=APP, node=node) for node in ("n1", "n2")]
        pod = make_pod(topologySpreadConstraints=[spread(ZONE, 1, when=SOFT, match=APP)])
        assert scores(pod, make_table(zoned("a", "b"), pods)) == ([1, 1], [100, 100])

    def test_nodes_without_the_label_of_an_own_constraint_are_ignored(self) -> None:
        table = make_table([*zoned("a", "b"), make_node("x")], [make_pod(labels=APP, node="n1")])
        pod = make_pod(topologySpreadConstraints=[spread(ZONE, 3, when=SOFT, match=APP)])
        assert scores(pod, table) == ([3, 2, 0], [66, 100, 0])

    def test_all_ignored_have_nothing(self) -> None:
        pod = make_pod(topologySpreadConstraints=[spread("rack", 3, when=SOFT, match=APP)])
        assert scores(pod, make_table(zoned("a", "b"))) == ([0, 0], [0, 0])

    def test_system_defaults_spread_over_hosts_without_zones(self) -> None:
        nodes = [make_node(f"n{i}", {HOSTNAME: f"n{i}"}) for i in (1, 2)]
        table = make_table(nodes, [make_pod(labels=APP, node="n1")])
        plugin = make_plugin([service("s", APP)])
        # ln(2 + 2) + 2 = 3.39 and 2
        assert scores(make_pod(labels=APP), table, plugin) == ([3, 2], [66, 100])

    def test_a_list_of_defaults_ignores_nodes_without_a_label(self) -> None:
        nodes = [make_node("n1", {HOSTNAME: "n1"}), *[make_node("n2", {HOSTNAME: "n2", ZONE: "a"})]]
        constraints = [spread(HOSTNAME, 3, when=SOFT), spread(ZONE, 5, when=SOFT)]
        plugin = make_plugin([service("s", APP)], {"defaultingType": "List", "defaultConstraints": constraints})
        assert scores(make_pod(labels=APP), make_table(nodes), plugin) == ([0, 6], [0, 100])

    def test_hosts_count_for_themselves_even_where_the_name_is_shared(self) -> None:
        nodes = [make_node(f"n{i}", {HOSTNAME: "same"}) for i in (1, 2)]
        table = make_table(nodes, [make_pod(labels=APP, node="n1")])
        pod = make_pod(topologySpreadConstraints=[spread(HOSTNAME, 1, when=SOFT, match=APP)])
        assert scores(pod, table) == ([1, 0], [0, 100])

    def test_domains_are_sized_by_feasible_nodes_but_count_pods_on_all(self) -> None:
        pods = [make_pod(labels=APP, node="n2") for _ in range(3)]
        table = make_table(zoned("a", "a", "b", "c"), pods)
        pod = make_pod(topologySpreadConstraints=[spread(ZONE, 1, when=SOFT, match=APP)])
        assert scores(pod, table, feasible=["n1", "n3"]) == ([round(3 * math.log(4)), 0], [0, 100])

    def test_nodes_left_out_by_policy_do_not_count_in_their_domain_but_hosts_do(self) -> None:
        nodes = [make_node(f"n{i}", {ZONE: "a", HOSTNAME: f"n{i}"}, taints=["k=v:NoSchedule"][: i - 1]) for i in (1, 2)]
        table = make_table(nodes, [make_pod(labels=APP, node="n2")])
        for key, expected in ((ZONE, [0, 0]), (HOSTNAME, [0, 1])):
            constraint = spread(key, 1, when=SOFT, match=APP, nodeTaintsPolicy="Honor")
            found = scores(make_pod(topologySpreadConstraints=[constraint]), table)
            assert not isinstance(found, Status)
            assert found[0] == expected

    def test_a_missing_zone_is_the_same_domain_as_an_empty_one(self) -> None:
        nodes = [
            make_node("n1", {HOSTNAME: "n1"}),
            make_node("n2", {HOSTNAME: "n2", ZONE: ""}),
            make_node("n3", {HOSTNAME: "n3", ZONE: "a"}),
        ]
        table = make_table(nodes, [make_pod(labels=APP, node="n1") for _ in range(5)])
        found = scores(make_pod(labels=APP), table, make_plugin([service("s", APP)]))
        host, zone = math.log(3 + 2), math.log(2 + 2)
        assert not isinstance(found, Status)
        assert found[0] == [round(5 * host + 2), round(2 + 5 * zone + 4), 6]


class TestDefaultSelector:
    TABLE = make_table(zoned("a", "b"), [make_pod(labels={"app": "web", "tier": "1"}, node="n1")])

    def scores(self, pod: Pod, *objects: Mapping[str, Any]) -> list[int] | None:
        found = scores(pod, self.TABLE, make_plugin(objects))
        return None if isinstance(found, Status) else found[1]

    def test_services_of_the_namespace_that_match(self) -> None:
        pod = make_pod(labels={"app": "web", "tier": "1"})
        assert self.scores(pod, service("s", {"app": "web"}), service("t", {"tier": "1"})) == [66, 100]
        assert self.scores(pod, service("s", {"app": "db"})) is None
        assert self.scores(pod, service("s", {"app": "web"}, "other")) is None
        assert self.scores(pod, service("s", None)) is None
        assert self.scores(pod, service("s", {})) is None

    @pytest.mark.parametrize(
        ("kind", "version", "selector"),
        [
            ("ReplicationController", "v1", {"app": "web"}),
            ("ReplicaSet", "apps/v1", {"matchLabels": {"app": "web"}}),
            ("StatefulSet", "apps/v1", {"matchExpressions": [{"key": "app", "operator": "Exists"}]}),
        ],
    )
    def test_the_controller(self, kind: str, version: str, selector: Any) -> None:
        pod = make_pod(labels=APP, owner=(version, kind, "o"))
        assert self.scores(pod, controller(kind, "o", selector)) == [66, 100]
        assert self.scores(pod) is None
        assert self.scores(pod, controller(kind, "another", selector)) is None
        assert self.scores(make_pod(labels=APP, owner=("v2", kind, "o")), controller(kind, "o", selector)) is None

    def test_a_controller_without_selector_adds_nothing(self) -> None:
        pod = make_pod(labels=APP, owner=("apps/v1", "ReplicaSet", "o"))
        assert self.scores(pod, controller("ReplicaSet", "o", None)) is None

    def test_other_controllers_are_not_asked(self) -> None:
        pod = make_pod(labels=APP, owner=("batch/v1", "Job", "o"))
        assert self.scores(pod) is None

    def test_services_and_controller_must_both_match(self) -> None:
        pod = make_pod(labels={"app": "web", "tier": "2"}, owner=("apps/v1", "ReplicaSet", "o"))
        owner = controller("ReplicaSet", "o", {"matchLabels": {"tier": "2"}})
        assert self.scores(pod, service("s", APP), owner) == [100, 100]

    def test_a_replication_controllers_value_goes_before_a_services(self) -> None:
        pod = make_pod(labels={"tier": "2"}, owner=("v1", "ReplicationController", "o"))
        owner = controller("ReplicationController", "o", {"tier": "1"})
        assert self.scores(pod, service("s", {"tier": "2"}), owner) == [66, 100]

    def test_changes_of_services_and_controllers_are_seen(self) -> None:
        handle = FakeHandle(objects=[service("s", {"app": "db"})])
        plugin = PodTopologySpread(SYSTEM, handle)
        pod = make_pod(labels=APP, owner=("apps/v1", "ReplicaSet", "o"))
        assert isinstance(scores(pod, self.TABLE, plugin), Status)
        handle.store.put(service("s", APP))
        assert scores(pod, self.TABLE, plugin) == ([9, 6], [66, 100])
        handle.store.put(controller("ReplicaSet", "o", {"matchLabels": {"tier": "9"}}))
        assert scores(pod, self.TABLE, plugin) == ([6, 6], [100, 100])
        handle.store.delete("ReplicaSet", "default", "o")
        handle.store.delete("Service", "default", "s")
        assert isinstance(scores(pod, self.TABLE, plugin), Status)

    def test_own_constraints_leave_no_room_for_defaults(self) -> None:
        pod = make_pod(labels=APP, topologySpreadConstraints=[spread(ZONE, match=APP)])
        assert self.scores(pod, service("s", APP)) is None


class TestEvents:
    def hints(self, plugin: PodTopologySpread | None = None) -> dict[str, Any]:
        return {item.resource: item.hint for item in (plugin or make_plugin()).events()}

    def pod(self, **more: Any) -> Pod:
        return make_pod("waiting", APP, topologySpreadConstraints=[spread(ZONE, match=APP, **more)])

    def test_registrations(self) -> None:
        actions = {item.resource: item.actions for item in make_plugin().events()}
        assert actions == {
            "Pod": Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION,
            "Node": Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT,
        }

    def test_a_pod_that_matches_comes_or_goes(self) -> None:
        hint, waiting = self.hints()["Pod"], self.pod()
        match, other = make_pod(labels=APP, node="n"), make_pod(labels={"app": "db"}, node="n")
        assert hint(waiting, None, match)
        assert hint(waiting, match, None)
        assert not hint(waiting, None, other)
        assert not hint(waiting, other, None)
        assert not hint(waiting, None, make_pod(labels=APP, node="n", namespace="other"))
        assert not hint(waiting, None, make_pod(labels=APP))
        assert hint(waiting, None, make_pod(labels=APP, status={"nominatedNodeName": "n"}))

    def test_labels_change(self) -> None:
        hint, waiting = self.hints()["Pod"], self.pod()
        match, other = make_pod("p", APP, node="n"), make_pod("p", {"app": "db"}, node="n")
        assert hint(waiting, match, other)
        assert hint(waiting, other, match)
        assert not hint(waiting, match, make_pod("p", {**APP, "more": "1"}, node="n"))
        own = make_pod("waiting", {"app": "db"}, topologySpreadConstraints=[spread(ZONE, match=APP)])
        assert hint(own, waiting, own)

    def test_own_tolerations_matter_where_taints_are_honored(self) -> None:
        hint = self.hints()["Pod"]
        for policy, expected in (("Honor", True), ("Ignore", False)):
            constraints = [spread(ZONE, match=APP, nodeTaintsPolicy=policy)]
            before = make_pod("waiting", APP, topologySpreadConstraints=constraints)
            after = make_pod(
                "waiting", APP, topologySpreadConstraints=constraints, tolerations=[{"operator": "Exists"}]
            )
            assert hint(after, before, after) == expected

    def test_nodes_come_and_go(self) -> None:
        hint, waiting = self.hints()["Node"], self.pod()
        zoned_node, bare = make_node("n", {ZONE: "a"}), make_node("n")
        assert hint(waiting, None, zoned_node)
        assert hint(waiting, zoned_node, None)
        assert not hint(waiting, None, bare)
        assert not hint(waiting, bare, None)

    def test_nodes_change(self) -> None:
        hint, waiting = self.hints()["Node"], self.pod()
        zoned_node, bare = make_node("n", {ZONE: "a"}), make_node("n")
        assert hint(waiting, bare, zoned_node)
        assert hint(waiting, zoned_node, bare)
        assert hint(waiting, zoned_node, make_node("n", {ZONE: "b"}))
        assert not hint(waiting, zoned_node, make_node("n", {ZONE: "a", "more": "1"}))
        assert hint(waiting, zoned_node, make_node("n", {ZONE: "a"}, taints=["k=v:NoSchedule"]))
        assert not hint(waiting, bare, make_node("n", taints=["k=v:NoSchedule"]))


# ---------------------------------------------------------------------- node by node, for comparison


class Reference:
    """The same rules, written for one node and one pod at a time."""

    def __init__(self, table: NodeTable, pod: Pod, derived: LabelSelector | None, needs_all: bool) -> None:
        self.nodes = {table.node(row).name: table.node(row) for row in table.order().tolist()}
        self.pods = {name: list(table.pods_on[table.row(name) or 0].values()) for name in self.nodes}
        self.pod = pod
        self.needs_all = needs_all
        constraints = pod.spec.spread
        if not constraints and derived is not None:
            constraints = SYSTEM_DEFAULTS
        self.selectors: dict[int, LabelSelector | None] = {}
        for constraint in constraints:
            selector = constraint.selector if pod.spec.spread else derived
            if selector is not None:
                pairs = {key: pod.labels[key] for key in constraint.match_label_keys if key in pod.labels}
                selector = selector.with_values(pairs)
            self.selectors[id(constraint)] = selector
        self.hard = [item for item in constraints if item.is_hard]
        self.soft = [item for item in constraints if not item.is_hard]
        self.sums: list[dict[str, int]] = [
            self.summed(item, [n for n in self.nodes.values() if self.is_counted(n, item, self.hard)])
            for item in self.hard
        ]

    def matches(self, constraint: SpreadConstraint, labels: Mapping[str, str]) -> bool:
        selector = self.selectors[id(constraint)]
        return selector is not None and selector.matches(labels)

    def count(self, constraint: SpreadConstraint, node: Node) -> int:
        selector = self.selectors[id(constraint)]
        if selector is None or selector.is_empty:
            return 0
        return sum(
            other.namespace == self.pod.namespace and not other.is_terminating and selector.matches(other.labels)
            for other in self.pods[node.name]
        )

    def is_counted(self, node: Node, constraint: SpreadConstraint, all_of: list[SpreadConstraint]) -> bool:
        if not all(item.topology_key in node.labels for item in all_of):
            return False
        if constraint.honor_affinity:
            if any(node.labels.get(key) != value for key, value in (self.pod.spec.node_selector or {}).items()):
                return False
            terms = self.pod.spec.required_affinity
            if terms is not None and not any(term.matches(node.name, node.labels) for term in terms):
                return False
        return not constraint.honor_taints or untolerated(node.taints, self.pod.spec.tolerations) is None

    def summed(self, constraint: SpreadConstraint, nodes: list[Node]) -> dict[str, int]:
        sums: dict[str, int] = {}
        for node in nodes:
            value = node.labels.get(constraint.topology_key, "")
            sums[value] = sums.get(value, 0) + self.count(constraint, node)
        return sums

    def move(self, other: Pod, node: Node, amount: int) -> None:
        for constraint, sums in zip(self.hard, self.sums, strict=True):
            is_counted = other.namespace == self.pod.namespace and self.is_counted(node, constraint, self.hard)
            if is_counted and self.matches(constraint, other.labels):
                sums[node.labels[constraint.topology_key]] += amount

    def verdict(self, node: Node) -> Status:
        for constraint, sums in zip(self.hard, self.sums, strict=True):
            if constraint.topology_key not in node.labels:
                return MISSING
            fewest = min(sums.values()) if len(sums) >= constraint.min_domains else 0
            here = sums.get(node.labels[constraint.topology_key], 0)
            if here + self.matches(constraint, self.pod.labels) - fewest > constraint.max_skew:
                return SKEWED
        return SUCCESS

    def scores(self, feasible: list[str]) -> tuple[dict[str, int], dict[str, int]]:
        needed = self.soft if self.needs_all else []
        ignored = {
            name for name in feasible if any(item.topology_key not in self.nodes[name].labels for item in needed)
        }
        judged = [self.nodes[name] for name in feasible if name not in ignored]
        raw = {}
        for name in feasible:
            total = 0.0
            for constraint in self.soft:
                key = constraint.topology_key
                if name in ignored or key not in self.nodes[name].labels:
                    continue
                if key == HOSTNAME:
                    size, here = len(judged), self.count(constraint, self.nodes[name])
                else:
                    size = len({node.labels.get(key, "") for node in judged})
                    counted = [n for n in self.nodes.values() if self.is_counted(n, constraint, needed)]
                    here = self.summed(constraint, counted).get(self.nodes[name].labels[key], 0)
                total += here * math.log(size + 2) + (constraint.max_skew - 1)
            raw[name] = math.floor(total) + (total - math.floor(total) >= 0.5)
        normal = dict.fromkeys(feasible, 0)
        low, high = (pick((raw[node.name] for node in judged), default=0) for pick in (min, max))
        for node in judged:
            normal[node.name] = 100 if high == 0 else 100 * (high + low - raw[node.name]) // high
        return raw, normal


def label_maps(**values: list[str]) -> st.SearchStrategy[dict[str, str]]:
    return st.fixed_dictionaries({}, optional={key: st.sampled_from(found) for key, found in values.items()})


POD_LABELS = label_maps(app=["web", "db"], tier=["1", "2"])
NODE_LABELS = st.fixed_dictionaries(
    {},
    optional={ZONE: st.sampled_from(["a", "b", ""]), HOSTNAME: st.sampled_from(["x", "y", "z"]), "rack": st.just("1")},
)
SELECTORS = st.sampled_from(
    [
        None,
        {},
        {"matchLabels": {"app": "web"}},
        {"matchLabels": {"app": "web", "tier": "1"}},
        {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]},
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]},
    ]
)
CONSTRAINTS = st.builds(
    lambda key, skew, when, selector, more: spread(key, skew, when=when, selector=selector, **more),
    st.sampled_from([ZONE, ZONE, HOSTNAME, "rack"]),
    st.integers(1, 3),
    st.sampled_from(["DoNotSchedule", SOFT]),
    SELECTORS,
    st.fixed_dictionaries(
        {},
        optional={
            "minDomains": st.integers(1, 4),
            "nodeAffinityPolicy": st.sampled_from(["Honor", "Ignore"]),
            "nodeTaintsPolicy": st.sampled_from(["Honor", "Ignore"]),
            "matchLabelKeys": st.just(["tier"]),
        },
    ),
)
NODES = st.tuples(st.integers(1, 6), NODE_LABELS, st.sampled_from([[], ["k=v:NoSchedule"], ["k=v:PreferNoSchedule"]]))
PODS = st.builds(
    lambda labels, node, namespace, terminating: make_pod(
        labels=labels, node=f"n{node}", namespace=namespace, terminating=terminating
    ),
    POD_LABELS,
    st.integers(1, 6),
    st.sampled_from(["default", "default", "other"]),
    st.sampled_from([False, False, True]),
)
INCOMING = st.builds(
    lambda labels, constraints, more: make_pod(labels=labels, topologySpreadConstraints=constraints, **more),
    POD_LABELS,
    st.lists(CONSTRAINTS, max_size=3),
    st.fixed_dictionaries(
        {},
        optional={"nodeSelector": st.just({"rack": "1"}), "tolerations": st.just([{"key": "k", "operator": "Exists"}])},
    ),
)
SERVICES = st.sampled_from([None, {"app": "web"}, {"tier": "1"}])


@given(
    nodes=st.lists(NODES, min_size=1, max_size=6),
    pods=st.lists(PODS, max_size=12),
    later=st.lists(st.one_of(NODES, PODS, st.integers(1, 6)), max_size=6),
    incoming=st.lists(INCOMING, min_size=1, max_size=2),
    selected=SERVICES,
    data=st.data(),
)
def test_decides_as_node_by_node(
    *, nodes: list[Any], pods: list[Pod], later: list[Any], incoming: list[Pod], selected: Any, data: st.DataObject
) -> None:
    """Also after nodes and pods came, changed and went, with what the plugin keeps from before."""
    table = make_table((make_node(f"n{i}", labels, taints=taints) for i, labels, taints in nodes), pods)
    plugin = make_plugin([service("s", selected)])
    for change in [None, *later]:
        if isinstance(change, Pod):
            table.add_pod(change)
        elif isinstance(change, int):
            if len(table) > 1:
                table.remove_node(f"n{change}")
        elif change is not None:
            table.put_node(make_node(f"n{change[0]}", change[1], taints=change[2]))
        for pod in incoming:
            derived = None
            if selected and all(pod.labels.get(key) == value for key, value in selected.items()):
                derived = LabelSelector().with_values(selected)
            reference = Reference(table, pod, derived, needs_all=bool(pod.spec.spread))
            compare_filter(plugin, table, pod, reference, data)
            compare_scores(plugin, table, pod, reference, data)


def compare_filter(
    plugin: PodTopologySpread, table: NodeTable, pod: Pod, reference: Reference, data: st.DataObject
) -> None:
    state = CycleState()
    status = plugin.pre_filter(state, pod, table).status
    if not reference.hard:
        assert status.code == Code.SKIP
        return
    expected = {name: reference.verdict(node) for name, node in reference.nodes.items()}
    assert filtered(plugin, state, pod, table) == expected
    trial = state.clone()
    node = data.draw(st.sampled_from(list(reference.nodes.values())))
    row = table.row(node.name)
    assert row is not None
    victims = list(table.pods_on[row].values())
    nominated = make_pod(labels=data.draw(POD_LABELS), node=node.name)
    steps = [(victim, -1) for victim in victims] + [(nominated, 1)] + [(victim, 1) for victim in victims]
    for other, amount in [*steps, (nominated, -1)]:
        change_table, change_state = (
            (table.add_pod, plugin.add_pod) if amount > 0 else (table.remove_pod, plugin.remove_pod)
        )
        change_table(other)
        change_state(trial, pod, other, row, table)
        reference.move(other, node, amount)
        found = plugin.filter(trial, pod, table, np.array([row]))
        assert found is not None
        assert found.statuses[found.numbers[0]] == reference.verdict(node)
    assert filtered(plugin, state, pod, table) == expected


def compare_scores(
    plugin: PodTopologySpread, table: NodeTable, pod: Pod, reference: Reference, data: st.DataObject
) -> None:
    feasible = data.draw(st.lists(st.sampled_from(list(reference.nodes)), min_size=1, unique=True))
    found = scored(plugin, CycleState(), pod, table, feasible)
    if not reference.soft:
        assert found == Status(Code.SKIP)
    else:
        assert found == reference.scores(feasible)
