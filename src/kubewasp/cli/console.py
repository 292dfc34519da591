"""`kubewasp console`: the source of an input, and its page served or written to a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from kubewasp.cli import output
from kubewasp.cli.compare import is_trace
from kubewasp.cli.progress import Progress
from kubewasp.cli.simulate import warn
from kubewasp.console.played_run import play
from kubewasp.console.simulated_source import SimulatedSource
from kubewasp.console.snapshot_source import SnapshotSource
from kubewasp.framework.handle import ReadOnlyClient
from kubewasp.lab.experiments.experiment import Candidate, LabInput
from kubewasp.scheduler.configuration import configure
from kubewasp.server.allowed_hosts import is_loopback
from kubewasp.simulation.simulator import filled_cluster, read_input

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kubewasp.cli.inputs import Inputs
    from kubewasp.console.console_source import ConsoleSource
    from kubewasp.input_file import InputFile
    from kubewasp.lab.traces.trace_simulation import TraceOptions
    from kubewasp.scheduler.configuration import AddedPlugin


def source_of(
    paths: Sequence[Path],
    inputs: Inputs,
    *,
    config: InputFile | None,
    plugins: Sequence[AddedPlugin],
    plugin_configs: Mapping[str, str],
    timeline: InputFile | None,
    manifests: Sequence[Path],
    mapping: str,
    trace_nodes: InputFile | None,
    start_time: float | None,
    seed: int,
    real_entropy: bool,
    strict: bool,
) -> ConsoleSource:
    """The source of an input: a recording, a trace, a snapshot or manifests."""
    title = title_of(*paths)
    if is_recording(paths[0]):
        if len(paths) > 1 or timeline is not None:
            raise typer.BadParameter("a recording is looked at alone: one folder, no scenario", param_hint="INPUT")
        return _recorded(paths[0], config=config, plugins=plugins, plugin_configs=plugin_configs)
    traces = [path for path in paths if is_trace(path)]
    if traces and (len(paths) > 1 or timeline is not None):
        raise typer.BadParameter("a trace is the only INPUT; give nodes with --nodes or --manifests")
    settings, added = configure(config, plugins, plugin_configs)
    candidate = Candidate(title, settings, tuple(added))
    with Progress() as progress:
        progress.phase("loading")
        given = read_input(
            inputs.files([*(() if traces else paths), *manifests]),
            timeline=timeline,
            seed=seed,
            real_entropy=real_entropy,
            start_time=start_time,
            strict=strict,
        )
        warn(given.objects.warnings)
        heads = list(given.objects.snapshots.values())
        if heads and timeline is None and not traces:
            cluster, _ = filled_cluster(
                settings,
                added,
                given.objects,
                seed=seed,
                real_entropy=real_entropy,
                start_time=start_time if start_time is not None else _taken(heads[0].taken),
                client=ReadOnlyClient(),
            )
            return SnapshotSource(title, cluster, settings, tuple(added))
        progress.phase("scheduling")
        trace = _trace(inputs, traces[0], mapping, trace_nodes) if traces else None
        run = play(LabInput(given, trace), candidate, seed, listeners=(progress,))
    return SimulatedSource(title, [run])


def _recorded(
    folder: Path, *, config: InputFile | None, plugins: Sequence[AddedPlugin], plugin_configs: Mapping[str, str]
) -> ConsoleSource:
    """The source of a recording, replayed."""
    from kubewasp.cli import replay
    from kubewasp.console.recorded_source import RecordedRun

    run = RecordedRun()
    replay.run(folder, config=config, plugins=plugins, plugin_configs=plugin_configs, logs=False, observer=run)
    return run.source(title_of(folder))


def title_of(*paths: Path) -> str:
    """Names of inputs, without their folders: reports are sent to others."""
    return ", ".join("standard input" if str(path) == "-" else path.resolve().name for path in paths)


def is_recording(path: Path) -> bool:
    """Whether the path is a folder of `kubewasp run --record`."""
    from kubewasp.live.recording.segments import segment_files

    return path.is_dir() and bool(segment_files(path))


def show(
    source: ConsoleSource,
    *,
    html: Path | None,
    listen: tuple[str, int] | None,
    opened: bool,
    allowed_hosts: Sequence[str] | None = None,
) -> None:
    """Writes the file, then serves until Ctrl-C."""
    if html is not None:
        from kubewasp.console.report_file import report_file

        html.write_text(report_file(source), encoding="utf-8")
        output.note(f"wrote {html}")
    if listen is not None:
        if not is_loopback(listen[0]):
            output.warn(f"anybody who can reach {listen[0]} can look at this console")
        from kubewasp.console.console_server import serve

        def started(url: str) -> None:
            output.note(f"console at {url} (Ctrl-C ends it)")
            if opened:
                import webbrowser

                webbrowser.open(url)

        serve(source, listen, started, allowed_hosts=allowed_hosts or ())


def _taken(text: str) -> float | None:
    """The time of a snapshot."""
    from kubewasp.k8s.timestamps import MICROSECONDS, parse

    try:
        return parse(text) / MICROSECONDS
    except ValueError:
        return None


def _trace(inputs: Inputs, path: Path, mapping: str, nodes: InputFile | None) -> TraceOptions:
    from kubewasp.cli.trace_run import mapping_of
    from kubewasp.lab.traces.trace_simulation import TraceOptions

    return TraceOptions(inputs.file(path), mapping_of(mapping), nodes)
