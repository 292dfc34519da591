"""Annotations: keys and sizes as Kubernetes checks them, and the protobuf form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.k8s.annotations import LONGEST_KEY, MOST_ANNOTATION_BYTES, key_problem, size_problem
from kubewasp.k8s.codec import decode, encode
from kubewasp.k8s.pods import PodParser, annotated

TEXTS = st.dictionaries(st.text(max_size=20), st.text(max_size=200), max_size=5)


@pytest.mark.parametrize("key", ["gpu", "example.com/gpu", "Example.com/GPU", "a.b/c_d-e", f"{'a' * 63}"])
def test_qualified_names_of_any_case_are_keys(key: str) -> None:
    assert key_problem(key) == ""


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("", "name part must be non-empty"),
        ("a/b/c", "a qualified name must consist of alphanumeric characters"),
        ("/b", "prefix part must be non-empty"),
        ("a b", "name part must consist of alphanumeric characters"),
        ("a" * 64, "name part must be no more than 63 bytes"),
        ("a" * (LONGEST_KEY + 1), f"a key of {LONGEST_KEY + 1} characters is over the limit of {LONGEST_KEY}"),
    ],
)
def test_other_texts_are_not(key: str, problem: str) -> None:
    assert problem in key_problem(key)
    assert len(key_problem(key)) < 500


def test_the_total_size_counts_bytes_of_keys_and_values() -> None:
    fits = {"ä": "x" * (MOST_ANNOTATION_BYTES - 2)}
    assert size_problem(fits) == ""
    assert size_problem({"ä": fits["ä"] + "x"}) == "annotations size 262145 is larger than limit 262144"


@given(TEXTS, TEXTS)
def test_an_annotated_pod_has_its_own_annotations_and_the_new_ones(own: dict[str, str], new: dict[str, str]) -> None:
    manifest = {"metadata": {"name": "web", "annotations": own}}
    pod = annotated(PodParser().parse(manifest, encode("Pod", manifest)), new)
    metadata = decode("Pod", pod.encoded)["metadata"]
    assert (metadata["name"], metadata.get("annotations") or {}) == ("web", {**own, **new})
