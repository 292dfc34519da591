"""Guests outside of registries: a path, `file://`, `http://`, `https://`, standard input. `source` has them all."""

from __future__ import annotations

import hashlib
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
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
# Signatures beside a guest: a Sigstore bundle; a bundle of cosign 2, or a Sigstore bundle; a signature alone.
SIGNATURE_ENDINGS = (".sigstore.json", ".bundle", ".sig")
_CHUNK = 1 << 20
_TEXT_START = 4096
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_WAT_PLACE = re.compile(r"--> .*:(\d+):(\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class GuestFile:
    """Content as it is stored, with the name for messages, and the address without it for a name beside it."""

    content: bytes = field(repr=False)
    shown: str
    is_text: bool

    def wasm(self, max_bytes: int) -> bytes:
        """The content without gzip, and assembled if it is WebAssembly text."""
        content = self.content
        if is_gzip(content):
            with _unpacking(self.shown, max_bytes):
                content = gunzip(content, max_bytes)
        return _assemble(self.shown, content) if self.is_text else content


def read_guest_file(
    source: str | StandardInput, *, sha256: str | None = None, max_bytes: int, timeout: float = HTTP_TIMEOUT
) -> GuestFile:
    """Reads or downloads a guest. WebAssembly text is a file ending in `.wat` or `.wat.gz`, or text on standard input.

    `max_bytes` is limits.guestSize, or a bound that no setting raises.
    """
    text = str(source)
    path, shown = local_path(text), without_credentials(text)
    if isinstance(source, StandardInput):
        content = _read(source, text, max_bytes)
    elif path is not None:
        shown = text
        content = _read(Path(path), text, max_bytes)
    elif (scheme := text.partition("://")[0]).lower() in ("http", "https"):
        content = _downloaded(text, shown, max_bytes, timeout, is_fixed=sha256 is not None)
    else:
        schemes = "use file://, http://, https:// or oci://"
        raise GuestLoadError(f"wasm: cannot load {shown}: unknown scheme {scheme}://, {schemes}")
    if sha256 is not None:
        check_digest(shown, hashlib.sha256(content).hexdigest(), sha256)
    name = text if path is not None else text.partition("?")[0]
    is_text = name.removesuffix(".gz").endswith(".wat")
    if isinstance(source, StandardInput):
        unpacked = content[:_TEXT_START]
        if is_gzip(content):
            with _unpacking(shown, max_bytes):
                unpacked = gunzip(content, max_bytes)
        is_text = unpacked.lstrip()[:1] in (b"(", b";")
    return GuestFile(content, shown, is_text)


def signature_files(file: Path) -> tuple[Path, ...]:
    """Places of the signatures of a file, whether there are any or not: a new one makes a refused guest usable."""
    return tuple(file.with_name(file.name + ending) for ending in SIGNATURE_ENDINGS)


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


def check_digest(source: str, found: str, expected: str) -> None:
    """GuestLoadError unless the hexadecimal digest is the expected one."""
    expected = expected.removeprefix("sha256:")
    if not _SHA256.fullmatch(expected):
        raise GuestLoadError(f"wasm: sha256 of {source}: expected 64 hexadecimal digits, got {expected[:80]!r}")
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
