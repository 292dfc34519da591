"""Comparison of two schedulers' results for the same pod. Known differences are explained here, others reported."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from kubewasp.plugins.default_preemption import pick
from tests.e2e.parity.looking import Decision, keys_of
from tests.e2e.parity.probing import ERROR, UNSCHEDULABLE, Verdict
from tests.e2e.parity.reference import Scored

# Who asked: each scheduler is another user.
_USER: Final = re.compile(r'User "\w+"')
# kubewasp says what it wanted to do, and which right it lacks.
_WANTED: Final = re.compile(r"cannot \w+ \S+ \S+: ")
_LACKING: Final = re.compile(r" \(RBAC must allow [^)]*\)")


# Counts of comparisons and of explained differences.
Tally = Counter[str]


def compare_decisions(verdict: Verdict, theirs: Scored, ours: Decision, tally: Tally) -> Iterator[str]:
    """kube-scheduler's verdict and scores against kubewasp's decision. Yields what differs and is not explained."""
    tally["pairs: a cluster and a pod, decided by both"] += 1
    yield from _compare_nodes(theirs, ours, tally)
    if verdict.reason == UNSCHEDULABLE:
        tally["texts of pods that fit nowhere"] += 1
        if ours.is_error or verdict.message != ours.message:
            yield f"the message is {verdict.message!r}, ours {ours.message!r}"
        yield from _compare_preemption(verdict, ours, ours.nominated, ours.victims, tally)
    elif not theirs.chosen:
        tally["texts of errors before a node was chosen"] += 1
        if not ours.is_error or verdict.message != ours.message:
            yield f"the error is {verdict.message!r}, ours {ours.message!r}"


def compare_runs(theirs: Verdict, ours: Verdict, looked: Decision, tally: Tally) -> Iterator[str]:
    """Compares the writes of both; `looked` has the equally good preemptions."""
    tally["pairs through `kubewasp run`: conditions and events"] += 1
    if theirs.reason != ours.reason:
        yield f"the reason is {theirs.reason!r}, ours {ours.reason!r}"
    for what, one, other in (("message", theirs.message, ours.message), ("event", theirs.event, ours.event)):
        if one != other and not (theirs.reason == ERROR and _same_error(one, other)):
            yield f"the {what} is {one!r}, ours {other!r}"
    if theirs.reason == UNSCHEDULABLE:
        yield from _compare_preemption(theirs, looked, ours.nominated, ours.victims, tally)


def _compare_nodes(theirs: Scored, ours: Decision, tally: Tally) -> Iterator[str]:
    if theirs.feasible != ours.feasible:
        yield f"feasible are {sorted(theirs.feasible)}, ours {sorted(ours.feasible)}"
        return
    for node, scores in theirs.scores.items():
        tally["scores of one plugin for one node"] += len(scores)
        if scores != ours.scores[node]:
            yield f"the scores of {node} are {scores}, ours {ours.scores[node]}"
    if theirs.totals != ours.totals:
        yield f"the totals are {theirs.totals}, ours {ours.totals}"
        return
    if not theirs.chosen:
        return
    best = max(theirs.totals.values(), default=0)
    is_tie = list(theirs.totals.values()).count(best) > 1
    if theirs.chosen == ours.chosen:
        tally["nodes chosen: the same of several that are as good" if is_tie else "nodes chosen: the best"] += 1
    elif ours.is_narrowed and theirs.totals.get(theirs.chosen) == theirs.totals.get(ours.chosen) == best:
        tally["nodes chosen: another that is as good (explained)"] += 1
    else:
        yield f"the node is {theirs.chosen}, ours {ours.chosen}"


def _compare_preemption(
    theirs: Verdict, looked: Decision, node: str, victims: set[tuple[str, str]], tally: Tally
) -> Iterator[str]:
    if not theirs.nominated and not node:
        return
    if (theirs.nominated, theirs.victims) == (node, victims):
        tally["preemptions: the same node and victims"] += 1
    elif _is_as_good(theirs, looked, node, victims):
        tally["preemptions: another node that is as good (explained)"] += 1
    else:
        yield (
            f"preemption of {sorted(theirs.victims)} on {theirs.nominated or 'no node'}, "
            f"ours of {sorted(victims)} on {node or 'no node'}"
        )


def _is_as_good(theirs: Verdict, looked: Decision, node: str, victims: set[tuple[str, str]]) -> bool:
    """Whether both nodes rank alike, and each has the victims it should have: then kube-scheduler takes any."""
    found = {candidate.node: candidate for candidate in looked.candidates}
    one, other = found.get(theirs.nominated), found.get(node)
    if one is None or other is None or (keys_of(one), keys_of(other)) != (theirs.victims, victims):
        return False
    return pick([one, other]) is one and pick([other, one]) is other


def _same_error(theirs: str, ours: str) -> bool:
    plain = _LACKING.sub("", _WANTED.sub("", ours))
    return _USER.sub("User", theirs) == _USER.sub("User", plain)
