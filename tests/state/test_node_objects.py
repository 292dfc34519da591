import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kubewasp.k8s.codec import encode
from kubewasp.state.node_objects import Nodes
from tests.samples import node, nodes


def changed(cluster: Nodes, generation: int) -> list[int]:
    return list(cluster.changed_since(generation))


def test_nodes_take_rows_in_the_order_they_come() -> None:
    cluster = nodes(3)
    assert [cluster.row(name) for name in cluster] == [0, 1, 2]
    assert list(cluster) == ["node-1", "node-2", "node-3"]
    assert cluster.is_dense


def test_a_node_is_kept_as_the_codec_encodes_it() -> None:
    cluster = Nodes()
    row = cluster.put(node("node-1", labels={"zone": "a"}))
    assert cluster.encoded(row) == encode("Node", node("node-1", labels={"zone": "a"}))


@pytest.mark.parametrize("manifest", [{}, {"metadata": {}}, {"metadata": None}, {"metadata": {"name": ""}}])
def test_a_node_needs_a_name(manifest: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="a node needs a name"):
        Nodes().put(manifest)


def test_a_changed_node_keeps_its_row_and_moves_the_generation() -> None:
    cluster = nodes(3)
    before = cluster.generation
    assert cluster.put(node("node-2", labels={"new": "yes"})) == 1
    assert cluster.generation == before + 1
    assert changed(cluster, before) == [1]
    assert list(cluster) == ["node-1", "node-2", "node-3"]


def test_the_same_node_again_is_no_change() -> None:
    cluster = nodes(3)
    before = cluster.generation
    cluster.put(node("node-2"))
    assert cluster.generation == before
    assert changed(cluster, before) == []


def test_changes_are_listed_newest_first_and_once_a_row() -> None:
    cluster = nodes(3)
    before = cluster.generation
    cluster.put(node("node-1", labels={"a": "1"}))
    cluster.put(node("node-3", labels={"a": "1"}))
    cluster.put(node("node-1", labels={"a": "2"}))
    assert changed(cluster, before) == [0, 2]
    assert changed(cluster, 0) == [0, 2, 1]
    assert changed(cluster, cluster.generation) == []


def test_a_removed_node_leaves_its_row_to_the_next_one() -> None:
    cluster = nodes(3)
    cluster.remove("node-2")
    assert "node-2" not in cluster
    assert (cluster.row("node-2"), cluster.name(1), cluster.encoded(1)) == (None, None, b"")
    assert (len(cluster), cluster.row_count) == (2, 3)
    assert not cluster.is_dense
    assert cluster.put(node("node-4")) == 1
    assert list(cluster) == ["node-1", "node-3", "node-4"]
    assert cluster.rows().tolist() == [0, 2, 1]
    assert not cluster.is_dense, "the order of the nodes is not that of the rows any more"


def test_removing_a_node_that_is_not_there_is_refused() -> None:
    with pytest.raises(KeyError):
        nodes(1).remove("node-2")


class NodesAgainstADict(RuleBasedStateMachine):
    """After any operations, `Nodes` equals a dict and reports every change."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes = Nodes()
        self.model: dict[str, bytes] = {}
        self.seen: dict[int, tuple[str | None, bytes]] = {}
        self.seen_generation = 0

    @rule(name=st.sampled_from("abcdef"), content=st.binary(max_size=2))
    def put(self, name: str, content: bytes) -> None:
        self.nodes.put_encoded(name, content)
        self.model[name] = content

    @rule(name=st.sampled_from("abcdef"))
    def remove(self, name: str) -> None:
        if name in self.model:
            self.nodes.remove(name)
            del self.model[name]

    @rule()
    def look(self) -> None:
        for row in self.nodes.changed_since(self.seen_generation):
            self.seen[row] = (self.nodes.name(row), self.nodes.encoded(row))
        self.seen_generation = self.nodes.generation
        known = {name: content for name, content in self.seen.values() if name is not None}
        assert known == self.model

    @invariant()
    def holds_what_the_dict_holds(self) -> None:
        assert list(self.nodes) == list(self.model)
        rows = self.nodes.rows().tolist()
        assert [self.nodes.row(name) for name in self.model] == rows
        assert [self.nodes.name(row) for row in rows] == list(self.model)
        assert [self.nodes.encoded(row) for row in rows] == list(self.model.values())
        assert len(set(rows)) == len(rows)
        if self.nodes.is_dense:
            assert rows == list(range(len(rows)))


NodesAgainstADict.TestCase.settings = settings(max_examples=50, stateful_step_count=30)
TestNodesAgainstADict = NodesAgainstADict.TestCase
