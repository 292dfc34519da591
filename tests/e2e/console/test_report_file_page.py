"""The page in one file: opened from a disk, without a server and without a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewasp.console.page import inline_page
from tests.console.fake_answers import FakeCluster

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.console.conftest import OpenPage

POD = "/pods/training/training-worker-00401"


def written(folder: Path, *, hostile: bool = False) -> str:
    cluster = FakeCluster(240, "comparison", hostile=hostile)
    paths = ["/session", "/overview", "/pending", "/map", "/queue", "/timeline", "/timeline/changes", "/compare"]
    paths += ["/compare/pods", "/plugins", "/queue?part=active", "/map?run=b", POD, f"{POD}/decision"]
    documents = {}
    for path in paths:
        bare, _, text = path.partition("?")
        query = dict(item.split("=") for item in text.split("&") if item)
        documents[path] = cluster.answer(bare, query)
    file = folder / "report.html"
    file.write_text(inline_page(documents), encoding="utf-8")
    return file.as_uri()


def test_every_view_of_a_file_works(open_page: OpenPage, tmp_path: Path) -> None:
    opened = open_page("#/overview", url=written(tmp_path))
    assert "File" in opened.page.inner_text(".connection")
    for address, text in {
        "#/pending": "What would help",
        "#/map": "240 nodes",
        "#/queue": "ready for its next attempt",
        "#/timeline": "Next difference",
        "#/compare": "GPU fragmentation",
        "#/plugins": "gpu-share",
        "#/decision/training/training-worker-00401": "wins with",
        "#/overview": "Pods placed",
    }.items():
        opened.go(address)
        opened.page.wait_for_selector(f"main :text('{text}')")
    assert len(opened.requests) == 1
    assert opened.violations() == []


def test_what_is_not_in_the_file_is_said(open_page: OpenPage, tmp_path: Path) -> None:
    opened = open_page("#/node/gpu-00-00", url=written(tmp_path))
    assert "not in this file" in opened.text()


def test_hostile_answers_in_a_file_are_harmless(open_page: OpenPage, tmp_path: Path) -> None:
    opened = open_page("#/pending", url=written(tmp_path, hostile=True))
    assert "<img src=x" in opened.text()
    assert opened.page.evaluate("window.broken") is None
