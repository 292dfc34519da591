"""Replay of a recording: every recorded decision again, with the same or another configuration, and the differences."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

import orjson

from kubewasp.errors import KubewaspError
from kubewasp.framework.config.reading import read_config
from kubewasp.lab.experiments.experiment import Candidate
from kubewasp.lab.replaying.replay_cause import Cause, cause
from kubewasp.lab.replaying.replay_differences import Differences
from kubewasp.lab.replaying.replayed_scheduler import ReplayedScheduler
from kubewasp.live.recording.entries import EntryKind
from kubewasp.live.recording.segments import RecordingError
from kubewasp.scheduler.composition import set_up
from kubewasp.wasm.guest_log import LOGGER_SINK
from kubewasp.wasm.limits import limits_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from kubewasp.framework.config.model import ProfileConfig, SchedulerConfig, WasmPluginSettings
    from kubewasp.k8s.pods import Pod
    from kubewasp.lab.replaying.recording import RecordingReader, Segment, SegmentHeader
    from kubewasp.lab.replaying.replay_differences import Decision, Difference
    from kubewasp.lab.replaying.watched_events import ReplayWatcher
    from kubewasp.scheduler.composition import Setup
    from kubewasp.scheduler.cycle import SchedulingCycle
    from kubewasp.scheduler.scheduler import Scheduler
    from kubewasp.wasm.guest_log import GuestLogSink
    from kubewasp.wasm.repeatable import Repeatable

    # The configuration to decide with, given the recorded one; and wasm plugins added by file.
    Configure = Callable[[SchedulerConfig], tuple[SchedulerConfig, Collection[str]]]

_CHECKPOINT: Final = (EntryKind.OBJECTS, EntryKind.STATE)


@dataclass(slots=True)
class ReplayReport:
    """Result of a replay.

    `recorded_seconds` is the time that the recording covers, `seconds` that of the replay without loading guests.
    """

    differences: Differences = field(default_factory=Differences)
    attempts: int = 0
    other_scores: int = 0
    cause: Cause | None = None
    segments: int = 0
    versions: dict[str, None] = field(default_factory=dict)
    configurations: int = 0
    first: float = 0.0
    last: float = 0.0
    recorded_seconds: float = 0.0
    seconds: float = 0.0
    warnings: list[str] = field(default_factory=list)

    @property
    def speed(self) -> float:
        return self.recorded_seconds / self.seconds if self.seconds else 0.0

    def as_dict(self) -> dict[str, Any]:
        found = self.differences
        first = found.kept[0].as_dict() if found.kept else None
        if first is not None and self.cause is not None:
            first["cause"] = self.cause.as_dict()
        return {
            "recording": {
                "segments": self.segments,
                "versions": list(self.versions),
                "configurations": self.configurations,
                "from": self.first,
                "to": self.last,
                "seconds": self.recorded_seconds,
            },
            "attempts": self.attempts,
            "differences": len(found),
            "kinds": {str(kind): count for kind, count in found.by_kind},
            "pods": len(found.pods),
            "other_scores": self.other_scores,
            "first": first,
            "list": [item.as_dict() for item in found.kept],
            "timing": {"seconds": self.seconds, "speed": self.speed},
            "warnings": self.warnings,
        }


class ReplayObserver(Protocol):
    """Observer of a whole replay, such as the recorder of its history."""

    def begun(self, scheduler: Scheduler, decided_with: Candidate, seed: int) -> ReplayWatcher:
        """A scheduler begins, with a configuration: at the start, after a gap, and after a change of configuration."""

    def differs(self, found: Difference) -> None: ...


class Replay:
    """A replay of one recording. Implements `ReplayListener`.

    `configure` gives the configuration to decide with, from the recorded one. Guests of the recorded configuration come
    from the recording.
    """

    def __init__(
        self,
        reader: RecordingReader,
        configure: Configure,
        *,
        logs: GuestLogSink = LOGGER_SINK,
        observer: ReplayObserver | None = None,
    ) -> None:
        self._observer = observer
        self.report = ReplayReport()
        self._reader = reader
        self._configure = configure
        self._logs = logs
        self._loading = 0.0  # seconds
        self._recorded: Callable[[Scheduler, str], SchedulingCycle | None] | None = None

    def run(self, moved: Callable[[int], None] = lambda _count: None) -> ReplayReport:
        """Replays all segments. Raises RecordingError and ConfigError; `moved` gets the bytes read."""
        began = time.perf_counter()
        report, current, before, is_whole = self.report, None, None, False
        for segment in self._reader.segments(moved):
            header = segment.header
            goes_on = current is not None and before is not None and header.follows(before) and header.is_like(before)
            if current is None or not goes_on or not is_whole:
                current = self._begun(header)
            self._replayed(segment, current, skip=goes_on and is_whole)
            before, is_whole = header, not segment.end.problem
            report.segments += 1
            report.versions[header.version] = None
        report.warnings += self._reader.warnings
        report.seconds = time.perf_counter() - began - self._loading
        return report

    def _begun(self, header: SegmentHeader) -> ReplayedScheduler:
        began = time.perf_counter()
        recorded = self._recorded_config(header)
        settings, added = self._configure(recorded)
        self.report.configurations += 1
        is_other = settings != recorded
        self._recorded = _Recorded(recorded, self._logs).cycle if is_other else None

        def make_setup(repeatable: Repeatable) -> Setup:
            return set_up(settings, added=added, guest_logs=self._logs, repeatable=repeatable)

        observer, used = self._observer, Candidate("replay", settings, tuple(added))
        watch = None if observer is None else lambda scheduler: observer.begun(scheduler, used, header.seed)
        made = ReplayedScheduler(header, make_setup, self, watch)
        self._loading += time.perf_counter() - began
        return made

    def _replayed(self, segment: Segment, scheduler: ReplayedScheduler, *, skip: bool) -> None:
        """Takes the entries in; a checkpoint only at a new beginning."""
        report, first = self.report, segment.header.now
        if not report.first:
            report.first = segment.header.wall
        number, last = 1, first
        for entry in segment.entries:
            number += 1
            if skip and entry.kind in _CHECKPOINT:
                continue
            try:
                scheduler.take(entry)
            except (KeyError, TypeError, ValueError, AttributeError, IndexError, StopIteration) as error:
                raise RecordingError(
                    f"{segment.path}: entry {number} cannot be replayed: {type(error).__name__}: {error}"
                ) from error
            last = entry.now
            report.last = entry.wall
        report.recorded_seconds += max(0.0, last - first)

    # ------------------------------------------------------------------ configuration

    def _recorded_config(self, header: SegmentHeader) -> SchedulerConfig:
        """The configuration of a segment, with the guests that were kept. Signatures were checked when it was made."""
        text = orjson.loads(orjson.dumps(header.config))
        text.pop("trust", None)
        config = read_config(text, check_limits=limits_problem)
        profiles = tuple(self._with_guests(profile, header) for profile in config.profiles)
        return replace(config, profiles=profiles)

    def _with_guests(self, profile: ProfileConfig, header: SegmentHeader) -> ProfileConfig:
        digests = header.guests.get(profile.scheduler_name, {})
        found = {name: self._kept(name, settings, digests.get(name, "")) for name, settings in profile.wasm.items()}
        return replace(profile, wasm=found)

    def _kept(self, name: str, settings: WasmPluginSettings, digest: str) -> WasmPluginSettings:
        path = self._reader.guest(digest) if digest else None
        if path is not None:
            return replace(settings, guest_url=str(path), sha256=None)  # of its content: the reader has checked it
        if digest:
            warning = f"guest of {name} is not in the recording: it comes from {settings.guest_url}"
            if warning not in self.report.warnings:
                self.report.warnings.append(warning)
        return settings

    # ------------------------------------------------------------------ ReplayListener

    def compared(self, then: Decision, now: Decision) -> None:
        self.report.attempts += 1
        if then.node and then.node == now.node and then.score != now.score:
            self.report.other_scores += 1

    def differs(self, found: Difference) -> None:
        self.report.differences.add(found)
        if self._observer is not None:
            self._observer.differs(found)

    def wants_cause(self) -> bool:
        return not self.report.differences.kept

    def explained(self, scheduler: Scheduler, cycle: SchedulingCycle, pod: Pod, then: Decision, now: Decision) -> None:
        before = None
        if self._recorded is not None:
            try:
                before = self._recorded(scheduler, pod.spec.scheduler_name)
            except KubewaspError as error:
                self.report.warnings.append(f"the recorded configuration cannot be asked for the cause: {error}")
        start = scheduler.builder.rotation.start
        found = cause(pod, then, now, table=scheduler.table, cycle=cycle, before=before)
        scheduler.builder.rotation.start = start
        if found.text:
            self.report.cause = found


class _Recorded:
    """Cycles of the recorded configuration, beside another one. Loaded at the first difference."""

    def __init__(self, config: SchedulerConfig, logs: GuestLogSink) -> None:
        self._config = config
        self._logs = logs

    def cycle(self, scheduler: Scheduler, profile: str) -> SchedulingCycle | None:
        setup = set_up(self._config, guest_logs=self._logs)
        return scheduler.builder.build(setup.frameworks(scheduler.handle), setup.tuning).cycles.get(profile)
