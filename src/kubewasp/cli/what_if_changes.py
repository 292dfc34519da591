"""`kubewasp what-if drain`, `remove`, `add` and `scale`: the question asked, and its answer printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import typer

from kubewasp.cli.folding import counted, shortened
from kubewasp.cli.what_if_input import Asked, end, nodes_of, trial
from kubewasp.cli.what_if_output import print_answer, print_document, problems
from kubewasp.k8s import quantity
from kubewasp.lab.what_if import questions
from kubewasp.lab.what_if.scaling import parse_target
from kubewasp.lab.what_if.what_if_errors import WhatIfError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.cli.options import FailOn
    from kubewasp.cli.what_if_output import Facts
    from kubewasp.lab.what_if.what_if_trial import Answer

_MOST_NAMES: Final = 6


def drain(
    asked: Asked,
    names: Sequence[str],
    zone: str,
    labels: Mapping[str, str],
    *,
    is_all: bool,
    form: str,
    fail_on: FailOn,
) -> None:
    with trial(asked) as (made, _):
        nodes = nodes_of(made, names, zone, labels)
        found = questions.drain_nodes(made, nodes)
    answer, done = found.answer, found.drain
    if form != "table":
        how = {"evicted": len(done.evicted), "rounds": done.rounds, "flags": list(done.flags)}
        print_document({"drain": nodes}, how | answer.as_dict(), form)
    else:
        rounds = counted(done.rounds, "round")
        facts = [("drained", listed(nodes)), ("evicted", f"{counted(len(done.evicted), 'pod')} in {rounds}")]
        if done.flags:
            facts.append(("kubectl drain", f"needs {' '.join(done.flags)}"))
        print_answer(answer, facts, is_all=is_all)
    end(problems(answer), answer.report.result.errors, fail_on)


def remove(
    asked: Asked,
    names: Sequence[str],
    zone: str,
    labels: Mapping[str, str],
    *,
    is_all: bool,
    form: str,
    fail_on: FailOn,
) -> None:
    with trial(asked) as (made, _):
        nodes = nodes_of(made, names, zone, labels)
        answer = questions.remove_nodes(made, nodes)
    _show(answer, {"remove": nodes}, [("removed", listed(nodes))], is_all=is_all, form=form, fail_on=fail_on)


def add(
    asked: Asked,
    like: str,
    count: int,
    resources: Mapping[str, str],
    labels: Mapping[str, str],
    *,
    is_all: bool,
    form: str,
    fail_on: FailOn,
) -> None:
    _check_amounts(resources)
    with trial(asked) as (made, _):
        answer, names = questions.add_like(made, like, count, resources=resources, labels=labels)
    changed = ", ".join(f"{key}={value}" for key, value in [*resources.items(), *labels.items()])
    used = {node.name for node in answer.report.result.nodes if node.after.get("pods")} & set(names)
    facts = [
        ("added", f"{counted(count, 'node')} like {like}{f' with {changed}' if changed else ''}"),
        ("in use", f"{len(used):,} of {count:,} new nodes"),
    ]
    question: dict[str, Any] = {"add": names, "like": like, "resources": dict(resources), "labels": dict(labels)}
    _show(answer, question, facts, is_all=is_all, form=form, fail_on=fail_on, with_waiting=True)


def scale(asked: Asked, given: Sequence[str], namespace: str, *, is_all: bool, form: str, fail_on: FailOn) -> None:
    try:
        targets = [parse_target(text, namespace) for text in given]
    except WhatIfError as error:
        raise typer.BadParameter(str(error), param_hint="TARGET") from None
    with trial(asked) as (made, _):
        answer = questions.scale(made, targets)
    texts = [target.text for target in targets]
    _show(answer, {"scale": texts}, [("scaled", ", ".join(texts))], is_all=is_all, form=form, fail_on=fail_on)


def listed(names: Sequence[str]) -> str:
    """The number of nodes, and the names of the first ones."""
    return f"{counted(len(names), 'node')}: {', '.join(shortened(names, _MOST_NAMES))}"


def _show(
    answer: Answer,
    question: Mapping[str, Any],
    facts: Facts,
    *,
    is_all: bool,
    form: str,
    fail_on: FailOn,
    with_waiting: bool = False,
) -> None:
    if form != "table":
        print_document(question, answer.as_dict(), form)
    else:
        print_answer(answer, facts, is_all=is_all, with_waiting=with_waiting)
    end(problems(answer), answer.report.result.errors, fail_on)


def _check_amounts(resources: Mapping[str, str]) -> None:
    for name, text in resources.items():
        try:
            is_valid = 0 <= quantity.parse(text).value() <= 10**15
        except ValueError:
            is_valid = False
        if not is_valid:
            raise typer.BadParameter(f"{name}: expected an amount such as 16 or 64Gi, got {text!r}", param_hint="--set")
