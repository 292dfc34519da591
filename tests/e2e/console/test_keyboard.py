"""The page without a mouse: shortcuts, focus in tables and maps, the search, the help dialog."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.console.conftest import OpenPage

FOCUSED = "document.activeElement"


def test_a_walk_through_all_views(open_page: OpenPage) -> None:
    opened = open_page(mode="comparison")
    press = opened.page.keyboard.press
    for key, title in zip(
        "pdmqtclo",
        ("Pending", "Decision", "Cluster map", "Queue", "Timeline", "Compare", "Plugins", "Overview"),
        strict=True,
    ):
        press("g")
        press(key)
        opened.wait("title => document.querySelector('main h1')?.textContent === title", title)


def test_the_first_stop_skips_to_the_view(open_page: OpenPage) -> None:
    opened = open_page()
    opened.page.keyboard.press("Tab")
    assert opened.page.evaluate(f"{FOCUSED}.textContent") == "Skip to the view"
    opened.page.keyboard.press("Enter")
    assert opened.page.evaluate(f"{FOCUSED}.id") == "main"


def test_from_a_group_to_a_decision_without_a_mouse(open_page: OpenPage) -> None:
    opened = open_page("#/pending/group-0")
    rows = opened.page.get_by_role("grid").locator("tbody tr")
    assert rows.and_(opened.page.locator("[tabindex='0']")).count() == 1
    rows.first.focus()
    opened.page.keyboard.press("ArrowDown")
    opened.page.keyboard.press("ArrowDown")
    assert opened.page.evaluate(f"{FOCUSED}.dataset.index") == "2"
    opened.page.keyboard.press("ArrowRight")
    opened.page.keyboard.press("ArrowRight")
    assert opened.page.evaluate(f"{FOCUSED}.textContent") == "Explain"
    opened.page.keyboard.press("Enter")
    opened.page.wait_for_selector(".verdict")
    opened.page.go_back()
    opened.wait("document.querySelector('main:not([aria-busy]) .view')?.dataset.view === 'pending'")
    opened.page.get_by_role("grid").locator("tbody tr").first.focus()
    opened.page.keyboard.press("Enter")
    opened.wait("location.hash.startsWith('#/pod/')")


def test_the_search_by_keyboard(open_page: OpenPage) -> None:
    opened = open_page()
    opened.page.keyboard.press("/")
    assert opened.page.evaluate(f"{FOCUSED}.name") == "q"
    opened.page.keyboard.type("gpu-00-0", delay=20)
    opened.page.wait_for_selector("main :text('4 results')")
    assert opened.page.evaluate(f"{FOCUSED}.name") == "q"
    opened.page.keyboard.press("ArrowDown")
    opened.page.keyboard.press("ArrowDown")
    opened.page.keyboard.press("Enter")
    opened.wait("location.hash.startsWith('#/node/')")


def test_the_help_lists_the_keys_and_can_switch_them_off(open_page: OpenPage) -> None:
    opened = open_page()
    opened.page.keyboard.press("?")
    dialog = opened.page.get_by_role("dialog", name="Keyboard")
    assert "Cluster map" in dialog.inner_text()
    assert opened.violations() == []
    dialog.get_by_label("Use shortcuts of single keys").uncheck()
    opened.page.keyboard.press("Escape")
    opened.page.keyboard.press("g")
    opened.page.keyboard.press("q")
    assert opened.page.evaluate("location.hash") == "#/overview"


def test_the_map_by_keyboard(open_page: OpenPage) -> None:
    opened = open_page("#/map")
    opened.page.locator(".map-field").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "+", "+", "ArrowLeft", "-", "0"):
        opened.page.keyboard.press(key)
    status = opened.page.locator(".map [role=status]").inner_text()
    assert "CPU requested" in status
    name = status.partition(":")[0]
    assert name in opened.page.inner_text(".picked")
    opened.page.keyboard.press("Enter")
    opened.wait("name => location.hash === `#/node/${name}`", name)


def test_the_timeline_by_keyboard(open_page: OpenPage) -> None:
    opened = open_page("#/timeline?at=100", mode="comparison")
    for key, place in ((".", "101"), (",", "100"), ("n", "130")):
        opened.page.keyboard.press(key)
        opened.wait("place => location.hash.includes(`at=${place}`)", place)
    opened.page.keyboard.press(" ")
    opened.page.get_by_role("button", name="Pause").wait_for()
    opened.wait("Number(new URLSearchParams(location.hash.split('?')[1]).get('at')) > 137")
    opened.page.keyboard.press(" ")
    opened.page.get_by_role("button", name="Play").wait_for()
