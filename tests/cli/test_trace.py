"""`kubewasp trace`: run, generate, shapes; and one clear line for each bad input."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Kubewasp

NODES = "name,cpu,memory,zone\na,4,16Gi,x\nb,4,16Gi,y\n"
PODS = "name,arrival,duration,cpu,memory\nfirst,0,60,2,1Gi\nsecond,10,60,2,1Gi\nthird,20,60,4,1Gi\nlast,30,60,4,1Gi\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pods.csv").write_text(PODS)
    (tmp_path / "nodes.csv").write_text(NODES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_trace_runs_on_its_nodes(kubewasp: Kubewasp, folder: Path) -> None:
    done = kubewasp("trace", "run", "pods.csv", "--nodes", "nodes.csv")
    assert done.code == 0
    assert done.err == ""
    assert "4 pods in" in done.out
    assert "placed          4" in done.out
    assert "ended           4" in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_json_has_counts_shares_and_samples(kubewasp: Kubewasp, folder: Path) -> None:
    found = json.loads(kubewasp("trace", "run", "pods.csv", "--nodes", "nodes.csv", "-o", "json").out)["trace"]
    assert (found["arrived"], found["placed"], found["ended"], found["givenUp"]) == (4, 4, 4, 0)
    assert found["capacity"]["cpu"] == 8000
    assert 0 < found["meanShare"]["cpu"] < 1
    assert [sample["at"] for sample in found["samples"][:4]] == [0, 10, 20, 30]
    assert found["samples"][2]["arrivedAmounts"]["cpu"] == 8000
    assert found["longestWaitSeconds"] > 0


def test_pods_without_patience_leave(kubewasp: Kubewasp, folder: Path) -> None:
    options = ("pods.csv", "--nodes", "nodes.csv", "--patience", "0", "--stay")
    found = json.loads(kubewasp("trace", "run", *options, "-o", "json").out)["trace"]
    assert (found["placed"], found["ended"], found["givenUp"]) == (2, 0, 2)


def test_a_trace_may_be_shuffled_and_inflated_and_is_the_same_for_a_seed(kubewasp: Kubewasp, folder: Path) -> None:
    options = ("trace", "run", "pods.csv", "--nodes", "nodes.csv", "--shuffle", "--inflate", "4", "--stay")
    one, same, other = (
        json.loads(kubewasp(*options, "--patience", "0", "--seed", seed, "-o", "json").out) for seed in ("1", "1", "2")
    )
    assert one["trace"] == same["trace"] != other["trace"]
    assert 28_000 <= one["trace"]["samples"][-1]["arrivedAmounts"]["cpu"] <= 32_000


def test_nodes_may_be_manifests(kubewasp: Kubewasp, folder: Path) -> None:
    (folder / "nodes.yaml").write_text(
        "{apiVersion: v1, kind: Node, metadata: {name: n}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}}"
    )
    assert "placed          4" in kubewasp("trace", "run", "pods.csv", "nodes.yaml").out


def test_a_plugin_decides(kubewasp: Kubewasp, folder: Path) -> None:
    guest = Path(__file__).parents[2] / "examples" / "guests" / "nodenumber.wat"
    done = kubewasp("trace", "run", "pods.csv", "--nodes", "nodes.csv", "--plugin", str(guest), "-o", "json")
    assert json.loads(done.out)["timing"]["plugins_ms"]["nodenumber"] > 0


def test_bad_rows_are_skipped_with_their_number(kubewasp: Kubewasp, folder: Path) -> None:
    with (folder / "pods.csv").open("a") as file:
        file.write("bad,40,60,lots,1Gi\n")
    done = kubewasp("trace", "run", "pods.csv", "--nodes", "nodes.csv")
    assert done.code == 1
    assert done.err == 'error: pods.csv:6: column cpu: expected a quantity such as 500m or 2Gi, got "lots"\n'
    done = kubewasp("trace", "run", "pods.csv", "--nodes", "nodes.csv", "--skip-bad-rows")
    assert done.code == 0
    assert done.err.startswith("warning: 1 bad row skipped, the first: pods.csv:6: column cpu")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("pods.csv",), "pods.csv: no nodes to run on; give them as manifests, or with --nodes"),
        (("none.csv", "--nodes", "nodes.csv"), "none.csv: No such file or directory"),
        (("pods.csv", "--map", "none.yaml"), "none.yaml"),
        (("pods.csv", "--map", "openb", "--nodes", "nodes.csv"), 'nodes.csv: no column "sn" (nodes.name of the map)'),
        (("pods.csv", "--nodes", "nodes.csv", "--inflate", "2:nvidia.com/gpu"), "no node has nvidia.com/gpu"),
    ],
)
def test_bad_input_is_one_line(kubewasp: Kubewasp, folder: Path, options: tuple[str, ...], message: str) -> None:
    done = kubewasp("trace", "run", *options)
    assert done.code == 1
    assert message in done.err
    assert len(done.err.splitlines()) <= 2


@pytest.mark.parametrize("options", [("--inflate", "much"), ("--until", "later"), ("--patience", "-1s")])
def test_bad_options_are_usage_errors(kubewasp: Kubewasp, folder: Path, options: tuple[str, ...]) -> None:
    done = kubewasp("trace", "run", "pods.csv", "--nodes", "nodes.csv", *options)
    assert done.code == 2
    assert options[0] in done.err


# ---------------------------------------------------------------------- generate, shapes


def test_a_generated_trace_can_be_run(kubewasp: Kubewasp, folder: Path) -> None:
    made = kubewasp("trace", "generate", "--pods", "50", "--rate", "0.1", "--mean-duration", "1m", "--gpus")
    assert made.out.startswith("name,namespace,app,arrival,duration,cpu,memory,gpu,priority\npod-0,team-0,app-")
    (folder / "made.csv").write_text(made.out)
    found = json.loads(
        kubewasp("trace", "run", "made.csv", "--nodes", "nodes.csv", "--patience", "0", "-o", "json").out
    )
    assert found["trace"]["arrived"] == 50


@pytest.mark.parametrize(
    ("options", "code"), [(("--rate", "0"), 1), (("--mean-duration", "long"), 2), (("--pods", "-1"), 2)]
)
def test_a_workload_that_cannot_be_is_one_line(kubewasp: Kubewasp, options: tuple[str, ...], code: int) -> None:
    assert kubewasp("trace", "generate", *options).code == code


def test_shapes_are_counted(kubewasp: Kubewasp, folder: Path) -> None:
    done = kubewasp("trace", "shapes", "pods.csv", "--share", "100")
    assert "2  50.0%  cpu 2,000, memory 1,073,741,824" in done.out
    assert done.out.endswith("shapes  2 of 2, 4 of 4 pods\n")
    found = json.loads(kubewasp("trace", "shapes", "pods.csv", "--resource", "memory", "-o", "json").out)
    assert found == {"pods": 4, "shapes": 1, "typical": [{"requests": {"memory": 2**30}, "affinity": {}, "pods": 4}]}


def test_shapes_have_the_node_affinity(kubewasp: Kubewasp, folder: Path) -> None:
    (folder / "map.yaml").write_text(
        "kind: TraceMap\npods: {requests: {cpu: cpu}, nodeAffinity: {model: {column: gpus, separator: '|'}}}\n"
    )
    (folder / "gpu.csv").write_text("cpu,gpus\n1,T4|V100\n1,\n1,T4|V100\n")
    found = json.loads(kubewasp("trace", "shapes", "gpu.csv", "--map", "map.yaml", "-o", "json").out)
    assert [(shape["affinity"], shape["pods"]) for shape in found["typical"]] == [
        ({"model": ["T4", "V100"]}, 2),
        ({}, 1),
    ]
