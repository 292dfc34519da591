"""Go builds for benchmarks, test bed and test guests: settings, compiler calls, files of published modules.

Go's own environment decides where modules come from, never what is built from them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.errors import KubewaspError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kubewasp.projects.go import Go

    Settings = Mapping[str, str]

_COMMON: Final = {"GOWORK": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "CGO_ENABLED": "0"}
NATIVE: Final[Settings] = _COMMON | {"GOOS": "", "GOARCH": ""}
# Guests need no modules but their own.
WASM: Final[Settings] = _COMMON | {"GOOS": "wasip1", "GOARCH": "wasm", "GOWASM": "", "GOPROXY": "off"}
REPRODUCIBLE: Final = ("-trimpath", "-buildvcs=false")
_STRIPPED: Final = "-ldflags=-s -w"
_NOISE: Final = ("go: downloading ", "go: finding ")


class GoError(KubewaspError):
    """A failed call of the Go tool. `complaint` is its own output, without the command and download messages."""

    def __init__(self, command: str, complaint: str) -> None:
        super().__init__(f"`{command}` failed:\n{complaint}")
        self.complaint = complaint


def environment(settings: Settings) -> dict[str, str]:
    return {**os.environ, "GOEXPERIMENT": "", **settings}


def build_program(go: Go, folder: Path, target: Path, settings: Settings = NATIVE) -> None:
    """A command for this machine; with `WASM`, a WASI command."""
    run(go, "build", *REPRODUCIBLE, _STRIPPED, "-o", target, ".", cwd=folder, settings=settings)


def build_guest(go: Go, folder: Path, target: Path, package: str = ".") -> None:
    """A WASI reactor: a guest for hosts of the classic ABI, or a web handler."""
    run(go, "build", "-buildmode=c-shared", *REPRODUCIBLE, _STRIPPED, "-o", target, package, cwd=folder, settings=WASM)


def download(go: Go, module: str, release: str) -> dict[str, str]:
    """A downloaded module as `go mod download -json` describes it: `Version`, `Dir`, `Sum` and more."""
    with tempfile.TemporaryDirectory(prefix="kubewasp-go-") as folder:
        Path(folder, "go.mod").write_text("module fetch\n", encoding="ascii")
        printed = run(go, "mod", "download", "-json", f"{module}@{release}", cwd=Path(folder), settings=NATIVE)
    found: dict[str, str] = json.loads(printed)
    return found


def fetch(go: Go, module: str, release: str, path: str, target: Path, *, checksum: str = "") -> None:
    """Copies one file of a published module. With a checksum, another content of the module is an error."""
    found = download(go, module, release)
    if checksum and found["Sum"] != checksum:
        raise KubewaspError(f"{module}@{release} has the checksum {found['Sum']}, not {checksum}")
    source = Path(found["Dir"], path)
    if not source.is_file():
        raise KubewaspError(f"{module}@{release} has no file {path}")
    shutil.copyfile(source, target)


def run(go: Go, *arguments: str | Path, cwd: Path, settings: Settings) -> str:
    """The output of a Go command; GoError if it fails."""
    done = subprocess.run(
        [go.command, *arguments],
        cwd=cwd,
        env=environment(settings),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise GoError(" ".join(map(str, ("go", *arguments))), _complaint(done.stdout, done.stderr, arguments))
    return done.stdout


def _complaint(output: str, errors: str, arguments: Sequence[str | Path]) -> str:
    if "-json" in arguments:  # errors are part of the JSON document then
        try:
            return str(json.loads(output)["Error"])
        except (ValueError, KeyError):
            pass
    lines = [line for line in errors.splitlines() if not line.startswith(_NOISE)]
    return "\n".join(lines) or "no message"
