"""Invalid manifests: one line on stderr with file and field, nothing on stdout, exit code 1."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Kubewasp
from tests.guests.build import wat

Write = Callable[[str, str], Path]


def problem(kubewasp: Kubewasp, *options: object) -> str:
    ended = kubewasp("plugin", "call", wat("filter"), "filter", *options)
    assert (ended.code, ended.out) == (1, "")
    [line] = ended.err.splitlines()
    assert line.startswith("error: ")
    return line.removeprefix("error: ")


@pytest.mark.parametrize("option", ["--pod", "--node", "--target-pod"])
def test_missing_file_and_directory(kubewasp: Kubewasp, tmp_path: Path, option: str) -> None:
    missing = tmp_path / "missing.yaml"
    assert problem(kubewasp, option, missing) == f"{missing}: cannot be read: No such file or directory"
    assert problem(kubewasp, option, tmp_path) == f"{tmp_path}: cannot be read: Is a directory"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("- a\n", "document 1: expected an object, found a list"),
        ("kind: Node\n---\njust text\n", "document 2: expected an object, found a string"),
        ("a: [", "document 1: line 2: did not find expected node content"),
        ("metadata: {name: a}", "document 1: kind is missing: add `kind: {kind}`"),
        ("kind: Service\n", "document 1: expected kind {kind}, found Service"),
        ("kind: {kind}\napiVersion: apps/v1\n", "document 1: apiVersion: expected v1 for kind {kind}, found apps/v1"),
        ("kind: {kind}\nmetadata: {name: 5}\n", "document 1: metadata.name: expected a string, got 5"),
        ("kind: List\nitems: 3\n", "document 1: items: expected a list, got 3"),
        ("kind: List\nitems: [{kind: Secret}]\n", "document 1: items[0]: expected kind {kind}, found Secret"),
    ],
    ids=["list", "text", "yaml", "no-kind", "kind", "api-version", "name", "items", "item"],
)
@pytest.mark.parametrize(("option", "kind"), [("--pod", "Pod"), ("--node", "Node"), ("--target-pod", "Pod")])
def test_content_that_does_not_fit(
    kubewasp: Kubewasp, write: Write, *, option: str, kind: str, content: str, told: str
) -> None:
    if "---" in content and kind == "Pod":
        content = content.replace("Node", "Pod")
    path = write("given.yaml", content.replace("{kind}", kind))
    assert problem(kubewasp, option, path).startswith(f"{path}: {told.replace('{kind}', kind)}")


def test_field_of_a_wrong_type_is_named(kubewasp: Kubewasp, write: Write) -> None:
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": "x"}]
    pod = {"kind": "Pod", "spec": {"containers": [{"name": "a", "ports": ports}]}}
    path = write("pod.json", json.dumps(pod))
    told = problem(kubewasp, "--pod", path)
    assert told == f'{path}: document 1: spec.containers[0].ports[1].hostPort: expected an integer, got "x"'


def test_empty_file(kubewasp: Kubewasp, write: Write) -> None:
    path = write("empty.yaml", "")
    assert problem(kubewasp, "--pod", path) == f"{path}: expected one Pod, found 0 objects"
    assert problem(kubewasp, "--node", path) == f"{path}: no node found"


@pytest.mark.parametrize("option", ["--pod", "--target-pod"])
def test_two_pods_where_one_is_wanted(kubewasp: Kubewasp, write: Write, option: str) -> None:
    path = write("pods.yaml", "kind: Pod\n---\nkind: Pod\n")
    assert problem(kubewasp, option, path) == f"{path}: expected one Pod, found 2 objects"


def test_node_without_a_name(kubewasp: Kubewasp, write: Write) -> None:
    for content in ("kind: Node\n", "kind: Node\nmetadata: null\n", "kind: Node\nmetadata: {name: ''}\n"):
        path = write("node.yaml", content)
        assert problem(kubewasp, "--node", path) == f"{path}: document 1: metadata.name: a node needs a name"


def test_two_nodes_of_one_name(kubewasp: Kubewasp, write: Write) -> None:
    one = write("one.yaml", "kind: Node\nmetadata: {name: a}\n")
    two = write("two.yaml", "kind: Node\nmetadata: {name: b}\n---\nkind: Node\nmetadata: {name: a}\n")
    told = problem(kubewasp, "--node", one, "--node", two)
    assert told == f"{two}: document 2: metadata.name: duplicate node 'a'"


def test_control_characters_of_a_manifest_do_not_reach_the_terminal(kubewasp: Kubewasp, write: Write) -> None:
    told = problem(kubewasp, "--pod", write("pod.json", '{"kind": "\\u001b[31mPod"}'))
    assert told.isprintable()
    assert "[31mPod" in told
