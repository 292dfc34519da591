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

from kubewasp.cli import output
from tests.guests import build
from tests.web.guests import published_guest
from tools.bench.bars import load
from tools.bench.bars.bar import Bar
from tools.bench.bars.web_table import markdown
from tools.testbed.process import importable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

PLAIN, CGI = "plain Python", "process per request (CGI): `/bin/echo`"
STYLES = {
    PLAIN: "/plain",
    "module": "/module",
    "module, reused": "/reused",
    "run": "/run",
    "run, reused": "/run-reused",
    "http-wasm": "/middleware",
    "http-wasm, published router (TinyGo)": "/router",
    "wasi": "/wasi",
    "wasi, raw": "/raw",
    "wasi, standard Go": "/go",
    "wasi, component in Python": "/component",
    CGI: "/cgi",
}
# Far below the values of an idle machine: a guard against thread hand-overs and compilations per request.
LEAST = {
    "module": 0.08,
    "module, reused": 0.1,
    "run": 0.08,
    "http-wasm": 0.08,
    "wasi": 0.015,
    "wasi, standard Go": 0.007,
}
# With one server process per core: plain Python and the styles that run on the event loop.
WITH_WORKERS = (PLAIN, "module", "module, reused", "run", "run, reused", "http-wasm")
LEAST_WITH_WORKERS = 0.08
CONNECTIONS = 32
MANY = 1000
SECONDS = 2.0
ROUNDS = 3
LARGE = 100 * 2**20


def _wat(name: str) -> Path:
    return build.wat_text(Path(__file__).with_name(f"{name}.wat").read_text(encoding="utf-8"), name)


def _example(make: Callable[[Path], Path], name: str) -> Path:
    return make(build.ROOT / "examples" / "http" / name)


_GUESTS: Mapping[str, tuple[Callable[[], Path], str]] = {
    "module": (partial(_wat, "web_module"), "module"),
    "reused": (partial(_wat, "web_module"), "module"),
    "run": (partial(_wat, "web_run"), "run"),
    "run-reused": (partial(_wat, "web_run"), "run"),
    "router": (partial(published_guest, "router"), "http-wasm"),  # answers by itself
    "middleware": (partial(_wat, "web_middleware"), "http-wasm"),
    "wasi": (partial(_wat, "web_wasi"), "wasi"),
    "raw": (partial(_wat, "web_raw"), "wasi"),
    "go": (partial(_example, build.go_example, "hello-go"), "wasi"),
    "component": (partial(_example, build.python_example, "hello-python"), "wasi"),
    "echo": (partial(_wat, "web_echo"), "module"),
    "echo-wasi": (partial(_wat, "web_echo_wasi"), "wasi"),
}


_MORE: Mapping[str, Mapping[str, object]] = {"raw": {"raw": True}}


def bars(step: Callable[[str], None]) -> Iterator[Bar]:
    step("building guests")
    with _server() as (process, port):
        loads = _throughput(process.pid, port, step, STYLES)
        alone, plain = loads, loads[PLAIN]
        name = "web: module, requests per second against a process per request"
        found, cgi = loads["module"], loads[CGI]
        yield Bar(name, found.rate / cgi.rate, "x", at_least=2, note=f"{_shown(found)}; a process {_shown(cgi)}")
        name = "web: module, CPU time of a request against plain Python"
        found = loads["module"]
        note = f"{_cpu_shown(found)}; plain {_cpu_shown(plain)}; reused {_cpu_shown(loads['module, reused'])}; "
        note += "; ".join(f"{style} {_cpu_shown(loads[style])}" for style in list(STYLES)[3:])
        yield Bar(name, found.cpu_per_request / plain.cpu_per_request, "x", at_most=8, note=note)
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
    count = os.cpu_count() or 1
    with _server(count) as (process, port):
        loads = _throughput(process.pid, port, step, WITH_WORKERS)
        plain = loads[PLAIN]
        for style in WITH_WORKERS[1:]:
            found = loads[style]
            name = f"web: {style}, {count} workers, requests per second against plain Python"
            note = f"{_shown(found)}; plain {_shown(plain)}"
            yield Bar(name, found.rate / plain.rate, "x", at_least=LEAST_WITH_WORKERS, note=note)
    output.write(f"{markdown(alone, loads, count, PLAIN)}\n")


def _shown(found: load.Load) -> str:
    return f"{found.rate:,.0f}/s, p50 {found.percentile(0.5) * 1e3:.1f} ms, p99 {found.percentile(0.99) * 1e3:.1f} ms"


def _cpu_shown(found: load.Load) -> str:
    return f"{found.cpu_per_request * 1e3:.2f} ms"


def _cpu_seconds(pid: int) -> float:
    """CPU time of a process and of those that it has started, ended or not."""
    place = Path(f"/proc/{pid}")
    fields = (place / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    children = (place / "task" / str(pid) / "children").read_text(encoding="ascii").split()
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(_cpu_seconds(int(child)) for child in children)


def _throughput(pid: int, port: int, step: Callable[[str], None], styles: Iterable[str]) -> dict[str, load.Load]:
    """By turns, so that other load on the machine affects all of them."""
    loads = {style: load.Load() for style in styles}
    for number in range(ROUNDS):
        for style in styles:
            path = STYLES[style]
            step(f"round {number + 1}: {style}")
            before = _cpu_seconds(pid)
            found = asyncio.run(load.run("127.0.0.1", port, path, connections=CONNECTIONS, seconds=SECONDS))
            loads[style].cpu += _cpu_seconds(pid) - before
            if found.failures:
                raise RuntimeError(f"{style}: {found.failures} requests failed")
            loads[style].seconds += found.seconds
            loads[style].took += found.took
            loads[style].own_cpu += found.own_cpu
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
def _server(count: int = 1) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-m", "tools.bench.bars.web_server", json.dumps(document()), str(count)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | importable(), text=True
    )
    try:
        ports = {int(process.stdout.readline()) for _ in range(count)}  # type: ignore[union-attr]
        yield process, ports.pop()
    finally:
        process.communicate()


def document(names: Sequence[str] = tuple(_GUESTS)) -> dict[str, object]:
    """The configuration of a site with these guests, each at a path of its name."""
    chosen = {name: _GUESTS[name] for name in names}
    guests = {
        name: {"file": str(file()), "style": style, "reuse": name.endswith("reused")} | dict(_MORE.get(name, {}))
        for name, (file, style) in chosen.items()
    }
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
