"""Plugin layer: measurements, steps, and missing forms."""

from typing import Any

import pytest

from kubewasp.projects import go
from kubewasp.projects.toolchain import BuildError
from tools.bench import plugin_layer, tasks, time_breakdown
from tools.bench.forms.catalogue import COMPONENTS, GUESTS
from tools.bench.forms.guest import Wat
from tools.bench.guests import TINYGO, Unavailable, guest
from tools.bench.model import Measurement, Skipped
from tools.bench.plugin_layer import Plan, UnknownFormError
from tools.bench.policies.clusters import Cluster
from tools.bench.policies.policy_list import POLICIES
from tools.bench.worker import Worker


def plan(*forms: str, nodes: int = 40) -> Plan:
    return Plan.of(quick=True, forms=forms, nodes=[nodes])


def run(chosen: Plan) -> tuple[list[Measurement], list[Skipped], list[str]]:
    told: list[str] = []
    found = list(plugin_layer.measure(told.append, chosen))
    return (
        [item for item in found if isinstance(item, Measurement)],
        [item for item in found if isinstance(item, Skipped)],
        told,
    )


def test_forms_are_measured_by_turns_and_each_step_is_told() -> None:
    chosen = plan("builtin", "wat", "callbacks")
    measured, skipped, told = run(chosen)
    assert not skipped
    assert len(told) == plugin_layer.steps(chosen)
    cycles = [text for text in told if text.startswith("cycles of nodenumber")]
    assert cycles == [f"cycles of nodenumber, {form}, 40 nodes" for form in ("builtin", "wat", "callbacks")] * 2
    found = {(one.case["form"], one.metric) for one in measured if one.case["policy"] == "label-cpu"}
    every = {"first_cycle", "unchanged_cycle", "changed_cycle", "host_memory"}
    assert {metric for form, metric in found if form == "builtin"} == {*every, "load"}
    assert {metric for form, metric in found if form == "callbacks"} == {*every, "load_cold", "load_cached"}
    parts = {f"where_{part}" for part in time_breakdown.PARTS}
    guests = {*every, "load_cold", "load_cached", "guest_memory", "fuel", *parts}
    assert {metric for form, metric in found if form == "wat"} == guests
    assert all(one.exact == (one.metric == "fuel") for one in measured)
    assert all(len(one.values) == 2 for one in measured if one.metric.endswith("_cycle"))


def test_a_form_that_cannot_be_measured_is_skipped_once_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise BuildError("there is no Go here")

    monkeypatch.setattr(go, "find", missing)
    chosen = plan("go", "in-process")
    measured, skipped, told = run(chosen)
    assert skipped == [Skipped("plugin", f"go, {policy}", "there is no Go here") for policy in POLICIES]
    assert {one.case["form"] for one in measured} == {"in-process"}
    assert len(told) == plugin_layer.steps(chosen)


def test_a_full_plan_has_all_sizes_and_more_turns_for_quick_forms() -> None:
    full = Plan.of(quick=False, forms=(), nodes=())
    assert full.nodes == plugin_layer.SIZES
    first = [task.form for task in full.groups[0]]
    assert first.count("go") == 5
    assert first.count("extender-full") == 3
    compiled = [task for group in full.groups for task in group if task.name == "compiling" and task.form in COMPONENTS]
    assert {(task.form, task.policy, task.nodes) for task in compiled} == {
        (form, "nodenumber", plugin_layer.HEADLINE) for form in ("python", "javascript")
    }


def test_peers_are_somebody_elses_and_unknown_forms_an_error() -> None:
    assert not plan("wazero").groups
    with pytest.raises(UnknownFormError, match="there is no form cobol; there are builtin, in-process, go"):
        plan("cobol")


def test_a_task_that_fails_ends_neither_the_worker_nor_the_others() -> None:
    with Worker() as worker:
        with pytest.raises(Unavailable, match="KeyError: 'cobol'"):
            worker.ask("cycles", "nodenumber", "cobol", 5)
        assert worker.ask("cycles", "nodenumber", "builtin", 5)["first_cycle"] > 0


@pytest.mark.parametrize("language", [name for name in GUESTS if name != TINYGO])
def test_the_parts_of_a_cycle_are_its_whole(language: str) -> None:
    # One component of a language is built for all of these tests.
    policy = "nodenumber" if language in COMPONENTS else "filter-reasons"
    found = time_breakdown.measure(language, policy, Cluster(300))
    assert set(found) == {"first", "unchanged"}
    for parts in found.values():
        assert tuple(parts) == time_breakdown.PARTS
        assert sum(parts.values()) > 0
        assert min(parts[part] for part in ("crossing", "guest", "collecting")) > 0
    # The guest learns of the nodes in the first cycle; nothing of that is left later.
    assert found["first"]["copying"] > found["unchanged"]["copying"]
    assert found["first"]["decoding"] > found["unchanged"]["decoding"]


def test_timers_are_gone_after_a_measurement() -> None:
    before = {(point.owner, point.name): vars(point.owner)[point.name] for point in time_breakdown.POINTS}
    time_breakdown.measure("wat", "label-cpu", Cluster(5))
    assert {key: vars(key[0])[key[1]] for key in before} == before


@pytest.mark.parametrize("language", ["go", "wat"])
def test_fuel_is_a_count(language: str) -> None:
    cluster = Cluster(300)
    found = tasks.fuel("nodenumber", language, cluster)
    assert found["first"] > found["unchanged"] > 0
    assert tasks.fuel("nodenumber", language, cluster) == found


def test_what_goes_to_a_guest_is_counted() -> None:
    form = Wat("label-cpu", Cluster(50), fueled=True)
    form.prepare()
    form.load()
    _, first = form.counted(0)
    _, second = form.counted(1)
    assert first.bytes_copied > sum(len(node.encoded) for node in form.cluster.nodes)
    assert second.bytes_copied == len(form.pods[1].encoded)  # nothing but the pod
    assert (second.calls_in, second.calls_out) == (2, 0)  # score for one node, then for all others
    assert second.fuel > 50


def test_an_engine_that_counts_is_not_the_schedulers() -> None:
    form = Wat("nodenumber", Cluster(5))
    form.load()
    assert form.counted(0)[1].fuel == 0


def test_a_guest_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    path = guest("nodenumber", "wat")

    def refuse(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr("tools.bench.guests.wat2wasm", refuse)
    assert guest("nodenumber", "wat") == path
