"""Screenshots of the console for the documentation: `python -m tests.e2e.console.screenshots [NAME…]`.

They show real consoles of example clusters. Files have 256 colours, which keeps them small.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
import zlib
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from tests.e2e.console.served import ROOT, Served, serve
from tools.testbed import browser as chromium

IMAGES: Final = ROOT / "docs" / "images"
MOST_BYTES: Final = 150_000
_SHOP: Final = "examples/clusters/shop"
_SPOT: Final = f"{_SHOP}/spot-first.yaml"
_LARGE: Final = "LARGE"  # stands for the file that examples/clusters/large.py writes
# Name of a console: its command.
CONSOLES: Final[dict[str, tuple[str, ...]]] = {
    "shop": ("console", _SHOP, "--config", _SPOT),
    "large": ("console", _LARGE),
    "recording": ("console", "examples/recordings/churn", "--plugin", "examples/guests/nodenumber.wat,weight=3"),
    "comparison": ("compare", "default", _SPOT, _SHOP, "--prices", "examples/clusters/prices.yaml", "--open"),
}


@dataclass(frozen=True, slots=True)
class Shot:
    """A view of a console, in a window of a size."""

    console: str
    address: str
    dark: bool = False
    width: int = 1200
    height: int = 750


SHOTS: Final = {
    "overview": Shot("large", "#/overview"),
    "pending": Shot("large", "#/pending"),
    "decision": Shot("shop", "#/decision/default/report-40"),
    "map": Shot("large", "#/map", dark=True),
    "queue": Shot("shop", "#/queue"),
    "timeline": Shot("recording", "#/timeline"),
    "compare": Shot("comparison", "#/compare", dark=True, height=900),
    "plugins": Shot("shop", "#/plugins"),
    "narrow": Shot("large", "#/pending", dark=True, width=360, height=740),
}


def take(folder: Path, names: list[str]) -> None:
    from playwright.sync_api import sync_playwright

    with ExitStack() as stack:
        browser = stack.enter_context(sync_playwright()).chromium.launch(
            executable_path=str(chromium.chromium()), args=list(chromium.ARGUMENTS)
        )
        large = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "large.json"
        consoles: dict[str, Served] = {}
        for name in names:
            shot = SHOTS[name]
            if shot.console not in consoles:
                consoles[shot.console] = stack.enter_context(serve(*_command(shot.console, large)))
            file = folder / f"console-{name}.png"
            file.write_bytes(smaller(_picture(browser, consoles[shot.console], shot)))
            size = file.stat().st_size
            print(f"{file.name}: {size / 1000:.0f} kB")
            if size > MOST_BYTES:
                raise SystemExit(f"{file.name} is larger than {MOST_BYTES / 1000:.0f} kB")
        browser.close()


def _command(console: str, large: Path) -> list[str]:
    command = CONSOLES[console]
    if _LARGE in command:
        manifests = [sys.executable, "examples/clusters/large.py"]
        large.write_bytes(subprocess.run(manifests, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    return [str(large) if word == _LARGE else word for word in command]


def _picture(browser: Any, console: Served, shot: Shot) -> bytes:
    context = browser.new_context(
        viewport={"width": shot.width, "height": shot.height},
        color_scheme="dark" if shot.dark else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(console.address + shot.address)
    page.wait_for_selector("main h1")
    page.wait_for_selector(".status.live")
    page.wait_for_selector("main:not([aria-busy])")
    page.wait_for_timeout(300)
    taken: bytes = page.screenshot()
    context.close()
    return taken


def smaller(png: bytes) -> bytes:
    """The picture with at most 256 colours: those that are most frequent, others by the nearest one."""
    pixels = _decoded(png)
    height, width = pixels.shape[:2]
    codes = (pixels[..., 0].astype(np.uint32) << 16) | (pixels[..., 1].astype(np.uint32) << 8) | pixels[..., 2]
    found, places, counts = np.unique(codes.ravel(), return_inverse=True, return_counts=True)
    channels = np.stack([found >> 16, (found >> 8) & 255, found & 255], axis=1).astype(np.int32)
    # One colour for each cell of a grid of 32 steps first: shades of letters do not crowd out a rare hue.
    order = np.argsort(-counts, kind="stable")
    cells = (channels >> 4) @ np.array([4096, 64, 1])
    _, first = np.unique(cells[order], return_index=True)
    first.sort()
    chosen = list(dict.fromkeys([*order[:96].tolist(), *order[first].tolist(), *order.tolist()]))[:256]
    palette = channels[chosen]
    nearest = np.empty(len(found), np.uint8)
    for start in range(0, len(found), 4096):
        part = channels[start : start + 4096, None, :] - palette[None, :, :]
        nearest[start : start + 4096] = (part * part).sum(axis=2).argmin(axis=1)
    rows = nearest[places.ravel()].reshape(height, width)
    raw = b"".join(b"\x00" + row.tobytes() for row in rows)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = [
        (b"IHDR", header),
        (b"PLTE", palette.astype(np.uint8).tobytes()),
        (b"IDAT", zlib.compress(raw, 9)),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )


def _decoded(png: bytes) -> Any:
    """Rows of red, green and blue of a PNG with 8 bits, as browsers write them."""
    at, data = 8, b""
    width = height = colours = 0
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, content = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length
        if kind == b"IHDR":
            width, height, _, colours = struct.unpack(">IIBB", content[:10])
        elif kind == b"IDAT":
            data += content
    step = 4 if colours == 6 else 3
    lines = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + width * step)
    above = np.zeros(width * step, np.uint8)
    pixels = np.empty((height, width * step), np.uint8)
    for number, line in enumerate(lines):
        above = pixels[number] = _unfiltered(int(line[0]), line[1:], above, step)
    return pixels.reshape(height, width, step)[..., :3]


def _unfiltered(kind: int, line: Any, above: Any, step: int) -> Any:
    if kind == 0:
        return line
    if kind == 2:
        return line + above
    if kind == 1:
        return np.add.accumulate(line.reshape(-1, step), axis=0, dtype=np.uint8).ravel()
    row, up = line.tolist(), above.tolist()
    for index, value in enumerate(row):
        left = row[index - step] if index >= step else 0
        corner = up[index - step] if index >= step else 0
        if kind == 3:
            row[index] = (value + (left + up[index]) // 2) & 255
        else:
            guess = left + up[index] - corner
            near = [
                (abs(guess - left), 0, left),
                (abs(guess - up[index]), 1, up[index]),
                (abs(guess - corner), 2, corner),
            ]
            row[index] = (value + min(near)[2]) & 255
    return np.array(row, np.uint8)


if __name__ == "__main__":
    take(IMAGES, sys.argv[1:] or list(SHOTS))
