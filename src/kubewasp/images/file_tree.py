"""Files of an image: its layers merged into one tree, in memory, without contents.

Names never leave the tree: `..` is refused in names, links are followed inside of it as in a container, and the host's
files are not looked at.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from kubewasp.images.errors import ImageError
from kubewasp.k8s.errors import quoted
from kubewasp.registry.tar_archives import MemberKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.registry.tar_archives import Member

_WHITEOUT: Final = ".wh."
_OPAQUE: Final = ".wh..wh..opq"
_MAX_DEPTH: Final = 100
_MAX_PART: Final = 255
_MAX_LINKS: Final = 40


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A regular file: its content is entry number `entry` of layer number `layer`."""

    layer: int
    entry: int
    size: int
    is_executable: bool


@dataclass(frozen=True, slots=True)
class TreeLink:
    """A symbolic link."""

    target: str


@dataclass(slots=True)
class TreeFolder:
    """A folder and its nodes by name."""

    children: dict[str, TreeFile | TreeLink | TreeFolder] = field(default_factory=dict)


Node = TreeFile | TreeLink | TreeFolder


class FileTree:
    """Merged files of the layers so far. `apply` takes the entries of the next layers in order."""

    def __init__(self, max_entries: int) -> None:
        self._root = TreeFolder()
        self._max_entries = max_entries
        self._entries = 0
        self._fresh: set[int] = set()  # nodes of the present layer, which its own whiteouts do not remove
        self._layer = -1

    def apply(self, layer: int, number: int, entry: Member) -> None:
        """Adds, replaces or removes a file."""
        self._entries += 1
        if self._entries > self._max_entries:
            raise ImageError(f"more than {self._max_entries} files in the layers")
        if layer != self._layer:
            self._layer, self._fresh = layer, set()
        parts = _parts(entry.name)
        if not parts:
            return  # the root itself
        *folders, name = parts
        if name == _OPAQUE:
            self._clear(folders)
        elif name.startswith(_WHITEOUT):
            self._remove(folders, name.removeprefix(_WHITEOUT), entry.name)
        else:
            self._put(folders, name, self._node(layer, number, entry))

    def find(self, path: str) -> Node | None:
        """The node at a path, through links; None if there is none."""
        return self._follow(_parts(path, is_lookup=True))

    def walk(self) -> Iterator[tuple[str, Node]]:
        """All nodes below the root, folders before their contents, names sorted."""
        stack: list[tuple[str, TreeFolder]] = [("", self._root)]
        while stack:
            path, folder = stack.pop()
            for name in sorted(folder.children):
                node, place = folder.children[name], f"{path}/{name}"
                yield place, node
                if isinstance(node, TreeFolder):
                    stack.append((place, node))

    def _node(self, layer: int, number: int, entry: Member) -> Node | None:
        match entry.kind:
            case MemberKind.FILE:
                return TreeFile(layer, number, entry.size, bool(entry.mode & 0o111))
            case MemberKind.FOLDER:
                return TreeFolder()
            case MemberKind.SYMLINK:
                return TreeLink(entry.target)
            case MemberKind.HARDLINK:
                found = self._follow(_parts(entry.target), last=False)
                if not isinstance(found, TreeFile | TreeLink):
                    raise ImageError(f"{quoted(entry.name)} is a hard link to no file of the image")
                return replace(found)  # a node of this layer
            case MemberKind.SPECIAL:
                return None  # no device and no pipe of an image is ever made

    def _put(self, folders: list[str], name: str, node: Node | None) -> None:
        folder = self._folder(folders, name)
        there = folder.children.get(name)
        if isinstance(there, TreeFolder) and isinstance(node, TreeFolder):
            self._fresh.add(id(there))
            return
        if node is None:
            folder.children.pop(name, None)
            return
        folder.children[name] = node
        self._fresh.add(id(node))

    def _folder(self, folders: list[str], name: str) -> TreeFolder:
        """The folder for a new file; made if it is missing, through links to folders of the image."""
        folder, walked = self._root, list[str]()
        for part in folders:
            walked.append(part)
            found = folder.children.get(part)
            if isinstance(found, TreeLink):
                found = self._follow(walked)
            if found is None and part not in folder.children:
                found = folder.children[part] = TreeFolder()
            if not isinstance(found, TreeFolder):
                place = quoted("/".join((*folders, name)))
                raise ImageError(f"{place} is in {quoted('/'.join(walked))}, which is no folder")
            self._fresh.add(id(found))
            folder = found
        return folder

    def _remove(self, folders: list[str], name: str, shown: str) -> None:
        if name in ("", ".", "..") or name.startswith(_WHITEOUT):
            raise ImageError(f"{quoted(shown)} removes no file")
        folder = self._follow(folders)
        if isinstance(folder, TreeFolder):
            gone = folder.children.get(name)
            if gone is not None and id(gone) not in self._fresh:
                del folder.children[name]
            elif isinstance(gone, TreeFolder):
                self._prune(gone)

    def _clear(self, folders: list[str]) -> None:
        folder = self._follow(folders)
        if isinstance(folder, TreeFolder):
            self._prune(folder)

    def _prune(self, folder: TreeFolder) -> None:
        """Removes what earlier layers gave a folder, at any depth."""
        stack = [folder]
        while stack:
            pruned = stack.pop()
            pruned.children = {name: node for name, node in pruned.children.items() if id(node) in self._fresh}
            stack += [node for node in pruned.children.values() if isinstance(node, TreeFolder)]

    def _follow(self, parts: list[str], *, last: bool = True) -> Node | None:
        """The node at a path. Links lead to places in the tree, `..` at the root stays there. `last`: a link, too."""
        waiting, walked, links = list(reversed(parts)), list[tuple[str, TreeFolder]](), 0
        node: Node = self._root
        while waiting:
            part = waiting.pop()
            folder = walked[-1][1] if walked else self._root
            if part == "..":
                if walked:
                    walked.pop()
                node = walked[-1][1] if walked else self._root
                continue
            found = folder.children.get(part)
            if found is None:
                return None
            if isinstance(found, TreeLink) and (waiting or last):
                links += 1
                if links > _MAX_LINKS:
                    return None
                if found.target.startswith("/"):
                    walked = []
                waiting += reversed([step for step in found.target.split("/") if step not in ("", ".")])
                node = walked[-1][1] if walked else self._root
                continue
            if isinstance(found, TreeFolder):
                walked.append((part, found))
            elif waiting:
                return None
            node = found
        return node


def relative_target(place: str, target: str) -> str:
    """The target of a link at `place` as a relative path that does not leave the root, for an extracted tree."""
    folder = posixpath.dirname(place)
    inside = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
    return posixpath.relpath(f"/{inside}", f"/{folder.lstrip('/')}")


def _parts(name: str, *, is_lookup: bool = False) -> list[str]:
    """Parts of a name, relative to the root of the image whether it begins with a slash or not."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts and not is_lookup:
        raise ImageError(f"the name {quoted(name)} leads out of its folder by `..`")
    if len(parts) > _MAX_DEPTH or any(len(part.encode("utf-8", "surrogateescape")) > _MAX_PART for part in parts):
        raise ImageError(f"the name {quoted(name)} is too long or too deep")
    return parts
