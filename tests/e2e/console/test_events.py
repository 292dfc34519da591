"""Changes of the cluster on an open page: gentle refreshes, lost connections, and their return."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.console.fake_answers import FakeCluster
from tests.console.fake_console import FakeConsole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.console.conftest import OpenPage

LOST = ("Failed to load resource", "ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE")


@pytest.fixture
def console() -> Iterator[FakeConsole]:
    """One that a test may stop."""
    started = FakeConsole(FakeCluster())
    yield started
    started.stop()


def test_a_change_refreshes_figures_and_keeps_elements(open_page: OpenPage, console: FakeConsole) -> None:
    opened = open_page(console=console)
    page = opened.page
    page.wait_for_selector(".status.live")
    before = page.inner_text(".tile-value >> nth=0")
    page.evaluate("document.querySelectorAll('main *').forEach(item => { item.isOld = true })")
    link = page.get_by_role("link", name="All plugins")
    link.focus()
    page.evaluate("scrollTo(0, 150)")
    console.change()
    opened.wait("text => document.querySelector('.tile-value').textContent !== text", before)
    assert page.evaluate("document.activeElement.textContent") == "All plugins"
    assert page.evaluate("scrollY") == 150
    kept, total = page.evaluate(
        "(items => [items.filter(item => item.isOld).length, items.length])([...document.querySelectorAll('main *')])"
    )
    assert kept > 0.9 * total
    assert page.inner_text("#announcements") == ""


def test_changes_are_followed_at_most_once_a_second(open_page: OpenPage, console: FakeConsole) -> None:
    opened = open_page(console=console)
    opened.page.wait_for_selector(".status.live")
    console.asked.clear()
    began = time.monotonic()
    for _ in range(40):
        console.change()
        opened.page.wait_for_timeout(50)
    asked = len([path for path in console.asked if path.startswith("/overview")])
    assert 1 <= asked <= time.monotonic() - began + 2


def test_a_table_keeps_its_row_and_scroll_position(open_page: OpenPage, console: FakeConsole) -> None:
    opened = open_page("#/map", console=console)
    page = opened.page
    page.wait_for_selector(".status.live")
    box = page.locator(".table-box.virtual")
    box.evaluate("item => item.scrollTo(0, 3400)")
    page.wait_for_selector("tr[data-index='104']")
    page.locator("tr[data-index='104']").focus()
    top = box.evaluate("item => item.scrollTop")
    asked = len(console.asked)
    console.change()
    while len(console.asked) == asked:
        page.wait_for_timeout(20)
    page.wait_for_selector("main:not([aria-busy])")
    assert page.evaluate("document.activeElement.dataset.index") == "104"
    assert box.evaluate("item => item.scrollTop") == top


def test_a_lost_connection_is_shown_and_comes_back(open_page: OpenPage, console: FakeConsole) -> None:
    opened = open_page(console=console, allowed=LOST)
    page = opened.page
    page.wait_for_selector(".status.live")
    placed = page.inner_text(".tile-value >> nth=0")
    console.stop()
    page.wait_for_selector(".status.lost")
    assert "Disconnected" in page.inner_text(".connection")
    assert "Disconnected" in page.inner_text("#announcements")
    assert page.inner_text(".tile-value >> nth=0") == placed
    assert opened.violations() == []
    console.cluster.change_count += 5
    console.start()
    page.wait_for_selector(".status.live", timeout=30_000)
    opened.wait("text => document.querySelector('.tile-value').textContent !== text", placed)


def test_attempts_to_reconnect_become_rarer(open_page: OpenPage, console: FakeConsole) -> None:
    opened = open_page(console=console, allowed=LOST)
    opened.page.wait_for_selector(".status.live")
    console.stop()
    opened.page.wait_for_selector(".status.lost")
    before = len(opened.requests)
    opened.page.wait_for_timeout(8_000)
    assert 2 <= len(opened.requests) - before <= 4
    console.start()


def test_a_view_opened_without_a_server_says_so(open_page: OpenPage, console: FakeConsole) -> None:
    opened = open_page(console=console, allowed=LOST)
    console.stop()
    opened.go("#/queue")
    opened.page.get_by_role("heading", name="No answer").wait_for()
    console.start()
    opened.page.get_by_role("button", name="Try again").click()
    opened.page.get_by_role("heading", name="Queue").wait_for()


def test_a_request_without_a_session_leads_to_the_sign_in(open_page: OpenPage, console: FakeConsole) -> None:
    opened = open_page(console=console, allowed=("status of 401",))
    page = opened.page
    refusal = {"error": {"code": 401, "message": "sign in first", "hint": ""}}
    page.route("**/api/v1/**", lambda route: route.fulfill(status=401, json=refusal))
    page.route("**/console/sign-in", lambda route: route.fulfill(body="<!doctype html><title>form</title>"))
    opened.page.evaluate("location.hash = '#/queue'")
    page.get_by_role("heading", name="Sign in").wait_for()
    assert opened.violations() == []
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/console/sign-in")
    page.goto(console.address)
    page.wait_for_url("**/console/sign-in")
