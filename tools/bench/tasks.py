"""Tasks of the worker process (worker.py): measurements of one form at a time.

A task takes a policy, a form and a cluster, and returns figures by name.
"""

from __future__ import annotations

import gc
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.scheduler.composition import tune_garbage_collector
from tools.bench import time_breakdown
from tools.bench.forms.catalogue import COMPILED, COMPONENTS, FORMS, GUESTS
from tools.bench.forms.form import FormError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.bench.policies.clusters import Cluster

    Figures = dict[str, float]

# Limits on repetitions and time; the first one ends a measurement.
_MOST_UNCHANGED, _MOST_CHANGED, _SECONDS = 40, 7, 0.4
# A component reports its memory with every sixteenth pod.
_UNTIL_MEASURED: Final = 17
_SETTLED: Final = 5


def cycles(policy: str, name: str, cluster: Cluster) -> Figures:
    """Loading, first cycle, unchanged and changed cycles, memory growth."""
    form = FORMS[name](policy, cluster)
    gc.collect()
    gc.freeze()
    tune_garbage_collector()
    before = resident()
    form.prepare()
    load = "load_cached" if name in COMPILED else "load"
    figures = {load: _seconds(form.load) * 1e3, "first_cycle": _seconds(lambda: form.cycle(0)) * 1e6}
    done = 0

    def cycle() -> float:
        nonlocal done
        done += 1
        return _seconds(lambda: form.cycle(done))

    def changed() -> float:
        form.change(done + 1)
        return cycle()

    figures["unchanged_cycle"] = _median(cycle, _MOST_UNCHANGED)
    figures["changed_cycle"] = _median(changed, _MOST_CHANGED)
    if name in COMPONENTS:
        for _ in range(done, _UNTIL_MEASURED):
            cycle()
    if form.guest_memory:
        figures["guest_memory"] = form.guest_memory
    if before is not None:
        after = resident(form.process)
        figures["host_memory"] = (after or 0) - (0 if form.process is not None else before)
    form.close()
    return figures


def compiling(policy: str, name: str, cluster: Cluster) -> Figures:
    """Cold load of a guest."""
    form = FORMS[name](policy, cluster)
    form.prepare()
    return {"load_cold": _seconds(lambda: form.load(use_cache=False)) * 1e3}


def warming(policy: str, name: str, cluster: Cluster) -> Figures:
    """Fills the cache of compiled guests; nothing is measured."""
    for fueled in (False, True):
        form = GUESTS[name](policy, cluster, fueled=fueled)
        form.prepare()
        form.load()
    return {}


def places(policy: str, name: str, cluster: Cluster) -> Figures:
    """Time breakdown by cycle and part."""
    found = time_breakdown.measure(name, policy, cluster)
    return {f"{cycle} {part}": value for cycle, parts in found.items() for part, value in parts.items()}


def fuel(policy: str, name: str, cluster: Cluster) -> Figures:
    """Fuel of a first and a settled cycle. Two guests must burn the same, or it is no count."""
    first, second = (_burnt(policy, name, cluster) for _ in range(2))
    if first != second:
        raise FormError(f"the same guest burnt {first} and then {second}")
    return first


def _burnt(policy: str, name: str, cluster: Cluster) -> Figures:
    form = GUESTS[name](policy, cluster, fueled=True)
    form.prepare()
    form.load()
    found = [form.counted(pod)[1].fuel for pod in range(_SETTLED)]
    form.close()
    return {"first": found[0], "unchanged": found[-1]}


TASKS: Final = {task.__name__: task for task in (cycles, compiling, warming, places, fuel)}


def resident(process: int | None = None) -> int | None:
    """Resident bytes of this process or another; None if unknown."""
    try:
        smaps = Path(f"/proc/{process or 'self'}/smaps_rollup").read_text(encoding="utf-8")
    except OSError:
        return None
    return 1024 * int(smaps.partition("\nRss:")[2].split()[0])


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _median(work: Callable[[], float], most: int) -> float:
    """Median of several, in microseconds; of a single one if it is slow."""
    spent = [work()]
    until = time.perf_counter() + _SECONDS - spent[0]
    while len(spent) < most and time.perf_counter() < until:
        spent.append(work())
    return statistics.median(spent) * 1e6
