import pytest

from kubewasp.k8s.errors import ManifestError, shown


def test_error_names_source_path_and_problem() -> None:
    error = ManifestError("spec.replicas", "expected an integer")
    assert str(error) == "spec.replicas: expected an integer"
    assert str(error.at("pods.yaml: document 2")) == "pods.yaml: document 2: spec.replicas: expected an integer"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"), (True, "true"), (1, "1"), (1.5, "1.5"), ("a", '"a"'), ('say "é"', r'"say \"é\""'),
        ("\ud800\n", r'"\ud800\n"'), ([1], "a list"), ({"a": 1}, "an object"), ({1}, "a Python set"),
        (10**500, "a very large integer"), ("x" * 100, '"' + "x" * 39 + '…"'),
    ],
)  # fmt: skip
def test_values_are_shown_short_and_printable(value: object, text: str) -> None:
    assert shown(value) == text
