"""Pending pods by reason: largest group first, oldest pod first, without pods that wait on Permit."""

from kubewasp.console.picture import ACTIVE, BACKOFF, GATED, UNSCHEDULABLE, WAITING, Picture, QueueEntry
from kubewasp.console.views.pending_groups import pending, pending_group, pending_groups
from kubewasp.k8s.pods import PodParser, placed_on
from tests.simulation.simulating import pod

PARSER = PodParser()
CPU = "0/3 nodes are available: 3 Insufficient cpu."


def pictured(*entries: tuple[str, str, str]) -> Picture:
    """Pods by name, part and message; each later than the one before."""
    pods, queue = {}, {}
    for since, (name, part, message) in enumerate(entries):
        made = PARSER.parse(pod(name))
        made = placed_on(made, "a") if part == WAITING else made
        pods[made.key] = made
        if part:
            queue[made.key] = QueueEntry(made, part, float(-since), message=message, plugins=("Fit",))
    return Picture(0.0, {}, pods, queue)


def test_groups_by_reason() -> None:
    picture = pictured(
        ("one", UNSCHEDULABLE, CPU),
        ("two", BACKOFF, "0/9 nodes are available: 9 Insufficient cpu."),
        ("new", ACTIVE, ""),
        ("gated", GATED, "gated by SchedulingGates: later"),
        ("waiting", WAITING, "waits"),
        ("foreign", "", ""),
    )
    assert [(group.reason, [entry.pod.name for entry in group.entries]) for group in pending_groups(picture)] == [
        ("Insufficient cpu", ["two", "one"]),
        ("no scheduling attempt", ["new"]),
        ("gated by SchedulingGates: later", ["gated"]),
        ("no profile has the schedulerName default-scheduler", ["foreign"]),
    ]


def test_a_group_opens_into_its_pods() -> None:
    picture = pictured(*((f"p{number}", UNSCHEDULABLE, CPU) for number in range(5)))
    (group,) = pending(picture, None, 0, 100)["groups"]
    assert (group["pods"], group["oldest"]["pod"], group["plugins"]) == (5, "default/p4", ["Fit"])
    opened = pending_group(picture, None, group["id"], 1, 2)
    assert opened is not None
    assert [item["key"] for item in opened["pods"]] == ["default/p3", "default/p2"]
    assert (opened["total"], opened["next"]) == (5, "3")
    assert pending_group(picture, None, "no such group", 0, 10) is None


def test_groups_are_paged() -> None:
    picture = pictured(*((f"p{number}", UNSCHEDULABLE, f"reason {number}") for number in range(5)))
    page = pending(picture, None, 2, 2)
    assert (page["total"], len(page["groups"]), page["next"]) == (5, 2, "4")
