"""Keeps somebody up to date about all objects of a resource: a list, then a watch that goes on for ever."""

from __future__ import annotations

import asyncio
import random
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol, cast

from kubewasp.apiserver.backoff import Backoff
from kubewasp.apiserver.errors import (
    DISCONNECTED,
    INVALID_ANSWER,
    STATUS_MESSAGE,
    TIMED_OUT,
    ApiError,
    error_of_status,
    invalid_answer,
)
from kubewasp.apiserver.listing import list_all
from kubewasp.apiserver.raw_object import RawObject
from kubewasp.apiserver.request_info import request_info
from kubewasp.apiserver.troubles import Troubles
from kubewasp.apiserver.watch_stream import FrameReader, watch_event
from kubewasp.clock import SYSTEM_CLOCK, AsyncClock
from kubewasp.k8s.codec import decode_message
from kubewasp.k8s.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from kubewasp.apiserver.api_resources import Resource
    from kubewasp.apiserver.client import ApiClient
    from kubewasp.apiserver.request_info import RequestInfo

ChangeKind = Literal["ADDED", "MODIFIED", "DELETED"]

WATCH_SECONDS: Final = (300.0, 600.0)  # as client-go: at random, so that not all watches end at once
GRACE: Final = 30.0

_FIRST_DELAY, _MOST_DELAY = 0.8, 30.0
_CHANGES: Final = frozenset(("ADDED", "MODIFIED", "DELETED"))


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
        clock: AsyncClock = SYSTEM_CLOCK,
        watch_seconds: tuple[float, float] = WATCH_SECONDS,
        grace: float = GRACE,
        troubles: Troubles | None = None,
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
        self._troubles = troubles or Troubles(clock)
        self._has_room = has_room  # awaited before more is read: what is not read waits in the API server, not here
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
        self._troubles.met(self.resource.name, error, delay)
        await self._clock.sleep(delay)

    async def _list(self) -> None:
        """Hands on all objects. Each page is tried once: what to do next is decided here."""
        items, version = await list_all(self._client, self.resource.path, field_selector=self._selector, tries=1)
        self._handler.replaced(items)
        self._version = version
        self.counters.lists += 1
        self.synced.set()

    async def _watch(self) -> None:
        """Hands on changes until the server ends the watch, which it does after the time it was given."""
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
        self._heard = False
        began, events, frames = self._clock.now(), self.counters.events, FrameReader()
        chunks = self._client.watch(self.resource.path, query=query, timeout=seconds + self._grace)
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    if self.last_error is not None:
                        self.last_error = None
                        self._troubles.ended(self.resource.name)
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
