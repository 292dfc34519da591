"""State of one scheduling attempt, shared between the extension points of its plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kubewasp.framework.binding_annotations import NO_ANNOTATIONS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Value = TypeVar("Value")


class StateKey(str, Generic[Value]):
    """A key of a cycle state with the type of its value. Keys are compared by name: begin it with the plugin's.

    >>> DIGIT = StateKey[int]("NodeNumber")
    >>> state = CycleState()
    >>> state[DIGIT] = 7
    >>> state[DIGIT]
    7
    """

    __slots__ = ()


class CycleState:
    """Values by key. `clone` gives a state for a trial whose changes stay in the clone.

    A value that AddPod and RemovePod change in place needs a method `clone`; other values are the same object in all
    clones. Shared values are the same in all clones, also those shared by a clone. A value with a method `close` is
    closed at the end of the attempt.
    """

    __slots__ = (
        *("_shared", "_until_chosen", "_values", "annotations", "is_sampled", "kept_scores"),
        *("skip_filter", "skip_score"),
    )

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._shared: dict[str, Any] = {}
        self._until_chosen: list[str] = []
        self.skip_filter: set[str] = set()
        self.skip_score: set[str] = set()
        self.annotations = NO_ANNOTATIONS  # of Reserve and PreBind; they go with the binding
        self.is_sampled = False  # metrics of each plugin call
        # The plugins whose weighted scores are kept, for a comparison; None by default.
        self.kept_scores: dict[str, NDArray[np.int64]] | None = None

    def __setitem__(self, key: StateKey[Value], value: Value) -> None:
        self._values[key] = value

    def __getitem__(self, key: StateKey[Value]) -> Value:
        found: Value = self._values[key]
        return found

    def get(self, key: StateKey[Value]) -> Value | None:
        return self._values.get(key)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def share(self, key: StateKey[Value], value: Value, *, until_chosen: bool = False) -> None:
        """Sets a value for all clones; with `until_chosen` it is closed once a node is chosen, or none."""
        self._shared[key] = value
        if until_chosen:
            self._until_chosen.append(key)

    def shared(self, key: StateKey[Value]) -> Value | None:
        return self._shared.get(key)

    def chosen(self) -> None:
        """Closes the values shared `until_chosen`: the scheduling cycle is over, binding may take long."""
        while self._until_chosen:
            self._shared.pop(self._until_chosen.pop()).close()

    def close(self) -> None:
        """Closes all values: the pod is bound, or has failed."""
        for values in (self._shared, self._values):
            for value in values.values():
                close = getattr(value, "close", None)  # isinstance with a protocol takes ten times as long
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
