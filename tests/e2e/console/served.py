"""A console of the real command, served by a process of its own on a free port."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
# A command that "opens" the page: these tests have a browser of their own.
_NO_BROWSER = "true %s"


@dataclass(frozen=True, slots=True)
class Served:
    """Address of a running console."""

    address: str
    port: int


@contextmanager
def serve(*arguments: str) -> Iterator[Served]:
    """Runs `kubewasp ARGUMENTS` until the block ends. Arguments are relative to the repository."""
    command = [sys.executable, "-m", "kubewasp", *arguments]
    environment = {**os.environ, "BROWSER": _NO_BROWSER}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        printed = []
        for line in process.stdout:
            printed.append(line)
            if found := re.search(r"http://\S+:(\d+)/console/", line):
                break
        else:
            raise AssertionError(f"the console has not started:\n{''.join(printed)}")
        try:
            yield Served(found[0], int(found[1]))
        finally:
            process.terminate()
            process.wait(30)
