"""`python -m tools.soak`: a soak, or the report of a recorded one."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.errors import KubewaspError
from tools.soak.judgement import judge
from tools.soak.picture import picture
from tools.soak.report import judgement_lines, write_docs
from tools.soak.run import RECORDING, Settings, soak
from tools.soak.samples import Recording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.soak.samples import Sample

ROOT: Final = Path(__file__).parents[2]
_WIDTH: Final = 80
_HEAD: Final = f"{'MIN':>5} {'BOUND':>8} {'PENDING':>7} {'PODS/S':>6} {'MEMORY':>8} {'THREADS':>7} {'FILES':>5} "
_HEAD_2: Final = f"{'CPU':>5} {'LIVEZ':>8}"


class Progress:
    """One line a minute."""

    def __init__(self) -> None:
        self._last: Sample | None = None
        self._minutes = 0
        self._slowest = 0.0
        self._has_head = False

    def __call__(self, sample: Sample) -> None:
        self._slowest = max(self._slowest, sample.slowest_probe)
        if sample.seconds < 60 * (self._minutes + 1) - 1:
            return
        if not self._has_head:
            _print(_HEAD + _HEAD_2)
            self._has_head = True
        _print(line(sample, self._last, self._slowest))
        self._minutes, self._last, self._slowest = int((sample.seconds + 1) // 60), sample, 0.0


def line(sample: Sample, last: Sample | None, slowest: float) -> str:
    """Progress since the last line; below 80 columns."""
    seconds = sample.seconds - (last.seconds if last else 0.0)
    pods = (sample.bound - (last.bound if last else 0)) / seconds
    cpu = (sample.process.cpu - (last.process.cpu if last else 0.0)) / seconds
    process = sample.process
    return (
        f"{sample.seconds / 60:5.1f} {sample.bound:8,} {sample.pending:7,} {pods:6.1f} "
        f"{process.memory / 2**20:4,.0f} MiB {process.threads:7} {process.descriptors:5} "
        f"{cpu:4.0%} {1e3 * slowest:5,.0f} ms"
    )


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="length (default 30; curves are judged from 10 on)")
    parser.add_argument("--nodes", type=int, default=300, help="number of nodes (default 300)")
    parser.add_argument("--rate", type=float, default=20.0, help="new pods per second (default 20)")
    parser.add_argument("--folder", type=Path, default=ROOT / ".build" / "soak", help="recording, picture and logs")
    parser.add_argument("--docs", type=Path, help="documentation folder for table and picture, such as docs")
    parser.add_argument("--report", type=Path, metavar="FILE", help="judges a recording instead of a new soak")
    options = parser.parse_args(arguments)
    if options.minutes <= 0 or options.nodes < 1 or options.rate <= 0:
        parser.error("--minutes, --nodes and --rate must be greater than zero")
    try:
        return _run(options)
    except KubewaspError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2


def _run(options: argparse.Namespace) -> int:
    folder: Path = options.folder.resolve()  # servers run in folders of their own
    if options.report:
        recording = _read(options.report)
    else:
        settings = Settings(options.minutes, options.nodes, options.rate)
        _print(f"{settings.minutes:g} minutes, {settings.nodes} nodes, {settings.rate:g} pods per second")
        recording = soak(settings, folder, Progress())
    checks = judge(recording)
    failed = [check for check in checks if check.is_passed is False]
    for text in judgement_lines(checks, _WIDTH):
        _print(text)
    if not options.report:
        (folder / "soak.svg").write_text(picture(recording.samples), encoding="utf-8")
        _print(f"recording and picture: {_shown(folder / RECORDING)}, {_shown(folder / 'soak.svg')}")
        if failed:
            _print(f"logs: {_shown(folder / 'servers')}")
        else:
            shutil.rmtree(folder / "servers")
    if options.docs:
        for path in write_docs(recording, options.docs):
            _print(f"written: {_shown(path)}")
    return 1 if failed else 0


def _read(path: Path) -> Recording:
    try:
        with path.open(encoding="utf-8") as lines:
            return Recording.read(lines)
    except OSError as error:
        raise KubewaspError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise KubewaspError(f"{path}: {error}") from None


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


if __name__ == "__main__":
    sys.exit(main())
