"""Recordings: one segment, read and replayed; also with its entries changed behind their checksums."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.errors import KubewaspError
from kubewasp.lab.replaying.recording import RecordingReader
from kubewasp.lab.replaying.recording_replay import Replay
from kubewasp.live.recording.segments import MAGIC, SegmentEnd, frame, frames
from tools.fuzz.labels import error_label

if TYPE_CHECKING:
    from collections.abc import Iterable

_SAMPLE: Final = Path(__file__).parents[3] / "examples" / "recordings" / "churn" / "000001.kwrec"
_NUMBERS: Final = re.compile(r"\d[\d,.]*")
_ENTRIES: Final = b"entries:"  # content of one frame, which gets its checksum here


def seeds() -> Iterable[bytes]:
    yield _SAMPLE.read_bytes()
    with _SAMPLE.open("rb") as file:
        content = next(iter(frames(file, SegmentEnd())))
    yield _ENTRIES + content[:6000]
    yield MAGIC


def one(data: bytes) -> str:
    if data.startswith(_ENTRIES):
        data = MAGIC + frame(data.removeprefix(_ENTRIES))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "000001.kwrec").write_bytes(data)
        try:
            report = Replay(RecordingReader(Path(folder)), lambda config: (config, ())).run()
        except KubewaspError as error:
            return error_label(KubewaspError(str(error).replace(folder, "DIR")))
    return f"{report.attempts > 0} {len(report.differences)} {_NUMBERS.sub('#', ' '.join(report.warnings))}"
