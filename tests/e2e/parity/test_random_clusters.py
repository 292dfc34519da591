"""Equal decisions and texts of kube-scheduler and kubewasp on the same random clusters and pods.

PARITY=CLUSTERSxPODS sets how much is compared; every third cluster is also given to `kubewasp run` as a process.
"""

import os
from collections.abc import Iterator
from typing import Final

import pytest

from tests.e2e.parity.comparing import Tally, compare_decisions, compare_runs
from tests.e2e.parity.drawn import draw
from tests.e2e.parity.looking import LookingScheduler
from tests.e2e.parity.schedulers import Schedulers
from tests.e2e.parity.settings import profile_of

_CLUSTERS, _PODS = (int(number) for number in os.environ.get("PARITY", "24x40").split("x"))
_RUN_EVERY: Final = 3  # odd: of both kinds of profiles
_SHOWN: Final = 10


@pytest.mark.parametrize("seed", range(1, _CLUSTERS + 1))
def test_both_schedulers_decide_and_say_the_same(seed: int, schedulers: Schedulers, tally: Tally) -> None:
    differences = list(_differences(seed, schedulers, tally))
    shown = "\n".join(differences[:_SHOWN])
    assert not differences, f"{len(differences)} differences, of which nobody knows why:\n{shown}"


def _differences(seed: int, schedulers: Schedulers, tally: Tally) -> Iterator[str]:
    world, profile = schedulers.world, profile_of(seed)
    drawn = draw(seed, world.namespaces, _PODS)
    world.make(drawn)
    looking = LookingScheduler(world.listed(), profile)
    verdicts, scored = schedulers.ask_kube_scheduler(drawn.probes, profile)
    decisions = [looking.decide(verdict.probe) for verdict in verdicts]
    tally["clusters"] += 1
    for verdict, decision in zip(verdicts, decisions, strict=True):
        for text in compare_decisions(verdict, scored[verdict.key], decision, tally):
            yield f"cluster {seed}, {verdict.key[1]}: {text}"
    if seed % _RUN_EVERY:
        return
    told = schedulers.ask_kubewasp(drawn.probes, profile)
    for theirs, ours, decision in zip(verdicts, told, decisions, strict=True):
        for text in compare_runs(theirs, ours, decision, tally):
            yield f"cluster {seed}, {theirs.key[1]}, kubewasp run: {text}"
