"""Source of a running scheduler.

Nothing is taken from the scheduler while nobody looks, and never on its thread: other threads copy what it has, in the
console's share of the time (console_pace.py). A picture serves all pages for a while, the longer the more it costs.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, Protocol

from kubewasp.console.console_pace import BUSY_SHARE
from kubewasp.console.console_source import (
    Activity,
    Capabilities,
    Mode,
    NotThereError,
    PluginFacts,
    PluginTime,
    RolloutFacts,
    Run,
    Session,
    Signature,
)
from kubewasp.console.live_picture import LivePictures, differences
from kubewasp.console.plugin_facts import profile_facts
from kubewasp.console.profile_variants import origin_of
from kubewasp.console.study import Study
from kubewasp.framework.observer import NO_OBSERVER
from kubewasp.framework.registry import Registry
from kubewasp.scheduler.composition import Setup
from kubewasp.server.scheduler_metrics import SAMPLED
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.guest_loader import GuestLoader
from kubewasp.wasm.limits import Limits
from kubewasp.wasm.plugin import WasmPlugin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.clock import Clock
    from kubewasp.console.attempt_statistics import AttemptStatistics
    from kubewasp.console.console_pace import Pace
    from kubewasp.console.console_source import Timeline
    from kubewasp.console.picture import Picture
    from kubewasp.console.run_comparison import RunComparison
    from kubewasp.framework.config.model import WasmPluginSettings
    from kubewasp.framework.plugin import Plugin
    from kubewasp.framework.runtime import Framework
    from kubewasp.k8s.pods import Pod
    from kubewasp.rollout.planning import Running
    from kubewasp.rollout.process_version import Version
    from kubewasp.rollout.release import Release
    from kubewasp.rollout.trials import PluginTrial
    from kubewasp.scheduler.scheduler import Scheduler
    from kubewasp.server.scheduler_metrics import SchedulerMetrics
    from kubewasp.wasm.guest_log import GuestLogSink

_RUN: Final = "live"
_MOST_RECENT: Final = 100
_LEAST_AGE: Final = 1.0  # seconds between two pictures
_ACTIONS: Final = ("promote", "abort")


class RolloutState(Protocol):
    @property
    def running(self) -> Running: ...


class RunningProcess(Protocol):
    """A process with a scheduler (`ClusterProcess`)."""

    @property
    def scheduler(self) -> Scheduler: ...

    @property
    def rollout(self) -> RolloutState: ...

    def pods(self) -> dict[str, Pod]: ...


class LiveSource:
    """Implements `ConsoleSource`, and the figures that are taken from time to time."""

    def __init__(
        self,
        process: RunningProcess,
        statistics: AttemptStatistics,
        metrics: SchedulerMetrics,
        pace: Pace,
        clock: Clock,
        *,
        title: str,
    ) -> None:
        self._process = process
        self._statistics = statistics
        self._metrics = metrics
        self._pace = pace
        self._clock = clock
        self._title = title
        self._pictures = LivePictures(process.scheduler, process.pods, clock, pace.rest)
        self._lock = threading.Lock()
        self._picture: tuple[float, int, Picture] | None = None  # until when, at which generation
        self._study: tuple[_SetupOf, Study] | None = None

    # ------------------------------------------------------------------ figures, on the event loop

    def generation(self) -> int:
        scheduler = self._process.scheduler
        return self._statistics.changes + scheduler.table.generation + len(scheduler.queue)

    def sample(self) -> None:
        """Figures for the series; every few seconds, whether somebody looks or not."""
        scheduler = self._process.scheduler
        self._statistics.sample(int(scheduler.table.pod_count.sum()), len(scheduler.queue))

    # ------------------------------------------------------------------ any thread

    @property
    def session(self) -> Session:
        return Session(
            Mode.LIVE,
            self._title,
            (Run(_RUN, self._title),),
            Capabilities(events=True, actions=True),
            profile_facts(list(self._process.scheduler.frameworks.values())),
        )

    def picture(self, run: str, at: int | None) -> Picture:
        _check(run)
        if at is not None:
            raise NotThereError("a running scheduler has no timeline: leave `at` out")
        return self._known() or self._pace.run(lambda: self._known() or self._taken())

    def pod(self, key: str) -> Pod | None:
        """A pod (`namespace/name`) in the picture of now."""
        return self.picture("", None).pods.get(key)

    def _known(self) -> Picture | None:
        """The last picture, if it is good enough: recent, or still true."""
        known = self._picture
        if known is None:
            return None
        until, generation, picture = known
        return picture if self._clock.now() < until or generation == self.generation() else None

    def _taken(self) -> Picture:
        before, generation, began = self._picture, self.generation(), self._pace.used()
        picture = self._pictures.take()
        if before is not None:
            self._statistics.noted(differences(before[2], picture))
        # The cost of a picture and of the views that are made of it.
        age = max(_LEAST_AGE, (self._pace.used() - began) / BUSY_SHARE)
        self._picture = self._clock.now() + age, generation, picture
        return picture

    def timeline(self, run: str) -> Timeline | None:
        _check(run)
        return None

    def comparison(self) -> RunComparison | None:
        return None

    def study(self, run: str) -> Study | None:
        """A study of the version in use, with guests of its own."""
        _check(run)
        version = self._process.rollout.running.version
        with self._lock:
            if self._study is None or self._study[0].version is not version:
                if self._study is not None:
                    self._study[0].close()
                setup = _SetupOf(version)
                self._study = setup, Study(setup, rest=self._pace.rest)
            return self._study[1]

    def activity(self, run: str) -> Activity:
        _check(run)
        statistics = self._statistics
        p50, p99 = statistics.latency(0.5, 0.99)
        return Activity(
            scheduled=statistics.scheduled,
            unschedulable=statistics.unschedulable,
            error=statistics.error,
            rate=statistics.rate(),
            p50=p50,
            p99=p99,
            plugins=self._plugin_times(),
            recent=statistics.recent(_MOST_RECENT),
            series=statistics.series(),
        )

    def plugins(self, run: str) -> Sequence[PluginFacts]:
        _check(run)
        frameworks = dict(self._process.scheduler.frameworks)
        running = self._process.rollout.running
        found: dict[str, tuple[Plugin, list[str]]] = {}
        for profile, framework in frameworks.items():
            for name, plugin in framework.plugins.items():
                found.setdefault(name, (plugin, []))[1].append(profile)
        times = self._plugin_times()
        return [
            self._facts(plugin, frameworks[profiles[0]], tuple(profiles), running, times)
            for plugin, profiles in found.values()
        ]

    def _facts(
        self,
        plugin: Plugin,
        framework: Framework,
        profiles: tuple[str, ...],
        running: Running,
        times: Sequence[PluginTime],
    ) -> PluginFacts:
        name, origin = plugin.name, origin_of(plugin)
        own = [item for item in times if item.name == name]
        slowest = max(own, key=lambda item: item.p99 or 0.0, default=None)
        facts: dict[str, Any] = {
            "name": name,
            "origin": origin,
            "profiles": profiles,
            "weight": next((weight for scorer, weight in framework.score if scorer.name == name), 0),
            "hooks": _points_of(framework, name),
            "calls": sum(item.calls for item in own),
            "seconds": sum(item.seconds for item in own),
            "p50": slowest and slowest.p50,
            "p99": slowest and slowest.p99,
        }
        if isinstance(plugin, WasmPlugin):
            facts |= self._guest_facts(plugin, running)
        return PluginFacts(**facts)

    def _guest_facts(self, plugin: WasmPlugin, running: Running) -> dict[str, Any]:
        release, trial, guest = running.version.release_of(plugin.name), running.trial_of(plugin.name), plugin.guest
        timeouts = errors = 0
        for (name, _, kind), count in self._metrics.guest_failures().items():
            if name == plugin.name:
                timeouts += int(count) if kind == "timeout" else 0
                errors += 0 if kind == "timeout" else int(count)
        facts = {
            "hooks": tuple(sorted(guest.hooks)),
            "errors": errors,
            "timeouts": timeouts,
            "memory": int(guest.pool.memory_bytes),
            "digest": f"sha256:{guest.module.digest}".replace("sha256:sha256:", "sha256:"),
        }
        if release is not None:
            state = "verified" if _is_trust_required(release) else "not-required"
            facts |= {
                "digest": release.digest,
                "source": release.source,
                "version": release.reference,
                "signature": Signature(state),
            }
        return facts if trial is None else facts | {"rollout": _rollout(trial)}

    def _plugin_times(self) -> list[PluginTime]:
        found = []
        guests = {name for name, _, _ in self._metrics.guest_failures()} | self._guest_names()
        for (plugin, point), times in self._metrics.plugin_times().items():
            if plugin in guests and point[:1].isupper():
                continue  # of the same calls: those of guests are known by hook, and all of them
            scale = 1 if plugin in guests else 1 / SAMPLED
            found.append(
                PluginTime(
                    plugin,
                    point,
                    round(times.count * scale),
                    times.sum * scale,
                    times.quantile(0.5),
                    times.quantile(0.99),
                )
            )
        return sorted(found, key=lambda item: -item.seconds)

    def _guest_names(self) -> set[str]:
        return {plugin for _, plugin in self._process.rollout.running.version.releases}


def _check(run: str) -> None:
    if run not in ("", _RUN):
        raise NotThereError(f"there is no run {run}: a running scheduler has one, {_RUN}")


def _is_trust_required(release: Release) -> bool:
    address = release.settings.guest_url
    return release.trust is not None and isinstance(address, str) and release.trust.rule_for(address).required


def _points_of(framework: Framework, name: str) -> tuple[str, ...]:
    return tuple(
        point for point, enabled in framework.points.items() if any(plugin.name == name for plugin, _ in enabled)
    )


def _rollout(trial: PluginTrial) -> RolloutFacts:
    tally = trial.tally
    of = "" if trial.window is None else f" of {trial.window}"
    detail = [
        ("version on trial", trial.candidate.short),
        ("version before", "" if trial.previous is None else trial.previous.short),
        ("pods", f"{tally.pods}{of}"),
        ("errors", str(tally.errors)),
        ("timeouts", str(tally.timeouts)),
    ]
    actions = _ACTIONS if trial.can_go_back else _ACTIONS[:1]
    return RolloutFacts(trial.stage.value, f"{tally.pods}{of} pods", detail, actions)


class _SetupOf:
    """Plugins of a study: those of a version, with new instances of its guests and without metrics."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self._made: list[_StudyGuests] = []

    def __call__(self, clock: Clock, logs: GuestLogSink) -> Setup:  # noqa: ARG002 - interface
        setup, guests = self.version.setup, _StudyGuests(self.version, logs)
        self._made.append(guests)
        registry = Registry(wasm=guests)
        for profile in setup.profiles:
            registry.load_classes(profile)
        return Setup(registry, setup.profiles, setup.tuning, NO_OBSERVER)

    def close(self) -> None:
        """Frees the instances of its guests; a decision in progress still works."""
        for guests in self._made:
            guests.close()


class _StudyGuests(GuestLoader):
    """Loader of guests from the compiled modules of a version: nothing is fetched, and no tag can have moved."""

    def __init__(self, version: Version, logs: GuestLogSink) -> None:
        super().__init__(logs=logs)
        self._releases = {(plugin, id(item.settings)): item for (_, plugin), item in version.releases.items()}

    def _load(self, name: str, settings: WasmPluginSettings) -> Guest:
        return Guest(
            self._releases[name, id(settings)].guest.module,
            name=name,
            config=settings.guest_config,
            args=settings.args,
            log_severity=settings.log_severity,
            limits=Limits.from_config(settings.limits),
            failure_policy=settings.failure_policy,
            logs=self._logs,
        )

    def close(self) -> None:
        for _, guest in list(self._guests.values()):
            guest.close()
