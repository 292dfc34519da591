"""Strict framing of HTTP/1 requests (RFC 9112), without I/O: where a head and a body end, and what is refused.

The parser of the server sees only bytes that have passed here, one request at a time; heads of requests that are
answered at once (immediate.py) are read here only. Measured by `make bars ARGS='--only web'`.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

MAX_HEAD_BYTES: Final = 32 * 1024
MAX_FIELDS: Final = 100
_TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]"
# Possessive quantifiers: linear time for any input.
_FIELD: Final = _TOKEN + rb"++:[\t\x20-\x7e\x80-\xff]*+\r\n"
_HEAD: Final = re.compile(
    rb"(?P<method>" + _TOKEN + rb"{1,32}+) (?P<target>[\x21\x22\x24-\x7e]++) HTTP/1\.(?P<minor>[01])\r\n"
    rb"(?P<fields>(?:" + _FIELD + rb")*+)\r\n"
)
_VERSION: Final = re.compile(rb"[^ \r\n]++ [^ \r\n]++ HTTP/(?!1\.[01]\r)\d\.\d\r\n")
_TARGET: Final = re.compile(rb"(?:(?i:https?)://(?P<authority>[^/?]++))?(?P<path>/[^?]*+)(?:\?(?P<query>.*+))?")
_HOST: Final = re.compile(rb"(?:\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._~%!$&'()*+,;=-]*)(?::\d{0,5})?")
_NOTED: Final = re.compile(rb"(?im)^(host|content-length|transfer-encoding|expect|connection|upgrade):([^\r]*+)\r")
# Fields that may appear once.
_SINGLE: Final = (b"host", b"content-length", b"transfer-encoding", b"expect")
_PAIRS: Final = re.compile(rb"([^:]++):[ \t]*+([^\r]*+)\r\n")
_LENGTH: Final = re.compile(rb"\d{1,18}")
_CHUNK_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,15}+)(?:;[\t\x20-\x7e\x80-\xff]*+)?\r\n")
_TRAILER: Final = re.compile(_FIELD)
_END_OF_HEAD: Final = b"\r\n\r\n"
_CRLF: Final = b"\r\n"
_BARE_LF: Final = re.compile(rb"(?<!\r)\n")
_MAX_LINE: Final = 1024  # of a chunk size with its extensions
_MAX_OVERHEAD: Final = 16 * 1024  # of chunk lines and trailers, beyond a fair share of the data


class RequestError(Exception):
    """Request that is refused: status of the response, and the reason for the log."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Head(NamedTuple):
    """Head of one request. `length` None: chunked."""

    method: bytes
    path: bytes  # percent-encoded, without the query; `*` for the whole server
    query: bytes
    host: bytes
    length: int | None
    fields: bytes
    is_plain: bool  # HTTP/1.1 with the connection kept, without upgrade and expectation; the target is a path

    @property
    def has_body(self) -> bool:
        return self.length != 0

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Names in lower case, and values without space around them."""
        return [(name.lower(), value.rstrip(b" \t")) for name, value in _PAIRS.findall(self.fields)]


class RequestReader:
    """Cuts a stream of bytes into heads and bodies. RequestError ends the stream."""

    def __init__(self, max_head: int = MAX_HEAD_BYTES) -> None:
        self._max_head = max_head
        self._searched = 0
        self._left = 0
        self._chunks: _Chunks | None = None

    @property
    def expects_head(self) -> bool:
        """True between two requests, and within a head."""
        return self._left == 0 and self._chunks is None

    def head(self, pending: bytearray) -> tuple[Head, bytes] | None:
        """Removes the next head; None if it is incomplete."""
        end = pending.find(_END_OF_HEAD, max(0, self._searched - 3)) + len(_END_OF_HEAD)
        if end > self._max_head or (end < len(_END_OF_HEAD) and len(pending) > self._max_head):
            raise RequestError(431, f"head over {self._max_head} bytes")
        if end < len(_END_OF_HEAD):
            if _BARE_LF.search(pending, self._searched):
                raise RequestError(400, "line end without CR")
            self._searched = len(pending)
            return None
        # A line end before a request comes from old clients, after a body.
        text = bytes(memoryview(pending)[:end]).removeprefix(_CRLF)
        del pending[:end]
        self._searched = 0
        head = _read_head(text)
        if head.length is None:
            self._chunks = _Chunks()
        else:
            self._left = head.length
        return head, text

    def body(self, pending: bytearray) -> bytes:
        """Removes the next bytes of the body."""
        if self._chunks is not None:
            end = self._chunks.scan(pending)
            if self._chunks.is_complete:
                self._chunks = None
        else:
            end = min(self._left, len(pending))
            self._left -= end
        piece = bytes(memoryview(pending)[:end])
        del pending[:end]
        return piece


def _read_head(text: bytes) -> Head:
    found = _HEAD.fullmatch(text)
    if found is None:
        if _VERSION.match(text):
            raise RequestError(505, "HTTP version")
        raise RequestError(400, "malformed head")
    fields = found["fields"]
    if fields.count(_CRLF) > MAX_FIELDS:
        raise RequestError(431, f"more than {MAX_FIELDS} header fields")
    noted: dict[bytes, bytes] = {}
    for given, value in _NOTED.findall(fields):
        name = given.lower()
        if name not in noted:
            noted[name] = value.strip(b" \t")
        elif name in _SINGLE:
            raise RequestError(400, f"two {name.decode()} fields")
        else:
            noted[name] += b"," + value
    is_old = found["minor"] == b"0"
    method, target = found["method"], found["target"]
    path, query, host = _place(method, target, noted.get(b"host", b"" if is_old else None))
    if noted.get(b"expect", b"100-continue").lower() != b"100-continue":
        raise RequestError(417, "unknown expectation")
    length = _length(noted.get(b"content-length"), noted.get(b"transfer-encoding"), is_old=is_old)
    is_plain = (
        not is_old
        and target.startswith(b"/")
        and noted.get(b"connection", b"keep-alive").lower() == b"keep-alive"
        and b"upgrade" not in noted
        and b"expect" not in noted
    )
    return Head(method, path, query, host, length, fields, is_plain)


def _place(method: bytes, target: bytes, host: bytes | None) -> tuple[bytes, bytes, bytes]:
    """Path, query and host of a request; the host of an absolute target replaces the header field."""
    if host is None or not _HOST.fullmatch(host):
        raise RequestError(400, "no valid host field")
    if target == b"*" and method == b"OPTIONS":
        return target, b"", host
    found = _TARGET.fullmatch(target)
    if found is None:
        raise RequestError(400, "malformed target")
    authority = found["authority"]
    if authority is not None and not _HOST.fullmatch(authority):
        raise RequestError(400, "malformed target")
    return found["path"], found["query"] or b"", authority or host


def _length(length: bytes | None, encoding: bytes | None, *, is_old: bool) -> int | None:
    """Length of the body; None if it is chunked."""
    if encoding is not None:
        if is_old or length is not None:
            raise RequestError(400, "transfer-encoding with content-length or in HTTP/1.0")
        if encoding.lower() != b"chunked":
            raise RequestError(501, "transfer-encoding other than chunked")
        return None
    if length is None:
        return 0
    if not _LENGTH.fullmatch(length):
        raise RequestError(400, "malformed content-length")
    return int(length)


class _Chunks:
    """Scanner of a chunked body; holds at most one line of it."""

    def __init__(self) -> None:
        self.is_complete = False
        self._line = bytearray()
        self._left = 0  # bytes of the chunk, and the line end after them
        self._in_trailers = False
        self._overhead = 0

    def scan(self, data: bytearray) -> int:
        """Number of bytes that belong to the body."""
        at = 0
        while at < len(data) and not self.is_complete:
            if self._left > len(_CRLF):
                step = min(self._left - len(_CRLF), len(data) - at)
                self._left -= step
                at += step
                continue
            end = data.find(b"\n", at, at + _MAX_LINE) + 1
            self._line += data[at : end or at + _MAX_LINE]
            at = end or min(len(data), at + _MAX_LINE)
            if len(self._line) > _MAX_LINE:
                raise RequestError(400, f"chunk line over {_MAX_LINE} bytes")
            if end:
                self._take(bytes(self._line))
                self._line.clear()
        return at

    def _take(self, line: bytes) -> None:
        if self._left:
            if line != _CRLF:
                raise RequestError(400, "chunk without a line end")
            self._left = 0
            return
        self._overhead += len(line)
        if self._overhead > _MAX_OVERHEAD:
            raise RequestError(400, "too many chunk lines or trailers")
        if not self._in_trailers:
            self._begin(line)
        elif line == _CRLF:
            self.is_complete = True
        elif not _TRAILER.fullmatch(line):
            raise RequestError(400, "malformed trailer")

    def _begin(self, line: bytes) -> None:
        found = _CHUNK_SIZE.fullmatch(line)
        if found is None:
            raise RequestError(400, "malformed chunk size")
        size = int(found[1], 16)
        self._in_trailers = size == 0
        if size:
            self._left = size + len(_CRLF)
            # Small chunks are legitimate, long lines for little data are not.
            self._overhead = max(0, self._overhead - 16 - 2 * size)
