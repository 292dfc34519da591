"""`kubewasp compare`: output, the page, exit codes, and one clear line for each wrong use."""

from pathlib import Path

import pytest

from tests.cli.conftest import Kubewasp
from tests.guests.build import ROOT
from tests.simulation.simulating import steered

SMALL = ROOT / "examples" / "clusters" / "small.yaml"
PODS, NODES = ROOT / "examples" / "traces" / "pods.csv", ROOT / "examples" / "traces" / "nodes.csv"
TRACE = (PODS, "--nodes", NODES)
UNFIT = "unfit=default,NodeResourcesFit=0,NodeResourcesBalancedAllocation=0"
TRAP, IN_FILTER = 1, 0x10


def test_measures_and_moved_pods_are_shown_with_the_plugin_that_moved_them(kubewasp: Kubewasp) -> None:
    done = kubewasp("compare", "default", UNFIT, *TRACE)
    assert (done.code, done.err) == (0, "")
    assert "A  default (baseline)" in done.out
    assert "pods moved" in done.out
    assert "(first)" in done.out
    assert "NodeResourcesFit" in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_intervals_mark_what_is_not_significant(kubewasp: Kubewasp) -> None:
    done = kubewasp("compare", "default", UNFIT, *TRACE, "--shuffle", "--seeds", "2")
    assert "±" in done.out
    assert "(…) not significant" in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_seeds_without_an_effect_say_so(kubewasp: Kubewasp) -> None:
    done = kubewasp("compare", "default", "same=default", SMALL, "--seeds", "2")
    assert "they change nothing" in done.out
    assert "B: all pods as with the baseline" in done.out


def test_many_candidates_fit_the_screen(kubewasp: Kubewasp) -> None:
    others = [f"default,NodeResourcesFit={weight}" for weight in range(2, 9)]
    done = kubewasp("compare", "default", *others, SMALL)
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80
    assert "H  default,NodeResourcesFit=8" in done.out


def test_json_has_measures_changes_and_pods(kubewasp: Kubewasp) -> None:
    found = kubewasp("compare", "default", UNFIT, *TRACE, "-o", "json").json
    assert (found["baseline"], found["seeds"]) == ("default", [0])
    other = found["candidates"][1]
    assert other["name"] == "unfit"
    assert other["measures"]["pods.placed"]["values"] == [120]
    assert other["changes"]["pods.placed"] == {"mean": 0, "low": None, "high": None, "significant": None}
    assert other["pods"][0]["first"] is True
    assert other["pods"][0]["cause"]["plugin"] == "NodeResourcesFit"


def test_a_page_is_written(kubewasp: Kubewasp, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    assert kubewasp("compare", "default", UNFIT, SMALL, "--html", file).code == 0
    assert file.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    nowhere = kubewasp("compare", "default", UNFIT, SMALL, "--html", tmp_path / "no" / "page.html")
    assert "is no folder" in nowhere.usage_error


def test_prices_of_a_file_or_a_label_are_costs(kubewasp: Kubewasp, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(
        "kind: NodePrices\nlabel: topology.kubernetes.io/zone\nprices: {zone-0: 1, zone-1: 2, zone-2: 3}\n"
    )
    found = kubewasp("compare", "default", UNFIT, *TRACE, "--prices", prices, "-o", "json").json
    assert found["candidates"][0]["measures"]["cost.total"]["mean"] > 0
    labelled = kubewasp("compare", "default", UNFIT, *TRACE, "--price-label", "price")
    assert "6 nodes such as node-1 without a price for price" in labelled.err
    both = kubewasp("compare", "default", UNFIT, SMALL, "--prices", prices, "--price-label", "x")
    assert "not allowed together" in both.usage_error


def test_a_guest_that_fails_is_a_warning_and_a_failure_if_wanted(kubewasp: Kubewasp) -> None:
    guest = steered("misbehave", what=TRAP, where=IN_FILTER)
    done = kubewasp("compare", "default", f"bad={guest}", SMALL)
    assert done.code == 0
    assert "warning: bad: plugins failed on 5 pods" in done.err
    assert "error" in done.out
    assert kubewasp("compare", "default", f"bad={guest}", SMALL, "--fail-on", "error").code == 3


def test_exit_codes_for_pipelines(kubewasp: Kubewasp) -> None:
    refusing = f"none={steered('filter', status_code=2)}"
    assert kubewasp("compare", "default", refusing, SMALL, "--fail-on", "error").code == 0
    done = kubewasp("compare", "default", refusing, SMALL, "--fail-on", "pending")
    assert done.code == 4
    assert "none: 5 more pods without a node than default" in done.err
    assert kubewasp("compare", "default", UNFIT, *TRACE, "--fail-on", "pending").code == 0
    moved = kubewasp("compare", "default", UNFIT, *TRACE, "--fail-on", "moved")
    assert moved.code == 5
    assert "on other nodes than with default" in moved.err
    assert kubewasp("compare", "default", "same=default", SMALL, "--fail-on", "moved").code == 0


def test_a_candidate_that_cannot_run_is_left_out(kubewasp: Kubewasp, tmp_path: Path) -> None:
    broken = tmp_path / "broken.wasm"
    broken.write_bytes(b"\0asm")
    done = kubewasp("compare", "default", broken, "same=default", SMALL)
    assert done.code == 0
    assert "warning: broken.wasm: left out: " in done.err
    assert "B  broken.wasm (failed)" in done.out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("default", SMALL), "expected two candidates or more"),
        (("default", "default", SMALL), "two candidates are named 'default'"),
        (("default", UNFIT, SMALL, "--shuffle"), "the options of traces are for INPUT that ends with .csv"),
        (("default", UNFIT, *TRACE, "--scenario", "x.yaml"), "not for a trace"),
        (("default", UNFIT, SMALL, "--seeds", "0"), "expected 1 to 10000, got 0"),
    ],
)
def test_wrong_use_is_one_line(kubewasp: Kubewasp, arguments: tuple[object, ...], problem: str) -> None:
    assert problem in kubewasp("compare", *arguments).usage_error


def test_a_scenario_is_compared_over_time(kubewasp: Kubewasp, tmp_path: Path) -> None:
    steps = tmp_path / "steps.yaml"
    steps.write_text("kind: Scenario\nsteps:\n- {at: 1h, delete: {kind: Pod, namespace: default, name: trainer}}\n")
    done = kubewasp("compare", "default", "same=default", SMALL, "--scenario", steps, "--processes", "2", "-o", "json")
    assert done.code == 0, done.err
    assert done.json["candidates"][0]["measures"]["nodes.mean"]["mean"] > 0
