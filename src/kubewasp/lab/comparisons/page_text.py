"""Texts and tables of pages: escaped, bounded in length, isolated in their writing direction."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Final

from kubewasp.k8s.printable_text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LONGEST: Final = 200


def plain(text: str, most: int = _LONGEST) -> str:
    """Text for an attribute or a picture. Names come from inputs: they may be markup, and of any length."""
    short = text if len(text) <= most else f"{text[: most - 1]}…"
    # XML has no surrogates, which names of files may contain.
    return html.escape(printable(short).encode("utf-8", "backslashreplace").decode("utf-8"), quote=True)


def isolated(text: str, most: int = _LONGEST) -> str:
    """Text of an input for a paragraph or a cell: a name in Arabic does not turn its neighbours around."""
    return f"<bdi>{plain(text, most)}</bdi>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int = 0) -> str:
    """A table that scrolls sideways where it is too wide. Cells are HTML; the last `numbers` columns are figures."""
    first = len(heads) - numbers
    head = "".join(_cell("th", text, is_number=place >= first) for place, text in enumerate(heads))
    body = "".join(
        "<tr>" + "".join(_cell("td", cell, is_number=place >= first) for place, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    return f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>\n'


def _cell(tag: str, content: str, *, is_number: bool) -> str:
    name = ' class="n"' if is_number else ""
    scope = ' scope="col"' if tag == "th" else ""
    return f"<{tag}{scope}{name}>{content}</{tag}>"
