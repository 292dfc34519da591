"""Manifest files: JSON or YAML, with several documents and lists. Objects are not interpreted here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kubewasp.input_file import InputFile, input_file
from kubewasp.k8s import json_documents, snapshot_file
from kubewasp.k8s.errors import ManifestError, described, quoted, shown
from kubewasp.k8s.kinds import api_versions
from kubewasp.k8s.quantity import format_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.k8s.snapshot_file import SnapshotHead

MAX_BYTES: Final = 256 * 2**20


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object with its `source` for errors. `kind` and `api_version` are empty if absent."""

    source: str
    api_version: str
    kind: str
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """The objects of a file; for a snapshot also its head."""

    manifests: list[Manifest]
    head: SnapshotHead | None = None


def load(path: str | InputFile) -> list[Manifest]:
    """Every object in a file; lists are expanded."""
    return read(path).manifests


def read(path: str | InputFile) -> ManifestFile:
    """A file of manifests (YAML or JSON, also in gzip), or a snapshot. Content decides: standard input has no name."""
    try:
        with input_file(path).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ManifestError("", f"cannot be read: {reason}", source=str(path)) from None
    return _file(content, str(path))


def parse(content: bytes, source: str) -> list[Manifest]:
    """Every object in the content of a file; lists are expanded. Errors begin with `source`."""
    return _file(content, source).manifests


def _file(content: bytes, source: str) -> ManifestFile:
    if len(content) > MAX_BYTES:
        raise ManifestError("", f"larger than {format_size(MAX_BYTES)}", source=source)
    found = snapshot_file.unpacked(content, source, MAX_BYTES)
    if isinstance(found, snapshot_file.SnapshotFile):
        return ManifestFile([_manifest(document, place) for place, document in found.objects()], found.head)
    try:
        text = found.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ManifestError("", f"not UTF-8 text: byte {error.start + 1} is wrong", source=source) from None
    manifests: list[Manifest] = []
    for place, document in _documents(text, source):
        if document is not None:
            manifests.extend(taken_apart(document, place))
    return ManifestFile(manifests)


def expect_kind(manifest: Manifest, kind: str) -> dict[str, Any]:
    """The object of a manifest; ManifestError unless it has the kind and one of its apiVersions."""
    if not manifest.kind:
        raise ManifestError("", f"kind is missing: add `kind: {kind}`", source=manifest.source)
    if manifest.kind != kind:
        raise ManifestError("", f"expected kind {kind}, found {_bare(manifest.kind)}", source=manifest.source)
    known = api_versions(kind)
    if manifest.api_version and known and manifest.api_version not in known:
        problem = f"expected {' or '.join(known)} for kind {kind}, found {_bare(manifest.api_version)}"
        raise ManifestError("apiVersion", problem, source=manifest.source)
    return manifest.body


def _documents(text: str, source: str) -> Iterator[tuple[str, Any]]:
    try:
        values = json_documents.documents(text) if text.lstrip()[:1] in ("{", "[") else None
    except json_documents.JsonError as error:
        raise ManifestError("", str(error), source=source) from None
    if values is not None:
        for number, value in enumerate(values, start=1):
            yield f"{source}: document {number}", value
        return

    from kubewasp.k8s import yaml_documents

    number = 1
    try:
        for document in yaml_documents.documents(text):
            yield f"{source}: document {number}", document
            number += 1
    except yaml_documents.YamlError as error:
        raise ManifestError("", str(error), source=f"{source}: document {number}") from None


def taken_apart(document: Any, source: str) -> Iterator[Manifest]:
    """The object of a document, or the objects of a list."""
    manifest = _manifest(document, source)
    if not manifest.kind.endswith("List"):
        yield manifest
        return
    items = manifest.body.get("items")
    if items is None:
        return
    if not isinstance(items, list):
        raise ManifestError("items", f"expected a list, got {shown(items)}", source=source)
    item_kind = manifest.kind.removesuffix("List")
    # The items of a PodList may lack apiVersion and kind; those of a List may not.
    implied = {"apiVersion": manifest.api_version, "kind": item_kind} if item_kind else {}
    for index, item in enumerate(items):
        place = f"{source}: items[{index}]"
        yield _manifest(implied | item if isinstance(item, dict) else item, place)


def _manifest(document: Any, source: str) -> Manifest:
    if not isinstance(document, dict):
        raise ManifestError("", f"expected an object, found {described(document)}", source=source)
    return Manifest(source, _word(document, "apiVersion", source), _word(document, "kind", source), document)


def _word(document: dict[str, Any], key: str, source: str) -> str:
    word = document.get(key)
    if word is None:
        return ""
    if not isinstance(word, str):
        raise ManifestError(key, f"expected a string, got {shown(word)}", source=source)
    return word


def _bare(word: str) -> str:
    return quoted(word)[1:-1]
