"""Error reports of exceptions: kind, cause, and the traceback in the author's code."""

from __future__ import annotations

import linecache
import re
import sys
import traceback
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

_HERE = str(PurePath(__file__).parent)
_MOST_FRAMES = 16
_MOST_TEXT = 8000
# Source folders are named /0, /1 … in a component.
_FOLDER = re.compile(r"^/\d+/")


def told(error: BaseException, *, node: str = "") -> dict[str, object]:
    """Kind of the exception, a summary line, and the traceback in the author's code."""
    found = traceback.TracebackException.from_exception(error)
    _trim(found)
    lines = list(found.format_exception_only())
    cause = lines[-1].strip() if lines else type(error).__name__
    if node:
        cause = f"node {node}: {cause}"
    trace = "".join(found.format()).rstrip()
    answer: dict[str, object] = {"kind": type(error).__name__, "cause": cause, "trace": trace[-_MOST_TEXT:]}
    if isinstance(error, SystemExit):
        answer["exit"] = error.code if isinstance(error.code, int) else int(error.code is not None)
    return answer


def keep_sources(modules: list[ModuleType]) -> None:
    """Keeps source lines for tracebacks, as a component has no files."""
    for module in modules:
        name = getattr(module, "__file__", None)
        lines = linecache.getlines(name) if name else []
        if name and lines:
            linecache.cache[name] = (sum(map(len, lines)), None, lines, name)


def author_modules() -> list[ModuleType]:
    """Loaded modules outside the standard library and this package."""
    files = [(getattr(item, "__file__", None) or "", item) for item in list(sys.modules.values())]
    return [item for file, item in files if _FOLDER.match(file) and not _is_ours(file)]


def author_file(filename: str) -> str:
    """A file of the author's, without its folder in the component; empty for the standard library and this package."""
    return _FOLDER.sub("", filename) if _FOLDER.match(filename) and not _is_ours(filename) else ""


def _trim(found: traceback.TracebackException | None) -> None:
    """Removes the frames of this package, in the exception and all its causes."""
    seen: set[int] = set()
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        frames = [frame for frame in found.stack if not _is_ours(frame.filename)]
        for frame in frames:
            frame.filename = _FOLDER.sub("", frame.filename)
        found.stack[:] = frames[-_MOST_FRAMES:]
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)


def _is_ours(filename: str | None) -> bool:
    return (filename or "").startswith(_HERE)
