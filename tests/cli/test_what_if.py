"""`kubewasp what-if`: output of each question, and one clear line for each bad input."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Kubewasp
from tests.guests import MISBEHAVIOURS
from tests.guests.build import ROOT
from tests.simulation.simulating import steered
from tests.wasm.steering import bit

SMALL = str(ROOT / "examples" / "clusters" / "small.yaml")
SHOP = str(ROOT / "examples" / "clusters" / "shop")
POOLS = str(ROOT / "examples" / "clusters" / "pools.yaml")
HUGE = """
apiVersion: v1
kind: Pod
metadata: {name: x}
spec: {containers: [{name: a, image: i, resources: {requests: {cpu: 99}}}]}
"""
QUESTIONS = {
    "drain": ("drain", "node-1"),
    "remove": ("remove", "--zone", "b"),
    "add": ("add", "--like", "node-1", "-n", "2", "--set", "cpu=8"),
    "scale": ("scale", "deploy/web=20"),
    "how-many": ("how-many", "deploy/web"),
    "upgrade": ("upgrade",),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_every_answer_fits_80_columns_and_is_the_same_again(question: tuple[str, ...], kubewasp: Kubewasp) -> None:
    first, second = (kubewasp("what-if", *question, "-f", SMALL) for _ in range(2))
    assert (first.code, first.err) == (0, "")
    assert max(map(len, first.out.splitlines())) <= 80
    assert first.out == second.out


def test_a_drain_says_where_pods_go(kubewasp: Kubewasp) -> None:
    ended = kubewasp("what-if", "drain", "node-1", "-f", SMALL)
    assert "moved   default/web-9bf11472-0  node-1  node-2 as web-9bf11472-4" in ended.out
    assert "evicted         2 pods in 1 round" in ended.out
    assert "pending before  1 pod, 1 still" in ended.out


def test_many_changes_are_folded_by_workload_unless_all_are_wanted(kubewasp: Kubewasp) -> None:
    question = ("what-if", "remove", "--zone", "eu-west-1a", "-f", SHOP)
    short, long = kubewasp(*question), kubewasp(*question, "--all")
    assert "default/report-*" in short.out
    assert len(short.out.splitlines()) < 60 < len(long.out.splitlines())
    found = kubewasp(*question, "-o", "json").json
    assert len(found["pods"]) == 88
    assert all(change["plugins"] for change in found["pods"] if change["change"] == "displaced")


def test_pods_that_find_no_node_name_message_and_plugins(kubewasp: Kubewasp) -> None:
    out = " ".join(kubewasp("what-if", "scale", "deploy/web=20", "-f", SMALL).out.split())
    assert "2 Insufficient cpu" in out
    assert "[NodeResourcesFit, TaintToleration]" in out


def test_pods_without_a_place_are_a_failure_if_that_is_wanted(kubewasp: Kubewasp) -> None:
    question = ("what-if", "remove", "--zone", "b", "-f", SMALL, "--fail-on", "pending")
    ended = kubewasp(*question)
    assert (ended.code, ended.err) == (4, "error: pods: 1 lost\n")
    assert kubewasp("what-if", "drain", "node-1", "-f", SMALL, "--fail-on", "pending").code == 0


def test_a_plugin_takes_part_and_its_failure_is_one(kubewasp: Kubewasp) -> None:
    breaks = steered("misbehave", what=MISBEHAVIOURS.index("unreachable"), where=bit("filter"))
    ended = kubewasp("what-if", "drain", "node-1", "-f", SMALL, "--plugin", breaks)
    assert ended.code == 3
    assert "plugins failed on" in ended.err
    assert kubewasp("what-if", "drain", "node-1", "-f", SMALL, "--plugin", breaks, "--fail-on", "never").code == 0


def test_how_many_of_a_file_with_its_priority_class(kubewasp: Kubewasp, tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    priority = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 5}"
    file.write_text(
        HUGE.replace("cpu: 99", "cpu: 1").replace("spec: {", "spec: {priorityClassName: high, ")
        + f"\n---\n{priority}\n"
    )
    found = kubewasp("what-if", "how-many", str(file), "-f", SMALL, "-o", "json").json
    assert (found["fits"], found["limiting"]) == (6, "cpu")
    file.write_text(HUGE)
    none = kubewasp("what-if", "how-many", str(file), "-f", SMALL, "--fail-on", "pending")
    assert (none.code, "fits          0 more of Pod default/x" in none.out) == (4, True)


def test_the_cheapest_nodes_for_a_shop(kubewasp: Kubewasp) -> None:
    ended = kubewasp("what-if", "smallest", "--from", POOLS, "-f", f"{SHOP}/workloads.yaml")
    assert ended.code == 0
    assert "proven  no cheaper set hosts all pods" in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80


def test_an_upgrade_lists_steps_disruptions_and_with_all_every_move(kubewasp: Kubewasp) -> None:
    question = ("what-if", "upgrade", "-f", SMALL)
    assert "1  node-1        2        0       1  upgraded" in kubewasp(*question).out
    assert "node-1  node-2" in kubewasp(*question, "--all").out
    found = kubewasp(*question, "--surge", "1", "-o", "json").json
    assert found["question"] == {"upgrade": ["node-1", "node-2", "node-3"], "surge": 1, "maxUnavailable": 0}
    assert [step["copies"] for step in found["steps"]] == [["node-1-copy-1"], ["node-2-copy-1"], ["node-3-copy-1"]]


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (("drain", "node-9"), 1, 'there is no node "node-9" in the input; did you mean'),
        (("drain",), 2, "give nodes by NODE, --zone or --label"),
        (("remove", "--zone", "q"), 1, "no node has zone q; zones of the input: a, b"),
        (("remove", "--label", "x"), 2, "expected NAME=VALUE"),
        (("add", "--like", "q"), 1, 'there is no node "q" in the input'),
        (("add", "--like", "node-1", "-n", "0"), 2, "expected 1 to 10000, got 0"),
        (("add", "--like", "node-1", "--set", "cpu=many"), 2, "cpu: expected an amount such as 16"),
        (("scale", "web=3"), 2, "expected [NAMESPACE/]KIND/NAME=COUNT"),
        (("scale", "deploy/q=3"), 1, 'there is no Deployment "default/q" in the input'),
        (("scale", "deploy/web=3", "-n", "shop"), 1, 'there is no Deployment "shop/web" in the input'),
        (("how-many", "deploy/q"), 1, 'there is no Deployment "default/q"'),
        (("how-many", "nowhere.yaml"), 1, "nowhere.yaml: cannot be read"),
        (("how-many", SMALL), 1, "expected one Pod or workload, found 3"),
        (("smallest", "--from", SMALL), 1, "expected one object of kind NodePools"),
        (("upgrade", "--max-unavailable", "0"), 2, "at least one node at a time"),
    ],
)
def test_a_bad_question_is_one_line(words: tuple[str, ...], code: int, problem: str, kubewasp: Kubewasp) -> None:
    ended = kubewasp("what-if", *words, "-f", SMALL)
    assert ended.code == code
    assert problem in " ".join(ended.err.split())
    assert "Traceback" not in ended.err


def test_standard_input_may_be_the_cluster_or_the_pod(kubewasp: Kubewasp, stdin: Callable[[str | bytes], None]) -> None:
    stdin(Path(SMALL).read_bytes())
    assert kubewasp("what-if", "drain", "node-1", "-f", "-").code == 0
    stdin(HUGE)
    assert kubewasp("what-if", "how-many", "-", "-f", SMALL).code == 0
