"""Fixtures of the tests in a browser: Chromium, and pages that no test leaves with an error.

A page may ask its own server and nothing else, and may write no error to the console. Both are asserted after
each test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.console.fake_answers import FakeCluster
from tests.console.fake_console import FakeConsole
from tests.e2e.console.opened import Opened
from tools.testbed import browser as chromium
from tools.testbed.debian_programs import UnavailableError

playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")

OpenPage = Callable[..., Opened]


# For a module: Playwright keeps an event loop in this thread while it runs.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    try:
        program = chromium.chromium()
    except UnavailableError as error:
        if chromium.is_required():
            pytest.fail(f"CI has no browser: {error}")
        pytest.skip(f"no browser: {error}")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=str(program), args=list(chromium.ARGUMENTS))
        yield found
        found.close()


@pytest.fixture(scope="module")
def start_console() -> Iterator[Callable[..., FakeConsole]]:
    """Starts a console of made-up answers, one for equal arguments."""
    started: dict[str, FakeConsole] = {}

    def start(**arguments: Any) -> FakeConsole:
        key = repr(sorted(arguments.items()))
        if key not in started:
            started[key] = FakeConsole(FakeCluster(**arguments))
        return started[key]

    yield start
    for console in started.values():
        console.stop()


@pytest.fixture
def open_page(browser: Any, start_console: Callable[..., FakeConsole]) -> Iterator[OpenPage]:
    """Opens an address of the page, below `#`; options are those of the context and of the cluster."""
    opened: list[Opened] = []

    def open_(
        address: str = "#/overview",
        *,
        console: FakeConsole | None = None,
        url: str = "",
        dark: bool = False,
        width: int = 1280,
        height: int = 800,
        allowed: tuple[str, ...] = (),
        context: dict[str, Any] | None = None,
        **cluster: Any,
    ) -> Opened:
        if not url:
            console = console or start_console(**cluster)
        made = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            **(context or {}),
        )
        page = made.new_page()
        page.set_default_timeout(15_000)
        found = Opened(page, console, allowed)
        opened.append(found)
        page.goto((url or console.address if console else url) + address)
        page.wait_for_selector("main h1")
        page.wait_for_selector("main:not([aria-busy])")
        return found

    yield open_
    for found in opened:
        found.page.context.close()
    for found in opened:
        assert found.unexpected_errors() == []
        assert [address for address in found.requests if not _is_own(address, found)] == []


def _is_own(address: str, opened: Opened) -> bool:
    parts = urlsplit(address)
    if parts.scheme in ("data", "blob"):
        return True
    if opened.console is None:
        return parts.scheme == "file"
    return parts.hostname == "127.0.0.1" and parts.port == opened.console.port
