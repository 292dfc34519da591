"""`kubewasp what-if upgrade`: the steps of a rolling upgrade, and the disruptions that it causes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import typer

from kubewasp.cli import output
from kubewasp.cli.folding import counted, shortened
from kubewasp.cli.what_if_changes import listed
from kubewasp.cli.what_if_input import Asked, end, nodes_of, trial
from kubewasp.cli.what_if_output import print_answer, print_blocked, print_document, problems
from kubewasp.lab.what_if.upgrade import UpgradePlan, upgrade
from kubewasp.lab.what_if.what_if_errors import WhatIfError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.cli.options import FailOn
    from kubewasp.lab.what_if.upgrade import Upgrade, UpgradeStep

_MOST_STEPS: Final = 40
_MOST_WORKLOADS: Final = 15
_MOST_NAMES: Final = 3


def run(
    asked: Asked,
    names: Sequence[str],
    zone: str,
    labels: Mapping[str, str],
    *,
    surge: int,
    max_unavailable: int | None,
    is_all: bool,
    form: str,
    fail_on: FailOn,
) -> None:
    unavailable = max_unavailable if max_unavailable is not None else int(not surge)
    try:
        UpgradePlan((), surge, unavailable)
    except WhatIfError as error:
        raise typer.BadParameter(str(error), param_hint="--max-unavailable") from None
    with trial(asked) as (made, progress):
        chosen = list(made.cluster.objects.node_manifests)
        if names or zone or labels:
            chosen = nodes_of(made, names, zone, labels)
        progress.phase("upgrading nodes")
        found = upgrade(made, UpgradePlan(tuple(chosen), surge, unavailable))
    if form != "table":
        question = {"upgrade": chosen, "surge": surge, "maxUnavailable": unavailable}
        print_document(question, found.as_dict(), form)
    else:
        _print(found, is_all=is_all)
    end(problems(found.answer), found.answer.report.result.errors, fail_on)


def _print(found: Upgrade, *, is_all: bool) -> None:
    _print_steps(found.steps, is_all=is_all)
    if is_all:
        rows = [
            (str(number), move.pod, move.node, move.to or move.kind)
            for number, step in enumerate(found.steps, start=1)
            for move in step.moves
        ]
        output.print_table(("STEP", "POD", "FROM", "TO"), rows, right=("STEP",))
        output.write("\n")
    _print_disruptions(found, is_all=is_all)
    facts = [("upgraded", listed(found.upgraded))]
    if found.left:
        facts.append(("not upgraded", listed(found.left)))
    facts.append(("evicted", f"{counted(found.evictions, 'time')} in {counted(len(found.steps), 'step')}"))
    if is_all:
        print_answer(found.answer, facts, is_all=True)
        return
    print_blocked(found.answer.blocked, is_all=False)
    answer = found.answer
    bad = ", ".join(f"{count:,} {name}" for name, count in problems(answer).items() if count)
    facts.append(("at the end", bad or "every evicted pod has a node again"))
    if answer.baseline.pending:
        facts.append(("pending before", f"{len(answer.baseline.pending):,}"))
    output.print_facts(facts)


def _print_steps(steps: Sequence[UpgradeStep], *, is_all: bool) -> None:
    shown = steps if is_all else steps[:_MOST_STEPS]
    rows = [
        (
            str(number),
            "\n".join(shortened(step.nodes, _MOST_NAMES)),
            f"{len(step.moves):,}",
            f"{sum(step.pending.values()):,}",
            f"{step.rounds:,}",
            _result(step),
        )
        for number, step in enumerate(shown, start=1)
    ]
    right = ("STEP", "EVICTED", "PENDING", "ROUNDS")
    output.print_table(("STEP", "NODE", "EVICTED", "PENDING", "ROUNDS", "RESULT"), rows, right=right)
    if len(shown) < len(steps):
        output.write(f"… {len(steps) - len(shown):,} more steps; --all shows every line\n")
    output.write("\n")


def _result(step: UpgradeStep) -> str:
    again = " at the second try" if step.is_retry else ""
    if not step.blocked:
        return f"upgraded{again}"
    pods = ", ".join(shortened([pod.pod for pod in step.blocked], _MOST_NAMES))
    return f"blocked{again} by {pods}"


def _print_disruptions(found: Upgrade, *, is_all: bool) -> None:
    if not found.disruptions:
        return
    shown = found.disruptions if is_all else found.disruptions[:_MOST_WORKLOADS]
    rows = [(item.workload, f"{item.evictions:,}", f"{item.most_often:,}", f"{item.most_pending:,}") for item in shown]
    columns = ("WORKLOAD", "EVICTIONS", "OF ONE POD", "PENDING AT WORST")
    output.print_table(columns, rows, right=columns[1:])
    if len(shown) < len(found.disruptions):
        output.write(f"… {len(found.disruptions) - len(shown):,} more workloads; --all shows every line\n")
    output.write("\n")
