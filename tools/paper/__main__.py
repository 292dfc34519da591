"""`python -m tools.paper FOLDER`: the experiments of the paper on its trace, and the table beside the published one."""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.errors import KubewaspError
from kubewasp.projects import project
from tools.paper import report
from tools.paper.experiments import POLICIES, SEEDS, Run, TraceFiles, run

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT: Final = Path(__file__).parents[2]
_PLUGIN: Final = ROOT / "examples" / "plugins" / "gpu-share"


class Results:
    """Experiments that have run, in a file with one per line; those of other inputs are in other files."""

    def __init__(self, folder: Path, files: TraceFiles, guest: Path) -> None:
        digest = hashlib.sha256()
        for path in (files.pods, files.nodes, guest):
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        self.path = folder / f"runs-{digest.hexdigest()[:12]}.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        self.runs: dict[tuple[str, int], Run] = {}
        if self.path.exists():
            for line in self.path.read_bytes().splitlines():
                found = Run.from_json(line)
                self.runs[found.policy, found.seed] = found

    def add(self, found: Run) -> None:
        self.runs[found.policy, found.seed] = found
        with self.path.open("ab") as file:
            file.write(found.as_json() + b"\n")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.paper", description=__doc__)
    parser.add_argument(
        "folder", type=Path, help="folder with openb_pod_list_default.csv and openb_node_list_gpu_node.csv"
    )
    parser.add_argument("--seeds", type=int, default=10, help=f"number of seeds, from {SEEDS} on (default 10)")
    parser.add_argument("--policies", default=",".join(policy.name for policy in POLICIES), help="names, by comma")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="experiments at the same time")
    parser.add_argument("--guest", type=Path, help="the plugin gpu-share, built; default: built now")
    parser.add_argument(
        "--results", type=Path, default=ROOT / ".build" / "paper", help="folder of finished experiments"
    )
    parser.add_argument("--docs", type=Path, help="documentation folder for tables and picture, such as docs")
    options = parser.parse_args(arguments)
    known, wanted = [policy.name for policy in POLICIES], options.policies.split(",")
    if options.seeds < 1 or options.processes < 1:
        parser.error("--seeds and --processes must be greater than zero")
    if unknown := [name for name in wanted if name not in known]:
        parser.error(f"unknown policy {unknown[0]}; there are {', '.join(known)}")
    try:
        return _run(options, [name for name in known if name in wanted])
    except KubewaspError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2


def _run(options: argparse.Namespace, policies: Sequence[str]) -> int:
    files = TraceFiles.of(options.folder)
    guest: Path = options.guest or project.build(project.find(_PLUGIN)).path
    results = Results(options.results, files, guest)
    plan = [(policy, seed) for seed in range(SEEDS, SEEDS + options.seeds) for policy in policies]
    _experiments(files, guest, [one for one in plan if one not in results.runs], results, options.processes)
    runs = [results.runs[one] for one in plan]
    found = report.lines(runs)
    for line in report.text(found):
        _print(line)
    _print(report.total(found))
    told = report.problems(found)
    for problem in told:
        _print(problem)
    if not told:
        _print(report.verdict(found))
    if options.docs:
        for path in report.write_docs(runs, options.docs):
            _print(f"written: {path}")
    return 1 if told else 0


def _experiments(
    files: TraceFiles, guest: Path, plan: Sequence[tuple[str, int]], results: Results, processes: int
) -> None:
    """Runs those of a plan, several at the same time. A finished one is kept whatever happens to the others."""
    if not plan:
        return
    _print(f"{len(plan)} experiments in {processes} processes")
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        todo = [pool.submit(run, files, policy, seed, guest) for policy, seed in plan]
        try:
            for number, done in enumerate(as_completed(todo), 1):
                found = done.result()
                results.add(found)
                _print(
                    f"{number:3}/{len(plan)}  {found.policy:14} seed {found.seed}  {found.full:6.2f} {found.end:6.2f}  "
                    f"{found.cpu_seconds:6.1f} s CPU"
                )
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
