"""One pod's talk with a component whose one instance serves many pods.  HOT PATH.

Implements `Runner`. Each hook is one request: what changed in the cluster, then what is asked. The instance keeps what
the plugin remembers of the pod under the number of its cycle, until it is told to forget it.
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from struct import pack
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import orjson

from kubewasp.framework.cluster_events import RESOURCES
from kubewasp.k8s.codec import decode
from kubewasp.wasm.component import answers, component_failures
from kubewasp.wasm.component.answers import AnswerError
from kubewasp.wasm.component.component_instance import ComponentFailure
from kubewasp.wasm.component.node_updates import NodeView, json_line, pod_text
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.failures import failure
from kubewasp.wasm.hook_runner import (
    CLUSTER_EVENTS,
    EVENT_NEW,
    EVENT_OLD,
    FEASIBLE_ROWS,
    ROW_SCORES,
    ROW_STATUSES,
    TARGET_POD,
    Calls,
)
from kubewasp.wasm.pod_input import encoded_pod

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from kubewasp.state.node_objects import Nodes
    from kubewasp.state.node_table import NodeTable
    from kubewasp.wasm.component.component_instance import ComponentInstance
    from kubewasp.wasm.core.abi import Hook
    from kubewasp.wasm.failures import HookFailure
    from kubewasp.wasm.guest_link import Link
    from kubewasp.wasm.hook_runner import AnyPod
    from kubewasp.wasm.limits import Limits

# More than this in one request is sent ahead in several: each has its own time limit.
_MOST_SENT = 2_000_000
_FIRST_BATCH = 64
_GROWTH = 64
# How much of the time limit a batch of nodes should take.
_SHARE = 0.1
_MEASURE_EVERY = 16
_OF_THE_QUEUE = ("preenqueue", "queuesort", "queueinghint")


@dataclass(slots=True)
class SharedInstance:
    """An instance, what it has been told, and how quick it is. Used under the instance's lock."""

    instance: ComponentInstance
    view: NodeView
    sessions: int = 0
    memory: int = 0
    is_retired: bool = False
    is_counted: bool = False
    failure: HookFailure | None = None
    forget: deque[int] = field(default_factory=deque)
    waiting: dict[str, bytes] = field(default_factory=dict)
    uids: dict[bytes, str] = field(default_factory=dict)
    row_seconds: dict[str, float] = field(default_factory=dict)


class ComponentSession:
    """The hooks of one pod."""

    def __init__(self, shared: SharedInstance, cycle: int, limits: Limits, link: Link) -> None:
        self.shared = shared
        self.cycle = cycle
        self.broken = False
        self._limits = limits
        self._link = link
        self._pod: AnyPod = b""
        self._nodes: Nodes
        self._table: NodeTable | None = None
        self._values: dict[int, Callable[[], bytes]] = {}
        self._is_known = False
        self._signature = 0
        self._state = 0
        self._event = (len(RESOURCES) - 1, 0)
        self._queued_at = 0.0

    # ------------------------------------------------------------------ Runner

    @property
    def memory_bytes(self) -> int:
        return self.shared.memory

    @property
    def fuel_burnt(self) -> int:
        return self.shared.instance.fuel_burnt

    def take_pod(self, pod: AnyPod, nodes: Nodes, table: NodeTable | None) -> None:
        self._pod, self._nodes, self._table = pod, nodes, table

    def sync(self) -> None:
        """Nothing to do: every request tells what has changed."""

    def set_value(self, slot: int, value: bytes | None) -> None:
        if value:
            self._values[slot] = lambda: value
        else:
            self._values.pop(slot, None)

    def set_filler(self, slot: int, filler: Callable[[], bytes]) -> None:
        self._values[slot] = filler

    def set_state(self, number: int) -> None:
        self._state = number

    def set_event(self, resource: int, action: int) -> None:
        self._event = (resource, action)

    def set_queued_at(self, seconds: float) -> None:
        self._queued_at = seconds

    def sign(self, pods: Sequence[AnyPod]) -> Calls:
        raise NotImplementedError("a component signs a pod in an answer about it, and has no hook for it")

    def take_signature(self) -> int:
        signature, self._signature = self._signature, 0
        return signature

    def set_guest_global(self, name: str, value: int) -> NoReturn:
        raise GuestLoadError(f'wasm: guest does not export a global "{name}"; a component has none (asked for {value})')

    def call(self, hook: Hook, *, row: int = -1) -> Calls:
        calls = answers.no_calls()
        if hook.name == "enqueue":
            return self._enqueue(calls)
        header, lines = self._asked(hook)
        if row >= 0:
            header["row"] = row
        answer = self._exchange(hook, header, lines, calls)
        if answer is not None and "error" not in answer:
            with self._checked(hook, calls):
                answers.take_one(hook, answer, calls, self._limits)
                self._signature = answers.signature(answer)
        return calls

    def call_rows(self, hook: Hook, rows: NDArray[np.int32] | int) -> Calls:
        listed = np.arange(rows, dtype=np.int32) if isinstance(rows, int) else np.ascontiguousarray(rows, np.int32)
        calls = answers.no_calls()
        done, count = 0, len(listed)
        batch = self._batch(hook.name, _FIRST_BATCH)
        while done < count and calls.failure is None:
            until, before = min(count, done + batch), calls.seconds
            answer = self._exchange(hook, {"part": (done, until)}, [], calls, rows=listed)
            if answer is not None:
                with self._checked(hook, calls):
                    answers.take_rows(hook, answer, calls, self._limits, asked=until - done)
            self.shared.row_seconds[hook.name] = max(calls.seconds - before, 1e-6) / (until - done)
            batch = min(self._batch(hook.name), batch * _GROWTH)
            done = until
        return calls

    # ------------------------------------------------------------------ asking

    def _batch(self, hook: str, unknown: int = 1) -> int:
        """How many nodes should take a tenth of the time limit."""
        seconds = self.shared.row_seconds.get(hook)
        return unknown if seconds is None else max(int(self._limits.call_timeout * _SHARE / seconds), 1)

    def _asked(self, hook: Hook) -> tuple[dict[str, Any], list[str]]:
        """What a hook is told besides the pod and the nodes: fields of the header, and lines."""
        header: dict[str, Any] = {}
        lines: list[str] = []
        match hook.name:
            case "addpod" | "removepod":
                lines.append(f"t {pod_text(self._value(TARGET_POD))}")
            case "prescore":
                header["feasible"] = np.frombuffer(self._value(FEASIBLE_ROWS), "<i4")
            case "normalizescore":
                header["feasible"] = np.frombuffer(self._value(FEASIBLE_ROWS), "<i4")
                header["scores"] = np.frombuffer(self._value(ROW_SCORES), "<i8")
            case "postfilter":
                pairs = np.frombuffer(self._value(ROW_STATUSES), "<i4").reshape(-1, 2)
                header["statuses"] = pairs.T.tolist()
            case "queuesort":
                header["queued_at"] = int(self._queued_at * 1e9)
            case "queueinghint":
                header["event"] = self._event
                kind = RESOURCES[self._event[0]]
                for letter, slot in (("u", EVENT_OLD), ("v", EVENT_NEW)):
                    if kind in ("Pod", "Node") and slot in self._values:
                        lines.append(f"{letter} {json_line(decode(kind, self._value(slot)))}")
            case "clonestate" | "selectstate" | "dropstate":
                header["state"] = self._state
        return header, lines

    def _value(self, slot: int) -> bytes:
        found = self._values.get(slot)
        return b"" if found is None else found()

    def _enqueue(self, calls: Calls) -> Calls:
        """Told when the guest was started."""
        events = self.shared.instance.description.events or ()
        calls.received[CLUSTER_EVENTS] = b"".join(
            pack("<II", RESOURCES.index(event.resource), event.action) for event in events
        )
        calls.values = calls.reason_numbers = np.zeros(1, np.int64)
        return calls

    def _exchange(
        self,
        hook: Hook,
        header: dict[str, Any],
        lines: list[str],
        calls: Calls,
        *,
        rows: NDArray[np.int32] | None = None,
    ) -> dict[str, Any] | None:
        """One request and what came back. If nothing did, or if it was an exception, the calls have a failure."""
        shared, answer = self.shared, None
        with shared.instance.lock, self._checked(hook, calls):
            if shared.failure is not None:
                cause = f"its instance was ended by another call: {shared.failure.cause}"
                calls.failure = failure(hook.name, self._link.plugin, shared.failure.kind, cause)
                return answer
            answer = self._send(hook.name, header, lines, calls, rows)
            answers.take_remarks(answer, calls, self._limits)
            if "error" in answer:
                self._raised(hook, answer["error"], calls)
        if answer is not None:
            with self._checked(hook, calls):
                self._decide_waiting(answer)
        return answer

    def _send(
        self, hook: str, header: dict[str, Any], lines: list[str], calls: Calls, rows: NDArray[np.int32] | None
    ) -> dict[str, Any]:
        shared = self.shared
        changes = self._changes(hook, calls)
        if rows is None:
            rows = header.pop("feasible", None)
        if rows is not None:
            header["list"], is_new = shared.view.list_number(rows)
            if is_new:
                header["rows"] = rows
            if header.get("part") == (0, len(rows)):
                del header["part"]
        if hook in _OF_THE_QUEUE:
            lines.append(f"p {self._pod_text()}")
        elif not self._is_known:
            lines.append(f"p {self._pod_text()}")
            self._is_known = True
            if self.cycle % _MEASURE_EVERY == 0:
                header["measure"] = True
        if shared.instance.description.wants_waiting_pods:
            header["waiting"] = list(self._waiting(lines))
        header |= {"hook": hook, "cycle": 0 if hook in _OF_THE_QUEUE else self.cycle}
        return self._answer(hook, header, [*changes, *lines], calls)

    def _changes(self, hook: str, calls: Calls) -> list[str]:
        """What changed in the cluster. If that is much, most of it is sent ahead."""
        lines: list[str] = []
        size = 0
        for line in self.shared.view.changes(self._nodes, self._table):
            lines.append(line)
            size += len(line)
            if size > _MOST_SENT:
                if "error" in self._answer(hook, {"hook": "sync", "cycle": 0}, lines, calls):
                    raise AnswerError("the guest could not take in the nodes")
                lines, size = [], 0
        return lines

    def _answer(self, hook: str, header: dict[str, Any], lines: list[str], calls: Calls) -> dict[str, Any]:
        shared = self.shared
        header["now"] = self._link.now_ns()
        if shared.forget:
            header["forget"] = [shared.forget.popleft() for _ in range(len(shared.forget))]
        first = orjson.dumps(header, option=orjson.OPT_SERIALIZE_NUMPY).decode()
        text = shared.instance.exchange("\n".join([first, *lines]) if lines else first, hook=hook)
        calls.seconds += shared.instance.seconds
        answer = answers.parse(text, self._limits)
        memory = answer.get("memory")
        if isinstance(memory, int):
            shared.memory = memory
        return answer

    def _pod_text(self) -> str:
        return pod_text(encoded_pod(self._pod))

    def _waiting(self, lines: list[str]) -> Iterator[str]:
        """The uids of all waiting pods; those that the guest does not know as they are come as lines."""
        shared, there = self.shared, dict[str, bytes]()
        for encoded in self._link.handle.waiting_pods():
            uid = shared.uids.get(encoded)
            if uid is None or shared.waiting.get(uid) != encoded:
                manifest = decode("Pod", encoded)
                uid = shared.uids[encoded] = str((manifest.get("metadata") or {}).get("uid") or "")
                lines.append(f"w {orjson.dumps(uid).decode()} {json_line(manifest)}")
            there[uid] = encoded
            yield uid
        shared.waiting = there
        shared.uids = {encoded: uid for uid, encoded in there.items()}

    # ------------------------------------------------------------------ answers

    def _decide_waiting(self, answer: dict[str, Any]) -> None:
        allowed, rejected = answers.waiting_pods(answer)
        for uid in allowed:
            self._link.allow(uid)
        for uid, reason in rejected:
            self._link.reject(uid, reason)

    def _raised(self, hook: Hook, told: Any, calls: Calls) -> None:
        if not isinstance(told, dict):
            raise AnswerError("error: expected an object")
        calls.failure = component_failures.raised(told, hook=hook.name, plugin=self._link.plugin, limits=self._limits)
        if calls.failure.kind == "overrun":  # out of memory: nobody knows what was left half done
            self._end(calls.failure)

    @contextmanager
    def _checked(self, hook: Hook, calls: Calls) -> Iterator[None]:
        """A guest that does not return, or does not keep to the protocol, has failed and is not asked again."""
        try:
            yield
        except ComponentFailure as error:
            calls.failure = error.failure
            self._end(error.failure)
        except AnswerError as error:
            calls.failure = failure(hook.name, self._link.plugin, "payload", str(error))
            self._end(calls.failure)
        except BaseException as error:  # Ctrl-C, say: nobody knows what the guest has been told
            self._end(failure(hook.name, self._link.plugin, "host", f"{type(error).__name__}: {error}"))
            raise

    def _end(self, cause: HookFailure) -> None:
        self.broken = self.shared.instance.broken = True
        self.shared.failure = self.shared.failure or cause
