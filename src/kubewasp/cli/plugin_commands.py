"""Options and help of `kubewasp plugin`. The work is in plugin_project (new, build, test), plugin_call and so on."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kubewasp.cli.command_group import CommandGroup
from kubewasp.cli.options import (
    Format,
    Output,
    ProfileFormat,
    ShowLogs,
    Strict,
    integers,
    limits_from,
    naming,
    text_or_file,
    utf8,
)
from kubewasp.cli.usage_errors import unknown
from kubewasp.wasm.hooks import SINGLE_HOOKS

app = CommandGroup(help="Develop a plugin: new, build, test. Examine a plugin: inspect, call, bench, profile.")


def _hooks(incomplete: str) -> list[str]:
    return [name for name in SINGLE_HOOKS if name.startswith(incomplete)]


Guest = Annotated[
    str,
    typer.Argument(
        metavar="GUEST",
        help="Plugin: a .wasm or .wat file, a file://, https:// or oci:// URL, a plugin project, or -.",
        show_default=False,
    ),
]
Sha256 = Annotated[str | None, typer.Option(metavar="DIGEST", help="Required SHA-256 digest of the guest.")]
Config = Annotated[
    str,
    typer.Option(
        metavar="TEXT|@FILE",
        help="Configuration of the guest: a text, or @ and a file; @- is standard input.",
        callback=utf8,
    ),
]
Arg = Annotated[
    list[str] | None,
    typer.Option("--arg", metavar="TEXT", help="WASI argument for the guest. Repeatable.", callback=utf8),
]
Limit = Annotated[
    list[str] | None,
    typer.Option(
        "--limit", metavar="NAME=VALUE", help="Limit of the guest, e.g. callTimeout=5s or memory=64Mi. Repeatable."
    ),
]


class Language(StrEnum):
    """Plugin language."""

    GO = "go"
    PYTHON = "python"
    RUST = "rust"
    JAVASCRIPT = "javascript"
    TYPESCRIPT = "typescript"
    C = "c"


Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of the project. Default: the current folder.", show_default=False)
]


TinyGo = Annotated[bool, typer.Option("--tinygo", help="Compile a Go project with the TinyGo of the PATH.")]


@app.command()
def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the plugin and of the new folder, such as prefer-label.")
    ],
    lang: Annotated[
        Language,
        typer.Option(
            metavar="go|python|rust|javascript|typescript|c", help="Language of the plugin.", show_default=False
        ),
    ],
) -> None:
    """Create a plugin project: code, unit tests, scenario tests, a sample cluster and a README.

    Prints the new files and the commands to continue with.

    The template is a small working policy: it rejects some nodes and prefers
    others by a label from its configuration. Go plugins require Go 1.24 or newer,
    Python plugins require componentize-py, Rust plugins Rust 1.85 or newer, C
    plugins zig, JavaScript and TypeScript plugins Node.js 20 or newer. Nothing is
    downloaded, except crates by Cargo, and once the tools of JavaScript by npm.

    Example: kubewasp plugin new prefer-label --lang go
    """
    from kubewasp.cli import plugin_project as command

    command.new(name, language=lang.value)


@app.command()
def build(
    folder: Folder = Path(),
    output_file: Annotated[
        Path | None,
        typer.Option("--out", "--output-file", metavar="FILE", help="Output file. Default: build/NAME.wasm."),
    ] = None,
    tinygo: TinyGo = False,
    output: Format = Output.TABLE,
) -> None:
    """Build a plugin project to build/NAME.wasm, load the result, and print its size and hooks.

    A folder with a go.mod is a Go project, a folder with a plugin.py or
    pyproject.toml a Python project, one with a Cargo.toml Rust, one with a
    plugin.js JavaScript, one with a plugin.ts TypeScript, one with a main.c C.
    Compiler errors are printed unchanged; a failed build leaves the previous one
    untouched.

    Example: kubewasp plugin build prefer-label
    """
    from kubewasp.cli import plugin_project as command

    command.build(folder, target=output_file, tinygo=tinygo, form=output.value)


@app.command("test")
def run_tests(
    folder: Folder = Path(),
    native: Annotated[bool, typer.Option("--native/--no-native", help="Tests in the plugin's own language.")] = True,
    filter_: Annotated[
        str, typer.Option("--filter", metavar="TEXT", help="Only scenario tests with this text in their name.")
    ] = "",
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a JUnit XML report.")] = None,
    tinygo: TinyGo = False,
    logs: ShowLogs = False,
    strict: Strict = False,
    output: Format = Output.TABLE,
) -> None:
    """Test a plugin project: tests in its own language, the build, then the scenarios in tests/*.yaml.

    A scenario is a cluster, pods, and their expected nodes, rejections, order or
    scores.

    Prints one line per test, and the reasons of failures.

    Exit codes: 0 all passed; 1 a test failed or the project is invalid; 2 wrong
    usage.

    Example: kubewasp plugin test prefer-label --junit results.xml
    """
    from kubewasp.cli import plugin_project as command

    command.run_tests(
        folder, native=native, wanted=filter_, report=junit, tinygo=tinygo, logs=logs, strict=strict, form=output.value
    )


@app.command()
def inspect(
    guest: Guest,
    config: Config = "",
    arg: Arg = None,
    limit: Limit = None,
    sha256: Sha256 = None,
    output: Format = Output.TABLE,
) -> None:
    """Show size, digest, toolchain, hooks, imports, memory and load time of a guest, and warn about likely mistakes.

    The guest is started, but no hook is called. Prints one property per line.

    Example: kubewasp plugin inspect nodenumber.wasm
    """
    from kubewasp.cli import plugin_inspect as command
    from kubewasp.cli.inputs import Inputs

    inputs = Inputs()
    source = inputs.guest(guest)
    with naming(source):
        command.run(
            source,
            config=text_or_file("--config", config, inputs),
            args=tuple(arg or ()),
            limits=limits_from(limit),
            sha256=sha256,
            form=output.value,
        )


@app.command()
def call(
    guest: Guest,
    hooks: Annotated[
        list[str],
        typer.Argument(metavar="HOOK", help=f"Hooks in call order: {', '.join(SINGLE_HOOKS)}.", autocompletion=_hooks),
    ],
    pod: Annotated[Path | None, typer.Option(metavar="FILE", help="Pod manifest, or -. Default: a sample pod.")] = None,
    node: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="Node manifests, or -; several per file. Repeatable. Default: three sample nodes."
        ),
    ] = None,
    target_pod: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Pod manifest for addpod and removepod. Default: a sample pod.")
    ] = None,
    config: Config = "",
    arg: Arg = None,
    log_severity: Annotated[
        int,
        typer.Option(metavar="N", min=0, max=3, help="Lowest logged severity: 0 info, 1 warning, 2 error, 3 fatal."),
    ] = 0,
    node_status: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NODE=CODE",
            help="Node status for postfilter. Repeatable. Default: results of filter.",
            callback=utf8,
        ),
    ] = None,
    score: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NODE=N",
            help="Node score for normalizescore. Repeatable. Default: results of score.",
            callback=utf8,
        ),
    ] = None,
    global_: Annotated[
        list[str] | None,
        typer.Option(
            "--global", metavar="NAME=N", help="Value of an exported mutable global, set before the hooks. Repeatable."
        ),
    ] = None,
    limit: Limit = None,
    sha256: Sha256 = None,
    strict: Strict = False,
    output: Format = Output.TABLE,
) -> None:
    """Call hooks of a guest in the given order, on one instance; filter and score for every node.

    Prints one row per call: status, answer, time and reason; then log lines,
    events and output of the guest.

    Exit codes: 0 calls made, with any result; 1 invalid guest or manifest; 2
    wrong usage.

    Example: kubewasp plugin call nodenumber.wasm prefilter filter score --pod pod.yaml --node nodes.yaml
    """
    from kubewasp.cli import plugin_call as command
    from kubewasp.cli.inputs import Inputs

    for name in hooks:
        if name not in SINGLE_HOOKS:
            raise typer.BadParameter(unknown("hook", name, SINGLE_HOOKS), param_hint="HOOK")
    inputs = Inputs()
    source = inputs.guest(guest)
    request = command.Request(
        guest=source,
        hooks=tuple(hooks),
        pod=inputs.optional(pod),
        nodes=inputs.files(node),
        target_pod=inputs.optional(target_pod),
        config=text_or_file("--config", config, inputs),
        args=tuple(arg or ()),
        log_severity=log_severity,
        node_statuses=integers("--node-status", node_status, names=command.CODES),
        scores=integers("--score", score),
        globals=integers("--global", global_),
        limits=limits_from(limit),
        sha256=sha256,
        strict=strict,
    )
    with naming(source):
        command.run(request, form=output.value)


@app.command()
def bench(
    guest: Guest,
    nodes: Annotated[int, typer.Option(metavar="N", min=1, max=100_000, help="Number of nodes.")] = 1000,
    pods: Annotated[
        int, typer.Option(metavar="N", min=1, max=1_000_000, help="Number of measured cycles, one per pod.")
    ] = 100,
    config: Config = "",
    arg: Arg = None,
    limit: Limit = None,
    sha256: Sha256 = None,
    output: Format = Output.TABLE,
) -> None:
    """Measure a guest: load time, each hook, a whole cycle, memory; compared with plain Python callbacks.

    Prints medians of this machine; the nodes and pods are samples.

    Example: kubewasp plugin bench nodenumber.wasm --nodes 5000
    """
    from kubewasp.cli import plugin_bench as command
    from kubewasp.cli.inputs import Inputs

    inputs = Inputs()
    source = inputs.guest(guest)
    with naming(source):
        command.run(
            source,
            nodes=nodes,
            pods=pods,
            config=text_or_file("--config", config, inputs),
            args=tuple(arg or ()),
            limits=limits_from(limit),
            sha256=sha256,
            form=output.value,
        )


@app.command()
def profile(
    guest: Guest,
    nodes: Annotated[int, typer.Option(metavar="N", min=1, max=100_000, help="Number of nodes.")] = 1000,
    pods: Annotated[int, typer.Option(metavar="N", min=1, max=1_000_000, help="Least number of cycles.")] = 100,
    seconds: Annotated[float, typer.Option(metavar="S", min=0, max=600, help="Least duration of the cycles.")] = 2.0,
    top: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="Number of functions in the table.")] = 15,
    output_file: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "--output-file",
            metavar="FILE",
            help="File for the profile; without it profile.json or profile.pb.gz.",
            show_default=False,
        ),
    ] = None,
    profile_format: Annotated[
        ProfileFormat | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="Format of the file: firefox, or pprof, which is the default for *.pb.gz.",
            show_default=False,
        ),
    ] = None,
    config: Config = "",
    arg: Arg = None,
    limit: Limit = None,
    sha256: Sha256 = None,
    output: Format = Output.TABLE,
) -> None:
    """Profile a guest: the functions in which it spends its time, by samples of its stack.

    Runs the cycles of `plugin bench`. Writes all samples to profile.json, for
    https://profiler.firefox.com (nothing leaves your machine: the page reads the
    file in the browser), or to a .pb.gz file for `go tool pprof`, and prints the
    functions with the most time of their own.

    Names come from the guest: Go, C, Rust and AssemblyScript (--debug) write them
    unless told otherwise. Components (Python, JavaScript) cannot be profiled.

    Example: kubewasp plugin profile nodenumber.wasm --nodes 5000

    Example: kubewasp plugin profile nodenumber.wasm --out nodenumber.pb.gz
    """
    from kubewasp.cli import plugin_profile as command
    from kubewasp.cli.inputs import Inputs

    inputs = Inputs()
    source = inputs.guest(guest)
    with naming(source):
        command.run(
            source,
            work=command.Work(nodes, pods, seconds),
            top=top,
            target=output_file,
            profile_format=profile_format,
            config=text_or_file("--config", config, inputs),
            args=tuple(arg or ()),
            limits=limits_from(limit),
            sha256=sha256,
            form=output.value,
        )
