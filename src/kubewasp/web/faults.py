"""What can end a request before its answer: the guest's fault, or the client's. Only the log hears of the details."""

from __future__ import annotations

from typing import Final

# What the guest did, and what the client is told of it.
STATUS_OF: Final = {
    "timeout": 504,  # it ran longer than it may
    "trap": 500,
    "memory": 500,  # it trapped with next to no memory left
    "exit": 500,
    "start": 500,  # it never came up
    "abi": 500,  # it broke the rules of its interface: a pointer outside of its memory, a call at the wrong time
    "answer": 502,  # what it answered is no HTTP response
    "too-large": 502,  # it answered more than it may
    "host": 500,  # a fault of ours
}


class GuestFault(Exception):  # noqa: N818 - it is not always an error of the program that sees it
    """The guest cannot answer this request. `kind` is one of `STATUS_OF`; `detail` is for the log."""

    def __init__(self, kind: str, detail: str, guest: str = "") -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.guest = guest

    @property
    def status(self) -> int:
        return STATUS_OF[self.kind]


class ClientFault(Exception):  # noqa: N818 - as above
    """The client sent too much, too slowly, or is gone (status 499, as proxies log it)."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


GONE: Final = 499
