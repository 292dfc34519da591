"""Jumps of the time of day for one kubewasp process. Linux only."""

import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.testbed.kubewasp import Kubewasp
from tools.testbed.servers import ApiServer

_SOURCE = Path(__file__).with_name("clock.c")


def build(folder: Path) -> Path:
    """The library to preload."""
    library = folder / "clock.so"
    compiler = [system] if (system := shutil.which("cc")) else [sys.executable, "-m", "ziglang", "cc"]
    subprocess.run([*compiler, "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", library, _SOURCE], check=True)
    return library


class JumpingKubewasp(Kubewasp):
    """A kubewasp with its own time of day."""

    def __init__(self, folder: Path, api: ApiServer, library: Path, **options: Any) -> None:
        super().__init__(folder, api, **options)
        self._library = library
        self._offset = folder / "clock"
        self.offset = 0.0
        self.jump(0.0)

    def command(self) -> Sequence[str | Path]:
        return ("env", f"LD_PRELOAD={self._library}", f"JUMPING_CLOCK={self._offset}", *super().command())

    def jump(self, seconds: float) -> None:
        """Back, if less than 0."""
        self.offset += seconds
        # In place: the process has mapped this very file.
        with self._offset.open("r+b" if self._offset.exists() else "wb") as file:
            file.write(struct.pack("=q", round(self.offset * 1e9)))

    def now(self) -> float:
        """Time of day of the process."""
        return time.time() + self.offset
