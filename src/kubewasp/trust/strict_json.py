"""JSON of signatures: bounded, without duplicate or unknown fields, and with one encoding of each byte string.

The texts of errors never contain text of the document: it comes from a server.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final

from kubewasp.k8s import json_documents
from kubewasp.trust.errors import SignatureError

MAX_BYTES: Final = 1 << 20
_MAX_ITEMS: Final = 1000


class Fields:
    """An object of the document. SignatureError for a missing or wrong field; `end` refuses fields never read."""

    def __init__(self, value: Any, path: str) -> None:
        if not isinstance(value, dict):
            raise SignatureError(f"{path}: expected an object")
        self.path = path
        self._left: dict[str, Any] = dict(value)

    @classmethod
    def of_document(cls, content: bytes, name: str, *, max_bytes: int = MAX_BYTES) -> Fields:
        if len(content) > max_bytes:
            raise SignatureError(f"{name}: larger than {max_bytes} bytes")
        try:
            values = json_documents.documents(content.decode("utf-8"))
        except (UnicodeDecodeError, json_documents.JsonError):
            values = None
        if values is None or len(values) != 1:
            raise SignatureError(f"{name}: not a JSON document")
        return cls(values[0], name)

    def has(self, name: str) -> bool:
        return self._left.get(name) is not None

    def take(self, name: str) -> Any:
        return self._left.pop(name, None)

    def text(self, name: str) -> str:
        value = self.take(name)
        if not isinstance(value, str):
            raise SignatureError(f"{self.path}: {name}: expected a string")
        return value

    def optional_text(self, name: str) -> str:
        return self.text(name) if self.has(name) else self.skip(name)

    def data(self, name: str) -> bytes:
        """Bytes in base64, in their only canonical form."""
        return decoded(self.text(name), f"{self.path}: {name}")

    def fields(self, name: str) -> Fields:
        return Fields(self.take(name), f"{self.path}: {name}")

    def list_of_fields(self, name: str) -> list[Fields]:
        value = self.take(name)
        if not isinstance(value, list) or len(value) > _MAX_ITEMS:
            raise SignatureError(f"{self.path}: {name}: expected a list")
        return [Fields(item, f"{self.path}: {name}[{index}]") for index, item in enumerate(value)]

    def skip(self, *names: str) -> str:
        """Ignores fields without a meaning here; "" as their value."""
        for name in names:
            self._left.pop(name, None)
        return ""

    def end(self) -> None:
        if any(value is not None for value in self._left.values()):
            raise SignatureError(f"{self.path}: has an unknown field")


def decoded(text: str, path: str) -> bytes:
    """The bytes of canonical base64: a second text for the same bytes is refused."""
    try:
        found = base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raise SignatureError(f"{path}: expected base64") from None
    if base64.b64encode(found).decode() != text:
        raise SignatureError(f"{path}: not in the canonical form of base64")
    return found
