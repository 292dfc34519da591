"""What all toolchains share: where the SDKs are, how a tool is run, and what is said when it fails."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from kubewasp.errors import KubewaspError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class BuildError(KubewaspError):
    """A plugin cannot be built: a tool is missing or too old, or the compiler said no."""


def sdk(part: str) -> Path:
    """The folder of an SDK (`go`, `python`, `wit`): in the installed package, or in the repository it is edited in."""
    package = Path(__file__).parents[1]
    for root in (package / "_sdk", package.parents[1] / "sdk"):
        if (root / part).is_dir():
            return root / part
    raise BuildError(f"the {part} SDK that comes with kubewasp was not found; install kubewasp again")


def run_tool(
    command: Sequence[str | os.PathLike[str]], *, cwd: Path, env: Mapping[str, str] | None = None, failed: str
) -> str:
    """What the tool printed. If it fails, an error with just what it said under `failed`."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=os.environ | dict(env or {}),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        said = (done.stderr.strip() + "\n" + done.stdout.strip()).strip() or f"exit code {done.returncode}"
        raise BuildError(f"{failed}\n{said}")
    return done.stdout
