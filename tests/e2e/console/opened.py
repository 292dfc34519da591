"""An open page with what it did: requests, errors, and checks of accessibility."""

from __future__ import annotations

import time
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.console.fake_console import FakeConsole

# What WCAG 2.2 AA needs, and axe's rules of good practice.
_RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")


class Opened:
    """A page; `console` is None for a page of a file."""

    def __init__(self, page: Any, console: FakeConsole | None, allowed: tuple[str, ...] = ()) -> None:
        self.page = page
        self.console = console
        self.allowed = allowed
        self.requests: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda line: self.errors.append(line.text) if line.type in ("error", "warning") else None)

    def unexpected_errors(self) -> list[str]:
        return [text for text in self.errors if not any(part in text for part in self.allowed)]

    def go(self, address: str) -> None:
        self.page.evaluate("address => { location.hash = address }", address)
        view = address.removeprefix("#/").partition("?")[0].partition("/")[0]
        self.wait("view => document.querySelector('main:not([aria-busy]) .view')?.dataset.view === view", view)

    def wait(self, condition: str, argument: Any = None, seconds: float = 20) -> None:
        """Waits for an expression or a function to be true: Playwright's own wait needs `eval`."""
        deadline = time.monotonic() + seconds
        while not self.page.evaluate(condition, argument):
            assert time.monotonic() < deadline, f"still not: {condition} {argument or ''}"
            self.page.wait_for_timeout(50)

    def text(self) -> str:
        return str(self.page.inner_text("main"))

    def violations(self) -> list[str]:
        """What axe objects to, a line for each."""
        script = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
        self.page.evaluate(script)
        found = self.page.evaluate(
            "rules => axe.run(document, { runOnly: { type: 'tag', values: rules } })", list(_RULES)
        )
        return [
            f"{item['id']}: {item['help']}: {node['target']} {node.get('failureSummary', '')[:300]}"
            for item in found["violations"]
            for node in item["nodes"][:3]
        ]

    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - innerWidth"))
