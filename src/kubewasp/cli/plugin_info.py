"""`kubewasp plugin info`: an artifact in a registry or a layout, its module and its signatures, without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubewasp.cli import output
from kubewasp.k8s.quantity import format_size
from kubewasp.registry import formats
from kubewasp.registry.errors import RegistryError
from kubewasp.registry.layouts import Layout
from kubewasp.registry.oci_manifests import Index, Manifest, read_document
from kubewasp.registry.references import Reference
from kubewasp.registry.signature_storage import find_signatures
from kubewasp.trust.errors import TrustError
from kubewasp.trust.signatures import SignatureDocument, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from kubewasp.registry.artifact_source import ArtifactSource
    from kubewasp.registry.oci_manifests import Descriptor
    from kubewasp.trust.policy import TrustPolicy
    from kubewasp.trust.signatures import Evidence


def of_reference(reference: Reference, source: ArtifactSource, trust: TrustPolicy | None, *, form: str) -> None:
    at = reference.at(source.resolve(reference).digest)
    _show(at, source, trust, form=form)


def of_layout(path: Path, trust: TrustPolicy | None, *, form: str) -> None:
    layout = Layout(path)
    entries = layout.entries()
    if not entries:
        raise RegistryError(f"{path}: a layout without named manifests")
    for entry in entries:
        name = Reference("layout", "layout", digest=entry.descriptor.digest)
        _show(name, layout, trust, form=form, shown=f"{path} ({entry.name})")


def _show(
    reference: Reference, source: ArtifactSource, trust: TrustPolicy | None, *, form: str, shown: str = ""
) -> None:
    content, descriptor = source.manifest(reference)
    document = read_document(content, str(reference))
    entry: Descriptor | None = None
    if isinstance(document, Index):
        entry = formats.wasm_entry(document, str(reference))
        document = Manifest.read(source.manifest(reference.at(entry.digest))[0], str(reference))
    config = b""
    if formats.needs_config(document):
        config = source.blob_content(reference, document.config, max_bytes=formats.MAX_CONFIG)
    place = formats.wasm_place(document, config, str(reference))
    signatures = find_signatures(source, reference, descriptor.digest)
    report = _report(shown or str(reference), descriptor, document, place, signatures)
    if entry is not None:
        report["platform_digest"] = entry.digest
    if trust is not None:
        report["trust"] = _trust(trust, reference, signatures)
    if form != "table":
        output.print_document(report, form)
    else:
        _print_tables(report, shown or str(Reference(reference.host, reference.repository, reference.tag)))


def _report(
    name: str, descriptor: Descriptor, manifest: Manifest, place: formats.WasmPlace, signatures: Sequence[Evidence]
) -> dict[str, Any]:
    layer = place.layers[0]
    return {
        "reference": name,
        "digest": descriptor.digest,
        "kind": place.kind,
        "media_type": descriptor.media_type,
        "config_type": manifest.config.media_type,
        "module": None if place.files else layer.digest,
        "file": list(place.files),
        "size_bytes": sum(each.size for each in manifest.layers),
        "annotations": dict(manifest.annotations),
        "signatures": [_signature(each) for each in signatures],
    }


def _signature(evidence: Evidence) -> dict[str, str]:
    if isinstance(evidence, SignatureDocument):
        return {"form": evidence.form, "claim": evidence.claim, "place": evidence.place}
    return {"problem": evidence.problem, "place": evidence.place}


def _trust(trust: TrustPolicy, reference: Reference, signatures: Sequence[Evidence]) -> str:
    try:
        found = trust.check(Subject(reference.digest, str(reference)), signatures)
    except TrustError as error:
        return f"refused: {error}"
    return f"accepted: {', '.join(found.signers)}" if found.signers else "accepted, no signature is required"


def _print_tables(report: dict[str, Any], name: str) -> None:
    """Names of the first table are short: a digest fits into 80 columns beside them."""
    place = ("module", report["module"]) if report["module"] else ("file", " or ".join(report["file"]))
    facts = [("name", name), ("digest", report["digest"]), ("kind", report["kind"])]
    output.print_facts([*facts, ("size", format_size(report["size_bytes"])), place, *_signing(report)])
    notes = {_short(name): value for name, value in sorted(report["annotations"].items())}
    if notes:
        output.write("\n")
        output.print_facts(notes.items())


def _signing(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if not report["signatures"]:
        yield "signed", "no"
    for signature in report["signatures"]:
        yield "signed", signature.get("problem") or f"{signature['form']}, {signature['claim']}"
    if "trust" in report:
        yield "trust", report["trust"]


def _short(name: str) -> str:
    return name.removeprefix("org.opencontainers.image.").removeprefix("io.kubewasp.")
