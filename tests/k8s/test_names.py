import pytest

from kubewasp.k8s.names import name_problems, value_problems

WORD = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@pytest.mark.parametrize("name", ["a", "A-b_c.d", "example.com/gpu", "a" * 63, f"{'a.' * 126}a/x"])
def test_names(name: str) -> None:
    assert name_problems(name) == []


@pytest.mark.parametrize(
    ("name", "problems"),
    [
        ("", ["name part must be non-empty", f"name part {WORD}"]),
        ("a/", ["name part must be non-empty", f"name part {WORD}"]),
        ("/a", ["prefix part must be non-empty"]),
        ("-a", [f"name part {WORD}"]),
        ("a\n", [f"name part {WORD}"]),
        ("a" * 64, ["name part must be no more than 63 bytes"]),
        (f"{'a' * 254}/x", ["prefix part must be no more than 253 bytes"]),
        (
            "a/b/c",
            [f"a qualified name {WORD} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"],
        ),
    ],
)
def test_what_is_no_name(name: str, problems: list[str]) -> None:
    assert name_problems(name) == problems


def test_a_prefix_is_a_subdomain() -> None:
    [problem] = name_problems("Example.com/a")
    assert problem.startswith("prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric ")


@pytest.mark.parametrize("value", ["", "a", "1_2.3-x", "a" * 63])
def test_values(value: str) -> None:
    assert value_problems(value) == []


def test_what_is_no_value() -> None:
    assert value_problems("a" * 64) == ["must be no more than 63 bytes"]
    assert value_problems("-") == [
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
        "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
        "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    ]
