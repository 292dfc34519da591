from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kubewasp.wasi.capabilities import Capabilities, CapabilityError, Preopen

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "host", "guest", "read_only"),
    [
        ("data", "data", "data", False),
        ("/data:ro", "/data", "/data", True),
        ("data:/in", "data", "/in", False),
        ("data:/in:ro", "data", "/in", True),
        (".", ".", ".", False),
        ("ro", "ro", "ro", False),
        ("ro:ro", "ro", "ro", True),
        (r"a\:b", "a:b", "a:b", False),
        (r"a\:b:c\:d:ro", "a:b", "c:d", True),
        (r"a\\:b", "a\\", "b", False),
        ("../up", "../up", "../up", False),
    ],
)
def test_a_directory_is_read_from_its_text_and_written_back(text: str, host: str, guest: str, read_only: bool) -> None:
    found = Preopen.parse(text)
    assert found == Preopen(host, guest, read_only)
    assert Preopen.parse(str(found)) == found


@pytest.mark.parametrize("text", ["", ":", ":/in", "data:", "data::ro", "a:b:c", "a:b:c:ro", ":ro", "a\\"])
def test_a_text_that_is_no_directory_says_what_is_expected(text: str) -> None:
    with pytest.raises(CapabilityError, match=r"expected HOST\[:GUEST\]\[:ro\]"):
        Preopen.parse(text)


def granted(*texts: str) -> Capabilities:
    return Capabilities(preopens=tuple(Preopen.parse(text) for text in texts))


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CapabilityError, match=f"--dir {tmp_path}/none:ro: {tmp_path}/none: No such file or directory"):
        granted(f"{tmp_path}/none:ro")


def test_a_file_is_no_directory_and_the_one_that_holds_it_is_offered(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CapabilityError, match=f"is not a directory; grant its parent: --dir {tmp_path}:ro"):
        granted(f"{tmp_path}/file:ro")


@pytest.mark.parametrize(
    ("first", "second"), [("/in", "/in"), ("/in", "in"), ("in", "./in/"), (".", "/"), ("a/b", "a//b")]
)
def test_two_directories_cannot_have_one_name(tmp_path: Path, first: str, second: str) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with pytest.raises(CapabilityError, match="in the program; rename one of them"):
        granted(f"{tmp_path}/one:{first}", f"{tmp_path}/two:{second}")


def test_what_can_be_written_through_another_grant_is_not_called_read_only(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    with pytest.raises(CapabilityError, match="writable through"):
        granted(f"{tmp_path}:/all", f"{tmp_path}/inner:/inner:ro")
    granted(f"{tmp_path}:/all:ro", f"{tmp_path}/inner:/inner")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"memory": 1}, "--memory: expected a size from 64Ki to 4Gi, got 1 bytes"),
        ({"stack": 1}, "--stack: expected a size"),
        ({"timeout": 0}, "--timeout: expected a duration"),
        ({"timeout": float("inf")}, "--timeout: expected a duration, got inf"),
        ({"timeout": float("nan")}, "--timeout: expected a duration"),
        ({"fuel": 0}, "--fuel: expected a number"),
        ({"environment": {"": "x"}}, "expected NAME=VALUE"),
        ({"environment": {"A=B": "x"}}, "expected NAME=VALUE"),
        ({"environment": {"A": "x\0y"}}, "without NUL"),
        ({"arguments": ("a\0b",)}, "NUL character in"),
        ({"preopens": (Preopen("a\0b", "a"),)}, "NUL character in"),
    ],
)
def test_a_bound_or_a_value_that_makes_no_sense_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(CapabilityError, match=message):
        Capabilities(**settings)
