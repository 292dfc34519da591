"""Sources of guests: a path, `file://`, `http://`, `https://`, standard input."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kubewasp.framework.config.guest_urls import local_path
from kubewasp.input_file import StandardInput
from kubewasp.k8s.quantity import format_size
from kubewasp.wasm.compressed import TooLargeError, UnpackError, decoded, gunzip, is_gzip
from kubewasp.wasm.download import DownloadError, TooLongError, download, without_credentials
from kubewasp.wasm.errors import GuestLoadError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from kubewasp.input_file import InputFile

HTTP_TIMEOUT = 30.0
MAX_BYTES = 1 << 30  # the largest limits.guestSize
_CHUNK = 1 << 20
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_WAT_PLACE = re.compile(r"--> .*:(\d+):(\d+)$", re.MULTILINE)


def fetch(
    source: str | os.PathLike[str] | StandardInput,
    *,
    sha256: str | None = None,
    max_bytes: int,
    timeout: float = HTTP_TIMEOUT,
) -> bytes:
    """Reads or downloads wasm, also compressed with gzip.

    WebAssembly text is assembled: a file ending in `.wat` or `.wat.gz`, text on standard input. `max_bytes` is
    limits.guestSize, or a bound that no setting raises.
    """
    text = str(source) if isinstance(source, StandardInput) else os.fspath(source)
    path, shown = local_path(text), without_credentials(text)
    if isinstance(source, StandardInput):
        content = _read(source, text, max_bytes)
    elif path is not None:
        shown = text
        content = _read(Path(path), text, max_bytes)
    elif (scheme := text.partition("://")[0]).lower() in ("http", "https"):
        content = _downloaded(text, shown, max_bytes, timeout, is_fixed=sha256 is not None)
    else:
        raise GuestLoadError(f"wasm: cannot load {shown}: unknown scheme {scheme}://, use file://, http:// or https://")
    if sha256 is not None:
        _check_digest(shown, content, sha256)
    if is_gzip(content):
        with _unpacking(shown, max_bytes):
            content = gunzip(content, max_bytes)
    name = text if path is not None else text.partition("?")[0]
    is_text = name.removesuffix(".gz").endswith(".wat")
    if isinstance(source, StandardInput):
        is_text = content.lstrip()[:1] in (b"(", b";")
    return _assemble(shown, content) if is_text else content


def _read(file: InputFile, source: str, max_bytes: int) -> bytes:
    try:
        with file.open("rb") as opened:
            return _bounded(opened, source, max_bytes)
    except OSError as error:
        raise GuestLoadError(f"wasm: cannot load {source}: {error.strerror or error}") from None
    except ValueError as error:
        raise GuestLoadError(f"wasm: cannot load {source!r}: {error}") from None


def _downloaded(url: str, shown: str, max_bytes: int, timeout: float, *, is_fixed: bool) -> bytes:
    try:
        content, encoding = download(url, max_bytes=max_bytes, timeout=timeout, is_fixed=is_fixed)
    except TooLongError:
        raise _too_large(shown, max_bytes) from None
    except DownloadError as error:
        raise GuestLoadError(f"wasm: cannot load {shown}: {error}") from None
    with _unpacking(shown, max_bytes):  # some servers compress although only the identity was accepted
        return decoded(content, encoding, max_bytes)


def _bounded(file: IO[bytes], source: str, max_bytes: int) -> bytes:
    content = bytearray()
    while chunk := file.read(_CHUNK):
        content += chunk
        if len(content) > max_bytes:
            raise _too_large(source, max_bytes)
    return bytes(content)


@contextmanager
def _unpacking(source: str, max_bytes: int) -> Iterator[None]:
    try:
        yield
    except TooLargeError:
        raise _too_large(source, max_bytes) from None
    except UnpackError as error:
        raise GuestLoadError(f"wasm: cannot load {source}: {error}") from None


def _too_large(source: str, max_bytes: int) -> GuestLoadError:
    remedy = "; raise limits.guestSize" if max_bytes < MAX_BYTES else ""
    return GuestLoadError(f"wasm: {source} is larger than {format_size(max_bytes)}{remedy}")


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
