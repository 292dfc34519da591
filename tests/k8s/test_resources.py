"""Requests and allocatable amounts: sums, rounding and defaults of kube-scheduler."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.k8s.resources import (
    CPU,
    DEFAULT_MEMORY,
    EPHEMERAL,
    MEMORY,
    PodResources,
    Resources,
    allocatable,
    amount_text,
    is_extended,
    is_scalar,
    pod_resources,
)

MI = 1024 * 1024


def container(name: str = "main", *, always: bool = False, **requests: str) -> dict[str, Any]:
    item: dict[str, Any] = {"name": name, "resources": {"requests": requests}}
    return {**item, "restartPolicy": "Always"} if always else item


def resources(*containers: dict[str, Any], init: tuple[dict[str, Any], ...] = (), **spec: Any) -> PodResources:
    status = spec.pop("status", None)
    return pod_resources({"containers": containers, "initContainers": init, **spec}, status)


# ---------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("name", "extended", "scalar"),
    [
        ("cpu", False, False),
        ("memory", False, False),
        ("pods", False, False),
        ("gpu", False, False),
        ("example.com/gpu", True, True),
        ("kubernetes.io/battery", False, True),
        ("sub.kubernetes.io/battery", False, True),
        ("hugepages-2Mi", False, True),
        ("attachable-volumes-aws-ebs", False, True),
        ("requests.example.com/gpu", False, False),
        ("example.com/not a name", False, False),
        ("a/b/c", False, False),
        (f"{'a' * 250}.com/gpu", False, False),
    ],
)
def test_which_names_are_counted(name: str, extended: bool, scalar: bool) -> None:
    assert (is_extended(name), is_scalar(name)) == (extended, scalar)


def test_names_that_are_not_counted_are_left_out_of_requests_and_allocatable() -> None:
    assert resources(container(cpu="1", gpu="2", **{"example.com/gpu": "3"})).requests == Resources(
        1000, 0, 0, {"example.com/gpu": 3}
    )
    found, pods = allocatable({"allocatable": {"cpu": "4", "gpu": "2", "pods": "110", "example.com/gpu": "8"}})
    assert (found, pods) == (Resources(4000, 0, 0, {"example.com/gpu": 8}), 110)


def test_pods_are_read_of_nodes_only() -> None:
    assert resources(container(pods="3")).requests == Resources()


# ---------------------------------------------------------------------- sums


def test_amounts_are_added_exactly_and_rounded_up_once() -> None:
    assert resources(container(cpu="100m"), container("b", cpu="0.5m")).requests.cpu == 101
    assert resources(container(cpu="0.5m"), container("b", cpu="0.5m")).requests.cpu == 1
    assert resources(container(memory="0.5"), container("b", memory="1500m")).requests.memory == 2
    assert resources(container(memory="100m")).requests.memory == 1


def test_allocatable_is_rounded_up() -> None:
    found, pods = allocatable({"allocatable": {"cpu": "3999.5m", "memory": "1.5", "pods": "1500m"}})
    assert (found.cpu, found.memory, pods) == (4000, 2, 2)
    assert allocatable({}) == (Resources(), 0)


def test_an_amount_beyond_64_bits_is_the_largest_of_them() -> None:
    assert resources(container(memory="1e30")).requests.memory == 2**63 - 1
    assert allocatable({"allocatable": {"cpu": "-9e18"}})[0].cpu == -(2**63 - 1)


@pytest.mark.parametrize(
    ("init", "cpu"),
    [
        ((), 300),
        ((container("i", cpu="200m"),), 300),
        ((container("i", cpu="500m"),), 500),
        ((container("i", cpu="500m"), container("j", cpu="400m")), 500),
        # A sidecar runs beside the containers, and beside the init containers that come after it.
        ((container("s", always=True, cpu="100m"),), 400),
        ((container("s", always=True, cpu="100m"), container("i", cpu="500m")), 600),
        ((container("i", cpu="500m"), container("s", always=True, cpu="100m")), 500),
        (
            (container("s", always=True, cpu="50m"), container("t", always=True, cpu="50m"), container("i", cpu="1")),
            1100,
        ),
    ],
)
def test_init_containers_run_one_after_the_other_and_sidecars_on_and_on(init: Any, cpu: int) -> None:
    found = resources(container(cpu="100m"), container("b", cpu="200m"), init=init)
    assert found.requests.cpu == cpu


def test_each_resource_has_its_own_largest_moment() -> None:
    found = resources(container(cpu="1", memory="1Mi"), init=(container("i", cpu="500m", memory="4Mi"),))
    assert (found.requests.cpu, found.requests.memory) == (1000, 4 * MI)


def test_overhead_is_added_after_everything_else() -> None:
    found = resources(
        container(cpu="1"),
        resources={"requests": {"cpu": "2"}},
        overhead={"cpu": "100m", "memory": "1Mi", "example.com/gpu": "1"},
    )
    assert found.requests == Resources(2100, MI, 0, {"example.com/gpu": 1})


def test_limits_are_not_requests() -> None:
    assert pod_resources({"containers": [{"name": "a", "resources": {"limits": {"cpu": "1"}}}]}).requests.is_empty


# ---------------------------------------------------------------------- requests of the pod as a whole


def test_what_the_pod_asks_for_as_a_whole_replaces_the_sum() -> None:
    asked = {"cpu": "2", "hugepages-2Mi": "4Mi", "example.com/gpu": "9", "ephemeral-storage": "1"}
    found = resources(
        container(cpu="1", memory="1Mi", **{"example.com/gpu": "1"}), resources={"requests": asked}
    ).requests
    assert found == Resources(2000, MI, 0, {"example.com/gpu": 1, "hugepages-2Mi": 4 * MI})


def test_a_pod_that_asks_only_for_what_pods_cannot_ask_for_is_not_replaced() -> None:
    found = resources(container(cpu="1"), resources={"requests": {"example.com/gpu": "9"}})
    assert found.requests == Resources(1000)
    assert found.non_zero == Resources(1000, DEFAULT_MEMORY)


# ---------------------------------------------------------------------- defaults


def test_containers_without_requests_count_as_small_ones_where_nodes_are_ranked() -> None:
    found = resources(container(), container("b", cpu="1"), container("c", memory="1Mi"))
    assert found.requests == Resources(1000, MI)
    assert found.non_zero == found.scoring == Resources(1200, 2 * DEFAULT_MEMORY + MI)


def test_init_containers_count_as_small_ones_too() -> None:
    found = resources(container(cpu="10m", memory="1"), init=(container("i"), container("s", always=True)))
    assert found.non_zero == Resources(110, DEFAULT_MEMORY + 1)


def test_an_explicit_zero_is_kept() -> None:
    found = resources(container(cpu="0", memory="0"))
    assert found.non_zero == found.requests == Resources()


def test_with_requests_of_the_pod_the_default_is_for_what_is_missing_everywhere() -> None:
    found = resources(container(), container("b"), resources={"requests": {"cpu": "1"}})
    assert found.requests == Resources(1000)
    assert found.non_zero == Resources(1000, 2 * DEFAULT_MEMORY)
    assert resources(container(memory="1Mi"), resources={"requests": {"cpu": "1"}}).non_zero == Resources(1000, MI)
    covered = resources(container(), resources={"requests": {"cpu": "1"}}, overhead={"memory": "1Mi"})
    assert covered.non_zero == Resources(1000, MI)


def test_a_pod_is_ranked_without_what_it_asks_for_as_a_whole() -> None:
    found = resources(container(cpu="1"), resources={"requests": {"cpu": "3"}}, overhead={"cpu": "1m"})
    assert found.scoring == Resources(1001, DEFAULT_MEMORY)


# ---------------------------------------------------------------------- pods that are resized


def resized(requests: str | None, allocated: str | None = None, name: str = "main") -> dict[str, Any]:
    item: dict[str, Any] = {"name": name}
    if requests is not None:
        item["resources"] = {"requests": {"cpu": requests}}
    if allocated is not None:
        item["allocatedResources"] = {"cpu": allocated}
    return item


INFEASIBLE = [{"type": "PodResizePending", "reason": "Infeasible"}]
DEFERRED = [{"type": "PodResizePending", "reason": "Deferred"}]


@pytest.mark.parametrize(
    ("item", "conditions", "cpu"),
    [
        (resized("3"), (), 3000),
        (resized("1"), (), 2000),
        (resized("1", "4"), (), 4000),
        (resized(None, "4"), (), 2000),
        (resized("1"), INFEASIBLE, 1000),
        (resized("1", "1500m"), INFEASIBLE, 1500),
        (resized("1"), DEFERRED, 2000),
        (resized(None), INFEASIBLE, 2000),
        ({"name": "main", "resources": {}}, INFEASIBLE, 0),
        (resized("9", name="other"), (), 2000),
    ],
)
def test_a_container_on_a_node_counts_for_the_most_of_what_it_asks_for_and_has(
    item: Any, conditions: Any, cpu: int
) -> None:
    found = resources(container(cpu="2"), status={"containerStatuses": [item], "conditions": conditions})
    assert found.requests.cpu == cpu


def test_a_sidecar_is_resized_and_a_plain_init_container_is_not() -> None:
    status = {"initContainerStatuses": [resized("3", name="s"), resized("9", name="i")]}
    found = resources(container(cpu="1"), init=(container("s", always=True, cpu="1"), container("i")), status=status)
    assert found.requests.cpu == 4000


@pytest.mark.parametrize(
    ("status", "cpu"),
    [
        ({"resources": {"requests": {"cpu": "3"}}}, 3000),
        ({"resources": {"requests": {"cpu": "1"}}}, 2000),
        ({"resources": {}, "allocatedResources": {"cpu": "5"}}, 5000),
        ({"allocatedResources": {"cpu": "5"}}, 2000),
        ({"resources": {"requests": {"cpu": "1"}}, "conditions": INFEASIBLE}, 1000),
    ],
)
def test_the_same_holds_for_the_pod_as_a_whole(status: Any, cpu: int) -> None:
    found = resources(container(cpu="500m"), resources={"requests": {"cpu": "2"}}, status=status)
    assert found.requests.cpu == cpu


# ---------------------------------------------------------------------- properties

AMOUNTS = st.integers(0, 4000)
CONTAINERS = st.lists(st.tuples(AMOUNTS, st.booleans()), max_size=5)


@given(CONTAINERS, CONTAINERS)
def test_the_request_is_the_largest_moment_of_the_pods_life(
    containers: list[tuple[int, bool]], init: list[tuple[int, bool]]
) -> None:
    """Counted moment by moment: each init container with the sidecars before it, then everything that stays."""
    moments = []
    running = 0
    for amount, always in init:
        moments.append(running + amount)
        running += amount * always
    moments.append(running + sum(amount for amount, _ in containers))
    found = pod_resources(
        {
            "containers": [container(f"c{i}", cpu=f"{amount}m") for i, (amount, _) in enumerate(containers)],
            "initContainers": [
                container(f"i{i}", always=always, cpu=f"{amount}m") for i, (amount, always) in enumerate(init)
            ],
        }
    )
    assert found.requests.cpu == max(moments)


# ---------------------------------------------------------------------- amounts


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        (CPU, 250, "250m"),
        (CPU, 3000, "3"),
        (MEMORY, 2**30, "1Gi"),
        (MEMORY, 2**30 + 1, "1.1Gi"),
        (MEMORY, 3 * 2**29, "1.5Gi"),
        (EPHEMERAL, 10 * 2**20, "10Mi"),
        (MEMORY, 512, "512"),
        ("example.com/gpu", 3, "3"),
    ],
)
def test_amounts_are_written_as_people_do(name: str, value: int, text: str) -> None:
    assert amount_text(name, value) == text
