import json
import struct
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.framework.cluster_events import RESOURCES, ClusterEvent, ObjectReference, RecordedEvent
from kubewasp.wasm import payloads
from kubewasp.wasm.payloads import PayloadError

NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=8)
SCORES = st.integers(-(2**63), 2**63 - 1)


def problem(parse: Any, *arguments: Any) -> str:
    with pytest.raises(PayloadError) as caught:
        parse(*arguments)
    return str(caught.value)


# ---------------------------------------------------------------- cluster events


@given(st.lists(st.tuples(st.integers(0, len(RESOURCES) - 1), st.integers(0, 2**32 - 1))))
def test_cluster_events_are_pairs_of_numbers(pairs: list[tuple[int, int]]) -> None:
    encoded = b"".join(struct.pack("<II", *pair) for pair in pairs)
    assert payloads.cluster_events(encoded) == tuple(ClusterEvent(RESOURCES[kind], bits) for kind, bits in pairs)


def test_resources_have_the_numbers_of_the_contract() -> None:
    encoded = b"".join(struct.pack("<II", number, 1) for number in range(11))
    assert [event.resource for event in payloads.cluster_events(encoded)] == [
        "Pod",
        "Node",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "PodSchedulingContext",
        "ResourceClaim",
        "StorageClass",
        "CSINode",
        "CSIDriver",
        "CSIStorageCapacity",
        "*",
    ]


def test_actions_are_bits() -> None:
    (event,) = payloads.cluster_events(struct.pack("<II", 1, 1 | 8))
    assert event.actions == ("Add", "UpdateNodeLabel")


@pytest.mark.parametrize("length", [1, 7, 9])
def test_half_a_cluster_event_is_ignored_with_a_warning(length: int, caplog: pytest.LogCaptureFixture) -> None:
    assert len(payloads.cluster_events(bytes(length))) == length // 8
    assert caplog.messages == ["Incomplete cluster event ignored"]


@pytest.mark.parametrize("resource", [11, 2**32 - 1])
def test_an_unknown_resource_has_no_events_and_gives_a_warning(resource: int, caplog: pytest.LogCaptureFixture) -> None:
    (event,) = payloads.cluster_events(struct.pack("<II", resource, 1))
    assert event == ClusterEvent(f"EventResource({resource})", 1)
    assert caplog.messages == ["Registration for an unknown resource has no effect"]


def test_far_more_cluster_events_than_there_are_are_refused() -> None:
    text = problem(payloads.cluster_events, bytes(8 * 1001))
    assert text == "result.cluster_events: 1001 events are over the limit of 1000"


# ---------------------------------------------------------------- node names


@given(st.lists(NAMES, min_size=1))
def test_node_names_are_ended_by_a_nul(names: list[str]) -> None:
    assert payloads.node_names("".join(f"{name}\0" for name in names).encode(), 0) == tuple(names)


def test_empty_and_unterminated_node_names_are_dropped() -> None:
    assert payloads.node_names(b"node-1\0\0node-2\0node-3", 3) == ("node-1", "node-2")


@pytest.mark.parametrize("payload", [None, b"", b"\0", b"\0\0", b"node-1"])
def test_no_node_names_rule_no_node_out(payload: bytes | None) -> None:
    assert payloads.node_names(payload, 3) is None


def test_a_node_name_that_is_not_utf8_matches_nothing_but_is_no_error() -> None:
    assert payloads.node_names(b"\xff\0", 3) == ("\ufffd",)


def test_far_more_names_than_nodes_are_refused() -> None:
    assert len(payloads.node_names(b"n\0" * 10_003, 3) or ()) == 10_003
    text = problem(payloads.node_names, b"n\0" * 10_004, 3)
    assert text == "result.node_names: more than 10003 names for 3 nodes"


# ---------------------------------------------------------------- normalized scores


@given(st.dictionaries(NAMES, SCORES))
def test_normalized_scores_are_matched_by_name(scores: dict[str, int]) -> None:
    sent = json.dumps(dict(reversed(scores.items()))).encode()
    found = payloads.normalized_scores(sent, dict.fromkeys(scores, 0))
    assert found == scores
    assert list(found) == list(scores)


@pytest.mark.parametrize("payload", [None, b"", b"null", b" null "])
def test_nothing_sent_keeps_the_scores(payload: bytes | None) -> None:
    assert payloads.normalized_scores(payload, {"a": 7}) == {"a": 7}


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b"[]", "expected a JSON object, got a list"),
        (b"7", "expected a JSON object, got a number"),
        (b'"x"', "expected a JSON object, got a string"),
        (b"true", "expected a JSON object, got a boolean"),
        (b"{}", 'the score of node "a" is missing'),
        (b'{"b": 1}', 'there is no node "b" among the scored ones'),
        (b'{"a": 1, "b": 2}', 'there is no node "b" among the scored ones'),
        (b'{"a": 1.5}', 'the score of node "a" is not a 64-bit integer'),
        (b'{"a": 1.0}', 'the score of node "a" is not a 64-bit integer'),
        (b'{"a": true}', 'the score of node "a" is not a 64-bit integer'),
        (b'{"a": null}', 'the score of node "a" is not a 64-bit integer'),
        (b'{"a": "1"}', 'the score of node "a" is not a 64-bit integer'),
        (b'{"a": 9223372036854775808}', 'the score of node "a" is not a 64-bit integer'),
    ],
)
def test_scores_that_do_not_fit_the_nodes_are_refused(payload: bytes, text: str) -> None:
    found = problem(payloads.normalized_scores, payload, {"a": 7})
    assert found == f"result.normalized_score_list: {text}"


@pytest.mark.parametrize("payload", [b'{"a":', b'{"a": NaN}', b'{"a": 1e400}', b"\xff", b'{"a": 1}x', b"[" * 4000])
def test_scores_that_are_not_json_are_refused(payload: bytes) -> None:
    text = problem(payloads.normalized_scores, payload, {"a": 7})
    assert text.startswith("result.normalized_score_list: invalid JSON: ")


def test_scores_are_not_read_if_they_are_far_longer_than_the_nodes_need() -> None:
    scores = {"node-1": 1}
    fitting = b'{"\\u006eode-1": 7}'.ljust(4000)
    assert payloads.normalized_scores(fitting, scores) == {"node-1": 7}
    text = problem(payloads.normalized_scores, fitting + bytes(1000), scores)
    assert text == "result.normalized_score_list: 5000 bytes for 1 nodes are over the limit of 4196"


def test_a_long_name_is_cut_in_the_error() -> None:
    text = problem(payloads.normalized_scores, json.dumps({"x" * 1000: 1}).encode(), {"a": 7})
    assert f'"{"x" * 80}…"' in text
    assert len(text) < 200


@given(st.binary(max_size=40), st.dictionaries(NAMES, SCORES, max_size=3))
def test_any_bytes_give_scores_or_a_payload_error(payload: bytes, scores: dict[str, int]) -> None:
    try:
        found = payloads.normalized_scores(payload, scores)
    except PayloadError:
        return
    assert set(found) == set(scores)


# ---------------------------------------------------------------- events

EVENT = {
    "RegardingReference": {
        "Kind": "Pod",
        "APIVersion": "v1",
        "Name": "pod-1",
        "Namespace": "default",
        "UID": "uid-1",
        "ResourceVersion": "3",
    },
    "RelatedReference": {"Kind": "Node", "Name": "node-1"},
    "Eventtype": "Normal",
    "Reason": "Considered",
    "Action": "Filter",
    "Note": "looked at node-1",
}


def recorded(event: Any) -> RecordedEvent:
    (found,) = payloads.recorded_events([json.dumps(event).encode()])
    return found


def test_an_event_is_read_field_by_field() -> None:
    assert recorded(EVENT) == RecordedEvent(
        regarding=ObjectReference("Pod", "v1", "pod-1", "default", "uid-1", "3"),
        related=ObjectReference("Node", "", "node-1"),
        type="Normal",
        reason="Considered",
        action="Filter",
        note="looked at node-1",
    )


def test_what_an_event_leaves_out_is_empty() -> None:
    nothing = RecordedEvent(ObjectReference(), ObjectReference(), "", "", "", "")
    assert recorded({}) == nothing
    assert recorded(dict.fromkeys(EVENT)) == nothing


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ([], "expected a JSON object, got a list"),
        (None, "expected a JSON object, got null"),
        ({"Reason": 1}, "Reason: expected a string, got a number"),
        ({"Note": {}}, "Note: expected a string, got an object"),
        ({"RegardingReference": "pod-1"}, "RegardingReference: expected a JSON object, got a string"),
        ({"RelatedReference": {"Name": []}}, "RelatedReference: Name: expected a string, got a list"),
    ],
)
def test_an_event_of_another_shape_is_refused(event: Any, text: str) -> None:
    found = problem(payloads.recorded_events, [json.dumps(event).encode()])
    assert found == f"handle.eventrecorder.eventf: {text}"


@given(st.binary(max_size=40))
def test_any_bytes_give_an_event_or_a_payload_error(payload: bytes) -> None:
    with suppress(PayloadError):
        assert len(payloads.recorded_events([payload])) == 1
