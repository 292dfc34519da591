from pathlib import Path

import pytest

from kubewasp.framework.config.guest_urls import in_folder, local_path


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("p.wasm", "p.wasm"),
        ("/etc/p.wasm", "/etc/p.wasm"),
        ("file:///etc/p.wasm", "/etc/p.wasm"),
        ("file://guests/p.wasm", "guests/p.wasm"),
        ("file:/etc/p.wasm", "/etc/p.wasm"),
        ("FILE:guests/a%20b.wasm", "guests/a b.wasm"),
        ("a:b.wasm", "a:b.wasm"),
        ("https://policies.example/p.wasm", None),
        ("ftp://policies.example/p.wasm", None),
    ],
)
def test_a_local_guest_has_a_path(url: str, path: str | None) -> None:
    assert local_path(url) == path


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("p.wasm", "/etc/a b/p.wasm"),
        ("../p.wasm", "/etc/a b/../p.wasm"),
        ("file://p.wasm", "file:///etc/a%20b/p.wasm"),
        ("file:p%2Cq.wasm", "file:///etc/a%20b/p%2Cq.wasm"),
    ],
)
def test_a_relative_guest_starts_at_the_folder(url: str, found: str) -> None:
    assert in_folder(url, Path("/etc/a b")) == found
    assert local_path(found) == str(Path("/etc/a b") / (local_path(url) or ""))


@pytest.mark.parametrize("url", ["", "/etc/p.wasm", "file:///etc/p%20q.wasm", "https://policies.example/p.wasm"])
def test_other_guests_stay_as_they_are(url: str) -> None:
    assert in_folder(url, Path("/srv")) == url


def test_the_path_is_absolute_although_the_folder_is_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert in_folder("p.wasm", Path("configs")) == str(tmp_path / "configs" / "p.wasm")
