"""`kubewasp plugin keygen` and `plugin sign`: a key pair, and signatures of guests in registries and of files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kubewasp.cli import output
from kubewasp.cli.key_inputs import passphrase, private_key
from kubewasp.cli.registry_options import reference_of
from kubewasp.errors import KubewaspError
from kubewasp.framework.config.guest_urls import local_path
from kubewasp.registry.references import is_reference
from kubewasp.registry.signature_storage import attach_signature, legacy_tag
from kubewasp.trust import bundle
from kubewasp.trust.errors import KeyFormatError, SignatureError
from kubewasp.trust.keys import PrivateKey, shown_fingerprint
from kubewasp.trust.signatures import SignatureDocument, Subject, read_detached
from kubewasp.wasm.guest_files import MAX_BYTES, SIGNATURE_ENDINGS, read_guest_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.cli.registry_options import RegistryAccess
    from kubewasp.registry.references import Reference
    from kubewasp.registry.registry_client import RegistryClient
    from kubewasp.registry.signature_storage import SignatureForm


def keygen(prefix: str, *, pkcs8: bool, form: str) -> None:
    private, public = Path(f"{prefix}.key"), Path(f"{prefix}.pub")
    if not private.parent.is_dir():
        raise KeyFormatError(f"{private.parent}: no such folder")
    for path in (private, public):
        if path.exists():
            raise KeyFormatError(f"{path}: exists; remove it, or give the keys another name")
    key = PrivateKey.generate()
    secret = passphrase("Passphrase of the new key, empty for none", is_new=True)
    _write_new(private, key.pkcs8_pem(secret) if pkcs8 else key.cosign_pem(secret), mode=0o600)
    _write_new(public, key.public.pem, mode=0o644)
    facts = {
        "private_key": str(private),
        "public_key": str(public),
        "algorithm": key.public.algorithm,
        "fingerprint": shown_fingerprint(key.public.fingerprint),
    }
    if form == "table":
        output.print_facts([(name.replace("_", " "), value) for name, value in facts.items()])
    else:
        output.print_document(facts, form)


def _write_new(path: Path, content: bytes, *, mode: int) -> None:
    """A file that did not exist, readable from its first byte by those of its mode only."""
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(opened, "wb") as file:
        file.write(content)


def sign(
    source: str,
    *,
    key: str,
    annotations: Mapping[str, str],
    signature_form: SignatureForm,
    target: Path | None,
    access: RegistryAccess,
    form: str,
) -> None:
    if is_reference(source):
        if target is not None:
            raise KubewaspError(f"{source}: the signature is stored in the registry; --out is for files")
        named = reference_of(source)
        with access.client(named) as client:
            facts = _sign_artifact(client, named, private_key(key), annotations, signature_form)
    else:
        facts = _sign_file(source, private_key(key), annotations, signature_form, target)
    if form == "table":
        name = facts["source"].removesuffix(f"@{facts['digest']}")
        output.print_facts([("name", name), *((each, facts[each]) for each in ("digest", "signer", "stored"))])
    else:
        output.print_document(facts, form)


def _sign_artifact(
    client: RegistryClient, named: Reference, key: PrivateKey, annotations: Mapping[str, str], form: SignatureForm
) -> dict[str, str]:
    subject = client.resolve(named)
    reference = named.at(subject.digest)
    made = attach_signature(client, reference, subject, key, annotations=annotations, form=form)
    return {
        "source": str(reference),
        "digest": subject.digest,
        "signer": f"key {shown_fingerprint(key.public.fingerprint)}",
        "stored": made.digest if form == "bundle" else legacy_tag(subject.digest),
    }


def _sign_file(
    source: str, key: PrivateKey, annotations: Mapping[str, str], form: SignatureForm, target: Path | None
) -> dict[str, str]:
    path = local_path(source)
    if path is None:
        raise KubewaspError(f"{source}: sign an oci:// reference, or a file before it is put on a server")
    if form == "legacy":
        raise KubewaspError(f"{source}: a file is signed with a bundle; --format legacy is for registries")
    subject = Subject.of_content(read_guest_file(source, max_bytes=MAX_BYTES).content, source)
    place = target or Path(path + SIGNATURE_ENDINGS[0])
    _check_replaced(place, subject, key)
    assert subject.content is not None  # noqa: S101 - for the type checker
    # cosign verify-blob reads signatures of the content; annotations need a statement about its digest.
    made = (
        bundle.sign_digest(subject.sha256, key, annotations)
        if annotations
        else bundle.sign_content(subject.content, key)
    )
    place.write_bytes(made.write() + b"\n")
    return {
        "source": source,
        "digest": subject.digest,
        "signer": f"key {shown_fingerprint(key.public.fingerprint)}",
        "stored": str(place),
    }


def _check_replaced(place: Path, subject: Subject, key: PrivateKey) -> None:
    """A signature of the same file by another key is not overwritten by accident."""
    try:
        present = read_detached(place.read_bytes(), str(place))
    except OSError:
        return
    mine = f"key {shown_fingerprint(key.public.fingerprint)}"
    if isinstance(present, SignatureDocument) and present.claims(subject) and present.claim != mine:
        advice = f"remove it, or use --out with one of the endings {', '.join(SIGNATURE_ENDINGS)}"
        raise SignatureError(f"{place}: has a signature by {present.claim}; {advice}")
