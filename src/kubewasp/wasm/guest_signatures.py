"""Signatures beside a guest outside of registries: the file or address with the ending of a signature."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kubewasp.framework.config.guest_urls import local_path
from kubewasp.trust.signatures import MAX_DOCUMENT_BYTES, UnreadableSignature, read_detached
from kubewasp.wasm.download import DownloadError, MissingError, download
from kubewasp.wasm.guest_files import HTTP_TIMEOUT, SIGNATURE_ENDINGS

if TYPE_CHECKING:
    from kubewasp.trust.signatures import Evidence


def signatures_beside(source: str, *, timeout: float = HTTP_TIMEOUT) -> tuple[Evidence, ...]:
    """The signatures of a file or of an HTTP address. One that cannot be read is told as such."""
    path = local_path(source)
    found = (
        _downloaded(source, ending, timeout) if path is None else _read(Path(path + ending))
        for ending in SIGNATURE_ENDINGS
    )
    return tuple(evidence for evidence in found if evidence is not None)


def _read(file: Path) -> Evidence | None:
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_DOCUMENT_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        return UnreadableSignature(f"cannot be read: {error.strerror}", file.name)
    except ValueError:
        return None
    return read_detached(content, file.name)


def _downloaded(url: str, ending: str, timeout: float) -> Evidence | None:
    address, mark, query = url.partition("?")
    place = f"address with {ending}"
    try:
        content, _ = download(
            f"{address}{ending}{mark}{query}", max_bytes=MAX_DOCUMENT_BYTES, timeout=timeout, is_fixed=False
        )
    except MissingError:
        return None
    except DownloadError as error:
        return UnreadableSignature(str(error) or "larger than any signature", place)
    return read_detached(content, place)
