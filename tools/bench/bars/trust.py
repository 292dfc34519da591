"""Bars of signatures: reading and verifying one, in each form."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Final

from kubewasp.trust import bundle
from kubewasp.trust.keys import PrivateKey
from kubewasp.trust.policy import Rule, TrustPolicy
from kubewasp.trust.signatures import SignatureDocument, Subject, read_bundle
from kubewasp.trust.signers import KeySigner
from kubewasp.trust.simple_signing import Payload, SimpleSignature
from tools.bench.bars.bar import Bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ROUNDS: Final = 200
_SUBJECT: Final = Subject(f"sha256:{'0' * 64}", "oci://registry.example.com/policies/prefer-label:1")


def bars(step: Callable[[str], None]) -> Iterator[Bar]:
    step("verifying signatures")
    key = PrivateKey.generate()
    policy = TrustPolicy(Rule(all_of=(KeySigner(key.public, "team-a"),)))
    present = bundle.sign_digest(_SUBJECT.sha256, key, {}).write()
    older = SimpleSignature.sign(Payload(_SUBJECT.digest), key)
    yield Bar(
        "verify a keyed signature: bundle",
        _milliseconds(lambda: policy.check(_SUBJECT, [read_bundle(present, "referrer")])),
        "ms",
        at_most=20,
    )
    yield Bar(
        "verify a keyed signature: older form",
        _milliseconds(lambda: policy.check(_SUBJECT, [SignatureDocument(older, "tag")])),
        "ms",
        at_most=20,
    )


def _milliseconds(work: Callable[[], object]) -> float:
    rounds = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        work()
        rounds.append(time.perf_counter() - began)
    return statistics.median(rounds) * 1e3
