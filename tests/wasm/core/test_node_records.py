"""Numbers of resource names: bounded, and freed with the guests that use them."""

import pytest

from kubewasp.wasm.core.node_records import GuestResources, ResourceIds, TooManyResourcesError
from tests.wasm.probing import encoded_pod, load, resource
from tests.wasm.test_extension import two_nodes


def test_a_number_is_free_again_after_the_last_guest_that_used_its_name() -> None:
    ids = ResourceIds()
    one, other = GuestResources(ids), GuestResources(ids)
    assert (one.number("a/a"), other.number("a/a"), one.number("b/b")) == ((4, True), (4, False), (5, True))
    del one
    assert other.number("c/c") == (5, True), "the place of b/b, which no guest uses"
    assert other.number("a/a") == (4, False), "still in use"
    del other
    last = GuestResources(ids)
    assert [last.number(name)[0] for name in ("x/x", "y/y", "z/z")] == [4, 5, 6]
    assert ids.names == ["cpu", "memory", "ephemeral-storage", "pods", "x/x", "y/y", "z/z"]


def test_guests_that_come_and_go_never_use_up_the_numbers() -> None:
    ids = ResourceIds()
    for guest in range(100):
        resources = GuestResources(ids)
        for number in range(64):
            resources.number(f"{guest}/{number}")
        del resources
    assert len(ids.names) == 4 + 64


def test_guests_that_stay_share_the_numbers() -> None:
    ids = ResourceIds()
    guests = [GuestResources(ids) for _ in range(16)]
    names = [(resources, f"{guest}/{number}") for guest, resources in enumerate(guests) for number in range(64)]
    for resources, name in names[:1020]:
        resources.number(name)
    with pytest.raises(TooManyResourcesError, match="more than 1024 names"):
        guests[-1].number("one/more")


def test_the_name_of_a_resource_has_at_most_317_bytes() -> None:
    """Names of 16 MB each were kept for ever."""
    guest = load()
    with guest.cycle(encoded_pod("pod-1"), two_nodes()) as cycle:
        assert resource(cycle, "a" * 317) >= 4
    too_long = pytest.raises(AssertionError, match="resource: 318 bytes are over the limit of 317")
    with guest.cycle(encoded_pod("pod-1"), two_nodes()) as cycle, too_long:
        resource(cycle, "a" * 318)
