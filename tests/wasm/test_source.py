import hashlib
import logging
from pathlib import Path

import pytest

from kubewasp.input_file import StandardInput
from kubewasp.registry.copying import push_artifact
from kubewasp.registry.errors import StoreError
from kubewasp.registry.formats import wasm_artifact
from kubewasp.registry.references import Reference
from kubewasp.registry.registry_client import RegistryClient
from kubewasp.registry.settings import RegistrySettings
from kubewasp.registry.signature_storage import attach_signature
from kubewasp.registry.store import LocalStore
from kubewasp.trust.keys import PrivateKey
from kubewasp.trust.policy import Rule, TrustPolicy
from kubewasp.trust.signers import KeySigner
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.source import GuestSources, default_name, fetch
from tests.guests.build import wat
from tests.registry.fake_registry import FakeRegistry, without_user_files

MIB = 1 << 20


@pytest.fixture(autouse=True)
def _no_user_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_user_files(monkeypatch, tmp_path)


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


@pytest.fixture
def sources(client: RegistryClient, store: LocalStore) -> GuestSources:
    return GuestSources(client=client, store=store)


def _wasm(mark: bytes = b"") -> bytes:
    """A module that filters, with a custom section."""
    section = b"\x01m" + mark
    return wat("filter").read_bytes() + (b"\0" + bytes([len(section)]) + section if mark else b"")


def _push(client: RegistryClient, registry: FakeRegistry, wasm: bytes, tag: str = "v1") -> Reference:
    reference = Reference.parse(registry.reference(f"team/policy:{tag}"))
    push_artifact(client, reference, wasm_artifact(wasm, file_name="policy.wasm", annotations={}))
    return reference.at(client.resolve(reference).digest)


def _address(reference: Reference) -> str:
    return str(Reference(reference.host, reference.repository, reference.tag))


def test_a_guest_of_a_registry_is_fetched_by_digest(
    sources: GuestSources, client: RegistryClient, registry: FakeRegistry
) -> None:
    reference = _push(client, registry, _wasm())
    found = sources.fetch(_address(reference), max_bytes=MIB)
    assert found.wasm == _wasm()
    assert found.digest == f"sha256:{hashlib.sha256(_wasm()).hexdigest()}"
    assert (found.source, found.manifest_digest, found.version) == (str(reference), reference.digest, reference.digest)
    assert sources.resolve(_address(reference)) == found.version
    assert sources.resolve(str(reference)) == found.version


def test_a_file_has_the_digest_of_its_content_as_version(sources: GuestSources, tmp_path: Path) -> None:
    file = tmp_path / "policy.wasm"
    file.write_bytes(_wasm())
    found = sources.fetch(file, max_bytes=MIB)
    assert sources.resolve(str(file)) == found.version == found.digest
    assert (found.manifest_digest, found.signers) == ("", ())
    text = tmp_path / "policy.wat"
    text.write_text("(module)", encoding="utf-8")
    found = sources.fetch(text, max_bytes=MIB)
    assert found.version == sources.resolve(str(text)) != found.digest


def test_a_guest_of_a_registry_is_loaded_and_used(
    sources: GuestSources, client: RegistryClient, registry: FakeRegistry
) -> None:
    guest = Guest.load(_address(_push(client, registry, _wasm())), sources=sources)
    assert (guest.name, "filter" in guest.hooks) == ("policy", True)


def test_the_digest_of_the_module_can_be_demanded(
    sources: GuestSources, client: RegistryClient, registry: FakeRegistry
) -> None:
    address = _address(_push(client, registry, _wasm()))
    assert sources.fetch(address, sha256=hashlib.sha256(_wasm()).hexdigest(), max_bytes=MIB).wasm == _wasm()
    with pytest.raises(GuestLoadError, match="expected 0000"):
        sources.fetch(address, sha256="0" * 64, max_bytes=MIB)


def test_a_larger_guest_than_allowed_is_refused(
    sources: GuestSources, client: RegistryClient, registry: FakeRegistry
) -> None:
    with pytest.raises(GuestLoadError, match=r"at most 10 bytes are allowed; raise limits\.guestSize"):
        sources.fetch(_address(_push(client, registry, _wasm())), max_bytes=10)


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("oci://", "no reference of an OCI registry"),
        ("oci://user:secret@host/x", "no reference of an OCI registry"),
        ("oci://127.0.0.1:1/x", "cannot be reached: Connection refused"),
    ],
)
def test_a_guest_that_cannot_be_loaded_is_an_error_of_one_line(
    sources: GuestSources, address: str, problem: str
) -> None:
    with pytest.raises(GuestLoadError, match=f"^wasm: .*{problem}") as error:
        sources.fetch(address, max_bytes=MIB)
    assert "secret" not in str(error.value)
    with pytest.raises(GuestLoadError, match=problem):
        sources.resolve(address)


# ---------------------------------------------------------------------- pull policies


def test_a_tag_is_looked_up_once_unless_it_is_latest(
    sources: GuestSources, client: RegistryClient, registry: FakeRegistry
) -> None:
    for tag, expected in (("v1", _wasm()), ("latest", _wasm(b"new"))):
        address = _address(_push(client, registry, _wasm(), tag))
        sources.fetch(address, max_bytes=MIB)
        _push(client, registry, _wasm(b"new"), tag)
        assert sources.fetch(address, max_bytes=MIB).wasm == expected


def test_always_follows_the_tag_and_never_asks_the_registry_not_at_all(
    sources: GuestSources, client: RegistryClient, registry: FakeRegistry
) -> None:
    address = _address(_push(client, registry, _wasm()))
    with pytest.raises(GuestLoadError, match="not in the local store, and imagePullPolicy is Never"):
        sources.fetch(address, max_bytes=MIB, pull_policy="Never")
    sources.fetch(address, max_bytes=MIB)
    _push(client, registry, _wasm(b"new"))
    before = len(registry.requests)
    assert sources.fetch(address, max_bytes=MIB, pull_policy="Never").wasm == _wasm()
    assert len(registry.requests) == before
    assert sources.fetch(address, max_bytes=MIB, pull_policy="Always").wasm == _wasm(b"new")


def test_a_known_digest_is_not_downloaded_again(
    sources: GuestSources, client: RegistryClient, registry: FakeRegistry
) -> None:
    address = _address(_push(client, registry, _wasm()))
    sources.fetch(address, max_bytes=MIB)
    before = len(registry.requests)
    sources.fetch(address, max_bytes=MIB, pull_policy="Always")
    assert [line.split()[0] for line in registry.requests[before:]] == ["HEAD"]


@pytest.mark.parametrize("policy", ["Always", "IfNotPresent", None])
def test_a_start_without_the_registry_uses_the_local_store(
    client: RegistryClient, store: LocalStore, policy: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    with FakeRegistry().serving() as registry:
        address = _address(_push(client, registry, _wasm()))
        GuestSources(client=client, store=store).fetch(address, max_bytes=MIB)
    with RegistryClient(RegistrySettings(uses_user_files=False), sleep=lambda _: None) as later:
        restarted = GuestSources(client=later, store=LocalStore(store.folder))
        with caplog.at_level(logging.WARNING):
            assert restarted.fetch(address, max_bytes=MIB, pull_policy=policy).wasm == _wasm()
    warned = [record.getMessage() for record in caplog.records]
    assert warned == (
        ["Registry is not available, the version in the local store is used"] if policy == "Always" else []
    )


def test_a_registry_that_has_lost_the_tag_is_not_a_missing_registry(
    sources: GuestSources, client: RegistryClient, registry: FakeRegistry
) -> None:
    address = _address(_push(client, registry, _wasm()))
    sources.fetch(address, max_bytes=MIB)
    registry.manifests.clear()
    with pytest.raises(GuestLoadError, match="not found"):
        sources.fetch(address, max_bytes=MIB, pull_policy="Always")


def test_a_store_that_cannot_be_written_is_no_reason_not_to_start(
    client: RegistryClient, registry: FakeRegistry, tmp_path: Path
) -> None:
    address = _address(_push(client, registry, _wasm()))
    (tmp_path / "file").touch()
    nowhere = GuestSources(client=client, store=LocalStore(tmp_path / "file" / "store"))
    assert nowhere.fetch(address, max_bytes=MIB).wasm == _wasm()


def test_a_full_disk_is_not_a_failure_of_the_registry(
    sources: GuestSources, client: RegistryClient, registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = _address(_push(client, registry, _wasm()))

    def full(*_: object) -> None:
        raise StoreError("the local store cannot be written: No space left on device")

    monkeypatch.setattr("kubewasp.registry.store._FileTarget.write", full)
    assert sources.fetch(address, max_bytes=MIB).wasm == _wasm()


# ---------------------------------------------------------------------- trust


KEY = PrivateKey.generate()


def _policy(*keys: PrivateKey) -> TrustPolicy:
    return TrustPolicy(Rule(required=True, all_of=tuple(KeySigner(key.public, owner="team") for key in keys)))


def _sign(client: RegistryClient, reference: Reference) -> None:
    attach_signature(client, reference, client.resolve(reference), KEY, annotations={})


def test_a_signed_guest_is_loaded_and_its_signers_are_known(
    client: RegistryClient, store: LocalStore, registry: FakeRegistry
) -> None:
    reference = _push(client, registry, _wasm())
    trusting = GuestSources(trust=_policy(KEY), client=client, store=store)
    with pytest.raises(GuestLoadError, match="not trusted"):
        trusting.fetch(_address(reference), max_bytes=MIB)
    assert not any("/blobs/" in line and line.startswith("GET") for line in registry.requests)
    _sign(client, reference)
    assert trusting.fetch(_address(reference), max_bytes=MIB).signers


def test_a_signed_guest_starts_without_the_registry(client: RegistryClient, store: LocalStore) -> None:
    with FakeRegistry().serving() as registry:
        reference = _push(client, registry, _wasm())
        _sign(client, reference)
        trusting = GuestSources(trust=_policy(KEY), client=client, store=store)
        trusting.fetch(_address(reference), max_bytes=MIB)
    for policy in (None, "Always", "Never"):
        assert trusting.fetch(_address(reference), max_bytes=MIB, pull_policy=policy).signers
    with pytest.raises(GuestLoadError):
        GuestSources(trust=_policy(PrivateKey.generate()), client=client, store=store).fetch(
            _address(reference), max_bytes=MIB
        )


def test_a_tag_that_moves_after_the_check_changes_nothing(
    client: RegistryClient, store: LocalStore, registry: FakeRegistry
) -> None:
    reference = _push(client, registry, _wasm())
    _sign(client, reference)

    def move(_: object) -> bool:
        registry.answers.clear()
        _push(client, registry, _wasm(b"evil"))
        return False

    registry.on("GET", "/referrers/", move)
    found = GuestSources(trust=_policy(KEY), client=client, store=store).fetch(_address(reference), max_bytes=MIB)
    assert found.wasm == _wasm()
    assert client.resolve(Reference.parse(_address(reference))).digest != reference.digest


def test_a_file_is_trusted_by_the_bundle_beside_it(tmp_path: Path) -> None:
    from kubewasp.trust import bundle

    file = tmp_path / "policy.wasm"
    file.write_bytes(_wasm())
    trusting = GuestSources(trust=_policy(KEY))
    with pytest.raises(GuestLoadError, match="not trusted"):
        trusting.fetch(file, max_bytes=MIB)
    digest = hashlib.sha256(_wasm()).hexdigest()
    Path(f"{file}.sigstore.json").write_bytes(bundle.sign_digest(digest, KEY, {}).write())
    assert trusting.fetch(file, max_bytes=MIB).signers
    file.write_bytes(_wasm(b"evil"))
    with pytest.raises(GuestLoadError, match="not trusted"):
        trusting.fetch(file, max_bytes=MIB)


# ---------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("policy.wasm", "policy"),
        ("/a/policy.wat.gz", "policy"),
        ("https://u:p@h/policy.wasm?sig=x.y", "policy"),
        ("oci://h/team/policy", "policy"),
        ("oci://h:5000/team/policy:v1.2", "policy"),
        ("oci://h/team/policy:v1@sha256:" + "ab" * 32, "policy"),
        ("", "guest"),
    ],
)
def test_the_name_of_a_guest_without_one(source: str, name: str) -> None:
    assert default_name(source) == name
    assert default_name(StandardInput()) == "guest"


def test_commands_without_a_configuration_use_the_settings_of_the_user(
    client: RegistryClient, registry: FakeRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(tmp_path / "cache"))
    assert fetch(_address(_push(client, registry, _wasm())), max_bytes=MIB) == _wasm()
    assert (tmp_path / "cache" / "oci" / "blobs").is_dir()
