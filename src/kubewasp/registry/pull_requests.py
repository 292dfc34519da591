"""Requests to one endpoint for manifests, blobs, tags and referrers. All content is bounded and digest-checked."""

from __future__ import annotations

import http.client
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from kubewasp.registry.errors import ContentError
from kubewasp.registry.oci_manifests import (
    INDEX,
    INDEX_TYPES,
    MANIFEST_TYPES,
    MAX_BYTES,
    Descriptor,
    digest_of,
    read_document,
    read_object,
)
from kubewasp.registry.references import is_digest
from kubewasp.registry.registry_answers import check_encoding, failed, next_page, path_of
from kubewasp.registry.registry_transport import BrokenError, Request
from kubewasp.registry.transfers import CHUNK, WrongDigestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.registry.connections import Answer, Deadline
    from kubewasp.registry.references import Reference
    from kubewasp.registry.registry_transport import Transport
    from kubewasp.registry.settings import Endpoint
    from kubewasp.registry.transfers import Receiver

ACCEPT: Final = ", ".join((*MANIFEST_TYPES, *INDEX_TYPES))
_ATTEMPTS: Final = 4
_MAX_PAGES: Final = 100
_MAX_TAGS: Final = 100_000
_TAG_PAGE: Final = 1000
_RANGE: Final = re.compile(r"bytes (\d{1,19})-(\d{1,19})/(\d{1,19}|\*)")


class PullRequests:
    """Requests to one endpoint after another; `deadline` makes the time limit of each."""

    def __init__(self, transport: Transport, deadline: Callable[[], Deadline]) -> None:
        self._transport = transport
        self._deadline = deadline

    def resolve(self, endpoint: Endpoint, reference: Reference) -> Descriptor:
        where = f"{endpoint.name}: manifest {reference.target}"
        request = Request("HEAD", path_of(endpoint, "manifests", reference.target), {"Accept": ACCEPT})
        with self._transport.open(endpoint, request, self._deadline()) as answer:
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
        return self.manifest(endpoint, reference, MAX_BYTES)[1]  # the registry does not tell by HEAD

    def manifest(self, endpoint: Endpoint, reference: Reference, max_bytes: int) -> tuple[bytes, Descriptor]:
        where = f"{endpoint.name}: manifest {reference.target}"
        request = Request("GET", path_of(endpoint, "manifests", reference.target), {"Accept": ACCEPT})
        with self._transport.open(endpoint, request, self._deadline()) as answer:
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

    def blob(self, endpoint: Endpoint, receiver: Receiver) -> None:
        deadline = self._deadline()
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

    def tags(self, endpoint: Endpoint) -> tuple[str, ...]:
        where = f"{endpoint.name}: tags"
        found: dict[str, None] = {}
        target = f"{path_of(endpoint, 'tags', 'list')}?n={_TAG_PAGE}"
        for _ in range(_MAX_PAGES):
            with self._transport.open(endpoint, Request("GET", target), self._deadline()) as answer:
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

    def referrer_pages(self, endpoint: Endpoint, digest: str, artifact_type: str) -> tuple[bytes, ...] | None:
        where = f"{endpoint.name}: referrers of {digest}"
        query = f"?{urlencode({'artifactType': artifact_type})}" if artifact_type else ""
        target = path_of(endpoint, "referrers", digest) + query
        pages: list[bytes] = []
        for _ in range(_MAX_PAGES):
            request = Request("GET", target, {"Accept": INDEX})
            with self._transport.open(endpoint, request, self._deadline()) as answer:
                if answer.status == 200 and answer.media_type in (INDEX, "application/json"):
                    content = answer.read(MAX_BYTES)
                elif not pages and answer.status in (200, 400, 404, 405, 501):
                    return None
                else:
                    raise failed(answer, where)
                following = next_page(answer.headers("Link"), target)
            pages.append(content)
            if sum(map(len, pages)) > MAX_BYTES:
                raise ContentError(f"{where}: longer than {MAX_BYTES} bytes")
            if not following:
                return tuple(pages)
            target = following
        raise ContentError(f"{where}: more than {_MAX_PAGES} pages")
