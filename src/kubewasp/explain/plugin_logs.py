"""Logs of plugins in a simulation, an explanation or a scenario test: log lines, printed output, recorded events."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kubewasp.k8s.timestamps import MICROSECONDS, in_microseconds
from kubewasp.wasm.guest_log import STREAMS, text_of
from kubewasp.wasm.klog import LogLine

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from kubewasp.framework.cluster_events import RecordedEvent
    from kubewasp.scheduler.attempt import Attempt
    from kubewasp.wasm.guest_log import Entry, HookLog

MIB: Final = 1024 * 1024
_MOST_BYTES, _FEW_BYTES = 64 * MIB, 1 * MIB
_LAST_LINES: Final = 20
_LONGEST_LAST_LINE: Final = 2000
_MOST_FAILED_PODS: Final = 20
_BYTES_OF_AN_EVENT: Final = 500
EVENT: Final = "event"
_PRINTED: Final = frozenset(STREAMS.values())


@dataclass(frozen=True, slots=True)
class PluginLine:
    """A line of a plugin, for one pod in one hook. `kind` is klog's letter, a stream, or `event`."""

    plugin: str
    hook: str
    pod: str
    time: float
    kind: str
    text: str
    count: int = 1

    def as_dict(self) -> dict[str, Any]:
        return {
            "time": in_microseconds(round(self.time * MICROSECONDS)),
            "pod": self.pod or None,
            "plugin": self.plugin,
            "hook": self.hook,
            "kind": self.kind,
            "text": self.text,
            "count": self.count,
        }

    def __str__(self) -> str:
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"{self.plugin} {self.hook}  {self.kind}  {self.text}{times}"


class PluginLogs:
    """Collects the logs of all hook calls, and the last lines of plugins before errors.

    Implements `GuestLogSink` and `AttemptListener`. Without `is_complete`, only recent calls are kept. Of many logs,
    the oldest are dropped.
    """

    def __init__(self, *, is_complete: bool = False) -> None:
        self.is_complete = is_complete
        self.plugins: dict[str, None] = {}  # names of the plugins that logged, in order
        self.errors: dict[str, Sequence[PluginLine]] = {}  # by pod
        self._limit = _MOST_BYTES if is_complete else _FEW_BYTES
        self._calls: deque[HookLog] = deque()
        self._size = 0
        self._dropped_lines = self._dropped_events = 0

    def write(self, call: HookLog) -> None:
        self.plugins[call.plugin] = None
        self._calls.append(call)
        self._size += _size(call)
        while self._size > self._limit and len(self._calls) > 1:
            oldest = self._calls.popleft()
            self._size -= _size(oldest)
            self._dropped_lines += sum(1 for _ in oldest.log.entries())
            self._dropped_events += len(oldest.events)
        if call.is_failed:
            self.take_error(call.pod, f'"{call.plugin}"')

    def attempted(self, attempt: Attempt) -> None:
        if attempt.is_error:
            self.take_error(attempt.pod.key, attempt.message)

    def take_error(self, pod: str, message: str) -> None:
        """Keeps the last lines for a pod with an error: those of the plugins in the message, if it names some.

        Printed lines that the message contains are left out.
        """
        if pod not in self.errors and len(self.errors) >= _MOST_FAILED_PODS:
            return
        named = {name for name in self.plugins if f'"{name}"' in message} or self.plugins
        found: list[PluginLine] = []
        for call in reversed(self._calls):
            if call.pod == pod and call.plugin in named:
                found[:0] = list(_lines(call, without=_output_in(message)))[-_LAST_LINES:]
                if len(found) >= _LAST_LINES:
                    break
        self.errors.pop(pod, None)
        if found:
            self.errors[pod] = [_shortened(line) for line in found[-_LAST_LINES:]]

    @property
    def dropped(self) -> int:
        """Number of lines and events that were not kept."""
        return self._dropped_lines + self._dropped_events

    def counts(self) -> tuple[int, int]:
        """Numbers of log lines, with printed ones, and of recorded events."""
        lines = self._dropped_lines + sum(1 for call in self._calls for _ in call.log.entries())
        return lines, self._dropped_events + sum(len(call.events) for call in self._calls)

    def lines(self, *, without: str = "") -> Iterator[PluginLine]:
        """All lines that were kept; equal ones of a call are one with their count.

        Printed lines that the text of an error contains are left out.
        """
        printed = _output_in(without)
        for call in self._calls:
            yield from _lines(call, without=printed)

    def as_dict(self) -> dict[str, Any]:
        """The field `logs` of JSON output."""
        lines, events = self.counts()
        found: dict[str, Any] = {"lines": lines, "events": events, "plugins": list(self.plugins)}
        if self.is_complete:
            found |= {"dropped": self.dropped, "entries": [line.as_dict() for line in self.lines()]}
        found["errors"] = {pod: [line.as_dict() for line in last] for pod, last in self.errors.items()}
        return found

    def summary(self) -> str:
        """`412 log lines and 3 events of 2 plugins`; empty if there are none."""
        lines, events = self.counts()
        parts = [_number(lines, "log line")] if lines else []
        parts += [_number(events, "event")] if events else []
        return f"{' and '.join(parts)} of {_number(len(self.plugins), 'plugin')}" if parts else ""


def by_pod(lines: Iterable[PluginLine]) -> Iterator[str]:
    """The lines as text, with the pod above each group."""
    pod = None
    for line in lines:
        if line.pod != pod:
            pod = line.pod
            yield pod or "(no pod)"
        yield f"  {line}"


def _output_in(error: str) -> frozenset[str]:
    """Lines of an error that may be a guest's output: whole ones, and those after `wasm: HOOK error: `."""
    lines = error.splitlines()
    return frozenset(found.strip() for line in lines for found in (line, line.rpartition(" error: ")[2]))


def _lines(call: HookLog, *, without: Collection[str] = ()) -> Iterator[PluginLine]:
    counts: Mapping[Entry, int] = Counter(call.log.entries())
    where = call.plugin, call.hook, call.pod, call.time
    for entry, count in counts.items():
        line = PluginLine(*where, entry[1] or LogLine(entry[0], "").letter, text_of(entry), count)
        if line.kind not in _PRINTED or line.text.strip() not in without:
            yield line
    for event in call.events:
        yield PluginLine(*where, EVENT, _event_text(event))


def _event_text(event: RecordedEvent) -> str:
    subject = "/".join(part for part in (event.regarding.kind, event.regarding.namespace, event.regarding.name) if part)
    return " ".join(part for part in (event.type, event.reason, subject, event.note) if part)


def _size(call: HookLog) -> int:
    return call.log.size + sum(_BYTES_OF_AN_EVENT + len(event.note) for event in call.events)


def _shortened(line: PluginLine) -> PluginLine:
    if len(line.text) <= _LONGEST_LAST_LINE:
        return line
    return PluginLine(
        line.plugin, line.hook, line.pod, line.time, line.kind, f"{line.text[:_LONGEST_LAST_LINE]}…", line.count
    )


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
