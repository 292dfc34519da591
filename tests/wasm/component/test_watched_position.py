"""Published positions of components: parsed defensively, bounded."""

import pytest

from kubewasp.wasm.component.watched_position import Position, PublishedPosition


def last(*written: bytes) -> Position:
    published = PublishedPosition()
    for content in written:
        published(content)
    return published.last()


def test_the_last_complete_line_is_the_position() -> None:
    first = b'{"file": "a.py", "line": 1, "function": "f", "node": "n-1"}\n'
    second = b'{"file": "plugin.py", "line": 12, "function": "slow", "node": "n-17"}\n'
    assert last(first, second) == Position("n-17", "slow (plugin.py:12)")
    assert last(first, second[:30], second[30:], b'{"fi') == Position("n-17", "slow (plugin.py:12)")


@pytest.mark.parametrize(
    "written", [b"", b"\n", b"[1]\n", b"not json\n", b"\xff\n", b'{"file": 5}\n', b"x" * 100_000 + b"\n"]
)
def test_anything_else_is_no_position(written: bytes) -> None:
    assert last(written) == Position()


def test_what_a_guest_writes_is_cleaned_and_cut() -> None:
    found = last(b'{"file": "a.py", "line": 1, "function": "f\\u001b[31m", "node": "' + b"n" * 1000 + b'"}\n')
    assert found.function == "f[31m (a.py:1)"
    assert len(found.node) == 120


def test_a_new_call_has_no_position_yet() -> None:
    published = PublishedPosition()
    published(b'{"file": "a.py", "line": 1, "function": "f"}\n')
    published.clear()
    assert published.last() == Position()
