"""Options and help of `kubewasp snapshot`. The work is in snapshot_take.py."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kubewasp.cli.cluster_commands import KubeconfigFile
from kubewasp.cli.options import Format, Output, Strict, text_or_file, utf8


def snapshot(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Manifests or snapshots, as for simulate. Default: a real cluster."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File to write, or - for standard output. Without it, only the summary."),
    ] = None,
    anonymize: Annotated[
        bool, typer.Option("--anonymize", help="Replace names, values of labels, images, uids and addresses.")
    ] = False,
    salt: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Secret for --anonymize, or @FILE: the same one gives the same names. Default: random.",
            callback=utf8,
        ),
    ] = "",
    keep_label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY",
            help="With --anonymize: label whose values are kept, e.g. node.kubernetes.io/instance-type. Repeatable.",
            callback=utf8,
        ),
    ] = None,
    keep_annotation: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY",
            help="Annotation that a plugin reads, e.g. example.com/gpus or example.com/*; kept as it is. Repeatable.",
            callback=utf8,
        ),
    ] = None,
    kubeconfig: KubeconfigFile = None,
    strict: Strict = False,
    output: Format = Output.TABLE,
) -> None:
    """Save a cluster in one file, for simulate, explain and all that reads manifests.

    The cluster is only read: nodes, pods, their controllers, volumes, budgets and
    classes. Of each object, the file has what scheduling needs: no environment,
    commands or secrets, and few annotations. Objects that you may not list are
    left out with a warning. Prints a summary.

    Example: kubewasp snapshot --out cluster.kwsnap --kubeconfig ~/.kube/config

    Example: kubewasp snapshot examples/clusters/small.yaml --anonymize --out small.kwsnap
    """
    from kubewasp.cli import snapshot_take as command
    from kubewasp.cli.inputs import Inputs

    if not anonymize and (salt or keep_label):
        raise typer.BadParameter("only with --anonymize", param_hint="--salt" if salt else "--keep-label")
    if paths and kubeconfig:
        raise typer.BadParameter("not allowed together with manifests", param_hint="--kubeconfig")
    if strict and not paths:
        raise typer.BadParameter("only for manifests", param_hint="--strict")
    if not paths and out is None:
        raise typer.BadParameter("a snapshot of a cluster needs a file, e.g. --out cluster.kwsnap", param_hint="--out")
    inputs = Inputs()
    command.run(
        inputs.files(paths),
        kubeconfig=str(kubeconfig or ""),
        out=out,
        anonymization=command.Anonymization(text_or_file("--salt", salt, inputs).encode(), tuple(keep_label or ()))
        if anonymize
        else None,
        annotations=tuple(keep_annotation or ()),
        strict=strict,
        form=output.value,
    )


def register(app: typer.Typer) -> None:
    app.command()(snapshot)
