"""Trust policy: the signatures that a guest needs before it is compiled, by its source.

A rule names signers: all of `all_of`, and `minimum_matches` different ones of `any_of`. The most specific rule of a
source counts, else the rule for all sources.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kubewasp.trust.errors import SignatureError, TrustError
from kubewasp.trust.signatures import MAX_SIGNATURES, UnreadableSignature

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kubewasp.trust.keyless import Identity
    from kubewasp.trust.signatures import Evidence, SignatureDocument, Subject
    from kubewasp.trust.signers import CertificateVerifier, SignedBy, Signer
    from kubewasp.trust.source_patterns import SourcePattern

logger = logging.getLogger(__name__)

_SHOWN: Final = 5  # found signatures in an error


@dataclass(frozen=True, slots=True)
class Rule:
    """Needed signatures. Without `required`, a missing signature is logged and the guest is loaded."""

    all_of: tuple[Signer, ...] = ()
    any_of: tuple[Signer, ...] = ()
    minimum_matches: int = 1
    required: bool = True
    name: str = "trust"  # its path in the configuration

    @property
    def needs_signatures(self) -> bool:
        return bool(self.all_of or self.any_of)

    @property
    def needed(self) -> str:
        """The needed signatures as text."""
        parts = [f"signed by {signer}" for signer in self.all_of]
        if self.any_of:
            names = " or ".join(map(str, self.any_of))
            count = "" if self.minimum_matches == 1 else f"{self.minimum_matches} of "
            parts.append(f"signed by {count}{names}")
        return ", and ".join(parts)


@dataclass(frozen=True, slots=True)
class SourceRule:
    """The rule for the sources of a pattern."""

    pattern: SourcePattern
    rule: Rule


@dataclass(frozen=True, slots=True)
class Verified:
    """An accepted guest: the names of its signers, none if no signature was needed or if the rule only warns."""

    signers: tuple[str, ...] = ()
    rule: str = ""


@dataclass(frozen=True)
class TrustPolicy:
    """All rules. `keyless` verifies certificates; it is there if a rule names an identity."""

    rule: Rule = field(default_factory=Rule)
    sources: tuple[SourceRule, ...] = ()
    keyless: CertificateVerifier | None = None

    def rule_for(self, source: str) -> Rule:
        matching = [item for item in self.sources if item.pattern.matches(source)]
        return max(matching, key=lambda item: item.pattern.specificity).rule if matching else self.rule

    def needs_signatures(self, source: str) -> bool:
        """Whether signatures of this source have to be looked for."""
        return self.rule_for(source).needs_signatures

    def is_satisfied(self, subject: Subject, evidence: Sequence[Evidence]) -> bool:
        """Whether the signatures are all that the rule of the source names; logs nothing."""
        rule = self.rule_for(subject.source)
        return _Findings(rule, subject, evidence[:MAX_SIGNATURES], self.keyless).is_satisfied

    def check(self, subject: Subject, evidence: Sequence[Evidence]) -> Verified:
        """The signers. TrustError for a guest that the policy refuses."""
        rule = self.rule_for(subject.source)
        if not rule.needs_signatures:
            if rule.required:
                raise TrustError(
                    f"{subject.source}: not trusted: no rule of {rule.name} names signers for this source; "
                    f"add one to {rule.name}.sources, or required: false"
                )
            return Verified(rule=rule.name)
        found = _Findings(rule, subject, evidence[:MAX_SIGNATURES], self.keyless)
        if found.is_satisfied:
            return Verified(found.names, rule.name)
        refusal = TrustError(found.refusal(omitted=len(evidence) > MAX_SIGNATURES))
        if rule.required:
            raise refusal
        logger.warning("Guest is not trusted, loaded as its rule is not required", extra={"problem": str(refusal)})
        return Verified(rule=rule.name)


class _Findings:
    """Each signer of a rule against each signature."""

    def __init__(
        self, rule: Rule, subject: Subject, evidence: Sequence[Evidence], keyless: CertificateVerifier | None
    ) -> None:
        self._rule = rule
        self._subject = subject
        self._evidence = evidence
        self._problems: dict[int, str] = {}  # by the place of the signature: the last cause, the most telling one
        self._accepted: dict[int, SignedBy] = {}
        once = None if keyless is None else _VerifiedOnce(keyless)
        self._of_all = [self._matches(signer, once) for signer in rule.all_of]
        self._of_any = [self._matches(signer, once) for signer in rule.any_of]

    def _matches(self, signer: Signer, keyless: CertificateVerifier | None) -> list[SignedBy]:
        matches = []
        for place, document in enumerate(self._evidence):
            if isinstance(document, UnreadableSignature):
                self._problems[place] = document.problem
                continue
            try:
                matches.append(signer.check(document, self._subject, keyless))
            except SignatureError as error:
                self._note(place, str(error))
            else:
                self._accepted[place] = matches[-1]
        return matches

    def _note(self, place: int, problem: str) -> None:
        """Keeps the most telling cause: that of the right signer, not that of each other one."""
        if problem.startswith(("not signed by", "signed with a")):
            self._problems.setdefault(place, problem)
        else:
            self._problems[place] = problem

    @property
    def is_satisfied(self) -> bool:
        return all(self._of_all) and (not self._rule.any_of or self._distinct >= self._rule.minimum_matches)

    @property
    def _distinct(self) -> int:
        return _pairs([{match.identity for match in matches} for matches in self._of_any])

    @property
    def names(self) -> tuple[str, ...]:
        matches = (match for found in (*self._of_all, *self._of_any) for match in found)
        return tuple(dict.fromkeys(match.name for match in matches))

    def refusal(self, *, omitted: bool) -> str:
        missing = [str(signer) for signer, found in zip(self._rule.all_of, self._of_all, strict=True) if not found]
        if self._rule.any_of and self._distinct < self._rule.minimum_matches:
            lacking = [str(s) for s, found in zip(self._rule.any_of, self._of_any, strict=True) if not found]
            count = self._rule.minimum_matches - self._distinct
            one_of = "" if len(lacking) <= 1 else f"{count} of "
            missing.append(one_of + ", ".join(lacking or map(str, self._rule.any_of)))
        source, digest = self._subject.source, self._subject.digest
        named = source if digest in source else f"{source} ({digest})"
        return (
            f"{named}: not trusted by {self._rule.name}: "
            f"no signature by {' and '.join(missing)}; {self._found(omitted=omitted)}; to satisfy the policy, "
            f"add the missing signature (kubewasp plugin sign, cosign sign)"
        )

    def _found(self, *, omitted: bool) -> str:
        if not self._evidence:
            return "found no signature"
        shown = [self._described(place) for place in range(min(_SHOWN, len(self._evidence)))]
        more = len(self._evidence) - len(shown)
        if more > 0 or omitted:
            shown.append(f"and {more}{' or' if omitted else ''} more")
        count = len(self._evidence)
        return f"found {count} signature{'s' if count > 1 else ''}: {', '.join(shown)}"

    def _described(self, place: int) -> str:
        document = self._evidence[place]
        if place in self._accepted:
            return f"{document.place} by {self._accepted[place].name}"
        claim = "" if isinstance(document, UnreadableSignature) else f" by {document.claim}"
        return f"{document.place}{claim} ({self._problems.get(place, 'not by a signer of the policy')})"


class _VerifiedOnce:
    """Certificates, verified once for all signers of a rule: one takes about 10 ms."""

    def __init__(self, keyless: CertificateVerifier) -> None:
        self._keyless = keyless
        self._results: dict[SignatureDocument, tuple[Identity, Mapping[str, str]] | SignatureError] = {}

    def verify(self, document: SignatureDocument, subject: Subject) -> tuple[Identity, Mapping[str, str]]:
        if document not in self._results:
            try:
                self._results[document] = self._keyless.verify(document, subject)
            except SignatureError as error:
                self._results[document] = error
        result = self._results[document]
        if isinstance(result, SignatureError):
            raise result
        return result


def _pairs(candidates: Iterable[set[str]]) -> int:
    """The most signers of the policy that different identities satisfy: one signature never counts for two."""
    wanted, taken = list(candidates), dict[str, int]()

    def place(signer: int, tried: set[str]) -> bool:
        for identity in wanted[signer] - tried:
            tried.add(identity)
            if identity not in taken or place(taken[identity], tried):
                taken[identity] = signer
                return True
        return False

    return sum(place(signer, set()) for signer in range(len(wanted)))
