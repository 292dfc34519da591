"""Merged files of layers: whiteouts, links, and names that would lead elsewhere."""

import io
import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.errors import KubewaspError
from kubewasp.images.errors import ImageError
from kubewasp.images.file_tree import FileTree, TreeFile, TreeFolder, TreeLink, relative_target
from kubewasp.registry.tar_archives import FileStream, members
from tests.images.archives import entry, folder, hardlink, symlink, tar


def merged(*layers: bytes, max_entries: int = 1000) -> FileTree:
    tree = FileTree(max_entries)
    for layer, content in enumerate(layers):
        for number, member in enumerate(members(FileStream(io.BytesIO(content)))):
            tree.apply(layer, number, member)
    return tree


def files(tree: FileTree) -> dict[str, int]:
    """Paths of regular files, with the number of their layer."""
    return {path: node.layer for path, node in tree.walk() if isinstance(node, TreeFile)}


def test_later_layers_win() -> None:
    tree = merged(tar(("a/x", b"1"), ("a/y", b"1")), tar(("a/x", b"22")))
    assert files(tree) == {"/a/x": 1, "/a/y": 0}
    found = tree.find("/a/x")
    assert isinstance(found, TreeFile)
    assert found.size == 2


def test_names_with_a_leading_slash_or_dot_are_below_the_root() -> None:
    assert files(merged(tar(("/etc/x", b""), ("./etc/y", b"")))) == {"/etc/x": 0, "/etc/y": 0}


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/..", "a/..", "./../etc/passwd"])
def test_a_name_with_two_dots_is_refused(name: str) -> None:
    with pytest.raises(ImageError, match=r"leads out of its folder"):
        merged(tar((name, b"x")))


def test_a_whiteout_removes_a_file_of_earlier_layers() -> None:
    assert files(merged(tar(("a/x", b""), ("a/y", b"")), tar(("a/.wh.x", b"")))) == {"/a/y": 0}


def test_a_whiteout_removes_a_folder() -> None:
    assert files(merged(tar(("a/b/x", b""), ("c", b"")), tar((".wh.a", b"")))) == {"/c": 0}


def test_a_whiteout_keeps_a_file_of_its_own_layer() -> None:
    assert files(merged(tar(("x", b"")), tar(("x", b""), (".wh.x", b"")))) == {"/x": 1}


def test_an_opaque_folder_hides_earlier_layers_at_any_depth_and_in_any_order() -> None:
    below = tar(("d/old", b""), ("d/sub/old", b""))
    assert files(merged(below, tar(("d/sub/new", b""), ("d/.wh..wh..opq", b"")))) == {"/d/sub/new": 1}
    assert files(merged(below, tar(("d/.wh..wh..opq", b""), ("d/sub/new", b"")))) == {"/d/sub/new": 1}


@pytest.mark.parametrize("name", [".wh.", ".wh..", ".wh...", ".wh..wh..wh..opq"])
def test_a_whiteout_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(ImageError, match="removes no file"):
        merged(tar((name, b"")))


def test_a_whiteout_through_a_link_stays_in_the_image() -> None:
    tree = merged(tar(("usr/lib/x", b""), symlink("lib", "usr/lib")), tar(("lib/.wh.x", b"")))
    assert files(tree) == {}


def test_a_file_is_put_into_the_folder_that_a_link_leads_to() -> None:
    tree = merged(tar(folder("usr/lib"), symlink("lib", "/usr/lib")), tar(("lib/x", b"")))
    assert files(tree) == {"/usr/lib/x": 1}


@pytest.mark.parametrize("target", ["../../../../etc", "/etc", "/../etc"])
def test_a_link_out_of_the_image_leads_to_a_place_in_it(target: str) -> None:
    tree = merged(tar(("etc/passwd", b"ours"), symlink("d/link", target)))
    found = tree.find("/d/link/passwd")
    assert isinstance(found, TreeFile)
    assert found.size == 4


@pytest.mark.parametrize("layer", [tar(symlink("a", "b"), symlink("b", "a")), tar(symlink("a", "a/a"))])
def test_links_in_a_circle_lead_nowhere(layer: bytes) -> None:
    assert merged(layer).find("/a") is None


def test_a_file_in_a_link_that_leads_nowhere_is_refused() -> None:
    with pytest.raises(ImageError, match="no folder"):
        merged(tar(symlink("a", "nowhere"), ("a/x", b"")))


def test_a_file_below_a_file_is_refused() -> None:
    with pytest.raises(ImageError, match="no folder"):
        merged(tar(("a", b""), ("a/x", b"")))


def test_a_hard_link_is_the_same_file() -> None:
    tree = merged(tar(("x", b"content"), hardlink("y", "x")))
    assert tree.find("/y") == tree.find("/x")


@pytest.mark.parametrize("target", ["missing", "d", "../../etc/passwd"])
def test_a_hard_link_to_no_file_of_the_image_is_refused(target: str) -> None:
    with pytest.raises(ImageError):
        merged(tar(folder("d"), hardlink("y", target)))


def test_a_hard_link_to_a_link_is_that_link() -> None:
    tree = merged(tar(symlink("x", "target"), hardlink("y", "x")))
    assert dict(tree.walk())["/y"] == TreeLink("target")


@pytest.mark.parametrize("kind", [b"3", b"4", b"6"])
def test_devices_and_pipes_are_left_out(kind: bytes) -> None:
    assert dict(merged(tar(entry("dev/sda", kind))).walk()).keys() == {"/dev"}


def test_the_number_of_files_is_bounded() -> None:
    with pytest.raises(ImageError, match="more than 3 files"):
        merged(tar(*((f"x{number}", b"") for number in range(4))), max_entries=3)


@pytest.mark.parametrize("name", ["d/" * 101 + "x", "x" * 256])
def test_deep_and_long_names_are_refused(name: str) -> None:
    with pytest.raises(ImageError, match="too long or too deep"):
        merged(tar((name, b"")))


def test_a_lookup_cannot_leave_the_root() -> None:
    tree = merged(tar(("etc/passwd", b"")))
    assert isinstance(tree.find("/../../etc/passwd"), TreeFile)
    assert isinstance(tree.find("/etc/.."), TreeFolder)
    assert tree.find("/etc/passwd/x") is None


NAMES = st.text(st.sampled_from("ab./"), min_size=1, max_size=12)


@given(NAMES, NAMES)
def test_a_rewritten_link_never_leaves_its_root(place: str, target: str) -> None:
    found = relative_target(posixpath.normpath(f"/{place}"), target)
    assert not found.startswith("/")
    depth = len(posixpath.normpath(f"/{place}").strip("/").split("/")) - 1
    assert found.split("/").count("..") <= depth or posixpath.normpath(f"/{place}") == "/"


@given(st.lists(st.tuples(st.sampled_from("fdslw"), NAMES, NAMES), max_size=12))
def test_any_layer_is_merged_or_refused(items: list[tuple[str, str, str]]) -> None:
    make = {
        "f": lambda name, _: (name, b"x"),
        "d": lambda name, _: folder(name),
        "s": symlink,
        "l": hardlink,
        "w": lambda name, _: (posixpath.join(posixpath.dirname(name), f".wh.{posixpath.basename(name)}"), b""),
    }
    layer = tar(*(make[kind](name, target) for kind, name, target in items))
    try:
        tree = merged(layer, layer)
    except KubewaspError:
        return
    for path, node in tree.walk():
        assert ".." not in path.split("/")
        assert isinstance(tree.find(path), TreeFile | TreeFolder) or isinstance(node, TreeLink)
