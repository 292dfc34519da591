"""`python -m tools.conformance CHECKOUT`: the guests of kube-scheduler-wasm-extension, called hook by hook."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from kubewasp.cli.command_group import CommandGroup
from kubewasp.cli.main import run_app
from kubewasp.cli.output import printable, warn, write
from tools.conformance import report
from tools.conformance.expectations import CASES, COMMIT, REPOSITORY
from tools.conformance.guest_runs import run, uncovered

app = CommandGroup()
_HOW = f"""\
The guests are not part of this repository. Get them, then run this again:

  git clone https://github.com/{REPOSITORY}
  git -C {REPOSITORY.partition("/")[2]} checkout {COMMIT}
  make conformance GUESTS={REPOSITORY.partition("/")[2]}
"""


@app.command()
def conformance(
    checkout: Annotated[Path | None, typer.Argument(help=f"Checkout of github.com/{REPOSITORY}.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="A table with a line per guest.")] = False,
) -> None:
    """Call the hooks of all guests in a checkout, and compare their answers with their sources.

    Exit codes: 0 all as expected or with a known difference; 1 another answer, or a guest without expectations;
    2 no checkout.
    """
    if checkout is None or not (checkout / f"{CASES[0].guest}.wasm").is_file():
        sys.stderr.write((f"no guests in {checkout}. " if checkout else "") + _HOW)
        raise typer.Exit(2)
    found = _commit(checkout)
    if found != COMMIT:
        warn(f"the expectations are those of commit {COMMIT[:7]}, the checkout is at {found[:7] or 'an unknown one'}")
    answers = [answer for case in CASES for answer in run(case, checkout)]
    for line in report.markdown(answers) if markdown else [*report.lines(answers), "", report.summary(answers)]:
        write(f"{printable(line)}\n")
    missing = uncovered(checkout, CASES)
    for path in missing:
        warn(f"{path} has no expectations")
    if missing or not all(answer.is_expected or answer.is_known for answer in answers):
        raise typer.Exit(1)


def _commit(checkout: Path) -> str:
    command = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    run_app(app, "python -m tools.conformance")
