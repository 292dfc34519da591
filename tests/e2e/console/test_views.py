"""Every view in a browser: content, accessibility in light and dark and on a narrow screen, and what stays on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.e2e.console.conftest import OpenPage

VIEWS = {
    "overview": ("live", "#/overview", "Pods placed"),
    "pending": ("live", "#/pending", "What would help"),
    "pending group": ("live", "#/pending/group-0", "oldest first"),
    "decision": ("live", "#/decision/training/training-worker-00401", "wins with"),
    "decision of a pod without a node": ("live", "#/decision/training/training-worker-00400", "Preemption"),
    "choice of a decision": ("live", "#/decision", "Choose a pod"),
    "map": ("live", "#/map", "240 nodes in 4 groups"),
    "map by namespace": ("live", "#/map?color=namespace&by=team", "240 nodes in 3 groups"),
    "map of scores": ("live", "#/map?color=score:gpu-share&pod=training/x", "score: gpu-share"),
    "node": ("live", "#/node/gpu-00-03", "Show on the map"),
    "pod": ("live", "#/pod/training/training-worker-00400", "Explain the decision"),
    "queue": ("live", "#/queue?part=waiting", "3 more pods of its group"),
    "timeline": ("comparison", "#/timeline?at=900", "change 900 of 2,400"),
    "compare": ("comparison", "#/compare", "GPU fragmentation"),
    "plugins": ("live", "#/plugins", "gpu-share"),
    "search": ("live", "#/search?q=gpu-0", "results"),
    "not found": ("live", "#/node/missing", "Not found"),
}
LOOKS: dict[str, dict[str, Any]] = {"light": {}, "dark": {"dark": True}, "narrow": {"width": 360, "height": 740}}
NOT_FOUND = ("status of 404",)


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_has_its_content_and_no_violation(open_page: OpenPage, view: str, look: str) -> None:
    mode, address, text = VIEWS[view]
    opened = open_page(address, mode=mode, allowed=NOT_FOUND if view == "not found" else (), **LOOKS[look])
    assert text in opened.text()
    assert opened.page.locator("h1").count() == 1
    assert opened.page.locator("h1").inner_text().strip()
    assert opened.violations() == []
    assert opened.overflow() <= 0


def test_the_navigation_leads_to_every_view(open_page: OpenPage) -> None:
    opened = open_page(mode="comparison")
    for name in ("Pending", "Decision", "Cluster map", "Queue", "Timeline", "Compare", "Plugins", "Overview"):
        opened.page.get_by_role("navigation", name="Views").get_by_role("link", name=name).click()
        opened.wait("name => document.querySelector('main h1')?.textContent === name", name)
        assert opened.page.title().startswith(name)
        opened.wait("document.activeElement.tagName === 'H1'")


def test_a_view_of_something_absent_is_not_offered(open_page: OpenPage) -> None:
    opened = open_page(mode="live")
    names = opened.page.get_by_role("navigation", name="Views").get_by_role("link").all_inner_texts()
    assert "Timeline" not in names
    assert "Compare" not in names


def test_an_address_can_be_shared(open_page: OpenPage) -> None:
    opened = open_page("#/map?by=team&color=pods", mode="comparison")
    opened.page.get_by_label("Run").select_option("b")
    opened.wait("location.hash.includes('run=b')")
    opened.page.get_by_role("link", name="Queue").click()
    opened.wait("location.hash.startsWith('#/queue') && location.hash.includes('run=b')")
    other = open_page(opened.page.evaluate("location.hash"), mode="comparison")
    assert other.page.get_by_label("Run").input_value() == "b"
    opened.page.go_back()
    opened.wait("document.querySelector('main h1').textContent === 'Cluster map'")
    assert opened.page.get_by_label("Group by").input_value() == "team"


def test_light_and_dark_follow_the_switch(open_page: OpenPage) -> None:
    opened = open_page(mode="live")
    before = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    opened.page.get_by_role("button", name="Dark colours").click()
    assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    opened.page.reload()
    opened.page.wait_for_selector("main h1")
    assert opened.page.get_by_role("button", name="Light colours").is_visible()


def test_pictures_have_tables(open_page: OpenPage) -> None:
    opened = open_page("#/timeline", mode="comparison")
    charts = opened.page.locator("figure.chart")
    assert charts.count() == opened.page.locator("figure.chart details.numbers table").count() > 0
    opened.go("#/map")
    opened.page.wait_for_selector(".map-field")
    assert opened.page.get_by_role("grid", name="Nodes of the map").get_attribute("aria-rowcount") == "241"


def test_an_action_asks_first_and_sends_the_token(open_page: OpenPage) -> None:
    opened = open_page("#/plugins", mode="live", seed=11)
    assert opened.console is not None
    opened.page.get_by_role("button", name="Promote…").click()
    assert opened.console.actions == []
    opened.page.get_by_role("button", name="Promote", exact=True).click()
    opened.page.wait_for_selector(".rollout:has-text('promoted')")
    assert opened.console.actions == [("/plugins/gpu-share/promote", "made-up")]


def test_print_and_zoomed_text_stay_in_the_window(open_page: OpenPage) -> None:
    opened = open_page("#/overview", mode="live", width=640)
    opened.page.evaluate("document.documentElement.style.fontSize = '200%'")
    assert opened.overflow() <= 0
