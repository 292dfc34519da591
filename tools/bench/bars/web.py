"""Web handlers: each style against the same handler in plain Python, under the same server, in one run."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.guests import build
from tools.bench.bars import load
from tools.bench.bars.bar import Bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GUESTS = Path(__file__).parent
STYLES = {
    "plain Python": "/plain",
    "module": "/module",
    "http-wasm": "/middleware",
    "wasi": "/wasi",
    "wasi, standard Go": "/go",
}
# Far below what is measured on an idle machine: a guard against losing a thread's hand-over or a compilation a request.
LEAST = {"module": 0.03, "http-wasm": 0.03, "wasi": 0.015, "wasi, standard Go": 0.007}
CONNECTIONS = 32
MANY = 1000
SECONDS = 2.0
ROUNDS = 3
LARGE = 100 * 2**20


def bars(step: Callable[[str], None]) -> Iterator[Bar]:
    step("building guests")
    with _server() as (process, port):
        loads = _throughput(port, step)
        plain = loads["plain Python"]
        for style, least in LEAST.items():
            found = loads[style]
            name = f"web: {style}, requests a second against plain Python"
            yield Bar(
                name, found.rate / plain.rate, "x", at_least=least, note=f"{_shown(found)}; plain {_shown(plain)}"
            )
        step(f"{MANY:,} connections")
        many = asyncio.run(load.run("127.0.0.1", port, "/module", connections=MANY, seconds=SECONDS))
        name = f"web: {MANY:,} connections, requests that failed"
        yield Bar(name, many.failures, "", at_most=0, note=_shown(many))
        step("bodies of 100 MB")
        yield from _large(process.pid, port)


def _shown(found: load.Load) -> str:
    return f"{found.rate:,.0f}/s, p50 {found.percentile(0.5) * 1e3:.1f} ms, p99 {found.percentile(0.99) * 1e3:.1f} ms"


def _throughput(port: int, step: Callable[[str], None]) -> dict[str, load.Load]:
    """In turns, so that whatever else the machine does hits all of them."""
    loads = {style: load.Load() for style in STYLES}
    for number in range(ROUNDS):
        for style, path in STYLES.items():
            step(f"round {number + 1}: {style}")
            found = asyncio.run(load.run("127.0.0.1", port, path, connections=CONNECTIONS, seconds=SECONDS))
            if found.failures:
                raise RuntimeError(f"{style}: {found.failures} requests failed")
            loads[style].seconds += found.seconds
            loads[style].took += found.took
    return loads


def _large(pid: int, port: int) -> Iterator[Bar]:
    """How far the most memory that the server has meanwhile is above what it had before."""
    for style in ("echo", "echo-wasi"):
        asyncio.run(load.upload("127.0.0.1", port, f"/{style}", 2**20))
        Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")  # forgets the peak
        before = _memory(pid, "VmRSS")
        received = asyncio.run(load.upload("127.0.0.1", port, f"/{style}", LARGE))
        if received != LARGE:
            raise RuntimeError(f"{style}: {received} of {LARGE} bytes came back")
        growth = _memory(pid, "VmHWM") - before
        yield Bar(f"web: 100 MB there and back, {style}", growth, "MB more memory", at_most=10)


def _memory(pid: int, field: str) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.search(rf"{field}:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


@contextmanager
def _server() -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-m", "tools.bench.bars.web_server", json.dumps(_document())]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process, int(process.stdout.readline())  # type: ignore[union-attr]
    finally:
        process.communicate()


def _document() -> dict[str, object]:
    files = {
        "module": (_wat("web_module"), "module"),
        "middleware": (_wat("web_middleware"), "http-wasm"),
        "wasi": (_wat("web_wasi"), "wasi"),
        "go": (build.go_example(build.ROOT / "examples" / "http" / "hello-go"), "wasi"),
        "echo": (_wat("web_echo"), "module"),
        "echo-wasi": (_wat("web_echo_wasi"), "wasi"),
    }
    guests = {name: {"file": str(file), "style": style} for name, (file, style) in files.items()}
    routes: list[dict[str, object]] = [
        {"path": f"/{name}", "handler": name} for name, (_, style) in files.items() if style != "http-wasm"
    ]
    fixed = {"headers": {"content-type": "text/plain"}, "body": "hello, world\n"}
    routes.append({"path": "/middleware", "middlewares": ["middleware"], "respond": fixed})
    return {"guests": guests, "routes": routes, "reload": "0"}


def _wat(name: str) -> Path:
    return build.wat_text((GUESTS / f"{name}.wat").read_text(encoding="utf-8"), name)
