"""Errors of manifests and protobuf bytes, and the form in which error texts show values."""

from __future__ import annotations

from typing import Any

from kubewasp.errors import KubewaspError

_SHOWN_CHARACTERS = 40


class ManifestError(KubewaspError, ValueError):
    """An invalid manifest. `source` is the file or document, `path` the field, `problem` the complaint."""

    def __init__(self, path: str, problem: str, *, source: str = "") -> None:
        super().__init__(": ".join(part for part in (source, path, problem) if part))
        self.path = path
        self.problem = problem
        self.source = source

    def at(self, source: str) -> ManifestError:
        """The same error with the file or document as its source."""
        return ManifestError(self.path, self.problem, source=source)


class WireError(KubewaspError, ValueError):
    """Bytes that are not a protobuf message of the expected type."""


def shown(value: Any) -> str:
    """The value for an error text: in JSON's terms, shortened, always printable."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, int):
        return str(value) if value.bit_length() <= 128 else "a very large integer"
    if isinstance(value, float):
        return repr(value)
    return _article(value)


def quoted(text: str) -> str:
    """The text in double quotes, shortened, with escapes for unprintable characters."""
    short = text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
    escaped = "".join(
        character if character.isprintable() and character not in '"\\' else _escape(character) for character in short
    )
    return f'"{escaped}"'


def described(value: Any) -> str:
    """The type of a value with its article: `a list`, `an object`, `a string`."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    return _article(value)


def _article(value: Any) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    return f"a Python {type(value).__name__}"


def _escape(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character.encode("unicode_escape").decode("ascii")
