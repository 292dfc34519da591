"""`kubewasp plugin ls` and `rm`: plugins in the local store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kubewasp.cli import output
from kubewasp.k8s.quantity import format_size
from kubewasp.registry.errors import NotFoundError, RegistryError
from kubewasp.registry.oci_manifests import MAX_BYTES, Index, read_document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.registry.references import Reference
    from kubewasp.registry.store import LocalStore, StoredReference


def show(store: LocalStore, *, form: str) -> None:
    entries = [entry for entry in store.references() if not entry.reference.tag.startswith("sha256-")]
    sizes = [_size(store, entry) for entry in entries]
    if form != "table":
        documents = [
            {
                "reference": str(entry.reference),
                "digest": entry.descriptor.digest,
                "size_bytes": size,
                "seen": _time(entry.seen),
            }
            for entry, size in zip(entries, sizes, strict=True)
        ]
        output.print_document({"store": str(store.folder), "plugins": documents}, form)
        return
    rows = [
        (str(entry.reference), entry.descriptor.digest[:19], format_size(size), _time(entry.seen))
        for entry, size in zip(entries, sizes, strict=True)
    ]
    output.print_table(("REFERENCE", "DIGEST", "SIZE", "PULLED"), rows, right=("SIZE",))


def remove(references: Sequence[Reference], store: LocalStore, *, everything: bool, form: str) -> None:
    wanted = [entry.reference for entry in store.references()] if everything else list(references)
    for reference in wanted:
        if not store.forget(reference) and not everything:
            raise NotFoundError(f"{reference}: not in the local store; kubewasp plugin ls shows what is")
    free = store.collect()
    if form != "table":
        output.print_document({"removed": [str(reference) for reference in wanted], "free_bytes": free}, form)
        return
    shown = [str(each) for each in wanted if not each.tag.startswith("sha256-")]
    output.print_facts([("removed", "\n".join(shown) or "nothing"), ("free", format_size(free))])


def _size(store: LocalStore, entry: StoredReference) -> int:
    """Bytes of the layers; 0 for an entry that is damaged."""
    try:
        document = read_document(store.read(entry.descriptor.digest, max_bytes=MAX_BYTES), str(entry.reference))
    except RegistryError:
        return 0
    return 0 if isinstance(document, Index) else sum(layer.size for layer in document.layers)


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
