"""`RegistryClient`: pulls, pushes and referrers by the OCI distribution protocol.

Mirrors are asked first for pulls; whatever goes wrong there, the registry itself is asked. Requests are in
`pull_requests` and `uploads`.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.registry.connections import Deadline
from kubewasp.registry.errors import ContentError, RegistryError
from kubewasp.registry.oci_manifests import MAX_BYTES, Descriptor, read_document
from kubewasp.registry.pull_requests import PullRequests
from kubewasp.registry.referrers import Referrers
from kubewasp.registry.registry_answers import BusyError, failed, path_of
from kubewasp.registry.registry_transport import BrokenError, BytesBody, Request, Transport
from kubewasp.registry.transfers import SILENT, MemoryTarget, Receiver, WrongDigestError
from kubewasp.registry.uploads import Uploads

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.clock import Clock
    from kubewasp.registry.connections import Dialer
    from kubewasp.registry.references import Reference
    from kubewasp.registry.settings import Endpoint, RegistrySettings
    from kubewasp.registry.transfers import Content, TransferListener

_Found = TypeVar("_Found")
_ATTEMPTS: Final = 4
_MAX_WAIT: Final = 10.0


class RegistryClient:
    """Client of all registries. Thread-safe; idle connections are kept until `close`."""

    def __init__(
        self,
        settings: RegistrySettings,
        *,
        clock: Clock = SYSTEM_CLOCK,
        sleep: Callable[[float], None] = time.sleep,
        dialer: Dialer | None = None,
    ) -> None:
        self.settings: Final = settings
        self._clock = clock
        self._sleep = sleep
        self._transport = Transport(settings, clock, dialer)
        self._requests = PullRequests(self._transport, self.deadline)
        self._uploads = Uploads(self._transport, self.deadline)
        self._referrers = Referrers(self)

    def close(self) -> None:
        """Closes idle connections. Later requests open new ones."""
        self._transport.close()

    def __enter__(self) -> RegistryClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def deadline(self) -> Deadline:
        return Deadline(self._clock, self.settings.timeout)

    # ------------------------------------------------------------------ pulls

    def resolve(self, reference: Reference) -> Descriptor:
        """Media type, digest and size of a manifest, by HEAD where the registry knows the digest."""
        return self._pulled(reference, lambda endpoint: self._requests.resolve(endpoint, reference))

    def manifest(self, reference: Reference, *, from_mirrors: bool = True) -> tuple[bytes, Descriptor]:
        """Content and descriptor of a manifest or index. With a digest in the reference, exactly that one."""
        return self._pulled(
            reference,
            lambda endpoint: self._requests.manifest(endpoint, reference, MAX_BYTES),
            from_mirrors=from_mirrors,
        )

    def blob(self, reference: Reference, receiver: Receiver) -> None:
        """Receives a blob from where the receiver stands; an interrupted transfer is continued."""
        is_continued = receiver.position > 0
        try:
            self._pulled(reference, lambda endpoint: self._requests.blob(endpoint, receiver))
        except WrongDigestError:
            if not is_continued:
                raise
            # The beginning that was stored may be the wrong part.
            self._pulled(reference, lambda endpoint: self._requests.blob(endpoint, receiver))

    def blob_content(self, reference: Reference, descriptor: Descriptor, *, max_bytes: int) -> bytes:
        """A small blob in memory."""
        if descriptor.size > max_bytes:
            raise ContentError(f"{reference}: a blob of {descriptor.size} bytes, at most {max_bytes} are allowed")
        target = MemoryTarget()
        self.blob(reference, Receiver(descriptor, target))
        return bytes(target.content)

    def tags(self, reference: Reference) -> tuple[str, ...]:
        """Tags of the repository, sorted."""
        return self._pulled(reference, self._requests.tags)

    def check_access(self, reference: Reference) -> None:
        """RegistryError unless the host answers as a registry."""
        endpoint = self.settings.endpoints(reference, for_push=True)[0]
        with self._transport.open(endpoint, Request("GET", "/v2/"), self.deadline()) as answer:
            if answer.status != 200:
                raise failed(answer, f"{endpoint.host}: /v2/")

    # ------------------------------------------------------------------ pushes

    def push_blob(
        self,
        reference: Reference,
        descriptor: Descriptor,
        content: Content,
        *,
        mount_from: str = "",
        listener: TransferListener = SILENT,
    ) -> bool:
        """Uploads a blob unless the repository has it: whether bytes were sent. `mount_from` may have it already."""
        endpoint = self.settings.endpoints(reference, for_push=True)[0]
        return self._uploads.push(endpoint, descriptor, content, mount_from=mount_from, listener=listener)

    def push_manifest(self, reference: Reference, content: bytes) -> Descriptor:
        """Uploads a manifest or index by its digest if the reference has one, else under the tag; notes its subject."""
        document = read_document(content, str(reference))
        descriptor = Descriptor.of(content, document.media_type)
        if reference.digest and reference.digest != descriptor.digest:
            raise ContentError(f"{reference}: the manifest has the digest {descriptor.digest}")
        endpoint = self.settings.endpoints(reference, for_push=True)[0]
        has_referrers = self._put_manifest(endpoint, reference.target or descriptor.digest, content, descriptor)
        if document.subject is not None and not has_referrers:
            self._referrers.add_to_tag(reference, document, descriptor)
        return descriptor

    def _put_manifest(self, endpoint: Endpoint, target: str, content: bytes, descriptor: Descriptor) -> bool:
        """Whether the registry has noted the subject."""
        path = path_of(endpoint, "manifests", target)
        request = Request("PUT", path, {"Content-Type": descriptor.media_type}, BytesBody(content), "pull,push")
        where = f"{endpoint.name}: push of manifest {target}"

        def put() -> bool:
            with self._transport.open(endpoint, request, self.deadline()) as answer:
                if answer.status not in (200, 201, 202):
                    raise failed(answer, where, is_push=True)
                stored = answer.header("Docker-Content-Digest")
                if stored and stored != descriptor.digest:
                    raise ContentError(f"{where}: the registry has stored something else than was sent")
                return bool(answer.header("OCI-Subject"))

        return self._retried(put)

    # ------------------------------------------------------------------ referrers

    def referrers(self, reference: Reference, digest: str, artifact_type: str = "") -> tuple[Descriptor, ...]:
        """Manifests whose subject is the digest, such as signatures; from the API, or from the tag in its place."""
        return self._referrers.find(reference, digest, artifact_type)

    def referrer_pages(self, reference: Reference, digest: str, artifact_type: str) -> tuple[bytes, ...] | None:
        """Image indexes that the API of referrers answers with; None if the registry has no such API."""
        return self._pulled(reference, lambda endpoint: self._requests.referrer_pages(endpoint, digest, artifact_type))

    # ------------------------------------------------------------------ attempts

    def _pulled(self, reference: Reference, pull: Callable[[Endpoint], _Found], *, from_mirrors: bool = True) -> _Found:
        """The result of the first place that has it. An error of a mirror is not the last word."""
        *mirrors, own = self.settings.endpoints(reference, for_push=not from_mirrors)
        for mirror in mirrors:
            try:
                return self._retried(partial(pull, mirror))
            except RegistryError:
                continue
        return self._retried(partial(pull, own))

    def _retried(self, attempt: Callable[[], _Found]) -> _Found:
        """The result; a broken connection and a busy server are tried again."""
        for number in range(1, _ATTEMPTS):
            try:
                return attempt()
            except (BrokenError, BusyError) as error:
                waiting = error.retry_after if isinstance(error, BusyError) else 0.0
                self._sleep(min(max(waiting, 0.25 * 2**number), _MAX_WAIT))
        return attempt()
