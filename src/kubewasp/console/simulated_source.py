"""Source of runs that have ended: a simulation, a trace, a recording, or several runs side by side. Nothing changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.console.console_source import Capabilities, Mode, NotThereError, Run, Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.console.console_source import Activity, PluginFacts, Timeline
    from kubewasp.console.picture import Picture
    from kubewasp.console.played_run import PlayedRun
    from kubewasp.console.run_comparison import RunComparison
    from kubewasp.console.study import Study


class SimulatedSource:
    """Implements `ConsoleSource`. The ids of runs are `0`, `1` …"""

    def __init__(
        self,
        title: str,
        runs: Sequence[PlayedRun],
        comparison: RunComparison | None = None,
        mode: Mode = Mode.SIMULATION,
    ) -> None:
        self._runs = {str(place): run for place, run in enumerate(runs)}
        self._comparison = comparison
        self._session = Session(
            mode,
            title,
            tuple(Run(place, run.name) for place, run in self._runs.items()),
            Capabilities(timeline=True, compare=comparison is not None),
            runs[0].profiles,
        )

    @property
    def session(self) -> Session:
        return self._session

    def picture(self, run: str, at: int | None) -> Picture:
        return self._run(run).history.picture_at(at)

    def timeline(self, run: str) -> Timeline:
        return self._run(run).history

    def study(self, run: str) -> Study:
        return self._run(run).study

    def activity(self, run: str) -> Activity:
        return self._run(run).activity

    def plugins(self, run: str) -> Sequence[PluginFacts]:
        return self._run(run).plugins

    def comparison(self) -> RunComparison | None:
        return self._comparison

    def generation(self) -> int:
        return 0

    def _run(self, run: str) -> PlayedRun:
        found = self._runs.get(run or "0")
        if found is None:
            raise NotThereError(f"there is no run {run}; there are: {', '.join(self._runs)}")
        return found
