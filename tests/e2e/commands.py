"""`kubewasp` commands as processes."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

PROGRAM: Final = Path(sys.executable).with_name("kubewasp")
_SECONDS: Final = 120  # the machine may be busy


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def output(self) -> str:
        """Of a command that has succeeded."""
        assert self.code == 0, self.err
        return self.out

    @property
    def json(self) -> Any:
        return json.loads(self.output)

    @property
    def found(self) -> dict[str, Any]:
        """The object of a command that has succeeded without warnings."""
        assert (self.code, self.err) == (0, "")
        return dict(json.loads(self.out))

    @property
    def refusal(self) -> str:
        """The error of a command that has failed without output."""
        assert (self.code, self.out) == (1, "")
        return self.err.removeprefix("error: ").rstrip("\n")


def run(
    *words: object, env: Mapping[str, str] | None = None, cwd: Path | None = None, seconds: float = _SECONDS
) -> Ended:
    """A command to its end; `env` is its whole environment, if given."""
    command = [PROGRAM, *map(str, words)]
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, check=False, timeout=seconds)
    return Ended(done.returncode, done.stdout, done.stderr)


def own_environment(home: Path, **more: str) -> dict[str, str]:
    """An environment without settings of the user, with a home, a cache and a store in that folder."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return kept | {"HOME": str(home), "KUBEWASP_CACHE_DIR": str(home / "cache")} | more
