"""`kubewasp plugin`: options and help of its commands.

The work is done in project.py (new, build, test), inspect.py, call.py and bench.py.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kubewasp.cli.options import Output, integers, limits_from, naming, utf8
from kubewasp.wasm.hooks import SINGLE_HOOKS

app = typer.Typer(help="Write a plugin: new, build, test. Look at one: inspect, call, bench.", no_args_is_help=True)


def _hooks(incomplete: str) -> list[str]:
    return [name for name in SINGLE_HOOKS if name.startswith(incomplete)]


Guest = Annotated[
    str, typer.Argument(help="A .wasm (or .wat) file, or a file://, http:// or https:// address.", show_default=False)
]
Sha256 = Annotated[str | None, typer.Option(metavar="DIGEST", help="Refuse a guest with another SHA-256 digest.")]
Config = Annotated[
    str, typer.Option(metavar="TEXT", help="The guest's configuration, handed to it as it is.", callback=utf8)
]
Arg = Annotated[
    list[str] | None, typer.Option("--arg", metavar="TEXT", help="A WASI argument; may be repeated.", callback=utf8)
]
Limit = Annotated[
    list[str] | None,
    typer.Option("--limit", metavar="NAME=VALUE", help="Set a limit, e.g. callTimeout=5s or memory=64Mi; repeatable."),
]
Format = Annotated[Output, typer.Option("-o", "--output", help="A table for people or JSON for machines.")]


class Language(StrEnum):
    """What plugins are written in."""

    GO = "go"
    PYTHON = "python"


Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder.", show_default=False)]


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Its name, and that of the new folder: like prefer-label.")],
    lang: Annotated[Language, typer.Option(help="The language to write it in.", show_default=False)],
) -> None:
    """Make a new plugin project: code, unit test, scenario tests, a sample cluster, and a README.

    The policy in it is small but real: it keeps pods off some nodes and prefers others, by a label from its
    configuration. Change it to yours. A Go plugin needs Go 1.24 or newer, a Python plugin componentize-py; nothing
    else is downloaded.

    Example: kubewasp plugin new prefer-label --lang go
    """
    from kubewasp.cli import plugin_project as command

    command.new(name, language=lang.value)


@app.command()
def build(
    folder: Folder = Path(),
    output_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write it; build/NAME.wasm if left out.")
    ] = None,
    output: Format = Output.TABLE,
) -> None:
    """Build a plugin project to build/NAME.wasm, load it to see that it works, and print its size and hooks.

    A folder with a go.mod is a Go project, one with a plugin.py or a pyproject.toml a Python project. Errors are
    shown as the compiler says them; what was built before then stays.

    Example: kubewasp plugin build prefer-label
    """
    from kubewasp.cli import plugin_project as command

    command.build(folder, target=output_file, as_json=output is Output.JSON)


@app.command("test")
def run_tests(
    folder: Folder = Path(),
    native: Annotated[
        bool, typer.Option("--native/--no-native", help="Whether to run the tests in the plugin's own language.")
    ] = True,
    filter_: Annotated[
        str, typer.Option("--filter", metavar="TEXT", help="Only the scenario tests with this text in their name.")
    ] = "",
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the results as JUnit XML too, for CI.")
    ] = None,
    output: Format = Output.TABLE,
) -> None:
    """Run all tests of a plugin project: those in its own language, the build, then the scenarios in tests/*.yaml.

    A scenario is a cluster and pods, and what is expected of them: the node, a rejection, an order, scores.
    Exit code 0: all passed. 1: a test failed, or the project cannot be used. 2: wrong usage.

    Example: kubewasp plugin test prefer-label --junit results.xml
    """
    from kubewasp.cli import plugin_project as command

    command.run_tests(folder, native=native, wanted=filter_, report=junit, as_json=output is Output.JSON)


@app.command()
def inspect(
    guest: Guest,
    config: Config = "",
    arg: Arg = None,
    limit: Limit = None,
    sha256: Sha256 = None,
    output: Format = Output.TABLE,
) -> None:
    """Show what a guest is: size, digest, toolchain, hooks, imports, memory, load time, and what will not work.

    Example: kubewasp plugin inspect nodenumber.wasm
    """
    from kubewasp.cli import plugin_inspect as command

    with naming(guest):
        command.run(
            guest,
            config=config,
            args=tuple(arg or ()),
            limits=limits_from(limit),
            sha256=sha256,
            as_json=output is Output.JSON,
        )


@app.command()
def call(
    guest: Guest,
    hooks: Annotated[
        list[str],
        typer.Argument(metavar="HOOK...", help=f"In this order: {', '.join(SINGLE_HOOKS)}.", autocompletion=_hooks),
    ],
    pod: Annotated[Path | None, typer.Option(metavar="FILE", help="The pod to schedule; a sample if left out.")] = None,
    node: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Nodes: one or many a file; may be repeated; three samples if left out."),
    ] = None,
    target_pod: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The pod that addpod and removepod are about.")
    ] = None,
    config: Config = "",
    arg: Arg = None,
    log_severity: Annotated[
        int, typer.Option(metavar="N", help="Least severity to log: 0 info, 1 warning, 2 error, 3 fatal.")
    ] = 0,
    node_status: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NODE=CODE", help="What postfilter hears of a node (else what filter said).", callback=utf8
        ),
    ] = None,
    score: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NODE=N", help="What normalizescore hears of a node (else what score said).", callback=utf8
        ),
    ] = None,
    global_: Annotated[
        list[str] | None,
        typer.Option("--global", metavar="NAME=INT", help="Set an exported mutable global before the hooks."),
    ] = None,
    limit: Limit = None,
    sha256: Sha256 = None,
    output: Format = Output.TABLE,
) -> None:
    """Call hooks of a guest on one instance, in the given order; filter and score for every node.

    Exit code 0: the calls were made, whatever they answered. 1: the guest or a manifest cannot be used. 2: wrong usage.

    Example: kubewasp plugin call nodenumber.wasm prefilter filter score --pod pod.yaml --node nodes.yaml
    """
    from kubewasp.cli import plugin_call as command

    unknown = [name for name in hooks if name not in SINGLE_HOOKS]
    if unknown:
        raise typer.BadParameter(f"unknown hook {unknown[0]!r}; there are {', '.join(SINGLE_HOOKS)}", param_hint="HOOK")
    request = command.Request(
        guest=guest,
        hooks=tuple(hooks),
        pod=pod,
        nodes=tuple(node or ()),
        target_pod=target_pod,
        config=config,
        args=tuple(arg or ()),
        log_severity=log_severity,
        node_statuses=integers("--node-status", node_status, names=command.CODES),
        scores=integers("--score", score),
        globals=integers("--global", global_),
        limits=limits_from(limit),
        sha256=sha256,
    )
    with naming(guest):
        command.run(request, as_json=output is Output.JSON)


@app.command()
def bench(
    guest: Guest,
    nodes: Annotated[int, typer.Option(min=1, max=100_000, help="How many nodes.")] = 1000,
    pods: Annotated[int, typer.Option(min=1, max=1_000_000, help="How many cycles to measure.")] = 100,
    config: Config = "",
    arg: Arg = None,
    limit: Limit = None,
    sha256: Sha256 = None,
    output: Format = Output.TABLE,
) -> None:
    """Measure a guest: loading, each hook, a whole cycle, memory; beside it the same guest on plain Python callbacks.

    Example: kubewasp plugin bench nodenumber.wasm --nodes 5000
    """
    from kubewasp.cli import plugin_bench as command

    with naming(guest):
        command.run(
            guest,
            nodes=nodes,
            pods=pods,
            config=config,
            args=tuple(arg or ()),
            limits=limits_from(limit),
            sha256=sha256,
            as_json=output is Output.JSON,
        )
