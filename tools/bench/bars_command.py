"""The command `bars`: measures the bars of the chosen parts, prints a table, writes a JSON file."""

from __future__ import annotations

import importlib
import json
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

from kubewasp.cli import output
from tools.bench import machine

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tools.bench.bars.bar import Bar


def run(parts: Sequence[str], *, out: Path) -> bool:
    """True if all bars are reached."""
    began = time.monotonic()

    def step(what: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {what}", file=sys.stderr, flush=True)

    found: list[Bar] = []
    for part in parts:
        found += importlib.import_module(f"tools.bench.bars.{part}").bars(step)
    _print(found)
    _write(found, out)
    reached = sum(bar.reached for bar in found)
    output.write(f"{reached} of {len(found)} bars reached\n")
    return reached == len(found)


def _print(found: Sequence[Bar]) -> None:
    rows = []
    for bar in found:
        rows.append((bar.name, f"{bar.measured:,.3g} {bar.unit}".strip(), bar.bar, "ok" if bar.reached else "MISSED"))
        if bar.note:
            rows.append((f"  {bar.note}", "", "", ""))
    output.print_table(("WHAT", "MEASURED", "BAR", ""), rows, right=("MEASURED", "BAR"))


def _write(found: Sequence[Bar], out: Path) -> None:
    document = {
        "machine": machine.machine(),
        "versions": machine.versions(),
        "bars": [asdict(bar) | {"reached": bar.reached} for bar in found],
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
