"""`kubewasp plugin push`, `annotate` and `tag`: new manifests in a registry."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kubewasp.cli import output
from kubewasp.cli.progress import Progress
from kubewasp.cli.registry_options import source_date
from kubewasp.k8s.quantity import format_size
from kubewasp.k8s.timestamps import in_seconds
from kubewasp.registry import formats
from kubewasp.registry.copying import RegistryDestination, copy_artifact, push_artifact, signature_manifests
from kubewasp.registry.errors import ContentError, RegistryError
from kubewasp.registry.layouts import Layout, is_layout
from kubewasp.registry.oci_manifests import Manifest, read_document
from kubewasp.registry.references import Reference
from kubewasp.wasm.source import MAX_BYTES, GuestSources

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kubewasp.input_file import StandardInput
    from kubewasp.registry.formats import Artifact
    from kubewasp.registry.oci_manifests import Descriptor
    from kubewasp.registry.registry_client import RegistryClient


@dataclass(frozen=True, slots=True)
class Push:
    """A module to push, and what is said of it."""

    source: str | StandardInput
    reference: Reference
    annotations: Mapping[str, str] = field(default_factory=dict)
    author: str = ""
    is_compat: bool = False
    inspects: bool = True


class _Sent:
    """Counts sent bytes, for a bar and for the result."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.count = 0

    def moved(self, count: int) -> None:
        self.count += count
        self._progress.moved(count)


def push(wanted: Push, client: RegistryClient, *, form: str) -> None:
    if isinstance(wanted.source, str) and is_layout(Path(wanted.source)):
        _push_layout(Path(wanted.source), wanted, client, form=form)
        return
    fetched = GuestSources().fetch(wanted.source, max_bytes=MAX_BYTES)
    artifact = _artifact(fetched.wasm, wanted)
    with Progress() as progress:
        sent = _Sent(progress)
        progress.phase(f"pushing {wanted.reference}", len(fetched.wasm), is_bytes=True)
        descriptor = push_artifact(client, wanted.reference, artifact, sent)
    _print(wanted.reference, artifact.manifest, descriptor, form, sent=sent.count)


def _artifact(wasm: bytes, wanted: Push) -> Artifact:
    formats.checked_wasm(wasm, str(wanted.source))
    facts = None
    if wanted.inspects:
        # Late: the runtime takes longer to import than a small module to push.
        from kubewasp.cli.plugin_annotations import module_facts
        from kubewasp.wasm.limits import Limits

        with Progress() as progress:
            progress.phase("inspecting the module")
            facts = module_facts(wasm, Limits())
        if facts.problem:
            output.warn(f"the module is pushed, but it is no usable plugin as it is: {facts.problem}")
    name = wanted.reference.repository.rpartition("/")[2]
    annotations = {formats.TITLE: name, **(facts.annotations if facts else {}), **wanted.annotations}
    common: dict[str, Any] = {
        "file_name": f"{name}.wasm",
        "annotations": annotations,
        "created": in_seconds(source_date()),
        "author": wanted.author,
    }
    if wanted.is_compat:
        return formats.image_artifact(wasm, **common)
    return formats.wasm_artifact(wasm, **common, interface=facts.interface if facts else None)


def _push_layout(path: Path, wanted: Push, client: RegistryClient, *, form: str) -> None:
    if wanted.annotations or wanted.is_compat or wanted.author:
        raise typer.BadParameter("a layout is pushed as it is; use kubewasp plugin annotate afterwards")
    layout = Layout(path)
    entries = layout.entries()
    named = [entry for entry in entries if entry.name.rpartition(":")[2] == wanted.reference.tag]
    chosen = named if len(named) == 1 else entries
    if len(chosen) != 1:
        names = ", ".join(sorted(entry.name for entry in entries)[:10]) or "none"
        raise RegistryError(f"{path}: {len(entries)} named manifests, expected one, or one with the tag; found {names}")
    source = wanted.reference.at(chosen[0].descriptor.digest)
    with Progress() as progress:
        sent = _Sent(progress)
        progress.phase(f"pushing {path}", is_bytes=True)
        destination = RegistryDestination(client, wanted.reference, sent)
        descriptor = copy_artifact(layout, source, destination, tag=wanted.reference.tag)
    document = read_document(layout.manifest(source)[0], str(path))
    _print(wanted.reference, document if isinstance(document, Manifest) else None, descriptor, form, sent=sent.count)


def annotate(
    reference: Reference, changes: Mapping[str, str], removed: tuple[str, ...], client: RegistryClient, *, form: str
) -> None:
    content, before = client.manifest(reference)
    manifest = Manifest.read(content, str(reference))
    unknown = [name for name in removed if name not in manifest.annotations]
    if unknown:
        raise RegistryError(f"{reference}: has no annotation {unknown[0]}")
    kept = {name: value for name, value in manifest.annotations.items() if name not in removed}
    changed = replace(manifest, annotations=kept | dict(changes))
    if not reference.tag:
        raise ContentError(f"{reference}: a changed manifest has another digest; give the tag that shall have it")
    after = client.push_manifest(Reference(reference.host, reference.repository, reference.tag), changed.write())
    if after.digest != before.digest and any(signature_manifests(client, reference, before.digest)):
        output.warn("the signatures of the manifest before do not hold for this one; sign it again")
    _print(reference, changed, after, form, before=before.digest)


def tag(reference: Reference, target: Reference, client: RegistryClient, *, form: str) -> None:
    content, _ = client.manifest(reference)
    descriptor = client.push_manifest(target, content)
    document = read_document(content, str(reference))
    _print(target, document if isinstance(document, Manifest) else None, descriptor, form)


def _print(
    reference: Reference,
    manifest: Manifest | None,
    descriptor: Descriptor,
    form: str,
    *,
    sent: int | None = None,
    before: str = "",
) -> None:
    at = Reference(reference.host, reference.repository, reference.tag, descriptor.digest)
    if form != "table":
        document: dict[str, Any] = {
            "reference": str(at),
            "digest": descriptor.digest,
            "media_type": descriptor.media_type,
            "layers": [layer.as_json() for layer in manifest.layers] if manifest else [],
            "annotations": dict(manifest.annotations) if manifest else {},
        }
        if sent is not None:
            document["sent_bytes"] = sent
        if before:
            document["previous_digest"] = before
        output.print_document(document, form)
        return
    output.print_facts(_facts(reference, manifest, descriptor, sent))


def _facts(
    reference: Reference, manifest: Manifest | None, descriptor: Descriptor, sent: int | None
) -> Iterator[tuple[str, str]]:
    yield "name", str(Reference(reference.host, reference.repository, reference.tag))
    yield "digest", descriptor.digest
    if manifest is not None:
        yield "size", format_size(sum(layer.size for layer in manifest.layers))
        if formats.HOOKS in manifest.annotations:
            yield "hooks", manifest.annotations[formats.HOOKS].replace(",", ", ")
    if sent is not None:
        yield "sent", format_size(sent) if sent else "nothing, the registry had it"
