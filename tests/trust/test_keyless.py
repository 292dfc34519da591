"""Keyless signatures, verified by `sigstore` with the trusted root of an instance in memory; nothing is requested."""

import socket
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.framework.config.reading import read_config
from kubewasp.trust import keyless
from kubewasp.trust.errors import KeyFormatError, SignatureError, TrustError
from kubewasp.trust.keyless import Identity, KeylessVerifier
from kubewasp.trust.policy import Rule, TrustPolicy
from kubewasp.trust.signatures import Evidence, SignatureDocument, Subject, read_bundle
from kubewasp.trust.signers import GITHUB_ISSUER, GithubSigner, IdentitySigner
from kubewasp.trust.simple_signing import Payload, SimpleSignature
from tests.framework.configs import HEAD
from tests.trust.fake_sigstore import FakeSigstore
from tests.trust.signing import FILE, SUBJECT, WASM, bundle_by, key

WORKFLOW = "https://github.com/acme/policies/.github/workflows/release.yml@refs/tags/v1"
SIGSTORE = FakeSigstore()
RELEASE = SIGSTORE.certified(WORKFLOW, GITHUB_ISSUER)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a request")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture(scope="module")
def verifier(tmp_path_factory: pytest.TempPathFactory) -> KeylessVerifier:
    return KeylessVerifier(SIGSTORE.trusted_root(tmp_path_factory.mktemp("root") / "trusted_root.json"))


def evidence(document: dict[str, Any]) -> SignatureDocument:
    found = read_bundle(orjson.dumps(document), "referrer")
    assert isinstance(found, SignatureDocument), found
    return found


def test_the_identity_and_the_annotations_of_a_manifest_are_verified(verifier: KeylessVerifier) -> None:
    document = evidence(SIGSTORE.sign_digest(SUBJECT.sha256, RELEASE, env="prod"))
    assert verifier.verify(document, SUBJECT) == (Identity(WORKFLOW, GITHUB_ISSUER), {"env": "prod"})
    assert (document.has_certificate, document.claim) == (True, "a certificate")


def test_the_identity_of_a_file_is_verified(verifier: KeylessVerifier) -> None:
    document = evidence(SIGSTORE.sign_content(WASM, RELEASE))
    assert verifier.verify(document, FILE) == (Identity(WORKFLOW, GITHUB_ISSUER), {})
    with pytest.raises(SignatureError, match="the signature of a file"):
        verifier.verify(document, SUBJECT)


@pytest.mark.parametrize("old_issuer", [True, False])
def test_an_address_of_mail_is_an_identity(verifier: KeylessVerifier, old_issuer: bool) -> None:
    by = SIGSTORE.certified("dev@example.com", "https://accounts.example.com", old_issuer=old_issuer)
    identity, _ = verifier.verify(evidence(SIGSTORE.sign_digest(SUBJECT.sha256, by)), SUBJECT)
    assert identity == Identity("dev@example.com", "https://accounts.example.com")


def test_a_signature_of_something_else_is_refused(verifier: KeylessVerifier) -> None:
    with pytest.raises(SignatureError, match="something else"):
        verifier.verify(evidence(SIGSTORE.sign_digest("0" * 64, RELEASE)), SUBJECT)
    with pytest.raises(SignatureError, match="does not hold"):
        verifier.verify(evidence(SIGSTORE.sign_content(b"other", RELEASE)), FILE)


def test_a_certificate_of_another_instance_is_refused(verifier: KeylessVerifier) -> None:
    other = FakeSigstore()
    document = evidence(other.sign_digest(SUBJECT.sha256, other.certified(WORKFLOW, GITHUB_ISSUER)))
    with pytest.raises(SignatureError, match="does not hold"):
        verifier.verify(document, SUBJECT)


def test_a_certificate_without_its_log_is_refused(verifier: KeylessVerifier) -> None:
    document = SIGSTORE.sign_digest(SUBJECT.sha256, RELEASE)
    del document["verificationMaterial"]["tlogEntries"]
    with pytest.raises(SignatureError, match="does not hold"):
        verifier.verify(evidence(document), SUBJECT)


SIGNED = orjson.dumps(SIGSTORE.sign_digest(SUBJECT.sha256, RELEASE))


@settings(max_examples=60)
@given(place=st.integers(0, len(SIGNED) - 1), change=st.integers(1, 255))
def test_a_changed_byte_gives_an_error_or_the_same_identity(verifier: KeylessVerifier, place: int, change: int) -> None:
    """Some bytes have no meaning, such as the index in a promise that is not used; no change gives another answer."""
    document = bytearray(SIGNED)
    document[place] ^= change
    found = read_bundle(bytes(document), "referrer")
    if isinstance(found, SignatureDocument):
        try:
            assert verifier.verify(found, SUBJECT) == (Identity(WORKFLOW, GITHUB_ISSUER), {})
        except SignatureError:
            return


@pytest.mark.parametrize(
    ("signer", "is_accepted"),
    [
        (GithubSigner("acme"), True),
        (GithubSigner("acme", "policies"), True),
        (GithubSigner("acme", "other"), False),
        (IdentitySigner(GITHUB_ISSUER, equal=WORKFLOW), True),
        (IdentitySigner("https://other.example.com", equal=WORKFLOW), False),
    ],
)
def test_a_policy_compares_the_verified_identity(
    verifier: KeylessVerifier, signer: GithubSigner | IdentitySigner, is_accepted: bool
) -> None:
    policy = TrustPolicy(Rule(all_of=(signer,)), keyless=verifier)
    found: list[Evidence] = [bundle_by("a"), evidence(SIGSTORE.sign_digest(SUBJECT.sha256, RELEASE))]
    if is_accepted:
        assert policy.check(SUBJECT, found).signers == (f"{WORKFLOW} (issuer {GITHUB_ISSUER})",)
    else:
        with pytest.raises(TrustError, match="signed by https://github"):
            policy.check(SUBJECT, found)


def test_the_older_form_of_a_keyless_signature_is_refused_with_a_remedy(verifier: KeylessVerifier) -> None:
    payload = Payload(SUBJECT.digest).write()
    document = SignatureDocument(SimpleSignature(payload, key().sign(payload), RELEASE.pem), "tag")
    with pytest.raises(SignatureError, match="older form of cosign; sign it with cosign 3"):
        verifier.verify(document, SUBJECT)


def test_a_verifier_is_equal_to_one_with_the_same_root(verifier: KeylessVerifier, tmp_path: Path) -> None:
    """A policy that is read again has not changed: guests need not be loaded again."""
    (tmp_path / "same.json").write_bytes(verifier.path.read_bytes())
    (tmp_path / "other.json").write_bytes(verifier.path.read_bytes() + b"\n")
    assert KeylessVerifier(tmp_path / "same.json") == verifier
    assert hash(KeylessVerifier(tmp_path / "same.json")) == hash(verifier)
    assert KeylessVerifier(tmp_path / "other.json") != verifier


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"mediaType": "other"}', b"\xff"])
def test_another_file_is_no_trusted_root(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "root.json"
    path.write_bytes(content)
    with pytest.raises(KeyFormatError, match="not a trusted root"):
        KeylessVerifier(path)


def test_a_missing_or_endless_trusted_root_is_told(tmp_path: Path) -> None:
    with pytest.raises(KeyFormatError, match="cannot be read: No such file"):
        KeylessVerifier(tmp_path / "missing.json")
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(5 << 20)
    with pytest.raises(KeyFormatError, match="larger than any trusted root"):
        KeylessVerifier(tmp_path / "large.json")


def test_without_the_extra_the_error_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyless, "is_installed", lambda: False)
    with pytest.raises(KeyFormatError, match=r"pip install 'kubewasp\[keyless\]'"):
        KeylessVerifier(tmp_path / "root.json")


def test_a_configuration_names_identities_and_a_root_beside_it(tmp_path: Path) -> None:
    SIGSTORE.trusted_root(tmp_path / "root.json")
    signer = {"kind": "githubAction", "owner": "acme", "repo": "policies"}
    config = read_config({**HEAD, "trust": {"trustedRoot": "root.json", "allOf": [signer]}}, folder=tmp_path)
    assert config.trust is not None
    found = config.trust.check(SUBJECT, [evidence(SIGSTORE.sign_digest(SUBJECT.sha256, RELEASE))])
    assert found.signers == (f"{WORKFLOW} (issuer {GITHUB_ISSUER})",)


def test_a_subject_without_a_content_needs_none(verifier: KeylessVerifier) -> None:
    by_digest = Subject(FILE.digest, FILE.source)
    assert verifier.verify(evidence(SIGSTORE.sign_digest(FILE.sha256, RELEASE)), by_digest)[0].subject == WORKFLOW
