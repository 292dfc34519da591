"""Real connections: concurrency, large bodies, shutdown, and the command line."""

import asyncio
import json
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
from typer.testing import CliRunner

from kubewasp.cli.main import app as command
from kubewasp.server.connection_table import HttpLimits
from kubewasp.server.http_server import Address, AppServer
from tests.apiserver.certificates import Authority
from tests.web.client import app_of, one_handler
from tests.web.guests import ECHO, handler

_HELLO = handler("(call $write (i32.const 0) (i32.const 5)) (i64.const 0)", more='(data (i32.const 0) "hello")')


@asynccontextmanager
async def served(document: dict[str, Any]) -> AsyncIterator[Address]:
    app = app_of(document)
    limits = HttpLimits(requests=2048)
    server = AppServer(app, Address(port=0), backlog=2048, limits=limits, immediate=app.immediate)
    await server.start()
    try:
        yield server.address
    finally:
        await server.stop()
        app.close()


def test_a_thousand_connections_at_once() -> None:
    async def one(address: Address, ready: asyncio.Barrier) -> bytes:
        reader, writer = await asyncio.open_connection(address.host, address.port)
        await ready.wait()  # all are connected before the first one asks
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        try:
            return await reader.read()
        finally:
            writer.close()

    async def run() -> list[bytes]:
        ready = asyncio.Barrier(1000)
        async with served(one_handler(_HELLO)) as address:
            return await asyncio.gather(*[one(address, ready) for _ in range(1000)])

    found = asyncio.run(run())
    assert all(answer.startswith(b"HTTP/1.1 200 OK") and answer.endswith(b"\r\n\r\nhello") for answer in found)


def test_large_body_through_a_socket_and_back() -> None:
    count, piece = 200, b"~" * 100_000

    async def ask(writer: asyncio.StreamWriter) -> None:
        length = count * len(piece)
        writer.write(
            f"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n".encode()
        )
        for _ in range(count):
            writer.write(piece)
            await writer.drain()

    async def run() -> int:
        async with served(one_handler(handler(ECHO, memory="3"))) as address:
            reader, writer = await asyncio.open_connection(address.host, address.port)
            asking = asyncio.create_task(ask(writer))
            received = 0
            while chunk := await reader.read(1 << 20):
                received += chunk.count(b"~")
            await asking
            writer.close()
            return received

    assert asyncio.run(run()) == count * len(piece)


def test_answer_that_breaks_off_is_seen_by_the_client() -> None:
    half = handler("(call $write (i32.const 0) (i32.const 100000)) unreachable")

    async def run() -> bytes:
        async with served(one_handler(half)) as address:
            reader, writer = await asyncio.open_connection(address.host, address.port)
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = await reader.read()
            writer.close()
            return answer

    answer = asyncio.run(run())
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert not answer.endswith(b"0\r\n\r\n")  # the last chunk of a complete body


@contextmanager
def running(folder: Path, document: dict[str, Any]) -> Iterator[tuple[subprocess.Popen[str], list[str], list[str]]]:
    """`kubewasp http serve` after its start, with its URLs."""
    (folder / "web.yaml").write_text(json.dumps(document))
    script = "from kubewasp.cli.main import main; main()"
    line = [sys.executable, "-c", script, "http", "serve", "--config", str(folder / "web.yaml")]
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
    lines: list[str] = []
    assert process.stderr is not None
    try:
        urls: list[str] = []
        while len(urls) < 2 and (text := process.stderr.readline()):
            lines.append(text)
            urls += re.findall(r'url="([^"]+)"', text)
        yield process, urls, lines
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()


def test_command_serves_its_hosts_behind_its_proxies_and_ends_in_good_order(tmp_path: Path) -> None:
    document = {**one_handler(_HELLO), "listen": "127.0.0.1:0", "operations": "127.0.0.1:0"}
    document |= {"allowedHosts": ["site.example"], "trustedProxies": ["127.0.0.1"]}
    with running(tmp_path, document) as (process, urls, _), httpx.Client(timeout=300) as client:
        assert client.get(f"{urls[0]}/").text == "hello"
        assert "kubewasp_http_requests_total" in client.get(f"{urls[1]}/metrics").text
        assert client.get(f"{urls[1]}/readyz").text == "ok"
        assert client.get(f"{urls[1]}/configz").json()["routes"][0]["handler"] == "main"
        for url in (f"{urls[0]}/", f"{urls[1]}/livez"):
            assert client.get(url, headers={"host": "site.example"}).status_code == 200
            assert client.get(url, headers={"host": "evil.example"}).status_code == 421
        client.get(f"{urls[0]}/", headers={"x-forwarded-for": "192.0.2.7"})
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        rest = process.stderr.read()
        assert process.wait(300) == 0
    assert '"Request" method="GET" path="/" status=200 bytes=5' in rest
    assert 'client="192.0.2.7"' in rest
    assert "Traceback" not in rest


def test_command_serves_https(tmp_path: Path) -> None:
    authority = Authority()
    signed = authority.sign("localhost")
    (tmp_path / "tls.crt").write_bytes(signed.certificate)
    (tmp_path / "tls.key").write_bytes(signed.key)
    tls = {"certificate": "tls.crt", "key": "tls.key"}  # beside the configuration
    document = {**one_handler(_HELLO), "listen": "127.0.0.1:0", "operations": "127.0.0.1:0", "tls": tls}
    trusted = ssl.create_default_context(cadata=authority.certificate.decode())
    with running(tmp_path, document) as (_, urls, _), httpx.Client(verify=trusted, timeout=300) as client:
        assert urls[0].startswith("https://")
        assert client.get(f"{urls[0]}/").text == "hello"


def test_routes_are_shown(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(json.dumps(one_handler(_HELLO)))
    shown = CliRunner().invoke(command, ["http", "routes", "--config", str(tmp_path / "web.yaml")])
    assert shown.output.splitlines()[1].split() == ["/*", "*", "-", "main", "(module)"]
    found = CliRunner().invoke(command, ["http", "routes", "--config", str(tmp_path / "web.yaml"), "-o", "json"])
    assert json.loads(found.output)["guests"][0]["style"] == "module"


_EACH = """
import json, sys
from kubewasp.cli.main import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["kubewasp", "http", "serve", "--config", *arguments]
    try:
        main()
    except SystemExit as end:
        print(f"exit {end.code}", file=sys.stderr)
"""


def test_mistakes_are_errors_without_a_traceback(tmp_path: Path) -> None:
    """In one process, one after the other."""
    tls = {"key": "x", "certificate": "y"}
    cases: list[tuple[dict[str, Any], list[str], str]] = [
        ({}, [], "web.yaml: routes: Required value"),
        (one_handler(tmp_path / "missing.wasm"), [], 'error: guest "main"'),
        (one_handler(_HELLO), ["--listen", "here"], "expected HOST:PORT"),
        ({**one_handler(_HELLO), "tls": {"key": "x"}}, [], "HTTPS needs certificate and key"),
        ({**one_handler(_HELLO), "tls": tls}, [], "cannot use"),
    ]
    lines = []
    for index, (document, options, _) in enumerate(cases):
        (tmp_path / str(index)).mkdir()
        (tmp_path / str(index) / "web.yaml").write_text(json.dumps(document))
        lines.append([str(tmp_path / str(index) / "web.yaml"), *options])
    done = subprocess.run([sys.executable, "-c", _EACH, json.dumps(lines)], capture_output=True, text=True, timeout=300)
    *errors, rest = re.split(r"^exit [1-9]\d*\n", done.stderr, flags=re.MULTILINE)
    assert (len(errors), rest) == (len(cases), "")
    for error, (_, _, expected) in zip(errors, cases, strict=True):
        assert expected in error
        assert "Traceback" not in error
