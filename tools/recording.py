"""Recording of the demo: `docs/images/demo.cast` (asciinema v2) and `docs/images/demo.svg`, an animated picture of it.

    python -m tools.recording        # make recording

The demo runs in a pseudo-terminal of 80 columns. Times are made for reading: a pause before each command, a fixed time
per line. So a recording changes with the output of the demo only.
"""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

ROOT: Final = Path(__file__).parent.parent
CAST: Final = ROOT / "docs" / "images" / "demo.cast"
PICTURE: Final = ROOT / "docs" / "images" / "demo.svg"
TITLE: Final = "make demo"
COLUMNS: Final = 80
_PAUSE, _LINE = 1.2, 0.06  # seconds before a command, and per line
_STYLE: Final = re.compile(r"\x1b\[([\d;]*)m")
_WORDS: Final = re.compile(r"\S+(?: \S+)*")  # without gaps of two blanks and more
_FONTS: Final = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace'
_CONTROL: Final = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
_COMMAND: Final = "\x1b[1m$ "
_CLASSES: Final[Mapping[str, str]] = {"1": "b", "36": "c"}
_ADVANCE, _HEIGHT, _MARGIN, _BAR = 8.4, 19, 16, 34  # pixels: character, line, margin, title bar


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the terminal with its styles as escape sequences, and the time at which it appears."""

    at: float
    text: str

    @property
    def plain(self) -> str:
        return _CONTROL.sub("", self.text)


def record(command: Sequence[str]) -> list[Line]:
    """Runs a command in a pseudo-terminal; its output with times for reading."""
    return _timed(_output(command).replace("\r\n", "\n").splitlines())


def _output(command: Sequence[str]) -> str:
    """Output in a pseudo-terminal of 80 columns, with the commands of this environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = {"PATH": path, "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8", "TERM": "xterm-256color"}
    master, slave = pty.openpty()
    try:
        child = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment | {"COLUMNS": str(COLUMNS), "LINES": "60"},
            stdin=subprocess.DEVNULL,
            stdout=slave,
            stderr=subprocess.DEVNULL,
        )
    finally:
        os.close(slave)
    with os.fdopen(master, "rb", buffering=0) as terminal:
        text = b"".join(_chunks(terminal.fileno())).decode()
    if child.wait():
        raise SystemExit(f"error: {' '.join(command)} ended with exit code {child.returncode}")
    return text


def _chunks(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # Linux: the other side is closed
            return
        if not chunk:
            return
        yield chunk


def _timed(lines: Iterable[str]) -> list[Line]:
    found, now = [], 0.5
    for text in lines:
        now += _PAUSE if text.startswith(_COMMAND) else _LINE
        found.append(Line(round(now, 2), text))
    return found


def cast(lines: Sequence[Line]) -> str:
    """The recording in the format asciicast v2: a header and an event per line."""
    header = {"version": 2, "width": COLUMNS, "height": len(lines), "title": TITLE}
    events = [[line.at, "o", f"{line.text}\r\n"] for line in lines]
    return "".join(f"{json.dumps(item, ensure_ascii=False)}\n" for item in (header, *events))


def read_cast(text: str) -> list[Line]:
    """The lines of a recording."""
    _, *events = map(json.loads, text.splitlines())
    return [Line(at, data.removesuffix("\r\n")) for at, _, data in events]


def picture(lines: Sequence[Line]) -> str:
    """The recording as an SVG: lines appear at their times; without animations, all are there."""
    width, height = round(COLUMNS * _ADVANCE + 2 * _MARGIN), len(lines) * _HEIGHT + _BAR + _MARGIN
    style, drawn = "", []
    for number, line in enumerate(lines):
        style, runs = _runs(line.text, style)
        if runs:
            drawn.append(_drawn(runs, _BAR + _HEIGHT * number + 14, line.at))
    text = "\n".join(drawn)
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">
<title>Recording of {escape(TITLE)}</title>
<style>
text {{ font: 14px {_FONTS}; fill: #d6deeb; white-space: pre }}
.b {{ font-weight: bold; fill: #ffffff }}
.c {{ fill: #7fdbca }}
.t {{ fill: #8b98a9; text-anchor: middle }}
.l {{ animation: appear 0.01s backwards }}
@keyframes appear {{ from {{ opacity: 0 }} }}
@media (prefers-reduced-motion: reduce) {{ .l {{ animation: none }} }}
</style>
<rect width="{width}" height="{height}" rx="8" fill="#16202c"/>
<circle cx="20" cy="17" r="6" fill="#ff5f57"/><circle cx="40" cy="17" r="6" fill="#febc2e"/>\
<circle cx="60" cy="17" r="6" fill="#28c840"/>
<text class="t" x="{width // 2}" y="22">{escape(TITLE)}</text>
{text}
</svg>
"""


@dataclass(frozen=True, slots=True)
class _Run:
    """Text of one style without wide gaps, from a column on."""

    column: int
    text: str
    style: str


def _runs(text: str, style: str) -> tuple[str, list[_Run]]:
    """The runs of a line that begins with this style, and the style at its end."""
    found, column = [], 0
    for number, part in enumerate(_STYLE.split(text)):
        if number % 2:
            style = _CLASSES.get(part, "")
            continue
        found += [_Run(column + word.start(), word.group(), style) for word in _WORDS.finditer(part)]
        column += len(part)
    return style, found


def _drawn(runs: Sequence[_Run], y: int, at: float) -> str:
    """A line; each run begins at its column and has the width of its characters, whatever the font."""
    spans = [
        f'<tspan class="{run.style or "n"}" '
        f'x="{_MARGIN + run.column * _ADVANCE:.1f}" textLength="{len(run.text) * _ADVANCE:.1f}">'
        f"{escape(run.text)}</tspan>"
        for run in runs
    ]
    return f'<text class="l" y="{y}" style="animation-delay:{at}s">{"".join(spans)}</text>'


def main() -> None:
    lines = record(["sh", "examples/demo.sh"])
    CAST.write_text(cast(lines), encoding="utf-8")
    PICTURE.write_text(picture(lines), encoding="utf-8")
    sys.stdout.write(f"wrote {CAST.relative_to(ROOT)} and {PICTURE.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
