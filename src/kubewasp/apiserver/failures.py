"""What to tell of a request that got no answer at all: the server is not there, is not trusted, or went away."""

from __future__ import annotations

import os
import socket
import ssl
from typing import TYPE_CHECKING

import aiohttp

from kubewasp.apiserver.connection import ConnectError, ConnectionLostError, NotHttpError
from kubewasp.apiserver.errors import DISCONNECTED, INVALID_ANSWER, TIMED_OUT, UNREACHABLE, UNTRUSTED, ApiError
from kubewasp.apiserver.request_info import request_info

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.apiserver.auth import Access

# What may be raised in place of an answer.
NO_ANSWER = (ConnectError, ConnectionLostError, NotHttpError, aiohttp.ClientError, TimeoutError, OSError, ValueError)

# Numbers of OpenSSL: has expired; is for another host; for another IP address.
_OTHER_HOST = "the server of the kubeconfig, or its tls-server-name, must be one that the certificate names"
_OTHER_AUTHORITY = "the certificate authority of the kubeconfig must be the one of this cluster"
_VERIFY_ADVICE = {10: "the API server needs a new one", 62: _OTHER_HOST, 64: _OTHER_HOST}


def no_answer(
    error: BaseException, access: Access, method: str, path: str, query: Mapping[str, str] | None
) -> ApiError:
    request, server = request_info(method, path, query), access.server
    connecting = _while_connecting(error)
    if connecting is not None:
        reason, message, advice = _not_connected(connecting, server)
        return ApiError(request, 0, reason, message, advice=advice)
    if isinstance(error, TimeoutError):
        return ApiError(request, 0, TIMED_OUT, f"{server} did not answer in time")
    if isinstance(error, aiohttp.InvalidURL | ValueError):
        return ApiError(request, 0, UNREACHABLE, f"{server} is not a valid address")
    if isinstance(error, NotHttpError | aiohttp.ClientResponseError):
        return ApiError(request, 0, INVALID_ANSWER, f"{server} did not answer in HTTP")
    if isinstance(error, aiohttp.ClientPayloadError) or (isinstance(error, ConnectionLostError) and error.heard):
        return ApiError(request, 0, DISCONNECTED, f"{server} closed the connection in the middle of its answer")
    if isinstance(error, ssl.SSLError) or isinstance(error.__cause__, ssl.SSLError):
        problem = _tls_problem(error if isinstance(error, ssl.SSLError) else error.__cause__)
        return ApiError(request, 0, DISCONNECTED, f"{server} ended the TLS connection: {problem}")
    return ApiError(request, 0, DISCONNECTED, f"{server} closed the connection without an answer")


def _while_connecting(error: BaseException) -> BaseException | None:
    """Why no connection could be made, if that is the trouble."""
    if isinstance(error, ConnectError):
        return error.__cause__
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return error.certificate_error
    if isinstance(error, aiohttp.ClientConnectorError):
        return error.os_error
    return error if isinstance(error, aiohttp.ConnectionTimeoutError) else None


def _not_connected(error: BaseException, server: str) -> tuple[str, str, str]:
    """Reason, message and advice."""
    if isinstance(error, ssl.SSLCertVerificationError):
        problem = error.verify_message.rstrip(".") or "it cannot be verified"
        advice = _VERIFY_ADVICE.get(error.verify_code, _OTHER_AUTHORITY)
        return UNTRUSTED, f"the certificate of {server} is not trusted: {problem}", advice
    if isinstance(error, ssl.SSLError):
        problem = _tls_problem(error)
        advice = "does it speak plain HTTP?" if problem == "wrong version number" else ""
        return UNTRUSTED, f"no TLS connection to {server}: {problem}", advice
    if isinstance(error, ValueError):
        return UNREACHABLE, f"{server} is not a valid address", ""
    problem = "no connection in time"
    if isinstance(error, OSError) and not isinstance(error, TimeoutError):
        problem = _problem(error)
    return UNREACHABLE, f"{server} cannot be reached: {problem}", "is the API server running, and is this its address?"


def _problem(error: OSError) -> str:
    """The system's word for it. asyncio's own repeats the address; that of a name that is not found has no number."""
    if isinstance(error, socket.gaierror) or not error.errno or error.errno < 0:
        return error.strerror or "unknown reason"
    return os.strerror(error.errno)


def _tls_problem(error: BaseException | None) -> str:
    return (getattr(error, "reason", None) or "unknown reason").replace("_", " ").lower()
