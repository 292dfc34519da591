"""Fake API server on loopback with prepared answers and a record of requests."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import orjson

from kubewasp.k8s.codec import encode, encode_message, wrap_unknown
from kubewasp.k8s.kinds import message_name
from tests.apiserver.loopback import LoopbackServer

if TYPE_CHECKING:
    import ssl

PROTOBUF = "application/vnd.kubernetes.protobuf"


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """Answer with a length; the last `cut` bytes are never sent."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = PROTOBUF
    cut: int = 0


@dataclass(frozen=True)
class Stream:
    """Chunked answer, a chunk for each piece; then its end (`ends`), a lost connection (`cut`) or silence (`holds`)."""

    pieces: Sequence[bytes] = ()
    then: str = "holds"


@dataclass(frozen=True)
class Silence:
    """No answer, with an open connection."""


@dataclass(frozen=True)
class Drop:
    """Closed connection without an answer."""


Reaction = Answer | Stream | Silence | Drop | Callable[[Request], "Answer | Stream | Silence | Drop"]


class FakeServer(LoopbackServer):
    """`on` prepares answers, each given once, in order; any other request is answered with 418."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(tls)
        self.requests: list[Request] = []
        self.open_connections = 0
        self._laid_out: dict[tuple[str, str], deque[Reaction]] = defaultdict(deque)
        self._always: dict[tuple[str, str], Reaction] = {}
        self._asked = asyncio.Event()

    def on(self, method: str, path: str, *reactions: Reaction) -> None:
        self._laid_out[method, path].extend(reactions)

    def always(self, method: str, path: str, reaction: Reaction) -> None:
        self._always[method, path] = reaction

    async def asked(self, count: int) -> None:
        """Waits for the given number of requests."""
        while len(self.requests) < count:
            self._asked.clear()
            await self._asked.wait()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open_connections += 1
        try:
            while True:
                request = await _read(reader)
                self.requests.append(request)
                self._asked.set()
                if not await self._react(self._reaction(request), reader, writer):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open_connections -= 1
            self._writers.discard(writer)
            writer.transport.abort()

    def _reaction(self, request: Request) -> Answer | Stream | Silence | Drop:
        key = request.method, request.path
        found: Reaction | None = self._laid_out[key].popleft() if self._laid_out[key] else self._always.get(key)
        if found is None:
            return Answer(b"nothing was laid out for this", status=418, content_type="text/plain")
        return found(request) if callable(found) else found

    @staticmethod
    async def _react(
        reaction: Answer | Stream | Silence | Drop, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answers; whether the connection stays open."""
        if isinstance(reaction, Answer):
            writer.write(_head(reaction.status, reaction.content_type, reaction.headers, len(reaction.body)))
            writer.write(reaction.body[: len(reaction.body) - reaction.cut])
            await writer.drain()
            if reaction.cut:
                writer.close()
            return not reaction.cut
        if isinstance(reaction, Stream):
            writer.write(_head(200, f"{PROTOBUF};stream=watch", {}, None))
            for piece in reaction.pieces:
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await writer.drain()
            if reaction.then == "ends":
                writer.write(b"0\r\n\r\n")
                await writer.drain()
                return True
            if reaction.then == "cut":
                writer.close()
                return False
        if isinstance(reaction, Drop):
            writer.close()
            return False
        await reader.read(1)  # until the client goes away
        return False


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    url = urlsplit(target)
    return Request(method, url.path, dict(parse_qsl(url.query)), headers, body)


def _head(status: int, content_type: str, headers: Mapping[str, str], length: int | None) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Type: {content_type}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines.append("Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def pod(name: str, version: str = "1", namespace: str = "default") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "resourceVersion": version}
    return {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def object_answer(kind: str, manifest: Mapping[str, Any], api_version: str = "v1", status: int = 200) -> Answer:
    data = encode_message(message_name(api_version, kind), manifest)
    return Answer(wrap_unknown(api_version, kind, data), status)


def list_answer(pods: Sequence[Mapping[str, Any]], version: str = "10", more: str = "") -> Answer:
    return object_answer("PodList", {"metadata": {"resourceVersion": version, "continue": more}, "items": pods})


def status_manifest(code: int, reason: str, message: str = "", **details: Any) -> dict[str, Any]:
    return {"status": "Failure", "code": code, "reason": reason, "message": message or reason, "details": details}


def status_answer(code: int, reason: str, message: str = "", *, json: bool = False, **details: Any) -> Answer:
    manifest = status_manifest(code, reason, message, **details)
    retry = {"Retry-After": str(details["retryAfterSeconds"])} if "retryAfterSeconds" in details else {}
    if json:
        body = orjson.dumps({"kind": "Status", "apiVersion": "v1", **manifest})
        return Answer(body, code, retry, "application/json")
    return Answer(wrap_unknown("v1", "Status", encode("Status", manifest)), code, retry)


def frame(event_type: str, manifest: Mapping[str, Any], kind: str = "Pod") -> bytes:
    """Frame of a watch event."""
    wrapped = wrap_unknown("v1", kind, encode(kind, manifest))
    extension = b"\x0a" + _varint(len(wrapped)) + wrapped
    event = b"\x0a" + _varint(len(event_type)) + event_type.encode() + b"\x12" + _varint(len(extension)) + extension
    return len(event).to_bytes(4, "big") + event


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*encoded, value))
