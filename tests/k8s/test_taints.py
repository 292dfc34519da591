"""Taints and tolerations."""

import pytest

from kubewasp.k8s.taints import (
    NO_EXECUTE,
    NO_SCHEDULE,
    PREFER_NO_SCHEDULE,
    UNSCHEDULABLE,
    Taint,
    Toleration,
    is_tolerated,
    parse_taints,
    parse_tolerations,
    untolerated,
)

TAINT = Taint("key", "5", NO_SCHEDULE)


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (Toleration("key", "", "5", NO_SCHEDULE), True),
        (Toleration("key", "Equal", "5", NO_SCHEDULE), True),
        (Toleration("key", "Equal", "6", NO_SCHEDULE), False),
        (Toleration("key", "Equal"), False),
        (Toleration("other", "Equal", "5"), False),
        (Toleration("key", "Exists"), True),
        (Toleration("key", "Exists", effect=NO_EXECUTE), False),
        (Toleration("key", "Exists", effect=NO_SCHEDULE), True),
        (Toleration("other", "Exists"), False),
        (Toleration("", "Exists"), True),
        (Toleration("", "Exists", effect=PREFER_NO_SCHEDULE), False),
        (Toleration("", "", "5"), True),
        # Behind an alpha gate that is off.
        (Toleration("key", "Lt", "6"), False),
        (Toleration("key", "Gt", "4"), False),
    ],
)
def test_tolerations(toleration: Toleration, tolerated: bool) -> None:
    assert toleration.tolerates(TAINT) is tolerated
    assert is_tolerated(TAINT, [Toleration("nothing"), toleration]) is tolerated


def test_the_first_taint_that_forbids_scheduling_and_is_not_tolerated() -> None:
    soft, first, second = Taint("a", "", PREFER_NO_SCHEDULE), Taint("b", "", NO_EXECUTE), Taint("c", "", NO_SCHEDULE)
    assert untolerated([soft, first, second], ()) == first
    assert untolerated([soft, first, second], [Toleration("b", "Exists")]) == second
    assert untolerated([soft, first, second], [Toleration("", "Exists")]) is None
    assert untolerated([soft], ()) is None


def test_what_is_left_out_is_empty() -> None:
    assert parse_taints([{"key": "a", "effect": NO_SCHEDULE}]) == (Taint("a", "", NO_SCHEDULE),)
    assert parse_tolerations([{"operator": "Exists", "tolerationSeconds": 3}]) == (Toleration("", "Exists"),)
    assert parse_taints(None) == parse_tolerations(None) == ()


def test_a_cordon_is_a_taint() -> None:
    assert Taint("node.kubernetes.io/unschedulable", "", NO_SCHEDULE) == UNSCHEDULABLE
