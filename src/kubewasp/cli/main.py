"""Entry point of the `kubewasp` command: command groups, exit codes, user errors."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Final

import typer

from kubewasp import __version__
from kubewasp.cli import (
    cluster_commands,
    compare_commands,
    config_commands,
    console_commands,
    extender_commands,
    http_commands,
    image_commands,
    plugin_commands,
    plugin_registry_commands,
    plugin_signature_commands,
    replay_commands,
    rollout_commands,
    shell_commands,
    snapshot_commands,
    standard_streams,
    study_commands,
    trace_commands,
    wasi_commands,
    what_if_commands,
)
from kubewasp.cli.command_group import CommandGroup
from kubewasp.cli.output import has_styles, printable
from kubewasp.errors import KubewaspError

PROG: Final = "kubewasp"
_FAILED: Final = 1
_INTERRUPTED: Final = 130  # as a shell reports SIGINT
_READER_GONE: Final = 141  # as a shell reports SIGPIPE

app = CommandGroup()
cluster_commands.register(app)
snapshot_commands.register(app)
compare_commands.register(app)
replay_commands.register(app)
console_commands.register(app)
plugin_registry_commands.register(plugin_commands.app)
plugin_signature_commands.register(plugin_commands.app)
app.add_typer(plugin_commands.app, name="plugin")
app.add_typer(config_commands.app, name="config")
app.add_typer(trace_commands.app, name="trace")
app.add_typer(what_if_commands.app, name="what-if")
study_commands.register(app)
app.add_typer(rollout_commands.app, name="rollout")
app.add_typer(extender_commands.app, name="extender")
app.add_typer(wasi_commands.app, name="wasi")
app.add_typer(image_commands.app, name="image")
app.add_typer(http_commands.app, name="http")
shell_commands.register(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"{PROG} {__version__}")  # noqa: T201
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """A Kubernetes scheduler whose policies are WebAssembly plugins.

    Start with `kubewasp plugin call GUEST filter score` and a .wasm file, or with
    `kubewasp simulate` and manifests. No cluster is needed.
    """


def main() -> None:
    run_app(app, PROG)


def run_app(commands: CommandGroup, prog: str) -> None:
    """Runs a command line and exits. User errors are one line on stderr: exit code 1, or 2 for wrong usage."""
    standard_streams.open_closed()
    try:
        code = _run(commands, prog)
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except BrokenPipeError:
        standard_streams.discard_output()
        code = _READER_GONE
    except OSError as error:
        standard_streams.discard_output()
        code = _failed(_operating_system_text(error))
    except KubewaspError as error:
        code = _failed(str(error))
    sys.exit(code)


def _run(commands: CommandGroup, prog: str) -> int:
    """Exit code of a command."""
    is_completing = _prepare_completion(prog)
    command = typer.main.get_command(commands if is_completing else commands.narrowed(sys.argv[1:]))
    try:
        code = command.main(prog_name=prog, standalone_mode=False, color=has_styles())
    except SystemExit as end:
        # typer turns a broken pipe into exit code 1, the code of an error.
        if isinstance(end.__context__, BrokenPipeError):
            raise end.__context__ from None
        raise
    except typer.Abort:  # end of input at a prompt
        return _FAILED
    except typer.TyperException as error:
        return _misused(error)
    finally:
        sys.stdout.flush()  # not at interpreter exit, where a failure cannot be handled
    return code if isinstance(code, int) else 0


def _misused(error: typer.TyperException) -> int:
    from kubewasp.cli.usage_errors import usage_error_text

    if type(error).__name__ == "NoArgsIsHelpError":  # its text is the help
        standard_streams.report(error.format_message())
    else:
        _failed(usage_error_text(error))
    return error.exit_code


def _prepare_completion(prog: str) -> bool:
    """True if the shell asks for completions, which may be of any command."""
    if f"_{prog.upper()}_COMPLETE" not in os.environ:
        return False
    from typer.completion import completion_init  # type: ignore[attr-defined]

    completion_init()
    return True


def _operating_system_text(error: OSError) -> str:
    """`file: No such file or directory`, without the number of the error."""
    if error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror


def _failed(text: str) -> int:
    standard_streams.report(f"error: {printable(text)}\n")
    return _FAILED
