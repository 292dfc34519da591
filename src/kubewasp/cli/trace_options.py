"""Options of the commands that run traces: the files, the meaning of their columns, changes to the pods."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from kubewasp.cli.options import utf8

DEFAULT_MAP: Final = "generic"

Map = Annotated[
    str,
    typer.Option(
        "--map",
        metavar="openb|generic|FILE",
        help="Meaning of the columns: a preset, or a file of kind TraceMap.",
        callback=utf8,
    ),
]
Nodes = Annotated[
    Path | None, typer.Option("--nodes", metavar="FILE", help="Nodes of the trace: CSV or Parquet, a row per node.")
]
Sort = Annotated[bool, typer.Option("--sort", help="Sort the pods by arrival.")]
Shuffle = Annotated[bool, typer.Option("--shuffle", help="Random order; times of arrival stay.")]
ShuffleNodes = Annotated[
    bool, typer.Option("--shuffle-nodes", help="Nodes of --nodes in random order, with names of that order.")
]
Inflate = Annotated[
    str,
    typer.Option(
        "--inflate",
        metavar="RATIO[:RESOURCE]",
        help="Append copies of random pods until all request this share of the nodes, e.g. 1.3:nvidia.com/gpu. "
        "Default RESOURCE: cpu.",
        callback=utf8,
    ),
]
Until = Annotated[str, typer.Option("--until", metavar="DURATION", help="End of the run, e.g. 24h.", callback=utf8)]
Patience = Annotated[
    str,
    typer.Option(
        "--patience",
        metavar="DURATION",
        help="Time after which a pod without a node leaves; 0: after its first attempt. Default: never.",
        callback=utf8,
    ),
]
Stay = Annotated[bool, typer.Option("--stay", help="Pods never end.")]
Skip = Annotated[bool, typer.Option("--skip-bad-rows", help="Skip bad rows, and print their number.")]
