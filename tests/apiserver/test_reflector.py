"""Reflector: a list, then a watch that resumes after every fault."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from kubewasp.apiserver.api_resources import PODS
from kubewasp.apiserver.errors import TOO_LARGE_VERSION
from kubewasp.apiserver.raw_object import RawObject
from kubewasp.apiserver.reflector import ChangeKind, Reflector
from tests.apiserver.fake_server import (
    Answer,
    Drop,
    FakeServer,
    Reaction,
    Request,
    Silence,
    Stream,
    frame,
    list_answer,
    pod,
    status_answer,
    status_manifest,
)
from tests.apiserver.running import FakeClock, asynchronous, client_of, stop

PATH = "/api/v1/pods"


class Heard:
    """Remembers what it was told; `until` waits for it."""

    def __init__(self) -> None:
        self.log: list[object] = []
        self._more = asyncio.Event()

    def replaced(self, items: Sequence[RawObject]) -> None:
        self._add([item.name for item in items])

    def changed(self, kind: ChangeKind, item: RawObject) -> None:
        self._add((kind, item.name))

    def _add(self, entry: object) -> None:
        self.log.append(entry)
        self._more.set()

    async def until(self, *expected: object) -> None:
        while len(self.log) < len(expected):
            self._more.clear()
            await self._more.wait()
        assert self.log == list(expected)


@asynccontextmanager
async def following(
    *reactions: Reaction, selector: str = "", clock: FakeClock | None = None, **options: object
) -> AsyncIterator[tuple[FakeServer, Heard, Reflector]]:
    """A reflector of pods at work against a server that has these answers."""
    clock = clock or FakeClock()
    async with FakeServer() as server, client_of(server, clock) as client:
        server.on("GET", PATH, *reactions)
        server.always("GET", PATH, Silence())
        heard = Heard()
        reflector = Reflector(client, PODS, heard, selector, clock=clock, **options)  # type: ignore[arg-type]
        task = asyncio.create_task(reflector.run())
        try:
            yield server, heard, reflector
        finally:
            await stop(task)
            while server.open_connections > 1:  # the client's idle one may stay
                await asyncio.sleep(0)


def added(name: str, version: str) -> bytes:
    return frame("ADDED", pod(name, version))


@asynchronous
async def test_a_list_then_the_changes_of_a_watch_are_handed_on() -> None:
    changes = (added("c", "11"), frame("MODIFIED", pod("a", "12")), frame("DELETED", pod("b", "13")))
    async with following(list_answer([pod("a"), pod("b")]), Stream(changes)) as (server, heard, reflector):
        await reflector.synced.wait()
        await heard.until(["a", "b"], ("ADDED", "c"), ("MODIFIED", "a"), ("DELETED", "b"))
        listed, watched = server.requests
        assert listed.query == {"limit": "500"}
        assert watched.query.items() >= {"watch": "1", "resourceVersion": "10", "allowWatchBookmarks": "true"}.items()
        assert 300 <= int(watched.query["timeoutSeconds"]) <= 600
        assert watched.headers["accept"] == "application/vnd.kubernetes.protobuf;stream=watch"
        assert (reflector.counters.lists, reflector.counters.watches) == (1, 1)
        assert (reflector.counters.events, reflector.counters.restarts) == (3, 0)
        assert reflector.last_error is None


@asynchronous
async def test_pages_are_put_together_and_the_last_version_counts() -> None:
    pages = (list_answer([pod("a")], "10", more="t1"), list_answer([pod("b")], "10", more="t2"), list_answer([], "12"))
    async with following(*pages, selector="status.phase!=Failed") as (server, heard, _):
        await server.asked(4)
        await heard.until(["a", "b"])
        assert [request.query.get("continue") for request in server.requests] == [None, "t1", "t2", None]
        assert {request.query["fieldSelector"] for request in server.requests} == {"status.phase!=Failed"}
        assert server.requests[3].query["resourceVersion"] == "12"


@asynchronous
async def test_a_continue_token_that_expired_means_to_start_over() -> None:
    expired = status_answer(410, "Expired", "The provided continue parameter is too old")
    first = list_answer([pod("a")], more="t")
    async with following(first, expired, first, list_answer([pod("b")], "20")) as (server, heard, _):
        await heard.until(["a", "b"])
        assert [request.query.get("continue") for request in server.requests[:4]] == [None, "t", None, "t"]


@asynchronous
async def test_if_tokens_always_expire_all_is_asked_for_at_once() -> None:
    expired = status_answer(410, "Expired")
    first = list_answer([pod("a")], more="t")
    async with following(first, expired, first, expired, list_answer([pod("a"), pod("b")])) as (server, heard, _):
        await heard.until(["a", "b"])
        assert server.requests[4].query == {}


@asynchronous
async def test_a_watch_that_ends_goes_on_from_the_last_version() -> None:
    watches = (Stream([added("b", "11")], "ends"), Stream([added("c", "12")], "ends"))
    clock = FakeClock()
    async with following(list_answer([pod("a")]), *watches, clock=clock) as (server, heard, reflector):
        await server.asked(4)
        await heard.until(["a"], ("ADDED", "b"), ("ADDED", "c"))
        assert [request.query.get("resourceVersion") for request in server.requests] == [None, "10", "11", "12"]
        assert clock.sleeps == []
        assert reflector.counters.restarts == 0


@asynchronous
async def test_bookmarks_move_the_version_and_are_not_handed_on() -> None:
    bookmark = frame("BOOKMARK", {"metadata": {"resourceVersion": "99"}})
    async with following(list_answer([]), Stream([bookmark], "cut")) as (server, heard, reflector):
        await server.asked(3)
        assert server.requests[2].query["resourceVersion"] == "99"
        await heard.until([])
        assert reflector.counters.events == 0


@pytest.mark.parametrize("kept", [1, 3, 4, 30])
def test_a_connection_cut_in_the_middle_of_a_frame_loses_and_doubles_nothing(kept: int) -> None:
    @asynchronous
    async def run() -> None:
        second = added("c", "12")
        clock = FakeClock()
        cut = Stream([added("b", "11") + second[:kept]], "cut")
        async with following(list_answer([]), cut, Stream([second]), clock=clock) as (server, heard, reflector):
            await heard.until([], ("ADDED", "b"), ("ADDED", "c"))
            assert server.requests[2].query["resourceVersion"] == "11"
            assert reflector.counters.restarts == 1
            assert 0.8 <= clock.sleeps[0] <= 1.6

    run()


@asynchronous
async def test_a_clean_end_in_the_middle_of_a_frame_is_a_cut_too() -> None:
    piece = added("b", "11") + added("c", "12")[:9]
    async with following(list_answer([]), Stream([piece], "ends"), Stream([added("c", "12")])) as (_, heard, reflector):
        await heard.until([], ("ADDED", "b"), ("ADDED", "c"))
        assert reflector.counters.restarts == 1


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_events_come_out_however_the_stream_is_cut_into_chunks(size: int) -> None:
    @asynchronous
    async def run() -> None:
        stream = b"".join(added(f"p{number}", str(number)) for number in range(11, 21))
        pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
        async with following(list_answer([]), Stream(pieces)) as (_, heard, _reflector):
            await heard.until([], *(("ADDED", f"p{number}") for number in range(11, 21)))

    run()


EXPIRED_EVENT = frame("ERROR", status_manifest(410, "Expired", "too old resource version"), "Status")
TOO_LARGE = {"causes": [{"reason": TOO_LARGE_VERSION, "message": "Too large resource version"}]}


@pytest.mark.parametrize(
    "reaction",
    [
        status_answer(410, "Expired"),
        Stream([EXPIRED_EVENT]),
        status_answer(504, "Timeout", **TOO_LARGE),
        status_answer(400, "BadRequest"),
        Stream([frame("NONSENSE", pod("x"))]),
        Stream([b"\xff\xff\xff\xff"]),
        Stream([b"\0\0\0\x02\xff\xff"]),
        Stream([], "ends"),
    ],
    ids=["410", "410-event", "version-too-large", "400", "unknown-event", "huge-frame", "garbage", "very-short"],
)
def test_where_the_server_cannot_go_on_all_is_listed_again(reaction: Reaction) -> None:
    @asynchronous
    async def run() -> None:
        async with following(list_answer([pod("a")]), reaction, list_answer([pod("b")], "50")) as (
            server,
            heard,
            reflector,
        ):
            await heard.until(["a"], ["b"])
            await server.asked(4)
            assert "resourceVersion" not in server.requests[2].query
            assert server.requests[3].query["resourceVersion"] == "50"
            assert reflector.counters.restarts == 1

    run()


@pytest.mark.parametrize(
    "reaction",
    [
        Drop(),
        status_answer(500, "InternalError"),
        status_answer(503, "ServiceUnavailable"),
        status_answer(429, "TooManyRequests"),
        Stream([frame("ERROR", status_manifest(429, "TooManyRequests"), "Status")]),
    ],
)
def test_where_the_server_was_away_or_busy_the_watch_goes_on(reaction: Reaction) -> None:
    @asynchronous
    async def run() -> None:
        clock = FakeClock()
        async with following(list_answer([]), reaction, Stream([added("b", "11")]), clock=clock) as (server, heard, _):
            await heard.until([], ("ADDED", "b"))
            assert server.requests[-1].query["resourceVersion"] == "10"
            assert 0.8 <= clock.sleeps[0] <= 1.6

    run()


@asynchronous
async def test_the_server_may_say_how_long_to_wait() -> None:
    clock = FakeClock()
    answer = status_answer(429, "TooManyRequests", retryAfterSeconds=17)
    event = Stream([frame("ERROR", status_manifest(429, "TooManyRequests", retryAfterSeconds=18), "Status")])
    async with following(list_answer([]), answer, event, Stream([added("b", "11")]), clock=clock) as (
        _,
        heard,
        _reflector,
    ):
        await heard.until([], ("ADDED", "b"))
        assert clock.sleeps == [17, 18]


@asynchronous
async def test_delays_grow_to_half_a_minute_and_shrink_after_an_event() -> None:
    clock = FakeClock()
    failure = status_answer(500, "InternalError")
    recovered = Stream([added("b", "11")], "cut")
    async with following(*[failure] * 9, list_answer([]), recovered, clock=clock) as (server, _, _reflector):
        await server.asked(12)
        assert 0.8 <= clock.sleeps[0] <= 1.6 <= clock.sleeps[1] <= 3.2 <= clock.sleeps[2] <= 6.4
        assert clock.sleeps[8] == 30
        assert 0.8 <= clock.sleeps[9] <= 1.6


@asynchronous
async def test_missing_rights_are_logged_kept_and_forgotten_once_granted(caplog: pytest.LogCaptureFixture) -> None:
    forbidden = status_answer(403, "Forbidden", "pods is forbidden")
    with caplog.at_level(logging.WARNING):
        async with following(forbidden, list_answer([]), Stream([added("b", "11")])) as (_, heard, reflector):
            await heard.until([], ("ADDED", "b"))
            assert reflector.last_error is None
    record = caplog.records[0].__dict__
    assert record["resource"] == "pods"
    assert 'RBAC must allow the verb "list" on "pods"' in record["err"]


@asynchronous
async def test_the_last_error_stays_while_the_server_cannot_be_followed() -> None:
    async with following(status_answer(403, "Forbidden", "no"), Silence()) as (server, _, reflector):
        await server.asked(2)
        assert reflector.last_error is not None
        assert reflector.last_error.status == 403
        assert not reflector.synced.is_set()


@asynchronous
async def test_a_watch_that_is_silent_for_too_long_is_dropped_and_resumed() -> None:
    watches = (Stream([added("b", "11")]), Stream([added("c", "12")]))
    options = {"watch_seconds": (0.01, 0.02), "grace": 0.05}
    async with following(list_answer([]), *watches, **options) as (server, heard, reflector):
        await heard.until([], ("ADDED", "b"), ("ADDED", "c"))
        assert server.requests[1].query["timeoutSeconds"] == "1"
        assert server.requests[2].query["resourceVersion"] == "11"
        assert reflector.counters.restarts >= 1


@asynchronous
async def test_a_watch_without_even_a_bookmark_is_followed_by_a_list() -> None:
    clock = FakeClock()

    def ends_after_minutes(_: Request) -> Stream:
        clock.time += 400
        return Stream([], "ends")

    async with following(list_answer([pod("a")]), ends_after_minutes, list_answer([pod("b")]), clock=clock) as found:
        _, heard, reflector = found
        await heard.until(["a"], ["b"])
        assert (reflector.counters.restarts, clock.sleeps) == (0, [])


@asynchronous
async def test_a_watch_that_never_says_anything_is_followed_by_a_list() -> None:
    options = {"watch_seconds": (0.01, 0.02), "grace": 0.05}
    async with following(list_answer([pod("a")]), Stream(), list_answer([pod("b")]), **options) as (
        _,
        heard,
        _reflector,
    ):
        await heard.until(["a"], ["b"])


@pytest.mark.parametrize("body", [b"{}", b"k8s\0", list_answer([], "").body, list_answer([pod("a")]).body[:-9]])
def test_a_list_that_is_none_is_asked_for_again(body: bytes) -> None:
    @asynchronous
    async def run() -> None:
        async with following(Answer(body), list_answer([pod("a")])) as (_, heard, _reflector):
            await heard.until(["a"])

    run()


@asynchronous
async def test_an_error_of_the_handler_ends_the_reflector() -> None:
    class Faulty:
        def replaced(self, items: Sequence[RawObject]) -> None:
            raise KeyError("a bug")

        def changed(self, kind: ChangeKind, item: RawObject) -> None: ...

    async with FakeServer() as server, client_of(server) as client:
        server.on("GET", PATH, list_answer([]))
        with pytest.raises(KeyError):
            await Reflector(client, PODS, Faulty()).run()


@asynchronous
async def test_a_hundred_random_faults_leave_the_same_state_as_none() -> None:
    """A server with a history that cuts, fails and forgets: what the handler holds in the end is what there is."""
    import random

    chance = random.Random(7)
    history: list[tuple[str, str]] = []  # (change, pod); version is its index + 1
    alive: set[str] = set()
    for _number in range(600):
        name = f"p{chance.randrange(40)}"
        history.append(("DELETED" if name in alive and chance.random() < 0.5 else "ADDED", name))
        (alive.discard if history[-1][0] == "DELETED" else alive.add)(name)

    def state(version: int) -> list[str]:
        seen: set[str] = set()
        for change, name in history[:version]:
            (seen.discard if change == "DELETED" else seen.add)(name)
        return sorted(seen)

    reached = 50

    def answer(request: Request) -> Answer | Stream | Drop | Silence:
        nonlocal reached
        if chance.random() < 0.15:
            return chance.choice([Drop(), status_answer(500, "InternalError"), status_answer(429, "TooManyRequests")])
        if "watch" not in request.query:
            return list_answer([pod(name) for name in state(reached)], str(reached))
        since = int(request.query["resourceVersion"])
        if since < reached - 40 or chance.random() < 0.1:
            return status_answer(410, "Expired") if chance.random() < 0.5 else Stream([EXPIRED_EVENT])
        until = min(len(history), since + chance.randrange(30))
        reached = max(reached, until)
        frames = [frame(change, pod(name, str(since + n + 1))) for n, (change, name) in enumerate(history[since:until])]
        sent = b"".join(frames)
        if until == len(history):
            return Stream([sent])
        return Stream([sent[: chance.randrange(len(sent) + 1)]], "cut")

    class Store:
        def __init__(self) -> None:
            self.names: set[str] = set()
            self.complete = asyncio.Event()

        def replaced(self, items: Sequence[RawObject]) -> None:
            self.names = {item.name for item in items}

        def changed(self, kind: ChangeKind, item: RawObject) -> None:
            (self.names.discard if kind == "DELETED" else self.names.add)(item.name)
            if item.resource_version == str(len(history)):
                self.complete.set()

    clock = FakeClock()
    async with FakeServer() as server, client_of(server, clock) as client:
        server.always("GET", PATH, answer)
        store = Store()
        reflector = Reflector(client, PODS, store, clock=clock)
        task = asyncio.create_task(reflector.run())
        await store.complete.wait()
        await stop(task)
        assert sorted(store.names) == state(len(history)) == sorted(alive)
        assert reflector.counters.restarts > 10
        assert reflector.counters.lists > 1


@asynchronous
async def test_a_watch_is_read_no_faster_than_there_is_room() -> None:
    room, asked = asyncio.Event(), asyncio.Event()

    async def has_room() -> None:
        asked.set()
        await room.wait()

    # Together more than the connection's buffers hold.
    names = [f"{number}-" + "x" * 250_000 for number in range(64)]
    changes = [added(name, str(11 + number)) for number, name in enumerate(names)]
    async with following(list_answer([]), Stream(changes), has_room=has_room) as (_, heard, reflector):
        await asked.wait()
        before = len(heard.log)
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(heard.log) == before < len(names)
        room.set()
        await heard.until([], *(("ADDED", name) for name in names))
        assert reflector.counters.restarts == 0
