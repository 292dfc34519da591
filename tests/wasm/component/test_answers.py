"""Validation of component answers."""

import json
from typing import Any

import pytest

from kubewasp.wasm.component import answers
from kubewasp.wasm.component.answers import AnswerError
from kubewasp.wasm.guest_runner import HookOutcome, no_outcome
from kubewasp.wasm.hooks import HOOKS, NODE_NAMES, NOMINATED_NODE, NORMALIZED_ROWS, SORT_KEY
from kubewasp.wasm.limits import Limits

LIMITS = Limits(reason=100, payload=2000)


def one(hook: str, answer: Any) -> HookOutcome:
    outcome = no_outcome()
    answers.take_one(HOOKS[hook], answer, outcome, LIMITS)
    return outcome


def rows(hook: str, answer: Any, asked: int) -> HookOutcome:
    outcome = no_outcome()
    answers.take_rows(HOOKS[hook], answer, outcome, LIMITS, asked=asked)
    return outcome


def test_nothing_means_success() -> None:
    outcome = one("reserve", {})
    assert (outcome.values.tolist(), outcome.reason_numbers.tolist(), outcome.reasons) == ([0], [0], [])


def test_a_status_has_a_reason() -> None:
    outcome = one("reserve", {"status": [2, "no"]})
    assert (outcome.values.tolist(), outcome.reason_numbers.tolist(), outcome.reasons) == ([2], [1], ["no"])


def test_a_permit_has_the_status_above_the_timeout() -> None:
    assert one("permit", {"status": [4, ""], "timeout": 1500}).values.tolist() == [4 << 32 | 1500]


def test_a_nomination_overrides() -> None:
    outcome = one("postfilter", {"nominated": "n"})
    assert (outcome.values.tolist(), outcome.received[NOMINATED_NODE]) == ([1 << 32], b"n")
    assert one("postfilter", {"status": [2, "no"]}).values.tolist() == [2]


def test_other_answers_come_as_payloads() -> None:
    assert one("prefilter", {"nodes": ["a", "b"]}).received[NODE_NAMES] == b"a\0b\0"
    assert one("queuesort", {"key": "00ff"}).received[SORT_KEY] == b"\0\xff"
    assert (
        one("normalizescore", {"scores": [1, -2]}).received[NORMALIZED_ROWS]
        == b"\1" + b"\0" * 7 + b"\xfe" + b"\xff" * 7
    )
    assert one("queueinghint", {"queue": True}).values.tolist() == [1]


def test_scores_stand_above_their_status() -> None:
    assert rows("score", {"scores": [7, -1]}, 2).values.tolist() == [7 << 32, -1 << 32]


def test_verdicts_point_at_reasons() -> None:
    told = {"verdicts": [0, 2, 1, 2], "statuses": [[0, ""], [3, ""], [2, "full"]]}
    outcome = rows("filter", told, 4)
    assert outcome.values.tolist() == [0, 2, 3, 2]
    assert [outcome.reasons[number - 1] if number else "" for number in outcome.reason_numbers] == [
        "",
        "full",
        "",
        "full",
    ]


def test_batches_add_up() -> None:
    outcome = no_outcome()
    told = {"verdicts": [1], "statuses": [[0, ""], [2, "a"]]}
    answers.take_rows(HOOKS["filter"], told, outcome, LIMITS, asked=1)
    told = {"verdicts": [1], "statuses": [[0, ""], [2, "b"]]}
    answers.take_rows(HOOKS["filter"], told, outcome, LIMITS, asked=1)
    assert [outcome.reasons[number - 1] for number in outcome.reason_numbers] == ["a", "b"]


def test_all_passed_is_just_a_number() -> None:
    assert rows("filter", {"count": 3}, 3).values.tolist() == [0, 0, 0]


def test_after_an_exception_there_may_be_fewer_answers() -> None:
    assert rows("filter", {"count": 2, "error": {}}, 3).values.tolist() == [0, 0]


def test_remarks_are_bounded() -> None:
    outcome = no_outcome()
    answers.take_remarks({"logs": [[0, "x"]] * 1500, "dropped": 5, "output": "o"}, outcome, LIMITS)
    lines = outcome.log.log_lines()
    assert len(lines) == 1001
    assert lines[-1].text == "505 more log lines and events were dropped"
    assert outcome.output == "o"


def test_bytes_of_log_lines_and_events_are_bounded() -> None:
    outcome = no_outcome()
    line, event = [0, "x" * LIMITS.log], {"Note": "x" * 100_000}
    for _ in range(2):
        answers.take_remarks({"logs": [line] * 20, "events": [event] * 20}, outcome, LIMITS)
    assert outcome.log.size <= 2 * 1024 * 1024
    assert sum(map(len, outcome.events)) <= 512 * 1024
    assert [entry.text for entry in outcome.log.log_lines() if "dropped" in entry.text] == [
        "27 more log lines and events were dropped",
        "40 more log lines and events were dropped",
    ]


def test_an_answer_of_very_many_values_is_not_read() -> None:
    text = '{"x":[' + ",".join(["[]"] * 300_000) + "]}"
    with pytest.raises(AnswerError, match="more than 500000 JSON values"):
        answers.parse(text, Limits())


@pytest.mark.parametrize("text", ["", "{", "[]", "1", json.dumps({"output": "x" * 3000})])
def test_what_is_no_answer_is_an_error(text: str) -> None:
    with pytest.raises(AnswerError):
        answers.parse(text, LIMITS)


@pytest.mark.parametrize(
    ("hook", "answer"),
    [
        ("reserve", {"status": 2}),
        ("reserve", {"status": [2]}),
        ("reserve", {"status": ["2", ""]}),
        ("reserve", {"status": [True, ""]}),
        ("reserve", {"status": [2**40, ""]}),
        ("reserve", {"status": [2, 3]}),
        ("reserve", {"status": [2, "x" * 101]}),
        ("permit", {"timeout": "long"}),
        ("prefilter", {"nodes": "n"}),
        ("queuesort", {"key": "xyz"}),
        ("queuesort", {"key": 3}),
        ("normalizescore", {"scores": [1.5]}),
        ("normalizescore", {"scores": 3}),
    ],
)
def test_an_answer_of_another_form_is_an_error(hook: str, answer: Any) -> None:
    with pytest.raises(AnswerError):
        one(hook, answer)


@pytest.mark.parametrize(
    ("hook", "answer"),
    [
        ("filter", {}),
        ("filter", {"count": 3}),
        ("filter", {"count": -1}),
        ("filter", {"verdicts": [0, 1], "statuses": [[0, ""]]}),
        ("filter", {"verdicts": [0, -1], "statuses": [[0, ""]]}),
        ("filter", {"verdicts": [[0], [0]], "statuses": [[0, ""]]}),
        ("filter", {"verdicts": [0, 0], "statuses": {}, "count": 2}),
        ("score", {}),
        ("score", {"scores": [1]}),
        ("score", {"scores": [1, 2, 3]}),
        ("score", {"scores": [1, 2.0]}),
        ("score", {"scores": [1, "2"]}),
        ("score", {"scores": [1, None]}),
        ("score", {"scores": [1, [2]]}),
        ("score", {"scores": [1, 2**31]}),
        ("score", {"scores": [1, 2**70]}),
    ],
)
def test_answers_for_rows_must_be_one_for_each(hook: str, answer: Any) -> None:
    with pytest.raises(AnswerError):
        rows(hook, answer, 2)


@pytest.mark.parametrize("answer", [{"allow": "x"}, {"reject": ["x"]}, {"reject": [["a", "b", "c"]]}])
def test_decisions_about_waiting_pods_have_a_form(answer: Any) -> None:
    with pytest.raises(AnswerError):
        answers.waiting_pods(answer)


@pytest.mark.parametrize("signature", [-1, 2**64, "1", 1.5])
def test_a_signature_has_64_bits(signature: Any) -> None:
    with pytest.raises(AnswerError):
        answers.signature({"signature": signature})
