"""Table of the page docs/http.md, "Performance": CPU time and requests per second of every style, as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.bench.bars.load import Load


def markdown(loads: Mapping[str, Load], with_workers: Mapping[str, Load], count: int, plain: str) -> str:
    """Rows in the order of `loads`; `with_workers` has some of them, measured with so many processes."""
    head = [
        "handler",
        "CPU time per request",
        "vs plain Python",
        "requests/s",
        f"CPU time, {count} workers",
        f"requests/s, {count} workers",
    ]
    lines = [_row(head), _row(["---"] * len(head))]
    base = loads[plain].cpu_per_request
    for style, found in loads.items():
        several = with_workers.get(style)
        ratio = "" if style == plain else f"{found.cpu_per_request / base:.1f}"
        last = [_cpu(several), f"{several.rate:,.0f}"] if several else ["", ""]
        lines.append(_row([style, _cpu(found), ratio, f"{found.rate:,.0f}", *last]))
    own = [found.own_cpu / len(found.seconds) for found in loads.values()]
    lines.append("")
    lines.append(f"CPU time of the load generator, beside the servers: {min(own) * 1e6:.0f} µs per request and more.")
    return "\n".join(lines) + "\n"


def _cpu(found: Load) -> str:
    return f"{found.cpu_per_request * 1e6:,.0f} µs"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")
