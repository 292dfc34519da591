"""Overview, map, node, queue, plugins and search of a small cluster."""

import re
from typing import Any

import pytest

from kubewasp.console.json_values import encoded, text_of, when
from tests.console.sources import get, source
from tests.simulation.simulating import config, node, pod, profile, steered, wasm


@pytest.fixture(scope="module")
def shop() -> Any:
    return source(
        node("a", zone="x", cpu="4"),
        node("b", zone="y", cpu="8"),
        *(pod(f"web-{number}", cpu="1") for number in range(3)),
        pod("db", cpu="2", namespace="data"),
        pod("huge", cpu="64"),
    )


def test_the_overview_counts(shop: Any) -> None:
    found = get(shop, "/overview")
    assert found["pods"] == {"placed": 4, "waiting": 0, "pending": 1, "gated": 0, "failing": 0, "total": 5}
    assert found["nodes"] == {"total": 2, "used": 2, "unschedulable": 0}
    cpu = next(item for item in found["utilisation"] if item["resource"] == "cpu")
    assert cpu == {"resource": "cpu", "allocatable": 12.0, "requested": 5.0, "share": pytest.approx(5 / 12)}
    assert found["attempts"] == {"scheduled": 4, "unschedulable": 1, "error": 0}
    assert found["recent"][0]["kind"] in ("scheduled", "unschedulable")
    assert get(shop, "/overview", "at=0")["pods"]["pending"] == 5


def test_the_session_names_units_and_labels(shop: Any) -> None:
    found = get(shop, "/session")
    assert {item["name"]: item["unit"] for item in found["resources"]} == {"cpu": "cores", "memory": "bytes"}
    assert "topology.kubernetes.io/zone" in found["labels"]
    assert found["profiles"][0]["name"] == "default-scheduler"


def test_the_map_groups_and_shares(shop: Any) -> None:
    found = get(shop, "/map")
    assert found["names"] == ["a", "b"]
    assert [group["name"] for group in found["groups"]] == ["x", "y"]
    assert found["group"] == [0, 1]
    assert sum(found["pods"]) == 4
    shares = [share * cores for share, cores in zip(found["resources"]["cpu"], (4, 8), strict=True)]
    assert sum(shares) == pytest.approx(5)
    assert set(found["namespaces"]) == {"default", "data"}
    by_host = get(shop, "/map", "by=kubernetes.io/hostname")
    assert [group["nodes"] for group in by_host["groups"]] == [1, 1]
    assert get(shop, "/map", "by=no/such")["groups"] == [{"name": "", "nodes": 2}]


def test_scores_are_in_the_order_of_the_map(shop: Any) -> None:
    total = get(shop, "/map/scores", "pod=default/web-1&at=0")
    assert total["names"] == ["a", "b"]
    assert all(isinstance(value, int) for value in total["values"])
    assert get(shop, "/map/scores", "pod=default/huge")["values"] == [None, None]
    assert get(shop, "/map/scores", "pod=default/web-1&plugin=NodeName")["values"] == [None, None]


def test_a_node_opens_into_its_pods(shop: Any) -> None:
    found = get(shop, "/nodes/b")
    amounts = {item["resource"]: item for item in found["resources"]}
    assert amounts["cpu"]["allocatable"] == 8.0
    assert amounts["pods"]["requested"] == found["total"] == len(found["pods"])


def test_the_queue_says_why(shop: Any) -> None:
    found = get(shop, "/queue")
    assert found["counts"] == {"active": 0, "backoff": 0, "unschedulable": 1, "waiting": 0, "gated": 0}
    (item,) = found["pods"]
    assert (item["key"], item["plugin"], item["until"]) == ("default/huge", "NodeResourcesFit", None)
    assert get(shop, "/queue", "at=0")["counts"]["active"] == 5


def test_the_search_needs_all_words(shop: Any) -> None:
    keys = [item["key"] for item in get(shop, "/search", "q=WEB%201")["results"]]
    assert keys == ["default/web-1"]
    assert get(shop, "/search", "q=")["results"] == []
    assert {item["kind"] for item in get(shop, "/search", "q=a")["results"]} == {"pod", "node", "plugin"}


def test_a_guest_is_first_among_the_plugins_with_its_digest() -> None:
    guest = wasm("steered", steered("filter"))
    found = get(source(node("a"), pod("web"), config=config(profile(guest))), "/plugins")["plugins"]
    assert (found[0]["name"], found[0]["origin"]) == ("steered", "wasm")
    assert found[0]["source"].endswith(".wasm")
    assert not found[0]["source"].startswith("file:")
    assert re.fullmatch("sha256:[0-9a-f]{64}", found[0]["digest"])
    assert all(item["origin"] == "built-in" for item in found[1:])


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "1970-01-01T00:00:00.000Z"), (1.2345, "1970-01-01T00:00:01.234Z"), (None, None), (1e300, None)],
)
def test_times_have_milliseconds(seconds: float | None, text: str | None) -> None:
    assert when(seconds) == text


def test_texts_are_cut_and_without_secrets() -> None:
    assert len(text_of("x" * 100_000)) == 4096
    assert "hunter2" not in text_of("password=hunter2")


def test_lone_surrogates_do_not_fail_an_answer() -> None:
    assert encoded({"a\ud800": ["\udfff", {"b": 1}]}) == b'{"a?":["?",{"b":1}]}'
