"""Bars of the console of a running scheduler: what ten open pages cost it, times of views, memory."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tools.bench.bars.bar import Bar
from tools.bench.bars.console_run import NODES, PAGES, PODS, ROUNDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ROOT: Final = Path(__file__).parents[3]
_MIB: Final = 1 << 20


def bars(step: Callable[[str], None]) -> Iterator[Bar]:
    step(f"{NODES:,} nodes, {PODS:,} pods, {ROUNDS} rounds with {PAGES} pages and without: about ten minutes")
    command = [sys.executable, "-m", "tools.bench.bars.console_run"]
    done = subprocess.run(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    plain, watched = found["plain"], found["watched"]
    # Pairs of neighbouring rounds: other load of the machine changes slowly.
    ratio = statistics.median(after / before for before, after in zip(plain, watched, strict=True))
    note = f"{statistics.median(plain):,.0f} pods/s without, {statistics.median(watched):,.0f} with"
    yield Bar(f"scheduling with {PAGES} open pages, of that without", ratio, "x", at_least=0.97, note=note)
    share = 100 * statistics.median(found["shares"])
    yield Bar("CPU time of console and server, of the time with pages", share, "%", at_most=4.0)
    p99 = [statistics.median(found[name]) * 1000 for name in ("plain_p99", "watched_p99")]
    note = f"{p99[0]:.2f} ms without, {p99[1]:.2f} ms with"
    yield Bar("p99 of a scheduling step with pages, of that without", p99[1] / p99[0], "x", at_most=2.0, note=note)
    answers = sorted(found["answers"])
    late = answers[int(len(answers) * 0.99)] if answers else float("inf")
    note = f"{len(answers):,} answers, p50 {statistics.median(answers or [0.0]):.2f} s, {found['refused']} refused"
    yield Bar("p99 of an answer while pods are scheduled", late, "s", at_most=10.0, note=note)
    yield Bar("first view: session, overview and map", found["first_view"], "s", at_most=1.0)
    note = f"the first one, with the study made: {found['first_decision']:.2f} s"
    yield Bar("decision view", statistics.median(found["decisions"]), "s", at_most=0.3, note=note)
    before = found["memory_before"] / _MIB
    note = f"{before:,.0f} MiB without views, {found['memory_viewed'] / _MIB - before:,.0f} more with views alone"
    yield Bar("memory of the console after all", found["memory_after"] / _MIB - before, "MiB", at_most=400, note=note)
