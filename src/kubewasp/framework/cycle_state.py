"""What plugins remember of a pod between extension points of one scheduling cycle."""

from __future__ import annotations

from typing import Any


class CycleState:
    """A dictionary by plugin. `clone` gives a state for a trial whose changes do not come back.

    A value that AddPod and RemovePod change in place needs a method `clone`; others are in the clones as they are. What
    a plugin shares is one and the same in all clones, even if it was made in one of them.
    """

    __slots__ = ("_shared", "_until_chosen", "_values", "is_sampled", "skip_filter", "skip_score")

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._shared: dict[str, Any] = {}
        self._until_chosen: list[str] = []
        self.skip_filter: set[str] = set()
        self.skip_score: set[str] = set()
        self.is_sampled = False  # whether metrics are told of each plugin

    def __setitem__(self, plugin: str, value: Any) -> None:
        self._values[plugin] = value

    def __getitem__(self, plugin: str) -> Any:
        return self._values[plugin]

    def get(self, plugin: str) -> Any:
        return self._values.get(plugin)

    def __contains__(self, plugin: str) -> bool:
        return plugin in self._values

    def share(self, plugin: str, value: Any, *, until_chosen: bool = False) -> None:
        """A value for all clones; one that is needed only `until_chosen` is closed once the pod has a node, or none."""
        self._shared[plugin] = value
        if until_chosen:
            self._until_chosen.append(plugin)

    def shared(self, plugin: str) -> Any:
        return self._shared.get(plugin)

    def chosen(self) -> None:
        """The scheduling cycle is over: what only that needed is given back, however long binding takes."""
        while self._until_chosen:
            self._shared.pop(self._until_chosen.pop()).close()

    def close(self) -> None:
        """The pod is bound, or has failed: values that hold something give it back."""
        for values in (self._shared, self._values):
            for value in values.values():
                close = getattr(value, "close", None)  # asking for a protocol takes ten times as long
                if close is not None:
                    close()
            values.clear()
        self._until_chosen.clear()

    def clone(self) -> CycleState:
        copy = CycleState()
        copy._values = {name: _cloned(value) for name, value in self._values.items()}
        copy._shared = self._shared
        copy._until_chosen = self._until_chosen
        copy.skip_filter = set(self.skip_filter)
        copy.skip_score = set(self.skip_score)
        copy.is_sampled = self.is_sampled
        return copy


def _cloned(value: Any) -> Any:
    clone = getattr(value, "clone", None)
    return value if clone is None else clone()
