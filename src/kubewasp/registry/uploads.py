"""Uploads of blobs: in one piece; in parts if the registry wants them, or to continue after a broken connection."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, quote, urlencode, urljoin, urlsplit

from kubewasp.registry.errors import ContentError, DeniedError, RegistryError
from kubewasp.registry.registry_answers import failed, path_of
from kubewasp.registry.registry_transport import BrokenError, Request
from kubewasp.registry.settings import host_name
from kubewasp.registry.transfers import SILENT, Slice

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.registry.connections import Answer, Deadline
    from kubewasp.registry.oci_manifests import Descriptor
    from kubewasp.registry.registry_transport import Transport
    from kubewasp.registry.settings import Endpoint
    from kubewasp.registry.transfers import Content, TransferListener

CHUNK: Final = 8 << 20  # of an upload in parts
_TOO_LARGE: Final = 413
_MAX_CHUNK: Final = 1 << 30
_ATTEMPTS: Final = 4
_RANGE: Final = re.compile(r"(?:bytes=)?0-(\d{1,19})")
_OCTETS: Final = "application/octet-stream"


class Uploads:
    """Uploads to one registry after another."""

    def __init__(self, transport: Transport, deadline: Callable[[], Deadline]) -> None:
        self._transport = transport
        self._deadline = deadline

    def push(
        self,
        endpoint: Endpoint,
        descriptor: Descriptor,
        content: Content,
        *,
        mount_from: str = "",
        listener: TransferListener = SILENT,
    ) -> bool:
        """Whether bytes were sent: not if the repository has the blob, or could take it from `mount_from`."""
        if self.has(endpoint, descriptor.digest):
            return False
        upload = _Upload(self._transport, endpoint, descriptor, content, listener=listener, deadline=self._deadline())
        return upload.run(mount_from)

    def has(self, endpoint: Endpoint, digest: str) -> bool:
        request = Request("HEAD", path_of(endpoint, "blobs", digest), actions="pull,push")
        with self._transport.open(endpoint, request, self._deadline()) as answer:
            if answer.status not in (200, 404):
                raise failed(answer, f"{endpoint.name}: blob {digest}")
            return answer.status == 200


class _Upload:
    """Upload of one blob."""

    def __init__(
        self,
        transport: Transport,
        endpoint: Endpoint,
        descriptor: Descriptor,
        content: Content,
        *,
        listener: TransferListener,
        deadline: Deadline,
    ) -> None:
        if content.size != descriptor.size:
            raise ContentError(f"blob {descriptor.digest}: {content.size} bytes, expected {descriptor.size}")
        self._transport = transport
        self._endpoint = endpoint
        self._descriptor = descriptor
        self._content = content
        self._listener = listener
        self._deadline = deadline
        self._where = f"{endpoint.name}: push of blob {descriptor.digest}"
        self._location = ""
        self._chunk = CHUNK

    def run(self, mount_from: str) -> bool:
        if self._begin(mount_from):
            return False
        try:
            if self._finish(0) != _TOO_LARGE:
                return True
            self._begin("")
            position = 0
        except BrokenError:
            position = self._position()
        for _ in range(_ATTEMPTS):
            try:
                self._send_parts(position)
                return True
            except BrokenError:
                position = self._position()
        raise BrokenError(f"{self._where}: the connection ended {_ATTEMPTS} times")

    def _begin(self, mount_from: str) -> bool:
        """Opens the upload; whether the blob was taken from another repository instead."""
        target = path_of(self._endpoint, "blobs", "uploads") + "/"
        if mount_from:
            target += f"?{urlencode({'mount': self._descriptor.digest, 'from': mount_from})}"
        request = Request("POST", target, actions="pull,push")
        with self._transport.open(self._endpoint, request, self._deadline) as answer:
            if answer.status == 201 and mount_from:
                return True
            if answer.status != 202:
                raise failed(answer, self._where, is_push=True)
            self._move(answer, target)
            least = answer.header("OCI-Chunk-Min-Length")
            if least.isdigit() and len(least) < 11:
                self._chunk = min(max(self._chunk, int(least)), _MAX_CHUNK)
        return False

    def _finish(self, start: int) -> int:
        """Sends what is left and closes the upload: the status of success, or 413."""
        body = Slice(self._content, start, self._content.size, self._listener)
        path, _, query = self._location.partition("?")
        values = [*parse_qsl(query, keep_blank_values=True), ("digest", self._descriptor.digest)]
        headers = {"Content-Type": _OCTETS}
        if start and body.size:
            headers["Content-Range"] = f"{start}-{self._content.size - 1}"
        target = f"{path}?{urlencode(values, quote_via=quote)}"
        request = Request("PUT", target, headers, body, "pull,push", is_repeatable=False)
        with self._transport.open(self._endpoint, request, self._deadline) as answer:
            if answer.status == _TOO_LARGE and not start:
                return _TOO_LARGE
            if answer.status not in (201, 204):
                raise failed(answer, self._where)
            stored = answer.header("Docker-Content-Digest")
            if stored and stored != self._descriptor.digest:
                raise ContentError(f"{self._where}: the registry has stored something else than was sent")
            return answer.status

    def _send_parts(self, position: int) -> None:
        size = self._content.size
        while position < size:
            end = min(position + self._chunk, size)
            headers = {"Content-Type": _OCTETS, "Content-Range": f"{position}-{end - 1}"}
            body = Slice(self._content, position, end, self._listener)
            request = Request("PATCH", self._location, headers, body, "pull,push", is_repeatable=False)
            with self._transport.open(self._endpoint, request, self._deadline) as answer:
                if answer.status == 416:
                    position = self._position()
                    continue
                if answer.status not in (202, 204):
                    raise failed(answer, self._where)
                self._move(answer, self._location)
                position = self._after(answer, end)
        self._finish(size)

    def _position(self) -> int:
        """Bytes that the registry has."""
        request = Request("GET", self._location, actions="pull,push")
        with self._transport.open(self._endpoint, request, self._deadline) as answer:
            if answer.status != 204:
                raise failed(answer, self._where)
            self._move(answer, self._location)
            return self._after(answer, 0)

    def _after(self, answer: Answer, default: int) -> int:
        """The position after the last byte of a Range header. `0-0` is no byte to some registries, one to others."""
        found = _RANGE.fullmatch(answer.header("Range"))
        if found is None:
            return default
        position = int(found[1]) + 1 if int(found[1]) else 0
        if position > self._content.size:
            raise ContentError(f"{self._where}: the registry claims to have {position} bytes")
        return position

    def _move(self, answer: Answer, target: str) -> None:
        """Takes the address of the next request: on the same host, whatever scheme and port a proxy makes of it."""
        location = answer.header("Location")
        if not location:
            if self._location:
                return
            raise RegistryError(f"{self._where}: the registry gives no address for the upload")
        host = self._endpoint.server
        try:
            found = urlsplit(urljoin(f"https://{host}{target}", location))
            name = found.hostname
        except ValueError:
            name = None
        if name != host_name(host):
            raise DeniedError(f"{self._where}: the registry wants it on another host")
        self._location = (found.path or "/") + (f"?{found.query}" if found.query else "")
