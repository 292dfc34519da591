"""Console of a running scheduler over HTTP: page, answers, events, actions, the end."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.console.actions import action_routes
from kubewasp.console.authorities import ConsoleAccessError, OpenAuthority, TokenAuthority
from kubewasp.console.live_console import LiveConsole, Serving, check_place, live_pages
from kubewasp.server.http_server import Address
from tests.console.live_cluster import LiveCluster, live
from tests.console.sources import check, described
from tests.server.test_rollout_endpoints import Control
from tools.testbed.certificates import Authority as CertificateAuthority

TOKEN = "t" * 24


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        await asyncio.wait_for(test(), 60)

    asyncio.run(within())


@asynccontextmanager
async def served(
    cluster: LiveCluster, serving: Serving | None = None, control: Control | None = None
) -> AsyncIterator[LiveConsole]:
    actions = action_routes(control or Control())
    pages = live_pages(cluster.source, cluster.pace, actions)
    serving = serving or Serving(Address(port=0), OpenAuthority())
    console = LiveConsole(serving, pages, cluster.source, cluster.pace, SYSTEM_CLOCK)
    await console.start()
    try:
        yield console
    finally:
        await console.stop()


@asynccontextmanager
async def asking(console: LiveConsole, **more: Any) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=console.server.url, timeout=30, **more) as client:
        yield client


def filled(cluster: LiveCluster) -> None:
    cluster.pod("a")
    cluster.run()
    cluster.pod("huge", cpu="64")
    cluster.run()


VIEWS = [
    "/session",
    "/overview",
    "/pending",
    "/pods/default/a",
    "/pods/default/huge/decision",
    "/pods/default/huge/decision?without=NodeResourcesFit",
    "/map",
    "/map/scores?pod=default/a",
    "/nodes/n1",
    "/queue",
    "/plugins",
    "/search?q=huge",
]


def test_all_views_are_answered_and_show_no_values_of_variables(tmp_path: Path) -> None:
    async def test() -> None:
        with live(tmp_path) as cluster:
            filled(cluster)
            async with served(cluster) as console, asking(console) as client:
                for view in VIEWS:
                    answer = await client.get(f"/api/v1{view}")
                    assert answer.status_code == 200, (view, answer.text)
                    assert "hunter2" not in answer.text
                    check(answer.json(), described(view.partition("?")[0]))
                    assert answer.headers["cache-control"] == "no-store"
                overview = (await client.get("/api/v1/overview")).json()
                assert (overview["pods"]["placed"], overview["attempts"]["unschedulable"]) == (1, 1)
                decision = (await client.get("/api/v1/pods/default/huge/decision")).json()
                assert decision["result"] == "unschedulable"

    run(test)


def test_what_is_not_there_is_an_error_in_json(tmp_path: Path) -> None:
    async def test() -> None:
        with live(tmp_path) as cluster:
            async with served(cluster) as console, asking(console) as client:
                for path, code in (
                    ("/timeline", 404),
                    ("/compare", 404),
                    ("/nothing", 404),
                    ("/pods/default/nobody", 404),
                    ("/overview?x=1", 400),
                    ("/overview?at=3", 404),
                    ("/events?x=1", 400),
                ):
                    answer = await client.get(f"/api/v1{path}")
                    assert (path, answer.status_code) == (path, code)
                    assert answer.json()["error"]["code"] == code
                    check(answer.json(), {"$ref": "#/components/schemas/Error"})
                assert (await client.post("/api/v1/overview")).status_code == 403

    run(test)


def test_the_page_is_below_console_and_leads_there(tmp_path: Path) -> None:
    async def test() -> None:
        with live(tmp_path) as cluster:
            async with served(cluster) as console, asking(console, follow_redirects=True) as client:
                answer = await client.get("/")
                assert answer.url.path == "/console/"
                assert "script-src 'self'" in answer.headers["content-security-policy"]

    run(test)


def test_an_action_needs_the_token_of_the_session(tmp_path: Path) -> None:
    async def test() -> None:
        control = Control()
        with live(tmp_path) as cluster:
            async with served(cluster, control=control) as console, asking(console) as client:
                session = (await client.get("/api/v1/session")).json()
                assert session["capabilities"] == {
                    "timeline": False,
                    "compare": False,
                    "decisions": True,
                    "events": True,
                    "actions": True,
                }
                assert (await client.post("/api/v1/plugins/p/promote")).status_code == 403
                assert control.asked == []
                headers = {"X-CSRF-Token": session["csrf"]}
                promoted = (await client.post("/api/v1/plugins/p/promote", headers=headers)).json()
                assert promoted == {"state": "promoted"}
                check(promoted, described("/plugins/p/promote", "post"))
                aborted = await client.post("/api/v1/plugins/p/abort", headers=headers)
                assert aborted.status_code == 409
                check(aborted.json(), {"$ref": "#/components/schemas/Error"})

    run(test)


async def first_event(client: httpx.AsyncClient) -> dict[str, Any]:
    async with client.stream("GET", "/api/v1/events") as stream:
        async for line in stream.aiter_lines():
            if line.startswith("data: "):
                found: dict[str, Any] = orjson.loads(line.removeprefix("data: "))
                return found
    raise AssertionError("the stream has ended")


def test_changes_are_events(tmp_path: Path) -> None:
    async def test() -> None:
        with live(tmp_path) as cluster:
            async with served(cluster) as console, asking(console) as client:
                before = await first_event(client)
                cluster.pod("a")
                after = await first_event(client)
                assert after["generation"] > before["generation"]

    run(test)


def test_event_streams_leave_room_for_answers_and_end_at_once_with_the_server(tmp_path: Path) -> None:
    async def test() -> None:
        with live(tmp_path) as cluster:
            async with served(cluster) as console, asking(console) as client:
                ended: list[bool] = []

                async def stream() -> None:
                    async with client.stream("GET", "/api/v1/events") as answer:
                        opened.append(answer.status_code)
                        async for _ in answer.aiter_lines():
                            pass
                        ended.append(True)

                opened: list[int] = []
                streams = [asyncio.create_task(stream()) for _ in range(20)]
                while len(opened) < 20:
                    await asyncio.sleep(0.01)
                assert sorted(opened) == [200] * 16 + [503] * 4
                for _ in range(3):
                    assert (await client.get("/api/v1/overview")).status_code == 200
                began = time.monotonic()
                await console.stop()
                await asyncio.gather(*streams)
                assert len(ended) == 20
                assert time.monotonic() - began < 2

    run(test)


def test_a_client_that_is_gone_frees_its_stream(tmp_path: Path) -> None:
    async def test() -> None:
        with live(tmp_path) as cluster:
            async with served(cluster) as console, asking(console) as client:
                for _ in range(40):
                    await first_event(client)
                while console._streams:
                    await asyncio.sleep(0.01)

    run(test)


def test_tokens_and_tls_beyond_loopback(tmp_path: Path) -> None:
    pair = CertificateAuthority(tmp_path / "ca").issue("console")
    trusted = ssl.create_default_context(cafile=str(tmp_path / "ca" / "ca.crt"))

    async def test() -> None:
        address = Address("127.0.0.1", 0, str(pair.certificate), str(pair.key))
        with live(tmp_path / "cluster") as cluster:
            async with (
                served(cluster, Serving(address, TokenAuthority(TOKEN))) as console,
                asking(console, verify=trusted) as client,
            ):
                assert console.url.startswith("https://")
                assert (await client.get("/api/v1/overview")).status_code == 401
                origin = {"Origin": console.server.url, "Sec-Fetch-Site": "same-origin"}
                signed_in = await client.post("/console/sign-in", data={"token": TOKEN}, headers=origin)
                assert signed_in.status_code == 303
                assert (await client.get("/api/v1/overview")).status_code == 200
                session = (await client.get("/api/v1/session")).json()
                assert session["capabilities"]["actions"] is False
                assert (await first_event(client))["generation"] >= 0

    run(test)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "console.example", "::"])
def test_beyond_loopback_the_console_is_neither_open_nor_plain(host: str) -> None:
    with pytest.raises(ConsoleAccessError, match="open to everybody"):
        check_place(Address(host, 0, "cert", "key"), is_open=True)
    with pytest.raises(ConsoleAccessError, match="needs TLS"):
        check_place(Address(host, 0), is_open=False)
    check_place(Address(host, 0, "cert", "key"), is_open=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.1.2.3"])
def test_on_loopback_it_may_be_both(host: str) -> None:
    check_place(Address(host, 0), is_open=True)


def test_only_loopback_hosts_are_answered_on_loopback(tmp_path: Path) -> None:
    async def test() -> None:
        with live(tmp_path) as cluster:
            async with served(cluster) as console, asking(console) as client:
                answer = await client.get("/api/v1/overview", headers={"Host": "rebound.example"})
                assert answer.status_code == 421

    run(test)


def test_equal_requests_at_once_are_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        with live(tmp_path) as cluster:
            turns: list[int] = []
            inner = cluster.pace.run

            def counted(work: Callable[[], Any]) -> Any:
                turns.append(1)
                return inner(work)

            monkeypatch.setattr(cluster.pace, "run", counted)
            async with served(cluster) as console, asking(console) as client:
                found = await asyncio.gather(*(client.get("/api/v1/map") for _ in range(10)))
                assert {answer.status_code for answer in found} == {200}
                assert len(turns) <= 3

    run(test)
