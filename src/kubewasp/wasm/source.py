"""Sources of guests: a path, `file://`, `http://`, `https://`."""

from __future__ import annotations

import base64
import hashlib
import math
import os
import re
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from kubewasp.k8s.quantity import format_size
from kubewasp.wasm.errors import GuestLoadError

if TYPE_CHECKING:
    from io import BufferedIOBase

HTTP_TIMEOUT = 30.0
MAX_BYTES = 1 << 30  # the largest limits.guestSize
_CHUNK = 1 << 20
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_WAT_PLACE = re.compile(r"--> .*:(\d+):(\d+)$", re.MULTILINE)
_CREDENTIALS = re.compile(r"(?<=://)[^/?#]*@")


def fetch(
    source: str | os.PathLike[str], *, sha256: str | None = None, max_bytes: int, timeout: float = HTTP_TIMEOUT
) -> bytes:
    """Reads or downloads wasm. A file ending in `.wat` is WebAssembly text and is assembled.

    `max_bytes` is limits.guestSize, or a bound that no setting raises.
    """
    text = os.fspath(source)
    scheme, separator, rest = text.partition("://")
    shown = without_credentials(text)
    if not separator:
        content = _read(text, text, max_bytes)
    elif scheme.lower() == "file":
        # `file:///absolute`, and also `file://relative/to/here`, as kube-scheduler-wasm-extension reads it
        content, shown = _read(unquote(rest), text, max_bytes), text
    elif scheme.lower() in ("http", "https"):
        content = _download(text, shown, max_bytes, timeout)
    else:
        raise GuestLoadError(f"wasm: cannot load {shown}: unknown scheme {scheme}://, use file://, http:// or https://")
    if sha256 is not None:
        _check_digest(shown, content, sha256)
    return _assemble(shown, content) if text.endswith(".wat") else content


def without_credentials(address: str) -> str:
    """The address without user name and password, for messages."""
    return _CREDENTIALS.sub("", address)


def _read(path: str, source: str, max_bytes: int) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return _bounded(file, source, max_bytes)
    except OSError as error:
        raise GuestLoadError(f"wasm: cannot load {source}: {error.strerror or error}") from None
    except ValueError as error:
        raise GuestLoadError(f"wasm: cannot load {source!r}: {error}") from None


def _download(url: str, shown: str, max_bytes: int, timeout: float) -> bytes:
    """`shown` is the address without credentials, which are sent in a header and never appear in an error."""
    try:
        request = urllib.request.Request(shown, headers={"User-Agent": "kubewasp"})  # noqa: S310 - checked in fetch
        credentials = _CREDENTIALS.search(url)
        if credentials:
            basic = base64.b64encode(unquote(credentials[0][:-1]).encode()).decode()
            request.add_unredirected_header("Authorization", f"Basic {basic}")
        with _opener().open(request, timeout=timeout) as response:
            content = _bounded(response, shown, max_bytes, until=time.monotonic() + timeout)
            missing = response.length
    except urllib.error.HTTPError as error:
        error.close()
        raise GuestLoadError(f"wasm: cannot load {shown}: HTTP {error.code} {error.reason}") from None
    except TimeoutError:
        raise GuestLoadError(f"wasm: cannot load {shown}: no answer within {timeout:g} s") from None
    except urllib.error.URLError as error:
        cause = f"no answer within {timeout:g} s" if isinstance(error.reason, TimeoutError) else error.reason
        raise GuestLoadError(f"wasm: cannot load {shown}: {cause}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise GuestLoadError(f"wasm: cannot load {shown}: {error}") from None
    if missing:
        total = len(content) + missing
        raise GuestLoadError(f"wasm: cannot load {shown}: the connection ended after {len(content)} of {total} bytes")
    return content


def _opener() -> urllib.request.OpenerDirector:
    """An opener for HTTP only: a redirect must not lead to another scheme."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPErrorProcessor,
        urllib.request.UnknownHandler,
    ):
        opener.add_handler(handler())
    return opener


def _bounded(file: BufferedIOBase, source: str, max_bytes: int, until: float = math.inf) -> bytes:
    content = bytearray()
    while chunk := file.read1(_CHUNK):
        content += chunk
        if len(content) > max_bytes:
            remedy = "; raise limits.guestSize" if max_bytes < MAX_BYTES else ""
            raise GuestLoadError(f"wasm: {source} is larger than {format_size(max_bytes)}{remedy}")
        if time.monotonic() > until:
            raise TimeoutError
    return bytes(content)


def _check_digest(source: str, content: bytes, expected: str) -> None:
    expected = expected.removeprefix("sha256:")
    if not _SHA256.fullmatch(expected):
        raise GuestLoadError(f"wasm: sha256 of {source}: expected 64 hexadecimal digits, got {expected[:80]!r}")
    found = hashlib.sha256(content).hexdigest()
    if found != expected.lower():
        raise GuestLoadError(f"wasm: {source} has the sha256 {found}, expected {expected.lower()}")


def _assemble(source: str, content: bytes) -> bytes:
    from wasmtime import WasmtimeError, wat2wasm

    try:
        return bytes(wat2wasm(content.decode("utf-8")))
    except (WasmtimeError, UnicodeDecodeError) as error:
        found = _WAT_PLACE.search(str(error))
        place = f" line {found[1]}, column {found[2]}:" if found else ""
        problem = str(error).strip().partition("\n")[0]
        raise GuestLoadError(f"wasm: {source} is not WebAssembly text:{place} {problem}") from None
