"""Report of a soak: table of figures, picture, and their place in the documentation."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from kubewasp.errors import KubewaspError
from tools.bench.report.markdown import table
from tools.bench.statistics import duration, figure
from tools.soak.health_probe import TIMEOUT
from tools.soak.judgement import CURVES, Trend
from tools.soak.picture import picture

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tools.soak.judgement import Check
    from tools.soak.samples import Outcome, Recording

PAGE: Final = "operations.md"
IMAGE: Final = "images/soak.svg"
BEGIN, END = "<!-- soak: written by `make soak` -->\n", "<!-- end of soak -->\n"


def figures(recording: Recording) -> str:
    """Markdown table of all figures."""
    return table(("figure", "middle third", "last third", "allowed"), _rows(recording))


def write_docs(recording: Recording, docs: Path) -> list[Path]:
    """Puts the table into the page, between its marks, and the picture beside it."""
    page, image = docs / PAGE, docs / IMAGE
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise KubewaspError(f"{page}: the lines {BEGIN.strip()!r} and {END.strip()!r} are missing")
    settings = recording.settings
    head = (
        f"{duration(recording.samples[-1].seconds)} with {settings['nodes']:,} nodes and {settings['rate']:g} new pods "
        f"per second on {settings['machine']}, kubewasp {settings['version']}:\n"
    )
    body = f"\n{head}\n{figures(recording)}\n![Curves of a soak]({IMAGE})\n\n"
    page.write_text(f"{before}{begin}{body}{end}{after}", encoding="utf-8")
    image.write_text(picture(recording.samples), encoding="utf-8")
    return [page, image]


def judgement_lines(checks: list[Check], width: int) -> Iterator[str]:
    """The checks, wrapped to a width, failures last."""
    for check in sorted(checks, key=lambda one: one.is_passed is False):
        yield from textwrap.wrap(str(check), width, subsequent_indent=" " * 18)


def _rows(recording: Recording) -> Iterator[tuple[str, ...]]:
    for curve in CURVES:
        points = curve.points(recording.samples)
        if len(points) > 1:
            trend = Trend.of(points)
            allowed = f"{'+' if curve.worse > 0 else '-'}{curve.allowed}"
            yield curve.name, curve.text(trend.middle), curve.text(trend.last), allowed
    if recording.outcome is not None:
        yield from _counts(recording, recording.outcome)


def _counts(recording: Recording, outcome: Outcome) -> Iterator[tuple[str, ...]]:
    last = recording.samples[-1]
    times = outcome.probe_milliseconds
    yield (
        "`/livez`, median and slowest",
        "",
        f"{figure(times['median'])} ms, {figure(times['greatest'])} ms",
        f"{TIMEOUT:g} s",
    )
    yield "`/livez` without an answer", "", f"{last.failed_probes:,} of {last.probes:,}", "0"
    yield "pods bound; not bound", "", f"{outcome.bound:,}; {len(outcome.unbound):,}", "0 not bound"
    yield "guest failures", "", f"{sum(outcome.guest_failures.values()):,}", ""
    yield "attacks by HTTP clients", "", f"{sum(outcome.attacks.values()):,}", ""
