"""Files of a report: page, figures and charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.bench.plots.pictures import pictures
from tools.bench.report.page import FIGURES, page

if TYPE_CHECKING:
    from pathlib import Path

    from tools.bench.model import Result

PAGE = "benchmarks.md"
IMAGES = "images"
_OURS = "bench-*.svg"


def files(result: Result) -> dict[str, str]:
    """Contents of the files in the documentation folder, by name. The figures lie beside the page."""
    drawn = pictures(result)
    made = {PAGE: page(result, drawn, IMAGES), FIGURES: result.as_json()}
    return made | {f"{IMAGES}/{one.name}": one.svg for one in drawn}


def write(result: Result, docs: Path) -> list[Path]:
    """Writes all files and returns their paths. Charts of earlier results that this one lacks are removed."""
    made = files(result)
    (docs / IMAGES).mkdir(parents=True, exist_ok=True)
    for stale in (docs / IMAGES).glob(_OURS):
        if f"{IMAGES}/{stale.name}" not in made:
            stale.unlink()
    written = []
    for name, text in made.items():
        (docs / name).write_text(text, encoding="utf-8")
        written.append(docs / name)
    return written
