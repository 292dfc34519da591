"""Registries that lie, never end, or lead elsewhere: each ends in one error, soon, and nothing of it is stored."""

import gzip
import io
import json
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kubewasp.registry.errors import ContentError, DeniedError, RegistryError, UnreachableError
from kubewasp.registry.formats import wasm_artifact
from kubewasp.registry.oci_manifests import IMAGE_CONFIG, INDEX, MANIFEST, MAX_BYTES, Descriptor, Manifest, digest_of
from kubewasp.registry.pulling import Puller
from kubewasp.registry.references import Reference
from kubewasp.registry.registry_client import RegistryClient
from kubewasp.registry.settings import RegistrySettings
from kubewasp.registry.store import LocalStore
from tests.registry.fake_registry import Exchange, FakeRegistry

WASM = b"\0asm\x01\0\0\0" + bytes(1000)
LAYER = Descriptor.of(WASM, "application/wasm")
GZIP_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


class LeapingClock:
    """A clock that moves with every look at it."""

    def __init__(self, step: float) -> None:
        self._now = 0.0
        self._step = step

    def now(self) -> float:
        self._now += self._step
        return self._now

    def wall(self) -> float:
        return self._now


@pytest.fixture
def puller(client: RegistryClient, tmp_path: Path) -> Puller:
    return Puller(client, LocalStore(tmp_path / "store"))


def _reference(registry: FakeRegistry) -> Reference:
    return Reference.parse(registry.reference("policy:v1"))


def _publish(registry: FakeRegistry, manifest: Manifest, *blobs: bytes) -> Reference:
    for blob in blobs:
        registry.put_blob("policy", blob)
    digest = registry.put_manifest("policy", "v1", manifest.write(), manifest.media_type)
    return _reference(registry).at(digest)


def _published(registry: FakeRegistry) -> Reference:
    artifact = wasm_artifact(WASM, file_name="policy.wasm", annotations={})
    return _publish(registry, artifact.manifest, *artifact.blobs.values())


def _stored(puller: Puller) -> list[str]:
    folder = puller.store.folder / "blobs"
    return [path.name for path in folder.iterdir()] if folder.exists() else []


# ---------------------------------------------------------------------- digests and sizes


def test_another_content_than_the_digest_is_refused_and_not_stored(puller: Puller, registry: FakeRegistry) -> None:
    reference = _published(registry)
    registry.blobs["policy", LAYER.digest] = b"\0asm\x01\0\0\0" + bytes(999) + b"!"
    with pytest.raises(ContentError, match=f"blob {LAYER.digest}: its content has the digest sha256:"):
        puller.pull(reference, max_bytes=1 << 20)
    assert LAYER.digest.removeprefix("sha256:") not in _stored(puller)


def test_another_manifest_than_the_digest_is_refused(puller: Puller, registry: FakeRegistry) -> None:
    reference = _published(registry)
    registry.manifests["policy", reference.digest] = Manifest(LAYER, ()).write(), MANIFEST
    with pytest.raises(ContentError, match=f"expected {reference.digest}"):
        puller.pull(reference, max_bytes=1 << 20)


def test_a_digest_in_a_header_that_is_not_that_of_the_content_is_refused(
    client: RegistryClient, registry: FakeRegistry
) -> None:
    content = Manifest(LAYER, ()).write()
    registry.on(
        "GET",
        "/manifests/",
        lambda e: e.send(200, content, Content_Type=MANIFEST, Docker_Content_Digest=digest_of(b"x")),
    )
    with pytest.raises(ContentError, match="the registry names"):
        client.manifest(_reference(registry))


def test_another_digest_in_the_answer_to_head_is_refused(client: RegistryClient, registry: FakeRegistry) -> None:
    registry.on(
        "HEAD",
        "/manifests/",
        lambda e: e.send(200, b"{}", Content_Type=MANIFEST, Docker_Content_Digest=digest_of(b"x")),
    )
    with pytest.raises(ContentError, match="names another digest"):
        client.resolve(_reference(registry).at(digest_of(b"y")))


@pytest.mark.parametrize("length", ["5", "999999999999999999"])
def test_an_announced_length_that_is_wrong_ends_the_download(
    puller: Puller, registry: FakeRegistry, length: str
) -> None:
    reference = _published(registry)
    registry.on("GET", "/blobs/", lambda e: e.send(200, WASM, Content_Length=length))
    with pytest.raises(ContentError, match=f"{length} bytes are announced, expected {len(WASM)}"):
        puller.pull(reference, max_bytes=1 << 20)


def _chunked(part: bytes, more: Callable[[], bool] = lambda: True) -> Callable[[Exchange], bool]:
    def answer(exchange: Exchange) -> bool:
        exchange.send(200, b"", Transfer_Encoding="chunked", Content_Length="-", Content_Type=MANIFEST)
        while more():
            exchange.handler.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        return exchange.hang_up()

    return answer


def test_an_endless_blob_is_read_to_its_size_only(puller: Puller, registry: FakeRegistry) -> None:
    reference = _published(registry)
    registry.on("GET", "/blobs/", _chunked(bytes(64 << 10)))
    with pytest.raises(ContentError, match=f"longer than its {len(WASM)} bytes"):
        puller.pull(reference, max_bytes=1 << 20)


def test_an_endless_manifest_is_read_to_the_limit_only(client: RegistryClient, registry: FakeRegistry) -> None:
    registry.on("GET", "/manifests/", _chunked(b" " * (64 << 10)))
    with pytest.raises(ContentError, match=f"longer than {MAX_BYTES} bytes"):
        client.manifest(_reference(registry))


def test_chunks_of_a_byte_are_not_an_endless_answer(client: RegistryClient, registry: FakeRegistry) -> None:
    lines = iter(range(50_000_000))

    def trailers(exchange: Exchange) -> bool:
        exchange.send(200, b"", Transfer_Encoding="chunked", Content_Length="-", Content_Type=MANIFEST)
        exchange.handler.wfile.write(b"2\r\n{}\r\n0\r\n")
        for _ in lines:
            exchange.handler.wfile.write(b"X-Trailer: more\r\n" * 1000)
        return exchange.hang_up()

    registry.on("GET", "/manifests/", trailers)
    with pytest.raises(UnreachableError, match="not HTTP, or its head is too long"):
        client.manifest(_reference(registry))


def test_a_layer_that_is_too_large_is_not_asked_for(puller: Puller, registry: FakeRegistry) -> None:
    reference = _published(registry)
    with pytest.raises(ContentError, match="a layer of 1008 bytes, at most 1000 bytes are allowed; raise limits"):
        puller.pull(reference, max_bytes=1000)
    assert not any("/blobs/" in line for line in registry.requests)


def test_a_size_that_is_too_small_is_a_lie(puller: Puller, registry: FakeRegistry) -> None:
    manifest = Manifest(Descriptor.of(b"{}", "x"), (Descriptor("application/wasm", LAYER.digest, 10),))
    reference = _publish(registry, manifest, WASM, b"{}")
    with pytest.raises(ContentError, match="1008 bytes are announced, expected 10"):
        puller.pull(reference, max_bytes=1 << 20)


def test_a_size_that_is_too_large_is_a_lie_even_for_stored_content(puller: Puller, registry: FakeRegistry) -> None:
    puller.store.put(WASM)
    manifest = Manifest(Descriptor.of(b"{}", "x"), (Descriptor("application/wasm", LAYER.digest, 2000),))
    with pytest.raises(ContentError, match="a layer of 1008 bytes, expected 2000"):
        puller.pull(_publish(registry, manifest), max_bytes=1 << 20)


def test_a_truncated_blob_is_not_taken(puller: Puller, registry: FakeRegistry) -> None:
    reference = _published(registry)

    def cut(exchange: Exchange) -> bool:
        exchange.send(200, b"", Content_Length=str(len(WASM)))
        exchange.handler.wfile.write(WASM[:10])
        return exchange.hang_up()

    def nothing_more(exchange: Exchange) -> bool:
        return "range" in exchange.headers and exchange.hang_up()

    registry.on("GET", "/blobs/", nothing_more)
    registry.on("GET", "/blobs/", cut)
    with pytest.raises(UnreachableError, match="closed the connection before the end of its answer"):
        puller.pull(reference, max_bytes=1 << 20)


def test_an_answer_in_another_encoding_is_refused(client: RegistryClient, registry: FakeRegistry) -> None:
    content = gzip.compress(Manifest(LAYER, ()).write())
    registry.on("GET", "/manifests/", lambda e: e.send(200, content, Content_Encoding="gzip", Content_Type=MANIFEST))
    with pytest.raises(ContentError, match="compresses what was asked for as it is"):
        client.manifest(_reference(registry))


# ---------------------------------------------------------------------- heads of answers


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nX-Long: " + b"a" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: a\r\n" % n for n in range(200)) + b"\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000,
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 \xff\xff\xff OK\r\n\r\n",
    ],
    ids=["long line", "many headers", "endless continue", "another protocol", "no status"],
)
def test_a_head_that_is_no_answer_is_an_error(client: RegistryClient, registry: FakeRegistry, head: bytes) -> None:
    registry.on("GET", "/manifests/", lambda e: e.send_raw(head))
    with pytest.raises(UnreachableError, match="is not HTTP, or its head is too long"):
        client.manifest(_reference(registry))


def test_an_answer_with_control_characters_in_headers_is_without_those_headers(
    client: RegistryClient, registry: FakeRegistry
) -> None:
    registry.on(
        "GET", "/manifests/", lambda e: e.send(200, b"{}", Content_Type="\x1b[31m", Docker_Content_Digest="\x07")
    )
    with pytest.raises(ContentError) as error:
        client.manifest(_reference(registry))
    assert str(error.value).isprintable()


# ---------------------------------------------------------------------- time


def _slow(registry: FakeRegistry, *, step: float) -> RegistryClient:
    return RegistryClient(RegistrySettings(uses_user_files=False), clock=LeapingClock(step), sleep=lambda _: None)


def test_a_body_that_trickles_ends_at_the_deadline(registry: FakeRegistry) -> None:
    going = threading.Event()

    def trickle(exchange: Exchange) -> bool:
        exchange.send(200, b"", Content_Length="1000000", Content_Type=MANIFEST)
        while not going.wait(0.001):
            exchange.handler.wfile.write(b" ")
        return exchange.hang_up()

    registry.on("GET", "/manifests/", trickle)
    with _slow(registry, step=5) as client, pytest.raises(UnreachableError, match=r"in time, at most 300 s"):
        client.manifest(_reference(registry))
    going.set()


def test_a_head_that_trickles_ends_at_the_deadline(registry: FakeRegistry) -> None:
    going = threading.Event()

    def trickle(exchange: Exchange) -> bool:
        exchange.handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not going.wait(0.001):
            exchange.handler.wfile.write(b"a")
        return exchange.hang_up()

    registry.on("GET", "/manifests/", trickle)
    with _slow(registry, step=5) as client, pytest.raises(UnreachableError, match=r"in time, at most 300 s"):
        client.manifest(_reference(registry))
    going.set()


def test_a_silent_server_has_the_time_of_one_read(registry: FakeRegistry) -> None:
    going = threading.Event()
    registry.on("GET", "/manifests/", lambda e: going.wait(60) and e.hang_up())
    settings = RegistrySettings(uses_user_files=False, timeout=0.2)
    with RegistryClient(settings) as client, pytest.raises(UnreachableError, match=r"in time, at most 0\.2 s"):
        client.manifest(_reference(registry))
    going.set()


# ---------------------------------------------------------------------- documents


@pytest.mark.parametrize(
    ("content", "media_type", "problem"),
    [
        (b"<html>", "text/html", "not JSON"),
        (b"[" * 200_000, MANIFEST, "not JSON"),
        (b'{"a":' * 100_000, MANIFEST, "not JSON"),
        (b'{"schemaVersion": 2, "manifests": []}', MANIFEST, "does not fit the content"),
        (Manifest(LAYER, ()).write(), INDEX, "does not fit the content"),
        (b'{"schemaVersion": 1, "fsLayers": []}', "application/json", "schemaVersion 2"),
    ],
)
def test_a_document_of_another_kind_is_refused(
    client: RegistryClient, registry: FakeRegistry, content: bytes, media_type: str, problem: str
) -> None:
    registry.on("GET", "/manifests/", lambda e: e.send(200, content, Content_Type=media_type))
    with pytest.raises(ContentError, match=problem):
        client.manifest(_reference(registry))


def test_indexes_within_each_other_are_refused(puller: Puller, registry: FakeRegistry) -> None:
    inner = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [LAYER.as_json()]}).encode()
    registry.put_manifest("policy", "inner", inner, INDEX)
    entry = Descriptor.of(inner, INDEX).as_json()
    outer = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]}).encode()
    digest = registry.put_manifest("policy", "v1", outer, INDEX)
    with pytest.raises(ContentError, match="an image index, expected a manifest"):
        puller.pull(_reference(registry).at(digest), max_bytes=1 << 20)


def test_endless_pages_end(client: RegistryClient, registry: FakeRegistry) -> None:
    page = json.dumps({"schemaVersion": 2, "manifests": []}).encode()
    again = '</v2/policy/referrers/x?again>; rel="next"'
    registry.on("GET", "/referrers/", lambda e: e.send(200, page, Content_Type=INDEX, Link=again))
    registry.on("GET", "/tags/", lambda e: e.send(200, b'{"tags": ["a"]}', Link='<?again>; rel="next"'))
    with pytest.raises(ContentError, match="more than 100 pages"):
        client.referrers(_reference(registry), LAYER.digest)
    with pytest.raises(ContentError, match="more than 100 pages"):
        client.tags(_reference(registry))


def test_a_next_page_on_another_host_is_asked_for_here(client: RegistryClient, registry: FakeRegistry) -> None:
    registry.on("GET", "next", lambda e: e.send(200, b'{"tags": ["b"]}'))
    registry.on("GET", "/tags/", lambda e: e.send(200, b'{"tags": ["a"]}', Link="<http://evil.example/next>; rel=next"))
    assert client.tags(_reference(registry)) == ("a", "b")


# ---------------------------------------------------------------------- images


def _tar(*names: str, content: bytes = WASM, kind: bytes = tarfile.REGTYPE, size: int | None = None) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.type, entry.size = kind, len(content) if kind == tarfile.REGTYPE else 0
            if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                entry.linkname = "/etc/passwd"
            archive.addfile(entry, io.BytesIO(content) if kind == tarfile.REGTYPE else None)
    return written.getvalue() if size is None else written.getvalue()[:size]


def _image(registry: FakeRegistry, layer: bytes, config: object = None) -> Reference:
    settings = json.dumps({"config": {"Entrypoint": ["/app/policy.wasm"]}} if config is None else config).encode()
    manifest = Manifest(Descriptor.of(settings, IMAGE_CONFIG), (Descriptor.of(layer, GZIP_LAYER),))
    return _publish(registry, manifest, settings, layer)


def test_a_gzip_bomb_ends_at_the_limit(puller: Puller, registry: FakeRegistry) -> None:
    bomb = gzip.compress(bytes(200 << 20))
    assert len(bomb) < 1 << 20
    with pytest.raises(ContentError, match=r"not a tar archive|too large once it is unpacked|an image without"):
        puller.pull(_image(registry, bomb), max_bytes=1 << 20)
    inside = gzip.compress(_tar("big", content=bytes(50 << 20)) + bytes(1024))
    with pytest.raises(ContentError, match="too large once it is unpacked"):
        puller.pull(_image(registry, inside), max_bytes=1 << 20)


@pytest.mark.parametrize(
    "name", ["../plugin.wasm", "a/../plugin.wasm", "x/plugin.wasm", "plugin.wasm/", "..//plugin.wasm"]
)
def test_names_that_lead_elsewhere_are_no_modules(puller: Puller, registry: FakeRegistry, name: str) -> None:
    kind = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
    with pytest.raises(ContentError, match=r"an image without plugin.wasm and app/policy.wasm"):
        puller.pull(_image(registry, gzip.compress(_tar(name, kind=kind))), max_bytes=1 << 20)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_are_no_modules(puller: Puller, registry: FakeRegistry, kind: bytes) -> None:
    with pytest.raises(ContentError, match="an image without"):
        puller.pull(_image(registry, gzip.compress(_tar("plugin.wasm", kind=kind))), max_bytes=1 << 20)


@pytest.mark.parametrize("entry", ["/../../etc/shadow", "", "a\0b", "../plugin.wasm"])
def test_an_entrypoint_that_leads_elsewhere_is_within_the_image(
    puller: Puller, registry: FakeRegistry, entry: str
) -> None:
    reference = _image(registry, gzip.compress(_tar("other")), {"config": {"Entrypoint": [entry], "WorkingDir": 7}})
    with pytest.raises(ContentError, match="an image without") as error:
        puller.pull(reference, max_bytes=1 << 20)
    assert ".." not in str(error.value)


def test_native_code_is_never_loaded(puller: Puller, registry: FakeRegistry) -> None:
    layer = gzip.compress(_tar("plugin.wasm", content=b"\x7fELF" + bytes(99)))
    with pytest.raises(ContentError, match="precompiled native code is not loaded"):
        puller.pull(_image(registry, layer), max_bytes=1 << 20)


@pytest.mark.parametrize(
    "layer",
    [b"", b"\x1f\x8b", gzip.compress(b"x" * 600, mtime=0), gzip.compress(_tar("plugin.wasm", size=700), mtime=0)],
)
def test_a_damaged_layer_is_an_error(puller: Puller, registry: FakeRegistry, layer: bytes) -> None:
    with pytest.raises(ContentError, match=r"policy:v1@"):
        puller.pull(_image(registry, layer), max_bytes=1 << 20)


# ---------------------------------------------------------------------- redirects


@pytest.mark.parametrize(
    ("location", "problem"),
    [
        ("http://127.0.0.2/blob", "redirects to 127.0.0.2 without TLS"),
        ("http://evil.example/blob", "redirects to evil.example without TLS"),
        ("file:///etc/passwd", "an address that is not valid"),
        ("gopher://x/", "an address that is not valid"),
        ("https://user:pw@evil.example/", "an address that is not valid"),
        ("https://[::/", "an address that is not valid"),
        ("", "an address that is not valid"),
        ("https://169.254.169.254/latest", "in a network that is not public"),
        ("https://10.0.0.1/blob", "in a network that is not public"),
        ("https://[::ffff:169.254.169.254]/", "in a network that is not public"),
    ],
)
def test_a_redirect_elsewhere_is_not_followed(
    client: RegistryClient, registry: FakeRegistry, location: str, problem: str
) -> None:
    registry.on("GET", "/blobs/", lambda e: e.send(307, Location=location or "-"))
    with pytest.raises(DeniedError, match=problem):
        client.blob_content(_reference(registry), LAYER, max_bytes=1 << 20)


def test_redirects_in_a_circle_end(client: RegistryClient, registry: FakeRegistry) -> None:
    registry.on("GET", "/blobs/", lambda e: e.send(307, Location="/v2/policy/blobs/again"))
    with pytest.raises(RegistryError, match="HTTP 307"):
        client.blob_content(_reference(registry), LAYER, max_bytes=1 << 20)
    assert len(registry.requests) == 6


def test_a_redirect_on_the_same_host_is_followed(client: RegistryClient, registry: FakeRegistry) -> None:
    registry.on("GET", "/elsewhere", lambda e: e.send(200, WASM))
    registry.on("GET", "/blobs/", lambda e: e.send(307, Location="/elsewhere?signature=1"))
    assert client.blob_content(_reference(registry), LAYER, max_bytes=1 << 20) == WASM
