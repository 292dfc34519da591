"""Texts as answers of a component. Each is read, or fails its hook as an invalid answer."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import orjson

from kubewasp.framework.handle import DetachedHandle
from kubewasp.state.node_objects import Nodes
from kubewasp.wasm.component import description
from kubewasp.wasm.component.node_updates import NodeView
from kubewasp.wasm.component.session import ComponentSession, SharedInstance
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.hooks import HOOKS
from kubewasp.wasm.limits import KIB, Limits
from tests import samples
from tools.fuzz.labels import error_label

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from kubewasp.wasm.guest_runner import HookOutcome

LIMITS = Limits(payload=64 * KIB, reason=200, log=KIB, output=100)
# Failures that an invalid answer may have; others are bugs of the host.
_EXPECTED = ("payload", "exception", "exit", "overrun")
_FOR_ROWS = ("filter", "score")


class Answering:
    """Stands for a component instance that gives one answer to everything."""

    def __init__(self, text: str) -> None:
        self.broken = False
        self.seconds = 0.0
        self.lock = threading.RLock()
        self.description = description.ComponentDescription(("filter",), wants_waiting_pods=True)
        self._text = text

    def exchange(self, request: str, **arguments: object) -> str:  # noqa: ARG002 - interface
        return self._text


def seeds() -> Iterator[bytes]:
    yield from (b"", b"{}", b"[]", b"null", b"{", b'{"a":' * 1100)
    parts: dict[str, Any] = {
        "status": [2, "no"],
        "timeout": 5,
        "queue": True,
        "nominated": "node-1",
        "nodes": ["node-1"],
        "key": "00ff",
        "scores": [1, 2],
        "verdicts": [0, 1],
        "statuses": [[0, ""], [2, "no"]],
        "count": 2,
        "signature": 7,
        "output": "printed",
        "dropped": 1,
        "logs": [[0, "line"]],
        "events": [{"Reason": "x"}],
        "allow": ["uid"],
        "reject": [["uid", "reason"]],
        "memory": 1,
        "error": {"kind": "ValueError", "cause": "no", "trace": "…", "exit": 1},
        "protocol": 1,
        "hooks": ["filter"],
    }
    yield orjson.dumps(parts)
    wrong: tuple[Any, ...] = (
        None,
        True,
        -1,
        2**63,
        1e300,
        "",
        "x" * 3000,
        "\ud7ff\0",
        [],
        {},
        [[]],
        [[1, 2, 3]],
        [None],
        [[None, None]],
    )
    for key in parts:
        for value in wrong:
            yield orjson.dumps({"protocol": 1, "hooks": ["filter"], key: value})
        for depth in (200, 300, 1010):
            nested = b"[" * depth + b"]" * depth
            yield b'{"protocol":1,"hooks":["filter"],"%s":%s}' % (key.encode(), nested)
            yield b'{"%s":[[0,%s]]}' % (key.encode(), nested)


def one(data: bytes) -> str:
    """Reads an answer in every hook, and as a description. AssertionError for an exception of the host."""
    text = data.decode("utf-8", "replace")
    labels = []
    try:
        labels.append(f"description of {len(description.parse(text, LIMITS).hooks)} hooks")
    except GuestLoadError as error:
        assert len(str(error)) < 1000, "the text is bounded"
        labels.append(error_label(error))
    labels += [_label(_outcome(text, name), name) for name in HOOKS if name != "signpod"]
    return "; ".join(dict.fromkeys(labels))


def _outcome(text: str, hook: str) -> HookOutcome:
    instance: Any = Answering(text)
    session = ComponentSession(SharedInstance(instance, NodeView(with_pods=False)), 1, LIMITS, "fuzzed")
    nodes = Nodes([samples.node("node-1"), samples.node("node-2")])
    session.inputs.take_pod(samples.pod(), nodes, None, DetachedHandle())
    return session.call_rows(HOOKS[hook], 2) if hook in _FOR_ROWS else session.call(HOOKS[hook])


def _label(outcome: HookOutcome, hook: str) -> str:
    assert len(outcome.values) == len(outcome.reason_numbers)
    assert len(outcome.output) <= LIMITS.output
    assert all(len(line.text) <= LIMITS.log for line in outcome.log.log_lines())
    assert all(0 <= number <= len(outcome.reasons) for number in outcome.reason_numbers.tolist())
    if outcome.failure is None:
        return "answer"
    assert outcome.failure.kind in _EXPECTED, f"{hook}: {outcome.failure.text}"
    return error_label(ValueError(outcome.failure.cause))
