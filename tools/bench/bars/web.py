"""Bars of web handlers: each style against a handler in plain Python, on the same server in one run."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.guests import build
from tools.bench.bars import load
from tools.bench.bars.bar import Bar
from tools.testbed.process import importable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

STYLES = {
    "plain Python": "/plain",
    "module": "/module",
    "http-wasm": "/middleware",
    "wasi": "/wasi",
    "wasi, standard Go": "/go",
}
# Far below the values of an idle machine: a guard against lost thread hand-overs and compilations per request.
LEAST = {"module": 0.03, "http-wasm": 0.03, "wasi": 0.015, "wasi, standard Go": 0.007}
CONNECTIONS = 32
MANY = 1000
SECONDS = 2.0
ROUNDS = 3
LARGE = 100 * 2**20


def _wat(name: str) -> Path:
    return build.wat_text(Path(__file__).with_name(f"{name}.wat").read_text(encoding="utf-8"), name)


def _go() -> Path:
    return build.go_example(build.ROOT / "examples" / "http" / "hello-go")


_GUESTS: Mapping[str, tuple[Callable[[], Path], str]] = {
    "module": (partial(_wat, "web_module"), "module"),
    "middleware": (partial(_wat, "web_middleware"), "http-wasm"),
    "wasi": (partial(_wat, "web_wasi"), "wasi"),
    "go": (_go, "wasi"),
    "echo": (partial(_wat, "web_echo"), "module"),
    "echo-wasi": (partial(_wat, "web_echo_wasi"), "wasi"),
}


def bars(step: Callable[[str], None]) -> Iterator[Bar]:
    step("building guests")
    with _server() as (process, port):
        loads = _throughput(port, step)
        plain = loads["plain Python"]
        for style, least in LEAST.items():
            found = loads[style]
            name = f"web: {style}, requests per second against plain Python"
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
    """By turns, so that other load on the machine affects all of them."""
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
    """Growth of the server's peak memory during a request."""
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
    command = [sys.executable, "-m", "tools.bench.bars.web_server", json.dumps(document())]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | importable(), text=True
    )
    try:
        yield process, int(process.stdout.readline())  # type: ignore[union-attr]
    finally:
        process.communicate()


def document(names: Sequence[str] = tuple(_GUESTS)) -> dict[str, object]:
    """The configuration of a site with these guests, each at a path of its name."""
    chosen = {name: _GUESTS[name] for name in names}
    guests = {name: {"file": str(file()), "style": style} for name, (file, style) in chosen.items()}
    routes: list[dict[str, object]] = [
        {"path": f"/{name}", "handler": name} for name, (_, style) in chosen.items() if style != "http-wasm"
    ]
    fixed = {"headers": {"content-type": "text/plain"}, "body": "hello, world\n"}
    routes += [
        {"path": f"/{name}", "middlewares": [name], "respond": fixed}
        for name, (_, style) in chosen.items()
        if style == "http-wasm"
    ]
    return {"guests": guests, "routes": routes, "reload": "0"}
