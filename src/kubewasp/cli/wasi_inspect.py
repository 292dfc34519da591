"""`kubewasp wasi inspect`: what a program could ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubewasp.cli import output
from kubewasp.wasi.grants import Grants
from kubewasp.wasi.program import MAX_BYTES, load
from kubewasp.wasi.report import report
from kubewasp.wasm.source import fetch

if TYPE_CHECKING:
    from collections.abc import Iterator


def run(file: str, *, as_json: bool) -> None:
    program = load(fetch(file, max_bytes=MAX_BYTES), Grants(), name=Path(file).name)
    found = report(program)
    if as_json:
        output.print_json(found)
    else:
        output.print_facts(_facts(found))


def _facts(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    tools = [tool for field in ("language", "processed-by", "sdk") for tool in found["producers"].get(field, [])]
    yield "kind", found["kind"]
    yield "WASI", found["wasi"]
    yield "runs", "yes" if found["runnable"] else f"no: {'; '.join(found['problems'])}"
    yield "size", f"{output.size(found['size_bytes'])} ({found['size_bytes']} bytes)"
    yield "sha256", found["sha256"]
    yield "toolchain", ", ".join(tools) or "not told (no producers section)"
    for words, names in found["could_ask_for"].items():
        yield "could ask for", f"{words}: {', '.join(names)}"
    for grant in found["grants"]:
        yield "grant", grant
    yield "network", found["network"]
    yield "exports", ", ".join(found["exports"])
    if found["memory_bytes"] is not None:
        most = found["memory_max_bytes"]
        at_most = "" if most is None else f", {output.size(most)} at most"
        yield "memory", f"{output.size(found['memory_bytes'])} at start{at_most}"
    yield "load time", f"{found['compile_ms']:.1f} ms ({'from the cache' if found['from_cache'] else 'compiled'})"
