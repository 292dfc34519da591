"""An object as the API server sent it: bytes, and the few fields of its metadata that tell it from others."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.message import DecodeError

from kubewasp.apiserver.spans import spans
from kubewasp.k8s.codec import decode_message, unwrap_unknown
from kubewasp.k8s.errors import WireError
from kubewasp.k8s.schema import message_class

# Fields of every object and of every list.
_METADATA: Final = 1
_ITEMS: Final = 2


class RawObject:
    """The protobuf bytes of an object; its metadata is read when it is first asked for."""

    __slots__ = ("_known", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._known: tuple[str, str, str, str] | None = None

    @property
    def namespace(self) -> str:
        return self._metadata()[0]

    @property
    def name(self) -> str:
        return self._metadata()[1]

    @property
    def uid(self) -> str:
        return self._metadata()[2]

    @property
    def resource_version(self) -> str:
        return self._metadata()[3]

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name: what an object of a kind is known by."""
        return self._metadata()[:2]

    def __repr__(self) -> str:
        return f"RawObject({'/'.join(filter(None, self.key))}, {len(self.data)} bytes)"

    def _metadata(self) -> tuple[str, str, str, str]:
        if self._known is None:
            found = _object_meta(self.data)
            self._known = (found.namespace, found.name, found.uid, found.resourceVersion)
        return self._known


def _object_meta(data: bytes) -> Any:
    meta_class: Any = message_class("apis.meta.v1.ObjectMeta")
    for number, start, end in spans(data, 0, len(data)):
        if number == _METADATA:
            try:
                return meta_class.FromString(data[start:end])
            except (DecodeError, UnicodeDecodeError):
                raise WireError("apis.meta.v1.ObjectMeta: not a valid protobuf message") from None
    return meta_class()


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
