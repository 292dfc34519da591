"""Surroundings of a replayed scheduler: recorded time, random numbers and results in place of a cluster's."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final

from kubewasp.framework.plugin import BindPlugin, PermitPlugin, QueueSortPlugin
from kubewasp.framework.runtime import Framework
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.live.recording.entries import read_status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.framework.cycle_state import CycleState
    from kubewasp.k8s.pods import Pod

_WAIT: Final = Status(Code.WAIT)
_FOREVER: Final = 1e9


class ReplayClock:
    """Clock of the recorded turns."""

    def __init__(self) -> None:
        self._now = self._wall = 0.0

    def set(self, now: float, wall: float) -> None:
        self._now, self._wall = now, wall

    def now(self) -> float:
        return self._now

    def wall(self) -> float:
        return self._wall


class RecordedNotes:
    """Notes on the turn under way: random numbers drawn, results of writes, pods evicted."""

    def __init__(self) -> None:
        self._notes: dict[str, list[Any]] = {}

    def set(self, notes: Mapping[str, Any] | None) -> None:
        self._notes = {name: list(values) for name, values in (notes or {}).items()}

    def next(self, name: str) -> Any:
        """The next value of that name; None if there is none left."""
        values = self._notes.get(name)
        return values.pop(0) if values else None


class ReplayedRandom(random.Random):
    """The random numbers of the recording; further ones if a turn needs more."""

    def __init__(self, seed: int, notes: RecordedNotes) -> None:
        super().__init__(seed)
        self._notes = notes

    def getrandbits(self, k: int, /) -> int:
        found = self._notes.next("bits")
        return super().getrandbits(k) if found is None else int(found) & ((1 << k) - 1)

    def random(self) -> float:
        found = self._notes.next("floats")
        return super().random() if found is None else float(found)


class ReplayedClient:
    """Client of a replayed scheduler: nothing is written; results come with later turns, as they did."""

    def __init__(self, notes: RecordedNotes) -> None:
        self._notes = notes
        self.evicted: list[Pod] = []

    def bind(self, pod: Pod, node: str, annotations: Mapping[str, str] | None = None) -> Status:  # noqa: ARG002
        return _WAIT

    def update(self, manifest: Mapping[str, Any]) -> Status:  # noqa: ARG002 - interface
        found = self._notes.next("updates")
        return SUCCESS if found is None else read_status(found)

    def evict(self, victims: Sequence[Pod], preemptor: Pod, node: str) -> Status:  # noqa: ARG002 - interface
        self.evicted += victims
        return _WAIT

    def take_evicted(self) -> list[Pod]:
        found, self.evicted = self.evicted, []
        return found


class Follower(QueueSortPlugin, PermitPlugin, BindPlugin):
    """The plugin of pods that follow the recording: they wait and are bound as they were."""

    name = "recording"

    def __init__(self) -> None:
        self.waiting: set[str] = set()

    def sort_key(self, pod: Pod, queued_at: float) -> tuple[int, float]:
        return -pod.priority, queued_at

    def permit(self, state: CycleState, pod: Pod, node: str) -> tuple[Status, float]:  # noqa: ARG002 - interface
        return (_WAIT, _FOREVER) if pod.uid in self.waiting else (SUCCESS, 0.0)

    def bind(self, state: CycleState, pod: Pod, node: str) -> Status:  # noqa: ARG002 - interface
        return _WAIT

    def framework(self, profile: str) -> Framework:
        return Framework(profile, {point: [(self, 0)] for point in ("queueSort", "permit", "bind")})
