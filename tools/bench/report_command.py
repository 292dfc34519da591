"""`kubewasp bench report`: a page and pictures of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.cli import output
from tools.bench import model, report

if TYPE_CHECKING:
    from pathlib import Path


def run(result: Path, docs: Path, readme: Path | None) -> None:
    """Writes them and prints where they are, a line each."""
    for path in report.write(model.read(result), docs, readme):
        output.write(f"{output.printable(str(path))}\n")
