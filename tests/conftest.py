"""Fixtures of all tests: a separate cache of compiled guests, a small cluster, and files."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from kubewasp.state.node_objects import Nodes
from tests import samples
from tests.guests.build import ROOT

# At a desk, each run tries other examples; where a change lands, a run must not depend on chance.
settings.register_profile("kubewasp", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("kubewasp")


@pytest.fixture(scope="session", autouse=True)
def _compiled_guests() -> Iterator[None]:
    """Guests are compiled once for all runs: an entry's name carries what it was compiled from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "KUBEWASP_CACHE_DIR", str(ROOT / ".build" / "compiled"))
        yield


@pytest.fixture
def pod() -> dict[str, Any]:
    return samples.pod("pod-1")


@pytest.fixture
def nodes() -> Nodes:
    """node-1, node-2 and node-3."""
    return samples.nodes(3)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Writes a file of that name and content."""

    def run(name: str, content: str) -> Path:
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return path

    return run
