"""The page over kubewasp itself: a simulated cluster, a recording, and the file of one, with all views."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.console.served import ROOT, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.console.conftest import OpenPage
    from tests.e2e.console.served import Served

CLUSTER = ["examples/clusters/small.yaml", "examples/clusters/shop"]
RECORDING = ["examples/recordings/churn"]


@pytest.fixture(scope="module", params=["cluster", "recording"])
def served(request: Any) -> Iterator[Served]:
    with serve("console", *(CLUSTER if request.param == "cluster" else RECORDING)) as started:
        yield started


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_all_views_work(open_page: OpenPage, served: Served, dark: bool) -> None:
    opened = open_page("#/overview", console=served, dark=dark)
    for address in ("pending", "map", "queue", "timeline", "plugins", "decision", "search?q=p", "overview"):
        opened.go(f"#/{address}")
        assert opened.violations() == []
    assert opened.text().startswith("Overview")


def test_a_pending_pod_is_explained(open_page: OpenPage, served: Served) -> None:
    opened = open_page("#/pending", console=served)
    opened.page.locator(".examples a.object").first.click()
    opened.page.wait_for_selector(".verdict")
    assert "Nodes × plugins" in opened.text()
    opened.page.locator(".weights .switch").first.click()
    opened.wait("location.hash.includes('without=')")
    opened.wait("!document.querySelector('.outcome').textContent.includes('Change a weight')")
    assert opened.violations() == []


def test_the_timeline_leads_to_a_pod_as_it_was(open_page: OpenPage, served: Served) -> None:
    opened = open_page("#/timeline?at=10", console=served)
    opened.page.locator(".changes a.object").first.click()
    opened.page.wait_for_selector("main h1")
    opened.wait("location.hash.startsWith('#/pod/') && location.hash.includes('at=')")
    opened.page.get_by_role("link", name="Explain the decision").click()
    opened.page.wait_for_selector(".verdict")


def test_the_file_of_a_recording_opens_without_a_server(open_page: OpenPage, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    command = [sys.executable, "-m", "kubewasp", "console", *RECORDING, "--html", str(file)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    opened = open_page("#/overview", url=file.as_uri())
    for address in ("pending", "map", "queue", "timeline", "plugins", "overview"):
        opened.go(f"#/{address}")
        assert "not in this file" not in opened.text()
    opened.go("#/pending")
    opened.page.locator(".examples a.object").first.click()
    opened.page.wait_for_selector(".verdict")
