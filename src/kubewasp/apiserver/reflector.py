"""List and watch: reflectors that follow a resource forever, lists in pages, and the log of outages."""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol, cast

from kubewasp.apiserver.api_resources import request_info
from kubewasp.apiserver.client import DEFAULT_TRIES, Backoff
from kubewasp.apiserver.errors import (
    DISCONNECTED,
    INVALID_ANSWER,
    STATUS_MESSAGE,
    TIMED_OUT,
    ApiError,
    error_of_status,
    invalid_answer,
)
from kubewasp.apiserver.raw_object import FrameReader, Page, RawObject, watch_event
from kubewasp.clock import SYSTEM_CLOCK, AsyncClock, Clock
from kubewasp.k8s.codec import decode_message
from kubewasp.k8s.errors import WireError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

    from kubewasp.apiserver.api_resources import RequestInfo, Resource
    from kubewasp.apiserver.client import ApiClient

ChangeKind = Literal["ADDED", "MODIFIED", "DELETED"]

PAGE_SIZE: Final = 500
LIST_TIMEOUT: Final = 60.0  # for a page, as in the API server itself
WATCH_SECONDS: Final = (300.0, 600.0)  # random, as in client-go, so that watches do not all end at once
GRACE: Final = 30.0

_FIRST_DELAY, _MOST_DELAY = 0.8, 30.0
_CHANGES: Final = frozenset(("ADDED", "MODIFIED", "DELETED"))
# After so many lists outlived their continue token, the whole list is requested in one page.
_MOST_EXPIRED_LISTS: Final = 2
_LOG_PERIOD: Final = 30.0

logger = logging.getLogger(__name__)


async def list_all(
    client: ApiClient, path: str, *, field_selector: str = "", tries: int = DEFAULT_TRIES
) -> tuple[list[RawObject], str]:
    """All objects and the resourceVersion of the list. `tries` counts for each page.

    The first page has no resourceVersion: the newest state. client-go starts with "0", any cached state. The server
    then ignores the limit and sends everything in one response, and a lagging server may go back in time and show pods
    unbound that are bound. API servers since 1.31 serve the newest state from their cache as well, at little cost.
    """
    query = {"fieldSelector": field_selector} if field_selector else {}
    for _ in range(_MOST_EXPIRED_LISTS):
        try:
            return await _pages(client, path, {**query, "limit": str(PAGE_SIZE)}, tries)
        except ApiError as error:
            if not error.is_expired:
                raise
    return await _pages(client, path, query, tries)


async def _pages(client: ApiClient, path: str, query: dict[str, str], tries: int) -> tuple[list[RawObject], str]:
    items: list[RawObject] = []
    async with aclosing(list_pages(client, path, query, tries=tries)) as pages:
        async for page in pages:
            items += page.items
    return items, page.resource_version


async def list_pages(
    client: ApiClient, path: str, query: Mapping[str, str], *, tries: int = DEFAULT_TRIES
) -> AsyncGenerator[Page, None]:
    """Pages of one list, of one resourceVersion; at least one. `query` is that of the first page."""
    while True:
        body = await client.request("GET", path, query=query, timeout=LIST_TIMEOUT, tries=tries)
        try:
            page = Page(body)
        except WireError as error:
            raise invalid_answer(request_info("GET", path), error) from None
        yield page
        if not page.continue_token:
            return
        # The token has the resourceVersion: the server accepts no second one.
        first = {name: value for name, value in query.items() if not name.startswith("resourceVersion")}
        query = {**first, "continue": page.continue_token}


class OutageLog:
    """Logs API server outages once for all watches, and errors of a single resource each time."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._logged_at: dict[str, float] = {}
        self._outage_of: dict[str, str] = {}

    def lost(self, resource: str, error: ApiError, retry: float) -> None:
        """Failed list or watch of a resource; the next try comes in `retry` seconds."""
        level = logging.WARNING
        if error.is_expired:
            level = logging.DEBUG  # normal: a new list follows
        else:
            outage = error.message if _concerns_all(error) else resource
            self._outage_of[resource] = outage
            now = self._clock.now()
            if outage != resource and now - self._logged_at.get(outage, -_LOG_PERIOD) < _LOG_PERIOD:
                level = logging.DEBUG
            else:
                self._logged_at[outage] = now
        fields = {"resource": resource, "err": str(error), "retry": round(retry, 1)}
        logger.log(level, "List or watch failed", extra=fields)

    def recovered(self, resource: str) -> None:
        """Watch of the resource established again."""
        outage = self._outage_of.pop(resource, None)
        if outage is not None and self._logged_at.pop(outage, None) is not None:
            logger.info("List and watch recovered", extra={"resource": resource})


def _concerns_all(error: ApiError) -> bool:
    """Whether the error is independent of the resource: no response, bad credentials, a failing server."""
    return error.status in {0, 401, 429} or error.status >= 500


class Handler(Protocol):
    """Receiver of objects and changes, called inline: reading from the server waits for it."""

    def replaced(self, items: Sequence[RawObject]) -> None:
        """Full list of objects; any other known object is gone."""

    def changed(self, kind: ChangeKind, item: RawObject) -> None:
        """Change of one object; its last state if it was deleted."""


@dataclass(slots=True)
class Counters:
    """Counters for metrics: complete lists, started watches, restarts after an error, delivered events."""

    lists: int = 0
    watches: int = 0
    restarts: int = 0
    events: int = 0


class Reflector:
    """List and watch of one resource, resumed after every error until `run` is cancelled.

    `synced` is set after the first complete list. `last_error` is the current reason for missing updates, if any.
    """

    def __init__(
        self,
        client: ApiClient,
        resource: Resource,
        handler: Handler,
        field_selector: str = "",
        *,
        clock: AsyncClock = SYSTEM_CLOCK,
        watch_seconds: tuple[float, float] = WATCH_SECONDS,
        grace: float = GRACE,
        outages: OutageLog | None = None,
        has_room: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.resource = resource
        self.synced = asyncio.Event()
        self.counters = Counters()
        self.last_error: ApiError | None = None
        self._client = client
        self._handler = handler
        self._selector = field_selector
        self._clock = clock
        self._watch_seconds = watch_seconds
        self._grace = grace
        self._outages = outages or OutageLog(clock)
        self._has_room = has_room  # awaited before the next read: unread events wait in the API server
        self._backoff = Backoff(_FIRST_DELAY, _MOST_DELAY)
        self._version = ""  # last seen resourceVersion; empty if a list is needed
        self._has_delivered = False  # whether this watch has delivered anything

    async def run(self) -> None:
        while True:
            try:
                if not self._version:
                    await self._list()
                await self._watch()
            except ApiError as error:
                await self._recover(error)

    async def _recover(self, error: ApiError) -> None:
        """Waits for the backoff. Drops the resourceVersion if the server cannot resume from it."""
        self.last_error = error
        if self._version:
            self.counters.restarts += 1
        if not _can_resume(error) or (error.reason == TIMED_OUT and not self._has_delivered):
            self._version = ""
        delay = max(self._backoff.next(), error.retry_after or 0.0)
        self._outages.lost(self.resource.name, error, delay)
        await self._clock.sleep(delay)

    async def _list(self) -> None:
        """Delivers all objects. One try for each page: `_recover` decides about the next one."""
        items, version = await list_all(self._client, self.resource.path, field_selector=self._selector, tries=1)
        self._handler.replaced(items)
        self._version = version
        self.counters.lists += 1
        self.synced.set()

    async def _watch(self) -> None:
        """Delivers changes until the server ends the watch, after the requested timeoutSeconds."""
        seconds = random.uniform(*self._watch_seconds)  # noqa: S311 no secret
        query = {
            **({"fieldSelector": self._selector} if self._selector else {}),
            "watch": "1",
            "resourceVersion": self._version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(max(1, int(seconds))),
        }
        request = request_info("GET", self.resource.path, query)
        self.counters.watches += 1
        self._has_delivered = False
        began, events, frames = self._clock.now(), self.counters.events, FrameReader()
        chunks = self._client.watch(self.resource.path, query=query, timeout=seconds + self._grace)
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    if self.last_error is not None:
                        self.last_error = None
                        self._outages.recovered(self.resource.name)
                    for frame in frames.feed(chunk):
                        self._take(frame, request)
                    if self._has_room is not None:
                        await self._has_room()
        except WireError as error:
            raise invalid_answer(request, error) from None
        if frames.is_cut:
            raise ApiError(request, 0, DISCONNECTED, "the watch ended in the middle of an event")
        if self.counters.events == events and self._clock.now() - began < 1:
            raise ApiError(request, 0, INVALID_ANSWER, "the watch ended as soon as it had begun")
        if not self._has_delivered:
            # Not even a bookmark, which comes every minute. After a restore of etcd from a backup, a server is silent
            # forever about changes after a resourceVersion that it has not reached.
            self._version = ""
        self._backoff.reset()

    def _take(self, frame: bytes, request: RequestInfo) -> None:
        event = watch_event(frame)
        self._has_delivered = True
        if event.type == "ERROR":
            raise error_of_status(request, decode_message(STATUS_MESSAGE, event.data))
        item = RawObject(event.data)
        version = item.resource_version
        if event.type in _CHANGES:
            self._handler.changed(cast("ChangeKind", event.type), item)
            self.counters.events += 1
        elif event.type != "BOOKMARK":
            raise WireError(f"a watch event of the unknown type {event.type[:40]!r}")
        if version:
            self._version = version
        self._backoff.reset()


def _can_resume(error: ApiError) -> bool:
    """Whether a watch may resume from its resourceVersion: the server was unavailable or busy."""
    if error.is_too_large_version:
        return False
    if error.status == 0:
        return error.reason != INVALID_ANSWER
    return error.status == 429 or error.status >= 500
