"""Hints of guests: beside the reason, bounded, in the explanation."""

import pytest

from kubewasp.framework.status import Code
from kubewasp.state.node_objects import Nodes
from kubewasp.wasm.component import answers
from kubewasp.wasm.core.adapter_layout import HINT_LIMIT
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_runner import no_outcome
from kubewasp.wasm.hooks import HOOKS
from kubewasp.wasm.limits import Limits
from tests.explain.explaining import explained, of
from tests.guests.build import wat_text
from tests.simulation.simulating import config, node, pod, profile, wasm

# The row decides: 0 passes, but gives a hint; 1 has a reason; 2 and 3 have a reason and a hint; 4 a hint alone.
GUEST = wat_text("""
    (module
      (import "k8s.io/scheduler" "result.status_reason" (func $reason (param i32 i32)))
      (import "kubewasp/v1" "result.hint" (func $hint (param i32 i32)))
      (import "kubewasp/v1" "current_node" (func $row (result i32)))
      (memory (export "memory") 1)
      (data (i32.const 0) "full")
      (data (i32.const 16) "label disk=ssd")
      (func (export "filter") (result i32)
        (if (i32.ne (call $row) (i32.const 1)) (then (call $hint (i32.const 16) (i32.const 14))))
        (if (i32.eqz (call $row)) (then (return (i32.const 0))))
        (if (i32.ne (call $row) (i32.const 4)) (then (call $reason (i32.const 0) (i32.const 4))))
        (i32.const 2))
      (func (export "prefilter") (result i32)
        (call $hint (i32.const 16) (i32.const 60000))
        (call $reason (i32.const 0) (i32.const 4))
        (i32.const 3)))
    """)


def nodes(count: int) -> Nodes:
    return Nodes({"metadata": {"name": f"node-{number}"}} for number in range(count))


def test_a_hint_belongs_to_the_status_of_its_node() -> None:
    with Guest.load(str(GUEST)).cycle({"metadata": {"name": "web"}}, nodes(5)) as cycle:
        found = cycle.filter([f"node-{number}" for number in range(5)])
    statuses = [found.status(place) for place in range(5)]
    assert [status.hint for status in statuses] == ["", "", *["label disk=ssd"] * 3]
    assert [status.reason for status in statuses] == ["", "full", "full", "full", ""]
    assert found.reasons == ("full", "full", "")  # each pair of reason and hint once


def test_a_long_hint_is_cut() -> None:
    with Guest.load(str(GUEST)).cycle({"metadata": {"name": "web"}}, nodes(1)) as cycle:
        status = cycle.prefilter().status
    assert (status.code, status.reason) == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "full")
    assert len(status.hint) == HINT_LIMIT
    assert status.hint.startswith("label disk=ssd")


def test_the_hint_of_a_guest_is_shown_in_the_explanation() -> None:
    text = """
        (module
          (import "kubewasp/v1" "result.hint" (func $hint (param i32 i32)))
          (memory (export "memory") 1)
          (data (i32.const 0) "label disk=ssd")
          (func (export "filter") (result i32) (call $hint (i32.const 0) (i32.const 14)) (i32.const 2)))
        """
    found = explained("web", node("a"), pod("web"), config=config(profile(wasm("policy", wat_text(text)))))
    assert of(found, "a").hints == ["label disk=ssd"]


# ---------------------------------------------------------------------- components


def test_a_component_may_add_a_hint_to_each_status() -> None:
    outcome = no_outcome()
    answer = {"verdicts": [0, 1, 2, 3], "statuses": [[0, ""], [2, "full"], [2, "full", "label a"], [2, "", "label b"]]}
    assert answers.take_rows(HOOKS["filter"], answer, outcome, Limits(), asked=4) == 4
    assert outcome.reasons == ["full", "full", ""]
    assert outcome.hints == {2: "label a", 3: "label b"}
    assert outcome.reason_numbers.tolist() == [0, 1, 2, 3]


def test_a_component_may_add_a_hint_to_the_status_of_a_pod() -> None:
    outcome = no_outcome()
    answers.take_one(HOOKS["prefilter"], {"status": [3, "full", "x" * 5000]}, outcome, Limits())
    assert (outcome.reasons, outcome.hints) == (["full"], {1: "x" * 1024})


@pytest.mark.parametrize("status", [[2, "full", 5], [2, "full", None], [2, "full", "a", "b"], [2]])
def test_invalid_hints_of_a_component_are_refused(status: list[object]) -> None:
    with pytest.raises(answers.AnswerError, match="status"):
        answers.take_one(HOOKS["prefilter"], {"status": status}, no_outcome(), Limits())
