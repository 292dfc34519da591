"""Entries: what is encoded is decoded, and other bytes are an error."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.framework.status import Code, Status
from kubewasp.live.recording.entries import (
    EntryError,
    EntryKind,
    attempt_document,
    decode_entries,
    encode_entry,
    read_status,
    status_document,
)
from kubewasp.scheduler.attempt import Attempt
from tests.plugins.building import make_pod

TIMES = st.floats(0, 2e9)
BODIES = st.none() | st.dictionaries(st.text(), st.integers(-(2**53), 2**53) | st.text() | st.booleans(), min_size=1)


@given(st.lists(st.tuples(st.sampled_from(EntryKind), TIMES, TIMES, BODIES, st.lists(st.binary()))))
def test_entries_are_decoded_as_they_were_encoded(entries: list[Any]) -> None:
    content = b"".join(encode_entry(*entry) for entry in entries)
    assert [tuple(entry) for entry in decode_entries(content)] == entries


@given(st.binary(max_size=300))
def test_other_bytes_are_an_entry_error_at_most(content: bytes) -> None:
    with contextlib.suppress(EntryError):
        list(decode_entries(content))


def test_an_entry_that_claims_more_than_its_frame_is_an_error() -> None:
    content = encode_entry(EntryKind.CHANGED, 1.0, 2.0, {"kind": "Pod"}, [b"object"])
    with pytest.raises(EntryError, match="longer than its frame"):
        list(decode_entries(content[:-1]))


def test_a_status_is_read_as_it_was_written() -> None:
    status = Status(Code.UNSCHEDULABLE, ("one", "two"), "plugin")
    assert read_status(status_document(status)) == status


def test_an_outcome_has_what_was_decided_and_nothing_else() -> None:
    pod, victim = make_pod("web"), make_pod("victim")
    bound = attempt_document(Attempt(pod, node="n1", is_binding=True, feasible=3, score=250), 2, frozenset())
    assert bound == {
        "uid": pod.uid,
        "pod": pod.key,
        "node": "n1",
        "binding": True,
        "feasible": 3,
        "score": 250,
        "attempt": 2,
    }
    attempt = Attempt(pod, message="0/3 nodes", nominated_node="n2", victims=(victim,))
    assert attempt_document(attempt, 1, frozenset({"b", "a"})) == {
        "uid": pod.uid,
        "pod": pod.key,
        "message": "0/3 nodes",
        "nominated": "n2",
        "victims": [[victim.key, victim.uid]],
        "attempt": 1,
        "rejected_by": ["a", "b"],
    }
