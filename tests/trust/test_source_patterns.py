from pathlib import Path

import pytest

from kubewasp.trust.source_patterns import SourcePattern, canonical_source, pattern_problem


@pytest.mark.parametrize(
    ("pattern", "source", "expected"),
    [
        ("oci://host/policies/", "oci://host/policies/a:1", True),
        ("oci://host/policies", "oci://host/policies/a:1", True),
        ("oci://host/policies", "oci://host/policies:1", True),
        ("oci://host/policies", "oci://host/policies@sha256:" + "0" * 64, True),
        ("oci://host/policies", "oci://host/policies-of-others/a:1", False),
        ("oci://host/policies/", "oci://host/policies", False),
        ("oci://host", "oci://host:5000/a", True),
        ("oci://host", "oci://host.example.com/a", False),
        ("oci://host:5000/", "oci://host:5000/a", True),
        ("oci://host/*/a", "oci://host/team/a:1", True),
        ("oci://host/*/a", "oci://host/team/other/a:1", False),
        ("oci://host/*/a", "oci://host/team/ab:1", False),
        ("https://*.example.com/", "https://policies.example.com/x.wasm", True),
        ("https://*.example.com/", "https://policies.example.com.evil.org/x.wasm", False),
        ("https://*.example.com/", "https://evil.org/.example.com/x.wasm", False),
        ("https://example.com/", "https://user:password@example.com/x.wasm?token=1", True),
        ("https://example.com/", "https://example.com@evil.org/x.wasm", False),
        ("https://example.com/", "http://example.com/x.wasm", False),
        ("HTTPS://Example.com/", "https://EXAMPLE.com/x.wasm", True),
        ("https://example.com/a", "https://example.com/A/x.wasm", False),
        ("https://example.com/a/", "https://example.com/a/../b/x.wasm", False),
        ("https://example.com/a/", "https://example.com/a/%2E%2e/b/x.wasm", False),
        ("https://example.com/a/", "https://example.com/b/.././a/.x.wasm", True),
        ("https://example.com/team-a/", "https://example.com/team%2Da/x.wasm", True),
        ("file:///policies/", "/policies/x.wasm", True),
        ("/policies/", "file:///policies/x.wasm", True),
        ("/policies/", "file:///policies/../tmp/x.wasm", False),
        ("/policies/", "file:///policies%2f..%2ftmp/x.wasm", False),
        ("/policies/x.wasm", "/policies/x.wasm", True),
        ("/policies/x.wasm", "/policies/x.wasm.gz", False),
        ("/", "/policies/x.wasm", True),
        ("oci://", "oci://host/a", True),
        ("oci://", "https://host/a", False),
        ("-", "-", True),
        ("/", "-", False),
    ],
)
def test_a_pattern_ends_at_the_end_of_a_part_of_the_address(pattern: str, source: str, expected: bool) -> None:
    assert SourcePattern(pattern).matches(source) is expected


def test_a_relative_path_starts_at_the_working_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert canonical_source("x.wasm") == f"file://{tmp_path}/x.wasm"
    assert SourcePattern(f"{tmp_path}/").matches("x.wasm")


def test_the_pattern_with_more_literal_characters_is_more_specific() -> None:
    patterns = [SourcePattern(text) for text in ("oci://", "oci://host/*/policy", "oci://host/team", "oci://host/")]
    ordered = sorted(patterns, key=lambda pattern: pattern.specificity)
    assert [item.text for item in ordered] == ["oci://", "oci://host/", "oci://host/team", "oci://host/*/policy"]


@pytest.mark.parametrize("text", ["", "host/policies", "oci://host/**", "a" * 1001])
def test_other_texts_are_no_patterns(text: str) -> None:
    assert pattern_problem(text)


@pytest.mark.parametrize("text", ["oci://host/", "https://*.example.com/", "/policies", "file:///policies", "-"])
def test_usual_patterns_have_no_problem(text: str) -> None:
    assert pattern_problem(text) == ""
