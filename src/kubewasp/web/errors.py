"""Errors that end a request before its response: of the guest (5xx) and of the client (4xx).

The client receives the status only; the detail goes to the log.
"""

from __future__ import annotations

from typing import Final, Literal

from kubewasp.errors import KubewaspError

ErrorKind = Literal["timeout", "trap", "memory", "exit", "start", "abi", "answer", "too-large", "host"]

STATUS_OF: Final[dict[ErrorKind, int]] = {
    "timeout": 504,  # time limit exceeded
    "trap": 500,
    "memory": 500,  # trap with the memory nearly full
    "exit": 500,
    "start": 500,  # failed start function
    "abi": 500,  # ABI violation: pointer outside of the guest's memory, call at the wrong time
    "answer": 502,  # invalid HTTP response
    "too-large": 502,  # response over its limit
    "host": 500,  # internal error of the host
}
# Client closed the connection; the number is that of proxies' logs and is never sent.
CLIENT_CLOSED_REQUEST: Final = 499


class GuestError(KubewaspError):
    """Failure of a guest during one request; `detail` is for the log."""

    def __init__(self, kind: ErrorKind, detail: str, guest: str = "") -> None:
        super().__init__(detail)
        self.kind: ErrorKind = kind
        self.detail = detail
        self.guest = guest

    @property
    def status(self) -> int:
        return STATUS_OF[self.kind]


class OverrunError(KubewaspError):
    """Request that is too much for the event loop: its guests run for long, wait or write much.

    It has had no effect, and is repeated on a thread (docs/rationale.md, "Short web requests on the event loop").
    """

    def __init__(self, detail: str, *, by_time: bool = False) -> None:
        """`by_time`: possibly because the machine was busy."""
        super().__init__(detail)
        self.by_time = by_time


class ClientError(KubewaspError):
    """Request that is invalid, too large, too slow or one too many, or whose client has disconnected (status 499)."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
