"""What plugins remember of a pod between extension points of one scheduling cycle."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Cloneable(Protocol):
    """A value that is changed in place by AddPod and RemovePod, and so needs a copy for a trial."""

    def clone(self) -> Any: ...


@runtime_checkable
class Closeable(Protocol):
    """A value that holds something which others need."""

    def close(self) -> None: ...


class CycleState:
    """A dictionary by plugin. `clone` gives a state for a trial whose changes do not come back.

    What a plugin shares is one and the same in all clones, even if it was made in one of them.
    """

    __slots__ = ("_shared", "_values", "is_sampled", "skip_filter", "skip_score")

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._shared: dict[str, Any] = {}
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

    def share(self, plugin: str, value: Any) -> None:
        self._shared[plugin] = value

    def shared(self, plugin: str) -> Any:
        return self._shared.get(plugin)

    def close(self) -> None:
        """The pod is bound, or has failed: values that hold something give it back."""
        for values in (self._shared, self._values):
            for value in values.values():
                if isinstance(value, Closeable):
                    value.close()
            values.clear()

    def clone(self) -> CycleState:
        copy = CycleState()
        copy._values = {
            name: value.clone() if isinstance(value, Cloneable) else value for name, value in self._values.items()
        }
        copy._shared = self._shared
        copy.skip_filter = set(self.skip_filter)
        copy.skip_score = set(self.skip_score)
        copy.is_sampled = self.is_sampled
        return copy
