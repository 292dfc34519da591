"""Options and help of `kubewasp version` and `kubewasp completion`. The work is in version and here."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kubewasp.cli.options import Format, Output

if TYPE_CHECKING:
    from kubewasp.cli.command_group import CommandGroup


class Shell(StrEnum):
    """Shell with completion."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def version(output: Format = Output.TABLE) -> None:
    """Print the versions of kubewasp, Python, wasmtime and the compilers of plugins.

    The wasm engine is a part of the wasmtime package and has a version of its
    own. A compiler that is not installed is "not found"; only `kubewasp plugin
    build` and `plugin test` need one.

    Example: kubewasp version

    Example: kubewasp version -o json
    """
    from kubewasp.cli import version as command

    command.run(form=output.value)


def completion(
    shell: Annotated[
        Shell, typer.Argument(metavar="SHELL", help=f"Shell of the script: {', '.join(Shell)}.", show_default=False)
    ],
    context: typer.Context,
) -> None:
    """Print the completion script of a shell: commands, options and hooks after the Tab key.

    The line for the file of your shell:

        ~/.bashrc                   source <(kubewasp completion bash)
        ~/.zshrc, after compinit    source <(kubewasp completion zsh)
        ~/.config/fish/config.fish  kubewasp completion fish | source
        $PROFILE (powershell)       kubewasp completion powershell |
                                      Out-String | Invoke-Expression

    Example: kubewasp completion bash
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    from kubewasp.cli.output import write

    prog = str(context.find_root().info_name)
    script = get_completion_script(prog_name=prog, complete_var=f"_{prog.upper()}_COMPLETE", shell=shell.value)
    write(f"{script}\n")


def register(app: CommandGroup) -> None:
    for command in (version, completion):
        app.command(rich_help_panel="Other commands")(command)
