"""Source of a recording: its history as it was, decisions with the configuration of the replay, differences marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.console.console_source import Change, Mode
from kubewasp.console.history import State
from kubewasp.console.history_recorder import HistoryRecorder
from kubewasp.console.played_run import played
from kubewasp.console.simulated_source import SimulatedSource
from kubewasp.live.recording.segments import RecordingError

if TYPE_CHECKING:
    from kubewasp.lab.experiments.experiment import Candidate
    from kubewasp.lab.replaying.replay_differences import Difference
    from kubewasp.scheduler.scheduler import Scheduler


class RecordedRun:
    """Observer of a replay that records its history. Implements `ReplayObserver`."""

    def __init__(self) -> None:
        self._recorder: HistoryRecorder | None = None
        self._scheduler: Scheduler | None = None
        self._candidate: Candidate | None = None
        self._seed = 0

    def begun(self, scheduler: Scheduler, decided_with: Candidate, seed: int) -> HistoryRecorder:
        recorder = self._recorder
        if recorder is None:
            recorder = self._recorder = HistoryRecorder(scheduler, State())
        else:
            is_other = self._candidate is not None and decided_with.settings != self._candidate.settings
            text = "the configuration changed" if is_other else "the recording goes on after a gap"
            recorder.history.add(Change(scheduler.clock.wall(), "rollout", text))
            recorder.history.mark(text)
        recorder.load(scheduler)
        self._scheduler, self._candidate, self._seed = scheduler, decided_with, seed
        return recorder

    def differs(self, found: Difference) -> None:
        if self._recorder is not None:
            now = found.note or str(found.now)
            self._recorder.history.differs()
            self._recorder.history.mark(f"{found.pod}: then {found.then}, now {now}")

    def source(self, title: str) -> SimulatedSource:
        """The source of the replay that has ended."""
        if self._recorder is None or self._scheduler is None or self._candidate is None:
            raise RecordingError(f"{title}: there is nothing to look at")
        frameworks = list(self._scheduler.frameworks.values())
        run = played(self._recorder, self._candidate, self._seed, frameworks)
        return SimulatedSource(title, [run], mode=Mode.RECORDING)
