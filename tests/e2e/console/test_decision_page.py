"""The decision of a pod: weights, plugins taken out, order, and 5,000 nodes in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.console.conftest import OpenPage

POD = "#/decision/training/training-worker-00401"


def test_a_weight_changes_the_outcome_at_once(open_page: OpenPage) -> None:
    opened = open_page(POD)
    assert "Change a weight" in opened.page.inner_text(".outcome")
    weight = opened.page.get_by_label("Weight of gpu-share")
    weight.fill("0")
    opened.wait("!document.querySelector('.outcome').textContent.includes('Change a weight')")
    assert "weights=gpu-share%3A0" in opened.page.evaluate("location.hash")
    assert opened.page.evaluate("document.activeElement.ariaLabel") == "Weight of gpu-share"
    opened.page.get_by_role("button", name="Reset").click()
    opened.wait("document.querySelector('.outcome').textContent.includes('Change a weight')")
    assert weight.input_value() == "5"


def test_a_plugin_taken_out_has_no_column(open_page: OpenPage) -> None:
    opened = open_page(POD)
    assert opened.page.get_by_role("columnheader", name="ImageLocality").count() == 1
    opened.page.locator(".weights tr", has_text="ImageLocality").locator(".switch").click()
    opened.wait("!document.querySelector('.scores thead').textContent.includes('ImageLocality')")
    assert "without=ImageLocality" in opened.page.evaluate("location.hash")


def test_objections_of_a_node_are_shown(open_page: OpenPage) -> None:
    opened = open_page(f"{POD}?only=rejected")
    opened.page.locator(".scores tbody tr[data-index='3']").click()
    panel = opened.page.locator(".aside .panel", has_text="Objections")
    assert "Insufficient" in panel.inner_text()


def test_five_thousand_nodes_are_one_table_of_few_rows(open_page: OpenPage) -> None:
    opened = open_page(POD, nodes=5000)
    grid = opened.page.get_by_role("grid", name="Nodes with the scores of plugins")
    assert grid.get_attribute("aria-rowcount") == "5001"
    assert grid.locator("tbody tr").count() < 60
    grid.locator("tbody tr[data-index='0']").focus()
    opened.page.keyboard.press("End")
    opened.wait("document.activeElement.getAttribute('aria-rowindex') === '5001'")
    assert grid.locator("tbody tr").count() < 60
    opened.page.keyboard.press("Home")
    opened.wait("document.activeElement.getAttribute('aria-rowindex') === '2'")


def test_the_heat_map_works_by_keyboard(open_page: OpenPage) -> None:
    opened = open_page(POD)
    field = opened.page.locator(".heat-field")
    field.focus()
    opened.page.keyboard.press("ArrowRight")
    opened.page.keyboard.press("ArrowRight")
    status = opened.page.locator(".heat [role=status]")
    assert "Status feasible" in status.inner_text()
    opened.page.keyboard.press("Enter")
    opened.wait("document.activeElement.dataset.index === '1'")


def test_a_newer_state_is_offered_and_not_pushed(open_page: OpenPage) -> None:
    opened = open_page(POD, seed=3)
    assert opened.console is not None
    opened.page.wait_for_selector(".status.live")
    asked = len([path for path in opened.console.asked if "decision" in path])
    opened.console.change()
    opened.page.get_by_text("The cluster has changed since.").wait_for()
    assert len([path for path in opened.console.asked if "decision" in path]) == asked
    opened.page.get_by_role("button", name="Refresh").click()
    opened.page.get_by_text("The cluster has changed since.").wait_for(state="hidden")
