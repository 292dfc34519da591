"""Options and help of `kubewasp sweep` and `tune`. The work is in the modules of these names."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from kubewasp.cli.options import Format, Output, utf8

Processes = Annotated[
    int | None, typer.Option(metavar="N", min=1, max=1024, help="Processes on this machine. Default: one per core.")
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder of the results. Default: FILE's name without ending, and .results."),
]


class TableFormat(StrEnum):
    """Format of the table of a sweep."""

    JSON_LINES = "jsonl"
    PARQUET = "parquet"


def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Document of kind Sweep, or -.", show_default=False)],
    out: Out = None,
    processes: Processes = None,
    table: Annotated[
        TableFormat, typer.Option("--table", metavar="|".join(TableFormat), help="Format of the table of results.")
    ] = TableFormat.JSON_LINES,
    dask: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Run on a Dask cluster, e.g. tcp://scheduler:8786.", callback=utf8)
    ] = "",
    ray: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Run on a Ray cluster: auto, or ray://HOST:PORT.", callback=utf8)
    ] = "",
    shard: Annotated[
        str, typer.Option(metavar="I/N", help="Do every N-th run only, from I on (0 to N-1); no table.", callback=utf8)
    ] = "",
    collect: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR", help="Run nothing; make the table of results in folders, or files of --records. Repeatable."
        ),
    ] = None,
    records: Annotated[
        bool, typer.Option("--records", help="Print the results, a line of JSON per run, for --collect.")
    ] = False,
    job: Annotated[
        int | None,
        typer.Option(metavar="PODS", min=1, max=10_000, help="Run nothing; print an indexed Kubernetes Job for it."),
    ] = None,
    job_image: Annotated[
        str, typer.Option(metavar="IMAGE", help="Image of the Job. Default: kubewasp and the version.", callback=utf8)
    ] = "",
    job_claim: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="PersistentVolumeClaim with the sweep's files in inputs/; results go to results/.",
            callback=utf8,
        ),
    ] = "",
    output: Format = Output.TABLE,
) -> None:
    """Run many experiments: inputs × configurations × seeds, in many processes.

    Results are kept by content, so what was done is not done again: after an
    interrupt, the same command goes on. Writes one table, with a manifest, and
    prints means over seeds. Exit code 1 if a run failed.

    Example: kubewasp sweep examples/sweeps/packing.yaml --out /tmp/packing
    """
    from kubewasp.cli import sweep as command
    from kubewasp.cli.inputs import Inputs

    inputs = Inputs()
    given = inputs.file(file)
    if job is not None:
        command.print_job(given, pods=job, image=job_image, claim=job_claim)
        return
    place = command.where(processes, dask, ray, shard)
    command.run(
        given, inputs, place, out=out, table=table.value, records=records, collect=collect or (), form=output.value
    )


def tune(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Document of kind Tuning, or -.", show_default=False)],
    out: Out = None,
    processes: Processes = None,
    trials: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=100_000, help="Most trials, instead of the document's.")
    ] = None,
    time: Annotated[
        str, typer.Option(metavar="DURATION", help="Most time, instead of the document's.", callback=utf8)
    ] = "",
    trial: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Trial for --write. Default: the best one.")
    ] = None,
    write: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the configuration of the best trial.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Draw trials and front, of the first two objectives.")
    ] = None,
    output: Format = Output.TABLE,
) -> None:
    """Search weights and arguments of plugins for an objective, with constraints.

    Trials run on the inputs and seeds of the training; base and best also on
    those held out, which no choice depends on. Prints the best trials, or the
    front of several objectives. Results are kept by content as those of sweep:
    the same command goes on after an interrupt. Exit code 1 if nothing fulfils
    the constraints.

    Example: kubewasp tune examples/sweeps/fewer-nodes.yaml --write scheduler.yaml
    """
    from kubewasp.cli import tune as command
    from kubewasp.cli.inputs import Inputs

    inputs = Inputs()
    command.run(
        inputs.file(file),
        inputs,
        out=out,
        processes=processes,
        trials=trials,
        time=time,
        chosen=trial,
        write=write,
        picture=picture,
        form=output.value,
    )


def register(app: Any) -> None:
    """Adds the commands to the group."""
    app.command()(sweep)
    app.command()(tune)
