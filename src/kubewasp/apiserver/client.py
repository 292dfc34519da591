"""Client of an API server: retries, rate limit, renewed credentials after a 401, and a check of the version."""

from __future__ import annotations

import asyncio
import logging
import random
import re
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import orjson

from kubewasp.apiserver.api_resources import request_info
from kubewasp.apiserver.errors import (
    DISCONNECTED,
    INVALID_ANSWER,
    NOT_ALLOWED,
    TIMED_OUT,
    UNREACHABLE,
    UNTRUSTED,
    ApiError,
    ServerTooOldError,
)
from kubewasp.apiserver.transport import PROTOBUF, Transport
from kubewasp.clock import SYSTEM_CLOCK, AsyncClock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping
    from types import TracebackType

    from kubewasp.apiserver.auth import Credentials

DEFAULT_QPS: Final = 50.0
DEFAULT_BURST: Final = 100
DEFAULT_TIMEOUT: Final = 30.0
DEFAULT_TRIES: Final = 5

# Since this version the API server has every watched resource; csistoragecapacities of storage.k8s.io/v1 came last.
OLDEST_VERSION: Final = (1, 24)

_FIRST_DELAY, _MOST_DELAY = 0.1, 5.0
_MOST_RETRY_AFTER: Final = 30.0
# More parallel requests would open more connections, each with a handshake, for no faster answers.
_MOST_PARALLEL: Final = 32
_VERSION_PATH: Final = "/version"
_VERSION_TIMEOUT: Final = 10.0
_FIRST_VERSION_DELAY, _MOST_VERSION_DELAY = 1.0, 30.0
_TRANSIENT: Final = frozenset((UNREACHABLE, DISCONNECTED, TIMED_OUT))

logger = logging.getLogger(__name__)


class RequestObserver(Protocol):
    """Observer of requests, for metrics. Called inline in the event loop, for each try of a request."""

    def answered(self, method: str, path: str, status: int, seconds: float) -> None:
        """End of a request, or start of a watch. The status is 0 without a response."""

    def transferred(self, method: str, sent: int, received: int) -> None:
        """Body sizes of a request that succeeded."""

    def limited(self, method: str, seconds: float) -> None:
        """Delay by the client's own rate limit, 0 included."""

    def retried(self, method: str, status: int) -> None:
        """Retry of a request after a response of that status."""


@dataclass(slots=True)
class Backoff:
    """Delays that double from `first` to `most` seconds, with jitter against synchronized clients."""

    first: float
    most: float
    jitter: float = 1.0
    _step: float = 0.0

    def next(self) -> float:
        self._step = min(max(self._step * 2, self.first), self.most)
        return min(self._step * (1 + self.jitter * random.random()), self.most)  # noqa: S311 no secret

    def reset(self) -> None:
        self._step = 0.0


class TokenBucket:
    """Client-side rate limit as in client-go: `burst` calls at once, `qps` a second in the long run, in order.

    Zero means the default of kube-scheduler, a negative `qps` no limit.
    """

    def __init__(self, qps: float, burst: int, clock: AsyncClock) -> None:
        self._qps = qps or DEFAULT_QPS
        self._burst = burst or DEFAULT_BURST
        self._clock = clock
        self._tokens = float(self._burst)
        self._filled_at = clock.now()

    async def wait(self) -> float:
        """Waits for a token; the seconds waited."""
        if self._qps < 0:
            return 0.0
        delay = self._take()
        if delay > 0:
            try:
                await self._clock.sleep(delay)
            except asyncio.CancelledError:
                self._tokens += 1
                raise
        return delay

    def _take(self) -> float:
        """Takes a token, from the future if the bucket is empty; the seconds until it is available."""
        now = self._clock.now()
        self._tokens = min(self._tokens + (now - self._filled_at) * self._qps, self._burst) - 1
        self._filled_at = now
        return max(0.0, -self._tokens / self._qps)


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """Request with its encoded body."""

    method: str
    path: str
    body: bytes
    content_type: str = PROTOBUF


class ApiClient:
    """Client of one API server, to be closed or used in `async with`.

    A `sibling` shares the connections, but has its own rate limit and its own parallel requests: leader election must
    not wait behind thousands of bindings.
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
        self._slots = slots or asyncio.Semaphore(_MOST_PARALLEL)
        self._may_write = may_write

    def sibling(self, *, qps: float = DEFAULT_QPS, burst: int = DEFAULT_BURST) -> ApiClient:
        """Client with the same connections and a separate rate limit."""
        return ApiClient(
            self.credentials,
            qps=qps,
            burst=burst,
            clock=self._clock,
            transport=self._transport,
            observer=self._observer,
        )

    def guarded(self, may_write: Callable[[], bool]) -> ApiClient:
        """Client with the same rate limit that checks `may_write` immediately before it sends a write.

        A request may have waited long for the rate limit or for others, or be a retry.
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
        """Closes all connections, those of siblings included."""
        await self._transport.close()

    async def send(self, prepared: PreparedRequest, *, idempotent: bool = False) -> bytes:
        """Sends a prepared request; otherwise as `request`."""
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
        """Body of the response; the ApiError of the last try if all tries fail.

        A request is retried if the server has certainly not carried it out (unreachable, or 429), and after any failure
        of server or connection if it is idempotent, by default a GET.
        """
        if idempotent is None:
            idempotent = method == "GET"
        backoff: Backoff | None = None
        refused = None
        while True:
            await self._wait_for_limit(method)
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
                if tries <= 0 or not _is_retryable(error, idempotent=idempotent):
                    raise
                backoff = backoff or Backoff(_FIRST_DELAY, _MOST_DELAY)
                delay = max(backoff.next(), min(error.retry_after or 0.0, _MOST_RETRY_AFTER))
                if self._observer is not None:
                    self._observer.retried(method, error.status)
            await self._clock.sleep(delay)

    async def watch(self, path: str, *, query: Mapping[str, str], timeout: float) -> AsyncGenerator[bytes, None]:
        """Bytes of a watch, to be closed by the caller. Not retried: only the caller knows the resourceVersion."""
        await self._wait_for_limit("GET")
        access = await self.credentials.fresh()
        try:
            async with aclosing(self._transport.stream(access, path, query=query, timeout=timeout)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except ApiError as error:
            if error.status == 401:
                await self.credentials.renewed(access)  # for the next watch
            raise

    async def _wait_for_limit(self, method: str) -> None:
        waited = await self._limit.wait()
        if self._observer is not None:
            self._observer.limited(method, waited)


def _not_allowed(method: str, path: str) -> ApiError:
    return ApiError(request_info(method, path), 0, NOT_ALLOWED, "this scheduler is no longer the leader")


def _is_retryable(error: ApiError, *, idempotent: bool) -> bool:
    if error.status == 429:
        return True
    if 0 < error.status < 500 or error.reason in (UNTRUSTED, NOT_ALLOWED):
        return False
    return idempotent or not error.maybe_done


# ---------------------------------------------------------------------- first request


async def wait_for_server(client: ApiClient, *, clock: AsyncClock = SYSTEM_CLOCK) -> None:
    """Waits for the first response and checks the version. ApiError or ServerTooOldError if waiting does not help.

    One clear error comes before many lists that fail for the same reason.
    """
    backoff = Backoff(_FIRST_VERSION_DELAY, _MOST_VERSION_DELAY)
    while True:
        try:
            await server_version(client, tries=1)
        except ApiError as error:
            if not _is_transient(error, may_change=client.credentials.may_change):
                raise
            delay = max(backoff.next(), error.retry_after or 0.0)
            logger.warning("API server unavailable", extra={"err": str(error), "retry": round(delay, 1)})
        else:
            return
        await clock.sleep(delay)


async def server_version(client: ApiClient, *, tries: int = DEFAULT_TRIES) -> str:
    """Version such as v1.36.0, empty if it may not be read. ServerTooOldError if it is too old."""
    server = (await client.credentials.fresh()).server
    try:
        body = await client.request(
            "GET", _VERSION_PATH, accept="application/json", timeout=_VERSION_TIMEOUT, tries=tries
        )
    except ApiError as error:
        if error.status == 403:
            return ""  # only this path may be forbidden
        raise
    return _checked_version(server, body)


def _is_transient(error: ApiError, *, may_change: bool) -> bool:
    if error.status == 401:
        return may_change
    if error.status == 0:
        return error.reason in _TRANSIENT
    return error.status == 429 or error.status >= 500


def _checked_version(server: str, body: bytes) -> str:
    try:
        found = orjson.loads(body)
        version = str(found["gitVersion"])
        numbers = int(found["major"]), int(re.match(r"\d+", found["minor"])[0])  # type: ignore[index] # TypeError below
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        message = f"not an answer of a Kubernetes API server: is {server} its address?"
        raise ApiError(request_info("GET", _VERSION_PATH), 0, INVALID_ANSWER, message) from None
    if numbers < OLDEST_VERSION:
        oldest = ".".join(map(str, OLDEST_VERSION))
        raise ServerTooOldError(
            f"{server} is Kubernetes {version}: its version is too old; kubewasp needs {oldest} or newer"
        )
    logger.info("Connected to the API server", extra={"server": server, "version": version})
    return version
