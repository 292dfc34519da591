"""Unknown fields in manifests: a warning of every command that reads manifests, an error with `--strict`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Kubewasp
from tests.guests.build import wat

Write = Callable[[str, str], Path]

NODE = "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, pods: 9}}}"
POD = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {nodeSelecter: {a: b}}}"
MISTAKE = 'Pod default/web: spec.nodeSelecter: unknown field; did you mean "nodeSelector"?'


@pytest.mark.parametrize("command", [("simulate",), ("explain", "web")], ids=["simulate", "explain"])
def test_a_mistake_is_a_warning_and_with_strict_an_error(
    kubewasp: Kubewasp, write: Write, command: tuple[str, ...]
) -> None:
    path = write("pods.yaml", f"{NODE}\n---\n{POD}\n")
    ended = kubewasp(*command, path)
    assert (ended.code, ended.err) == (0, f"warning: {path}: {MISTAKE}\n")
    assert "nodeSelecter" not in ended.out
    as_json = kubewasp(*command, path, "-o", "json")
    assert (as_json.err, as_json.json["warnings"]) == (ended.err, [f"{path}: {MISTAKE}"])
    strict = kubewasp(*command, path, "--strict")
    assert (strict.code, strict.out, strict.err) == (1, "", f"error: {path}: {MISTAKE}\n")


def test_objects_of_a_timeline_are_examined(kubewasp: Kubewasp, write: Write) -> None:
    cluster = write("cluster.yaml", NODE)
    write("pods.yaml", POD)
    timeline = write("timeline.yaml", "{kind: Scenario, steps: [{at: 1m, apply: pods.yaml}]}")
    pods = timeline.with_name("pods.yaml")
    assert kubewasp("simulate", cluster, "--scenario", timeline).err == f"warning: {pods}: {MISTAKE}\n"
    assert kubewasp("simulate", cluster, "--scenario", timeline, "--strict").err == f"error: {pods}: {MISTAKE}\n"


def test_warnings_precede_an_error_that_they_may_explain(kubewasp: Kubewasp, write: Write) -> None:
    path = write("pods.yaml", POD.replace("kind: Pod", "kind: Pdo"))
    ended = kubewasp("explain", "web", path)
    assert ended.code == 1
    assert ended.err.splitlines() == [
        f'warning: {path}: document 1: kind: unknown kind "Pdo", ignored; did you mean "Pod"?',
        f"error: there is no pod default/web in {path}",
    ]


@pytest.mark.parametrize("option", ["--pod", "--target-pod"])
def test_manifests_of_plugin_call_are_examined(kubewasp: Kubewasp, write: Write, option: str) -> None:
    path = write("pod.yaml", POD)
    ended = kubewasp("plugin", "call", wat("filter"), "filter", option, path)
    assert (ended.code, ended.err) == (0, f"warning: {path}: {MISTAKE}\n")
    strict = kubewasp("plugin", "call", wat("filter"), "filter", option, path, "--strict")
    assert (strict.code, strict.out, strict.err) == (1, "", f"error: {path}: {MISTAKE}\n")


def test_nodes_of_plugin_call_are_examined(kubewasp: Kubewasp, write: Write) -> None:
    path = write("nodes.yaml", NODE.replace("allocatable", "allocateable"))
    ended = kubewasp("plugin", "call", wat("filter"), "filter", "--node", path)
    text = f'{path}: Node n1: status.allocateable: unknown field; did you mean "allocatable"?'
    assert (ended.code, ended.err) == (0, f"warning: {text}\n")
