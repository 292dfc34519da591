"""Options of commands that open the console or write its file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

LOOPBACK: Final = ("127.0.0.1", 0)
Open = Annotated[bool, typer.Option("--open", help="Open the console in a browser; ends with Ctrl-C.")]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write the console with its data as one HTML file.")
]
Listen = Annotated[
    str, typer.Option(metavar="HOST:PORT", help="Address of the console; port 0 for any free port. It has no password.")
]


def html_file(path: Path | None) -> Path | None:
    """The file of --html, whose folder must be there: an error comes before the work."""
    if path is not None and not path.parent.is_dir():
        raise typer.BadParameter(f"{path.parent} is no folder", param_hint="--html")
    return path
