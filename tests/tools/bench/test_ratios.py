import dataclasses

import pytest

from tests.tools.bench import example
from tools.bench import contenders, labels
from tools.bench.model import Measurement, Result, Skipped
from tools.bench.policies.policy_list import SOURCES
from tools.bench.ratios import Ratio, ratios, why_missing


def plugin(form: str, *values: float, policy: str = "nodenumber", nodes: int = 5_000) -> Measurement:
    return Measurement("plugin", {"policy": policy, "form": form, "nodes": nodes}, "unchanged_cycle", "µs", values)


def scheduler(
    scheduler: str, plugins: str, metric: str, *values: float, where: str = "real", **case: str
) -> Measurement:
    case = {"where": where, "workload": "basic", "scheduler": scheduler, "plugins": plugins} | case
    better = "higher" if metric == "rate" else "lower"
    return Measurement("scheduler", {**case, "nodes": 500}, metric, "pods/s", values, better)


def named(result: Result, *parts: str) -> Ratio:
    [found] = [ratio for ratio in ratios(result) if all(part in ratio.name for part in parts)]
    return found


def test_repetitions_are_compared_with_those_beside_them() -> None:
    found = named(Result(measurements=[plugin("wat", 1, 2, 4), plugin("callbacks", 100, 400, 1_200)]), "callbacks")
    assert found.values == (100, 200, 300)
    assert found.range is not None
    assert (found.range.median, found.range.low, found.range.high) == (200, 100, 300)
    assert found.reached is None  # it has no bar


@pytest.mark.parametrize(("slower", "reached"), [(199.0, False), (200.0, True)])
def test_a_go_guest_has_a_bar_against_the_go_host(slower: float, reached: bool) -> None:
    found = named(
        Result(measurements=[plugin("go", 1), plugin("go-extension", slower)]), "a Go guest", "wasm-extension"
    )
    assert (found.bar, found.aim, found.reached) == (200, 500, reached)


@pytest.mark.parametrize("peer", ["go-extension", "wazero"])
def test_the_same_guest_file_has_to_be_twice_as_fast_here(peer: str) -> None:
    name = {"go-extension": "kube-scheduler-wasm-extension", "wazero": "stand-in"}[peer]
    found = named(Result(measurements=[plugin(f"{peer}-guest-here", 10), plugin(peer, 19)]), "same guest file", name)
    assert (found.bar, found.reached) == (2, False)
    assert found.group == ("peer" if peer == "go-extension" else "stand-in")


def test_the_stand_in_has_no_bar_but_that_of_the_same_guest_file() -> None:
    bars = [ratio.bar for ratio in ratios(example.result()) if ratio.group == "stand-in"]
    assert bars == [None, 2.0, 2.0]


def test_other_policies_and_sizes_do_not_count() -> None:
    other = Result(measurements=[plugin("go", 1, nodes=100), plugin("in-process", 9, policy="label-cpu")])
    assert named(other, "Python in process").values == ()


@pytest.mark.parametrize(("rate", "reached"), [(91.0, True), (90.0, False)])
def test_what_a_plugin_adds_is_time_also_where_a_rate_was_measured(rate: float, reached: bool) -> None:
    result = Result(
        measurements=[scheduler("kubewasp", "none", "rate", 100), scheduler("kubewasp", "wasm-1", "rate", rate)]
    )
    found = named(result, "(signs all pods at once): time per pod", "real", "500")
    assert found.values == (pytest.approx(100 / rate - 1),)
    assert (found.bar, found.reached) == (0.10, reached)


def test_the_bar_of_one_plugin_binds_where_it_signs_pods() -> None:
    overheads = [ratio for ratio in ratios(example.result()) if ratio.group == "overhead"]
    assert {
        (ratio.name.partition(":")[0], "real API" in ratio.name, ratio.bar)
        for ratio in overheads
        if ratio.bar is not None and ratio.binding
    } == {
        ("1 wasm plugin (signs all pods at once)", True, 0.10),
        ("1 wasm plugin (signs all pods at once)", False, 0.10),
        ("1 wasm plugin (signs each pod)", True, 0.10),
    }
    assert {ratio.name.partition(":")[0] for ratio in overheads if ratio.bar is None} == {
        "2 wasm plugins (both sign)",
        "5 wasm plugins (2 sign)",
    }


def test_names_tell_truly_which_plugins_sign_pods() -> None:
    for plugins in labels.WASM_PLUGINS:
        policies = list(contenders.WASM[plugins].values())
        sources = [(SOURCES / f"{policy}-go" / "main.go").read_text() for policy in policies]
        at_once, each = (sum(word in source for source in sources) for word in ("SignAllPods()", ") SignPod("))
        told = {
            "1 wasm plugin (signs all pods at once)": (1, 1, 0),
            "1 wasm plugin (signs each pod)": (1, 0, 1),
            "1 wasm plugin (does not sign)": (1, 0, 0),
            "2 wasm plugins (both sign)": (2, 1, 1),
            "5 wasm plugins (2 sign)": (5, 1, 1),
        }
        assert told[labels.PLUGINS[plugins]] == (len(policies), at_once, each)


def test_a_rate_as_high_as_that_of_kube_scheduler_reaches_the_bar() -> None:
    result = Result(
        measurements=[scheduler("kubewasp", "wasm-1", "rate", 50), scheduler("kube-scheduler", "none", "rate", 50)]
    )
    found = named(result, "(signs all pods at once), basic, 500 nodes", "without a plugin")
    assert (found.values, found.bar, found.reached, found.binding) == ((1.0,), 1.0, True, True)


def test_the_bar_is_only_shown_for_workloads_other_than_basic() -> None:
    sides = [ratio for ratio in ratios(example.result()) if ratio.group == "peer scheduler" and ratio.bar]
    assert {ratio.name.split(", ")[1] for ratio in sides if ratio.binding} == {"basic"}
    missed = [ratio.name for ratio in sides if ratio.reached is False]
    assert missed
    assert all("pod-anti-affinity" in name or "does not sign" in name for name in missed)


def test_what_was_skipped_says_why_it_is_missing() -> None:
    result = example.result(peers=False)
    assert named(result, "a Go guest", "wasm-extension").missing == "its modules\ncannot be had | here"
    assert named(result, "same guest file", "stand-in").missing == "there is no Go"


def test_a_word_is_not_found_in_a_longer_one() -> None:
    result = Result(skipped=[Skipped("plugin", "form go-extension", "no module")], measurements=[plugin("wat", 1)])
    assert why_missing(result, "plugin", "go") == "not in this result"
    assert why_missing(result, "plugin", "go", "go-extension") == "no module"


def test_an_empty_result_has_all_ratios_and_no_values() -> None:
    found = ratios(Result())
    assert {ratio.group for ratio in found} == {"peer", "stand-in", "way", "overhead", "peer scheduler"}
    assert all(ratio.missing and not ratio.values and ratio.reached is None for ratio in found)


def test_a_time_of_zero_is_not_divided_by() -> None:
    broken = dataclasses.replace(plugin("wat", 0, 0))
    found = named(Result(measurements=[broken, plugin("callbacks", 5, 5)]), "callbacks")
    assert found.range is None
    assert found.missing
