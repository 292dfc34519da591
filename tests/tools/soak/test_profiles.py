"""Pods of a soak, and the guest that misbehaves as their names say."""

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

import tools.soak
from kubewasp.wasm.guest import Guest
from tests import samples
from tests.wasm.calls import STATUS_OF
from tools.soak.profiles import BEHAVIOURS, FAILURES, GANG, GANG_SIZE, HOOKS, MISBEHAVING, UNSCHEDULABLE, pod_groups

GUESTS = Path(tools.soak.__file__).parent / "guests"
GUEST = GUESTS / "misbehaving.wat"
# In the order of the letters; `prefilter` reads the pod in any case.
HOOK_NAMES = ("filter", "prefilter", "score", "reserve", "permit", "prebind")
KINDS = {"b": "trap", "c": "timeout", "d": "overrun", "f": "trap", "g": "exit", "h": "timeout", "i": "timeout"}
KINDS |= {"k": "timeout", "m": "payload", "n": "overrun", "o": "trap", "p": "trap"}


class Observer:
    """Kinds of failures."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()

    def guest_call(self, plugin: str, hook: str, seconds: float, failure: str) -> None:
        self.kinds[failure] += 1

    def guest_failed(self, plugin: str, hook: str, kind: str) -> None:
        self.kinds[kind] += 1


def fate(letters: str) -> tuple[list[str], Guest]:
    """Kinds of failures of a pod with these last letters, through all hooks, none of which may reject it."""
    observer = Observer()
    limits = {"call_timeout": 0.02 if KINDS.get(letters[1]) == "timeout" else 10, "memory": 2**20}
    guest = Guest.load(GUEST, limits=limits, failure_policy="Ignore", observer=observer)
    with guest.cycle(samples.pod(f"misbehaving-17-{letters}"), samples.nodes(3)) as cycle:
        for hook in ("prefilter", "filter", "score", "reserve", "permit", "prebind"):
            assert STATUS_OF[hook](cycle).code == 0, hook
    return [kind for kind in observer.kinds if kind], guest


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_a_behaviour_has_its_failure_and_the_pod_passes(behaviour: str) -> None:
    kinds, guest = fate(f"a{behaviour}")
    assert kinds == ([KINDS[behaviour]] if behaviour in KINDS else [])
    assert guest.stats.broken == len(kinds)


@pytest.mark.parametrize("hook", HOOKS)
def test_a_pod_chooses_the_hook(hook: str) -> None:
    observed: list[str] = []
    guest = Guest.load(GUEST, name="mis", failure_policy="Fail", limits={"call_timeout": 10})
    with guest.cycle(samples.pod(f"misbehaving-17-{hook}b"), samples.nodes(3)) as cycle:
        for name in ("prefilter", *(one for one in HOOK_NAMES if one != "prefilter")):
            status = STATUS_OF[name](cycle)
            if status.code:
                observed.append(status.reason)
    assert observed[0].startswith(f"wasm: {HOOK_NAMES[HOOKS.index(hook)]} error: wasm trap")


def test_a_leaking_instance_is_replaced_before_its_limit() -> None:
    guest = Guest.load(GUESTS / "leaking.wat", limits={"memory": 2**20})
    for number in range(40):
        with guest.cycle(samples.pod(f"pod-{number}"), samples.nodes(3)) as cycle:
            assert STATUS_OF["reserve"](cycle).code == 0
    assert guest.stats.recycled >= 2
    assert guest.stats.broken == 0


def test_every_kind_of_failure_that_is_expected_occurs() -> None:
    assert set(KINDS.values()) == set(FAILURES)


def test_pods_have_names_of_their_own_and_every_behaviour_comes_soon() -> None:
    groups = list(islice(pod_groups(), 90))
    names = [manifest["metadata"]["name"] for _, manifests in groups for manifest in manifests]
    assert len(set(names)) == len(names) == 100
    letters = [name[-1] for name in names if name.startswith("misbehaving")]
    assert letters[: len(BEHAVIOURS)] == list(BEHAVIOURS)
    kinds = Counter(kind for kind, manifests in groups for _ in manifests)
    assert kinds[UNSCHEDULABLE] == 10
    assert kinds[MISBEHAVING] == 20


def test_a_gang_comes_as_a_whole() -> None:
    (gang, *_) = [manifests for kind, manifests in islice(pod_groups(), 18) if kind == GANG]
    assert len(gang) == GANG_SIZE
    (labels,) = {tuple(manifest["metadata"]["labels"].items()) for manifest in gang}
    assert dict(labels)["kubewasp.dev/gang-size"] == str(GANG_SIZE)
