"""One run of a guest over one pod after the other, by the program of a peer or by kubewasp.

Both call the same hooks in the same order and end with a filter code, if there is a filter, and a score for every node.
The answers of all cycles make a checksum: only hosts that agree are compared.
"""

from __future__ import annotations

import gc
import hashlib
import json
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kubewasp.errors import KubewaspError
from kubewasp.framework.status import Code
from kubewasp.wasm.guest import Guest
from tools.bench.peers.go_programs import UnavailableError, shortened

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from kubewasp.state.node_table import NodeTable
    from tools.bench.peers.cluster import Cluster

_SEVERITY: Final = 3  # only fatal messages, on all hosts
_SECONDS: Final = 600.0

Answers = list["NDArray[np.int64]"]


@dataclass(frozen=True, slots=True)
class Run:
    """Costs of one run; `guest_memory` is 0 if unknown."""

    load_ms: float
    first_us: float
    cycles_us: tuple[float, ...]
    checksum: str
    guest_memory: int


class AnswerError(KubewaspError):
    """A guest that cannot be measured: one of its hooks failed."""


def by_program(program: Path, guest: Path, cluster: Cluster, *, nodes: int, cycles: int) -> Run:
    """A run of a peer in its own process; reading the files is not measured."""
    files: list[str | Path] = ["-guest", guest, "-nodes", cluster.nodes_file, "-pods", cluster.pods_file]
    try:
        done = subprocess.run(
            [program, *files, "-count", str(nodes), "-cycles", str(cycles)],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"its program failed: {shortened(str(error))}") from None
    if done.returncode:
        said = done.stderr.strip().partition("\n")[0] or f"exit code {done.returncode}"
        raise UnavailableError(f"its program failed: {shortened(said)}")
    found = json.loads(done.stdout)
    return Run(
        load_ms=found["load_seconds"] * 1e3,
        first_us=found["first_cycle_us"],
        cycles_us=tuple(found["cycles_us"]),
        checksum=found["checksum"],
        guest_memory=found["guest_memory_bytes"],
    )


def here(guest: Path, cluster: Cluster, *, nodes: int, cycles: int, use_cache: bool = False) -> Run:
    """A run by kubewasp, in this process; cold, or with the compiled guest from the cache."""
    wasm = guest.read_bytes()
    Guest.load(wasm, log_severity=_SEVERITY)  # engine and adapter are loaded once for all guests
    table = cluster.table(nodes)
    gc.collect()
    began = time.perf_counter()
    loaded = Guest.load(wasm, log_severity=_SEVERITY, use_cache=use_cache)
    load = time.perf_counter() - began
    checksum = hashlib.sha256()
    spent = []
    rows = table.objects.rows()
    for number in range(cycles + 1):
        pod = cluster.pods[number % len(cluster.pods)]
        began = time.perf_counter()
        answers = _cycle(loaded, pod, table, rows)
        spent.append((time.perf_counter() - began) * 1e6)
        for answer in answers:
            checksum.update(answer.astype("<i8").tobytes())
    with loaded.cycle(cluster.pods[0], table) as cycle:
        memory = cycle.runner.memory_bytes
    return Run(load * 1e3, spent[0], tuple(spent[1:]), checksum.hexdigest(), memory)


def _cycle(guest: Guest, pod: bytes, table: NodeTable, rows: NDArray[np.int64]) -> Answers:
    """The hooks of the guest in the order of the scheduler's plugin for guests."""
    hooks = guest.hooks
    answers: Answers = []
    with guest.cycle(pod, table) as cycle:
        skip_filter = False
        if "prefilter" in hooks:
            first = cycle.prefilter()
            _check("prefilter", first.code, first.reason)
            if first.node_names is not None:
                raise AnswerError("a guest that picks nodes in prefilter is not measured here")
            skip_filter = first.code == Code.SKIP
        if "filter" in hooks and not skip_filter:
            codes = cycle.hooks.call_rows("filter", rows).values
            answers.append(codes)
            if np.count_nonzero(codes):
                rows = rows[codes == 0]
        if "prescore" in hooks and len(rows):
            prescored = cycle.prescore_rows(rows)
            _check("prescore", prescored.code, prescored.reason)
            if prescored.code == Code.SKIP:
                return answers
        if "score" not in hooks:
            return answers
        values = cycle.hooks.call_rows("score", rows).values
        refused = np.flatnonzero(values.astype(np.int32))
        if len(refused):
            raise AnswerError(f"score refused a node with the status {int(values.astype(np.int32)[refused[0]])}")
        scores = values >> 32
        if "normalizescore" in hooks:
            normalized, scores = cycle.normalize_rows(rows, scores)
            _check("normalizescore", normalized.code, normalized.reason)
        answers.append(scores)
    return answers


def _check(hook: str, code: int, reason: str) -> None:
    if code not in (Code.SUCCESS, Code.SKIP):
        raise AnswerError(f"{hook} answered with the status {code}: {reason}")
