"""Bounded texts."""

from hypothesis import given
from hypothesis import strategies as st

from kubewasp.k8s.texts import shortened, without_middle


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=60), st.integers(8, 64))
def test_a_text_is_whole_or_a_beginning_that_fits(text: str, size: int) -> None:
    found = shortened(text, size)
    assert len(found.encode()) <= size
    if found != text:
        assert len(text.encode()) > size
        assert text.startswith(found.removesuffix(" ..."))


def test_half_a_surrogate_pair_is_no_error() -> None:
    assert shortened("\ud800" * 100, 10) == "?????? ..."


def test_a_long_text_keeps_its_begin_and_its_end() -> None:
    assert without_middle("0123456789", 10) == "0123456789"
    assert without_middle("0123456789a", 10) == "01234…789a"
    assert len(without_middle("x" * 5000, 999)) == 999
