"""Downloads of guests: bounded in time and size, from one server, without its words in errors."""

from __future__ import annotations

import base64
import http
import queue
import re
import threading
import time
import urllib.error
import urllib.request
from http.client import HTTPException, InvalidURL
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO
    from urllib.parse import SplitResult

_CHUNK: Final = 1 << 20
_CREDENTIALS: Final = re.compile(r"(?<=://)[^/?#]*@")
_QUERY: Final = re.compile(r"(?i)^(https?://[^?#]*)\?[^#]*")
_HOST: Final = re.compile(r"[A-Za-z0-9.:-]{1,253}")
_PORTS: Final = {"http": 80, "https": 443}


class DownloadError(Exception):
    """A download failed; the text is the cause."""


class MissingError(DownloadError):
    """The server has nothing at the address."""


class TooLongError(DownloadError):
    """The content is longer than the limit."""


def without_credentials(address: str) -> str:
    """The address for messages: without user name and password, and without a query, which may have a signature."""
    return _QUERY.sub(r"\1?…", _CREDENTIALS.sub("", address))


def download(url: str, *, max_bytes: int, timeout: float, is_fixed: bool) -> tuple[bytes, str]:
    """Content and Content-Encoding; `timeout` is the time of everything, from the name service to the last byte.

    Args:
        url: An HTTP or HTTPS address, with credentials or without.
        max_bytes: The limit of the content.
        timeout: Seconds.
        is_fixed: The digest of the content is known, so another host can deliver it as well.
    """
    # On a thread, as a server may send a header for hours, and a name service may be slow: both have no time limit.
    done: queue.SimpleQueue[tuple[bytes, str] | Exception] = queue.SimpleQueue()

    def run() -> None:
        try:
            done.put(_download(url, max_bytes, timeout, _opener(is_fixed=is_fixed).open))
        except Exception as error:  # noqa: BLE001 - raised by the caller
            done.put(error)

    threading.Thread(target=run, name="kubewasp-download", daemon=True).start()
    try:
        found = done.get(timeout=timeout)
    except queue.Empty:
        found = TimeoutError()
    if isinstance(found, Exception):
        if isinstance(found, DownloadError):
            raise found
        is_missing = isinstance(found, urllib.error.HTTPError) and found.code in (404, 410)
        raise (MissingError if is_missing else DownloadError)(_cause(found, timeout)) from None
    return found


def _download(url: str, max_bytes: int, timeout: float, open_: Callable[..., Any]) -> tuple[bytes, str]:
    until = time.monotonic() + timeout
    request = urllib.request.Request(_CREDENTIALS.sub("", url), headers={"User-Agent": "kubewasp"})  # noqa: S310 - http
    credentials = _CREDENTIALS.search(url)
    if credentials:
        basic = base64.b64encode(unquote(credentials[0][:-1]).encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {basic}")
    with open_(request, timeout=timeout) as response:
        content = _read(response, max_bytes, until)
        missing, encoding = response.length, response.headers.get("Content-Encoding", "")
    if missing:
        raise DownloadError(f"the connection ended after {len(content)} of {len(content) + missing} bytes")
    return content, encoding


def _read(response: IO[bytes], max_bytes: int, until: float) -> bytes:
    content = bytearray()
    read = getattr(response, "read1", response.read)
    while chunk := read(_CHUNK):
        content += chunk
        if len(content) > max_bytes:
            raise TooLongError
        if time.monotonic() > until:
            raise TimeoutError
    return bytes(content)


def _cause(error: Exception, timeout: float) -> str:
    """The cause in our words: a server could put anything into its own, also into a reason phrase."""
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        return _status(error.code)
    if isinstance(error, urllib.error.URLError) and isinstance(error.reason, Exception):
        return _cause(error.reason, timeout)
    if isinstance(error, TimeoutError):
        return f"no answer within {timeout:g} s"
    if isinstance(error, urllib.error.URLError):
        return str(error.reason)
    if isinstance(error, OSError):
        return error.strerror or "the server closed the connection"
    if isinstance(error, ValueError | InvalidURL):
        return "the address, or that of a redirect, is not valid"
    return "the answer is not HTTP" if isinstance(error, HTTPException) else type(error).__name__


def _status(code: int) -> str:
    if 300 <= code < 400:
        return f"HTTP {code}, a redirect that is not followed"
    try:
        return f"HTTP {code} {http.HTTPStatus(code).phrase}"
    except ValueError:
        return f"HTTP {code}"


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Redirects on the same host, or to any host if the content is fixed; never from HTTPS to HTTP."""

    def __init__(self, *, is_fixed: bool) -> None:
        self._is_fixed = is_fixed

    def redirect_request(  # noqa: PLR0917 - of the base class
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        problem = self._problem(urlsplit(req.full_url), urlsplit(newurl))
        if problem:
            fp.close()
            raise DownloadError(problem)
        return super().redirect_request(req, fp, code, msg, headers, newurl)

    def _problem(self, before: SplitResult, after: SplitResult) -> str:
        if after.scheme not in _PORTS:
            return "a redirect to another protocol"
        if (before.scheme, after.scheme) == ("https", "http"):
            return "a redirect from HTTPS to HTTP"
        is_upgrade = before.scheme != after.scheme
        if before.hostname == after.hostname and (is_upgrade or _port(before) == _port(after)):
            return ""
        if self._is_fixed and after.scheme == "https":
            return ""
        shown = after.netloc if _HOST.fullmatch(after.netloc) else "another host"
        return f"a redirect to {shown}; another host is allowed over HTTPS, and with the sha256 of the guest"


def _port(url: SplitResult) -> int:
    return url.port or _PORTS[url.scheme]


def _opener(*, is_fixed: bool) -> urllib.request.OpenerDirector:
    """An opener for HTTP only."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        _Redirects(is_fixed=is_fixed),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener
