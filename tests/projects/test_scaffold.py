"""New projects: files, names, and untouched existing files."""

from pathlib import Path

import pytest

from kubewasp.projects import scaffold
from kubewasp.projects.toolchain import BuildError

LANGUAGES = ("go", "python", "rust")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_project_has_all_it_needs(tmp_path: Path, language: str) -> None:
    folder = tmp_path / "pack-gpus"
    made = {str(path) for path in scaffold.create(folder, "pack-gpus", language)}
    assert made >= {".gitignore", "README.md", "cluster.yaml", "tests/scenarios.yaml"}
    assert made == {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    for path in made:
        assert scaffold.PLACEHOLDER not in (folder / path).read_text(), path
    assert "pack-gpus" in (folder / "README.md").read_text()


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    scaffold.create(tmp_path, "policy", "python")
    assert (tmp_path / "README.md").exists()


def test_a_folder_with_anything_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".keep").write_text("mine")
    with pytest.raises(BuildError, match="already exists and is not an empty folder; nothing was changed"):
        scaffold.create(tmp_path, "policy", "go")
    assert [path.name for path in tmp_path.iterdir()] == [".keep"]
    with pytest.raises(BuildError, match="already exists"):
        scaffold.create(tmp_path / ".keep", "policy", "go")
    assert (tmp_path / ".keep").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Pack", "lower-case letters"),
        ("pack_gpus", "lower-case letters"),
        ("9lives", "lower-case letters"),
        ("-x", "lower-case letters"),
        ("x-", "lower-case letters"),
        ("", "lower-case letters"),
        ("../x", "lower-case letters"),
        ("a/b", "lower-case letters"),
        ("x\n", "lower-case letters"),
        ("a" * 64, "at most 63 characters"),
        ("func", "not a keyword"),
        ("import", "not a keyword"),
        ("lambda", "not a keyword"),
        ("match", "not a keyword"),
        ("impl", "not a keyword"),
    ],
)
def test_a_name_that_cannot_be_one_is_told(tmp_path: Path, name: str, expected: str) -> None:
    with pytest.raises(BuildError) as caught:
        scaffold.create(tmp_path / "new", name, "go")
    assert f"{name!r} is not a valid plugin name: expected {expected}" in str(caught.value)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["a", "pack-gpus", "zone2", "a" * 63])
def test_names_that_will_do(name: str) -> None:
    assert scaffold.name_problem(name) == ""
