"""Patterns of guest sources in a trust policy: a prefix of an address, `*` for a part of it; the most specific wins."""

from __future__ import annotations

import os
import posixpath
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from urllib.parse import unquote

STANDARD_INPUT: Final = "-"
MAX_PATTERN: Final = 1000
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)")
_FILE: Final = re.compile(r"file:(?://)?", re.IGNORECASE)
# The end of a pattern is that of a part of the address: oci://host/team is not oci://host/team-of-others.
_BOUNDARY: Final = r"(?=$|[/:@])"


@dataclass(frozen=True)
class SourcePattern:
    """A pattern such as `oci://registry.example.com/policies/`, `https://*.example.com/` or `file:///etc/policies`."""

    text: str

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        text = canonical_source(self.text)
        is_open = self.text.endswith("/")
        literal = (re.escape(part) for part in (text.rstrip("/") + "/" if is_open else text).split("*"))
        return re.compile("[^/]*".join(literal) + ("" if is_open or text.endswith("*") else _BOUNDARY))

    @property
    def specificity(self) -> int:
        """The number of literal characters."""
        return len(canonical_source(self.text).replace("*", ""))

    def matches(self, source: str) -> bool:
        return self._expression.match(canonical_source(source)) is not None


def pattern_problem(text: str) -> str:
    """The problem of a pattern, or ""."""
    if not text or len(text) > MAX_PATTERN:
        return f"must be an address of 1 to {MAX_PATTERN} characters"
    if "**" in text:
        return "`**` has no meaning: a pattern is a prefix, so it needs no wildcard at its end"
    if text != STANDARD_INPUT and not _FILE.match(text) and not text.startswith("/") and not _SCHEME.match(text):
        return "must begin with oci://, https://, http:// or file://, or be an absolute path, or - for standard input"
    return ""


def canonical_source(source: str) -> str:
    """One spelling for each address: `file://` for paths, lower-case host, no credentials, query or `..` in paths."""
    file = _FILE.match(source)
    if file is not None:
        return f"file://{_absolute(unquote(source[file.end() :]))}"
    found = _SCHEME.match(source)
    if found is None:
        return source if source == STANDARD_INPUT else f"file://{_absolute(source)}"
    host, path = found[2].rpartition("@")[2].lower(), unquote(found[3])
    if "/." in path:
        path = posixpath.normpath(path) + ("/" if path.endswith("/") else "")
    return f"{found[1].lower()}://{host}{path}"


def _absolute(path: str) -> str:
    # normpath keeps two slashes at the start; a link stays as it is written, as in a mounted ConfigMap.
    return "/" + os.path.normpath(os.path.abspath(path)).lstrip("/")  # noqa: PTH100 - of a pattern too, which is no path
