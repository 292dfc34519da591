"""Figures of the example policy in each language, as `kubewasp plugin bench` measures them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tools.bench.guests import Unavailable
from tools.bench.languages import example_guests
from tools.bench.languages.example_guests import CONFIG, EXAMPLES
from tools.bench.model import Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

NODES: Final = 5000
PODS: Final = 50
_TIMEOUT: Final = 300


@dataclass(frozen=True, slots=True)
class Figures:
    """A guest of one language: bytes, milliseconds, and microseconds per node."""

    language: str
    size: int
    load_cold: float
    load_cached: float
    first_cycle: float
    filter: float
    score: float
    memory: int

    @classmethod
    def of(cls, language: str, report: dict[str, Any]) -> Figures:
        """From the report of `plugin bench`."""
        per_node = report["hooks_us_per_node"]
        return cls(
            language,
            report["size_bytes"],
            report["load_cold_ms"],
            report["load_cached_ms"],
            report["first_cycle_us_per_node"],
            per_node["filter"],
            per_node["score"],
            report["guest_memory_bytes"],
        )


def measure(step: Callable[[str], None], languages: Sequence[str]) -> Iterator[Figures | Skipped]:
    """Each language in a process of its own: nothing is warm. A guest with other answers is an error."""
    for language in languages:
        example = EXAMPLES[language]
        step(f"building {example.name}")
        try:
            wasm = example.wasm()
        except Unavailable as error:
            yield Skipped("languages", example.name, str(error).splitlines()[0])
            continue
        example_guests.check(language, wasm)
        step(f"measuring {example.name}")
        yield Figures.of(language, _bench(wasm))


def _bench(wasm: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "kubewasp", "plugin", "bench", str(wasm), "--config", json.dumps(CONFIG)]
    command += ["--nodes", str(NODES), "--pods", str(PODS), "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report
