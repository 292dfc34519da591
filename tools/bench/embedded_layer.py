"""Embedded schedulers, without an API server: the cost of scheduling alone. Each run has its own process."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from typing import TYPE_CHECKING

from tools.bench import contenders
from tools.bench.embedded_run import EmbeddedRun
from tools.bench.figures import Figures, RunError, TooSlowError, quantile
from tools.testbed.process import importable

if TYPE_CHECKING:
    from pathlib import Path

    from tools.bench.contenders import Contender
    from tools.bench.workloads import Workload


def figures(what: Workload, contender: Contender, folder: Path, longest: float) -> Figures:
    """One run."""
    packages = contenders.packages(contender, folder)
    asked = {
        "workload": what.name,
        "nodes": what.nodes,
        "pods": what.measured.count,
        "profile": contenders.profile(contender),
    }
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tools.bench.embedded_run"],
            input=json.dumps(asked),
            env=os.environ | importable(*filter(None, [packages])),
            capture_output=True,
            text=True,
            timeout=longest,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TooSlowError(f"not done after {longest:g} s") from None
    if done.returncode:
        raise RunError(f"{what.name}, {contender}, embedded: {done.stderr.strip().splitlines()[-1]}\n{done.stderr}")
    run = EmbeddedRun(**json.loads(done.stdout))
    return Figures(
        rate=run.pods / run.seconds,
        attempts={share: quantile(share, run.attempts) for share in Figures.SHARES},
        algorithm=statistics.fmean(run.attempts),
        cpu=run.cpu / run.pods,
        memory=run.memory,
    )
