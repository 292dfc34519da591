"""Scheduler layer: kubewasp with and without plugins, embedded and beside kube-scheduler on a real API server.

What is compared is measured by turns, and each round begins with another contender: a machine that gets slower
meanwhile makes all of them slower.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.errors import KubewaspError
from tools.bench import contenders, embedded_layer, real_layer
from tools.bench.contenders import BUILTIN, EXTENDER, KUBE_SCHEDULER, KUBEWASP, Contender
from tools.bench.figures import LAYER, Figures, TooSlowError, measurements
from tools.bench.guests import Unavailable
from tools.bench.model import Measurement, Skipped
from tools.bench.workload_list import WORKLOADS, workload
from tools.testbed import build

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from contextlib import AbstractContextManager

    from tools.bench.workloads import Workload
    from tools.testbed.servers import ApiServer

Step = Callable[[str], None]
Run = Callable[[Contender], Figures]

PLACES: Final = ("embedded", "real")
EMBEDDED, REAL = PLACES
LONGEST: Final = 180.0  # seconds of a run
_OURS: Final = tuple(
    Contender(KUBEWASP, plugins)
    for plugins in ("none", BUILTIN, "wasm-1", "wasm-1-signed", "wasm-1-unsigned", "wasm-2", "wasm-5")
)
_OURS_IN_SHORT: Final = (Contender(KUBEWASP), Contender(KUBEWASP, "wasm-1"))
_THEIRS: Final = Contender(KUBE_SCHEDULER)
_ALL: Final = {EMBEDDED: _OURS, REAL: (_THEIRS, *_OURS, Contender(KUBE_SCHEDULER, EXTENDER))}
_IN_SHORT: Final = {EMBEDDED: _OURS_IN_SHORT, REAL: (_THEIRS, *_OURS_IN_SHORT)}
_REPETITIONS: Final = {EMBEDDED: (5, 5), REAL: (5, 3)}  # of `basic`, and of the others
_BASIC: Final = {EMBEDDED: 3000, REAL: 1000}  # pods
# Cases with a bar: the scatter is larger than the distance to the bar, so these have more repetitions.
_CLOSE_OF_OURS: Final = tuple(Contender(KUBEWASP, plugins) for plugins in ("none", "wasm-1", "wasm-1-signed"))
_CLOSE: Final = {EMBEDDED: _CLOSE_OF_OURS, REAL: (_THEIRS, *_CLOSE_OF_OURS, Contender(KUBEWASP, "wasm-1-unsigned"))}
_MORE: Final = {EMBEDDED: 5, REAL: 10}  # repetitions
_ALSO_LARGE: Final = {EMBEDDED: ("basic", "topology-spread"), REAL: ("basic",)}
_PREEMPTING: Final = {EMBEDDED: 100, REAL: 200}  # pods: preemption takes much longer than placement
_NO_EXTENDERS: Final = Skipped(
    LAYER, "embedded, an extender", "kubewasp runs plugins itself and calls no extenders: there is nothing to measure"
)


@dataclass(frozen=True, slots=True)
class Case:
    """A workload in one size and one place, for some contenders."""

    where: str
    workload: str
    nodes: int
    pods: int
    contenders: tuple[Contender, ...]
    repetitions: int
    close: tuple[Contender, ...] = ()
    more: int = 0  # further repetitions of close ones

    def __str__(self) -> str:
        return f"{self.where}, {self.workload}, {self.nodes:,} nodes"

    @property
    def what(self) -> Workload:
        return workload(self.workload, self.nodes, self.pods)

    def rounds(self) -> Iterator[tuple[Contender, ...]]:
        """Order of the runs; each round begins with another contender."""
        for who, count in ((self.contenders, self.repetitions), (self.close, self.more)):
            for number in range(count):
                begin = number % len(who)
                yield who[begin:] + who[:begin]

    def times(self, contender: Contender) -> int:
        return sum(contender in who for who in self.rounds())

    def key(self, contender: Contender) -> dict[str, str | int]:
        """The case of the measurements."""
        who = {"scheduler": contender.scheduler, "plugins": contender.plugins}
        return {"where": self.where, "workload": self.workload, **who, "nodes": self.nodes}


# ---------------------------------------------------------------------- plan


@dataclass(frozen=True, slots=True)
class Plan:
    """The cases in their order."""

    cases: tuple[Case, ...]

    @classmethod
    def of(cls, *, quick: bool = False, places: Collection[str] = (), workloads: Collection[str] = ()) -> Plan:
        """All places and workloads, or the named ones; a quick plan has only `basic` by default."""
        for name in workloads:
            if name not in WORKLOADS:
                raise KubewaspError(f"there is no workload {name!r}; there are {', '.join(WORKLOADS)}")
        names = tuple(workloads) or (("basic",) if quick else tuple(WORKLOADS))
        made = _quick if quick else _full
        return cls(tuple(case for where in PLACES if not places or where in places for case in made(where, names)))


def _quick(where: str, names: Collection[str]) -> list[Case]:
    return [
        Case(where, name, 100, 300, (_ALL if name == "basic" else _IN_SHORT)[where], repetitions=2)
        for name in WORKLOADS
        if name in names
    ]


def _full(where: str, names: Collection[str]) -> list[Case]:
    """`basic` has all contenders, other workloads the most informative ones. Cases with 5,000 nodes come last."""
    first, others = _REPETITIONS[where]
    small = [Case(where, "basic", 500, _BASIC[where], _ALL[where], first, _CLOSE[where], _MORE[where])]
    small += [
        Case(where, name, 500, _PREEMPTING[where] if name == "preemption" else 1000, _IN_SHORT[where], others)
        for name in WORKLOADS
        if name != "basic"
    ]
    small = [case for case in small if case.workload in names]
    return small + [replace(case, nodes=5000) for case in small if case.workload in _ALSO_LARGE[where]]


def steps(plan: Plan) -> int:
    """Number of `step` calls of `measure`."""
    return 1 + sum(len(who) for case in plan.cases for who in case.rounds())


# ---------------------------------------------------------------------- measuring


def measure(step: Step, plan: Plan) -> Iterator[Measurement | Skipped]:
    """Measures all cases. RunError: a wrong outcome, which has no figures."""
    step("building what is measured, once")
    missing = _missing(plan.cases)
    yield from (Skipped(LAYER, what, why) for what, why in missing.items())
    if any(case.where == EMBEDDED for case in plan.cases):
        yield _NO_EXTENDERS
    with tempfile.TemporaryDirectory() as scratch:
        groups = itertools.groupby(plan.cases, lambda case: (case.where, case.nodes))
        for number, ((where, _), cases) in enumerate(groups):
            with _place("" if where in missing else where, Path(scratch, str(number))) as runs_of:
                for case in cases:
                    with runs_of(case) as run:
                        yield from _measured(step, case, run, missing)


def _missing(cases: Collection[Case]) -> dict[str, str]:
    """Unavailable plugins or servers on this machine, with the reasons."""
    missing: dict[str, str] = {}
    for plugins in dict.fromkeys(contender.plugins for case in cases for contender in case.contenders):
        try:
            contenders.compile_guests(plugins)
        except Unavailable as error:
            missing[plugins] = str(error)
    if any(case.where == REAL for case in cases):
        try:
            build.programs()
        except RuntimeError as error:
            missing[REAL] = str(error)
    return missing


def _measured(step: Step, case: Case, run: Run, missing: Collection[str]) -> Iterator[Measurement | Skipped]:
    """One case. A contender beyond the time limit is not repeated."""
    found: dict[Contender, list[Figures]] = {contender: [] for contender in case.contenders}
    left_out: dict[Contender, str] = {}
    for contender in itertools.chain.from_iterable(case.rounds()):
        about = f"{case}, {contender}"
        if {case.where, contender.plugins} & set(missing) or contender in left_out:
            step(f"{about}: left out")
            continue
        step(f"{about}: {len(found[contender]) + 1} of {case.times(contender)}")
        try:
            found[contender].append(run(contender))
        except TooSlowError as error:
            left_out[contender] = str(error)
    for contender, figures in found.items():
        if contender in left_out:
            yield Skipped(LAYER, f"{case}, {contender}", left_out[contender])
        elif figures:
            yield from measurements(case.key(contender), figures)


@contextmanager
def _place(where: str, folder: Path) -> Iterator[Callable[[Case], AbstractContextManager[Run]]]:
    """Context of the runs of a case: nodes on a real API server, nothing in memory."""
    folder.mkdir()
    if where == REAL:
        with real_layer.api_server(folder) as api:
            yield lambda case: _real_runs(case, api, folder)
    else:
        yield lambda case: nullcontext(lambda contender: embedded_layer.figures(case.what, contender, folder, LONGEST))


@contextmanager
def _real_runs(case: Case, api: ApiServer, folder: Path) -> Iterator[Run]:
    with real_layer.RealCluster(api, case.what, folder).prepared() as cluster:
        yield lambda contender: cluster.figures(contender, LONGEST)
