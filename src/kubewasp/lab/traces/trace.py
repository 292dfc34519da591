"""Pods and nodes of a trace: rows as objects of Kubernetes, in order of arrival."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

import orjson

from kubewasp.k8s.errors import quoted
from kubewasp.k8s.names import value_problems
from kubewasp.k8s.nodes import HOSTNAME
from kubewasp.lab.traces.trace_errors import NO_PLACE, Place, RowError, TraceError
from kubewasp.lab.traces.trace_map import NodeMap, PodMap
from kubewasp.lab.traces.trace_rows import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kubewasp.input_file import InputFile
    from kubewasp.lab.traces.trace_map import TraceMap
    from kubewasp.lab.traces.trace_rows import Row
    from kubewasp.lab.traces.trace_values import Value

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_MAX_NAME: Final = 253
_MAX_PLACES: Final = 3


T = TypeVar("T")
M = TypeVar("M", PodMap, NodeMap)


@dataclass(frozen=True, slots=True)
class TracePod:
    """A pod of a trace. It arrives, and ends some time after it was placed; without a duration it stays.

    `spec` and `labels` are shared by pods of one shape. `place` and `column` are those of its name.
    """

    name: str
    namespace: str
    arrival: float
    duration: float | None
    spec: Mapping[str, Any]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    place: Place = NO_PLACE
    column: str = ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(slots=True)
class BadRows:
    """Rows that were skipped: their number, and the errors of the first ones."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.count:,} bad row{'s' if self.count > 1 else ''} skipped, the first: {self.first[0]}"

    def add(self, error: RowError) -> None:
        self.count += 1
        if len(self.first) < _MAX_PLACES:
            self.first.append(str(error))


class Trace:
    """Pods of a file, and nodes of another one. A bad row is an error, or skipped and counted.

    Args:
        pods: CSV (also gzip) or Parquet, a row per pod.
        mapping: Meaning of the columns.
        nodes: A row per node; without it, nodes come from elsewhere.
        skip: Skip bad rows.
    """

    def __init__(
        self, pods: InputFile, mapping: TraceMap, nodes: InputFile | None = None, *, skip: bool = False
    ) -> None:
        if nodes is not None and mapping.nodes is None:
            raise TraceError("the map has no nodes: add them, or give the nodes as manifests")
        self._pods = pods
        self._nodes = nodes
        self._map = mapping
        self._skip = skip
        self.bad = BadRows()

    def nodes(self) -> Iterator[dict[str, Any]]:
        """Manifests of the nodes."""
        if self._nodes is None or self._map.nodes is None:
            return
        yield from self._read(self._nodes, self._map.nodes, _node_reader)

    def pods(self) -> Iterator[TracePod]:
        """Pods in the order of the file, with times from the first arrival on."""
        yield from self._read(self._pods, self._map.pods, _pod_reader)

    def _read(self, path: InputFile, mapping: M, reader_of: Callable[[M], Callable[[Row], T]]) -> Iterator[T]:
        with opened(path) as table:
            reader = reader_of(_over(mapping, table.columns, path))
            for row in table.rows:
                try:
                    if row.problem:
                        raise RowError(row.place, "", row.problem)
                    found = reader(row)
                except RowError as error:
                    if not self._skip:
                        raise
                    self.bad.add(error)
                    continue
                yield found


def in_order(pods: Iterator[TracePod], path: str) -> Iterator[TracePod]:
    """The pods, which must be sorted by arrival."""
    latest = float("-inf")
    for number, pod in enumerate(pods, 1):
        if pod.arrival < latest:
            raise TraceError(
                f"{path}: pod {number} ({pod.name}) arrives before the one above it; sort the rows by arrival, or use "
                "--sort, which reads all of them first"
            )
        latest = pod.arrival
        yield pod


def _over(mapping: M, columns: Sequence[str], path: InputFile) -> M:
    try:
        return mapping.over(columns)
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from None


# ---------------------------------------------------------------------- a row as an object

_MAX_SHAPES: Final = 100_000


def _node_reader(mapping: NodeMap) -> Callable[[Row], dict[str, Any]]:
    seen: set[str] = set()

    def read(row: Row) -> dict[str, Any]:
        name = _name(mapping.name, row)
        if name in seen:
            raise RowError(row.place, mapping.name.column, f"a node {name} is in an earlier row")
        seen.add(name)
        amounts = {key: amount for key, value in mapping.allocatable.items() if (amount := value.amount(row))}
        metadata = {
            "name": name,
            "labels": {HOSTNAME: name, **_labels(mapping.labels, row)},
            "annotations": _texts(mapping.annotations, row),
        }
        return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": amounts}}

    return read


def _pod_reader(mapping: PodMap) -> Callable[[Row], TracePod]:
    return _PodReader(mapping).read


class _PodReader:
    """Rows as pods. Specs and labels of equal rows are one object."""

    def __init__(self, mapping: PodMap) -> None:
        self._map = mapping
        self._single = mapping.single
        self._start: float | None = None
        self._number = 0
        self._specs = _Shared(
            self._spec,
            [
                *mapping.requests.values(),
                *mapping.node_selector.values(),
                *mapping.node_affinity.values(),
                *(value for name, value in mapping.single.items() if name in ("priority", "schedulerName")),
            ],
        )
        self._labels = _Shared(lambda row: _labels(mapping.labels, row), mapping.labels.values())
        self._column = mapping.single["name"].column if "name" in mapping.single else ""

    def read(self, row: Row) -> TracePod:
        self._number += 1
        at = self._seconds("arrival", row) or 0.0
        duration = self._duration(row, at)
        name = _name(self._single["name"], row) if "name" in self._single else f"pod-{self._number}"
        namespace = self._text("namespace", row) or "default"
        labels, spec = self._labels.of(row), self._specs.of(row)
        annotations = _texts(self._map.annotations, row)
        if self._start is None:
            self._start = at
        return TracePod(name, namespace, at - self._start, duration, spec, labels, annotations, row.place, self._column)

    def _duration(self, row: Row, arrival: float) -> float | None:
        duration, end = self._seconds("duration", row), self._seconds("end", row)
        if end is not None:
            start = self._seconds("start", row)
            duration = end - (arrival if start is None else start)
        if duration is not None and duration < 0:
            column = self._single["duration" if end is None else "end"].column
            raise RowError(row.place, column, "negative duration" if end is None else "the pod ends before it starts")
        return duration

    def _spec(self, row: Row) -> dict[str, Any]:
        mapping = self._map
        requests = {key: amount for key, value in mapping.requests.items() if (amount := value.amount(row))}
        spec: dict[str, Any] = {"containers": [{"name": "main", "image": "trace", "resources": {"requests": requests}}]}
        if "priority" in self._single and (priority := self._single["priority"].integer(row)) is not None:
            spec["priority"] = priority
        if scheduler := self._text("schedulerName", row):
            spec["schedulerName"] = scheduler
        if selector := _labels(mapping.node_selector, row):
            spec["nodeSelector"] = selector
        terms = [
            {"key": key, "operator": "In", "values": values}
            for key, value in mapping.node_affinity.items()
            if (values := value.texts(row))
        ]
        if terms:
            required = {"nodeSelectorTerms": [{"matchExpressions": terms}]}
            spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        return spec

    def _seconds(self, name: str, row: Row) -> float | None:
        value = self._single.get(name)
        return None if value is None else value.seconds(row)

    def _text(self, name: str, row: Row) -> str:
        value = self._single.get(name)
        return "" if value is None else value.text(row)


class _Shared:
    """Objects made of rows; those of equal rows, and equal ones, are one object."""

    def __init__(self, make: Callable[[Row], dict[str, Any]], values: Iterable[Value]) -> None:
        self._make = make
        self._columns = tuple(dict.fromkeys(column for value in values for column in value.columns))
        self._by_cells: dict[tuple[str, ...], Mapping[str, Any]] = {}
        self._by_content: dict[bytes, Mapping[str, Any]] = {}

    def of(self, row: Row) -> Mapping[str, Any]:
        cells = tuple([row.values[column] for column in self._columns])
        found = self._by_cells.get(cells)
        if found is None:
            if len(self._by_cells) >= _MAX_SHAPES:
                self._by_cells.clear()
                self._by_content.clear()
            made = self._make(row)
            found = self._by_cells[cells] = self._by_content.setdefault(orjson.dumps(made), made)
        return found


def _name(value: Value, row: Row) -> str:
    """A name of Kubernetes. Characters that it may not have become hyphens."""
    text = value.text(row)
    name = re.sub(r"[^a-z0-9.-]", "-", text.lower()).strip("-.")[:_MAX_NAME]
    if not _NAME.fullmatch(name):
        raise RowError(row.place, value.column, f"expected a name, got {quoted(text)}")
    return name


def _labels(values: Mapping[str, Value], row: Row) -> dict[str, str]:
    found = _texts(values, row)
    for key, text in found.items():
        if problems := value_problems(text):
            raise RowError(row.place, values[key].column, f"no value of a label: {quoted(text)}: {problems[0]}")
    return found


def _texts(values: Mapping[str, Value], row: Row) -> dict[str, str]:
    return {key: text for key, value in values.items() if (text := value.text(row))}
