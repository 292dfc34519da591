"""ImageLocality: scores by present images and their spread over the nodes."""

from typing import Any

import pytest

from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.status import Status
from kubewasp.plugins.image_locality import ImageLocality
from kubewasp.state.node_table import NodeTable
from tests.plugins.building import FakeHandle, make_node, make_pod, make_table

MI = 1024 * 1024


def running(*images: str, **spec: Any) -> Any:
    return make_pod(containers=[{"name": f"c{i}", "image": image} for i, image in enumerate(images)], **spec)


def scores(pod: Any, table: NodeTable, plugin: ImageLocality | None = None) -> list[int]:
    found = (plugin or ImageLocality({}, FakeHandle())).score(CycleState(), pod, table, table.order())
    assert not isinstance(found, Status)
    return found.tolist()


def four(size: int, name: str = "web:1") -> NodeTable:
    """The image on two nodes of four."""
    return make_table([make_node(f"n{i}", images={name: size} if i < 2 else {}) for i in range(4)])


def test_an_image_on_half_of_the_nodes_counts_by_half() -> None:
    assert scores(running("web:1"), four(500 * MI)) == [100 * (250 - 23) // 977] * 2 + [0, 0] == [23, 23, 0, 0]


def test_small_images_have_no_score_and_large_ones_at_most_100() -> None:
    assert scores(running("web:1"), four(46 * MI)) == [0] * 4
    assert scores(running("web:1"), four(47 * MI + 600 * 1024)) == [0] * 4
    assert scores(running("web:1"), four(9000 * MI)) == [100, 100, 0, 0]


def test_the_largest_sum_grows_with_the_number_of_containers() -> None:
    pod = running("web:1", "other:1", initContainers=[{"name": "i", "image": "web:1"}])
    assert scores(pod, four(500 * MI))[0] == 100 * (500 - 23) // (3000 - 23)


def test_image_volumes_count_but_are_no_containers() -> None:
    pod = running("other:1", volumes=[{"name": "v", "image": {"reference": "web:1"}}])
    assert scores(pod, four(500 * MI))[0] == 23


@pytest.mark.parametrize(
    ("image", "stored", "found"),
    [
        ("web", "web:latest", True),
        ("web", "web:1", False),
        ("registry:5000/web", "registry:5000/web:latest", True),
        ("registry:5000/web:2", "registry:5000/web:2", True),
        ("docker.io/library/web:1", "web:1", False),
        ("web@sha256:0123", "web@sha256:0123", True),
    ],
)
def test_images_without_a_tag_are_the_latest(image: str, stored: str, found: bool) -> None:
    assert bool(scores(running(image), four(500 * MI, stored))[0]) is found


def test_scores_follow_the_images_and_the_number_of_nodes() -> None:
    plugin, pod = ImageLocality({}, FakeHandle()), running("web:1")
    table = four(500 * MI)
    assert scores(pod, table, plugin) == [23, 23, 0, 0]
    table.put_node(make_node("n2", images={"web:1": 1}))
    assert scores(pod, table, plugin) == [100 * (375 - 23) // 977] * 3 + [0]
    table.remove_node("n3")
    assert scores(pod, table, plugin) == [100 * (500 - 23) // 977] * 3
    for name in ("n1", "n2"):
        table.put_node(make_node(name))
    table.put_node(make_node("n0", images={"web:1": 900 * MI}))
    assert scores(pod, table, plugin) == [100 * (300 - 23) // 977, 0, 0]
