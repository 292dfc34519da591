"""The recording of the documentation, `examples/recordings/churn`: `python -m tests.live.recording.sample` makes it."""

import shutil
from pathlib import Path

from tests.live.recording.churn import Churn, RecordedCluster

FOLDER = Path(__file__).parents[3] / "examples" / "recordings" / "churn"
START = 1_767_600_000.0  # 2026-01-05T08:00:00Z
STEPS = 220


def main() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    cluster = RecordedCluster(FOLDER, seed=1)
    cluster.clock.time = START
    Churn(cluster).run(STEPS)
    cluster.writer.write_queued()
    cluster.close()
    (FOLDER / "lock").unlink()
    for path in (FOLDER, *FOLDER.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)


if __name__ == "__main__":
    main()
