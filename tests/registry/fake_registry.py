"""A registry in this process, with the faults that a test wants: for tests of the client, of commands and of pages."""

import hashlib
import json
import re
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from kubewasp.registry.oci_manifests import INDEX

Answer = Callable[["Exchange"], bool]


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def without_user_files(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Files and variables of the user have no effect on registries."""
    monkeypatch.setenv("HOME", str(home))
    variables = ["DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"]
    variables += ["CONTAINERS_REGISTRIES_CONF", "REGISTRIES_CONFIG_PATH", "SOURCE_DATE_EPOCH"]
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        variables += [name, name.upper()]
    for name in variables:
        monkeypatch.delenv(name, raising=False)


class FakeRegistry:
    """Content and behaviour of a registry. `requests` has a line for each request that arrived."""

    def __init__(self, *, has_referrers: bool = True) -> None:
        self.blobs: dict[tuple[str, str], bytes] = {}
        self.manifests: dict[tuple[str, str], tuple[bytes, str]] = {}
        self.uploads: dict[str, bytearray] = {}
        self.requests: list[str] = []
        self.authorizations: list[str] = []
        self.has_referrers = has_referrers
        self.basic = ""  # required Authorization header
        self.token = ""  # required bearer token
        self.challenge = ""  # WWW-Authenticate header
        self.page_size = 100
        self.host = ""
        # Called in place of the usual behaviour; false to fall back to it.
        self.answers: list[tuple[str, re.Pattern[str], Answer]] = []
        self._lock = threading.Lock()

    def on(self, method: str, path: str, answer: Answer) -> None:
        self.answers.append((method, re.compile(path), answer))

    def reference(self, name: str) -> str:
        return f"oci://{self.host}/{name}"

    def put_blob(self, repository: str, content: bytes) -> str:
        self.blobs[repository, digest_of(content)] = content
        return digest_of(content)

    def put_manifest(self, repository: str, tag: str, content: bytes, media_type: str) -> str:
        digest = digest_of(content)
        self.manifests[repository, digest] = self.manifests[repository, tag] = content, media_type
        return digest

    @contextmanager
    def serving(self, *, certificate: tuple[Path, Path] | None = None) -> Iterator["FakeRegistry"]:
        """Serves on a loopback port; `certificate` and its key for TLS."""
        handler = type("Handler", (_Handler,), {"registry": self})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        self.host = f"127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


@dataclass
class Exchange:
    """A request and the way to answer it."""

    handler: BaseHTTPRequestHandler
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    state: dict[str, int] = field(default_factory=dict)

    def body(self) -> bytes:
        return self.handler.rfile.read(int(self.headers.get("content-length", "0")))

    def send(self, status: int, content: bytes = b"", **headers: str) -> bool:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.handler.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **named}.items():
            if value != "-":
                self.handler.send_header(name, value)
        self.handler.end_headers()
        if self.method != "HEAD":
            self.handler.wfile.write(content)
        return True

    def send_raw(self, content: bytes) -> bool:
        self.handler.wfile.write(content)
        self.handler.close_connection = True
        return True

    def hang_up(self) -> bool:
        self.handler.close_connection = True
        return True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    registry: FakeRegistry

    def handle(self) -> None:
        with suppress(OSError, ValueError):  # the client has left
            super().handle()

    def log_message(self, *_: object) -> None:
        pass

    def _handle(self) -> None:
        address = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(address.query, keep_blank_values=True).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        exchange = Exchange(self, self.command, address.path, query, headers)
        registry = self.registry
        with registry._lock:
            registry.requests.append(f"{self.command} {self.path}")
            registry.authorizations.append(headers.get("authorization", ""))
        for method, path, answer in registry.answers:
            if method in (self.command, "*") and path.search(self.path) and answer(exchange):
                return
        if not self._is_allowed(headers.get("authorization", "")):
            exchange.body()
            exchange.send(401, b"{}", WWW_Authenticate=registry.challenge or 'Basic realm="registry"')
            return
        _answer(registry, exchange)

    def _is_allowed(self, authorization: str) -> bool:
        registry = self.registry
        if registry.token:
            return authorization == f"Bearer {registry.token}"
        return not registry.basic or authorization == registry.basic

    do_GET = do_HEAD = do_PUT = do_POST = do_PATCH = do_DELETE = _handle  # noqa: N815


_PATH = re.compile(r"/v2/(.+)/(manifests|blobs|tags|referrers)/(.+)")


def _answer(registry: FakeRegistry, exchange: Exchange) -> None:
    if exchange.path == "/v2/":
        exchange.send(200, b"{}")
        return
    found = _PATH.fullmatch(exchange.path)
    if found is None:
        exchange.body()
        exchange.send(404)
        return
    repository, kind, target = found.groups()
    if kind == "blobs" and target.startswith("uploads/"):
        _upload(registry, exchange, repository, target.removeprefix("uploads/"))
    elif kind == "blobs":
        _blob(registry, exchange, repository, target)
    elif kind == "manifests":
        _manifest(registry, exchange, repository, target)
    elif kind == "tags":
        _tags(registry, exchange, repository)
    elif registry.has_referrers:
        _referrers(registry, exchange, repository, target)
    else:
        exchange.send(404)


def _blob(registry: FakeRegistry, exchange: Exchange, repository: str, digest: str) -> None:
    content = registry.blobs.get((repository, digest))
    if content is None:
        exchange.send(404)
        return
    wanted = re.fullmatch(r"bytes=(\d+)-", exchange.headers.get("range", ""))
    if wanted is None:
        exchange.send(200, content, Docker_Content_Digest=digest)
        return
    start = int(wanted[1])
    exchange.send(206, content[start:], Content_Range=f"bytes {start}-{len(content) - 1}/{len(content)}")


def _manifest(registry: FakeRegistry, exchange: Exchange, repository: str, target: str) -> None:
    if exchange.method == "PUT":
        content = exchange.body()
        registry.put_manifest(repository, target, content, exchange.headers["content-type"])
        headers = {"Docker_Content_Digest": digest_of(content)}
        subject = json.loads(content).get("subject")
        if registry.has_referrers and subject:
            headers["OCI_Subject"] = subject["digest"]
        exchange.send(201, **headers)
        return
    content, media_type = registry.manifests.get((repository, target), (None, ""))
    if content is None:
        exchange.send(404, b'{"errors":[{"message":"words of the server"}]}')
        return
    exchange.send(200, content, Docker_Content_Digest=digest_of(content), Content_Type=media_type)


def _upload(registry: FakeRegistry, exchange: Exchange, repository: str, number: str) -> None:
    path = f"/v2/{repository}/blobs/uploads/"
    if exchange.method == "POST":
        exchange.body()
        mounted = exchange.query.get("from", ""), exchange.query.get("mount", "")
        if mounted in registry.blobs:
            registry.blobs[repository, mounted[1]] = registry.blobs[mounted]
            exchange.send(201, Location=f"/v2/{repository}/blobs/{mounted[1]}")
            return
        number = str(len(registry.uploads) + 1)
        registry.uploads[number] = bytearray()
        exchange.send(202, Location=f"{path}{number}?state=1")
        return
    upload = registry.uploads.get(number)
    if upload is None:
        exchange.body()
        exchange.send(404)
    elif exchange.method == "GET":
        exchange.send(204, Location=f"{path}{number}?state=2", Range=f"0-{max(len(upload) - 1, 0)}")
    elif exchange.method == "PATCH":
        upload += exchange.body()
        exchange.send(202, Location=f"{path}{number}?state=2", Range=f"0-{len(upload) - 1}")
    else:
        upload += exchange.body()
        if digest_of(bytes(upload)) != exchange.query.get("digest"):
            exchange.send(400)
            return
        exchange.send(201, Docker_Content_Digest=registry.put_blob(repository, bytes(upload)))


def _tags(registry: FakeRegistry, exchange: Exchange, repository: str) -> None:
    tags = sorted(tag for name, tag in registry.manifests if name == repository and not tag.startswith("sha256:"))
    start = int(exchange.query.get("last", "0"))
    page = tags[start : start + registry.page_size]
    headers = {}
    if start + registry.page_size < len(tags):
        headers["Link"] = f'</v2/{repository}/tags/list?last={start + registry.page_size}>; rel="next"'
    exchange.send(200, json.dumps({"name": repository, "tags": page}).encode(), **headers)


def _referrers(registry: FakeRegistry, exchange: Exchange, repository: str, digest: str) -> None:
    entries = []
    for (name, target), (content, media_type) in sorted(registry.manifests.items()):
        document = json.loads(content)
        if (
            name == repository
            and target.startswith("sha256:")
            and (document.get("subject") or {}).get("digest") == digest
        ):
            kind = document.get("artifactType") or document["config"]["mediaType"]
            entries.append({"mediaType": media_type, "digest": target, "size": len(content), "artifactType": kind})
    start = int(exchange.query.get("last", "0"))
    headers = {}
    if start + registry.page_size < len(entries):
        headers["Link"] = f'<{exchange.path}?last={start + registry.page_size}>; rel="next"'
    page = {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries[start : start + registry.page_size]}
    exchange.send(200, json.dumps(page).encode(), Content_Type=INDEX, **headers)
