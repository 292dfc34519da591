"""`python -m tools.fuzz`: fuzzes all targets for a time, each in processes of its own."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tools.fuzz.catalogue import TARGETS
from tools.fuzz.worker import keep

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT: Final = Path(__file__).parents[2]
# Seconds beyond the asked time until a worker counts as hanging on its input.
GRACE = 60.0
# Arguments of Python for a worker.
WORKER: tuple[str, ...] = ("-m", "tools.fuzz.worker")


@dataclass(slots=True)
class Outcome:
    """Result of one target."""

    inputs: int = 0
    seeds: int = 0
    labels: int = 0
    crashes: int = 0
    seconds: float = 0.0


def run(name: str, seconds: float, seed: int, kept: Path) -> Outcome:
    """Fuzzes one target in a process. An input that ends or hangs the process is kept as a crash."""
    folder = kept / name.replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    command = [sys.executable, *WORKER, name, str(folder), str(seconds), str(seed)]
    ended, problem = "", ""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds + GRACE, check=False)
        ended = done.stdout
        if done.returncode:
            problem = f"exit code {done.returncode}\n{done.stderr[-4000:]}"
    except subprocess.TimeoutExpired:
        problem = f"no end {GRACE:g} s after the time was up"
    found = Outcome(seconds=time.monotonic() - began)
    if not problem:
        counts = json.loads(ended.splitlines()[-1])
        found.inputs, found.seeds, found.labels, found.crashes = (
            counts[key] for key in ("inputs", "seeds", "labels", "crashes")
        )
        return found
    found.crashes = 1
    at_hand = folder / "at-hand"
    if at_hand.exists():
        keep(folder, "crash", at_hand.read_bytes(), problem)
        at_hand.unlink()
    else:
        sys.stderr.write(f"{problem}\n")
    return found


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="time for all targets together (default 60)")
    parser.add_argument("--only", action="append", choices=TARGETS, help="a target; may be repeated")
    parser.add_argument("--seed", type=int, default=0, help="start of the random numbers; 0 takes the time")
    parser.add_argument("--kept", type=Path, default=ROOT / ".build" / "fuzz", help="folder of seeds and crashes")
    options = parser.parse_args(arguments)
    chosen = options.only or list(TARGETS)
    seed = options.seed or time.time_ns() % 2**31
    _print(f"seed {seed}")
    _print(f"{'TARGET':18} {'INPUTS':>9} {'PER S':>7} {'OUTCOMES':>8} {'SEEDS':>6} {'CRASHES':>7}")
    crashes = 0
    for name in chosen:
        found = run(name, options.seconds / len(chosen), seed, options.kept)
        crashes += found.crashes
        rate = found.inputs / found.seconds if found.seconds else 0
        _print(f"{name:18} {found.inputs:9,} {rate:7,.0f} {found.labels:8} {found.seeds:6} {found.crashes:7}")
    if crashes:
        sys.stderr.write(f"crashes are in {options.kept}; an input becomes a test in tests/tools/fuzz/crashes/TARGET\n")
    return 1 if crashes else 0


if __name__ == "__main__":
    sys.exit(main())
