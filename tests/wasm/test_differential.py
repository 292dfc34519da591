"""Adapter against plain Python callbacks of the same ABI: equal values, reasons and log lines."""

from functools import cache
from pathlib import Path
from typing import Any, cast

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st
from wasmtime import Global

from kubewasp.k8s.codec import encode
from kubewasp.state.node_objects import Nodes
from kubewasp.wasm.core.callback_host import CallbackHost
from kubewasp.wasm.core.core_module import CoreModule
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_module import load_guest_module
from kubewasp.wasm.hooks import HOOKS, Answer
from kubewasp.wasm.limits import Limits
from tests.guests import GETTERS
from tests.guests.build import c_guest, example, go_guest, wat
from tests.wasm.steering import steer
from tests.wasm.strategies import JSON_CONFIGS, NAMES, clusters, pods

INTS = st.integers(-(2**31), 2**31 - 1) | st.sampled_from([0, 1, 2, 3, 4, 5, 42, -1, -(2**31), 2**31 - 1])


@cache
def program(path: Path) -> CoreModule:
    return load_guest_module(path.read_bytes(), Limits())


class Pair:
    """One guest on both hosts, for one pod."""

    def __init__(
        self, path: Path, pod: dict[str, Any], nodes: list[dict[str, Any]], config: str = "", **globals_: int
    ) -> None:
        encoded = encode("Pod", pod)
        self.nodes = Nodes(nodes)
        self.guest = Guest(program(path), name="guest", config=config)
        self.cycle = self.guest.cycle(encoded, self.nodes)
        self.oracle = CallbackHost(program(path), config=config)
        self.oracle.pod = encoded
        self.oracle.nodes = self.nodes
        self.logged = [line.text for line in self.guest.start_logs]
        self.steer(**globals_)

    def steer(self, **values: int) -> None:
        steer(self.cycle, **values)
        for name, value in values.items():
            cast(Global, self.oracle.exports[name]).set_value(self.oracle._store, value)

    def expected(self, hook: str, node: str = "") -> tuple[int, int, str]:
        """The half that is not the status, the status, and the reason unless it is Success."""
        value = self.oracle.call(hook, node)
        high, low = value >> 32, (value + 2**31) % 2**32 - 2**31
        other, status = {
            Answer.NOTHING: (0, 0),
            Answer.STATUS: (0, low),
            Answer.SCORE: (high, low),
            Answer.NOMINATION: (high, low),
            Answer.PERMIT: (value & 0xFFFFFFFF, high),
        }[HOOKS[hook].answer]
        return other, status, self.oracle.reason.decode("utf-8", "replace") if status else ""

    def tell_oracle(self, **values: object) -> None:
        """Sets values of the oracle that `Cycle` derives from the arguments of a hook."""
        self.oracle.values |= {name: orjson.dumps(value) for name, value in values.items()}

    def compare_all(self) -> None:
        """Every hook that the guest has, in the framework's order."""
        names = list(self.nodes)
        scores = {name: index for index, name in enumerate(names)}
        has = self.guest.hooks.__contains__
        cycle = self.cycle
        if has("prefilter"):
            prefilter = cycle.prefilter()
            self.logged += [line.text for line in prefilter.trace.logs]
            assert (0, prefilter.code, prefilter.reason) == self.expected("prefilter")
        if has("filter"):
            verdicts = cycle.filter()
            self.logged += [line.text for line in verdicts.trace.logs]
            found = [(0, int(verdicts.codes[index]), verdicts.reason(index)) for index in range(len(names))]
            assert found == [self.expected("filter", name) for name in names]
        if has("postfilter"):
            self.tell_oracle(nodeToStatusMap=scores)
            result = cycle.postfilter(scores)
            assert (result.nominating_mode, result.code, result.reason) == self.expected("postfilter")
            assert result.nominated_node == self.oracle.received.get("result.nominated_node_name", b"").decode()
        if has("prescore"):
            self.tell_oracle(filteredNodeList=names)
            prescore = cycle.prescore(names)
            assert (0, prescore.code, prescore.reason) == self.expected("prescore")
        if has("score"):
            scored = cycle.score(names[::-1])
            found = [
                (int(scored.scores[index]), int(scored.codes[index]), scored.reason(index))
                for index in range(len(names))
            ]
            assert found == [self.expected("score", name) for name in names[::-1]]
        if has("normalizescore"):
            self.tell_oracle(nodeScoreList=scores)
            normalized = cycle.normalize_score(scores)
            assert (0, normalized.code, normalized.reason) == self.expected("normalizescore")
        for hook in ("reserve", "prebind", "bind"):
            if has(hook):
                plain = getattr(cycle, hook)(names[0])
                assert (0, plain.code, plain.reason) == self.expected(hook, names[0])
        if has("permit"):
            permit = cycle.permit(names[-1])
            self.logged += [line.text for line in permit.trace.logs]
            assert (permit.timeout_ms, permit.code, permit.reason) == self.expected("permit", names[-1])
        assert self.logged == [line.decode() for _, line in self.oracle.logged]
        cycle.close()


@given(pods(), clusters(), st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 300))
@settings(max_examples=60)
def test_every_getter_answers_the_same(
    pod: dict[str, Any], nodes: list[dict[str, Any]], config: str, limit: int
) -> None:
    pair = Pair(wat("echo"), pod, nodes, config)
    names = list(pair.nodes)
    statuses = dict.fromkeys(names, 2)
    pair.cycle.prescore(names)
    pair.cycle.postfilter(statuses)
    pair.cycle.normalize_score({})
    pair.tell_oracle(filteredNodeList=names, nodeToStatusMap=statuses, nodeScoreList={})
    for which in range(len(GETTERS)):
        pair.steer(which=which, limit=limit)
        verdicts = pair.cycle.filter()
        found = [(0, int(verdicts.codes[index]), verdicts.reason(index)) for index in range(len(names))]
        assert found == [pair.expected("filter", name) for name in names], GETTERS[which]
    pair.cycle.close()


@given(pods(), clusters(), st.sampled_from(range(len(GETTERS))))
@settings(max_examples=60)
def test_every_hook_sees_the_same(pod: dict[str, Any], nodes: list[dict[str, Any]], which: int) -> None:
    Pair(wat("echo"), pod, nodes, which=which).compare_all()


ANSWERS = st.fixed_dictionaries(
    {
        "status_code": INTS,
        "points": INTS,
        "timeout": INTS,
        "mode": INTS,
        "with_reason": st.integers(0, 1),
        "where": st.integers(0, 2**15 - 1),
    }
)


@given(pods(), clusters(), ANSWERS)
@settings(max_examples=80)
def test_every_answer_is_taken_the_same(
    pod: dict[str, Any], nodes: list[dict[str, Any]], answers: dict[str, int]
) -> None:
    Pair(wat("all_hooks"), pod, nodes, **answers).compare_all()


@given(pods(), clusters(), st.just("") | st.text(st.characters(exclude_categories=["Cs"])) | JSON_CONFIGS)
@settings(max_examples=60)
def test_the_example_decides_the_same(pod: dict[str, Any], nodes: list[dict[str, Any]], config: str) -> None:
    Pair(example("nodenumber"), pod, nodes, config).compare_all()


@given(pods(), clusters().filter(lambda nodes: "panic" not in str(nodes)), st.just("") | JSON_CONFIGS)
@settings(max_examples=20)
def test_a_go_guest_decides_the_same(pod: dict[str, Any], nodes: list[dict[str, Any]], config: str) -> None:
    Pair(go_guest("nodenumber"), pod, nodes, config).compare_all()


@given(pods(), clusters(), st.sampled_from(["", "zone", "größe", "a/b"]) | NAMES)
@settings(max_examples=60)
def test_a_c_guest_decides_the_same(pod: dict[str, Any], nodes: list[dict[str, Any]], config: str) -> None:
    Pair(c_guest("labels"), pod, nodes, config).compare_all()
