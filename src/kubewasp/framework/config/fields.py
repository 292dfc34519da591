"""Typed access to the fields of a configuration document, with all problems collected by path.

Nothing here raises, so that all problems of a file are reported at once. Fields are interpreted by `reading` and
`plugin_args`.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.framework.config.model import ConfigError, Problem
from kubewasp.k8s.duration import parse_duration
from kubewasp.k8s.errors import quoted, shown
from kubewasp.k8s.spelling import did_you_mean, nearest
from kubewasp.k8s.texts import without_middle

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_DEPTH: Final = 100
_PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_MAX_SECONDS: Final = (2**63 - 1) / 1e9
_MAX_FLOAT32: Final = 3.4028235677973366e38
_MAX_TEXT: Final = 1000  # characters of a problem's text


class Problems:
    """Collected problems. Readable but forbidden values have the texts of Kubernetes."""

    def __init__(self) -> None:
        self._found: dict[Problem, None] = {}
        self._unreadable: set[str] = set()

    def add(self, path: str, text: str) -> None:
        self._found[Problem(without_middle(path, _MAX_TEXT), without_middle(text, _MAX_TEXT))] = None

    def unreadable(self, path: str, text: str) -> None:
        """As `add`; suppresses further problems of the field and its content, because the value is unknown."""
        self.add(path, text)
        self._unreadable.add(path)

    def invalid(self, path: str, value: Any, detail: str, *, also: Sequence[str] = ()) -> None:
        """`also` are the other fields of the violated rule."""
        if all(self._is_readable(each) for each in (path, *also)):
            self.add(path, f"Invalid value: {as_json(value)}: {detail}")

    def required(self, path: str, detail: str = "") -> None:
        if self._is_readable(path):
            self.add(path, f"Required value: {detail}" if detail else "Required value")

    def duplicate(self, path: str, value: str) -> None:
        if self._is_readable(path):
            self.add(path, f"Duplicate value: {value}")

    def unsupported(self, path: str, value: str, supported: Iterable[str]) -> None:
        if self._is_readable(path):
            known = ", ".join(f'"{name}"' for name in supported)
            self.add(path, f"Unsupported value: {as_json(value)}: supported values: {known}")

    def forbidden(self, path: str, detail: str) -> None:
        self.add(path, f"Forbidden: {detail}")

    def _is_readable(self, path: str) -> bool:
        above = (path[:index] for index, character in enumerate(path) if character in ".[")
        return self._unreadable.isdisjoint((path, *above))

    def include(self, error: ConfigError) -> None:
        self._found.update(dict.fromkeys(error.problems))

    def __bool__(self) -> bool:
        return bool(self._found)

    def raise_if_any(self, source: str) -> None:
        if self._found:
            raise ConfigError(tuple(self._found), source=source)


class Section:
    """An object of the document. A null field counts as absent; a field that was never read is unknown."""

    def __init__(self, value: Any, path: str, problems: Problems) -> None:
        if value is not None and not isinstance(value, dict):
            problems.unreadable(path, f"expected an object, got {shown(value)}")
        self.path = path
        self.problems = problems
        self._fields: dict[str, Any] = value if isinstance(value, dict) else {}
        self._read: set[str] = set()

    def at(self, name: str) -> str:
        return child(self.path, name)

    def has(self, name: str) -> bool:
        return self._fields.get(name) is not None

    def names(self) -> list[str]:
        """All field names, for objects with user-defined fields."""
        return list(self._fields)

    def take(self, name: str) -> Any:
        self._read.add(name)
        return self._fields.get(name)

    def text(self, name: str, default: str = "") -> str:
        value = self.take(name)
        return default if value is None else self._text(value, self.at(name)) or ""

    def texts(self, name: str) -> list[str]:
        path = self.at(name)
        return [
            "" if item is None else self._text(item, f"{path}[{index}]") or ""
            for index, item in enumerate(self._list(name))
        ]

    def boolean(self, name: str, default: bool = False) -> bool:
        value = self.take(name)
        if value is None or isinstance(value, bool):
            return default if value is None else value
        self._refuse(name, "true or false", value)
        return default

    def integer(self, name: str, default: int = 0, *, bits: int = 32) -> int:
        value = self.optional_integer(name, bits=bits)
        return default if value is None else value

    def optional_integer(self, name: str, *, bits: int = 32) -> int | None:
        value = self.take(name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # 16.0 in YAML is 16 in JSON
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            self._refuse(name, "an integer", value)
            return None
        if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            self._refuse(name, f"a {bits}-bit integer", value)
            return None
        return value

    def number(self, name: str, default: float = 0.0) -> float:
        value = self.take(name)
        if value is None:
            return default
        if not isinstance(value, int | float) or isinstance(value, bool):
            self._refuse(name, "a number", value)
            return default
        if not -_MAX_FLOAT32 <= value <= _MAX_FLOAT32:
            self._refuse(name, "a 32-bit number", value)
            return default
        return float(value)

    def seconds(self, name: str, default: float = 0.0) -> float:
        """A duration such as 1m30s."""
        value = self.take(name)
        if value is None:
            return default
        try:
            seconds = parse_duration(value) if isinstance(value, str) else None
        except ValueError:
            seconds = None
        if seconds is None or abs(seconds) > _MAX_SECONDS:
            self._refuse(name, "a duration such as 500ms or 1m30s", value)
            return default
        return seconds

    def base64_bytes(self, name: str) -> bytes:
        """Bytes in base64."""
        value = self.take(name)
        try:
            return b"" if value is None else base64.b64decode(value.encode("ascii"), validate=True)
        except (AttributeError, UnicodeEncodeError, binascii.Error):
            # The value may be a private key, so it is not shown.
            self.problems.unreadable(self.at(name), "expected base64 text")
            return b""

    def section(self, name: str) -> Section:
        return Section(self.take(name), self.at(name), self.problems)

    def sections(self, name: str) -> list[Section]:
        path = self.at(name)
        return [Section(item, f"{path}[{index}]", self.problems) for index, item in enumerate(self._list(name))]

    def mapping(self, name: str) -> dict[str, Any]:
        """An object of any content, unchanged."""
        inner = self.section(name)
        inner.check_plain()
        return dict(inner._fields)

    def everything(self) -> dict[str, Any]:
        """All fields, unchanged."""
        self.check_plain()
        self._read.update(self._fields)
        return dict(self._fields)

    def check_plain(self) -> None:
        """Reports values that cannot be serialized: endless nesting, text that is not Unicode."""
        problem = _unprintable(self._fields)
        if problem:
            self.problems.unreadable(self.path, problem)

    def refuse_unknown(self) -> None:
        """Reports fields that were never read. Call it last."""
        for name in self._fields:
            if name not in self._read:
                hint = did_you_mean(nearest(name, self._read))
                self.problems.unreadable(self.at(name), f"unknown field{hint}")

    def _list(self, name: str) -> list[Any]:
        value = self.take(name)
        if value is None or isinstance(value, list):
            return value or []
        self._refuse(name, "a list", value)
        return []

    def _text(self, value: Any, path: str) -> str | None:
        if not isinstance(value, str):
            self.problems.unreadable(path, f"expected a string, got {shown(value)}")
            return None
        if not _is_unicode(value):
            self.problems.unreadable(path, f"expected valid Unicode text, got {shown(value)}")
            return None
        return value

    def _refuse(self, name: str, expected: str, value: Any) -> None:
        self.problems.unreadable(self.at(name), f"expected {expected}, got {shown(value)}")


def child(path: str, name: str) -> str:
    """The path of a field; an unusual name is quoted."""
    if not _PLAIN_KEY.fullmatch(name):
        return f"{path}[{quoted(name)}]"
    return f"{path}.{name}" if path else name


def as_json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _unprintable(value: Any) -> str:
    level = [value]
    for _ in range(MAX_DEPTH):
        following: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                following += [*item, *item.values()]
            elif isinstance(item, list):
                following += item
            elif isinstance(item, str) and not _is_unicode(item):
                return f"expected valid Unicode text, got {shown(item)}"
            elif isinstance(item, int) and not -(2**63) <= item < 2**64:
                return f"expected a 64-bit integer, got {shown(item)}"
        if not following:
            return ""
        level = following
    return f"nested more than {MAX_DEPTH} deep"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
