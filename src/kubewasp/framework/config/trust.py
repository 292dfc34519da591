"""`trust:` of a configuration file: reader and writer of the trust policy.

Keys are read with the configuration, so that a missing or damaged one is a problem of the file, not of a guest.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kubewasp.trust.errors import KeyFormatError
from kubewasp.trust.keyless import KeylessVerifier
from kubewasp.trust.keys import MAX_PEM_BYTES, PublicKey
from kubewasp.trust.policy import Rule, SourceRule, TrustPolicy
from kubewasp.trust.signers import GithubSigner, IdentitySigner, KeyOrigin, KeySigner
from kubewasp.trust.source_patterns import SourcePattern, pattern_problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.framework.config.fields import Section
    from kubewasp.trust.signers import Signer

    Json = dict[str, Any]

KINDS: Final = ("pubKey", "genericIssuer", "githubAction")
_MAX_SIGNERS: Final = 100
_KEY_SETTINGS: Final = ("key", "keyFile", "keyEnv")
_GITHUB_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")


def read_trust(section: Section, folder: Path | None) -> TrustPolicy:
    """The policy in `trust:`. Relative files start at `folder`, or the working directory."""
    return _Reader(section, folder or Path()).read()


class _Reader:
    def __init__(self, section: Section, folder: Path) -> None:
        self._section = section
        self._problems = section.problems
        self._folder = folder

    def read(self) -> TrustPolicy:
        section = self._section
        sources = [self._source(item) for item in section.sections("sources")]
        rule = self._rule(section, has_sources=bool(sources))
        self._refuse_duplicates(sources)
        identities = [
            signer
            for each in (rule, *(item.rule for item in sources))
            for signer in (*each.all_of, *each.any_of)
            if not isinstance(signer, KeySigner)
        ]
        keyless = self._keyless(section.text("trustedRoot"), is_needed=bool(identities))
        section.refuse_unknown()
        return TrustPolicy(rule, tuple(sources), keyless)

    def _source(self, section: Section) -> SourceRule:
        text = section.text("match")
        if problem := pattern_problem(text):
            self._problems.invalid(section.at("match"), text, problem)
        rule = self._rule(section, has_sources=False)
        section.refuse_unknown()
        return SourceRule(SourcePattern(text), rule)

    def _rule(self, section: Section, *, has_sources: bool) -> Rule:
        all_of = tuple(self._signers(section, "allOf"))
        any_section = section.section("anyOf")
        any_of = tuple(self._signers(any_section, "signatures"))
        minimum = any_section.integer("minimumMatches", 1)
        any_section.refuse_unknown()
        required = section.boolean("required", True)
        if section.has("anyOf") and not any_of:
            self._problems.required(any_section.at("signatures"), "at least one")
        elif any_of and not 1 <= minimum <= len(any_of):
            text = f"must be a number from 1 to {len(any_of)}, the number of signatures"
            self._problems.invalid(any_section.at("minimumMatches"), minimum, text)
        if required and not (all_of or any_of or has_sources or section.has("allOf") or section.has("anyOf")):
            text = "no guest could be loaded: name signers in allOf or anyOf, or set required: false"
            self._problems.required(section.at("allOf"), text)
        return Rule(all_of, any_of, minimum, required, section.path)

    def _signers(self, section: Section, name: str) -> list[Signer]:
        given = section.sections(name)
        if len(given) > _MAX_SIGNERS:
            self._problems.add(section.at(name), f"has {len(given)} signers, {_MAX_SIGNERS} at most")
        found = [self._signer(item) for item in given[:_MAX_SIGNERS]]
        return [signer for signer in found if signer is not None]

    def _signer(self, section: Section) -> Signer | None:
        kind = section.text("kind")
        annotations = self._annotations(section)
        signer: Signer | None = None
        if kind == "pubKey":
            signer = self._key_signer(section, annotations)
        elif kind == "genericIssuer":
            signer = self._identity_signer(section, annotations)
        elif kind == "githubAction":
            signer = self._github_signer(section, annotations)
        else:
            self._problems.unsupported(section.at("kind"), kind, KINDS)
            section.everything()
        section.refuse_unknown()
        return signer

    def _annotations(self, section: Section) -> dict[str, str]:
        given = section.mapping("annotations")
        for name, value in given.items():
            if not isinstance(value, str):
                self._problems.invalid(section.at("annotations"), value, f"{name}: expected a string")
        return {name: value for name, value in given.items() if isinstance(value, str)}

    def _key_signer(self, section: Section, annotations: Mapping[str, str]) -> KeySigner | None:
        owner = section.text("owner")
        given = {name: section.text(name) for name in _KEY_SETTINGS if section.has(name)}
        if len(given) != 1:
            self._problems.required(section.at("key"), "one of key (PEM text), keyFile and keyEnv")
            return None
        ((setting, value),) = given.items()
        try:
            origin = KeyOrigin(setting, str(self._folder.absolute() / value) if setting == "keyFile" else value)
            return KeySigner(PublicKey.from_pem(_pem(origin)), owner, annotations, origin)
        except KeyFormatError as error:
            name = "" if setting == "key" else f"{value}: "
            self._problems.add(section.at(setting), f"{name}{error}")
            return None

    def _identity_signer(self, section: Section, annotations: Mapping[str, str]) -> IdentitySigner:
        issuer, subject = section.text("issuer"), section.section("subject")
        equal, prefix = subject.text("equal"), subject.text("urlPrefix")
        subject.refuse_unknown()
        if not issuer:
            self._problems.required(section.at("issuer"), "address of the OpenID Connect issuer")
        if bool(equal) == bool(prefix):
            self._problems.required(section.at("subject"), "one of equal and urlPrefix")
        elif prefix and not prefix.startswith("https://"):
            self._problems.invalid(subject.at("urlPrefix"), prefix, "must begin with https://")
        return IdentitySigner(issuer, equal, prefix, annotations)

    def _github_signer(self, section: Section, annotations: Mapping[str, str]) -> GithubSigner:
        owner, repo = section.text("owner"), section.text("repo")
        if not owner:
            self._problems.required(section.at("owner"), "owner of the repository on GitHub")
        for name, value in (("owner", owner), ("repo", repo)):
            if value and not _GITHUB_NAME.fullmatch(value):
                self._problems.invalid(section.at(name), value, "must be a name on GitHub")
        return GithubSigner(owner, repo, annotations)

    def _keyless(self, text: str, *, is_needed: bool) -> KeylessVerifier | None:
        path = self._section.at("trustedRoot")
        if not text:
            if is_needed:
                self._problems.required(path, "a trusted_root.json of Sigstore, to verify identities with")
            return None
        try:
            return KeylessVerifier(self._folder.absolute() / text)
        except KeyFormatError as error:
            self._problems.add(path, f"{text}: {error}")
            return None

    def _refuse_duplicates(self, sources: list[SourceRule]) -> None:
        seen: set[str] = set()
        for index, item in enumerate(sources):
            if item.pattern.text in seen:
                self._problems.duplicate(f"{self._section.at('sources')}[{index}].match", item.pattern.text)
            seen.add(item.pattern.text)


def _pem(origin: KeyOrigin) -> bytes:
    if origin.setting == "key":
        return origin.value.encode()
    if origin.setting == "keyEnv":
        if origin.value not in os.environ:
            raise KeyFormatError("no environment variable of this name")
        return os.environ[origin.value].encode("utf-8", "replace")
    try:
        with Path(origin.value).open("rb") as file:
            return file.read(MAX_PEM_BYTES + 1)
    except (OSError, ValueError) as error:
        cause = error.strerror if isinstance(error, OSError) else error
        raise KeyFormatError(f"cannot be read: {cause}") from None


# ---------------------------------------------------------------------- writing


def written_trust(policy: TrustPolicy) -> Json:
    """The policy in the form of the file."""
    document = _written_rule(policy.rule)
    if policy.sources:
        document["sources"] = [{"match": item.pattern.text} | _written_rule(item.rule) for item in policy.sources]
    if isinstance(policy.keyless, KeylessVerifier):
        document["trustedRoot"] = str(policy.keyless.path)
    return document


def _written_rule(rule: Rule) -> Json:
    document: Json = {"required": rule.required}
    if rule.all_of:
        document["allOf"] = [_written_signer(signer) for signer in rule.all_of]
    if rule.any_of:
        signatures = [_written_signer(signer) for signer in rule.any_of]
        document["anyOf"] = {"minimumMatches": rule.minimum_matches, "signatures": signatures}
    return document


def _written_signer(signer: Signer) -> Json:
    document: Json
    if isinstance(signer, KeySigner):
        document = {"kind": "pubKey", "owner": signer.owner, signer.origin.setting: signer.origin.value}
    elif isinstance(signer, IdentitySigner):
        subject = {"equal": signer.equal} if signer.equal else {"urlPrefix": signer.url_prefix}
        document = {"kind": "genericIssuer", "issuer": signer.issuer, "subject": subject}
    else:
        document = {"kind": "githubAction", "owner": signer.owner, "repo": signer.repo}
    document["annotations"] = dict(signer.annotations)
    return {name: value for name, value in document.items() if value}
