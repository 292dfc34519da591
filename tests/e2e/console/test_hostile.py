"""Hostile names, labels, reasons and log lines: shown as text, cut, without effect on the page or its direction."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.console.fake_answers import HOSTILE

if TYPE_CHECKING:
    from tests.e2e.console.conftest import OpenPage

VIEWS = {
    "overview": "#/overview",
    "pending": "#/pending",
    "group": "#/pending/group-0",
    "decision": "#/decision/training/training-worker-00401",
    "rejections": "#/decision/training/training-worker-00400?only=rejected",
    "map": "#/map",
    "node": f"#/node/{quote(HOSTILE[0], safe='')}",
    "pod": f"#/pod/training/{quote(HOSTILE[1], safe='')}",
    "queue": "#/queue?part=gated",
    "timeline": "#/timeline",
    "compare": "#/compare",
    "plugins": "#/plugins",
    "search": f"#/search?q={quote('img src')}",
}
HIDDEN = [chr(code) for code in (0, 0x1B, 0x200B, 0x202E, 0x2066, 0xFEFF)]


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("view", VIEWS)
def test_hostile_texts_are_harmless(open_page: OpenPage, view: str, width: int) -> None:
    opened = open_page(VIEWS[view], mode="comparison", hostile=True, width=width)
    page = opened.page
    assert page.locator("#app img, #app script, #app iframe, #app [onerror]").count() == 0
    assert page.evaluate("window.broken") is None
    assert page.title() != "broken"
    text = page.evaluate("document.body.textContent")
    assert [hex(ord(character)) for character in HIDDEN if character in text] == []
    longest = page.evaluate(
        """Math.max(...[...document.querySelectorAll('#app *')]
        .map(item => item.children.length ? 0 : item.textContent.length))"""
    )
    assert longest <= 4300
    assert page.locator("#app a").evaluate_all(
        "links => links.every(link => link.getAttribute('href').startsWith('#/'))"
    )
    assert opened.overflow() <= 0
    assert width == 1280 or opened.violations() == []


def test_control_characters_are_visible(open_page: OpenPage) -> None:
    opened = open_page("#/pending", mode="comparison", hostile=True)
    text = opened.text()
    assert "⟨U+202E⟩" in text
    assert "<img src=x" in text
    assert "␀" in text


def test_a_name_of_another_direction_is_isolated(open_page: OpenPage) -> None:
    opened = open_page("#/pending", mode="comparison", hostile=True)
    assert opened.page.locator("bdi", has_text="שלום").count() > 0


def test_a_hostile_node_opens(open_page: OpenPage) -> None:
    opened = open_page("#/map", mode="comparison", hostile=True)
    opened.page.locator(".map-field").focus()
    opened.page.keyboard.press("Home")
    opened.page.keyboard.press("Enter")
    opened.page.wait_for_selector("main h1:has-text('onerror')")
