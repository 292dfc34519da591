"""`kubewasp plugin verify`: the signatures of a guest against keys, an identity, or the policy of a configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kubewasp.cli import output
from kubewasp.cli.key_inputs import public_key
from kubewasp.cli.registry_options import reference_of
from kubewasp.errors import KubewaspError
from kubewasp.registry.references import is_reference
from kubewasp.trust.errors import KeyFormatError, TrustError
from kubewasp.trust.keyless import KeylessVerifier
from kubewasp.trust.policy import Rule, TrustPolicy
from kubewasp.trust.signatures import UnreadableSignature
from kubewasp.trust.signers import IdentitySigner, KeyOrigin, KeySigner
from kubewasp.wasm.source import GuestSources

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from kubewasp.cli.registry_options import RegistryAccess
    from kubewasp.trust.signatures import Evidence
    from kubewasp.trust.signers import Signer


@dataclass(frozen=True, slots=True)
class Wanted:
    """The signers of the command line, all of them needed; without any, the configuration decides."""

    keys: tuple[str, ...] = ()
    identity: str = ""
    issuer: str = ""
    trusted_root: Path | None = None
    annotations: Mapping[str, str] | None = None

    @property
    def is_given(self) -> bool:
        return bool(self.keys or self.identity)


def run(source: str, wanted: Wanted, access: RegistryAccess, *, form: str) -> None:
    policy = _wanted_policy(wanted) if wanted.is_given else _configured_policy(access)
    with access.client(reference_of(source) if is_reference(source) else None) as client:
        subject, evidence = GuestSources(client=client).signatures(source)
    report: dict[str, Any] = {"source": subject.source, "digest": subject.digest}
    failure: TrustError | None = None
    try:
        verified = policy.check(subject, evidence)
        report |= {"verified": bool(verified.signers), "signers": list(verified.signers), "rule": verified.rule}
    except TrustError as error:
        failure = error
        report |= {"verified": False, "signers": [], "rule": policy.rule_for(subject.source).name}
    report |= {"signatures": [_described(item) for item in evidence], "error": str(failure) if failure else None}
    if form != "table":
        output.print_document(report, form)
    elif failure is None:
        output.print_facts(_facts(report))
    if failure is not None:
        raise failure


def _configured_policy(access: RegistryAccess) -> TrustPolicy:
    _, trust = access.settings()
    if trust is None:
        raise KubewaspError(f"{access.config}: has no trust policy (trust:)")
    return trust


def _wanted_policy(wanted: Wanted) -> TrustPolicy:
    annotations = wanted.annotations or {}
    signers: list[Signer] = [
        KeySigner(public_key(key), annotations=annotations, origin=KeyOrigin("keyFile", key)) for key in wanted.keys
    ]
    keyless = None
    if wanted.identity and wanted.trusted_root is not None:
        signers.append(IdentitySigner(wanted.issuer, equal=wanted.identity, annotations=annotations))
        try:
            keyless = KeylessVerifier(wanted.trusted_root)
        except KeyFormatError as error:
            raise KeyFormatError(f"{wanted.trusted_root}: {error}") from None
    return TrustPolicy(Rule(all_of=tuple(signers), name="the command line"), keyless=keyless)


def _described(evidence: Evidence) -> dict[str, str]:
    if isinstance(evidence, UnreadableSignature):
        return {"place": evidence.place, "form": "unreadable", "signer": "", "problem": evidence.problem}
    return {"place": evidence.place, "form": evidence.form, "signer": evidence.claim}


def _facts(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Short names: a digest fits into 80 columns beside them."""
    yield "name", report["source"].removesuffix(f"@{report['digest']}")
    yield "digest", report["digest"]
    yield "trust", "verified" if report["verified"] else f"no signature is needed by {report['rule']}"
    for signer in report["signers"]:
        yield "signer", signer
    forms = [item["form"] for item in report["signatures"]]
    yield "found", f"{len(forms)} signature{'s' * (len(forms) != 1)}" + (f": {', '.join(forms)}" if forms else "")
