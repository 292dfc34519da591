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
# Seconds until a worker counts as hanging on its input, and until a worker without any input does.
GRACE = 60.0
START: Final = 600.0
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
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ended, problem = _wait(process, folder / "at-hand")
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


def _wait(process: subprocess.Popen[str], at_hand: Path) -> tuple[str, str]:
    """Output of a worker, or its problem. A worker whose input stays the same for too long is killed."""
    last, since = 0, time.monotonic()
    while True:
        try:
            ended, errors = process.communicate(timeout=0.2)
        except subprocess.TimeoutExpired:
            now = at_hand.stat().st_mtime_ns if at_hand.exists() else 0
            if now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > (GRACE if now else START):
                process.kill()
                process.communicate()
                return "", f"no end of this input within {GRACE:g} s" if now else "the worker does not start"
        else:
            return ended, f"exit code {process.returncode}\n{errors[-4000:]}" if process.returncode else ""


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
