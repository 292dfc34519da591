"""Output of the logs of plugins: all lines with `--logs`, else the last ones before errors, and a count."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from kubewasp.cli import output
from kubewasp.explain.plugin_logs import by_pod

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubewasp.explain.plugin_logs import PluginLogs

_MOST_PODS: Final = 5


def print_logs(logs: PluginLogs) -> None:
    """Prints after the other tables; nothing if no plugin logged."""
    summary = logs.summary()
    if not summary:
        return
    if logs.is_complete:
        if logs.dropped:
            output.write(f"\n… {logs.dropped} older lines are left out\n")
        _print("LOGS", by_pod(logs.lines()))
        output.write(f"\n{summary}\n")
        return
    for pod, lines in islice(logs.errors.items(), _MOST_PODS):
        _print(f"LAST LINES BEFORE THE ERROR OF {pod or 'THE START'}", (f"  {line}" for line in lines))
    if len(logs.errors) > _MOST_PODS:
        output.write(f"\n… {len(logs.errors) - _MOST_PODS} more pods with errors\n")
    output.write(f"\n{summary}; --logs shows them\n")


def _print(title: str, lines: Iterable[str]) -> None:
    output.write(f"\n{output.printable(title)}\n")
    for line in lines:
        # A newline inside of a line must not look like another line.
        output.write(output.printable(line.replace("\n", "\n      ")) + "\n")
