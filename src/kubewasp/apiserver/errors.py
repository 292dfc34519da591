"""Errors of the API server client. Each text names the request, the cause and the remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.errors import KubewaspError
from kubewasp.k8s.codec import decode_message, encode_message, unwrap_unknown
from kubewasp.k8s.errors import ManifestError, WireError

if TYPE_CHECKING:
    from kubewasp.apiserver.api_resources import RequestInfo

STATUS_MESSAGE: Final = "apis.meta.v1.Status"
TOO_LARGE_VERSION: Final = "ResourceVersionTooLarge"

# Reasons of kubewasp, for requests without a response (status 0).
UNREACHABLE: Final = "Unreachable"
UNTRUSTED: Final = "Untrusted"
DISCONNECTED: Final = "Disconnected"
TIMED_OUT: Final = "TimedOut"
INVALID_ANSWER: Final = "InvalidAnswer"
NOT_ALLOWED: Final = "NotAllowed"  # refused by the guard of the client itself
# The request never left this machine: any method may be retried.
NEVER_SENT: Final = frozenset((UNREACHABLE, UNTRUSTED, NOT_ALLOWED))

_SHOWN_CHARACTERS: Final = 200


class ApiConfigError(KubewaspError):
    """Unusable kubeconfig or service account. The text never holds a token or a key."""


class ServerTooOldError(KubewaspError):
    """The API server is older than the oldest supported Kubernetes version."""


class ApiError(KubewaspError):
    """Failed request. `status` is 0 if there was no response; `reason` then is one of the constants above."""

    def __init__(
        self,
        request: RequestInfo,
        status: int,
        reason: str,
        message: str,
        *,
        retry_after: float | None = None,
        causes: tuple[str, ...] = (),
        advice: str = "",
    ) -> None:
        super().__init__(f"cannot {request}: {message}{f' ({advice})' if advice else ''}")
        self.request = request
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after
        self.causes = causes

    @property
    def maybe_done(self) -> bool:
        """Whether the server may have carried out the request: no response, or an internal error."""
        if self.status == 0:
            return self.reason not in NEVER_SENT
        return self.status >= 500  # with Retry-After as well: etcd timeouts carry one

    @property
    def is_expired(self) -> bool:
        """410: the resourceVersion or the continue token is too old."""
        return self.status == 410

    @property
    def is_too_large_version(self) -> bool:
        """The resourceVersion is in the server's future, as after a restore of etcd."""
        return TOO_LARGE_VERSION in self.causes


def error_of_answer(
    request: RequestInfo, code: int, body: bytes, *, phrase: str = "", retry_after: float | None = None
) -> ApiError:
    """Error for an HTTP response whose body is a Status, or any text of a proxy."""
    status = _status(body)
    if status is None:
        return _error_without_status(request, code, body, phrase, retry_after)
    return error_of_status(request, status, code=code, retry_after=retry_after)


def error_of_status(
    request: RequestInfo, status: dict[str, Any], *, code: int = 0, retry_after: float | None = None
) -> ApiError:
    """Error for a Status, from a response or from an event of a watch."""
    details = status.get("details") or {}
    code = code or status.get("code") or 500
    reason = status.get("reason") or ""
    if retry_after is None and details.get("retryAfterSeconds"):
        retry_after = float(details["retryAfterSeconds"])
    return ApiError(
        request,
        code,
        reason,
        status.get("message") or reason or f"HTTP status {code}",
        retry_after=retry_after,
        causes=tuple(cause.get("reason") or "" for cause in details.get("causes") or ()),
        advice=_advice(request, code, named=bool(details.get("name"))),
    )


def invalid_answer(request: RequestInfo, problem: WireError) -> ApiError:
    """Error for a successful response with an undecodable body."""
    return ApiError(request, 0, INVALID_ANSWER, f"not an answer of a Kubernetes API server: {problem}")


def _error_without_status(
    request: RequestInfo, code: int, body: bytes, phrase: str, retry_after: float | None
) -> ApiError:
    text = " ".join(body[:_SHOWN_CHARACTERS].decode("utf-8", "replace").split())
    shown = "".join(character for character in text if character.isprintable())
    message = f"HTTP status {code}{f' {phrase}' if phrase else ''}{f': {shown}' if shown else ''}"
    return ApiError(request, code, phrase, message, retry_after=retry_after, advice=_advice(request, code, named=False))


def _advice(request: RequestInfo, code: int, *, named: bool) -> str:
    if code == 401:
        return "the API server does not accept the credentials: the token or client certificate has expired or is wrong"
    if code == 403:
        place = f" in namespace {request.namespace}" if request.namespace else " in the whole cluster"
        group = f'"{request.group}"'
        return f'RBAC must allow the verb "{request.verb}" on "{request.resource}" of API group {group}{place}'
    if code == 404 and not named:
        return f"the API server has no {request.resource} of {request.api_version}: its version is too old"
    return ""


def _status(body: bytes) -> Any:
    try:
        if body.startswith(b"k8s\0"):
            _, kind, raw = unwrap_unknown(body)
            return decode_message(STATUS_MESSAGE, raw) if kind == "Status" else None
        found = orjson.loads(body)
        if not isinstance(found, dict) or found.get("kind") != "Status":
            return None
        # Encoding and decoding enforces the field types: the JSON may come from any proxy.
        return decode_message(STATUS_MESSAGE, encode_message(STATUS_MESSAGE, found))
    except (WireError, ManifestError, orjson.JSONDecodeError):
        return None
