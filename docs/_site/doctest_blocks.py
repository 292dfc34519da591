"""Griffe extension: doctest examples in docstrings become code blocks; Markdown would make quotations of them."""

from __future__ import annotations

import re

import griffe

EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?!>>> |\s*$).*\n?)*)+", re.MULTILINE)
DIRECTIVE = re.compile(r" *# doctest: .*$", re.MULTILINE)


class DoctestBlocks(griffe.Extension):
    """Fences every example, and drops doctest's directives."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        if obj.docstring is not None and ">>> " in obj.docstring.value:
            obj.docstring.value = EXAMPLE.sub(_fenced, obj.docstring.value)


def _fenced(match: re.Match[str]) -> str:
    return f"```pycon\n{DIRECTIVE.sub('', match[0]).rstrip()}\n```\n"
