"""`python -m tools.bench.bars [--check]`: measures every bar, prints a table, writes .build/bench/bars.json."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from tools.bench.bars import codec, cycle, host, sdk, web

if TYPE_CHECKING:
    from tools.bench.bars.bars import Bar

PARTS = {"codec": codec, "host": host, "cycle": cycle, "sdk": sdk, "web": web}
RESULTS = Path(".build") / "bench"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.bars", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 when a bar is not reached")
    parser.add_argument("--only", choices=list(PARTS), action="append", help="measure just this part; may be repeated")
    arguments = parser.parse_args()
    progress = Console(stderr=True)
    began = time.monotonic()

    def step(what: str) -> None:
        progress.print(f"[dim]{time.monotonic() - began:5.1f} s  {what}[/dim]")

    wanted = [part for name, part in PARTS.items() if not arguments.only or name in arguments.only]
    found = [bar for part in wanted for bar in part.bars(step)]
    step("done")
    _print(found)
    _keep(found)
    missed = [bar for bar in found if not bar.reached]
    print(f"{len(found) - len(missed)} of {len(found)} bars reached on {_machine()}")
    return 1 if arguments.check and missed else 0


def _print(found: list[Bar]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("WHAT", "MEASURED", "", "BAR", ""):
        table.add_column(name, justify="right" if name in ("MEASURED", "BAR") else "left", no_wrap=name == "MEASURED")
    for bar in found:
        table.add_row(bar.name, f"{bar.measured:,.3g}", bar.unit, bar.bar, "ok" if bar.reached else "MISSED")
        if bar.note:
            table.add_row(f"  [dim]{bar.note}[/dim]")
    Console().print(table)


def _keep(found: list[Bar]) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    result = {
        "machine": _machine(),
        "versions": {name: version(name) for name in ("kubewasp", "wasmtime", "protobuf", "numpy")},
        "bars": [asdict(bar) | {"reached": bar.reached} for bar in found],
    }
    (RESULTS / "bars.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def _machine() -> str:
    import os

    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


if __name__ == "__main__":
    sys.exit(main())
