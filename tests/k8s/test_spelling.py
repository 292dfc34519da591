import pytest

from kubewasp.k8s.spelling import did_you_mean, nearest


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("containres", "containers"),
        ("Containers", "containers"),
        ("nmae", "name"),
        ("affin", "affinity"),
        ("colour", ""),
        ("aff", ""),
        ("", ""),
        ("x" * 10_000, ""),
    ],
)
def test_a_close_or_shortened_name_is_found(name: str, meant: str) -> None:
    assert nearest(name, ("name", "containers", "affinity", "volumes")) == meant


def test_swapped_letters_of_a_short_name_are_found() -> None:
    assert nearest("Pdo", ("Pod", "Node")) == "Pod"


def test_a_start_of_several_names_means_none_of_them() -> None:
    assert nearest("pref", ("preferenceOfNodes", "preferencesOfPods")) == ""


def test_the_question_ends_a_text() -> None:
    assert f"a: unknown field{did_you_mean('b')}" == 'a: unknown field; did you mean "b"?'
    assert did_you_mean("") == ""
