"""The errors of this layer: a manifest a user wrote wrongly, and bytes that are not what they claim to be."""

from __future__ import annotations

from typing import Any

_SHOWN_CHARACTERS = 40


class ManifestError(ValueError):
    """Something in a manifest is wrong: `source` says which document, `path` which field, `problem` what about it."""

    def __init__(self, path: str, problem: str, *, source: str = "") -> None:
        super().__init__(": ".join(part for part in (source, path, problem) if part))
        self.path = path
        self.problem = problem
        self.source = source

    def at(self, source: str) -> ManifestError:
        """The same error, found in the named file or document."""
        return ManifestError(self.path, self.problem, source=source)


class WireError(ValueError):
    """Bytes are not the protobuf message they were said to be."""


def shown(value: Any) -> str:
    """A value as an error message may show it: in JSON's terms, short, and printable whatever it holds."""
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
    """Text in double quotes, shortened, with escapes for whatever cannot be printed."""
    short = text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
    escaped = "".join(
        character if character.isprintable() and character not in '"\\' else _escape(character) for character in short
    )
    return f'"{escaped}"'


def described(value: Any) -> str:
    """What sort of thing a value is: `a list`, `an object`, `a string`."""
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
