"""Made-up answers of the browser tests, against the description of the API."""

import pytest

from tests.console.fake_answers import FakeCluster
from tests.console.sources import check, described

PATHS = (
    "/session",
    "/overview",
    "/pending",
    "/pending/group-0",
    "/pods/training/training-worker-00400",
    "/pods/training/training-worker-00400/decision",
    "/pods/training/training-worker-00401/decision",
    "/map",
    "/map/scores",
    "/nodes/gpu-00-03",
    "/queue",
    "/plugins",
    "/search",
)
QUERIES = {"/map/scores": {"pod": "training/training-worker-00401"}, "/search": {"q": "gpu"}}
OF_MODES = {
    "live": PATHS,
    "simulation": (*PATHS, "/timeline", "/timeline/changes", "/timeline/next"),
    "comparison": ("/session", "/timeline", "/compare", "/compare/pods"),
}


@pytest.mark.parametrize(("mode", "path"), [(mode, path) for mode, paths in OF_MODES.items() for path in paths])
def test_a_made_up_answer_is_as_described(mode: str, path: str) -> None:
    cluster = FakeCluster(240, mode)
    for query in ({}, {"limit": "5"}, {"part": "backoff"}):
        check(cluster.answer(path, QUERIES.get(path, {}) | query), described(path))
