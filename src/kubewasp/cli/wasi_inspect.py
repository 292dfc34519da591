"""Implementation of `kubewasp wasi inspect`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from kubewasp.cli import output
from kubewasp.k8s.quantity import format_size
from kubewasp.wasi.capabilities import Capabilities
from kubewasp.wasi.inspection import inspect_program
from kubewasp.wasi.program import load_program
from kubewasp.wasm.source import MAX_BYTES, fetch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.input_file import StandardInput
    from kubewasp.wasi.inspection import ProgramReport


def run(file: str | StandardInput, *, form: str) -> None:
    program = load_program(fetch(file, max_bytes=MAX_BYTES), Capabilities(), name=Path(str(file)).name)
    report = inspect_program(program)
    if form != "table":
        output.print_document(asdict(report), form)
    else:
        output.print_facts(program_facts(report))


def program_facts(report: ProgramReport) -> Iterator[tuple[str, str]]:
    """Lines of a report."""
    tools = [tool for field in ("language", "processed-by", "sdk") for tool in report.producers.get(field, [])]
    yield "kind", report.kind
    yield "WASI", report.wasi
    yield "runs", "yes" if report.runnable else f"no: {'; '.join(report.problems)}"
    yield "size", f"{format_size(report.size_bytes)} ({report.size_bytes} bytes)"
    yield "sha256", report.sha256
    yield "toolchain", ", ".join(tools) or "unknown (no producers section)"
    for words, names in report.could_ask_for.items():
        yield "could ask for", f"{words}: {', '.join(names)}"
    for grant in report.grants:
        yield "grant", grant
    yield "network", report.network
    yield "exports", ", ".join(report.exports)
    if report.memory_bytes is not None:
        most = report.memory_max_bytes
        at_most = "" if most is None else f", {format_size(most)} at most"
        yield "memory", f"{format_size(report.memory_bytes)} at start{at_most}"
    yield "load time", f"{report.compile_ms:.1f} ms ({'from the cache' if report.from_cache else 'compiled'})"
