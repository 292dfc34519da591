"""Events of guests: subjects, lengths, rate."""

import logging
from dataclasses import replace

import pytest

from kubewasp.framework.cluster_events import ObjectReference, RecordedEvent
from kubewasp.wasm import event_policy
from kubewasp.wasm.event_policy import EventPolicy
from tests import samples
from tests.wasm.fakes import FakeClock

NODES = samples.nodes(2)
POD = ObjectReference("Pod", "v1", "pod-1", "default")
EVENT = RecordedEvent(POD, ObjectReference(), "Normal", "Considered", "Filter", "fine")


def permitted(
    *events: RecordedEvent, policy: EventPolicy | None = None, clock: FakeClock | None = None
) -> list[RecordedEvent]:
    made = policy or EventPolicy("policy")
    return list(made.permitted(events, [samples.pod()], NODES, clock or FakeClock()))


def test_its_pod_and_nodes_are_subjects_with_their_own_uid() -> None:
    [event] = permitted(replace(EVENT, regarding=replace(POD, uid="another", resource_version="9")))
    assert event.regarding == ObjectReference("Pod", "v1", "pod-1", "default", "uid of pod-1")
    [event] = permitted(replace(EVENT, regarding=ObjectReference("Node", "v1", "node-2", "kube-system", "x")))
    assert event.regarding == ObjectReference("Node", "v1", "node-2")


@pytest.mark.parametrize(
    "regarding",
    [
        ObjectReference(),
        ObjectReference("Pod", "v1", "pod-2", "default"),
        ObjectReference("Pod", "v1", "pod-1", "kube-system"),
        ObjectReference("Node", "v1", "node-9"),
        ObjectReference("Secret", "v1", "pod-1", "default"),
        ObjectReference("", "", "pod-1", "default"),
    ],
)
def test_other_objects_are_no_subjects(regarding: ObjectReference) -> None:
    assert permitted(replace(EVENT, regarding=regarding)) == []


def test_a_related_object_is_the_pod_or_a_node_or_none() -> None:
    node, secret = ObjectReference("Node", "v1", "node-1"), ObjectReference("Secret", "v1", "token", "kube-system")
    first, second = permitted(replace(EVENT, related=node), replace(EVENT, related=secret))
    assert (first.related, second.related) == (node, ObjectReference())


def test_texts_are_cut_to_what_the_api_server_takes() -> None:
    [event] = permitted(replace(EVENT, note="é" * 15_000_000, reason="r" * 200, action="a" * 200, type="t" * 99))
    sizes = [len(text.encode()) for text in (event.note, event.reason, event.action, event.type)]
    assert sizes == [1024, 128, 128, 16]
    assert event.note.endswith("é ...")
    assert permitted(replace(EVENT, note="n" * 1024)) == [
        replace(EVENT, note="n" * 1024, regarding=replace(POD, uid="uid of pod-1"))
    ]


def test_an_event_needs_a_reason_and_an_action() -> None:
    assert permitted(replace(EVENT, reason=""), replace(EVENT, action="")) == []


def test_the_rate_is_limited_and_recovers() -> None:
    policy, clock = EventPolicy("policy"), FakeClock()
    many = [EVENT] * (event_policy.BURST + 50)
    assert len(permitted(*many, policy=policy, clock=clock)) == event_policy.BURST
    clock.seconds += 0.5
    assert len(permitted(*many, policy=policy, clock=clock)) == event_policy.RATE / 2


def test_what_is_left_out_is_counted_in_the_log_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    policy, clock = EventPolicy("policy"), FakeClock()
    wrong = replace(EVENT, regarding=ObjectReference("Secret", "v1", "token", "kube-system"))
    with caplog.at_level(logging.WARNING):
        permitted(*[wrong] * 40, policy=policy, clock=clock)
        clock.seconds += 61
        permitted(wrong, policy=policy, clock=clock)
    assert [record.count for record in caplog.records] == [1, 40]  # type: ignore[attr-defined]
