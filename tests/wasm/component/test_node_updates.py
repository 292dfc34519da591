"""Node updates for components: changes only."""

from typing import Any

import numpy as np

from kubewasp.k8s.codec import encode
from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.pods import Pod, PodParser
from kubewasp.state.node_objects import Nodes
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.component.node_updates import NodeView
from tests import samples


def lines(view: NodeView, nodes: Nodes, table: NodeTable | None = None) -> list[str]:
    return "\n".join(view.changes(nodes, table)).splitlines()


def put(table: NodeTable, name: str, **metadata: Any) -> None:
    manifest = samples.node(name, **metadata) | {"status": {"allocatable": {"cpu": "4", "pods": "110"}}}
    table.put_node(parse_node(manifest, encode("Node", manifest)))


def pod(name: str, node: str, **requests: str) -> Pod:
    container = {"name": "c", "resources": {"requests": requests}}
    manifest = samples.pod(name) | {"spec": {"nodeName": node, "containers": [container]}}
    return PodParser().parse(manifest, encode("Pod", manifest))


def table_of(*names: str) -> NodeTable:
    table = NodeTable()
    for name in names:
        put(table, name)
    return table


def test_a_node_comes_with_labels_images_object_and_numbers() -> None:
    nodes = Nodes([samples.node("n", labels={"a": "b"}, images={"app": 5}, managedFields=[{"manager": "m"}])])
    found = lines(NodeView(with_pods=False), nodes)
    assert found[:3] == ['n 0 "n"', 'l {"a":"b"}', 'i [{"names":["app"],"sizeBytes":5}]']
    assert found[3].startswith('o {"metadata":{"name":"n"')
    assert "labels" not in found[3]
    assert "images" not in found[3]
    assert "managedFields" not in found[3]
    assert found[4:] == ['r [0,0,0,0,{"cpu":0,"memory":0,"ephemeral-storage":0},{}]']


def test_nothing_is_said_of_nodes_that_did_not_change() -> None:
    view, table = NodeView(with_pods=True), table_of("a", "b")
    assert lines(view, table.objects, table)
    assert lines(view, table.objects, table) == []


def test_a_changed_object_is_sent_alone() -> None:
    view, table = NodeView(with_pods=False), table_of("a", "b")
    lines(view, table.objects, table)
    put(table, "b", labels={"new": "label"})
    found = lines(view, table.objects, table)
    assert [line[0] for line in found] == ["n", "l", "i", "o", "r"]
    assert found[0] == 'n 1 "b"'


def test_a_pod_changes_only_the_numbers() -> None:
    view, table = NodeView(with_pods=False), table_of("a", "b")
    lines(view, table.objects, table)
    table.add_pod(pod("p", "b", cpu="500m"))
    assert lines(view, table.objects, table) == ['n 1 "b"', 'r [500,209715200,1,110,{"cpu":4000},{"cpu":500}]']


def test_pods_come_and_go_one_by_one_where_they_are_wanted() -> None:
    view, table = NodeView(with_pods=True), table_of("a")
    first, second = pod("p", "a"), pod("q", "a")
    table.add_pod(first)
    assert any(line.startswith('a "uid of p" {') for line in lines(view, table.objects, table))
    table.add_pod(second)
    found = lines(view, table.objects, table)
    assert [line.split(" {")[0] for line in found if line[0] in "ad"] == ['a "uid of q"']
    table.remove_pod(first)
    assert [line for line in lines(view, table.objects, table) if line[0] in "ad"] == ['d "uid of p"']


def test_a_removed_node_leaves_its_row() -> None:
    view, table = NodeView(with_pods=False), table_of("a", "b")
    lines(view, table.objects, table)
    table.remove_node("a")
    assert lines(view, table.objects, table) == ["x 0"]
    put(table, "c")
    assert lines(view, table.objects, table)[0] == 'n 0 "c"'


def test_a_row_that_was_emptied_before_it_was_ever_sent_is_not_mentioned() -> None:
    table = table_of("a", "b")
    table.remove_node("a")
    assert [line for line in lines(NodeView(with_pods=False), table.objects, table) if line[0] in "nx"] == ['n 1 "b"']


def test_other_nodes_make_the_guest_start_over() -> None:
    view = NodeView(with_pods=False)
    first, second = samples.nodes(1), samples.nodes(2)
    assert lines(view, first)[0] == 'n 0 "node-1"'
    assert lines(view, second)[0] == "z "


def test_names_are_written_as_json() -> None:
    table = table_of('a "quoted"\nname')
    assert lines(NodeView(with_pods=False), table.objects, table)[0] == 'n 0 "a \\"quoted\\"\\nname"'


def test_a_list_of_rows_is_sent_once_while_it_is_used() -> None:
    view = NodeView(with_pods=False)
    lists = [np.array([number]) for number in range(10)]
    assert view.list_number(lists[0]) == (0, True)
    assert view.list_number(lists[0].copy()) == (0, False)
    for rows in lists[1:8]:
        assert view.list_number(rows)[1]
    assert view.list_number(lists[0]) == (0, False)
    assert view.list_number(lists[8]) == (1, True)  # takes the place of the list that was not used for longest
    assert view.list_number(lists[1])[1]
    assert view.list_number(lists[0]) == (0, False)
