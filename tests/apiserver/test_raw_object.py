"""Objects, list pages and watch frames, read without a full decoding."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.apiserver.raw_object import FrameReader, Page, RawObject, WatchEvent, spans, watch_event
from kubewasp.k8s.codec import decode, encode, wrap_unknown
from kubewasp.k8s.errors import WireError
from tests.apiserver.fake_server import frame, list_answer, pod

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=200)


def test_metadata_is_read_from_the_bytes() -> None:
    data = encode("Pod", pod("a", "7", "ns") | {"status": {"phase": "Running"}})
    item = RawObject(data)
    assert (item.name, item.namespace, item.uid, item.resource_version) == ("a", "ns", "uid-a", "7")
    assert item.key == ("ns", "a")
    assert item.data is data
    assert repr(item) == f"RawObject(ns/a, {len(data)} bytes)"


def test_an_object_without_metadata_has_empty_names() -> None:
    assert RawObject(b"").key == ("", "")


@given(NAMES, NAMES, NAMES, NAMES)
def test_any_metadata_is_read_as_the_codec_reads_it(name: str, namespace: str, uid: str, version: str) -> None:
    metadata = {"name": name, "namespace": namespace, "uid": uid, "resourceVersion": version, "labels": {"a": "b"}}
    item = RawObject(encode("Node", {"metadata": metadata}))
    assert (item.name, item.namespace, item.uid, item.resource_version) == (name, namespace, uid, version)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for read in (lambda: RawObject(data).key, lambda: watch_event(data), lambda: Page(b"k8s\0" + data)):
        with contextlib.suppress(WireError):
            read()


@given(st.binary(max_size=40), st.data())
def test_a_damaged_object_is_read_or_refused(noise: bytes, data: st.DataObject) -> None:
    good = frame("ADDED", pod("a"))[4:]
    at = data.draw(st.integers(0, len(good)))
    damaged = good[:at] + noise + good[data.draw(st.integers(at, len(good))) :]
    with contextlib.suppress(WireError):
        assert RawObject(watch_event(damaged).data).name is not None


@pytest.mark.parametrize("data", [b"\x0a", b"\x0a\x05a", b"\x0a" + b"\xff" * 11, b"\x09a", b"\x0b", b"\x08\xff"])
def test_fields_that_are_cut_off_or_unknown_are_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        list(spans(data, 0, len(data)))


def test_fields_of_other_types_are_passed_over() -> None:
    data = b"\x08\x96\x01" + b"\x11" + b"8" * 8 + b"\x1d" + b"4" * 4 + b"\x22\x02ab"
    assert [(number, data[start:end]) for number, start, end in spans(data, 0, len(data))] == [(4, b"ab")]


def test_a_page_has_items_version_and_token() -> None:
    page = Page(list_answer([pod("a"), pod("b")], "10", more="t").body)
    assert [item.name for item in page.items] == ["a", "b"]
    assert (page.resource_version, page.continue_token) == ("10", "t")
    assert decode("Pod", page.items[0].data) == pod("a")


def test_something_else_is_not_taken_for_a_list() -> None:
    with pytest.raises(WireError, match="expected a list, found Pod"):
        Page(wrap_unknown("v1", "Pod", encode("Pod", pod("a"))))


def test_an_event_has_its_type_and_object() -> None:
    assert watch_event(frame("MODIFIED", pod("a"))[4:]) == WatchEvent("MODIFIED", encode("Pod", pod("a")))


def test_an_object_outside_an_envelope_is_refused() -> None:
    with pytest.raises(WireError, match="not a Kubernetes protobuf body"):
        watch_event(b"\x0a\x05ADDED\x12\x04\x0a\x02{}")


@given(st.lists(st.binary(max_size=50), max_size=20), st.lists(st.integers(1, 40), min_size=1, max_size=20))
def test_frames_come_out_as_they_went_in_however_they_are_cut(frames: list[bytes], sizes: list[int]) -> None:
    stream = b"".join(len(content).to_bytes(4, "big") + content for content in frames)
    reader, found, position, turn = FrameReader(), [], 0, 0
    while position < len(stream):
        size = sizes[turn % len(sizes)]
        found += reader.feed(stream[position : position + size])
        position, turn = position + size, turn + 1
    assert found == frames
    assert not reader.is_cut


def test_a_stream_that_ends_within_a_frame_is_known_to_be_cut() -> None:
    reader = FrameReader()
    assert list(reader.feed(b"\0\0\0\x02a")) == []
    assert reader.is_cut


def test_a_frame_that_is_too_long_is_refused_before_it_is_read() -> None:
    with pytest.raises(WireError, match="a frame of 11 bytes in a watch; at most 10 may come"):
        list(FrameReader(10).feed(b"\0\0\0\x0b"))


def test_a_large_frame_in_small_pieces_is_not_copied_over_and_over() -> None:
    """Ten times the length takes ten times the appends; the buffer only ever holds what is not taken yet."""
    reader = FrameReader()
    content = b"x" * 1_000_000
    stream = len(content).to_bytes(4, "big") + content
    found = [out for start in range(0, len(stream), 1000) for out in reader.feed(stream[start : start + 1000])]
    assert found == [content]
    assert not reader.is_cut
