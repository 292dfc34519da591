"""Proxy between a scheduler and its API server, with injected faults and their counts.

TLS ends here, so that requests can be told apart: clients must use tokens, not certificates. HTTP/1.1, watches in
protobuf. The event loop runs on its own thread; every method may be called from any thread.
"""

import asyncio
import contextlib
import random
import ssl
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import parse_qsl, urlsplit

import yaml

from tests.apiserver.fake_server import frame, status_answer, status_manifest
from tools.testbed.process import free_port
from tools.testbed.servers import ApiServer

_REASONS: Final = {
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
_RETRY_AFTER: Final = 1
_HEAD_END: Final = b"\r\n\r\n"
_BROKEN: Final = (OSError, asyncio.IncompleteReadError, ssl.SSLError)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request on its way."""

    method: str
    path: str
    query: Mapping[str, str]

    @property
    def is_watch(self) -> bool:
        return self.query.get("watch") in {"1", "true"}

    @property
    def is_write(self) -> bool:
        return self.method != "GET"

    @property
    def is_binding(self) -> bool:
        return self.path.endswith("/binding")


@dataclass(slots=True)
class Fault:
    """Fault of a share of the requests, a limited number of times.

    With a status, that is the answer; with a delay alone, the right answer comes later; with neither, the connection is
    cut. `after`: when the API server has already done what it was asked for.
    """

    where: Callable[[Asked], bool] = field(default=lambda _: True)
    status: int = 0
    delay: float = 0.0
    after: bool = False
    share: float = 1.0
    times: int | None = None

    @property
    def name(self) -> str:
        what = str(self.status) if self.status else f"{self.delay:g} s late" if self.delay else "cut"
        return f"{what}, though done" if self.after else what


@dataclass(frozen=True, slots=True, eq=False)
class _Peer:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def send(self, *parts: bytes) -> None:
        if not self.writer.transport.is_closing():
            self.writer.write(b"".join(parts))

    def cut(self) -> None:
        self.writer.transport.abort()


@dataclass(frozen=True, slots=True)
class _Message:
    """The head of a request or an answer, its first line apart."""

    first: str
    headers: Mapping[str, str]

    @property
    def is_chunked(self) -> bool:
        return self.headers.get("transfer-encoding", "") == "chunked"

    @property
    def status(self) -> int:
        return int(self.first.split(" ", 2)[1])

    def encoded(self, length: int | None) -> bytes:
        kept = {name: value for name, value in self.headers.items() if name not in _BODY_HEADERS}
        kept |= {"transfer-encoding": "chunked"} if length is None else {"content-length": str(length)}
        return "\r\n".join([self.first, *(f"{name}: {value}" for name, value in kept.items()), "", ""]).encode(
            "latin-1"
        )


_BODY_HEADERS: Final = frozenset(("transfer-encoding", "content-length"))


class FaultProxy:
    """Use it in a `with` block. `injected` counts what went wrong on purpose, by its name.

    `bindings` were asked for; the API server has refused some with 409.
    """

    def __init__(self, api: ApiServer) -> None:
        self.port = free_port()
        self.bindings = self.refused_bindings = 0
        self.injected: Counter[str] = Counter()
        self._api = api
        self._faults: list[Fault] = []
        self._random = random.Random(self.port)
        self._watches: set[_Peer] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._pair = api.authority.issue(f"proxy-{self.port}")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault proxy", daemon=True)
        self._towards = ssl.create_default_context(cafile=str(api.authority.certificate))

    def kubeconfig(self, user: str) -> Path:
        """Kubeconfig of a user with a token, through the proxy."""
        content = yaml.safe_load(self._api.kubeconfig(user).read_text())
        content["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{self.port}"
        path = self._api.folder / f"{user}-{self.port}.kubeconfig"
        path.write_text(yaml.safe_dump(content, sort_keys=False))
        return path

    def inject(self, *faults: Fault) -> None:
        """From now on; the first that applies to a request is taken."""
        self._faults = [*self._faults, *faults]

    def cut_watches(self) -> None:
        """Cuts all connections that have a watch."""
        self._run(self._end_watches())

    @contextlib.contextmanager
    def ending_watches(self, *, every: float, expired: bool = False) -> Iterator[None]:
        """Cuts all watches again and again while the block lasts, or ends them with 410."""

        async def again() -> None:
            while True:
                await asyncio.sleep(every)
                await self._end_watches(expired=expired)

        task = asyncio.run_coroutine_threadsafe(again(), self._loop)
        try:
            yield
        finally:
            task.cancel()

    def __enter__(self) -> Self:
        self._thread.start()
        self._run(self._listen())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    # ------------------------------------------------------------------ on the event loop

    async def _listen(self) -> None:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(self._pair.certificate, self._pair.key)
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, ssl=tls, backlog=1000)

    async def _close(self) -> None:
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # connections that were cut are let go of in the next round

    async def _end_watches(self, *, expired: bool = False) -> None:
        for client in list(self._watches):
            if expired:
                event = frame("ERROR", status_manifest(410, "Expired", "too old resource version"), "Status")
                client.send(_chunk(event), _chunk(b""))
                await client.writer.drain()
            self.injected["watches expired" if expired else "watches cut"] += 1
            self._watches.discard(client)
            client.writer.close() if expired else client.cut()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(_Peer(reader, writer)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, client: _Peer) -> None:
        """A client's connection, with its own connection to the API server."""
        server: _Peer | None = None
        try:
            while True:
                request = await _head(client.reader)
                body = await _body(client.reader, request)
                asked = _asked(request.first)
                self.bindings += asked.is_binding
                fault = self._fault_for(asked)
                if fault and not fault.after and not await self._happens(fault, client):
                    continue
                if server is None:
                    server = _Peer(*await asyncio.open_connection("127.0.0.1", self._api.port, ssl=self._towards))
                server.send(request.encoded(len(body)), body)
                answer = await _head(server.reader)
                if asked.is_watch and answer.status == 200:
                    await self._follow(client, server, answer)
                    continue
                content = await _body(server.reader, answer)
                self.refused_bindings += asked.is_binding and answer.status == 409
                if fault is None or not fault.after or await self._happens(fault, client):
                    client.send(answer.encoded(len(content)), content)
        except _BROKEN:
            pass
        finally:
            for peer in filter(None, (client, server)):
                peer.cut()

    def _fault_for(self, asked: Asked) -> Fault | None:
        for fault in self._faults:
            if fault.times == 0 or not fault.where(asked) or self._random.random() >= fault.share:
                continue
            if fault.times is not None:
                fault.times -= 1
            self.injected[fault.name] += 1
            return fault
        return None

    async def _happens(self, fault: Fault, client: _Peer) -> bool:
        """Whether the request, or the right answer, goes on its way nevertheless."""
        if fault.delay:
            # A client that gives up meanwhile changes nothing: so do proxies that have a request already.
            await asyncio.sleep(fault.delay)
            return True
        if not fault.status:
            raise ConnectionAbortedError
        again: dict[str, Any] = {"retryAfterSeconds": _RETRY_AFTER} if fault.status == 429 else {}
        made_up = status_answer(fault.status, _REASONS[fault.status], "made up by a test", **again)
        headers = {"content-type": made_up.content_type, **made_up.headers}
        message = _Message(f"HTTP/1.1 {fault.status} {_REASONS[fault.status]}", headers)
        client.send(message.encoded(len(made_up.body)), made_up.body)
        return False

    async def _follow(self, client: _Peer, server: _Peer, answer: _Message) -> None:
        """Passes a watch on, whole events at a time, until one side ends it."""
        client.send(answer.encoded(None))
        self._watches.add(client)
        events = asyncio.ensure_future(_pass_events(client, server))
        gone = asyncio.ensure_future(client.reader.read(1))
        try:
            await asyncio.wait((events, gone), return_when=asyncio.FIRST_COMPLETED)
            if not events.done():
                raise ConnectionAbortedError
            await events
        finally:
            self._watches.discard(client)
            for task in (events, gone):
                task.cancel()
            await asyncio.gather(events, gone, return_exceptions=True)


async def _pass_events(client: _Peer, server: _Peer) -> None:
    waiting = bytearray()
    async for chunk in _chunks(server.reader):
        waiting += chunk
        whole = 0
        while len(waiting) - whole >= 4:
            end = whole + 4 + int.from_bytes(waiting[whole : whole + 4], "big")
            if end > len(waiting):
                break
            whole = end
        if whole:
            client.send(_chunk(bytes(waiting[:whole])))
            await client.writer.drain()
            del waiting[:whole]
    client.send(_chunk(b""))


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while True:
        size = int(await reader.readuntil(b"\r\n"), 16)
        data = await reader.readexactly(size + 2)
        if not size:
            return
        yield data[:-2]


async def _head(reader: asyncio.StreamReader) -> _Message:
    first, *lines = (await reader.readuntil(_HEAD_END)).decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return _Message(first, {name.strip().lower(): value.strip() for name, _, value in pairs})


async def _body(reader: asyncio.StreamReader, message: _Message) -> bytes:
    if message.is_chunked:
        return b"".join([chunk async for chunk in _chunks(reader)])
    return await reader.readexactly(int(message.headers.get("content-length", 0)))


def _asked(first: str) -> Asked:
    method, target, _ = first.split(" ")
    url = urlsplit(target)
    return Asked(method, url.path, dict(parse_qsl(url.query)))
