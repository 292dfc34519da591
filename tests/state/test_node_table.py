"""Node table: incremental updates equal a table built afresh."""

from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kubewasp.k8s.nodes import Node
from kubewasp.k8s.pods import Pod
from kubewasp.state.columns import ABSENT
from kubewasp.state.node_table import NodeTable
from tests.plugins.building import ZONE, affinity, make_node, make_pod, make_table, term

REGION, BETA_ZONE = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone"


def names(table: NodeTable) -> list[str]:
    return [table.node(row).name for row in table.order().tolist()]


def zoned(*places: str) -> list[Node]:
    """Nodes a1, a2 … in zones named by their letter."""
    return [make_node(place, {ZONE: place[0]}) for place in places]


# ---------------------------------------------------------------------- the order of nodes


def test_without_zones_nodes_are_visited_as_they_were_added() -> None:
    assert names(make_table([make_node("c"), make_node("a"), make_node("b")])) == ["c", "a", "b"]


def test_zones_take_turns_in_the_order_they_were_first_seen() -> None:
    table = make_table(zoned("b1", "a1", "b2", "b3", "a2", "c1"))
    assert names(table) == ["b1", "a1", "c1", "b2", "a2", "b3"]


def test_region_and_zone_together_make_a_zone() -> None:
    places = [("n1", "r1"), ("n2", "r1"), ("n3", "r2")]
    assert names(make_table(make_node(name, {ZONE: "z", REGION: r}) for name, r in places)) == ["n1", "n3", "n2"]


def test_the_older_zone_label_counts_before_the_newer() -> None:
    table = make_table([*zoned("a1", "a2"), make_node("b1", {ZONE: "a", BETA_ZONE: "b"})])
    assert names(table) == ["a1", "b1", "a2"]


def test_a_node_that_changes_its_zone_goes_to_the_end_of_the_new_one() -> None:
    table = make_table(zoned("a1", "a2", "b1", "b2"))
    table.put_node(make_node("a1", {ZONE: "b"}))
    assert names(table) == ["a2", "b1", "b2", "a1"]
    table.put_node(make_node("a1", {ZONE: "a"}))
    assert names(table) == ["a2", "b1", "a1", "b2"]


def test_other_changes_leave_a_node_where_it_is() -> None:
    table = make_table(zoned("a1", "a2", "b1"))
    table.put_node(make_node("a1", {ZONE: "a", "disk": "ssd"}, cpu="1", unschedulable=True))
    assert names(table) == ["a1", "b1", "a2"]


def test_a_zone_without_nodes_is_forgotten() -> None:
    table = make_table(zoned("a1", "b1", "c1"))
    table.remove_node("a1")
    table.put_node(zoned("a2")[0])
    assert names(table) == ["b1", "c1", "a2"]


def test_a_node_that_comes_back_stands_at_the_end() -> None:
    table = make_table([make_node("a"), make_node("b")])
    table.remove_node("a")
    assert names(table) == ["b"]
    table.put_node(make_node("a"))
    assert names(table) == ["b", "a"]


# ---------------------------------------------------------------------- pods


def test_pods_count_on_their_node() -> None:
    pod = make_pod(node="n", requests={"cpu": "500m", "memory": "1Ki", "ephemeral-storage": "2Ki", "e.com/x": "3"})
    table = make_table([make_node("n")], [pod, make_pod(node="n")])
    row = table.row("n")
    assert row is not None
    found = {name: int(column[row]) for name, column in table.requested.items()}
    assert found == {"cpu": 500, "memory": 1024, "ephemeral-storage": 2048, "e.com/x": 3}
    assert [int(table.non_zero[name][row]) for name in ("cpu", "memory")] == [600, 1024 + 200 * 1024 * 1024]
    assert int(table.pod_count[row]) == 2
    table.remove_pod(pod)
    assert [int(column[row]) for column in table.requested.values()] == [0, 0, 0, 0]


def test_a_pod_with_the_same_uid_replaces_the_one_before() -> None:
    table = make_table([make_node("n")], [make_pod("p", node="n", requests={"cpu": "1"})])
    table.add_pod(make_pod("p", node="n", requests={"cpu": "3"}))
    assert (int(table.requested["cpu"][0]), int(table.pod_count[0])) == (3000, 1)


def test_pods_of_a_node_that_is_gone_wait_for_it_or_for_their_own_end() -> None:
    stays, goes = make_pod(node="n", requests={"cpu": "1"}), make_pod(node="n", requests={"cpu": "2"})
    table = make_table([make_node("n")], [stays, goes])
    table.remove_node("n")
    assert (len(table), len(table.order())) == (0, 0)
    table.remove_pod(goes)
    table.put_node(make_node("other"))
    table.put_node(make_node("n"))
    row = table.row("n")
    assert row is not None
    assert (int(table.requested["cpu"][row]), list(table.pods_on[row].values())) == (1000, [stays])


def test_a_pod_may_come_before_its_node() -> None:
    table = make_table((), [make_pod(node="n", requests={"cpu": "1"})])
    table.put_node(make_node("n"))
    assert int(table.requested["cpu"][0]) == 1000


def test_unknown_nodes_and_pods_are_no_error_where_they_go() -> None:
    table = make_table([make_node("n")])
    table.remove_node("m")
    table.remove_pod(make_pod(node="n"))
    table.remove_pod(make_pod(node="m"))
    assert (len(table), int(table.pod_count[0])) == (1, 0)


def test_a_row_without_a_node_cannot_be_asked_for_it() -> None:
    table = make_table([make_node("n")])
    table.remove_node("n")
    with pytest.raises(LookupError, match="row 0 has no node"):
        table.node(0)


# ---------------------------------------------------------------------- images


def test_the_size_of_an_image_is_that_of_the_first_node_as_long_as_any_node_has_it() -> None:
    table = make_table([make_node("a", images={"i": 1}), make_node("b", images={"i": 2})])
    assert table.images.by_name == {"i": (1, {0, 1})}
    table.remove_node("a")
    assert table.images.by_name == {"i": (1, {1})}
    table.put_node(make_node("b", images={"i": 3}))
    assert table.images.by_name == {"i": (3, {1})}
    table.put_node(make_node("b"))
    assert table.images.by_name == {}


# ---------------------------------------------------------------------- labels


def test_a_label_column_has_a_number_a_value_and_none_where_it_lacks() -> None:
    table = make_table([make_node("a", {"disk": "ssd"}), make_node("b"), make_node("c", {"disk": ""})])
    column = table.label("disk")
    assert [column.values[number] for number in column.ids[:3].tolist()] == ["ssd", "", ""]
    assert column.ids[1] == ABSENT != column.ids[2]
    assert column.find("ssd") == column.ids[0]
    assert column.find("hdd") == -1
    table.put_node(make_node("b", {"disk": "ssd"}))
    assert column.ids[1] == column.ids[0]


# ---------------------------------------------------------------------- any sequence of changes

NAMES = [f"n{number}" for number in range(7)] + ["other"]
LABELS = st.fixed_dictionaries(
    {}, optional={ZONE: st.sampled_from("ab"), REGION: st.sampled_from("rs"), "disk": st.sampled_from(["ssd", ""])}
)
TAINTS = st.lists(st.sampled_from(["a=1:NoSchedule", "b=:PreferNoSchedule"]), max_size=2, unique=True)
REQUESTS = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.sampled_from(["100m", "1"]),
        "memory": st.sampled_from(["1Mi", "1Gi"]),
        "ephemeral-storage": st.just("1Ki"),
        "e.com/x": st.just("2"),
    },
)
IMAGES = st.dictionaries(st.sampled_from(["i:1", "i:2"]), st.integers(1, 3), max_size=2)
APART = affinity(anti=[term(ZONE, {"app": "web"})])
SPECS = st.sampled_from(
    [
        {},
        {"affinity": APART},
        {"affinity": APART, "priority": 3},
        {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
        {"volumes": [{"name": "v", "gcePersistentDisk": {"pdName": "d"}}]},
    ]
)
PODS = st.builds(
    dict,
    labels=st.fixed_dictionaries({}, optional={"app": st.sampled_from(["web", "db"])}),
    namespace=st.sampled_from(["default", "ns"]),
    requests=REQUESTS,
    terminating=st.booleans(),
    ports=st.lists(st.sampled_from([80, 443]), max_size=1),
    spec=SPECS,
)
QUERIES = {
    "web": (lambda _namespace, labels: labels.get("app") == "web", True),
    "ours": (lambda namespace, _labels: namespace == "default", False),
}


def pod_of(name: str, node: str, drawn: dict[str, Any]) -> Pod:
    container = {
        "name": "main",
        "resources": {"requests": drawn["requests"]},
        "ports": [{"hostPort": port} for port in drawn["ports"]],
    }
    return make_pod(
        name,
        drawn["labels"],
        namespace=drawn["namespace"],
        node=node,
        terminating=drawn["terminating"],
        **{"containers": [container], **drawn["spec"]},
    )


def summary(table: NodeTable) -> dict[str, Any]:
    """All that a table says of each node, by the node's name."""
    found: dict[str, Any] = {}
    rows = table.order().tolist()
    for row in rows:
        found[table.node(row).name] = {
            "node": table.node(row),
            "encoded": table.objects.encoded(row),
            "pods": table.pods_on[row],
            "ports": table.ports[row],
            "columns": {
                f"{kind} {name}": int(column[row])
                for kind in ("allocatable", "requested", "non_zero")
                for name, column in getattr(table, kind).items()
                if column[row]
            },
            "counts": (int(table.max_pods[row]), int(table.pod_count[row])),
            "taints": table.taint_sets[table.taint_ids[row]],
            "cordoned": bool(table.is_unschedulable[row]),
            "labels": {key: table.label(key).values[table.label(key).ids[row]] for key in (ZONE, "disk")},
            "has": {key: table.label(key).ids[row] != ABSENT for key in (ZONE, "disk")},
            "queries": {
                key: int(table.pods.counts(key, matches, with_terminating=ending)[row])
                for key, (matches, ending) in QUERIES.items()
            },
            "apart": {
                id(terms): int(counts.of(np.array([row]))[0])
                for terms, counts in table.pods.with_affinity.items()
                if counts.of(np.array([row]))[0]
            },
            "attachable": int(table.volumes.attachable[row]),
            "disks": {
                spec.id: int(counts.of(np.array([row]))[0])
                for spec, counts in table.volumes.with_disks.items()
                if counts.of(np.array([row]))[0]
            },
        }
    found["images"] = {
        image: {table.node(row).name for row in having} for image, (_size, having) in table.images.by_name.items()
    }
    found["claims"] = table.volumes.claims
    found["affinities"] = {id(terms) for terms in table.pods.with_affinity}
    return found


class Changes(RuleBasedStateMachine):
    """Nodes and pods come, change and go; rows are given away and taken again; columns grow."""

    def __init__(self) -> None:
        super().__init__()
        self.table = NodeTable()
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.zones: dict[tuple[str, str], list[str]] = {}

    @initialize(some=st.integers(0, 20))
    def some_more_nodes(self, some: int) -> None:
        """So that there are more rows than the first columns have room for, and few changes among many rows."""
        for number in range(some):
            self._put(make_node(f"more-{number}"))

    @rule(name=st.sampled_from(NAMES), labels=LABELS, taints=TAINTS, images=IMAGES, cpu=st.sampled_from("48"))
    def put_node(self, name: str, labels: dict[str, str], taints: list[str], images: dict[str, int], cpu: str) -> None:
        extended = {"e.com/x": "5"} if cpu == "8" else {}
        self._put(make_node(name, labels, taints=taints, images=images, cpu=cpu, allocatable=extended))

    @rule(name=st.sampled_from(NAMES), cordoned=st.booleans())
    def cordon(self, name: str, cordoned: bool) -> None:
        self._put(make_node(name, unschedulable=cordoned))

    @rule(name=st.sampled_from(NAMES))
    def remove_node(self, name: str) -> None:
        self.table.remove_node(name)
        before = self.nodes.pop(name, None)
        if before is not None:
            self._leave(before)

    @rule(name=st.sampled_from("pqrstuvw"), node=st.sampled_from(NAMES), drawn=PODS)
    def put_pod(self, name: str, node: str, drawn: dict[str, Any]) -> None:
        known = next((pod for pod in self.pods.values() if pod.name == name), None)
        pod = pod_of(name, node if known is None else known.node, drawn)
        if known is not None and known.uid != pod.uid:
            self.table.remove_pod(known)
            del self.pods[known.uid]
        self.table.add_pod(pod)
        self.pods[pod.uid] = pod

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def remove_pod(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.pods)))
        self.table.remove_pod(self.pods.pop(uid))

    @invariant()
    def the_table_is_that_of_a_cluster_seen_at_once(self) -> None:
        fresh = make_table(self.nodes.values(), self.pods.values())
        assert summary(self.table) == summary(fresh)
        assert len(self.table) == len(self.nodes)

    @invariant()
    def nodes_stand_in_the_order_of_their_zones(self) -> None:
        left = [list(members) for members in self.zones.values()]
        expected = []
        while any(left):
            expected += [members.pop(0) for members in left if members]
        assert names(self.table) == expected

    @invariant()
    def rows_without_a_node_are_empty(self) -> None:
        free = [row for row, node in enumerate(self.table.nodes) if node is None]
        for columns in (self.table.allocatable, self.table.requested, self.table.non_zero):
            for column in columns.values():
                assert not column[free].any()
        assert not self.table.pod_count[free].any()
        assert all(self.table.label(key).ids[row] == ABSENT for key in (ZONE, "disk") for row in free)
        assert not any(self.table.pods_on[row] or self.table.ports[row] for row in free)

    @invariant()
    def derived_columns_are_what_they_would_be_if_computed_now(self) -> None:
        table, rows = self.table, self.table.order()

        def of_pods(some: Any) -> Any:
            return table.requested_of("cpu")[some] * 3 + table.pod_count[some] + table.max_pods[some]

        def of_nodes(some: Any) -> Any:
            return np.array([len(table.node(row).labels) + len(table.node(row).taints) for row in some.tolist()], int)

        assert table.cache.get("pods", of_pods)[rows].tolist() == of_pods(rows).tolist()
        assert table.cache.get("nodes", of_nodes, of_nodes=True)[rows].tolist() == of_nodes(rows).tolist()

    def _put(self, node: Node) -> None:
        self.table.put_node(node)
        before = self.nodes.get(node.name)
        if before is None or before.zone_key != node.zone_key:
            if before is not None:
                self._leave(before)
            self.zones.setdefault(node.zone_key, []).append(node.name)
        self.nodes[node.name] = node

    def _leave(self, node: Node) -> None:
        self.zones[node.zone_key].remove(node.name)
        if not self.zones[node.zone_key]:
            del self.zones[node.zone_key]


Changes.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestAnyChanges = Changes.TestCase
