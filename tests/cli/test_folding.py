"""Folded lists: pods by workload, pending pods by reason, nodes by pool."""

import pytest

from kubewasp.cli.folding import by_reason, counted, folded, in_short, node_pool, node_pools, shortened, workload
from kubewasp.simulation.result import PendingPod


@pytest.mark.parametrize(
    ("pod", "owner", "name"),
    [
        ("default/web-5d9c-x7k2p", "default/web", "default/web-*"),
        ("default/app-1-34", "", "default/app-1-*"),
        ("default/alone", "", "default/alone"),
    ],
)
def test_pods_of_a_workload_or_of_one_name_have_one_name(pod: str, owner: str, name: str) -> None:
    assert workload(pod, owner) == name


def test_few_pods_are_listed_and_many_folded_with_their_number() -> None:
    pods = [(f"default/app-1-{number}", "") for number in range(34)]
    assert folded(pods[:3]) == ["default/app-1-0", "default/app-1-1", "default/app-1-2"]
    assert folded([("default/alone", ""), *pods]) == ["default/app-1-* (34)", "default/alone"]


def test_names_beyond_the_most_are_a_number() -> None:
    assert shortened(["a", "b", "c"], 2) == ["a", "b", "c"]  # a line for one name is that name
    assert shortened(["a", "b", "c", "d"], 2) == ["a", "b", "… 2 more"]


def test_messages_with_other_numbers_of_nodes_are_one_reason() -> None:
    def pending(name: str, few: int) -> PendingPod:
        return PendingPod(name, f"0/9 nodes are available: {few} Insufficient cpu, {9 - few} Insufficient memory.")

    other = PendingPod("d", "0/9 nodes are available: 9 Insufficient nvidia.com/gpu.")
    [(message, pods), last] = by_reason([other, pending("a", 4), pending("b", 5), pending("c", 4)])
    assert [pod.pod for pod in pods] == ["a", "b", "c"]
    assert message == "0/9 nodes are available: 4 Insufficient cpu, 5 Insufficient memory. (other numbers for some)"
    assert last == (other.message, [other])


@pytest.mark.parametrize(
    ("name", "pool"),
    [
        ("spot-a1", "spot-*"),
        ("general-0017", "general-*"),
        ("ip-10-0-1-7.eu.internal", "ip-10-0-1-*"),
        ("master", "master"),
    ],
)
def test_nodes_of_one_pool_share_all_but_the_last_part(name: str, pool: str) -> None:
    assert node_pool(name) == pool


def test_names_that_tell_no_pools_are_not_grouped() -> None:
    assert node_pools(["node-1", "node-2"], 12) is None
    assert node_pools(["a-1", "b-1", "c-1"], 2) is None
    assert node_pools(["a-1", "b-1", "a-2"], 2) == {"a-*": ["a-1", "a-2"], "b-*": ["b-1"]}


def test_a_text_in_short_is_its_first_line() -> None:
    assert in_short("wasm trap\nstack:\n\tf") == "wasm trap …"
    assert in_short("no room") == "no room"
    failed = 'wasm: filter error: looking\npanic: boom\nmain.f()\nwasm trap: x (plugin "p")'
    assert in_short(failed) == "wasm: filter error: panic: boom …"


def test_a_count_has_its_noun() -> None:
    assert [counted(count, "pod") for count in (0, 1, 2000)] == ["0 pods", "1 pod", "2,000 pods"]
