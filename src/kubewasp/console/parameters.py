"""Query parameters of the API: declared by each endpoint, read strictly, bounded."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubewasp.errors import KubewaspError
from kubewasp.framework.config.changes import MAX_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LIMIT: Final = 100
MOST: Final = 1000
_LONGEST: Final = 4096
_MOST_NAMES: Final = 100
_NUMBER: Final = re.compile(r"\d{1,15}", re.ASCII)


class ParameterError(KubewaspError):
    """A parameter that cannot be used."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters of one request, and the parts of its path."""

    given: Mapping[str, str]
    path: Mapping[str, str]

    @classmethod
    def read(cls, pairs: Sequence[tuple[str, str]], allowed: Sequence[str], path: Mapping[str, str]) -> Parameters:
        given: dict[str, str] = {}
        for name, value in pairs:
            if name not in allowed:
                known = ", ".join(allowed) if allowed else "none"
                raise ParameterError(f"unknown parameter {name[:100]!r}; known here: {known}")
            if name in given:
                raise ParameterError(f"{name} is given twice")
            if len(value) > _LONGEST:
                raise ParameterError(f"{name} is longer than {_LONGEST} characters")
            given[name] = value
        return cls(given, path)

    def text(self, name: str) -> str:
        return self.given.get(name, "")

    def choice(self, name: str, choices: Sequence[str], default: str = "") -> str:
        found = self.given.get(name, default)
        if found and found not in choices:
            raise ParameterError(f"{name}: expected one of {', '.join(filter(None, choices))}, got {found[:100]!r}")
        return found

    def number(self, name: str, default: int | None = None) -> int | None:
        text = self.given.get(name)
        if text is None or (not text and default is not None):
            return default
        if not _NUMBER.fullmatch(text):
            raise ParameterError(f"{name}: expected an integer from 0 on, got {text[:100]!r}")
        return int(text)

    @property
    def at(self) -> int | None:
        return self.number("at")

    def limit(self, most: int = MOST) -> int:
        found = self.number("limit", LIMIT) or 0
        if not 1 <= found <= most:
            raise ParameterError(f"limit: expected an integer from 1 to {most}, got {found}")
        return found

    @property
    def after(self) -> int:
        return self.number("after", 0) or 0

    def names(self, name: str) -> list[str]:
        """Values separated by commas."""
        found = [item for item in self.text(name).split(",") if item]
        if len(found) > _MOST_NAMES:
            raise ParameterError(f"{name}: at most {_MOST_NAMES} values")
        return found

    def weights(self) -> dict[str, int]:
        """`Plugin:2,Other:0`."""
        found: dict[str, int] = {}
        for item in self.names("weights"):
            plugin, colon, number = item.rpartition(":")
            if not colon or not plugin or not _NUMBER.fullmatch(number) or int(number) > MAX_WEIGHT:
                raise ParameterError(f"weights: expected PLUGIN:WEIGHT with a weight from 0 to {MAX_WEIGHT}")
            found[plugin] = int(number)
        return found
