"""What a plugin remembers of one pod, from pre_filter to post_bind."""

from __future__ import annotations

import copy
from typing import Any


class CycleState(dict[str, Any]):
    """A dict for each pod.

    While the scheduler tries out evictions it works on copies: a value with a `clone` method is copied by that, any
    other value by `copy.deepcopy`.
    """

    def clone(self) -> CycleState:
        return CycleState((key, _copied(value)) for key, value in self.items())


def _copied(value: Any) -> Any:
    clone = getattr(value, "clone", None)
    return clone() if callable(clone) else copy.deepcopy(value)
