"""A soak in short: it runs through, every check but the curves is judged, and the report is written."""

from pathlib import Path

import pytest

from tools.soak.__main__ import main
from tools.soak.judgement import CURVES
from tools.soak.profiles import GANG, MISBEHAVING, NODENUMBER, PYTHON, UNSCHEDULABLE
from tools.soak.report import BEGIN, END, IMAGE, PAGE
from tools.soak.run import RECORDING
from tools.soak.samples import Recording
from tools.testbed import build


def test_a_short_soak_passes_and_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], pytestconfig: pytest.Config
) -> None:
    with pytestconfig.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        build.programs()
    docs, folder = tmp_path / "docs", tmp_path / "soak"
    (docs / "images").mkdir(parents=True)
    (docs / PAGE).write_text(f"{BEGIN}{END}", encoding="utf-8")
    size = ["--minutes", "0.3", "--nodes", "30", "--rate", "10"]
    code = main([*size, "--folder", str(folder), "--docs", str(docs)])
    out = capsys.readouterr().out
    assert code == 0, out
    assert max(map(len, out.splitlines()[1:-3])) <= 80
    with (folder / RECORDING).open(encoding="utf-8") as lines:
        found = Recording.read(lines)
    assert len(found.samples) >= 3
    assert found.outcome is not None
    assert set(found.outcome.pods) == {NODENUMBER, PYTHON, GANG, MISBEHAVING, UNSCHEDULABLE}
    assert all(f"–    {curve.name} " in out for curve in CURVES), "a busy machine is not judged by its curves"
    assert "| memory |" in (docs / PAGE).read_text(encoding="utf-8")
    assert (docs / IMAGE).exists()
