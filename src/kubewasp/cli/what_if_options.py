"""Options that several questions of `kubewasp what-if` share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kubewasp.cli.cluster_commands import epoch
from kubewasp.cli.options import FailOn, plugin_texts, utf8

if TYPE_CHECKING:
    from kubewasp.cli.inputs import Inputs
    from kubewasp.cli.what_if_input import Asked

Cluster = Annotated[
    list[Path],
    typer.Option(
        "-f",
        "--filename",
        metavar="PATH",
        help="Manifests of the cluster, folders or snapshots, as for simulate; - is standard input. Repeatable.",
        show_default=False,
    ),
]
Nodes = Annotated[
    list[str] | None, typer.Argument(metavar="NODE", help="Names of nodes.", show_default=False, callback=utf8)
]
Zone = Annotated[str, typer.Option(metavar="NAME", help="All nodes of this zone.", callback=utf8)]
Labels = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="KEY=VALUE", help="All nodes with this label. Repeatable.", callback=utf8),
]
Namespace = Annotated[
    str,
    typer.Option("-n", "--namespace", metavar="NAME", help="Namespace of workloads given without one.", callback=utf8),
]
Failures = Annotated[
    FailOn,
    typer.Option(
        metavar="|".join(FailOn),
        help="Answers that are a failure: errors of plugins, pods without a place and errors, or none.",
    ),
]


def asked(
    inputs: Inputs,
    filename: list[Path],
    config: Path | None,
    plugin: list[str] | None,
    plugin_config: list[str] | None,
    start_time: str,
    seed: int,
    *,
    strict: bool,
) -> Asked:
    """The values of the options that all questions have."""
    from kubewasp.cli.what_if_input import Asked

    return Asked(
        inputs.files(filename),
        inputs.optional(config),
        inputs.plugins(plugin),
        plugin_texts(plugin_config, inputs),
        seed,
        epoch(start_time),
        strict,
    )
