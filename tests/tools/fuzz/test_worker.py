"""Fuzz worker: kept seeds, one file per cause of a crash, inputs that end or hang the process."""

import itertools
import os
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tools.fuzz import __main__ as command
from tools.fuzz import catalogue, worker


class Fragile:
    """Fails for inputs with a digit, at two places."""

    def seeds(self) -> Iterable[bytes]:
        return [b"1", b"22", b"2", b"abc"]

    def one(self, data: bytes) -> str:
        if b"1" in data:
            raise ValueError(data)
        if b"2" in data:
            raise KeyError(data)
        return f"{len(data) % 4}"


def test_each_cause_of_a_crash_is_one_file_with_its_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "target", lambda _: Fragile())
    found = worker.fuzz("any", tmp_path, 0.0, 1, least=4)
    assert found == {"inputs": 4, "labels": 3, "seeds": 4, "crashes": 2}
    inputs = {path.read_bytes() for path in tmp_path.glob("crash-????????????????")}
    assert len(inputs) == 2
    assert "KeyError" in "".join(path.read_text() for path in tmp_path.glob("*.txt"))
    assert not (tmp_path / "at-hand").exists()


def test_more_seeds_than_there_is_time_for_do_not_make_it_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "target", lambda _: Fragile())
    times = itertools.count()
    monkeypatch.setattr(worker, "time", SimpleNamespace(monotonic=lambda: float(next(times))))
    found = worker.fuzz("any", tmp_path, 5.0, 1)
    assert 1 < found["inputs"] < 4
    assert found["seeds"] >= 4


def test_an_input_with_a_new_outcome_becomes_a_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "target", lambda _: Fragile())
    worker.fuzz("any", tmp_path, 0.0, 1, least=1000)
    assert list(tmp_path.glob("seed-*"))


@pytest.mark.parametrize("end", ["signal", "hang"])
def test_an_input_that_ends_or_hangs_the_process_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    module = tmp_path / "lethal.py"
    call = "os.abort()" if end == "signal" else "time.sleep(600)"
    module.write_text(f"import os, time\ndef seeds(): return [b'lethal']\ndef one(data): {call}\n")
    main = tmp_path / "run.py"
    main.write_text(
        "import sys\nfrom tools.fuzz import catalogue, worker\n"
        "catalogue.TARGETS['lethal'] = 'lethal'\nworker.main(sys.argv[1:])\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{command.ROOT}")
    monkeypatch.setattr(command, "WORKER", (str(main),))
    monkeypatch.setattr(command, "GRACE", 600.0 if end == "signal" else 0.5)
    found = command.run("lethal", 60.0, 1, tmp_path / "kept")
    assert found.crashes == 1
    [kept] = (tmp_path / "kept" / "lethal").glob("crash-????????????????")
    assert kept.read_bytes() == b"lethal"
