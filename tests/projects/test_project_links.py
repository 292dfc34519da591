"""Links of a plugin project: inside of the folder they are files like others, out of it they are refused."""

from pathlib import Path

import pytest

from kubewasp.projects import project, project_links, python, python_checks
from kubewasp.projects.toolchain import BuildError, sdk

PLUGIN = "import kubewasp_sdk\nfrom pathlib import Path\nSECRET = Path('data.json').read_text()\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project beside a folder that it must not reach."""
    found = tmp_path / "policy"
    (found / "package").mkdir(parents=True)
    (found / "plugin.py").write_text(PLUGIN)
    (tmp_path / "private" / "deep").mkdir(parents=True)
    (tmp_path / "private" / "key.py").write_text("hunter2 is no Python\n")
    return found


def refused(folder: Path) -> str:
    with pytest.raises(BuildError) as caught:
        project.find(folder)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("data.json", "../private/key.py"),
        ("package/data.json", "../../private/key.py"),
        ("package/more", "../../private"),
        ("data.json", "/etc/passwd"),
        ("data.json", "../private/missing"),
        ("tests", "../private"),
        ("build", "../private"),
        (".kubewasp", "../private"),
    ],
)
def test_a_link_out_of_the_project_is_refused(folder: Path, name: str, target: str) -> None:
    (folder / name).symlink_to(target)
    real = ((folder / name).parent / target).resolve()
    assert refused(folder) == (
        f"{folder / name} is a link to {real}, outside of the project; "
        "replace it with a copy, or with a link inside of the project"
    )


def test_a_chain_of_links_is_followed_to_its_end(folder: Path) -> None:
    (folder / "first").symlink_to("second")
    (folder / "second").symlink_to("../private/key.py")
    assert refused(folder).startswith(
        f"{folder / 'first'} is a link to {folder.parent / 'private' / 'key.py'}, outside"
    )


def test_a_link_in_a_circle_is_refused(folder: Path) -> None:
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    assert "a" in refused(folder)


def test_links_inside_of_the_project_are_fine(folder: Path) -> None:
    (folder / "data.json").write_text("{}")
    (folder / "package" / "data.json").symlink_to("../data.json")
    (folder / "again").symlink_to("package")
    (folder / "absolute").symlink_to(folder / "data.json")
    assert project.find(folder).name == "policy"


def test_a_project_behind_a_link_is_fine(folder: Path, tmp_path: Path) -> None:
    (folder / "data").symlink_to("plugin.py")
    (tmp_path / "link").symlink_to(folder)
    assert project.find(tmp_path / "link").folder == tmp_path / "link"


def test_the_link_to_the_sdk_hidden_files_and_virtual_environments_are_fine(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = [".kubewasp"]\n')
    python.link(folder)
    assert (folder / ".kubewasp" / "kubewasp_sdk").resolve() == sdk("python").resolve()
    (folder / ".venv").symlink_to("/usr")
    (folder / "env" / "bin").mkdir(parents=True)
    (folder / "env" / "pyvenv.cfg").touch()
    (folder / "env" / "bin" / "python").symlink_to("/usr/bin/python3")
    project_links.check(folder)


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "package/pyvenv.cfg"])
def test_an_imported_file_is_inside_also_where_links_are_not_searched(folder: Path, mark: str) -> None:
    (folder / mark).touch()
    (folder / "package" / "key.py").symlink_to("../../private/key.py")
    (folder / "plugin.py").write_text("import package.key\n")
    with pytest.raises(BuildError) as caught:
        python_checks.check(project.find(folder).folder)
    assert "key.py is a link to" in str(caught.value)
    assert "hunter2" not in str(caught.value)


# ---------------------------------------------------------------------- links to the SDK


def test_a_link_is_made_with_its_folders_and_renewed(tmp_path: Path) -> None:
    place = tmp_path / "node_modules" / "@kubewasp" / "sdk"
    for target in (tmp_path / "old", tmp_path / "new", tmp_path / "new"):
        project_links.point(place, target)
        assert place.readlink() == target
    assert list(place.parent.iterdir()) == [place]


def test_a_copy_of_the_sdk_that_the_author_has_made_is_kept(tmp_path: Path) -> None:
    for make in (Path.mkdir, Path.touch):
        make(place := tmp_path / make.__name__)
        project_links.point(place, tmp_path / "sdk")
        assert not place.is_symlink()


def test_a_file_of_ours_is_renewed_and_one_of_the_author_is_kept(tmp_path: Path) -> None:
    place = tmp_path / "go.work"
    for content in ("// ours\none", "// ours\ntwo"):
        project_links.write(place, content, ours="// ours")
        assert place.read_text() == content
    assert list(tmp_path.iterdir()) == [place]
    place.write_text("mine")
    project_links.write(place, "// ours\nthree", ours="// ours")
    assert place.read_text() == "mine"
