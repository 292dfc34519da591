"""Chromium for tests in a browser: that of the PATH, else Debian's package, which needs root.

`python -m tools.testbed.browser` prepares it, or prints the reason.
"""

import functools
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tools.testbed.debian_programs import UnavailableError

# No sandbox as root, no graphics card, and no connections of the browser's own.
ARGUMENTS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_SECONDS: Final = 600.0


@functools.cache
def chromium() -> Path:
    """The program, installed if it can be."""
    found = _on_path()
    if found is None:
        _install()
        found = _on_path()
    if found is None:
        raise UnavailableError("the package chromium has no program")
    return found


def is_required() -> bool:
    """In CI a missing browser is a failure: its tests must run somewhere."""
    return os.environ.get("CI", "").lower() in {"1", "true"}


def _on_path() -> Path | None:
    return next((Path(found) for name in _NAMES if (found := shutil.which(name)) is not None), None)


def _install() -> None:
    if shutil.which("apt-get") is None:
        raise UnavailableError("no chromium on the PATH, and this machine has no apt")
    if os.geteuid() != 0:
        raise UnavailableError("no chromium on the PATH; install it: apt-get install chromium")
    for command in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
        try:
            done = subprocess.run(
                ["apt-get", "-qq", *command],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UnavailableError(f"apt-get does not run: {error}") from None
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or ["no message"]
            raise UnavailableError(f"apt-get failed: {last[0]}")


def main() -> None:
    try:
        print(f"browser: {chromium()}")
    except UnavailableError as error:
        print(f"browser: tests are skipped: {error}")


if __name__ == "__main__":
    main()
