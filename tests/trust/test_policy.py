import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from kubewasp.trust.bundle import Bundle
from kubewasp.trust.dsse import Envelope
from kubewasp.trust.errors import SignatureError, TrustError
from kubewasp.trust.keyless import Identity
from kubewasp.trust.policy import Rule, SourceRule, TrustPolicy
from kubewasp.trust.signatures import MAX_SIGNATURES, Evidence, SignatureDocument, Subject, UnreadableSignature
from kubewasp.trust.signers import GITHUB_ISSUER, GithubSigner, IdentitySigner, Signer
from kubewasp.trust.source_patterns import SourcePattern
from tests.trust.signing import DIGEST, FILE, SOURCE, SUBJECT, bundle_by, key, signer, simple_by

JUNK = UnreadableSignature("bundle: not a JSON document", "referrer")


class Certificates:
    """Verifier of certificates that are not there: the name of the document is the identity."""

    def __init__(self) -> None:
        self.calls = 0

    def verify(self, document: SignatureDocument, subject: Subject) -> tuple[Identity, Mapping[str, str]]:
        self.calls += 1
        issuer, _, name = document.place.partition(" ")
        if not name:
            raise SignatureError("the certificate does not hold")
        return Identity(name, issuer), {}


def certified(issuer: str, name: str) -> SignatureDocument:
    return SignatureDocument(Bundle(Envelope("", b"", b""), certificate=b"a certificate"), f"{issuer} {name}".strip())


def check(rule: Rule, *evidence: Evidence, subject: Subject = SUBJECT) -> tuple[str, ...]:
    return TrustPolicy(rule, keyless=Certificates()).check(subject, evidence).signers


def refusal(rule: Rule, *evidence: Evidence, subject: Subject = SUBJECT) -> str:
    with pytest.raises(TrustError) as caught:
        check(rule, *evidence, subject=subject)
    return str(caught.value)


@pytest.mark.parametrize("signed_by", [bundle_by, simple_by])
def test_a_signature_of_either_form_satisfies_a_key(signed_by: Callable[[], Evidence]) -> None:
    assert check(Rule(all_of=(signer(),)), signed_by()) == ("team-a",)


def test_a_key_without_owner_is_named_by_its_fingerprint() -> None:
    names = check(Rule(all_of=(replace(signer(), owner=""),)), bundle_by())
    assert names == (f"key SHA256:{key().public.fingerprint.rstrip('=')}",)


def test_all_signers_are_needed() -> None:
    rule = Rule(all_of=(signer("a"), signer("b")))
    assert check(rule, bundle_by("a"), simple_by("b")) == ("team-a", "team-b")
    assert "no signature by team-b (key SHA256:" in refusal(rule, bundle_by("a"))


def test_as_many_of_any_as_the_minimum_are_needed() -> None:
    rule = Rule(any_of=(signer("a"), signer("b"), signer("c")), minimum_matches=2)
    assert check(rule, bundle_by("c"), bundle_by("a")) == ("team-a", "team-c")
    assert "no signature by 1 of team-a" in refusal(rule, bundle_by("c"))


def test_two_signatures_of_one_signer_count_once() -> None:
    rule = Rule(any_of=(signer("a"), signer("b")), minimum_matches=2)
    assert "team-b" in refusal(rule, bundle_by("a"), simple_by("a"))


def test_one_signer_does_not_satisfy_two_entries() -> None:
    """A key with and without annotations is one signer; an identity may be named by two patterns."""
    rule = Rule(any_of=(signer("a"), signer("a", env="prod")), minimum_matches=2)
    assert refusal(rule, bundle_by("a", annotations={"env": "prod"}))
    names = (
        IdentitySigner(GITHUB_ISSUER, url_prefix="https://github.com/acme"),
        GithubSigner("acme"),
        GithubSigner("acme", "one"),
    )
    two = certified(GITHUB_ISSUER, "https://github.com/acme/two/w@main")
    one = certified(GITHUB_ISSUER, "https://github.com/acme/one/w@main")
    assert len(check(Rule(any_of=names, minimum_matches=2), one, two)) == 2
    assert refusal(Rule(any_of=names, minimum_matches=3), one, two)


def test_all_and_any_are_both_needed() -> None:
    rule = Rule(all_of=(signer("a"),), any_of=(signer("b"), signer("c")))
    assert check(rule, bundle_by("a"), bundle_by("c")) == ("team-a", "team-c")
    assert "no signature by 1 of team-b" in refusal(rule, bundle_by("a"))
    assert "no signature by team-a" in refusal(rule, bundle_by("c"))


def test_annotations_have_to_be_signed() -> None:
    rule = Rule(all_of=(signer("a", env="prod"),))
    assert check(rule, bundle_by("a", annotations={"env": "prod", "more": "1"}))
    text = refusal(rule, bundle_by("a", annotations={"env": "test"}))
    assert "with env=prod" in text
    assert "signed by the right signer, without the annotations env=prod" in text


def test_a_refusal_names_the_expected_the_found_and_the_remedy() -> None:
    text = refusal(Rule(all_of=(signer("a"),), name="trust.sources[1]"), bundle_by("b"), JUNK)
    expected, found = (key(name).public.fingerprint.rstrip("=") for name in "ab")
    assert text == (
        f"{SOURCE} ({DIGEST}): not trusted by trust.sources[1]: no signature by team-a (key SHA256:{expected}); "
        f"found 2 signatures: bundle by key SHA256:{found} (not signed by the key SHA256:{expected}), "
        "referrer (bundle: not a JSON document); "
        "to satisfy the policy, add the missing signature (kubewasp plugin sign, cosign sign)"
    )


def test_a_guest_without_a_signature_is_refused() -> None:
    assert "found no signature" in refusal(Rule(all_of=(signer("a"),)))


def test_an_unreadable_signature_does_not_hide_a_good_one() -> None:
    assert check(Rule(all_of=(signer("a"),)), JUNK, bundle_by("b"), bundle_by("a")) == ("team-a",)


def test_a_refusal_of_many_signatures_is_bounded() -> None:
    rule = Rule(all_of=(signer("a"),))
    text = refusal(rule, *[JUNK] * (MAX_SIGNATURES + 5))
    assert len(text) < 1000
    assert "and 95 or more" in text
    assert "and 15 more" in refusal(rule, *[JUNK] * 20)


def test_a_signature_of_something_else_is_told_as_such() -> None:
    text = refusal(Rule(all_of=(signer("a"),)), bundle_by("a", FILE))
    assert "a valid signature of something else" in text


def test_a_file_is_trusted_by_the_signature_of_its_digest() -> None:
    assert check(Rule(all_of=(signer("a"),)), bundle_by("a", FILE), subject=FILE) == ("team-a",)


@pytest.mark.parametrize(
    ("entry", "issuer", "name", "expected"),
    [
        (IdentitySigner("https://i", equal="a@example.com"), "https://i", "a@example.com", True),
        (IdentitySigner("https://i", equal="a@example.com"), "https://i", "b@example.com", False),
        (IdentitySigner("https://i", equal="a@example.com"), "https://j", "a@example.com", False),
        (IdentitySigner("https://i", url_prefix="https://g/acme"), "https://i", "https://g/acme/x", True),
        (IdentitySigner("https://i", url_prefix="https://g/acme/"), "https://i", "https://g/acme/x", True),
        (IdentitySigner("https://i", url_prefix="https://g/acme"), "https://i", "https://g/acme-evil/x", False),
        (GithubSigner("acme"), GITHUB_ISSUER, "https://github.com/acme/x/w.yml@refs/heads/main", True),
        (GithubSigner("acme", "x"), GITHUB_ISSUER, "https://github.com/acme/x/w.yml@refs/heads/main", True),
        (GithubSigner("acme", "x"), GITHUB_ISSUER, "https://github.com/acme/xy/w.yml@refs/heads/main", False),
        (GithubSigner("acme"), GITHUB_ISSUER, "https://github.com/acme-evil/x/w.yml@refs/heads/main", False),
        (GithubSigner("acme"), "https://evil", "https://github.com/acme/x/w.yml@refs/heads/main", False),
    ],
)
def test_an_identity_is_compared_with_issuer_and_subject(entry: Signer, issuer: str, name: str, expected: bool) -> None:
    evidence = certified(issuer, name)
    if expected:
        assert check(Rule(all_of=(entry,)), evidence) == (f"{name} (issuer {issuer})",)
    else:
        assert f"signed by {name} (issuer {issuer})" in refusal(Rule(all_of=(entry,)), evidence)


def test_keys_and_identities_are_not_confused() -> None:
    by_key, by_identity = bundle_by("a"), certified("https://i", "a")
    assert "signed with a key, not with a certificate" in refusal(Rule(all_of=(GithubSigner("acme"),)), by_key)
    assert "signed with a certificate, not with a key" in refusal(Rule(all_of=(signer("a"),)), by_identity)


def test_an_identity_without_a_trusted_root_is_refused() -> None:
    policy = TrustPolicy(Rule(all_of=(GithubSigner("acme"),)))
    with pytest.raises(TrustError, match="no trusted root"):
        policy.check(SUBJECT, [certified(GITHUB_ISSUER, "https://github.com/acme/x/w.yml@main")])


def test_a_certificate_is_verified_once_for_all_signers() -> None:
    certificates = Certificates()
    policy = TrustPolicy(Rule(any_of=(GithubSigner("a"), GithubSigner("b"), GithubSigner("c"))), keyless=certificates)
    with pytest.raises(TrustError):
        policy.check(SUBJECT, [certified("https://i", "x"), certified("https://i", "")])
    assert certificates.calls == 2


def test_the_most_specific_rule_of_a_source_counts() -> None:
    rules = {"oci://": "a", "oci://registry.example.com/policies/": "b", "oci://registry.example.com/": "c"}
    sources = tuple(SourceRule(SourcePattern(text), Rule(all_of=(signer(name),))) for text, name in rules.items())
    policy = TrustPolicy(Rule(all_of=(signer("d"),)), sources)
    assert policy.check(SUBJECT, [bundle_by("b")]).signers == ("team-b",)
    for subject, name in ((Subject(DIGEST, "oci://registry.example.com/x"), "c"), (Subject(DIGEST, "oci://x/y"), "a")):
        assert policy.check(subject, [bundle_by(name, subject)]).signers == (f"team-{name}",)
    assert policy.check(FILE, [bundle_by("d", FILE)]).signers == ("team-d",)
    with pytest.raises(TrustError):
        policy.check(SUBJECT, [bundle_by("a"), bundle_by("c"), bundle_by("d")])


def test_a_source_without_signers_is_refused_unless_that_is_allowed() -> None:
    sources = (SourceRule(SourcePattern("/policies/"), Rule(required=False)),)
    policy = TrustPolicy(Rule(), sources)
    assert policy.check(FILE, []).signers == ()
    assert not policy.needs_signatures(FILE.source)
    with pytest.raises(TrustError, match=r"no rule of trust names signers for this source; add one to trust\.sources"):
        policy.check(SUBJECT, [bundle_by("a")])


def test_a_rule_that_is_not_required_warns(caplog: pytest.LogCaptureFixture) -> None:
    rule = Rule(all_of=(signer("a"),), required=False)
    with caplog.at_level(logging.WARNING):
        assert check(rule) == ()
        assert check(rule, bundle_by("a")) == ("team-a",)
    assert [record.message for record in caplog.records] == ["Guest is not trusted, loaded as its rule is not required"]
    assert "no signature by team-a" in caplog.records[0].problem
