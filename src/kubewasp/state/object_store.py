"""Store of the objects that plugins look up by name: all kinds but nodes and pods, with change listeners."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from kubewasp.state.object_kinds import CLUSTER_SCOPED, KINDS, ObjectKind

Stored = TypeVar("Stored")
Key = tuple[str, str]  # namespace (empty for cluster-scoped kinds) and name
Listener = Callable[[str, object | None, object | None], None]


class ObjectStore:
    """Parsed objects by kind, namespace and name.

    Lookups take an `ObjectKind` and return its type; `generation(kind)` moves with every change of that kind.
    """

    def __init__(self) -> None:
        self._objects: dict[str, dict[Key, Any]] = {name: {} for name in KINDS}
        self._generations: dict[str, int] = dict.fromkeys(KINDS, 0)
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> None:
        """Calls the listener after each change with the kind's name, the old and the new object (one may be None)."""
        self._listeners.append(listener)

    def put(self, manifest: Mapping[str, Any]) -> object:
        """Adds or replaces the object of a valid manifest; returns it parsed."""
        kind = KINDS[str(manifest.get("kind"))]
        return self.put_parsed(kind, kind.key(manifest), kind.parse(manifest))

    def put_parsed(self, kind: ObjectKind[Stored], key: Key, parsed: Stored) -> Stored:
        """Adds or replaces a parsed object."""
        objects = self._objects[kind.name]
        before = objects.get(key)
        objects[key] = parsed
        self._changed(kind.name, before, parsed)
        return parsed

    def delete(self, kind: str, namespace: str, name: str) -> None:
        """Removes an object, if present. The namespace of a cluster-scoped object is ignored."""
        before = self._objects.get(kind, {}).pop(("" if kind in CLUSTER_SCOPED else namespace, name), None)
        if before is not None:
            self._changed(kind, before, None)

    def get(self, kind: ObjectKind[Stored], name: str, namespace: str = "") -> Stored | None:
        found: Stored | None = self._objects[kind.name].get((namespace, name))
        return found

    def has(self, kind: str, name: str, namespace: str = "") -> bool:
        """Lookup by the name of a kind, which may be unknown here."""
        return (namespace, name) in self._objects.get(kind, {})

    def all(self, kind: ObjectKind[Stored]) -> Iterable[Stored]:
        return self._objects[kind.name].values()

    def generation(self, kind: ObjectKind[object]) -> int:
        return self._generations[kind.name]

    def copy(self) -> dict[str, dict[Key, object]]:
        """All parsed objects by kind. Safe from any thread."""
        return {kind: dict(objects) for kind, objects in list(self._objects.items())}

    def _changed(self, kind: str, before: object | None, after: object | None) -> None:
        self._generations[kind] += 1
        for listener in self._listeners:
            listener(kind, before, after)
