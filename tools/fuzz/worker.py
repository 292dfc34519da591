"""Process that fuzzes one target. The input at hand is in a file, so that it survives the process."""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tools.fuzz import catalogue
from tools.fuzz.mutation import mutated

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_SEEDS: Final = 4000
# An input that grows the process by as much is a crash, and ends it.
MAX_MEMORY: Final = 4 << 30


def fuzz(name: str, folder: Path, seconds: float, seed: int, *, least: int = 0) -> dict[str, int]:
    """Fuzzes for that long, and with at least so many inputs.

    Seeds come first, in any order and for half of the time: there may be more of them than a short run has time for.
    Seeds, crashes and the input at hand are files of the folder.
    """
    target, chance = catalogue.target(name), random.Random(seed)  # noqa: S311 - not a secret
    at_hand, labels, inputs, crashes = folder / "at-hand", set[str](), 0, 0
    seeds = [*target.seeds(), *(path.read_bytes() for path in sorted(folder.glob("seed-*")))]
    known = list(seeds)
    chance.shuffle(seeds)
    began = time.monotonic()
    while inputs < least or time.monotonic() < began + seconds:
        fresh = bool(seeds) and (inputs < least or time.monotonic() < began + seconds / 2)
        data = seeds.pop() if fresh else mutated(chance.choice(known), known, chance)
        at_hand.write_bytes(data)
        inputs += 1
        try:
            label = target.one(data)
        except Exception:  # noqa: BLE001 - any exception is a finding
            text = traceback.format_exc()
            label = f"crash: {_place(text)}"
            if label not in labels:  # one file per cause
                crashes += 1
                keep(folder, "crash", data, text)
        if label not in labels and not fresh and len(known) < MAX_SEEDS:
            known.append(data)
            keep(folder, "seed", data)
        labels.add(label)
    at_hand.unlink(missing_ok=True)
    return {"inputs": inputs, "labels": len(labels), "seeds": len(known), "crashes": crashes}


def _place(text: str) -> str:
    """The innermost line of code, and the kind of the exception."""
    lines = text.splitlines()
    files = [line for line in lines if line.startswith("  File ")]
    return f"{files[-1].strip() if files else ''} {lines[-1].split(':')[0]}"


def keep(folder: Path, kind: str, data: bytes, text: str = "") -> None:
    name = f"{kind}-{hashlib.sha256(data).hexdigest()[:16]}"
    (folder / name).write_bytes(data)
    if text:
        (folder / f"{name}.txt").write_text(text, encoding="utf-8", errors="replace")


def main(arguments: Sequence[str]) -> None:
    name, folder, seconds, seed = arguments
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))
    with tempfile.TemporaryDirectory(prefix="kubewasp-") as compiled:  # generated guests are not worth keeping
        os.environ["KUBEWASP_CACHE_DIR"] = compiled
        sys.stdout.write(json.dumps(fuzz(name, Path(folder), float(seconds), int(seed))) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
