"""Reasons of pods without a node: messages of attempts without the numbers of nodes, so that equal ones are one."""

from __future__ import annotations

import re
from typing import Final

_ALL_NODES: Final = re.compile(r"\d+/\d+ nodes are available: ")
_COUNT: Final = re.compile(r"\d+ ")
_LONGEST: Final = 300
NO_ATTEMPT: Final = "no scheduling attempt"


def reason_of(message: str) -> str:
    """The reasons of a message without numbers of nodes and without the part on preemption.

    >>> reason_of("0/3 nodes are available: 1 node(s) had a taint, 2 Insufficient cpu. preemption: 0/3 nodes are …")
    'Insufficient cpu, node(s) had a taint'
    """
    found = _ALL_NODES.match(message)
    if found is None:
        text = message.strip().partition("\n")[0]
        return (text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…") or NO_ATTEMPT
    # A search that is repeated on other nodes says so again after the first sentence.
    reasons = message[found.end() :].partition(". ")[0].removesuffix(".")
    names = sorted({_COUNT.sub("", reason, count=1) for reason in reasons.split(", ")})
    text = ", ".join(names)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
