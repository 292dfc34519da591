"""What a result says: a page, its pictures and the block of a README. Everything follows from the result alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tools.bench.model import ResultError
from tools.bench.plots.pictures import pictures
from tools.bench.report.page import FIGURES, page
from tools.bench.report.readme import block, with_block

if TYPE_CHECKING:
    from pathlib import Path

    from tools.bench.model import Result

PAGE = "benchmarks.md"
IMAGES = "images"
_OURS = "bench-*.svg"


def files(result: Result) -> dict[str, str]:
    """The files of the documentation's folder by name; the figures lie beside the page that is made of them."""
    drawn = pictures(result)
    made = {PAGE: page(result, drawn, IMAGES), FIGURES: result.as_json()}
    return made | {f"{IMAGES}/{one.name}": one.svg for one in drawn}


def readme(result: Result, text: str, docs: str) -> str:
    """The README `text` with its block written anew; `docs` is the documentation's folder as it sees it."""
    return with_block(text, block(result, pictures(result), docs))


def write(result: Result, docs: Path, readme_file: Path | None = None) -> list[Path]:
    """Writes all of it and says where; pictures of earlier results that this one has not are removed."""
    fresh = _read(readme_file, result, docs) if readme_file is not None else ""
    made = files(result)
    (docs / IMAGES).mkdir(parents=True, exist_ok=True)
    for stale in (docs / IMAGES).glob(_OURS):
        if f"{IMAGES}/{stale.name}" not in made:
            stale.unlink()
    written = []
    for name, text in made.items():
        (docs / name).write_text(text, encoding="utf-8")
        written.append(docs / name)
    if readme_file is not None:
        readme_file.write_text(fresh, encoding="utf-8")
        written.append(readme_file)
    return written


def _read(path: Path, result: Result, docs: Path) -> str:
    """Before anything is written: a README without a place for the block is a mistake that leaves no trace."""
    seen_from_there = os.path.relpath(docs.resolve(), path.resolve().parent).replace(os.sep, "/")
    try:
        return readme(result, path.read_text(encoding="utf-8"), seen_from_there)
    except ResultError as error:
        raise ResultError(f"{path}: {error}") from None
