"""`kubewasp trace generate`: a random trace on standard output."""

from __future__ import annotations

import csv
import sys
from typing import TYPE_CHECKING

from kubewasp.cli.options import seconds
from kubewasp.lab.traces.trace_generator import COLUMNS, GPU_SIZES, SIZES, GeneratedTrace

if TYPE_CHECKING:
    from kubewasp.lab.traces.trace_generator import Arrivals, Durations


def run(
    *,
    pods: int,
    rate: float,
    arrivals: Arrivals,
    durations: Durations,
    mean_duration: str,
    namespaces: int,
    gpus: bool,
    seed: int,
) -> None:
    trace = GeneratedTrace(
        pods,
        rate=rate,
        arrivals=arrivals,
        durations=durations,
        mean_duration=seconds(mean_duration, "--mean-duration"),
        namespaces=namespaces,
        sizes=(*SIZES, *GPU_SIZES) if gpus else SIZES,
        seed=seed,
    )
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(trace.rows())
