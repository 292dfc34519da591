from typing import Any

import pytest
from kubewasp_sdk import ConfigError, NodeInfo
from kubewasp_sdk.testing import make_node, make_pod, run

from plugin import MIB, ImageLocality, with_tag

POD = make_pod("web", image="shop/web:2")


def nodes(*sizes: int, image: str = "shop/web:2") -> list[NodeInfo]:
    """One node per image size in MiB; 0 is a node without the image."""
    return [make_node(f"n{place}", images={image: size * MIB} if size else {}) for place, size in enumerate(sizes)]


def scores(*found: NodeInfo, pod: Any = POD, **config: Any) -> list[int]:
    return list(run(ImageLocality, pod, found, config=config).scores.values())


def test_a_node_with_the_image_is_preferred() -> None:
    outcome = run(ImageLocality, POD, nodes(0, 500))
    assert outcome.node == "n1"
    assert outcome.scores == {"n0": 0, "n1": 23}  # half of the nodes have it: 250 MiB, on a scale from 23 to 1000


def test_an_image_counts_by_the_share_of_nodes_that_have_it() -> None:
    assert scores(*nodes(500, 0, 0, 0)) == [10, 0, 0, 0]
    assert scores(*nodes(500, 500, 500, 500)) == [48, 48, 48, 48]


def test_images_of_all_containers_add_up_and_so_does_the_maximum() -> None:
    pod = make_pod(spec={"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]})
    both = make_node("both", images={"a:1": 1000 * MIB, "b:1": 1000 * MIB})
    assert scores(both, pod=pod) == [100]
    assert scores(both, make_node("one", images={"a:1": 1000 * MIB}), pod=pod) == [74, 49]


@pytest.mark.parametrize(("size", "score"), [(22, 0), (23, 0), (1000, 100), (5000, 100)])
def test_sizes_outside_of_the_scale_count_as_its_ends(size: int, score: int) -> None:
    assert scores(*nodes(size)) == [score]


def test_the_scale_comes_from_the_configuration() -> None:
    assert scores(*nodes(50), minimumMib=0, maximumMib=100) == [50]


def test_a_registry_can_count_more_or_less_and_the_longest_beginning_decides() -> None:
    weights = {"shop/": 0.5, "shop/web": 2.0, "far.example/": 10}
    assert scores(*nodes(100), minimumMib=0, weights=weights) == [20]
    assert scores(*nodes(100), minimumMib=0, weights={"shop/": 0.5}) == [5]
    assert scores(*nodes(100), minimumMib=0, weights={"far.example/": 10}) == [10]


def test_where_no_node_has_an_image_nothing_is_scored() -> None:
    assert scores(*nodes(0, 0)) == []


@pytest.mark.parametrize(
    ("image", "full"),
    [
        ("nginx", "nginx:latest"),
        ("nginx:1", "nginx:1"),
        ("host:5000/web", "host:5000/web:latest"),
        ("web@sha256:ab", "web@sha256:ab"),
    ],
)
def test_an_image_without_a_tag_is_the_latest(image: str, full: str) -> None:
    assert with_tag(image) == full
    assert scores(*nodes(1000, image=full), pod=make_pod(image=image)) == [100]


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"minimumMib": 1000}, "config: expected 0 <= minimumMib < maximumMib, got 1000 and 1000"),
        ({"maximumMib": "1Gi"}, 'config.maximumMib: expected a whole number, got "1Gi"'),
        ({"weights": {"a/": -1}}, 'config: weights: expected 0 to 1000 for "a/", got -1'),
        ({"weights": ["a/"]}, "config.weights: expected an object"),
    ],
)
def test_a_bad_configuration_is_refused(config: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        run(ImageLocality, POD, nodes(0), config=config)
