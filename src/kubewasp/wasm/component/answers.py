"""Answers of a component, checked and packed like those of core modules. Nothing in them is trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from kubewasp.framework.status import Code
from kubewasp.wasm.component.component_log import ComponentLog
from kubewasp.wasm.hooks import ANNOTATING_HOOKS, NODE_NAMES, NOMINATED_NODE, NORMALIZED_ROWS, SORT_KEY, Answer
from kubewasp.wasm.payloads import MOST_EVENT_BYTES, PayloadError, add_annotation
from kubewasp.wasm.pod_fields import PodFields, named

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kubewasp.wasm.guest_runner import HookOutcome
    from kubewasp.wasm.hooks import Hook
    from kubewasp.wasm.limits import Limits

    _Numbers = tuple[NDArray[np.int64], NDArray[np.int64]]

MAX_LINES = 1000
_MAX_VALUES = 500_000
_MAX_HINT = 1024  # longer hints are cut
_MOST_FIELDS = 100
_OVERRIDE = 1
_REMARKS = frozenset(("output", "logs", "dropped", "events"))


class AnswerError(ValueError):
    """The answer violates the protocol or a limit; the text is bounded."""


def parse(text: str, limits: Limits) -> dict[str, Any]:
    if len(text) > limits.payload:
        raise AnswerError(f"an answer of {len(text)} characters is over the limit of {limits.payload}")
    # Small values take the host more time than the guest. (A shorter text cannot have as many.)
    if len(text) > _MAX_VALUES and sum(map(text.count, ",[{")) > _MAX_VALUES:
        raise AnswerError(f"an answer of more than {_MAX_VALUES} JSON values")
    try:
        answer = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise AnswerError(f"the answer is not JSON: {error}") from None
    if not isinstance(answer, dict):
        raise AnswerError("the answer is not a JSON object")
    return answer


def take_remarks(answer: dict[str, Any], outcome: HookOutcome, limits: Limits) -> None:
    """Adds log lines, events and output."""
    if _REMARKS.isdisjoint(answer):
        return
    printed = _text(answer.get("output") or "", "output")[: limits.output]
    outcome.output = (outcome.output + printed)[: limits.output]
    lines, dropped = log_lines(answer, limits, MAX_LINES - outcome.log.lines)
    event_bytes = sum(map(len, outcome.events))
    for event in _list(answer, "events"):
        encoded = _json(event, "events")
        event_bytes += len(encoded)
        if len(outcome.events) >= MAX_LINES or event_bytes > MOST_EVENT_BYTES:
            dropped += 1
        else:
            outcome.events.append(encoded)
    if lines or printed or dropped:
        log = outcome.log
        if not isinstance(log, ComponentLog):
            log = outcome.log = ComponentLog()
        log.add(lines, printed, dropped)


def log_lines(answer: dict[str, Any], limits: Limits, room: int) -> tuple[list[tuple[int, str]], int]:
    """Log lines with their severities, at most `room`; the number of lines dropped here or by the guest."""
    sent, room = _list(answer, "logs"), max(room, 0)
    pairs = [_pair(line, "logs") for line in sent[:room]]
    lines = [(_integer(severity, "logs"), _text(text, "logs")[: limits.log]) for severity, text in pairs]
    return lines, max(_integer(answer.get("dropped") or 0, "dropped"), 0) + max(len(sent) - room, 0)


def waiting_pods(answer: dict[str, Any]) -> tuple[list[str], list[tuple[str, str]]]:
    """Uids of the allowed pods; uids and reasons of the rejected ones."""
    allowed = [_text(uid, "allow") for uid in _list(answer, "allow")]
    rejected = [_pair(item, "reject") for item in _list(answer, "reject")]
    return allowed, [(_text(uid, "reject"), _text(reason, "reject")) for uid, reason in rejected]


def take_one(hook: Hook, answer: dict[str, Any], outcome: HookOutcome, limits: Limits) -> None:
    """Adds the answer of a hook that is called once per pod."""
    code, reason, hint = _status(answer.get("status"), limits)
    value = code
    if hook.answer is Answer.PERMIT:
        value = code << 32 | _integer(answer.get("timeout") or 0, "timeout") & 0xFFFFFFFF
    elif hook.name == "queueinghint":
        value = int(bool(answer.get("queue")))
    elif hook.answer is Answer.NOMINATION and "nominated" in answer:
        value = _OVERRIDE << 32 | code
        outcome.received[NOMINATED_NODE] = _text(answer["nominated"], "nominated").encode()
    if "nodes" in answer:
        outcome.received[NODE_NAMES] = "".join(f"{_text(name, 'nodes')}\0" for name in _list(answer, "nodes")).encode()
    if "key" in answer:
        outcome.received[SORT_KEY] = _hex(answer["key"])
    if "annotations" in answer:
        _take_annotations(hook, answer["annotations"], outcome)
    if hook.name == "normalizescore" and "scores" in answer:
        outcome.received[NORMALIZED_ROWS] = _integers(answer["scores"], "scores").astype("<i8").tobytes()
    outcome.values = np.array([value], np.int64)
    outcome.reason_numbers = np.array([int(bool(reason or hint))], np.int64)
    outcome.reasons = [reason] if reason or hint else []
    outcome.hints = {1: hint} if hint else {}


def _take_annotations(hook: Hook, sent: Any, outcome: HookOutcome) -> None:
    if hook.name not in ANNOTATING_HOOKS:
        raise AnswerError(f"annotations: only {' and '.join(ANNOTATING_HOOKS)} may annotate")
    if not isinstance(sent, dict):
        raise AnswerError("annotations: expected an object")
    try:
        for key, value in sent.items():
            add_annotation(outcome.annotations, key, _text(value, "annotations"))
    except PayloadError as error:
        raise AnswerError(str(error)) from None


def take_rows(hook: Hook, answer: dict[str, Any], outcome: HookOutcome, limits: Limits, *, asked: int) -> int:
    """Adds the answers for some rows; returns their number."""
    values, numbers = (_scores if hook.answer is Answer.SCORE else _verdicts)(answer, outcome, limits)
    if len(values) > asked or (len(values) < asked and "error" not in answer):
        raise AnswerError(f"{len(values)} answers for {asked} nodes")
    outcome.values = np.concatenate([outcome.values, values])
    outcome.reason_numbers = np.concatenate([outcome.reason_numbers, numbers])
    return len(values)


def pod_fields(answer: dict[str, Any]) -> PodFields:
    """The fields of the pod that the guest has read for the first time."""
    return named(_text(name, "read") for name in _list(answer, "read")[:_MOST_FIELDS])


def signature(answer: dict[str, Any]) -> int:
    found = _integer(answer.get("signature") or 0, "signature")
    if not 0 <= found < 2**64:
        raise AnswerError("signature: expected 64 bits")
    return found


def _scores(answer: dict[str, Any], _outcome: HookOutcome, _limits: Limits) -> _Numbers:
    scores = _integers(answer.get("scores", []), "scores")
    if len(scores) and not -(2**31) <= scores.min() <= scores.max() < 2**31:
        raise AnswerError("scores: expected 32-bit integers")
    return scores << 32, np.zeros_like(scores)


def _verdicts(answer: dict[str, Any], outcome: HookOutcome, limits: Limits) -> _Numbers:
    if "verdicts" not in answer:
        count = _integer(answer.get("count") or 0, "count")
        if not 0 <= count < 2**31:
            raise AnswerError("count: out of range")
        passed = np.zeros(min(count, 2**24), np.int64)
        return passed, passed
    numbers = _integers(answer["verdicts"], "verdicts")
    statuses = [_status(item, limits) for item in _list(answer, "statuses")]
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(statuses):
        raise AnswerError("verdicts: there is no such status")
    codes = np.array([code for code, _, _ in statuses], np.int64)
    # Reasons count from 1, after those of earlier rows.
    places = np.zeros(len(statuses), np.int64)
    for number, (_, reason, hint) in enumerate(statuses):
        if reason or hint:
            outcome.reasons.append(reason)
            places[number] = len(outcome.reasons)
        if hint:
            outcome.hints[len(outcome.reasons)] = hint
    return codes[numbers], places[numbers]


def _status(sent: Any, limits: Limits) -> tuple[int, str, str]:
    """Code, reason and hint; the hint may be left out."""
    if sent is None:
        return Code.SUCCESS, "", ""
    has_hint = isinstance(sent, list) and len(sent) == 3
    hint = sent[2] if has_hint else ""
    code, reason = _pair(sent[:2] if has_hint else sent, "status")
    if not isinstance(hint, str):
        raise AnswerError("status: the hint is not a string")
    code = _integer(code, "status")
    if not -(2**31) <= code < 2**31:
        raise AnswerError("status: expected a 32-bit integer")
    if not isinstance(reason, str):
        raise AnswerError("status: the reason is not a string")
    if len(reason) > limits.reason:
        raise AnswerError(f"a reason of {len(reason)} characters is over the limit of {limits.reason}")
    return code, reason, hint[:_MAX_HINT]


def _list(answer: dict[str, Any], key: str) -> list[Any]:
    found = answer.get(key) or []
    if not isinstance(found, list):
        raise AnswerError(f"{key}: expected a list")
    return found


def _pair(value: Any, key: str) -> tuple[Any, Any]:
    if not isinstance(value, list) or len(value) != 2:
        raise AnswerError(f"{key}: expected pairs")
    return value[0], value[1]


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise AnswerError(f"{key}: expected a string")
    return value


def _json(value: Any, key: str) -> bytes:
    """A part of an answer as JSON; the writer takes fewer levels than the reader."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        raise AnswerError(f"{key}: {error}") from None


def _integer(value: Any, key: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise AnswerError(f"{key}: expected an integer")
    return value


def _integers(value: Any, key: str) -> NDArray[np.int64]:
    if not isinstance(value, list):
        raise AnswerError(f"{key}: expected a list")
    if not value:
        return np.zeros(0, np.int64)
    try:
        found = np.array(value)
    except (ValueError, OverflowError):
        raise AnswerError(f"{key}: expected integers") from None
    if found.dtype != np.int64 or found.ndim != 1:
        raise AnswerError(f"{key}: expected integers")
    return found


def _hex(value: Any) -> bytes:
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError):
        raise AnswerError("key: expected hexadecimal digits") from None
