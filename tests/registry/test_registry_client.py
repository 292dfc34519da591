import json
from typing import Any

import pytest

from kubewasp.registry.errors import ContentError, DeniedError, NotFoundError, RegistryError, UnreachableError
from kubewasp.registry.oci_manifests import EMPTY_DESCRIPTOR, INDEX, MANIFEST, Descriptor, Index, Manifest, digest_of
from kubewasp.registry.references import Reference, fallback_tag
from kubewasp.registry.registry_client import RegistryClient
from kubewasp.registry.settings import Mirror, RegistryRule, RegistrySettings
from kubewasp.registry.transfers import MemoryContent, MemoryTarget, Receiver
from tests.registry.fake_registry import Exchange, FakeRegistry

BLOB = bytes(range(256)) * 4096  # 1 MiB
LAYER = Descriptor.of(BLOB, "application/wasm")


def _reference(registry: FakeRegistry, rest: str = "team/policy:v1") -> Reference:
    return Reference.parse(registry.reference(rest))


def _pushed(client: RegistryClient, registry: FakeRegistry) -> tuple[Reference, Descriptor]:
    reference = _reference(registry)
    client.push_blob(reference, LAYER, MemoryContent(BLOB))
    client.push_blob(reference, EMPTY_DESCRIPTOR, MemoryContent(b"{}"))
    return reference, client.push_manifest(reference, Manifest(EMPTY_DESCRIPTOR, (LAYER,)).write())


def _pulled(client: RegistryClient, reference: Reference, descriptor: Descriptor = LAYER) -> bytes:
    return client.blob_content(reference, descriptor, max_bytes=len(BLOB))


def test_what_is_pushed_is_pulled(client: RegistryClient, registry: FakeRegistry) -> None:
    reference, pushed = _pushed(client, registry)
    assert client.resolve(reference) == pushed
    content, descriptor = client.manifest(reference.at(pushed.digest))
    assert descriptor == pushed
    assert Manifest.read(content, "m").layers == (LAYER,)
    assert _pulled(client, reference) == BLOB
    assert client.tags(reference) == ("v1",)


def test_one_connection_serves_all_requests(client: RegistryClient, registry: FakeRegistry) -> None:
    ports = set()
    registry.on("*", "", lambda exchange: bool(ports.add(exchange.handler.client_address[1])))
    reference, _ = _pushed(client, registry)
    _pulled(client, reference)
    assert len(ports) == 1


def test_a_blob_that_the_repository_has_is_not_sent_again(client: RegistryClient, registry: FakeRegistry) -> None:
    reference = _reference(registry)
    assert client.push_blob(reference, LAYER, MemoryContent(BLOB))
    assert not client.push_blob(reference, LAYER, MemoryContent(BLOB))


def test_a_blob_of_another_repository_is_mounted(client: RegistryClient, registry: FakeRegistry) -> None:
    registry.put_blob("other", BLOB)
    assert not client.push_blob(_reference(registry), LAYER, MemoryContent(BLOB), mount_from="other")
    assert registry.blobs["team/policy", LAYER.digest] == BLOB


def test_a_broken_upload_is_continued_in_parts(client: RegistryClient, registry: FakeRegistry) -> None:
    def break_once(exchange: Exchange) -> bool:
        if exchange.method == "PUT" and not registry.uploads["1"]:
            registry.uploads["1"] += exchange.handler.rfile.read(300_000)
            exchange.handler.connection.close()
            return exchange.hang_up()
        return False

    registry.on("PUT", "/uploads/", break_once)
    client.push_blob(_reference(registry), LAYER, MemoryContent(BLOB))
    assert registry.blobs["team/policy", LAYER.digest] == BLOB
    assert sum(line.startswith("PATCH") for line in registry.requests) == 1


def test_a_registry_that_refuses_large_requests_gets_parts(
    client: RegistryClient, registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubewasp.registry.uploads.CHUNK", 300_000)

    def refuse_large(exchange: Exchange) -> bool:
        if int(exchange.headers["content-length"]) > 500_000:
            exchange.body()
            return exchange.send(413)
        return False

    registry.on("PUT", "/uploads/", refuse_large)
    client.push_blob(_reference(registry), LAYER, MemoryContent(BLOB))
    assert registry.blobs["team/policy", LAYER.digest] == BLOB
    assert sum(line.startswith("PATCH") for line in registry.requests) == 4


def test_an_upload_on_another_host_is_refused(client: RegistryClient, registry: FakeRegistry) -> None:
    registry.on("POST", "/uploads/", lambda exchange: exchange.send(202, Location="https://evil.example/upload"))
    with pytest.raises(DeniedError, match="on another host"):
        client.push_blob(_reference(registry), LAYER, MemoryContent(BLOB))


def test_an_upload_address_with_another_scheme_and_port_of_the_same_host_is_used_here(
    client: RegistryClient, registry: FakeRegistry
) -> None:
    registry.uploads["9"] = bytearray()
    registry.on(
        "POST",
        "/uploads/",
        lambda exchange: exchange.send(202, Location="http://127.0.0.1/v2/team/policy/blobs/uploads/9"),
    )
    client.push_blob(_reference(registry), LAYER, MemoryContent(BLOB))
    assert registry.blobs["team/policy", LAYER.digest] == BLOB


def test_a_registry_that_stores_another_manifest_is_reported(client: RegistryClient, registry: FakeRegistry) -> None:
    registry.on(
        "PUT",
        "/manifests/",
        lambda exchange: bool(exchange.body()) and exchange.send(201, Docker_Content_Digest=digest_of(b"")),
    )
    with pytest.raises(ContentError, match="stored something else"):
        client.push_manifest(_reference(registry), Manifest(EMPTY_DESCRIPTOR, ()).write())


def test_a_manifest_is_not_pushed_under_another_digest(client: RegistryClient, registry: FakeRegistry) -> None:
    with pytest.raises(ContentError, match="the manifest has the digest"):
        client.push_manifest(_reference(registry).at(digest_of(b"")), Manifest(EMPTY_DESCRIPTOR, ()).write())
    assert registry.requests == []


def test_a_registry_without_digests_in_answers_to_head_is_asked_for_the_manifest(
    client: RegistryClient, registry: FakeRegistry
) -> None:
    reference, pushed = _pushed(client, registry)
    registry.on("HEAD", "/manifests/", lambda exchange: exchange.send(200, Content_Type=MANIFEST))
    assert client.resolve(reference) == pushed


# ---------------------------------------------------------------------- interruptions


def test_an_interrupted_download_is_continued_where_it_broke(client: RegistryClient, registry: FakeRegistry) -> None:
    reference, _ = _pushed(client, registry)

    def break_off(exchange: Exchange) -> bool:
        if "range" in exchange.headers:
            return False
        exchange.send(200, b"", Content_Length=str(len(BLOB)))
        exchange.handler.wfile.write(BLOB[:400_000])
        return exchange.hang_up()

    registry.on("GET", "/blobs/", break_off)
    assert _pulled(client, reference) == BLOB


def test_a_registry_without_ranges_sends_everything_again(client: RegistryClient, registry: FakeRegistry) -> None:
    registry.put_blob("team/policy", BLOB)
    registry.on("GET", "/blobs/", lambda exchange: exchange.send(200, BLOB))
    target = MemoryTarget()
    target.content += BLOB[:1000]
    client.blob(_reference(registry), Receiver(LAYER, target, known=[BLOB[:1000]]))
    assert bytes(target.content) == BLOB


def test_a_stored_beginning_that_is_wrong_is_dropped(client: RegistryClient, registry: FakeRegistry) -> None:
    registry.put_blob("team/policy", BLOB)
    target = MemoryTarget()
    target.content += bytes(1000)
    client.blob(_reference(registry), Receiver(LAYER, target, known=[bytes(1000)]))
    assert bytes(target.content) == BLOB


def test_a_part_that_was_not_asked_for_is_refused(client: RegistryClient, registry: FakeRegistry) -> None:
    registry.on("GET", "/blobs/", lambda exchange: exchange.send(206, BLOB[5:], Content_Range="bytes 5-9/10"))
    with pytest.raises(ContentError, match="another part than asked for"):
        client.blob(_reference(registry), Receiver(LAYER, MemoryTarget(), known=[BLOB[:1000]]))


def test_a_download_that_breaks_without_progress_ends(client: RegistryClient, registry: FakeRegistry) -> None:
    registry.on("GET", "/blobs/", lambda exchange: exchange.hang_up())
    with pytest.raises(UnreachableError, match="closed the connection"):
        _pulled(client, _reference(registry))
    assert len(registry.requests) <= 32


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_registry_is_asked_again(client: RegistryClient, registry: FakeRegistry, status: int) -> None:
    reference, pushed = _pushed(client, registry)
    answers = iter([True, True, False])
    registry.on("HEAD", "/manifests/", lambda exchange: next(answers) and exchange.send(status, Retry_After="3"))
    assert client.resolve(reference) == pushed


def test_the_time_that_a_registry_asks_for_is_waited() -> None:
    waited: list[float] = []
    with (
        FakeRegistry().serving() as registry,
        RegistryClient(RegistrySettings(uses_user_files=False), sleep=waited.append) as client,
    ):
        registry.on(
            "HEAD", "/manifests/", lambda exchange: exchange.send(429, Retry_After="7" if not waited else "9999")
        )
        with pytest.raises(UnreachableError, match="HTTP 429"):
            client.resolve(_reference(registry))
    assert waited == [7.0, 10.0, 10.0]


# ---------------------------------------------------------------------- failures


@pytest.mark.parametrize(
    ("status", "kind", "text"),
    [
        (404, NotFoundError, "not found"),
        (403, DeniedError, "HTTP 403 Forbidden"),
        (500, UnreachableError, "HTTP 500 Internal Server Error"),
        (418, RegistryError, "HTTP 418"),
        (777, RegistryError, "HTTP 777"),
    ],
)
def test_a_failure_has_no_words_of_the_server(
    client: RegistryClient, registry: FakeRegistry, status: int, kind: type[Exception], text: str
) -> None:
    registry.on("GET", "/manifests/", lambda exchange: exchange.send(status, b"words of the server"))
    with pytest.raises(kind, match=text) as error:
        client.manifest(_reference(registry))
    assert "words of the server" not in str(error.value)
    assert str(error.value).startswith(f"{registry.host}/team/policy: manifest v1: ")


def test_a_host_without_a_server_is_reported(client: RegistryClient) -> None:
    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1:1 cannot be reached: Connection refused"):
        client.resolve(Reference.parse("oci://127.0.0.1:1/policy:v1"))


def test_tags_come_in_pages(client: RegistryClient, registry: FakeRegistry) -> None:
    registry.page_size = 2
    for number in range(5):
        registry.put_manifest("team/policy", f"v{number}", b"{}", MANIFEST)
    assert client.tags(_reference(registry)) == ("v0", "v1", "v2", "v3", "v4")


def test_a_host_that_is_a_registry_is_recognized(client: RegistryClient, registry: FakeRegistry) -> None:
    client.check_access(_reference(registry))
    registry.on("GET", "/v2/$", lambda exchange: exchange.send(404))
    with pytest.raises(NotFoundError, match="/v2/: not found"):
        client.check_access(_reference(registry))


# ---------------------------------------------------------------------- referrers


def _signature(subject: Descriptor, name: str, kind: str = "application/example.signature") -> bytes:
    return Manifest(EMPTY_DESCRIPTOR, (), artifact_type=kind, subject=subject, annotations={"name": name}).write()


@pytest.mark.parametrize("has_referrers", [True, False])
def test_referrers_are_found_with_and_without_their_api(client: RegistryClient, has_referrers: bool) -> None:
    with FakeRegistry(has_referrers=has_referrers).serving() as registry:
        registry.page_size = 1
        reference, subject = _pushed(client, registry)
        assert client.referrers(reference, subject.digest) == ()
        signatures = [_signature(subject, name) for name in ("a", "b")]
        others = [_signature(subject, "c", "application/example.other")]
        for content in (*signatures, *others, signatures[0]):
            client.push_manifest(reference.at(digest_of(content)), content)
        found = client.referrers(reference, subject.digest, "application/example.signature")
        assert {entry.digest for entry in found} == {digest_of(content) for content in signatures}
        assert len(client.referrers(reference, subject.digest)) == 3
        has_tag = ("team/policy", fallback_tag(subject.digest)) in registry.manifests
        assert has_tag is not has_referrers


def test_the_index_of_referrers_keeps_the_entries_of_others(client: RegistryClient) -> None:
    with FakeRegistry(has_referrers=False).serving() as registry:
        reference, subject = _pushed(client, registry)
        other = Descriptor.of(b"x", MANIFEST, artifact_type="other", annotations={"kept": "yes"})
        registry.put_manifest("team/policy", fallback_tag(subject.digest), Index((other,)).write(), INDEX)
        signature = _signature(subject, "a")
        client.push_manifest(reference.at(digest_of(signature)), signature)
        stored, _ = registry.manifests["team/policy", fallback_tag(subject.digest)]
        entries = json.loads(stored)["manifests"]
        assert entries[0] == other.as_json()
        assert entries[1]["artifactType"] == "application/example.signature"
        assert entries[1]["annotations"] == {"name": "a"}


def test_an_entry_that_another_client_dropped_is_added_again(client: RegistryClient) -> None:
    with FakeRegistry(has_referrers=False).serving() as registry:
        reference, subject = _pushed(client, registry)
        tag = fallback_tag(subject.digest)
        losses = iter([True, False])

        def lose_once(exchange: Exchange) -> bool:
            if next(losses):
                exchange.body()
                registry.put_manifest("team/policy", tag, Index(()).write(), INDEX)
                return exchange.send(201)
            return False

        registry.on("PUT", f"/manifests/{tag}", lose_once)
        signature = _signature(subject, "a")
        client.push_manifest(reference.at(digest_of(signature)), signature)
        assert len(client.referrers(reference, subject.digest)) == 1


def test_a_page_that_is_no_index_of_referrers_is_not_the_api(client: RegistryClient, registry: FakeRegistry) -> None:
    registry.on("GET", "/referrers/", lambda exchange: exchange.send(200, b"<html>", Content_Type="text/html"))
    assert client.referrers(_reference(registry), digest_of(b"")) == ()


# ---------------------------------------------------------------------- mirrors


def _mirrored(registry: FakeRegistry, mirror: FakeRegistry, **changes: Any) -> RegistryClient:
    rule = RegistryRule(registry.host, mirrors=(Mirror(f"{mirror.host}/copies", **changes),))
    return RegistryClient(RegistrySettings((rule,), uses_user_files=False), sleep=lambda _: None)


def test_a_mirror_is_asked_first(client: RegistryClient, registry: FakeRegistry) -> None:
    with FakeRegistry().serving() as mirror:
        reference, pushed = _pushed(client, registry)
        mirror.put_manifest("copies/team/policy", "v1", *registry.manifests["team/policy", "v1"])
        mirror.put_blob("copies/team/policy", BLOB)
        registry.requests.clear()
        with _mirrored(registry, mirror) as mirrored:
            assert mirrored.resolve(reference) == pushed
            assert _pulled(mirrored, reference) == BLOB
        assert registry.requests == []


def test_the_registry_is_asked_if_the_mirror_fails_or_lies(client: RegistryClient, registry: FakeRegistry) -> None:
    with FakeRegistry().serving() as mirror:
        reference, pushed = _pushed(client, registry)
        mirror.on("GET", "/manifests/", lambda exchange: exchange.send(200, b"{}", Content_Type=MANIFEST))
        lies = iter([bytes(5), bytes(len(BLOB))])
        mirror.on("GET", "/blobs/", lambda exchange: exchange.send(200, next(lies)))
        with _mirrored(registry, mirror) as mirrored:
            assert mirrored.manifest(reference.at(pushed.digest))[1] == pushed
            assert _pulled(mirrored, reference) == BLOB
            assert _pulled(mirrored, reference) == BLOB


def test_a_mirror_for_digests_is_not_asked_for_tags_and_none_gets_pushes(
    client: RegistryClient, registry: FakeRegistry
) -> None:
    with FakeRegistry().serving() as mirror, _mirrored(registry, mirror, pull_from="digest-only") as mirrored:
        reference, pushed = _pushed(mirrored, registry)
        mirrored.resolve(reference)
        assert mirror.requests == []
        mirrored.resolve(reference.at(pushed.digest))
        assert len(mirror.requests) == 1
