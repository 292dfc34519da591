"""`RegistryClient`: the requests of the OCI distribution protocol. Everything received is bounded and digest-checked.

Mirrors are asked first for pulls; whatever goes wrong there, the registry itself is asked. Pushes of blobs are in
`uploads`, the tag in place of the API of referrers in `referrers`.
"""

from __future__ import annotations

import http.client
import re
import time
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlencode

from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.registry.answers import BusyError, check_encoding, failed, next_page, path_of
from kubewasp.registry.connections import Deadline
from kubewasp.registry.errors import ContentError, RegistryError
from kubewasp.registry.manifests import (
    INDEX_TYPES,
    MANIFEST_TYPES,
    MAX_BYTES,
    Descriptor,
    digest_of,
    read_document,
    read_object,
)
from kubewasp.registry.references import is_digest
from kubewasp.registry.referrers import Referrers
from kubewasp.registry.transfers import CHUNK, SILENT, MemoryTarget, Receiver, WrongDigestError
from kubewasp.registry.transport import BrokenError, BytesBody, Request, Transport
from kubewasp.registry.uploads import Uploads

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.clock import Clock
    from kubewasp.registry.connections import Answer, Dialer
    from kubewasp.registry.references import Reference
    from kubewasp.registry.settings import Endpoint, RegistrySettings
    from kubewasp.registry.transfers import Content, TransferListener

_Found = TypeVar("_Found")
ACCEPT: Final = ", ".join((*MANIFEST_TYPES, *INDEX_TYPES))
_ATTEMPTS: Final = 4
_MAX_WAIT: Final = 10.0
_MAX_PAGES: Final = 100
_MAX_TAGS: Final = 100_000
_TAG_PAGE: Final = 1000
_RANGE: Final = re.compile(r"bytes (\d{1,19})-(\d{1,19})/(\d{1,19}|\*)")


class RegistryClient:
    """Client of all registries. Thread-safe; connections are kept until `close`."""

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

    def close(self) -> None:
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
        return self._pulled(reference, lambda endpoint: self._resolve(endpoint, reference))

    def manifest(self, reference: Reference, *, max_bytes: int = MAX_BYTES) -> tuple[bytes, Descriptor]:
        """Content and descriptor of a manifest or index. With a digest in the reference, exactly that one."""
        return self._pulled(reference, lambda endpoint: self._manifest(endpoint, reference, max_bytes))

    def blob(self, reference: Reference, receiver: Receiver) -> None:
        """Receives a blob from where the receiver stands; an interrupted transfer is continued."""
        is_continued = receiver.position > 0
        try:
            self._pulled(reference, lambda endpoint: self._blob(endpoint, receiver))
        except WrongDigestError:
            if not is_continued:
                raise
            # The beginning that was stored may be the wrong part.
            self._pulled(reference, lambda endpoint: self._blob(endpoint, receiver))

    def blob_content(self, reference: Reference, descriptor: Descriptor, *, max_bytes: int) -> bytes:
        """A small blob in memory."""
        if descriptor.size > max_bytes:
            raise ContentError(f"{reference}: a blob of {descriptor.size} bytes, at most {max_bytes} are allowed")
        target = MemoryTarget()
        self.blob(reference, Receiver(descriptor, target))
        return bytes(target.content)

    def tags(self, reference: Reference) -> tuple[str, ...]:
        """Tags of the repository, sorted."""
        return self._pulled(reference, self._tags)

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
        return self._uploads().push(endpoint, descriptor, content, mount_from=mount_from, listener=listener)

    def push_manifest(self, reference: Reference, content: bytes) -> Descriptor:
        """Uploads a manifest or index under its tag, or by its digest. The referrers of its subject are kept up."""
        document = read_document(content, str(reference))
        descriptor = Descriptor.of(content, document.media_type)
        if reference.digest and reference.digest != descriptor.digest:
            raise ContentError(f"{reference}: the manifest has the digest {descriptor.digest}")
        endpoint = self.settings.endpoints(reference, for_push=True)[0]
        has_referrers = self._put_manifest(endpoint, reference.tag or descriptor.digest, content, descriptor)
        if document.subject is not None and not has_referrers:
            self._referrers().add_to_tag(reference, document, descriptor)
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
        return self._referrers().find(reference, digest, artifact_type)

    def referrer_pages(self, reference: Reference, digest: str, artifact_type: str) -> tuple[bytes, ...] | None:
        """Image indexes that the API of referrers answers with; None if the registry has no such API."""
        return self._pulled(reference, lambda endpoint: self._referrer_pages(endpoint, digest, artifact_type))

    # ------------------------------------------------------------------ requests

    def _resolve(self, endpoint: Endpoint, reference: Reference) -> Descriptor:
        where = f"{endpoint.name}: manifest {reference.target}"
        request = Request("HEAD", path_of(endpoint, "manifests", reference.target), {"Accept": ACCEPT})
        with self._transport.open(endpoint, request, self.deadline()) as answer:
            digest, size, media_type = answer.header("Docker-Content-Digest"), answer.length, answer.media_type
            length = answer.header("Content-Length")
        if answer.status == 200:
            size = int(length) if length.isdigit() and len(length) < 19 else None
            is_known = is_digest(digest) and size is not None and media_type in (*MANIFEST_TYPES, *INDEX_TYPES)
            if is_known and size is not None:
                if reference.digest and digest != reference.digest:
                    raise ContentError(f"{where}: the registry names another digest, {digest}")
                return Descriptor(media_type, digest, size)
        elif answer.status not in (405, 400):
            raise failed(answer, where)
        return self._manifest(endpoint, reference, MAX_BYTES)[1]  # the registry does not tell by HEAD

    def _manifest(self, endpoint: Endpoint, reference: Reference, max_bytes: int) -> tuple[bytes, Descriptor]:
        where = f"{endpoint.name}: manifest {reference.target}"
        request = Request("GET", path_of(endpoint, "manifests", reference.target), {"Accept": ACCEPT})
        with self._transport.open(endpoint, request, self.deadline()) as answer:
            if answer.status != 200:
                raise failed(answer, where)
            check_encoding(answer, where)
            content, media_type = answer.read(max_bytes), answer.media_type
            named = answer.header("Docker-Content-Digest")
        if len(content) > max_bytes:
            raise ContentError(f"{where}: longer than {max_bytes} bytes")
        digest = digest_of(content)
        if reference.digest and digest != reference.digest:
            raise ContentError(f"{where}: its content has the digest {digest}, expected {reference.digest}")
        if is_digest(named) and named != digest:
            raise ContentError(f"{where}: its content has the digest {digest}, the registry names {named}")
        given = media_type if media_type in (*MANIFEST_TYPES, *INDEX_TYPES) else ""
        document = read_document(content, where, media_type=given)
        return content, Descriptor(document.media_type, digest, len(content))

    def _blob(self, endpoint: Endpoint, receiver: Receiver) -> None:
        deadline = self.deadline()
        failures = 0
        while receiver.missing:
            before = receiver.position
            try:
                self._receive(endpoint, receiver, deadline)
            except BrokenError:
                failures = failures + 1 if receiver.position == before else 1
                if failures >= _ATTEMPTS:
                    raise
        try:
            receiver.check()
        except WrongDigestError:
            receiver.restart()
            raise

    def _receive(self, endpoint: Endpoint, receiver: Receiver, deadline: Deadline) -> None:
        descriptor, start = receiver.descriptor, receiver.position
        where = f"{endpoint.name}: blob {descriptor.digest}"
        headers = {"Accept": "*/*"} | ({"Range": f"bytes={start}-"} if start else {})
        request = Request("GET", path_of(endpoint, "blobs", descriptor.digest), headers)
        with self._transport.open(endpoint, request, deadline) as answer:
            if answer.status not in ((200, 206) if start else (200,)):
                raise failed(answer, where)
            check_encoding(answer, where)
            skipped = start
            if answer.status == 206:
                found = _RANGE.fullmatch(answer.header("Content-Range"))
                if found is None or int(found[1]) != start:
                    raise ContentError(f"{where}: the registry answers with another part than asked for")
                skipped = 0
            expected = receiver.missing + skipped
            if answer.length is not None and answer.length != expected:
                raise ContentError(f"{where}: {answer.length} bytes are announced, expected {expected}")
            self._fill(answer, receiver, skipped)

    def _fill(self, answer: Answer, receiver: Receiver, skipped: int) -> None:
        limit = receiver.missing + skipped
        buffer = memoryview(bytearray(min(CHUNK, limit + 1)))
        while count := answer.read_into(buffer, limit):
            part = buffer[min(count, skipped) : count]
            skipped -= count - len(part)
            receiver.feed(part)
        if receiver.missing:
            raise http.client.IncompleteRead(b"", receiver.missing)

    def _tags(self, endpoint: Endpoint) -> tuple[str, ...]:
        where = f"{endpoint.name}: tags"
        found: dict[str, None] = {}
        target = f"{path_of(endpoint, 'tags', 'list')}?n={_TAG_PAGE}"
        for _ in range(_MAX_PAGES):
            with self._transport.open(endpoint, Request("GET", target), self.deadline()) as answer:
                if answer.status != 200:
                    raise failed(answer, where)
                content = answer.read(MAX_BYTES)
                following = next_page(answer.headers("Link"), target)
            tags = read_object(content, where).get("tags") or []
            if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
                raise ContentError(f"{where}: expected a list of texts")
            found.update(dict.fromkeys(tags))
            if not following or len(found) > _MAX_TAGS:
                return tuple(sorted(found))
            target = following
        raise ContentError(f"{where}: more than {_MAX_PAGES} pages")

    def _referrer_pages(self, endpoint: Endpoint, digest: str, artifact_type: str) -> tuple[bytes, ...] | None:
        where = f"{endpoint.name}: referrers of {digest}"
        query = f"?{urlencode({'artifactType': artifact_type})}" if artifact_type else ""
        target = path_of(endpoint, "referrers", digest) + query
        pages: list[bytes] = []
        for _ in range(_MAX_PAGES):
            with self._transport.open(
                endpoint, Request("GET", target, {"Accept": INDEX_TYPES[0]}), self.deadline()
            ) as answer:
                if answer.status == 200 and answer.media_type in (INDEX_TYPES[0], "application/json"):
                    content = answer.read(MAX_BYTES)
                elif not pages and (answer.status in (200, 400, 404, 405, 501)):
                    return None
                else:
                    raise failed(answer, where)
                following = next_page(answer.headers("Link"), target)
            if len(content) > MAX_BYTES:
                raise ContentError(f"{where}: longer than {MAX_BYTES} bytes")
            pages.append(content)
            if not following:
                return tuple(pages)
            target = following
        raise ContentError(f"{where}: more than {_MAX_PAGES} pages")

    # ------------------------------------------------------------------ attempts

    def _pulled(self, reference: Reference, pull: Callable[[Endpoint], _Found]) -> _Found:
        """The result of the first place that has it. An error of a mirror is not the last word."""
        *mirrors, own = self.settings.endpoints(reference)
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

    def _uploads(self) -> Uploads:
        return Uploads(self._transport, self.deadline)

    def _referrers(self) -> Referrers:
        return Referrers(self)
