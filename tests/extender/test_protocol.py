"""Extender protocol: request bodies of kube-scheduler, and errors with their fields."""

import json

import pytest

from kubewasp.extender import protocol
from kubewasp.extender.protocol import ProtocolError
from tests.extender.extending import named, node, pod, whole


def test_whole_nodes_have_names_too() -> None:
    args = protocol.extender_args(whole(node("a"), node("b")))
    assert (args.names, args.nodes) == (["a", "b"], [node("a"), node("b")])
    assert args.pod == pod()


def test_names_alone() -> None:
    args = protocol.extender_args(named("a", "b"))
    assert (args.names, args.nodes) == (["a", "b"], None)


def test_a_list_without_items_is_null_in_go() -> None:
    body = json.dumps({"Pod": pod(), "Nodes": {"metadata": {}, "items": None}, "NodeNames": None}).encode()
    assert protocol.extender_args(body).nodes == []


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "the body is not JSON: "),
        (b"{", "the body is not JSON: "),
        (b'{"Pod": \xff}', "the body is not JSON: "),
        (b"[]", "expected an object, got a list"),
        (b"{}", "Pod: missing, expected an object"),
        (b'{"Pod": 3}', "Pod: expected an object, got 3"),
        (b'{"Pod": {}}', "Pod.metadata: missing, expected an object"),
        (b'{"Pod": {"metadata": {}}}', "Pod.metadata.name: missing, expected a string"),
        (b'{"Pod": {"metadata": {"name": ""}}}', "Pod.metadata.name: must not be empty"),
        (b'{"Pod": {"metadata": {"name": "p"}}}', "Nodes, NodeNames: one of them is required"),
        (b'{"Pod": {"metadata": {"name": "p"}}, "NodeNames": "a"}', 'NodeNames: expected a list, got "a"'),
        (b'{"Pod": {"metadata": {"name": "p"}}, "NodeNames": ["a", 1]}', "NodeNames[1]: expected a string, got 1"),
        (b'{"Pod": {"metadata": {"name": "p"}}, "Nodes": []}', "Nodes: expected an object, got a list"),
        (b'{"Pod": {"metadata": {"name": "p"}}, "Nodes": {"items": [7]}}', "Nodes.items[0]: expected an object, got 7"),
    ],
)
def test_bodies_of_filter_that_are_wrong(body: bytes, problem: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        protocol.extender_args(body)
    assert str(caught.value).startswith(problem)


def test_victims_come_as_pods_or_as_uids() -> None:
    meta = {"a": {"Pods": [{"UID": "u1"}, {"UID": "u2"}], "NumPDBViolations": 1}, "b": {"Pods": None}}
    found = protocol.preemption_args(json.dumps({"Pod": pod(), "NodeNameToMetaVictims": meta}).encode())
    assert {name: (item.uids, item.pods, item.violations) for name, item in found.victims.items()} == {
        "a": (["u1", "u2"], (), 1),
        "b": ([], (), 0),
    }
    full = {"a": {"Pods": [pod("x")], "NumPDBViolations": 0}}
    body = {"Pod": pod(), "NodeNameToVictims": full, "NodeNameToMetaVictims": None}
    found = protocol.preemption_args(json.dumps(body).encode())
    assert (found.victims["a"].uids, found.victims["a"].pods) == (["uid-x"], [pod("x")])


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({}, "NodeNameToVictims, NodeNameToMetaVictims: one of them is required"),
        ({"NodeNameToMetaVictims": {"a": None}}, 'NodeNameToMetaVictims["a"]: missing, expected an object'),
        (
            {"NodeNameToMetaVictims": {"a": {"Pods": [{}]}}},
            'NodeNameToMetaVictims["a"].Pods[0].UID: missing, expected a string',
        ),
        (
            {"NodeNameToVictims": {"a": {"Pods": [{"metadata": {"uid": 3}}]}}},
            'NodeNameToVictims["a"].Pods[0].metadata.uid: expected a string, got 3',
        ),
        (
            {"NodeNameToVictims": {"a": {"NumPDBViolations": "1"}}},
            'NodeNameToVictims["a"].NumPDBViolations: expected a number, got "1"',
        ),
    ],
)
def test_bodies_of_preempt_that_are_wrong(fields: dict[str, object], problem: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        protocol.preemption_args(json.dumps({"Pod": pod(), **fields}).encode())
    assert str(caught.value) == problem


def test_bodies_of_bind() -> None:
    body = {"PodName": "p", "PodNamespace": "n", "PodUID": "u", "Node": "a"}
    args = protocol.binding_args(json.dumps(body).encode())
    assert (args.name, args.namespace, args.uid, args.node) == ("p", "n", "u", "a")
    with pytest.raises(ProtocolError, match=r"^PodUID: must not be empty$"):
        protocol.binding_args(json.dumps({**body, "PodUID": ""}).encode())
    with pytest.raises(ProtocolError, match=r"^Node: missing, expected a string$"):
        protocol.binding_args(json.dumps({**body, "Node": None}).encode())


def test_answers_have_the_form_of_the_question() -> None:
    args = protocol.extender_args(whole(node("a"), node("b"), node("c")))
    answer = json.loads(protocol.filter_result(args, {"a": "no"}, {"c": "never"}))
    assert answer == {
        "Nodes": {"metadata": {}, "items": [node("b")]},
        "NodeNames": None,
        "FailedNodes": {"a": "no"},
        "FailedAndUnresolvableNodes": {"c": "never"},
        "Error": "",
    }
    answer = json.loads(protocol.filter_result(protocol.extender_args(named("a", "b")), {"a": "no"}, {}))
    assert (answer["Nodes"], answer["NodeNames"]) == (None, ["b"])
