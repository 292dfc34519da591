"""Reasons of pending pods without numbers of nodes."""

import pytest

from kubewasp.lab.experiments.pending_reasons import NO_ATTEMPT, reason_of

AVAILABLE = "nodes are available: "


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (f"0/3 {AVAILABLE}3 Insufficient cpu.", "Insufficient cpu"),
        (f"0/3 {AVAILABLE}3 Insufficient nvidia.com/gpu. preemption: 0/3 nodes …", "Insufficient nvidia.com/gpu"),
        (f"0/30 {AVAILABLE}2 Insufficient memory, 28 Insufficient cpu.", "Insufficient cpu, Insufficient memory"),
        (f"0/30 {AVAILABLE}28 Insufficient cpu, 2 Insufficient memory.", "Insufficient cpu, Insufficient memory"),
        ("waiting on Permit for node a", "waiting on Permit for node a"),
        ("plugin failed\nstack", "plugin failed"),
        ("", NO_ATTEMPT),
    ],
)
def test_a_reason_has_no_numbers_of_nodes(message: str, reason: str) -> None:
    assert reason_of(message) == reason


def test_a_long_message_is_cut() -> None:
    assert len(reason_of("x" * 100_000)) < 400
