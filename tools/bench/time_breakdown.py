"""Time breakdown of a guest cycle, in microseconds, by temporary timers around host functions (forms/watching.py).

The parts:

crossing    calls into the sandbox and back: the time of the same calls of an empty guest
copying     writes of nodes, pod and rows into guest-readable memory. A component gets texts instead: the time of an
            empty component for texts of the same length, less the crossing
decoding    creation of texts for a component and reading of its answers; in a first cycle also the additional time of
            the guest against a later one, in which it decodes the nodes
guest       the remaining time in the sandbox
collecting  conversion of answers into arrays, reasons and statuses
other       the whole cycle less all of these: states, locks, time limit, instance pool

A whole unchanged cycle is timed without timers inside, by turns with timed ones. Parts are differences: small ones may
be slightly negative.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Final

from wasmtime import wat2wasm

from kubewasp.wasm.component import answers
from kubewasp.wasm.component.component_instance import ComponentInstance
from kubewasp.wasm.component.component_module import load_component
from kubewasp.wasm.component.session import ComponentSession
from kubewasp.wasm.core.adapter_memory import AdapterMemory
from kubewasp.wasm.core.call_output import CallOutput
from kubewasp.wasm.core.core_inputs import CoreInputs
from kubewasp.wasm.core.shared_nodes import SharedNodes
from kubewasp.wasm.ffi import AdapterCall
from kubewasp.wasm.guest_cycle import GuestCycle
from kubewasp.wasm.guest_runner import GuestSettings
from kubewasp.wasm.hook_caller import HookCaller
from kubewasp.wasm.limits import Limits
from kubewasp.wasm.plugin import WasmPlugin
from kubewasp.wasm.pod_cycles import PodCycles
from tools.bench import guests
from tools.bench.forms import empty_guests
from tools.bench.forms.catalogue import GUESTS
from tools.bench.forms.watching import Point, Watch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.bench.forms.guest import GuestForm
    from tools.bench.policies.clusters import Cluster

    Parts = dict[str, float]

PARTS: Final = ("crossing", "copying", "decoding", "guest", "collecting", "other")
_WARM: Final = 5
_ROUNDS: Final = 25
POINTS: Final = (
    Point(CoreInputs, "set_value", "copying"),
    Point(AdapterMemory, "list_rows", "copying"),
    Point(SharedNodes, "sync", "copying"),
    *(Point(ComponentSession, name, "decoding") for name in ("_send", "_changes", "_answer")),
    Point(AdapterCall, "__call__", "call"),
    *(Point(CallOutput, name, "collecting") for name in ("finish", "read_batch", "read_rest")),
    *(Point(answers, name, "collecting") for name in ("take_one", "take_rows", "take_remarks")),
    *(Point(WasmPlugin, name, "collecting") for name in ("filter", "pre_score", "score", "normalize")),
    # The own time of these belongs to `other`.
    *(Point(HookCaller, name, "other") for name in ("call_rows", "call")),
    Point(GuestCycle, "prescore_rows", "other"),
    Point(PodCycles, "cycle", "other"),
)


def measure(language: str, policy: str, cluster: Cluster) -> dict[str, Parts]:
    """Parts of a first and of an unchanged cycle."""
    found = _Recorded.of(GUESTS[language](policy, cluster))
    if GUESTS[language].is_component:
        replayed = {kind: _replayed(texts) for kind, texts in found.texts.items()}
        crossing, copying = ({kind: both[which] for kind, both in replayed.items()} for which in range(2))
        return found.divided(crossing, copying)
    wasm = guests.assembled(f"empty-{policy}", empty_guests.module(policy))
    empty = _Recorded.of(GUESTS[language](policy, cluster, wasm=wasm))
    return found.divided({kind: parts["call"] for kind, parts in empty.parts.items()}, dict.fromkeys(empty.parts, 0.0))


class _Recorded:
    """Cycles of one form: whole time and timers by kind of cycle, and the texts of a component."""

    def __init__(self) -> None:
        self.whole: dict[str, float] = {}
        self.parts: dict[str, Parts] = {}
        self.texts: dict[str, list[tuple[str, int]]] = {}

    @classmethod
    def of(cls, form: GuestForm) -> _Recorded:
        recorded = cls()
        form.prepare()
        form.load()
        texts: list[tuple[str, int]] = []

        def note(answer: str, _instance: object, request: str, **_: object) -> int:
            texts.append((request, len(answer.encode())))
            return 0

        watch = Watch((*POINTS, Point(ComponentInstance, "exchange", "call", note)))
        recorded.whole["first"], recorded.parts["first"] = _watched(form, watch, 0)
        recorded.texts["first"] = texts.copy()
        for number in range(1, _WARM):
            form.cycle(number)
        whole, parts = [], []
        for number in range(_ROUNDS):
            whole.append(_seconds(form, number))
            texts.clear()
            parts.append(_watched(form, watch, number)[1])
        recorded.whole["unchanged"] = statistics.median(whole)
        recorded.parts["unchanged"] = {
            part: statistics.median(one.get(part, 0.0) for one in parts) for part in {*parts[0], *parts[-1]}
        }
        recorded.texts["unchanged"] = texts.copy()
        form.close()
        return recorded

    def divided(self, crossing: Parts, copying: Parts) -> dict[str, Parts]:
        """All parts in microseconds, by kind of cycle; their sum is the whole. Arguments are in seconds."""
        inside = {kind: told["call"] - crossing[kind] - copying[kind] for kind, told in self.parts.items()}
        found = {}
        for kind, told in self.parts.items():
            taking_in = max(inside[kind] - inside["unchanged"], 0.0)
            seconds = {
                "crossing": crossing[kind],
                "copying": told.get("copying", 0.0) + copying[kind],
                "decoding": told.get("decoding", 0.0) + taking_in,
                "guest": inside[kind] - taking_in,
                "collecting": told["collecting"],
            }
            seconds["other"] = self.whole[kind] - sum(seconds.values())
            found[kind] = {part: value * 1e6 for part, value in seconds.items()}
        return found


def _watched(form: GuestForm, watch: Watch, pod: int) -> tuple[float, Parts]:
    watch.clear()
    with watch:
        seconds = _seconds(form, pod)
    return seconds, dict(watch.seconds)


def _seconds(form: GuestForm, pod: int) -> float:
    began = time.perf_counter()
    form.cycle(pod)
    return time.perf_counter() - began


def _replayed(texts: Sequence[tuple[str, int]]) -> tuple[float, float]:
    """Time of an empty component for as many calls, and the additional time for texts of that length."""
    crossing = _exchanges([("{}", 2)]) * len(texts)
    return crossing, max(_exchanges(texts) - crossing, 0.0)


def _exchanges(texts: Sequence[tuple[str, int]]) -> float:
    seconds = 0.0
    for request, answer in texts:
        text = empty_guests.component(len(request.encode()), answer)
        program = load_component(bytes(wat2wasm(text)), Limits(), use_cache=False)
        instance = ComponentInstance(program, Limits(), GuestSettings("empty"))
        spent = []
        for _ in range(_ROUNDS if len(request) < 100_000 else 3):
            began = time.perf_counter()
            instance.exchange(request, hook="score", seconds=Limits().call_timeout)
            spent.append(time.perf_counter() - began)
        seconds += statistics.median(spent)
    return seconds
