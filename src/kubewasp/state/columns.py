"""Growable numpy columns, one value per row: writable inside the tables, read-only for readers.

HOT PATH (guard: make counts). A read-only view costs nothing to read; it is made anew only when a column grows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from kubewasp.k8s.resources import Resources

Value = TypeVar("Value", bound=np.generic)
ABSENT = 0


def read_only(values: NDArray[Value]) -> NDArray[Value]:
    """A view that cannot be written to."""
    view = values.view()
    view.setflags(write=False)
    return view


class Column(Generic[Value]):
    """One column. `own` is for its owner, `view` for everybody else; both are replaced by `grow`."""

    __slots__ = ("own", "view")

    def __init__(self, kind: type[Value], capacity: int = 0) -> None:
        self.own: NDArray[Value] = np.zeros(capacity, kind)
        self.view = read_only(self.own)

    def grow(self, capacity: int) -> NDArray[Value]:
        """Adds zeros up to the capacity; returns the new view."""
        grown = np.zeros(capacity, self.own.dtype)
        grown[: len(self.own)] = self.own
        self.own = grown
        self.view = read_only(grown)
        return self.view


class ResourceColumns:
    """Amounts of resources, one column per resource. `views` is updated in place and may be kept."""

    def __init__(self, names: Iterable[str]) -> None:
        self._capacity = 0
        self.own: dict[str, NDArray[np.int64]] = {}
        self.views: dict[str, NDArray[np.int64]] = {}
        for name in names:
            self.column(name)

    def column(self, name: str) -> NDArray[np.int64]:
        """The writable column of a resource; new resources begin at zero."""
        found = self.own.get(name)
        if found is None:
            found = self.own[name] = np.zeros(self._capacity, np.int64)
            self.views[name] = read_only(found)
        return found

    def amounts(self, name: str) -> NDArray[np.int64]:
        """The view of a resource; zeros for an unknown one."""
        found = self.views.get(name)
        return np.zeros(self._capacity, np.int64) if found is None else found

    def set_row(self, row: int, resources: Resources) -> None:
        for name in resources.scalars:
            self.column(name)
        for name, column in self.own.items():
            column[row] = resources.get(name)

    def clear_row(self, row: int) -> None:
        for column in self.own.values():
            column[row] = 0

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        for name, column in self.own.items():
            grown = self.own[name] = np.zeros(capacity, np.int64)
            grown[: len(column)] = column
            self.views[name] = read_only(grown)


class LabelColumn:
    """The values of one label: `ids` has a number per row, `ABSENT` for nodes without it; `values[n]` is the text."""

    def __init__(self, capacity: int) -> None:
        self._column = Column(np.int32, capacity)
        self.ids: NDArray[np.int32] = self._column.view
        self.values: list[str] = [""]
        self._numbers: dict[str, int] = {}

    def set(self, row: int, value: str | None) -> None:
        self._column.own[row] = ABSENT if value is None else self.number(value)

    def grow(self, capacity: int) -> None:
        self.ids = self._column.grow(capacity)

    def find(self, value: str) -> int:
        """The number of a value; -1 if no node has had it."""
        return self._numbers.get(value, -1)

    def number(self, value: str) -> int:
        """The number of a value, a new one if needed."""
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self.values)
            self.values.append(value)
        return number
