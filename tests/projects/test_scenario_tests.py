"""Strict parsing of scenario tests: valid fields, and errors for all others."""

import math
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubewasp.k8s.errors import ManifestError
from kubewasp.projects import scenario_tests
from kubewasp.projects.scenario_expectations import Expectation
from tests.projects.writing import case, read_one, written

NOON = 1_767_614_400.0


def error_of(folder: Path, document: Any) -> str:
    """Problem text of the document, without its place, which is asserted."""
    path = written(folder, case(), document)
    with pytest.raises(ManifestError) as caught:
        scenario_tests.read(folder)
    place = f"{path}: document 2: "
    assert str(caught.value).startswith(place)
    return str(caught.value).removeprefix(place)


# ---------------------------------------------------------------------- what a test may say


def test_what_is_left_out_has_a_default(tmp_path: Path) -> None:
    written(tmp_path, *[{"kind": "Node", "metadata": {"name": "from-file"}}], file="cluster.yaml")
    test = read_one(tmp_path, case(cluster=None))
    assert [node["metadata"]["name"] for node in test.cluster.nodes] == ["from-file"]
    assert (test.config, test.weight, test.is_alone, test.until) == ("", 1, False, math.inf)
    assert test.start_time == NOON
    assert test.timeline.steps == ()


def test_everything_may_be_said(tmp_path: Path) -> None:
    test = read_one(
        tmp_path,
        case(
            config={"label": "disk", "values": [1, True, None]},
            time="2026-01-05T13:00:00+01:00",
            weight=7,
            only=True,
            until="90s",
            steps=[{"at": "1m", "cordon": "node-1"}],
            lifetimes=[{"selector": {"a": "b"}, "after": "1m"}],
        ),
    )
    assert test.config == '{"label":"disk","values":[1,true,null]}'
    assert (test.start_time, test.weight, test.is_alone, test.until) == (NOON, 7, True, 90)
    assert (len(test.timeline.steps), len(test.timeline.lifetimes)) == (1, 1)


@pytest.mark.parametrize(
    ("expect", "expected"),
    [
        ({"node": "a"}, Expectation(nodes=("a",))),
        ({"node": ["a", "b"]}, Expectation(nodes=("a", "b"))),
        ({"node": "a", "waiting": True}, Expectation(nodes=("a",), waiting=True)),
        ({"rejected": "no room"}, Expectation(rejected="no room")),
        ({"rejected": ""}, Expectation(rejected="")),
        ({"error": "panic"}, Expectation(error="panic")),
        ({"order": ["a", "b"]}, Expectation(order=("a", "b"))),
        ({"scores": {"a": 1, "b": -2}}, Expectation(scores={"a": 1, "b": -2})),
        ({"filtered": {}}, Expectation(filtered={})),
        ({"annotations": {"gpu": "2"}}, Expectation(annotations={"gpu": "2"})),
        ({"filtered": {"a": "reason"}}, Expectation(filtered={"a": "reason"})),
    ],
)
def test_expectations(tmp_path: Path, expect: Any, expected: Expectation) -> None:
    assert read_one(tmp_path, case(expect=expect)).expected == {"default/web-2": expected}


def test_several_pods_are_expected_by_name(tmp_path: Path) -> None:
    pods = [{"name": "a"}, {"name": "b", "namespace": "team"}]
    expect = {"a": {"node": "x"}, "team/b": {"node": "y"}, "made-by-a-step": {"node": "z"}}
    test = read_one(tmp_path, case(pod=None, pods=pods, expect=expect))
    assert {key: item.nodes for key, item in test.expected.items()} == {
        "default/a": ("x",),
        "team/b": ("y",),
        "default/made-by-a-step": ("z",),
    }


def test_cluster_and_pods_come_from_files_folders_and_the_test_itself(tmp_path: Path) -> None:
    written(tmp_path, *({"kind": "Node", "metadata": {"name": name}} for name in "ab"), file="more/nodes.yaml")
    written(tmp_path, {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": []}}, file="p.yaml")
    namespaces = {"kind": "List", "items": [{"kind": "Namespace", "metadata": {"name": "n"}}]}
    test = read_one(tmp_path, case(cluster=["more", {"name": "c"}, namespaces], pod="p.yaml"))
    assert [node["metadata"]["name"] for node in test.cluster.nodes] == ["a", "b", "c"]
    assert [item["kind"] for item in test.cluster.others] == ["Namespace"]
    assert list(test.expected) == ["default/p"]


def test_files_are_read_in_order_and_only_yaml(tmp_path: Path) -> None:
    written(tmp_path, case(name="one"), case(name="two"), file="tests/b.yml")
    written(tmp_path, case(name="three"), file="tests/a.yaml")
    (tmp_path / "tests" / "test_plugin.py").write_text("")
    found = scenario_tests.read(tmp_path)
    assert {file: [test.name for test in tests] for file, tests in found.items()} == {
        "tests/a.yaml": ["three"],
        "tests/b.yml": ["one", "two"],
    }


def test_a_project_may_have_no_scenarios(tmp_path: Path) -> None:
    assert scenario_tests.read(tmp_path) == {}


def test_that_the_plugin_does_not_load_can_be_expected(tmp_path: Path) -> None:
    test = read_one(tmp_path, {"name": "bad config", "config": "x", "loadError": "config"})
    assert (test.load_error, dict(test.expected)) == ("config", {})


# ---------------------------------------------------------------------- what it may not say


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"name": None}, "name: Required value: the behaviour under test"),
        ({"name": 5}, "name: expected a string, got 5"),
        ({"nam": "x"}, 'nam: unknown field; did you mean "name"?'),
        ({"expects": {}}, 'expects: unknown field; did you mean "expect"?'),
        ({"config": 5}, "config: expected a text, an object or a list, got 5"),
        ({"time": "noon"}, 'time: expected a time such as 2026-01-05T12:00:00Z, got "noon"'),
        ({"weight": 0}, "weight: expected an integer from 1 to 1000000, got 0"),
        ({"only": "yes please"}, 'only: expected true or false, got "yes please"'),
        ({"until": "soon"}, 'until: expected a duration such as 500ms or 1m30s, got "soon"'),
        ({"until": "-1s"}, "until: expected a time after the start, 0 or more"),
        (
            {"steps": [{"at": "1m", "explode": "a"}]},
            "steps[0]: expected `at` and one of apply, delete, cordon, uncordon, drain, finish",
        ),
        ({"cluster": None}, "cluster: Required value: files or nodes, unless the project has a cluster.yaml"),
        ({"cluster": [5]}, "cluster[0]: expected a file or an object, got 5"),
        ({"cluster": ["none.yaml"]}, "cluster[0]: no file none.yaml in {folder}"),
        ({"cluster": [{"name": "a", "label": {}}]}, 'cluster[0].label: unknown field; did you mean "labels"?'),
        (
            {"cluster": [{"name": "a"}, {"name": "a"}]},
            "cluster[1]: metadata.name: duplicate Node a, first in {document}: cluster[0]",
        ),
        ({"cluster": [{"kind": "Node", "metadata": {"nam": "a"}}]}, "cluster[0]: metadata.name: a Node needs a name"),
        ({"pods": []}, "pods: not allowed together with pod"),
        ({"pod": []}, "pod: expected one pod, found 0; use `pods` for several"),
        ({"pod": [{"name": "a"}, {"name": "b"}]}, "pod: expected one pod, found 2; use `pods` for several"),
        ({"pod": {"kind": "Node", "name": "a"}}, 'pod: expected a pod, got kind "Node"; workloads belong in `cluster`'),
        (
            {"pod": {"name": "a", "requests": {"cpu": "lots"}}},
            'pod: spec.containers[0].resources.requests["cpu"]: expected a quantity such as 500m or 2Gi, got "lots"',
        ),
        ({"expect": None}, "expect: Required value: the expected result of each pod"),
        ({"expect": "node-1"}, 'expect: expected an object, got "node-1"'),
        (
            {"expect": {}},
            "expect: expected at least one of node, waiting, rejected, error, order, scores, filtered and annotations",
        ),
        ({"expect": {"nodes": "a"}}, 'expect.nodes: unknown field; did you mean "node"?'),
        ({"expect": {"node": 5}}, "expect.node: expected a node's name or a list of names, got 5"),
        ({"expect": {"node": []}}, "expect.node: expected a node's name or a list of names, got a list"),
        (
            {"expect": {"node": "a", "rejected": "b"}},
            "expect: expected one of node, rejected and error, got node, rejected",
        ),
        ({"expect": {"scores": {"a": "high"}}}, 'expect.scores.a: expected an integer, got "high"'),
        ({"expect": {"scores": {"a": None}}}, "expect.scores.a: expected an integer, got null"),
        ({"expect": {"filtered": {"a": 5}}}, "expect.filtered.a: expected a string, got 5"),
        ({"expect": {"order": "a"}}, 'expect.order: expected a list, got "a"'),
        ({"loadError": "x"}, "expect: not allowed together with loadError"),
    ],
)
def test_what_makes_no_sense_is_told_with_its_place(tmp_path: Path, fields: dict[str, Any], error: str) -> None:
    document = f"{tmp_path / 'tests' / 'cases.yaml'}: document 2"
    wanted = error.replace("{folder}", str(tmp_path)).replace("{document}", document)
    assert wanted in error_of(tmp_path, case(**fields)).replace("\n  ", "\n")


def test_all_problems_of_a_test_are_told_at_once(tmp_path: Path) -> None:
    told = error_of(tmp_path, case(name=5, weight="x", expect={"nod": "a", "scores": {"a": "x", "b": []}}))
    assert told.splitlines()[0] == "5 problems"


@pytest.mark.parametrize("body", ["5", "text", "- 1"])
def test_a_document_that_is_no_object_is_told(tmp_path: Path, body: str) -> None:
    assert "expected an object" in error_of(tmp_path, yaml.safe_load(body))


@pytest.mark.parametrize("content", ["", "---\n", "# nothing\n"])
def test_a_file_without_a_test_is_told(tmp_path: Path, content: str) -> None:
    path = written(tmp_path)
    path.write_text(content)
    with pytest.raises(ManifestError, match=r"cases\.yaml: no test in this file"):
        scenario_tests.read(tmp_path)


def test_a_file_that_is_not_yaml_is_told_with_its_line(tmp_path: Path) -> None:
    written(tmp_path).write_text("name: x\nexpect: {node: [}\n")
    with pytest.raises(ManifestError, match=r"cases\.yaml: document 1: line 2"):
        scenario_tests.read(tmp_path)


def test_nesting_without_end_is_told(tmp_path: Path) -> None:
    deep: Any = "x"
    for _ in range(150):
        deep = {"a": deep}
    assert error_of(tmp_path, case(config=deep)) == "nested more than 100 deep"


def test_a_broken_manifest_in_a_file_is_told_with_that_file(tmp_path: Path) -> None:
    path = written(tmp_path, {"kind": "Node", "metadata": {"name": "a", "labels": 5}}, file="cluster.yaml")
    written(tmp_path, case(cluster="cluster.yaml"))
    with pytest.raises(ManifestError) as caught:
        scenario_tests.read(tmp_path)
    assert str(caught.value).startswith(f"{path}: document 1: metadata.labels: ")
