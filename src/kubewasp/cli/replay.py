"""`kubewasp replay`: a recording decided again, its differences counted and the first one in detail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubewasp.cli import output
from kubewasp.cli.folding import counted
from kubewasp.cli.logs_output import print_logs
from kubewasp.cli.progress import Progress
from kubewasp.explain.plugin_logs import PluginLogs
from kubewasp.k8s import timestamps
from kubewasp.k8s.duration import format_duration
from kubewasp.lab.replaying.recording import RecordingReader
from kubewasp.lab.replaying.recording_replay import Replay
from kubewasp.scheduler.composition import tune_garbage_collector
from kubewasp.scheduler.configuration import configure, with_plugins

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from kubewasp.framework.config.model import SchedulerConfig
    from kubewasp.input_file import InputFile
    from kubewasp.lab.replaying.recording_replay import ReplayObserver, ReplayReport
    from kubewasp.lab.replaying.replay_cause import Cause, PluginScores
    from kubewasp.lab.replaying.replay_differences import Difference
    from kubewasp.scheduler.configuration import AddedPlugin

_SHOWN: Final = 10
_MOST_SCORES: Final = 5


def run(
    folder: Path,
    *,
    config: InputFile | None,
    plugins: Sequence[AddedPlugin],
    plugin_configs: Mapping[str, str],
    logs: bool,
    observer: ReplayObserver | None = None,
) -> tuple[ReplayReport, PluginLogs]:
    plugin_logs = PluginLogs(is_complete=logs)
    given = None if config is None else configure(config, plugins, plugin_configs)

    def configured(recorded: SchedulerConfig) -> tuple[SchedulerConfig, Collection[str]]:
        return with_plugins(recorded, plugins, plugin_configs) if given is None else given

    tune_garbage_collector()
    with Progress() as progress:
        reader = RecordingReader(folder)
        progress.phase("replaying", reader.size, is_bytes=True)
        report = Replay(reader, configured, logs=plugin_logs, observer=observer).run(progress.moved)
    for warning in report.warnings:
        output.warn(warning)
    return report, plugin_logs


def show(report: ReplayReport, logs: PluginLogs, *, form: str, is_all: bool) -> None:
    if form != "table":
        output.print_document(report.as_dict() | {"logs": logs.as_dict()}, form)
        return
    found = report.differences
    if found.kept:
        first = next((item for item in found.kept if item.then.node or item.then.message), found.kept[0])
        _print_first(first, report.cause)
        rows = [(str(kind), f"{count:,}") for kind, count in found.by_kind]
        output.print_table(("DIFFERENCE", "DECISIONS"), rows, right=("DECISIONS",))
        output.write("\n")
        if is_all or len(found.kept) <= _SHOWN:
            _print_all(found.kept)
    _print_facts(report)
    print_logs(logs)


def _print_first(first: Difference, cause: Cause | None) -> None:
    facts = [
        ("first difference", f"{first.pod}, attempt {first.attempt}, {timestamps.in_seconds(int(first.time))}"),
        ("then", str(first.then)),
        ("now", first.note or str(first.now)),
    ]
    if cause is not None:
        facts.append(("cause", cause.text))
    output.print_facts(facts)
    output.write("\n")
    if cause is not None and cause.scores:
        _print_scores(first.then.node, first.now.node, cause.scores[:_MOST_SCORES])


def _print_scores(then: str, now: str, scores: Sequence[PluginScores]) -> None:
    """The scores of both nodes: of the recorded configuration, if it is another one, and of this one."""
    has_before = all(item.before is not None for item in scores)
    columns = ["PLUGIN", *([f"{then} THEN", f"{now} THEN"] if has_before else []), f"{then} NOW", f"{now} NOW"]
    rows = []
    for item in scores:
        numbers = (*(item.before if has_before and item.before else ()), item.then_node, item.now_node)
        rows.append((item.plugin, *(f"{number:,}" for number in numbers)))
    output.print_table(columns, rows, right=columns[1:])
    output.write("\n")


def _print_all(differences: Sequence[Difference]) -> None:
    rows = [
        (item.pod, str(item.kind), item.then.node or "-", item.now.node or item.note or item.now.message or "-")
        for item in differences
    ]
    output.print_table(("POD", "DIFFERENCE", "THEN", "NOW"), rows)
    output.write("\n")


def _print_facts(report: ReplayReport) -> None:
    found = report.differences
    different = f"{len(found):,}, of {counted(len(found.pods), 'pod')}" if len(found) else "none"
    facts = [
        ("recorded", f"{_time(report.first)}, {format_duration(round(report.recorded_seconds, 1))}"),
        ("segments", f"{report.segments:,}"),
        ("decisions", f"{report.attempts:,}"),
        ("differences", different),
    ]
    if report.other_scores:
        facts.append(("other scores", f"{counted(report.other_scores, 'decision')} with the same node"))
    facts.append(("replayed in", f"{report.seconds:.1f} s, {report.speed:.0f} times the recorded speed"))
    output.print_facts(facts)


def _time(seconds: float) -> str:
    return timestamps.in_seconds(int(seconds))
