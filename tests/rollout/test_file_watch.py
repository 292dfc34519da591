"""Watch of files: replaced, rewritten and linked ones, and files that come and go."""

import os
from pathlib import Path

from kubewasp.rollout.file_watch import FileWatch


def watch(*paths: Path) -> FileWatch:
    found = FileWatch()
    found.follow(map(str, paths))
    return found


def test_an_untouched_file_has_not_changed(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("one")
    assert watch(file).changed() == []


def test_a_replaced_file_has_changed_once(tmp_path: Path) -> None:
    file, fresh = tmp_path / "file", tmp_path / "fresh"
    file.write_text("one")
    found = watch(file)
    fresh.write_text("two")
    fresh.replace(file)
    assert found.changed() == [str(file)]
    assert found.changed() == []


def test_a_file_with_the_same_content_has_not_changed(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("one")
    found = watch(file)
    os.utime(file, ns=(1, 1))
    assert found.changed() == []


def test_a_link_to_another_folder_has_changed(tmp_path: Path) -> None:
    """As in a mounted ConfigMap: file -> ..data/file, ..data -> folder of the version."""
    for version in ("1", "2"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "file").write_text(f"version {version}")
    (tmp_path / "..data").symlink_to("1")
    (tmp_path / "file").symlink_to("..data/file")
    found = watch(tmp_path / "file")
    (tmp_path / "next").symlink_to("2")
    (tmp_path / "next").replace(tmp_path / "..data")
    assert found.changed() == [str(tmp_path / "file")]


def test_a_missing_file_is_unchanged_until_it_is_back(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("one")
    found = watch(file)
    file.unlink()
    assert found.changed() == []
    file.write_text("one")
    assert found.changed() == []
    file.write_text("two")
    assert found.changed() == [str(file)]


def test_a_file_that_appears_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "file"
    found = watch(file)
    assert found.changed() == []
    file.write_text("one")
    assert found.changed() == [str(file)]


def test_only_the_files_that_are_followed_are_looked_at(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for file in (one, two):
        file.write_text("1")
    found = watch(one)
    found.follow([str(two)])
    one.write_text("22")
    two.write_text("22")
    assert found.changed() == [str(two)]


def test_a_folder_in_place_of_a_file_is_no_change(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert watch(tmp_path / "folder").changed() == []
