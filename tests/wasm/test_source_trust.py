"""The trust policy at the sources of guests: checked before a byte is compiled, for files, HTTP and registries."""

import http.server
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubewasp.input_file import StandardInput
from kubewasp.registry.oci_manifests import MANIFEST, Descriptor, Manifest, digest_of
from kubewasp.registry.references import Reference
from kubewasp.registry.registry_client import RegistryClient
from kubewasp.registry.signature_storage import FORMS, SignatureForm, attach_signature
from kubewasp.registry.store import LocalStore
from kubewasp.trust import bundle
from kubewasp.trust.policy import Rule, SourceRule, TrustPolicy
from kubewasp.trust.source_patterns import SourcePattern
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.source import GuestSources
from tests.registry.fake_registry import Exchange, FakeRegistry
from tests.trust.signing import key, signer

WASM, OTHER = b"\0asm\x01\0\0\0", b"\0asm\x01\0\0\0\0\x02\x01x"
POLICY = TrustPolicy(Rule(all_of=(signer("a"),)))
NAME = "policies/prefer-label"


@pytest.fixture
def sources(client: RegistryClient, tmp_path: Path) -> Callable[[TrustPolicy], GuestSources]:
    store = LocalStore(tmp_path / "store")
    assert store.is_usable()
    return lambda policy: GuestSources(trust=policy, client=client, store=store)


def push(registry: FakeRegistry, wasm: bytes, tag: str = "1") -> str:
    registry.put_blob(NAME, b"{}")
    registry.put_blob(NAME, wasm)
    config = Descriptor.of(b"{}", "application/vnd.wasm.config.v0+json")
    content = Manifest(config, (Descriptor.of(wasm, "application/wasm"),)).write()
    return registry.put_manifest(NAME, tag, content, MANIFEST)


def sign(
    registry: FakeRegistry, client: RegistryClient, digest: str, name: str, form: SignatureForm = "bundle"
) -> None:
    reference = Reference.parse(registry.reference(f"{NAME}@{digest}"))
    attach_signature(client, reference, client.resolve(reference), key(name), annotations={}, form=form)


def address(registry: FakeRegistry) -> str:
    return registry.reference(f"{NAME}:1")


# ---------------------------------------------------------------------- files


def test_a_signed_file_is_loaded_with_the_names_of_its_signers(tmp_path: Path) -> None:
    file = tmp_path / "policy.wasm"
    file.write_bytes(WASM)
    for name, document in (
        ("policy.wasm.sigstore.json", bundle.sign_content(WASM, key("a")).write()),
        ("policy.wasm.bundle", bundle.sign_digest(digest_of(WASM).removeprefix("sha256:"), key("a"), {}).write()),
    ):
        (tmp_path / name).write_bytes(document)
        assert GuestSources(trust=POLICY).fetch(file, max_bytes=100).signers == ("team-a",)
        (tmp_path / name).unlink()


@pytest.mark.parametrize("address", ["{}", "file://{}"])
def test_an_unsigned_file_is_refused(tmp_path: Path, address: str) -> None:
    file = tmp_path / "policy.wasm"
    file.write_bytes(WASM)
    with pytest.raises(GuestLoadError, match=r"not trusted by trust: no signature by team-a .*found no signature"):
        GuestSources(trust=POLICY).fetch(address.format(file), max_bytes=100)


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "policy.wasm"
    file.write_bytes(OTHER)
    (tmp_path / "policy.wasm.sigstore.json").write_bytes(bundle.sign_content(WASM, key("a")).write())
    with pytest.raises(GuestLoadError, match="a signature of something else"):
        GuestSources(trust=POLICY).fetch(file, max_bytes=100)


def test_the_signature_is_of_the_file_as_it_is_stored(tmp_path: Path) -> None:
    """Text is signed as text, a compressed file as it is compressed: as `cosign sign-blob` does."""
    file = tmp_path / "policy.wat"
    file.write_bytes(b"(module)")
    (tmp_path / "policy.wat.sigstore.json").write_bytes(bundle.sign_content(b"(module)", key("a")).write())
    found = GuestSources(trust=POLICY).fetch(file, max_bytes=100)
    assert (found.wasm, found.signers) == (WASM, ("team-a",))


def test_nothing_of_a_refused_guest_is_unpacked_or_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[bytes] = []
    monkeypatch.setattr("kubewasp.wasm.guest.load_guest_module", lambda wasm, *_, **__: compiled.append(wasm))
    monkeypatch.setattr("kubewasp.wasm.guest_files.GuestFile.wasm", lambda *_: compiled.append(b""))
    file = tmp_path / "policy.wasm"
    file.write_bytes(WASM)
    with pytest.raises(GuestLoadError, match="not trusted"):
        Guest.load(str(file), name="policy", sources=GuestSources(trust=POLICY))
    assert compiled == []


def test_standard_input_has_no_signature() -> None:
    given = StandardInput()
    given._content = WASM
    with pytest.raises(GuestLoadError, match="not trusted"):
        GuestSources(trust=POLICY).fetch(given, max_bytes=100)
    allowed = TrustPolicy(POLICY.rule, (SourceRule(SourcePattern("-"), Rule(required=False)),))
    assert GuestSources(trust=allowed).fetch(given, max_bytes=100).wasm == WASM


def test_a_signature_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    file = tmp_path / "policy.wasm"
    file.write_bytes(WASM)
    (tmp_path / "policy.wasm.sig").write_bytes(b"%")
    with pytest.raises(GuestLoadError, match=r"policy\.wasm\.sig \(signature: expected base64\)"):
        GuestSources(trust=POLICY).fetch(file, max_bytes=100)
    (tmp_path / "policy.wasm.sig").unlink()
    (tmp_path / "policy.wasm.bundle").mkdir()
    with pytest.raises(GuestLoadError, match=r"policy\.wasm\.bundle \(cannot be read: Is a directory\)"):
        GuestSources(trust=POLICY).fetch(file, max_bytes=100)


# ---------------------------------------------------------------------- HTTP


@contextmanager
def serving(files: dict[str, bytes], status: int = 404) -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = files.get(self.path)
            self.send_response(200 if content is not None else status)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_http_guest_is_verified_with_the_signature_beside_it() -> None:
    signature = bundle.sign_content(WASM, key("a")).write()
    with serving({"/p.wasm": WASM, "/p.wasm.sigstore.json": signature, "/q.wasm": WASM}) as server:
        found = GuestSources(trust=POLICY).fetch(f"{server}/p.wasm", max_bytes=100)
        assert (found.wasm, found.signers) == (WASM, ("team-a",))
        with pytest.raises(GuestLoadError, match="found no signature"):
            GuestSources(trust=POLICY).fetch(f"{server}/q.wasm", max_bytes=100)


def test_the_query_of_an_http_guest_is_that_of_its_signature() -> None:
    signature = bundle.sign_content(WASM, key("a")).write()
    with serving({"/p.wasm?token=1": WASM, "/p.wasm.sigstore.json?token=1": signature}) as server:
        found = GuestSources(trust=POLICY).fetch(f"{server}/p.wasm?token=1", max_bytes=100)
        assert found.signers == ("team-a",)


def test_a_server_that_fails_is_told_in_the_refusal() -> None:
    with (
        serving({"/p.wasm": WASM}, status=500) as server,
        pytest.raises(GuestLoadError, match=r"address with \.sigstore\.json \(HTTP 500"),
    ):
        GuestSources(trust=POLICY).fetch(f"{server}/p.wasm", max_bytes=100)


# ---------------------------------------------------------------------- registries


@pytest.mark.parametrize("form", FORMS)
def test_a_signed_guest_of_a_registry_is_loaded(
    registry: FakeRegistry, client: RegistryClient, sources: Callable[[TrustPolicy], GuestSources], form: SignatureForm
) -> None:
    digest = push(registry, WASM)
    sign(registry, client, digest, "a", form)
    found = sources(POLICY).fetch(address(registry), max_bytes=100)
    assert (found.wasm, found.signers, found.manifest_digest) == (WASM, ("team-a",), digest)


def test_no_layer_of_an_unsigned_guest_is_downloaded(
    registry: FakeRegistry, client: RegistryClient, sources: Callable[[TrustPolicy], GuestSources]
) -> None:
    digest = push(registry, WASM)
    sign(registry, client, digest, "b")
    registry.requests.clear()
    with pytest.raises(GuestLoadError, match="no signature by team-a"):
        sources(POLICY).fetch(address(registry), max_bytes=100)
    assert not any(digest_of(WASM) in request for request in registry.requests)


def test_a_tag_that_moves_after_it_was_resolved_changes_nothing(
    registry: FakeRegistry, client: RegistryClient, sources: Callable[[TrustPolicy], GuestSources]
) -> None:
    """The tag means another, unsigned guest from the second request on."""
    signed = push(registry, WASM)
    sign(registry, client, signed, "a")
    unsigned = push(registry, OTHER, tag="other")
    registry.requests.clear()

    def move(exchange: Exchange) -> bool:
        if len(registry.requests) > 1:
            registry.manifests[NAME, "1"] = registry.manifests[NAME, unsigned]
        return False

    registry.on("*", ".", move)
    found = sources(POLICY).fetch(address(registry), max_bytes=100, pull_policy="Always")
    assert (found.wasm, found.manifest_digest, found.signers) == (WASM, signed, ("team-a",))
    assert registry.manifests[NAME, "1"] == registry.manifests[NAME, unsigned]
    with pytest.raises(GuestLoadError, match="no signature by team-a"):
        sources(POLICY).fetch(address(registry), max_bytes=100, pull_policy="Always")


def test_a_tag_that_moves_at_any_request_gives_the_signed_guest_or_an_error(
    registry: FakeRegistry, client: RegistryClient, sources: Callable[[TrustPolicy], GuestSources]
) -> None:
    signed, unsigned = push(registry, WASM), push(registry, OTHER, tag="other")
    sign(registry, client, signed, "a")
    original, moved = registry.manifests[NAME, signed], registry.manifests[NAME, unsigned]
    moment = 0

    def move(exchange: Exchange) -> bool:
        registry.manifests[NAME, "1"] = moved if len(registry.requests) > moment else original
        return False

    registry.on("*", ".", move)
    for moment in range(8):
        registry.requests.clear()
        try:
            found = sources(POLICY).fetch(address(registry), max_bytes=100, pull_policy="Always")
        except GuestLoadError:
            assert moment == 0
        else:
            assert found.wasm == WASM


def test_a_restart_without_the_registry_verifies_with_the_stored_signatures(
    registry: FakeRegistry, client: RegistryClient, sources: Callable[[TrustPolicy], GuestSources]
) -> None:
    sign(registry, client, push(registry, WASM), "a")
    sources(POLICY).fetch(address(registry), max_bytes=100)
    registry.on("*", ".", lambda exchange: exchange.hang_up())
    assert sources(POLICY).fetch(address(registry), max_bytes=100).signers == ("team-a",)
    with pytest.raises(GuestLoadError, match="no signature by team-b"):
        sources(TrustPolicy(Rule(all_of=(signer("b"),)))).fetch(address(registry), max_bytes=100, pull_policy="Never")


def test_a_stored_guest_is_refused_once_its_signer_left_the_policy(
    registry: FakeRegistry, client: RegistryClient, sources: Callable[[TrustPolicy], GuestSources]
) -> None:
    sign(registry, client, push(registry, WASM), "a")
    sources(POLICY).fetch(address(registry), max_bytes=100)
    with pytest.raises(GuestLoadError, match="no signature by team-b"):
        sources(TrustPolicy(Rule(all_of=(signer("b"),)))).fetch(address(registry), max_bytes=100)


def test_a_new_signature_of_a_stored_guest_is_looked_for(
    registry: FakeRegistry, client: RegistryClient, sources: Callable[[TrustPolicy], GuestSources]
) -> None:
    digest = push(registry, WASM)
    sign(registry, client, digest, "a")
    both = TrustPolicy(Rule(all_of=(signer("a"), signer("b"))))
    with pytest.raises(GuestLoadError, match="no signature by team-b"):
        sources(both).fetch(address(registry), max_bytes=100)
    sign(registry, client, digest, "b")
    assert sources(both).fetch(address(registry), max_bytes=100).signers == ("team-a", "team-b")


def test_a_rule_of_a_source_is_found_by_its_reference(
    registry: FakeRegistry, sources: Callable[[TrustPolicy], GuestSources]
) -> None:
    push(registry, WASM)
    free = SourceRule(SourcePattern(f"oci://{registry.host}/policies/"), Rule(required=False))
    assert sources(TrustPolicy(POLICY.rule, (free,))).fetch(address(registry), max_bytes=100).wasm == WASM
    other = SourceRule(SourcePattern(f"oci://{registry.host}/pol"), Rule(required=False))
    with pytest.raises(GuestLoadError, match="not trusted"):
        sources(TrustPolicy(POLICY.rule, (other,))).fetch(address(registry), max_bytes=100)
