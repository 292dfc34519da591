"""A pod's session with a component, whose one instance serves many pods.  HOT PATH (guard: make counts).

Each hook is one request: the changes of the cluster, then the inputs of the hook. The instance keeps the plugin's state
of the pod under the number of the pod's cycle, until a later request says to forget it. More than 400 lines: the inputs
of all hooks are beside the requests that send them.
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
from kubewasp.framework.unexpected import UnexpectedErrors
from kubewasp.k8s.codec import decode
from kubewasp.wasm import cycle_time
from kubewasp.wasm.component import answers, component_failures
from kubewasp.wasm.component.answers import AnswerError
from kubewasp.wasm.component.component_instance import ComponentFailure
from kubewasp.wasm.component.node_updates import NodeView, json_line, pod_text
from kubewasp.wasm.cycle_time import IN_CYCLE, CycleTime
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest_runner import HookOutcome, encoded_pod, no_outcome
from kubewasp.wasm.hook_failures import hook_failure
from kubewasp.wasm.hooks import CLUSTER_EVENTS, EVENT_NEW, EVENT_OLD, FEASIBLE_ROWS, HOOKS, ROW_STATUSES, TARGET_POD
from kubewasp.wasm.pod_fields import NO_FIELDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from kubewasp.framework.handle import Handle
    from kubewasp.framework.plugin import Scores
    from kubewasp.state.node_objects import Nodes
    from kubewasp.state.node_table import NodeTable
    from kubewasp.wasm.component.component_instance import ComponentInstance
    from kubewasp.wasm.guest_runner import AnyPod
    from kubewasp.wasm.hook_failures import HookFailure, TimeSetting
    from kubewasp.wasm.hooks import Hook
    from kubewasp.wasm.limits import Limits
    from kubewasp.wasm.pod_fields import PodFields

# Characters per request. Larger changes are sent ahead in several requests, each with its own time limit.
_MOST_SENT = 2_000_000
_FIRST_BATCH = 64
_GROWTH = 64
# Share of the time limit that a batch of nodes should take.
_SHARE = 0.1
_MEASURE_EVERY = 16
_unexpected = UnexpectedErrors()  # counted as failures of the guest
_NO_SCORES = np.zeros(0, np.int64)
_OF_THE_QUEUE = ("preenqueue", "queuesort", "queueinghint")


@dataclass(slots=True)
class SharedInstance:
    """An instance with its view of the cluster and its pace. Used under the instance's lock."""

    instance: ComponentInstance
    view: NodeView
    sessions: int = 0
    served: int = 0  # pods
    memory: int = 0
    least_memory: int = 0
    is_retired: bool = False
    is_counted: bool = False
    failure: HookFailure | None = None
    forget: deque[int] = field(default_factory=deque)
    waiting: dict[str, bytes] = field(default_factory=dict)
    uids: dict[bytes, str] = field(default_factory=dict)
    row_seconds: dict[str, float] = field(default_factory=dict)
    pod_fields: PodFields = NO_FIELDS


class SessionInputs:
    """Inputs of a component's hooks, kept until the next request. Implements `HookInputs`."""

    nodes: Nodes
    handle: Handle

    def __init__(self) -> None:
        self.pod: AnyPod = b""
        self.table: NodeTable | None = None
        self.state = 0
        self.event = (len(RESOURCES) - 1, 0)
        self.queued_at = 0.0
        self._scores = _NO_SCORES
        self._values: dict[int, Callable[[], bytes]] = {}

    def take_pod(self, pod: AnyPod, nodes: Nodes, table: NodeTable | None, handle: Handle) -> None:
        self.pod, self.nodes, self.table, self.handle = pod, nodes, table, handle

    def sync(self) -> None:
        """Does nothing: every request has the changes."""

    def set_value(self, slot: int, value: bytes | None) -> None:
        if value:
            self._values[slot] = lambda: value
        else:
            self._values.pop(slot, None)

    def set_filler(self, slot: int, filler: Callable[[], bytes]) -> None:
        self._values[slot] = filler

    def set_scores(self, scores: Scores) -> None:
        self._scores = scores

    def take_scores(self) -> Scores | None:
        """None: the scores come with the answer."""
        self._scores = _NO_SCORES
        return None

    def set_state(self, number: int) -> None:
        self.state = number

    def set_event(self, resource: int, action: int) -> None:
        self.event = (resource, action)

    def set_queued_at(self, seconds: float) -> None:
        self.queued_at = seconds

    def value(self, slot: int) -> bytes:
        found = self._values.get(slot)
        return b"" if found is None else found()

    def of_hook(self, hook: Hook) -> tuple[dict[str, Any], list[str]]:
        """Inputs of a hook besides the pod and the nodes: fields of the request's header, and lines."""
        header: dict[str, Any] = {}
        lines: list[str] = []
        match hook.name:
            case "addpod" | "removepod":
                lines.append(f"t {pod_text(self.value(TARGET_POD))}")
            case "prescore":
                header["feasible"] = np.frombuffer(self.value(FEASIBLE_ROWS), "<i4")
            case "normalizescore":
                header["feasible"] = np.frombuffer(self.value(FEASIBLE_ROWS), "<i4")
                header["scores"] = self._scores
            case "postfilter":
                pairs = np.frombuffer(self.value(ROW_STATUSES), "<i4").reshape(-1, 2)
                header["statuses"] = pairs.T.tolist()
            case "queuesort":
                header["queued_at"] = int(self.queued_at * 1e9)
            case "queueinghint":
                header["event"] = self.event
                kind = RESOURCES[self.event[0]]
                for letter, slot in (("u", EVENT_OLD), ("v", EVENT_NEW)):
                    if kind in ("Pod", "Node") and slot in self._values:
                        lines.append(f"{letter} {json_line(decode(kind, self.value(slot)))}")
            case "clonestate" | "selectstate" | "dropstate":
                header["state"] = self.state
        return header, lines


class ComponentSession:
    """The hooks of one pod. Implements `GuestRunner`."""

    def __init__(self, shared: SharedInstance, cycle: int, limits: Limits, plugin: str) -> None:
        self.shared = shared
        self.cycle = cycle
        self.broken = False
        self.inputs = SessionInputs()
        self._limits = limits
        self._plugin = plugin
        self._cycle_time = CycleTime(limits)
        self._is_known = False
        self._signature = 0

    @property
    def memory_bytes(self) -> int:
        return self.shared.memory

    @property
    def fuel_burnt(self) -> int:
        return self.shared.instance.fuel_burnt

    def sign(self, pods: Sequence[AnyPod]) -> HookOutcome:
        raise NotImplementedError("a component signs a pod in an answer about it, and has no hook for it")

    def take_signature(self) -> int:
        signature, self._signature = self._signature, 0
        return signature

    def pod_fields(self) -> PodFields:
        return self.shared.pod_fields

    def set_guest_global(self, name: str, value: int) -> NoReturn:
        raise GuestLoadError(f'wasm: guest does not export a global "{name}"; a component has none (asked for {value})')

    def call(self, hook: Hook, *, row: int = -1) -> HookOutcome:
        outcome = no_outcome()
        if hook.name == "enqueue":
            return self._enqueue(outcome)
        header, lines = self.inputs.of_hook(hook)
        if row >= 0:
            header["row"] = row
        answer = self._exchange(hook, header, lines, outcome)
        if answer is not None and "error" not in answer:
            with self._checked(hook, outcome):
                answers.take_one(hook, answer, outcome, self._limits)
                self._signature = answers.signature(answer)
        return outcome

    def call_rows(self, hook: Hook, rows: NDArray[np.int64] | int) -> HookOutcome:
        listed = np.arange(rows) if isinstance(rows, int) else rows
        outcome = no_outcome()
        done, count = 0, len(listed)
        batch = self._batch(hook.name, _FIRST_BATCH)
        while done < count and outcome.failure is None:
            until, before = min(count, done + batch), outcome.seconds
            answer = self._exchange(hook, {"part": (done, until)}, [], outcome, rows=listed)
            if answer is not None:
                with self._checked(hook, outcome):
                    answers.take_rows(hook, answer, outcome, self._limits, asked=until - done)
            self.shared.row_seconds[hook.name] = max(outcome.seconds - before, 1e-6) / (until - done)
            batch = min(self._batch(hook.name), batch * _GROWTH)
            done = until
        return outcome

    # ------------------------------------------------------------------ requests

    def _batch(self, hook: str, unknown: int = 1) -> int:
        """Number of nodes that should take a tenth of the time limit."""
        seconds = self.shared.row_seconds.get(hook)
        return unknown if seconds is None else max(int(self._limits.call_timeout * _SHARE / seconds), 1)

    def _enqueue(self, outcome: HookOutcome) -> HookOutcome:
        """The events of the description: the guest is not called."""
        events = self.shared.instance.description.events or ()
        outcome.received[CLUSTER_EVENTS] = b"".join(
            pack("<II", RESOURCES.index(event.resource), event.action) for event in events
        )
        outcome.values = outcome.reason_numbers = np.zeros(1, np.int64)
        return outcome

    def _exchange(
        self,
        hook: Hook,
        header: dict[str, Any],
        lines: list[str],
        outcome: HookOutcome,
        *,
        rows: NDArray[np.int64] | None = None,
    ) -> dict[str, Any] | None:
        """Sends a request and returns the answer, if there is one. The outcome of an exception has a failure."""
        shared, answer = self.shared, None
        with shared.instance.lock, self._checked(hook, outcome):
            if shared.failure is not None:
                cause = f"its instance was ended by another call: {shared.failure.cause}"
                outcome.failure = hook_failure(hook.name, self._plugin, shared.failure.kind, cause)
                return answer
            answer = self._send(hook.name, header, lines, outcome, rows)
            answers.take_remarks(answer, outcome, self._limits)
            if "read" in answer:
                shared.pod_fields = shared.pod_fields.union(answers.pod_fields(answer))
            if "error" in answer:
                self._raised(hook, answer["error"], outcome)
        if answer is not None:
            with self._checked(hook, outcome):
                self._decide_waiting(answer)
        return answer

    def _send(
        self, hook: str, header: dict[str, Any], lines: list[str], outcome: HookOutcome, rows: NDArray[np.int64] | None
    ) -> dict[str, Any]:
        shared = self.shared
        changes = self._changes(hook, outcome)
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
        return self._answer(hook, header, [*changes, *lines], outcome, place=lambda: self._place(header, rows))

    def _place(self, header: dict[str, Any], rows: NDArray[np.int64] | None) -> str:
        """The node of a request, or its first and its last one: which of them the guest was at is not known."""
        if "row" in header:
            return f"node {self.inputs.nodes.name(header['row'])}"
        if rows is None or header["hook"] not in ("filter", "score"):
            return ""
        first, end = header.get("part", (0, len(rows)))
        names = self.inputs.nodes.names_of(rows[[first, end - 1]])
        return f"node {names[0]}" if end - first == 1 else f"one of {end - first} nodes, {names[0]} to {names[1]}"

    def _changes(self, hook: str, outcome: HookOutcome) -> list[str]:
        """Changes of the cluster. Of large ones, the first part is sent ahead."""
        lines: list[str] = []
        size = 0
        for line in self.shared.view.changes(self.inputs.nodes, self.inputs.table):
            lines.append(line)
            size += len(line)
            if size > _MOST_SENT:
                if "error" in self._answer(hook, {"hook": "sync", "cycle": 0}, lines, outcome):
                    raise AnswerError("the guest could not take in the nodes")
                lines, size = [], 0
        return lines

    def _answer(
        self,
        hook: str,
        header: dict[str, Any],
        lines: list[str],
        outcome: HookOutcome,
        *,
        place: Callable[[], str] = str,
    ) -> dict[str, Any]:
        shared = self.shared
        # Changes of the cluster sent ahead are not the pod's.
        is_timed = header["hook"] != "sync" and IN_CYCLE[HOOKS[hook].index]
        setting: TimeSetting = "call_timeout"
        allowed = self._limits.call_timeout
        if is_timed and self._cycle_time.left < allowed:
            allowed, setting = self._cycle_time.left, "cycle_timeout"
            if allowed <= 0:
                raise ComponentFailure(self._cycle_time.exceeded(hook, self._plugin))
        header["now"] = int(self.inputs.handle.clock.wall() * 1e9)
        if shared.forget:
            header["forget"] = [shared.forget.popleft() for _ in range(len(shared.forget))]
        first = orjson.dumps(header, option=orjson.OPT_SERIALIZE_NUMPY).decode()
        began = cycle_time.cpu_time()
        text = shared.instance.exchange(
            "\n".join([first, *lines]) if lines else first, hook=hook, seconds=allowed, setting=setting, place=place
        )
        if is_timed:
            self._cycle_time.left -= cycle_time.cpu_time() - began
        outcome.seconds += shared.instance.seconds
        answer = answers.parse(text, self._limits)
        memory = answer.get("memory")
        if isinstance(memory, int):  # the guest's own word: there is no other measurement
            shared.memory = min(max(memory, shared.least_memory), self._limits.memory)
        return answer

    def _pod_text(self) -> str:
        return pod_text(encoded_pod(self.inputs.pod))

    def _waiting(self, lines: list[str]) -> Iterator[str]:
        """Uids of all waiting pods. Adds lines for new and changed ones."""
        shared, there = self.shared, dict[str, bytes]()
        for encoded in self.inputs.handle.waiting_pods():
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
            self.inputs.handle.allow_waiting_pod(uid, self._plugin)
        for uid, reason in rejected:
            self.inputs.handle.reject_waiting_pod(uid, self._plugin, reason)

    def _raised(self, hook: Hook, error: Any, outcome: HookOutcome) -> None:
        if not isinstance(error, dict):
            raise AnswerError("error: expected an object")
        outcome.failure = component_failures.raised(error, hook=hook.name, plugin=self._plugin, limits=self._limits)
        if outcome.failure.kind == "overrun":  # out of memory: the plugin's state is unknown
            self._end(outcome.failure)

    @contextmanager
    def _checked(self, hook: Hook, outcome: HookOutcome) -> Iterator[None]:
        """Ends an instance that does not return, or violates the protocol."""
        try:
            yield
        except ComponentFailure as error:
            outcome.failure = error.failure
            self._end(error.failure)
        except AnswerError as error:
            outcome.failure = hook_failure(hook.name, self._plugin, "payload", str(error))
            self._end(outcome.failure)
        except Exception as error:  # noqa: BLE001 - a failure of this hook, whatever it is
            cause = _unexpected.report("guest call", error, plugin=self._plugin, hook=hook.name)
            outcome.failure = hook_failure(hook.name, self._plugin, "host", cause)
            self._end(outcome.failure)
        except BaseException as error:  # e.g. Ctrl-C: the guest's view of the cluster is unknown
            self._end(hook_failure(hook.name, self._plugin, "host", type(error).__name__))
            raise

    def _end(self, cause: HookFailure) -> None:
        self.broken = self.shared.instance.broken = True
        self.shared.failure = self.shared.failure or cause
