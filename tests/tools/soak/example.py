"""Soaks without servers: recordings whose curves are given as functions of time."""

from collections.abc import Callable

from tools.soak.hostile_clients import NAMES
from tools.soak.profiles import FAILURES, UNSCHEDULABLE
from tools.soak.samples import Outcome, ProcessFigures, Recording, Sample

MIB = 2**20
MINUTES = 30
EVERY = 5
SETTINGS = {"minutes": MINUTES, "nodes": 300, "rate": 20.0, "version": "1.2.3", "machine": "2 cores of a CPU"}
GOOD = Outcome(
    bound=32_400,
    pods={"soak-nodenumber": 32_400, UNSCHEDULABLE: 3600},
    guest_failures=dict.fromkeys(FAILURES, 7),
    recycled=70,
    attacks=dict.fromkeys(NAMES, 9),
    probe_milliseconds={"median": 2.0, "greatest": 81.5},
    starts=1,
    exit_code=0,
)

Curve = Callable[[float], float]


def _jitter(seconds: float) -> float:
    """Between -1 and 1, the same in every run."""
    return ((seconds * 7919) % 200 - 100) / 100


def samples(
    *,
    memory: Curve = lambda at: 230 + 2 * _jitter(at),
    threads: Curve = lambda _: 10,
    descriptors: Curve = lambda at: 420 + 5 * _jitter(at),
    rate: Curve = lambda at: 18 + _jitter(at),
    cpu: Curve = lambda _: 0.3,
    minutes: float = MINUTES,
    failed_probes: int = 0,
) -> tuple[Sample, ...]:
    """Memory in MiB, pods per second and CPU in cores; of seconds since the start."""
    found = []
    bound = used = 0.0
    for number in range(1, round(60 * minutes / EVERY) + 1):
        at = float(EVERY * number)
        bound += EVERY * rate(at)
        used += EVERY * cpu(at)
        process = ProcessFigures(round(memory(at) * MIB), round(threads(at)), round(descriptors(at)), used, 4711)
        found.append(Sample(at, process, round(bound), round(bound), 3, EVERY * number, failed_probes, 0.05, True, MIB))
    return tuple(found)


def recording(outcome: Outcome | None = GOOD, **curves: object) -> Recording:
    return Recording(SETTINGS, samples(**curves), outcome)  # type: ignore[arg-type]
