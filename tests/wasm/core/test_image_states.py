import json
from typing import Any

import pytest

from kubewasp.state.node_objects import Nodes
from kubewasp.wasm.core.core_engine import core_engine
from kubewasp.wasm.core.image_states import ImageTable
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.limits import Limits
from tests import samples
from tests.guests.build import wat
from tests.wasm.steering import getter, steer


class Cluster:
    """Nodes with images, and the values for a guest."""

    def __init__(self) -> None:
        self.guest = Guest.load(wat("echo"))
        self.nodes = Nodes()

    def put(self, name: str, **images: int) -> None:
        self.nodes.put(samples.node(name, images=images))

    def states(self, name: str) -> Any:
        with self.guest.cycle(samples.pod(), self.nodes) as cycle:
            steer(cycle, which=getter("nodeImageStates"))
            return json.loads(cycle.filter([name]).reason(0))


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_an_image_that_one_more_node_has_is_counted_for_all(cluster: Cluster) -> None:
    cluster.put("a", nginx=7)
    assert cluster.states("a") == {"nginx": {"Size": 7, "NumNodes": 1}}
    cluster.put("b", nginx=7)
    assert cluster.states("a") == cluster.states("b") == {"nginx": {"Size": 7, "NumNodes": 2}}
    cluster.nodes.remove("b")
    assert cluster.states("a") == {"nginx": {"Size": 7, "NumNodes": 1}}


def test_an_image_that_a_node_lost_is_not_counted_there(cluster: Cluster) -> None:
    cluster.put("a", nginx=7, redis=8)
    cluster.put("b", nginx=7)
    cluster.put("a", redis=8)
    assert cluster.states("a") == {"redis": {"Size": 8, "NumNodes": 1}}
    assert cluster.states("b") == {"nginx": {"Size": 7, "NumNodes": 1}}


def test_an_image_that_comes_in_another_size_has_that_size(cluster: Cluster) -> None:
    cluster.put("a", nginx=7)
    cluster.states("a")
    cluster.put("a", nginx=9)
    assert cluster.states("a") == {"nginx": {"Size": 9, "NumNodes": 1}}


def test_an_image_that_was_gone_everywhere_comes_back_as_a_new_one(cluster: Cluster) -> None:
    cluster.put("a", nginx=7)
    cluster.states("a")
    cluster.nodes.remove("a")
    cluster.put("b", redis=8)
    cluster.states("b")
    cluster.put("a", nginx=9)
    assert cluster.states("a") == {"nginx": {"Size": 9, "NumNodes": 1}}


def test_of_two_sizes_the_first_is_told_as_kube_scheduler_does(cluster: Cluster) -> None:
    cluster.put("a", nginx=7)
    cluster.states("a")
    cluster.put("b", nginx=9)
    assert cluster.states("b") == {"nginx": {"Size": 7, "NumNodes": 2}}


def test_a_node_may_have_one_image_under_several_names(cluster: Cluster) -> None:
    cluster.nodes.put(
        {"metadata": {"name": "a"}, "status": {"images": [{"names": ["x@sha", "x:1"], "sizeBytes": 5}, {"names": []}]}}
    )
    assert cluster.states("a") == {"x:1": {"Size": 5, "NumNodes": 1}, "x@sha": {"Size": 5, "NumNodes": 1}}


def test_a_negative_size_is_none(cluster: Cluster) -> None:
    cluster.put("a", nginx=-1)
    assert cluster.states("a") == {"nginx": {"Size": 0, "NumNodes": 1}}


def test_many_images_fit(cluster: Cluster) -> None:
    images = {f"image-{number:04}": number for number in range(500)}
    cluster.put("a", **images)
    cluster.put("b", **images)
    assert cluster.states("a") == {name: {"Size": size, "NumNodes": 2} for name, size in images.items()}


def test_the_table_has_no_more_entries_than_images_at_a_time() -> None:
    """Tags come and go for as long as a cluster lives."""
    nodes = Nodes()
    table = ImageTable(core_engine(Limits().stack).heap)
    for number in range(1000):
        row = nodes.put(samples.node(f"node-{number % 5}", images={f"app:{number}": 1, "base": 2}))
        table.replace(row, nodes.encoded(row))
        table.publish()
    assert len(table._names) <= 6 + 1
    table.release()
