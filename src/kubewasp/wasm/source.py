"""Where guests come from: a path, `file://`, `http://`, `https://`."""

from __future__ import annotations

import hashlib
import os
import re
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit

from kubewasp.wasm.errors import GuestLoadError

HTTP_TIMEOUT = 30.0
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


def fetch(
    source: str | os.PathLike[str], *, sha256: str | None = None, max_bytes: int, timeout: float = HTTP_TIMEOUT
) -> bytes:
    """The wasm at that place. A file ending in `.wat` is WebAssembly text and is assembled."""
    text = os.fspath(source)
    scheme = urlsplit(text).scheme if "://" in text else ""
    if scheme in ("http", "https"):
        content = _download(text, max_bytes, timeout)
    elif scheme in ("", "file"):
        content = _read(_path(text) if scheme else Path(text), text, max_bytes)
    else:
        raise GuestLoadError(f"wasm: cannot load {text}: unknown scheme {scheme}://, use file://, http:// or https://")
    if sha256 is not None:
        _check_digest(text, content, sha256)
    return _assemble(text, content) if text.endswith(".wat") else content


def _path(url: str) -> Path:
    """`file:///absolute`, and also `file://relative/to/here`, as kube-scheduler-wasm-extension reads it."""
    return Path(unquote(url.removeprefix("file://")))


def _read(path: Path, source: str, max_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            return _bounded(file, source, max_bytes)
    except OSError as error:
        raise GuestLoadError(f"wasm: cannot load {source}: {error.strerror or error}") from None


def _download(url: str, max_bytes: int, timeout: float) -> bytes:
    shown = _without_credentials(url)
    request = urllib.request.Request(url, headers={"User-Agent": "kubewasp"})  # noqa: S310 - http(s) only, checked above
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:  # noqa: S310
            return _bounded(response, shown, max_bytes)
    except urllib.error.HTTPError as error:
        raise GuestLoadError(f"wasm: cannot load {shown}: HTTP {error.code} {error.reason}") from None
    except TimeoutError:
        raise GuestLoadError(f"wasm: cannot load {shown}: no answer within {timeout:g} s") from None
    except urllib.error.URLError as error:
        cause = f"no answer within {timeout:g} s" if isinstance(error.reason, TimeoutError) else error.reason
        raise GuestLoadError(f"wasm: cannot load {shown}: {cause}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise GuestLoadError(f"wasm: cannot load {shown}: {error}") from None


def _bounded(file: IO[bytes], source: str, max_bytes: int) -> bytes:
    content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise GuestLoadError(f"wasm: {source} is larger than {max_bytes} bytes; raise limits.guest_size")
    return content


def _check_digest(source: str, content: bytes, expected: str) -> None:
    expected = expected.removeprefix("sha256:")
    if not _SHA256.fullmatch(expected):
        raise GuestLoadError(f"wasm: sha256 of {source}: expected 64 hexadecimal digits, got {expected[:80]!r}")
    found = hashlib.sha256(content).hexdigest()
    if found != expected.lower():
        raise GuestLoadError(
            f"wasm: {_without_credentials(source)} has the sha256 {found}, expected {expected.lower()}"
        )


def _assemble(source: str, content: bytes) -> bytes:
    from wasmtime import WasmtimeError, wat2wasm

    try:
        return bytes(wat2wasm(content.decode("utf-8")))
    except (WasmtimeError, UnicodeDecodeError) as error:
        raise GuestLoadError(f"wasm: {source} is not WebAssembly text: {str(error).strip()}") from None


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
