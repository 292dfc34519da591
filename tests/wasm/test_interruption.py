"""Load checks beside epochs: the same answers and errors, and hostile guests that both of them end."""

import re
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import pytest

from kubewasp.framework.status import Status
from kubewasp.state.node_objects import Nodes
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm import guard_timers
from kubewasp.wasm.core.core_module import CoreModule
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_cycle import GuestCycle
from kubewasp.wasm.hooks import HOOKS as HOOKS_BY_NAME
from kubewasp.wasm.limits import KIB, MIB, Interruption, LimitError, Limits, limits_problem
from tests import samples
from tests.guests import GETTERS, HOOKS, IMPORTS, MISBEHAVIOURS
from tests.guests.build import c_guest, go_guest, wat, wat_text
from tests.wasm.calls import STATUS_OF
from tests.wasm.steering import misbehave, steer
from tests.wasm.test_misbehaviour import FAILURES, TOO_LONG

pytestmark = pytest.mark.skipif(not guard_timers.are_there(), reason="this system has no timers for load checks")

INTERRUPTIONS: tuple[Interruption, ...] = get_args(Interruption)
PREFILTER = HOOKS_BY_NAME["prefilter"]
LIMITS = Limits(call_timeout=0.1, start_timeout=0.1, memory=8 * MIB)
_TRACE_PLACE = re.compile(r" @ 0x[0-9a-f]+")
_DROPPED = re.compile(r"\(\d+ more bytes\)")


def load(source: object, kind: Interruption, limits: Limits = LIMITS, **options: Any) -> Guest:
    guest = Guest.load(source, name="guest", limits=replace(limits, interruption=kind), **options)  # type: ignore[arg-type]
    assert isinstance(guest.module, CoreModule)
    assert guest.module.engine.load_checks == (kind == "load")
    return guest


def answers(guest: Guest, hook: str, steered: Callable[[GuestCycle], object], nodes: Any) -> list[object]:
    """Answer and log of a hook, or its error."""
    with guest.cycle(samples.pod(), nodes) as cycle:
        steered(cycle)
        status = STATUS_OF[hook](cycle) if hook in guest.hooks else None
        failure = cycle.hooks.failure
        if status is not None and "`unreachable`" in status.reason:
            status = Status(status.code, without_place(status.reason))
        lines = [line.text for line in guest.start_logs]
        return [status, None if failure is None else (failure.kind, failure.cause), lines]


def without_place(text: str) -> str:
    """With epochs, the runtime places an `unreachable` at the beginning of a function a byte before."""
    return _TRACE_PLACE.sub("", text, count=1)


def same(guests: dict[str, Guest], hook: str, steered: Callable[[GuestCycle], object], nodes: Any) -> list[object]:
    with_epochs, with_loads = (answers(guests[kind], hook, steered, nodes) for kind in ("epoch", "load"))
    assert with_loads == with_epochs
    return with_loads


# ---------------------------------------------------------------- the same answers

_GUESTS = (
    "all_hooks",
    "echo",
    "imports",
    "extension",
    "states",
    "queue",
    "gang",
    "events",
    "log",
    "start_counts",
    "start_initialize",
    "start_section",
    "start_exit0",
    "waiting",
    "pod_node_name",
)


@pytest.mark.parametrize("name", _GUESTS)
def test_every_guest_answers_the_same(name: str) -> None:
    guests = {kind: load(wat(name), kind, replace(LIMITS, call_timeout=10), config="text") for kind in INTERRUPTIONS}
    nodes = NodeTable.of(samples.nodes(3))
    assert guests["load"].hooks == guests["epoch"].hooks
    for hook in HOOKS:
        same(guests, hook, lambda _: None, nodes)
    for which in range(len(IMPORTS) if name == "imports" else len(GETTERS) if name == "echo" else 0):
        for hook in guests["load"].hooks:
            same(guests, hook, lambda cycle, which=which: steer(cycle, which=which), nodes)


@pytest.mark.parametrize("hook", HOOKS)
def test_every_misbehaviour_is_the_same_error(hook: str, nodes: Nodes) -> None:
    """Cause, kind, functions and places of the stack trace; not so where a time limit has met the guest."""
    guests = {kind: load(wat("misbehave"), kind) for kind in INTERRUPTIONS}
    for what in MISBEHAVIOURS:
        if FAILURES.get(what) != TOO_LONG:
            same(guests, hook, lambda cycle, what=what: misbehave(cycle, what, hook), nodes)


@pytest.mark.parametrize("what", [what for what, text in FAILURES.items() if text == TOO_LONG])
def test_a_time_limit_names_the_same_function_and_node(what: str, nodes: Nodes) -> None:
    reasons = []
    for kind in INTERRUPTIONS:
        with load(wat("misbehave"), kind).cycle(samples.pod(), nodes) as cycle:
            misbehave(cycle, what, "filter")
            reason = _TRACE_PLACE.sub("", cycle.filter().reason(0))
        reasons.append(_DROPPED.sub("", reason))
        assert f"{TOO_LONG} on node node-1, in " in reason
        assert "limits.callTimeout" in reason
        assert "wasm stack trace:" in reason
    assert reasons[0] == reasons[1]


@pytest.mark.parametrize("build", [lambda: go_guest("nodenumber"), lambda: c_guest("labels")])
def test_guests_of_compilers_answer_the_same(build: Callable[[], object]) -> None:
    source = build()
    limits = replace(LIMITS, call_timeout=10, start_timeout=10, memory=64 * MIB)
    guests = {kind: load(source, kind, limits) for kind in INTERRUPTIONS}
    for hook in HOOKS:
        same(guests, hook, lambda _: None, NodeTable.of(samples.nodes(50)))


def test_a_panic_has_the_same_stack_trace() -> None:
    reasons = set()
    for kind in INTERRUPTIONS:
        limits = replace(LIMITS, call_timeout=10, start_timeout=10, memory=64 * MIB)
        with load(go_guest("nodenumber"), kind, limits).cycle(samples.pod(), [samples.node("panic")]) as cycle:
            reasons.add(cycle.filter().reason(0))
    (reason,) = reasons
    assert "wasm stack trace:" in reason


@pytest.mark.parametrize("name", ["start_trap", "start_exit1", "start_loop", "multi_memory", "shared_memory", "uses_gc",
                                  "no_memory", "huge_memory", "no_hook", "bad_signature", "unknown_import",
                                  "wrong_import_type", "enqueue_trap"])  # fmt: skip
def test_a_guest_that_cannot_be_loaded_is_the_same_error(name: str) -> None:
    texts = set()
    for kind in INTERRUPTIONS:
        with pytest.raises(GuestLoadError) as caught:
            load(wat(name), kind)
        texts.add(without_place(str(caught.value)))
    assert len(texts) == 1


# ---------------------------------------------------------------- memory limits


@pytest.mark.parametrize("pages", [0, 1])
def test_the_guard_is_not_memory_of_the_guest(pages: int) -> None:
    text = f"""(module (memory (export "memory") {pages})
      (func (export "filter") (result i32) (memory.grow (i32.const 1))))"""
    outcomes = []
    for kind in INTERRUPTIONS:
        guest = load(wat_text(text), kind, replace(LIMITS, memory=64 * KIB))
        with guest.cycle(samples.pod(), samples.nodes(1)) as cycle:
            outcomes.append((cycle.filter().codes.tolist(), cycle.runner.memory_bytes))
    assert outcomes[0] == outcomes[1] == ([-1 if pages else 0], 64 * KIB)


# ---------------------------------------------------------------- hostile guests

_FILTER = '(func (export "filter") (result i32) {body} (i32.const 0))'
_DOUBLING = " ".join(f"(func $f{n} (call $f{n + 1}) (call $f{n + 1}))" for n in range(64))
HOSTILE = {
    "an empty loop": _FILTER.format(body="(loop (br 0))"),
    "a loop with a parameter": _FILTER.format(body="(i32.const 1) (loop (param i32) (br 0 (i32.const 1)))"),
    "a jump table": _FILTER.format(body="(loop $l (block $b (br_table $l $l $l (i32.const 5))))"),
    "a loop that only reads": _FILTER.format(body="(loop (drop (i32.load (i32.const 0))) (br 0))"),
    "a loop of atomics' neighbours": _FILTER.format(
        body="(loop (i32.store (i32.const 0) (i32.load (i32.const 4))) (br 0))"
    ),
    "tail calls": "(func $f (return_call $g)) (func $g (return_call $f)) " + _FILTER.format(body="(call $f)"),
    "tail calls through a table": "(type $t (func)) (table 1 funcref) (elem (i32.const 0) func $f)"
    " (func $f (return_call_indirect (type $t) (i32.const 0))) " + _FILTER.format(body="(call $f)"),
    "calls that double": f"{_DOUBLING} (func $f64) " + _FILTER.format(body="(call $f0)"),
    "calls that double through tables": "(type $t (func)) (table 65 funcref) (elem (i32.const 0) func "
    + " ".join(f"$f{n}" for n in range(65))
    + ") "
    + " ".join(f"(func $f{n} {f'(call_indirect (type $t) (i32.const {n + 1}))' * 2})" for n in range(64))
    + " (func $f64) "
    + _FILTER.format(body="(call $f0)"),
    "a thousand fills in a row": _FILTER.format(
        body="(memory.fill (i32.const 0) (i32.const 1) (i32.const 4194304)) " * 20_000
    ),
    "loops within vectors": _FILTER.format(
        body="(loop (v128.store (i32.const 0) (i8x16.swizzle (v128.load (i32.const 0)) (v128.const i64x2 1 2))) (br 0))"
    ),
    "a getter for ever": _FILTER.format(body="(loop (drop (call $n (i32.const 0) (i32.const 65536))) (br 0))"),
}

IMPORTED = {"a getter for ever": '(import "k8s.io/api" "nodeList" (func $n (param i32 i32) (result i32)))'}


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        (what, kind)
        for what in HOSTILE
        for kind in INTERRUPTIONS
        if (what, kind) != ("a thousand fills in a row", "epoch")  # no loop: epochs do not end it
    ],
)
def test_a_hostile_guest_is_ended(what: str, kind: Interruption) -> None:
    text = HOSTILE[what]
    guest = load(wat_text(f'(module {IMPORTED.get(what, "")} (memory (export "memory") 64) {text})'), kind)
    with guest.cycle(samples.pod(), samples.nodes(2)) as cycle:
        began = time.thread_time()
        reason = cycle.filter().reason(0)
        spent = time.thread_time() - began
    assert TOO_LONG in reason
    assert spent < 5
    assert guest.stats.broken == 1
    with guest.cycle(samples.pod(), samples.nodes(2)) as cycle:
        assert TOO_LONG in cycle.filter().reason(0), "a new instance, and a new time"


QUICK_THEN_ENDLESS = """
(module
  (memory (export "memory") 1)
  (global $calls (mut i32) (i32.const 0))
  (func (export "prefilter") (result i32)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (if (i32.gt_u (global.get $calls) (i32.const 3)) (then (loop (br 0))))
    (i32.const 0))
  (func (export "filter") (result i32) (i32.const 0)))
"""


@pytest.mark.parametrize("kind", INTERRUPTIONS)
def test_a_guest_that_was_quick_is_ended_while_its_call_keeps_pythons_lock(kind: Interruption) -> None:
    guest = load(wat_text(QUICK_THEN_ENDLESS), kind)
    for _ in range(3):
        with guest.cycle(samples.pod(), samples.nodes(1)) as cycle:
            assert cycle.prefilter().code == 0
    with guest.cycle(samples.pod(), samples.nodes(1)) as cycle:
        cycle.runner._seconds_per_row[PREFILTER.index] = 1e-6  # however busy the machine is
        assert TOO_LONG in cycle.prefilter().reason
        assert cycle.runner._run._call is cycle.runner._run._keeping


def test_guests_of_other_threads_go_on() -> None:
    """One instance loops to its limit; three others answer all the time."""
    endless, quick = load(wat_text(f'(module (memory (export "memory") 1) {HOSTILE["an empty loop"]})'), "load"), []
    answering = load(wat("all_hooks"), "load", replace(LIMITS, call_timeout=10))
    stop = threading.Event()

    def answer() -> None:
        while not stop.is_set():
            with answering.cycle(samples.pod(), samples.nodes(3)) as cycle:
                quick.append(cycle.filter().codes.tolist())

    threads = [threading.Thread(target=answer) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        with endless.cycle(samples.pod(), samples.nodes(1)) as cycle:
            assert TOO_LONG in cycle.filter().reason(0)
    stop.set()
    for thread in threads:
        thread.join()
    assert quick
    assert all(codes == quick[0] for codes in quick)
    assert answering.stats.broken == 0


@pytest.mark.parametrize("kind", INTERRUPTIONS)
def test_the_cycles_limit_ends_a_call_before_its_own(kind: Interruption) -> None:
    limits = replace(LIMITS, call_timeout=10, cycle_timeout=0.1)
    with load(wat("misbehave"), kind, limits).cycle(samples.pod(), samples.nodes(3)) as cycle:
        misbehave(cycle, "infinite loop", "filter")
        reason = cycle.filter().reason(0)
    assert (
        "time limit of 0.1 s for one pod exceeded on node node-1, in loop; the limit is limits.cycleTimeout" in reason
    )


# ---------------------------------------------------------------- the setting


def test_the_setting_is_a_limit() -> None:
    assert Limits().interruption == "load"
    assert Limits.from_config({"interruption": "epoch"}).interruption == "epoch"
    assert limits_problem({"interruption": "never"}) == 'limits.interruption: expected load or epoch, got "never"'
    with pytest.raises(LimitError):
        Limits(interruption=1)  # type: ignore[arg-type]
