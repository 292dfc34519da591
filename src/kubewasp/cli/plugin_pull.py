"""`kubewasp plugin pull`, `digest`, `save` and `load`: from a registry to this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubewasp.cli import output
from kubewasp.cli.output_file import replaced
from kubewasp.cli.progress import Progress
from kubewasp.errors import KubewaspError
from kubewasp.k8s.quantity import format_size
from kubewasp.registry.copying import LayoutDestination, StoreDestination, copy_artifact
from kubewasp.registry.errors import RegistryError
from kubewasp.registry.layouts import Layout
from kubewasp.registry.references import SCHEME, Reference, is_reference
from kubewasp.wasm.source import MAX_BYTES, GuestSources

if TYPE_CHECKING:
    from pathlib import Path

    from kubewasp.registry.oci_manifests import Descriptor
    from kubewasp.registry.pulling import Puller
    from kubewasp.registry.registry_client import RegistryClient
    from kubewasp.registry.settings import PullPolicy
    from kubewasp.registry.store import LocalStore
    from kubewasp.trust.policy import TrustPolicy


def pull(
    reference: Reference,
    puller: Puller,
    trust: TrustPolicy | None,
    *,
    target: Path | None,
    policy: PullPolicy,
    form: str,
) -> None:
    """Pulls into the local store, and writes the module to a file if one is given."""
    received = 0
    sources = GuestSources(trust=trust, client=puller.client, store=puller.store)
    with Progress() as progress:
        progress.phase(f"pulling {reference}", is_bytes=True)

        class Received:
            def moved(self, count: int) -> None:
                nonlocal received
                received += count
                progress.moved(count)

        found = sources.fetch(str(reference), max_bytes=MAX_BYTES, pull_policy=policy, listener=Received())
    if target is not None:
        with replaced(target) as file:
            file.write(found.wasm)
    if form != "table":
        document: dict[str, Any] = {
            "reference": found.source,
            "digest": found.manifest_digest,
            "sha256": found.digest.removeprefix("sha256:"),
            "size_bytes": len(found.wasm),
            "received_bytes": received,
            "signers": list(found.signers),
            "file": None if target is None else str(target),
        }
        output.print_document(document, form)
        return
    facts = [
        ("name", str(Reference(reference.host, reference.repository, reference.tag))),
        ("digest", found.manifest_digest),
        ("module", found.digest),
        ("size", f"{format_size(len(found.wasm))}{'' if received else ', from the local store'}"),
    ]
    facts += [("signed", ", ".join(found.signers))] if found.signers else []
    facts += [("file", str(target))] if target is not None else []
    output.print_facts(facts)


def digest(reference: Reference, client: RegistryClient, *, form: str) -> None:
    descriptor = client.resolve(reference)
    if form == "table":
        output.write(f"{descriptor.digest}\n")
        return
    output.print_document({"reference": str(reference.at(descriptor.digest)), **descriptor.as_json()}, form)


def save(reference: Reference, puller: Puller, path: Path, *, form: str) -> None:
    """Writes an artifact and its signatures to a new layout."""
    if path.exists():
        raise RegistryError(f"{path}: exists already; give a new name")
    with Progress() as progress:
        progress.phase(f"saving {reference}")
        at = reference.at(puller.current(reference).digest)
        descriptor = copy_artifact(puller, at, LayoutDestination(path, reference), tag=reference.tag)
    _print_copy(reference, descriptor, str(path), form)


def load(path: Path, store: LocalStore, given: Reference | None, *, form: str) -> None:
    """Copies the artifacts of a layout into the local store, under their names or under the given one."""
    layout = Layout(path)
    entries = layout.entries()
    if given is not None:
        fitting = [entry for entry in entries if entry.name.rpartition(":")[2] == given.tag] or list(entries)
        if len(fitting) != 1:
            raise RegistryError(f"{path}: {len(fitting)} named manifests, expected one for {given}")
        pairs = [(given, fitting[0].descriptor)]
    else:
        pairs = [(_reference(entry.name, path), entry.descriptor) for entry in entries]
    if not pairs:
        raise RegistryError(f"{path}: a layout without named manifests")
    for reference, descriptor in pairs:
        at = reference.at(descriptor.digest)
        copied = copy_artifact(layout, at, StoreDestination(store, reference), tag=reference.tag)
        _print_copy(reference, copied, str(path), form)


def _reference(name: str, path: Path) -> Reference:
    """The reference of a name in a layout; tools other than ours write a tag alone."""
    try:
        return Reference.parse(name if is_reference(name) else f"{SCHEME}{name}")
    except KubewaspError:
        raise RegistryError(f"{path}: the name {name!r} has no host and repository; give one with --as") from None


def _print_copy(reference: Reference, descriptor: Descriptor, path: str, form: str) -> None:
    at = Reference(reference.host, reference.repository, reference.tag)
    if form != "table":
        output.print_document({"reference": str(at), "digest": descriptor.digest, "layout": path}, form)
        return
    output.print_facts([("name", str(at)), ("digest", descriptor.digest), ("layout", path)])
