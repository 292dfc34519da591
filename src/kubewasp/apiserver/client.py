"""The client of an API server: rate limit, retries, and new credentials after a 401, around one request."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubewasp.apiserver.backoff import Backoff
from kubewasp.apiserver.errors import NOT_ALLOWED, UNTRUSTED, ApiError
from kubewasp.apiserver.rate_limit import DEFAULT_BURST, DEFAULT_QPS, TokenBucket
from kubewasp.apiserver.request_info import request_info
from kubewasp.apiserver.transport import PROTOBUF, Transport
from kubewasp.clock import SYSTEM_CLOCK, AsyncClock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping
    from types import TracebackType

    from kubewasp.apiserver.auth import Credentials
    from kubewasp.apiserver.request_observer import RequestObserver

DEFAULT_TIMEOUT: Final = 30.0
DEFAULT_TRIES: Final = 5

_FIRST_DELAY: Final = 0.1
_MOST_DELAY: Final = 5.0
_MOST_RETRY_AFTER: Final = 30.0
# More would open more connections, each with a handshake, and not be answered sooner.
_MOST_UNDER_WAY: Final = 32


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request whose path and body are ready to be sent."""

    method: str
    path: str
    body: bytes
    content_type: str = PROTOBUF


class ApiClient:
    """Sends requests to one API server. Use it as `async with`, or `close` it.

    Clients made with `sibling` use the same session, but have a rate limit and a number of requests under way of their
    own: leader election must not wait behind thousands of bindings.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        qps: float = DEFAULT_QPS,
        burst: int = DEFAULT_BURST,
        clock: AsyncClock = SYSTEM_CLOCK,
        transport: Transport | None = None,
        limit: TokenBucket | None = None,
        slots: asyncio.Semaphore | None = None,
        may_write: Callable[[], bool] = lambda: True,
        observer: RequestObserver | None = None,
    ) -> None:
        self.credentials = credentials
        self._clock = clock
        self._observer = observer
        self._transport = transport or Transport(observer.answered if observer is not None else None)
        self._limit = limit or TokenBucket(qps, burst, clock)
        self._slots = slots or asyncio.Semaphore(_MOST_UNDER_WAY)
        self._may_write = may_write

    def sibling(self, *, qps: float = DEFAULT_QPS, burst: int = DEFAULT_BURST) -> ApiClient:
        return ApiClient(
            self.credentials,
            qps=qps,
            burst=burst,
            clock=self._clock,
            transport=self._transport,
            observer=self._observer,
        )

    def guarded(self, may_write: Callable[[], bool]) -> ApiClient:
        """As this one, with its rate limit, but asks before each write, at the last moment, whether it may be sent.

        A request may have waited long for the rate limit and for others, or be a second try.
        """
        return ApiClient(
            self.credentials,
            clock=self._clock,
            transport=self._transport,
            limit=self._limit,
            slots=self._slots,
            may_write=may_write,
            observer=self._observer,
        )

    async def __aenter__(self) -> ApiClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections, of siblings too."""
        await self._transport.close()

    async def send(self, prepared: PreparedRequest, *, idempotent: bool = False) -> bytes:
        """Sends a request that was prepared; otherwise as `request`."""
        return await self.request(
            prepared.method,
            prepared.path,
            body=prepared.body,
            content_type=prepared.content_type,
            idempotent=idempotent,
        )

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
        content_type: str = PROTOBUF,
        accept: str = PROTOBUF,
        idempotent: bool | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        tries: int = DEFAULT_TRIES,
    ) -> bytes:
        """The body of the answer; ApiError if all tries failed, with what the last one met.

        A call is tried again if the server has surely not carried it out (it could not be reached, or said 429:
        come later), and after any failure of server or connection if it is idempotent: unless told otherwise, a GET.
        """
        if idempotent is None:
            idempotent = method == "GET"
        backoff: Backoff | None = None
        refused = None
        while True:
            await self._turn(method)
            access = await self.credentials.fresh()
            try:
                async with self._slots:
                    if method != "GET" and not self._may_write():
                        raise _not_allowed(method, path)
                    answer = await self._transport.send(
                        access,
                        method,
                        path,
                        query=query,
                        body=body,
                        content_type=content_type,
                        accept=accept,
                        timeout=timeout,
                    )
                if self._observer is not None:
                    self._observer.transferred(method, len(body), len(answer))
                return answer
            except ApiError as error:
                if error.status == 401 and refused is None:
                    refused = access
                    if await self.credentials.renewed(access) is not access:
                        continue
                tries -= 1
                if tries <= 0 or not _worth_another_try(error, idempotent=idempotent):
                    raise
                backoff = backoff or Backoff(_FIRST_DELAY, _MOST_DELAY)
                delay = max(backoff.next(), min(error.retry_after or 0.0, _MOST_RETRY_AFTER))
                if self._observer is not None:
                    self._observer.retried(method, error.status)
            await self._clock.sleep(delay)

    async def watch(self, path: str, *, query: Mapping[str, str], timeout: float) -> AsyncGenerator[bytes, None]:
        """The bytes of a watch. Not tried again: only the caller knows where to go on. To be closed by the caller."""
        await self._turn("GET")
        access = await self.credentials.fresh()
        try:
            async with aclosing(self._transport.stream(access, path, query=query, timeout=timeout)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except ApiError as error:
            if error.status == 401:
                await self.credentials.renewed(access)  # for the next watch
            raise

    async def _turn(self, method: str) -> None:
        waited = await self._limit.wait()
        if self._observer is not None:
            self._observer.limited(method, waited)


def _not_allowed(method: str, path: str) -> ApiError:
    return ApiError(request_info(method, path), 0, NOT_ALLOWED, "this scheduler is no longer the leader")


def _worth_another_try(error: ApiError, *, idempotent: bool) -> bool:
    if error.status == 429:
        return True
    if 0 < error.status < 500 or error.reason in (UNTRUSTED, NOT_ALLOWED):
        return False
    return idempotent or not error.maybe_done
