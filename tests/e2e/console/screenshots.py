"""Screenshots of the console for the documentation: `python -m tests.e2e.console.screenshots [FOLDER]`.

They show made-up clusters. Files have 256 colours: they are read on pages, and stand in the repository.
"""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from tests.console.fake_answers import FakeCluster
from tests.console.fake_console import FakeConsole
from tools.testbed import browser as chromium

IMAGES = Path(__file__).parents[3] / "docs" / "images"
MOST_BYTES = 150_000
# Name: mode, nodes, address, dark, width, height.
SHOTS: dict[str, tuple[str, int, str, bool, int, int]] = {
    "overview": ("live", 240, "#/overview", False, 1280, 800),
    "pending": ("live", 240, "#/pending", False, 1280, 800),
    "decision": ("live", 240, "#/decision/training/training-worker-00401", False, 1360, 860),
    "map": ("live", 5000, "#/map?node=gpu-30-12", True, 1280, 800),
    "queue": ("live", 240, "#/queue?part=backoff", False, 1280, 640),
    "timeline": ("simulation", 240, "#/timeline?at=1200", False, 1280, 860),
    "compare": ("comparison", 1200, "#/compare", True, 1280, 980),
    "plugins": ("live", 240, "#/plugins", False, 1280, 800),
    "narrow": ("live", 240, "#/pending", True, 360, 740),
}


def take(folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    consoles: dict[tuple[str, int], FakeConsole] = {}
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=str(chromium.chromium()), args=list(chromium.ARGUMENTS))
        for name, (mode, nodes, address, dark, width, height) in SHOTS.items():
            if (mode, nodes) not in consoles:
                consoles[mode, nodes] = FakeConsole(FakeCluster(nodes, mode))
            console = consoles[mode, nodes]
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if dark else "light",
                reduced_motion="reduce",
            )
            page = context.new_page()
            page.goto(console.address + address)
            page.wait_for_selector("main h1")
            page.wait_for_selector(".status.live")
            page.wait_for_selector("main:not([aria-busy])")
            page.wait_for_timeout(300)
            file = folder / f"console-{name}.png"
            file.write_bytes(smaller(page.screenshot()))
            print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")
            context.close()
        browser.close()
    for console in consoles.values():
        console.stop()


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
    take(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
