"""The command `languages`: measures languages and collectors, prints Markdown, writes a page."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from kubewasp.cli import output
from kubewasp.errors import KubewaspError
from tools.bench import guests
from tools.bench.guests import TINYGO
from tools.bench.languages import collectors, page, side_by_side
from tools.bench.languages.example_guests import EXAMPLES
from tools.bench.model import Skipped

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def run(only: Sequence[str], *, docs: Path | None) -> None:
    """All languages and collectors, or the named ones."""
    chosen = _chosen(only)
    began = time.monotonic()

    def step(what: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {what}", file=sys.stderr, flush=True)

    tables = {}
    skipped: list[Skipped] = []
    if languages := [name for name in chosen if name in EXAMPLES]:
        of_languages: list[side_by_side.Figures] = []
        for one in side_by_side.measure(step, languages):
            (skipped if isinstance(one, Skipped) else of_languages).append(one)  # type: ignore[arg-type]
        tables[page.LANGUAGES] = page.of_languages(of_languages)
    if page.COLLECTORS in chosen:
        of_collectors: list[collectors.Figures] = []
        for other in collectors.measure(step):
            (skipped if isinstance(other, Skipped) else of_collectors).append(other)  # type: ignore[arg-type]
        tables[page.COLLECTORS] = page.of_collectors(of_collectors)
    for content in tables.values():
        output.write(f"{content}\n")
    for missing in skipped:
        output.warn(f"not measured: {missing.what}: {missing.why}")
    if docs is not None:
        page.write(docs, tables)


def _chosen(only: Sequence[str]) -> list[str]:
    known = [*EXAMPLES, page.COLLECTORS]
    unknown = [name for name in only if name not in known]
    if unknown:
        raise KubewaspError(f"there is no language {', '.join(unknown)}; there are {', '.join(known)}")
    return [name for name in known if name in only or (not only and (name != TINYGO or guests.has_tinygo()))]
