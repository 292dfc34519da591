"""Keeps somebody up to date about all objects of a resource: a list, then a watch that goes on for ever."""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol, cast

from kubewasp.cluster.api.backoff import Backoff
from kubewasp.cluster.api.clock import SYSTEM_CLOCK, Clock
from kubewasp.cluster.api.errors import (
    DISCONNECTED,
    INVALID_ANSWER,
    STATUS_MESSAGE,
    TIMED_OUT,
    ApiError,
    error_of_status,
)
from kubewasp.cluster.api.raw_object import Page, RawObject
from kubewasp.cluster.api.request_info import request_info
from kubewasp.cluster.api.watch_stream import FrameReader, watch_event
from kubewasp.k8s.codec import decode_message
from kubewasp.k8s.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.cluster.api.client import ApiClient
    from kubewasp.cluster.api.request_info import RequestInfo
    from kubewasp.cluster.api.resources import Resource

ChangeKind = Literal["ADDED", "MODIFIED", "DELETED"]

PAGE_SIZE: Final = 500
WATCH_SECONDS: Final = (300.0, 600.0)  # as client-go: at random, so that not all watches end at once
GRACE: Final = 30.0
LIST_TIMEOUT: Final = 60.0  # a page; the API server itself gives up after as long

_FIRST_DELAY, _MOST_DELAY = 0.8, 30.0
# After so many lists that took longer than their continue token lives, all is asked for in one page.
_MOST_EXPIRED_LISTS: Final = 2
_CHANGES: Final = frozenset(("ADDED", "MODIFIED", "DELETED"))

logger = logging.getLogger(__name__)


class Handler(Protocol):
    """Who is kept up to date. It is called inline: while it works, nothing more is read from the server."""

    def replaced(self, items: Sequence[RawObject]) -> None:
        """These are all objects that there are; whichever else was known is gone."""

    def changed(self, kind: ChangeKind, item: RawObject) -> None:
        """One object has changed; of a deleted one the last state is given."""


@dataclass(slots=True)
class Counters:
    """For metrics: lists that were complete, watches begun, those that broke or expired, and events handed on."""

    lists: int = 0
    watches: int = 0
    restarts: int = 0
    events: int = 0


class Reflector:
    """Lists, watches, and goes on after whatever happens; ends when its `run` is cancelled.

    `synced` is set once the first list is handed on. `last_error` is why the server cannot be followed just now.
    """

    def __init__(
        self,
        client: ApiClient,
        resource: Resource,
        handler: Handler,
        field_selector: str = "",
        *,
        clock: Clock = SYSTEM_CLOCK,
        watch_seconds: tuple[float, float] = WATCH_SECONDS,
        grace: float = GRACE,
    ) -> None:
        self.synced = asyncio.Event()
        self.counters = Counters()
        self.last_error: ApiError | None = None
        self._client = client
        self._resource = resource
        self._handler = handler
        self._selection = {"fieldSelector": field_selector} if field_selector else {}
        self._clock = clock
        self._watch_seconds = watch_seconds
        self._grace = grace
        self._backoff = Backoff(_FIRST_DELAY, _MOST_DELAY)
        self._version = ""  # as far as we know the server; empty if a list is needed
        self._heard = False  # whether this watch has brought anything

    async def run(self) -> None:
        while True:
            try:
                if not self._version:
                    await self._list()
                await self._watch()
            except ApiError as error:
                await self._recover(error)

    async def _recover(self, error: ApiError) -> None:
        """Waits; forgets where we were if the server cannot go on from there."""
        self.last_error = error
        if self._version:
            self.counters.restarts += 1
        if not _can_resume(error) or (error.reason == TIMED_OUT and not self._heard):
            self._version = ""
        delay = max(self._backoff.next(), error.retry_after or 0.0)
        level = logging.DEBUG if error.is_expired else logging.WARNING
        logger.log(
            level,
            "Lost touch with the API server",
            extra={"resource": self._resource.name, "err": str(error), "retry": round(delay, 1)},
        )
        await self._clock.sleep(delay)

    async def _list(self) -> None:
        """Hands on all objects.

        The first page is asked for without a resourceVersion: the newest state there is. client-go begins with "0",
        any state that a server has at hand. Then limit is ignored, so that all comes in one answer, and a server that
        lags behind may take us back in time: we might see pods unbound that we have bound. API servers since 1.31 give
        the newest state from their cache as well, so that it costs them little.
        """
        expired = 0
        while True:
            try:
                items, version = await self._pages(PAGE_SIZE if expired < _MOST_EXPIRED_LISTS else 0)
            except ApiError as error:
                if not error.is_expired or expired >= _MOST_EXPIRED_LISTS:
                    raise
                expired += 1
            else:
                break
        self._handler.replaced(items)
        self._version = version
        self.counters.lists += 1
        self.synced.set()

    async def _pages(self, limit: int) -> tuple[list[RawObject], str]:
        items: list[RawObject] = []
        query = dict(self._selection)
        if limit:
            query["limit"] = str(limit)
        while True:
            # One try only: what to do next is decided here.
            body = await self._client.request("GET", self._resource.path, query=query, timeout=LIST_TIMEOUT, tries=1)
            try:
                page = Page(body)
            except WireError as error:
                raise _invalid(request_info("GET", self._resource.path), error) from None
            items += page.items
            if not page.continue_token:
                return items, page.resource_version
            query["continue"] = page.continue_token

    async def _watch(self) -> None:
        """Hands on changes until the server ends the watch, which it does after the time it was given."""
        seconds = random.uniform(*self._watch_seconds)  # noqa: S311 no secret
        query = {
            **self._selection,
            "watch": "1",
            "resourceVersion": self._version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(max(1, int(seconds))),
        }
        request = request_info("GET", self._resource.path, query)
        self.counters.watches += 1
        self._heard = False
        began, events, frames = self._clock.now(), self.counters.events, FrameReader()
        chunks = self._client.watch(self._resource.path, query=query, timeout=seconds + self._grace)
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    self.last_error = None
                    for frame in frames.feed(chunk):
                        self._take(frame, request)
        except WireError as error:
            raise _invalid(request, error) from None
        if frames.is_cut:
            raise ApiError(request, 0, DISCONNECTED, "the watch ended in the middle of an event")
        if self.counters.events == events and self._clock.now() - began < 1:
            raise ApiError(request, 0, INVALID_ANSWER, "the watch ended as soon as it had begun")
        if not self._heard:
            # Not even a bookmark, which comes every minute. A server whose etcd was restored from a backup is silent
            # for ever if it is asked for changes after a version that it has not reached.
            self._version = ""
        self._backoff.reset()

    def _take(self, frame: bytes, request: RequestInfo) -> None:
        event = watch_event(frame)
        self._heard = True
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
    """Whether a watch may go on from where it was: the server was away or busy, not at odds with us."""
    if error.is_too_large_version:
        return False
    if error.status == 0:
        return error.reason != INVALID_ANSWER
    return error.status == 429 or error.status >= 500


def _invalid(request: RequestInfo, error: WireError) -> ApiError:
    return ApiError(request, 0, INVALID_ANSWER, f"not an answer of a Kubernetes API server: {error}")
