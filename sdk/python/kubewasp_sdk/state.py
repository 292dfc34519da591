"""Cycle state: data of a plugin about one pod, from pre_filter to post_bind."""

from __future__ import annotations

import copy
from typing import Any


class CycleState(dict[str, Any]):
    """A dict per pod.

    Preemption trials work on copies: a value is copied with its `clone` method if it has one, else with
    `copy.deepcopy`.
    """

    def clone(self) -> CycleState:
        return CycleState((key, _copied(value)) for key, value in self.items())


def _copied(value: Any) -> Any:
    clone = getattr(value, "clone", None)
    return clone() if callable(clone) else copy.deepcopy(value)
