"""Requests of `kubewasp rollout` to a running process."""

from __future__ import annotations

import http.client
import ssl
from typing import Any, Final
from urllib.parse import quote

import orjson

from kubewasp.cli.inputs import server_url
from kubewasp.errors import KubewaspError

_TIMEOUT: Final = 30.0
_MAX_BYTES: Final = 16 * 1024 * 1024
_MAX_TEXT: Final = 500


class RequestError(KubewaspError):
    """The process cannot be reached, or refuses the request."""


def status(server: str) -> dict[str, Any]:
    return _request(server, "GET", "/rollout")


def act(server: str, action: str, plugin: str) -> dict[str, Any]:
    return _request(server, "POST", f"/rollout/{action}" + (f"?plugin={quote(plugin, safe='')}" if plugin else ""))


def reload(server: str, *, retry: bool) -> dict[str, Any]:
    return _request(server, "POST", "/reload?retry=true" if retry else "/reload")


def _request(server: str, method: str, path: str) -> dict[str, Any]:
    parts = server_url(server, "http://127.0.0.1:10259", "--server")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(str(parts.hostname), parts.port, timeout=_TIMEOUT)
    try:
        connection.request(method, parts.path.rstrip("/") + path, headers={"Accept": "application/json"})
        answer = connection.getresponse()
        body = answer.read(_MAX_BYTES + 1)
    except (OSError, http.client.HTTPException, ssl.SSLError) as error:
        cause = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        advice = "is kubewasp running there? Use kubectl exec or kubectl port-forward for a pod"
        raise RequestError(f"{server} cannot be reached: {cause}; {advice}") from None
    finally:
        connection.close()
    if answer.status >= 300:
        raise RequestError(f"{server}: {_reason(answer.status, body)}")
    try:
        document = orjson.loads(body) if len(body) <= _MAX_BYTES else None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise RequestError(f"{server}: the answer is not one of kubewasp")
    return document


def _reason(status: int, body: bytes) -> str:
    """A refusal of kubewasp is one line; any other text is not shown."""
    text = body[: _MAX_TEXT + 1].decode("utf-8", "replace").strip()
    is_line = bool(text) and len(text) <= _MAX_TEXT and "\n" not in text and "<" not in text
    return text if status in (403, 409) and is_line else f"HTTP status {status}; is it kubewasp run?"
