"""Calls of a guest's hooks for one pod: checks, observer, failure policy.  HOT PATH (guard: make counts)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

import numpy as np

from kubewasp.errors import KubewaspError
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.framework.unexpected import UnexpectedErrors
from kubewasp.wasm import payloads
from kubewasp.wasm.errors import GuestLoadError, HeapFullError, InstanceInUseError
from kubewasp.wasm.guest_log import NO_LOG, HookLog
from kubewasp.wasm.guest_runner import no_outcome, pod_key
from kubewasp.wasm.hook_failures import HookFailure, hook_failure
from kubewasp.wasm.hooks import HOOKS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from kubewasp.framework.handle import Handle
    from kubewasp.state.node_objects import Nodes
    from kubewasp.state.node_table import NodeTable
    from kubewasp.wasm.guest import Guest
    from kubewasp.wasm.guest_runner import AnyPod, GuestRunner, HookOutcome

logger = logging.getLogger(__name__)
_unexpected = UnexpectedErrors()  # counted as failures of the guest

# Status of a failed hook under `failurePolicy: Ignore`, as if the plugin were not there; Success for all others.
_IGNORED = {"prescore": Code.SKIP, "bind": Code.SKIP, "postfilter": Code.UNSCHEDULABLE}


class NoSuchHookError(KubewaspError):
    """The guest does not export the hook."""


class UnknownNodeError(KubewaspError):
    """The node is not one of the cycle's nodes."""


class GuestObserver(Protocol):
    """Metrics of guest calls. Times are seconds; `failure` is its kind, or empty."""

    def guest_call(self, plugin: str, hook: str, seconds: float, failure: str) -> None:
        """A hook was called, for one node or many."""

    def guest_failed(self, plugin: str, hook: str, kind: str) -> None:
        """A guest failed outside of a call: it does not start any more, or its answer is invalid."""


class NoGuestObserver:
    """Discards all metrics."""

    def guest_call(self, plugin: str, hook: str, seconds: float, failure: str) -> None:
        pass

    def guest_failed(self, plugin: str, hook: str, kind: str) -> None:
        pass


NO_OBSERVER = NoGuestObserver()


class HookCaller:
    """Calls hooks for one pod. After a failure the guest is not called again: the failure policy answers."""

    def __init__(self, guest: Guest, pod: AnyPod, nodes: Nodes, table: NodeTable | None, handle: Handle) -> None:
        self.failure: HookFailure | None = None
        self._ignored: HookFailure | None = None
        self.guest = guest
        self.nodes = nodes
        self._pod = pod
        self._handle = handle
        self._runner: GuestRunner | None = None
        try:
            self._runner = guest.pool.acquire()
            self._runner.inputs.take_pod(pod, nodes, table, handle)
        except GuestLoadError as error:  # it has started before, but does not any more
            self._fail_start(HookFailure(str(error), str(error), "start"))
        except Exception as error:
            self._break()
            if isinstance(error, KubewaspError) and not isinstance(error, HeapFullError):  # e.g. an invalid pod
                self.close()
                raise
            # No memory, memory maps or timers are left: the next pod may have more luck.
            cause = _unexpected.report("guest start", error, plugin=guest.name)
            self._fail_start(hook_failure("start", guest.name, "start", cause))

    def _fail_start(self, failure: HookFailure) -> None:
        self.failure = failure
        self.guest.observer.guest_failed(self.guest.name, "start", "start")

    def _break(self) -> None:
        if self._runner is not None:
            self._runner.broken = True

    def _unexpected(self, hook: str, error: Exception) -> HookOutcome:
        """Outcome of a call that ended with an exception of the host."""
        self._break()
        outcome = no_outcome()
        cause = _unexpected.report("guest call", error, plugin=self.guest.name, hook=hook)
        outcome.failure = hook_failure(hook, self.guest.name, "host", cause)
        return outcome

    @property
    def runner(self) -> GuestRunner:
        if self._runner is None:
            raise KubewaspError(f'plugin "{self.guest.name}": the cycle is closed')
        return self._runner

    def close(self) -> None:
        """Gives the runner back to the pool."""
        if self._runner is not None:
            runner, self._runner = self._runner, None
            self.guest.pool.release(runner)

    def offer(self, slot: int, value: Callable[[], bytes]) -> None:
        """Sets the answer of a getter, computed on the guest's first use."""
        if self.failure is None:
            (self._runner or self.runner).inputs.set_filler(slot, value)

    def row(self, node: str) -> int:
        """The row of a node; UnknownNodeError if it is none of the cycle's."""
        row = self.nodes.row(node)
        if row is None:
            raise UnknownNodeError(f'there is no node "{node}" among the {len(self.nodes)} nodes given')
        return row

    def rows(self, nodes: Sequence[str]) -> NDArray[np.int64]:
        return np.fromiter(map(self.row, nodes), np.int64, len(nodes))

    def call(self, hook: str, node: str | None = None) -> tuple[HookOutcome, Status]:
        """Calls a hook once, with a current node or without."""
        if hook not in self.guest.hooks:
            raise self._no_such_hook(hook)
        row = -1 if node is None else self.row(node)
        if self.failure is not None:
            return no_outcome(), self.policy_status(hook, self.failure)
        runner = self._runner or self.runner
        try:
            outcome = runner.call(HOOKS[hook], row=row)
        except InstanceInUseError:
            raise
        except Exception as error:  # noqa: BLE001 - a failure of this hook, whatever it is
            outcome = self._unexpected(hook, error)
        self._record(hook, outcome)
        if outcome.failure is not None:
            return outcome, self.policy_status(hook, outcome.failure)
        value = int(outcome.values[0])
        code = value >> 32 if hook == "permit" else (value + 2**31) % 2**32 - 2**31
        if code == Code.SUCCESS:
            return outcome, SUCCESS
        number = int(outcome.reason_numbers[0])
        reason = outcome.reasons[-1] if outcome.reasons and number else ""
        return outcome, Status(code, reason, hint=outcome.hints.get(number, ""))

    def call_rows(self, hook: str, rows: NDArray[np.int64] | int) -> HookOutcome:
        """Calls a hook for the given rows, or for the first n. From a failure on, the values are the policy's."""
        if hook not in self.guest.hooks:
            raise self._no_such_hook(hook)
        if self.failure is not None:
            outcome = no_outcome()
        else:
            runner = self._runner or self.runner
            try:
                outcome = runner.call_rows(HOOKS[hook], rows)
            except InstanceInUseError:
                raise
            except Exception as error:  # noqa: BLE001 - as in `call`
                outcome = self._unexpected(hook, error)
            self._record(hook, outcome)
        missing = (rows if isinstance(rows, int) else len(rows)) - len(outcome.values)
        if self.failure is not None and missing:
            status = self.policy_status(hook, self.failure)
            outcome.reasons.append(status.reason)
            outcome.values = np.concatenate([outcome.values, np.full(missing, status.code)])
            outcome.reason_numbers = np.concatenate([outcome.reason_numbers, np.full(missing, len(outcome.reasons))])
            if hook == "score" and status.is_success:
                outcome.values[:] = 0  # scores of some nodes only would favour them
        return outcome

    def sign(self, pods: Sequence[AnyPod]) -> tuple[HookOutcome, Status]:
        """Calls `signpod` for each pod."""
        if "signpod" not in self.guest.hooks:
            raise self._no_such_hook("signpod")
        if self.failure is not None:
            return no_outcome(), self.policy_status("signpod", self.failure)
        runner = self.runner
        try:
            outcome = runner.sign(pods)
        except InstanceInUseError:
            raise
        except Exception as error:  # noqa: BLE001 - as in `call`
            outcome = self._unexpected("signpod", error)
        self._record("signpod", outcome, pods)
        if outcome.failure is not None:
            return outcome, self.policy_status("signpod", outcome.failure)
        return outcome, SUCCESS

    def _no_such_hook(self, hook: str) -> NoSuchHookError:
        guest = self.guest
        return NoSuchHookError(f'plugin "{guest.name}" does not export {hook}; it has {", ".join(guest.hooks)}')

    def reject_payload(self, hook: str, cause: str) -> Status:
        """Fails a hook because of an invalid payload."""
        self.failure = hook_failure(hook, self.guest.name, "payload", cause)
        self.guest.observer.guest_failed(self.guest.name, hook, "payload")
        self.runner.broken = True
        return self.policy_status(hook, self.failure)

    def policy_status(self, hook: str, failed: HookFailure) -> Status:
        """The status of a failed hook, and of those after it, by the failure policy."""
        if self.guest.failure_policy == "Fail":
            return Status(Code.ERROR, failed.text)
        if failed is not self._ignored:
            self._ignored = failed
            fields = {"plugin": self.guest.name, "hook": hook, "pod": pod_key(self._pod), "cause": failed.cause}
            logger.warning("Ignored a guest failure", extra=fields)
        code = _IGNORED.get(hook, Code.SUCCESS)
        return Status(code, failed.text) if code != Code.SUCCESS else SUCCESS

    def _record(self, hook: str, outcome: HookOutcome, pods: Sequence[AnyPod] = ()) -> None:
        """Passes on log lines and events, and keeps a failure."""
        guest = self.guest
        try:
            outcome.recorded = payloads.recorded_events(outcome.events)
        except payloads.PayloadError as error:
            if outcome.failure is None:
                outcome.failure = hook_failure(hook, guest.name, "payload", str(error))
                outcome.values, outcome.reason_numbers = outcome.values[:0], outcome.reason_numbers[:0]
                self.runner.broken = True
        if outcome.recorded:
            at_hand = pods or (self._pod,)
            outcome.recorded = guest.events.permitted(outcome.recorded, at_hand, self.nodes, self._handle.clock)
            for event in outcome.recorded:
                self._handle.record_event(event)
        kind = ""
        if outcome.failure is not None:
            self.failure = outcome.failure
            kind = outcome.failure.kind
        if outcome.log is not NO_LOG or outcome.recorded:
            self._hand_over(hook, outcome)
        guest.observer.guest_call(guest.name, hook, outcome.seconds, kind)

    def _hand_over(self, hook: str, outcome: HookOutcome) -> None:
        """Gives log and events to the sink, unread."""
        pod, now, is_failed = pod_key(self._pod), self._handle.clock.wall(), outcome.failure is not None
        self.guest.logs.write(HookLog(self.guest.name, hook, pod, now, outcome.log, outcome.recorded, is_failed))
