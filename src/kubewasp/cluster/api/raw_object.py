"""An object as the API server sent it: bytes, and the few fields of its metadata that tell it from others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubewasp.cluster.api.spans import spans
from kubewasp.k8s.codec import decode_message, unwrap_unknown
from kubewasp.k8s.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Fields of every object, of ObjectMeta and of every list.
_METADATA: Final = 1
_ITEMS: Final = 2
_NAME, _NAMESPACE, _UID, _RESOURCE_VERSION = 1, 3, 5, 6
_WANTED: Final = frozenset((_NAME, _NAMESPACE, _UID, _RESOURCE_VERSION))


class RawObject:
    """The protobuf bytes of an object; its metadata is read when it is first asked for."""

    __slots__ = ("_metadata", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._metadata: dict[int, str] | None = None

    @property
    def name(self) -> str:
        return self._read(_NAME)

    @property
    def namespace(self) -> str:
        return self._read(_NAMESPACE)

    @property
    def uid(self) -> str:
        return self._read(_UID)

    @property
    def resource_version(self) -> str:
        return self._read(_RESOURCE_VERSION)

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name: what an object of a kind is known by."""
        return self.namespace, self.name

    def __repr__(self) -> str:
        return f"RawObject({'/'.join(filter(None, self.key))}, {len(self.data)} bytes)"

    def _read(self, field: int) -> str:
        if self._metadata is None:
            self._metadata = dict(_metadata(self.data))
        return self._metadata.get(field, "")


def _metadata(data: bytes) -> Iterator[tuple[int, str]]:
    for number, start, end in spans(data, 0, len(data)):
        if number != _METADATA:
            continue
        for field, begin, until in spans(data, start, end):
            if field > _RESOURCE_VERSION:
                return  # the server writes fields in the order of their numbers; the long ones follow
            if field in _WANTED:
                try:
                    yield field, data[begin:until].decode()
                except UnicodeDecodeError:
                    raise WireError("metadata is not UTF-8") from None
        return


class Page:
    """One answer to a list request: items, the version they were read at, and the token for the next page."""

    __slots__ = ("continue_token", "items", "resource_version")

    def __init__(self, body: bytes) -> None:
        _, kind, data = unwrap_unknown(body)
        if not kind.endswith("List"):
            raise WireError(f"expected a list, found {kind}")
        metadata: dict[str, str] = {}
        self.items: list[RawObject] = []
        for number, start, end in spans(data, 0, len(data)):
            if number == _ITEMS:
                self.items.append(RawObject(data[start:end]))
            elif number == _METADATA:
                metadata = decode_message("apis.meta.v1.ListMeta", data[start:end])
        self.resource_version = metadata.get("resourceVersion", "")
        self.continue_token = metadata.get("continue", "")
        if not self.resource_version:
            raise WireError("a list without a resourceVersion")
