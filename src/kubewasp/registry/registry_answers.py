"""Answers of registries: failures in our own words, the next page of a list, paths of requests."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urljoin, urlsplit

from kubewasp.registry.errors import ContentError, DeniedError, NotFoundError, RegistryError, UnreachableError

if TYPE_CHECKING:
    from kubewasp.registry.connections import Answer
    from kubewasp.registry.settings import Endpoint

_TRANSIENT: Final = (429, 502, 503, 504)
_NEXT: Final = re.compile(r'<([^<>\s"]{1,4096})>\s*;[^,]{0,256}?\brel\s*=\s*"?next"?', re.IGNORECASE)


class BusyError(UnreachableError):
    """The registry cannot answer at present."""

    def __init__(self, text: str, retry_after: float = 0.0) -> None:
        super().__init__(text)
        self.retry_after = retry_after


def failed(answer: Answer, where: str, *, is_push: bool = False) -> RegistryError:
    """The error of an answer without success; the words of the server are not repeated."""
    status = answer.status
    text = f"{where}: {status_text(status)}"
    if status == 404:
        return NotFoundError(f"{where}: not found")
    if status in (401, 403):
        return DeniedError(f"{text}: the credentials do not allow this")
    if status in _TRANSIENT:
        seconds = answer.header("Retry-After")
        return BusyError(text, float(seconds) if seconds.isdigit() and len(seconds) < 5 else 0.0)
    if status >= 500:
        return UnreachableError(text)
    if is_push and status in (400, 415, 422):
        return RegistryError(f"{text}: the registry refuses this kind of manifest; --compat writes another")
    return RegistryError(text)


def status_text(status: int) -> str:
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"


def check_encoding(answer: Answer, where: str) -> None:
    """Compressed answers were not asked for, and have no digest of their own."""
    if answer.header("Content-Encoding").lower() not in ("", "identity"):
        raise ContentError(f"{where}: the registry compresses what was asked for as it is")


def next_page(links: list[str], target: str) -> str:
    """Path and query of the next page, on the same server; empty after the last."""
    for link in links:
        found = _NEXT.search(link[:8192])
        if found is not None:
            try:
                address = urlsplit(urljoin(f"http://registry{target}", found[1]))
            except ValueError:
                raise ContentError("the address of the next page is not valid") from None
            return (address.path or "/") + (f"?{address.query}" if address.query else "")
    return ""


def path_of(endpoint: Endpoint, kind: str, target: str) -> str:
    return f"/v2/{quote(endpoint.repository)}/{kind}/{quote(target, safe=':')}"
