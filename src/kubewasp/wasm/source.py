"""`GuestSources`: guests from files, HTTP servers and OCI registries, checked by the trust policy before their use.

The order is the same everywhere: the meaning of the address, its signatures, and then the content by its digest.
"""

from __future__ import annotations

import hashlib
import logging
import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING

from kubewasp.input_file import StandardInput
from kubewasp.registry.errors import RegistryError
from kubewasp.registry.references import Reference, is_reference
from kubewasp.registry.settings import RegistrySettings
from kubewasp.wasm.download import without_credentials
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest_files import HTTP_TIMEOUT, MAX_BYTES, check_digest, read_guest_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.registry.pulling import Puller
    from kubewasp.registry.registry_client import RegistryClient
    from kubewasp.registry.settings import PullPolicy
    from kubewasp.registry.store import LocalStore
    from kubewasp.registry.transfers import TransferListener
    from kubewasp.trust.policy import TrustPolicy
    from kubewasp.trust.signatures import Evidence, Subject

logger = logging.getLogger(__name__)
__all__ = ["MAX_BYTES", "FetchedGuest", "GuestSources", "fetch"]


@dataclass(frozen=True, slots=True)
class FetchedGuest:
    """A guest, and where it came from.

    Attributes:
        wasm: The module or component.
        digest: `sha256:…` of the wasm.
        source: The address for messages, with the digest of the manifest for one of a registry.
        version: What `GuestSources.resolve` gives for this content: the digest of a manifest, or of the file.
        manifest_digest: The digest of the manifest; empty outside of registries.
        signers: Names of those whose signatures were checked.
    """

    wasm: bytes = field(repr=False)
    digest: str
    source: str
    version: str
    manifest_digest: str = ""
    signers: tuple[str, ...] = ()


class GuestSources:
    """All places of guests, for one process. Files of registries are read at the first `oci://` address."""

    def __init__(
        self,
        registries: RegistrySettings | None = None,
        trust: TrustPolicy | None = None,
        *,
        client: RegistryClient | None = None,
        store: LocalStore | None = None,
    ) -> None:
        self._registries = registries or RegistrySettings()
        self._trust = trust
        self._given_client = client
        self._given_store = store

    @cached_property
    def puller(self) -> Puller:
        """Registries and the local store."""
        from kubewasp.registry.pulling import Puller
        from kubewasp.registry.registries_conf import with_user_files
        from kubewasp.registry.registry_client import RegistryClient
        from kubewasp.registry.store import user_store

        client = self._given_client or RegistryClient(with_user_files(self._registries))
        return Puller(client, self._given_store or user_store())

    def resolve(self, source: str) -> str:
        """What the address means now, as a digest: HEAD for a registry; a file or another address is read."""
        if not is_reference(source):
            content = read_guest_file(source, max_bytes=MAX_BYTES).content
            return f"sha256:{hashlib.sha256(content).hexdigest()}"
        with self._registry() as puller:
            reference = Reference.parse(source)
            return reference.digest or puller.resolve(reference).digest

    def fetch(
        self,
        source: str | os.PathLike[str] | StandardInput,
        *,
        sha256: str | None = None,
        max_bytes: int,
        pull_policy: PullPolicy | None = None,
        timeout: float = HTTP_TIMEOUT,
        listener: TransferListener | None = None,
    ) -> FetchedGuest:
        """The guest at the address. GuestLoadError if it cannot be loaded, or is not trusted.

        Args:
            source: A path, a `file://`, `http://`, `https://` or `oci://` address, or standard input.
            sha256: The expected digest of the file, or of the module in a registry.
            max_bytes: limits.guestSize, or a bound that no setting raises.
            pull_policy: `Always`, `IfNotPresent` or `Never`; by default `Always` for the tag latest alone.
            timeout: Seconds of a download outside of registries.
            listener: Progress of a download from a registry.
        """
        address = source if isinstance(source, StandardInput) else os.fspath(source)
        if isinstance(address, str) and is_reference(address):
            return self._pulled(address, sha256, max_bytes, pull_policy, listener)
        return self._read(address, sha256, max_bytes, timeout)

    def signatures(self, source: str) -> tuple[Subject, tuple[Evidence, ...]]:
        """The signed thing at an address, as it is now, and its signatures; without the local store."""
        from kubewasp.trust.signatures import Subject

        if not is_reference(source):
            from kubewasp.wasm.guest_signatures import signatures_beside

            file = read_guest_file(source, max_bytes=MAX_BYTES)
            return Subject.of_content(file.content, file.shown), signatures_beside(source)
        from kubewasp.registry.signature_storage import find_signatures

        with self._registry() as puller:
            named = Reference.parse(source)
            digest = puller.client.resolve(named).digest
            return Subject(digest, str(named.at(digest))), find_signatures(puller.client, named, digest)

    # ------------------------------------------------------------------ files and HTTP

    def _read(self, source: str | StandardInput, sha256: str | None, max_bytes: int, timeout: float) -> FetchedGuest:
        file = read_guest_file(source, sha256=sha256, max_bytes=max_bytes, timeout=timeout)
        version = f"sha256:{hashlib.sha256(file.content).hexdigest()}"
        signers: tuple[str, ...] = ()
        if self._trust is not None:
            from kubewasp.trust.signatures import Subject
            from kubewasp.trust.source_patterns import STANDARD_INPUT
            from kubewasp.wasm.guest_signatures import signatures_beside

            address = STANDARD_INPUT if isinstance(source, StandardInput) else source
            subject = Subject(version, without_credentials(address), file.content)
            evidence: tuple[Evidence, ...] = ()
            if self._trust.needs_signatures(subject.source) and not isinstance(source, StandardInput):
                evidence = signatures_beside(source, timeout=timeout)
            signers = _checked(self._trust, subject, evidence)
        wasm = file.wasm(max_bytes)
        digest = version if wasm is file.content else f"sha256:{hashlib.sha256(wasm).hexdigest()}"
        return FetchedGuest(wasm, digest, file.shown, version, signers=signers)

    # ------------------------------------------------------------------ registries

    @contextmanager
    def _registry(self) -> Iterator[Puller]:
        """Connections stay open for one operation: the next may be in a minute, or never."""
        try:
            yield self.puller
        except RegistryError as error:
            raise GuestLoadError(f"wasm: {error}") from None
        finally:
            self.puller.client.close()

    def _pulled(
        self,
        source: str,
        sha256: str | None,
        max_bytes: int,
        policy: PullPolicy | None,
        listener: TransferListener | None,
    ) -> FetchedGuest:
        from kubewasp.registry.transfers import SILENT

        with self._registry() as puller:
            named = Reference.parse(source)
            reference = named.at(puller.current(named, policy).digest)
            signers = self._signers(reference, policy)
            pulled = puller.pull(reference, max_bytes=max_bytes, listener=listener or SILENT)
        if sha256 is not None:
            check_digest(str(reference), pulled.digest.removeprefix("sha256:"), sha256)
        return FetchedGuest(
            pulled.wasm, pulled.digest, str(reference), reference.digest, reference.digest, signers=signers
        )

    def _signers(self, reference: Reference, policy: PullPolicy | None) -> tuple[str, ...]:
        """Signers of the manifest. Signatures in the local store do, unless others are needed."""
        if self._trust is None:
            return ()
        from kubewasp.registry.signature_storage import find_signatures
        from kubewasp.trust.signatures import Subject

        subject = Subject(reference.digest, str(reference))
        evidence: tuple[Evidence, ...] = ()
        if self._trust.needs_signatures(subject.source):
            evidence = find_signatures(self.puller.store, reference, reference.digest)
            if policy != "Never" and not self._trust.is_satisfied(subject, evidence):
                evidence = find_signatures(self.puller, reference, reference.digest)
        return _checked(self._trust, subject, evidence)


def default_name(source: str | os.PathLike[str] | StandardInput) -> str:
    """Name of a guest without one of its own: that of its file, or of its repository."""
    if isinstance(source, StandardInput):
        return "guest"
    text = without_credentials(os.fspath(source))
    if is_reference(text):
        text = text.partition("@")[0]
        return PurePath(text.rpartition(":")[0] if ":" in text.rpartition("/")[2] else text).name
    return PurePath(text.split("?")[0].removesuffix(".gz")).stem or "guest"


def fetch(
    source: str | os.PathLike[str] | StandardInput,
    *,
    sha256: str | None = None,
    max_bytes: int,
    timeout: float = HTTP_TIMEOUT,
) -> bytes:
    """The wasm at an address, with the settings of the user alone: for commands without a configuration file."""
    return GuestSources().fetch(source, sha256=sha256, max_bytes=max_bytes, timeout=timeout).wasm


def _checked(trust: TrustPolicy, subject: Subject, evidence: tuple[Evidence, ...]) -> tuple[str, ...]:
    from kubewasp.trust.errors import TrustError

    try:
        signers = trust.check(subject, evidence).signers
    except TrustError as error:
        raise GuestLoadError(f"wasm: {error}") from None
    if signers:
        keys = {"source": subject.source, "digest": subject.digest, "signers": ", ".join(signers)}
        logger.info("Guest verified", extra=keys)
    return signers
