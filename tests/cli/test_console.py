"""`kubewasp console`, and --html of simulate and replay: files, errors; the server is tested with it in one process."""

import json
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from kubewasp.console.console_source import ConsoleSource
from tests.cli.conftest import Kubewasp
from tests.guests.build import ROOT

EXAMPLES = ROOT / "examples"
SMALL, CHURN = EXAMPLES / "clusters" / "small.yaml", EXAMPLES / "recordings" / "churn"


def embedded(file: Path) -> dict[str, dict[str, object]]:
    text = file.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="kubewasp-answers">(.*?)</script>', text, re.DOTALL)
    assert found
    answers: dict[str, dict[str, object]] = json.loads(found[1])
    return answers


@pytest.mark.parametrize(
    ("arguments", "mode"),
    [
        (("console", SMALL), "simulation"),
        (("console", CHURN), "recording"),
        (("console", EXAMPLES / "traces/pods.csv", "--nodes", EXAMPLES / "traces/nodes.csv"), "simulation"),
        (("simulate", SMALL), "simulation"),
        (("simulate", SMALL, "--baseline-config", EXAMPLES / "configs" / "nodenumber.yaml"), "simulation"),
        (("replay", CHURN), "recording"),
    ],
)
def test_a_file_is_written(kubewasp: Kubewasp, tmp_path: Path, arguments: tuple[object, ...], mode: str) -> None:
    file = tmp_path / "report.html"
    ended = kubewasp(*arguments, "--html", file)
    assert (ended.code, ended.err.splitlines()[-1]) == (0, f"wrote {file}")
    answers = embedded(file)
    assert answers["/session"]["mode"] == mode
    assert "/overview" in answers


def test_a_snapshot_is_not_simulated(kubewasp: Kubewasp, tmp_path: Path) -> None:
    snapshot, file = tmp_path / "small.kwsnap", tmp_path / "report.html"
    assert kubewasp("snapshot", SMALL, "--out", snapshot).code == 0
    assert kubewasp("console", snapshot, "--html", file).code == 0
    answers = embedded(file)
    assert answers["/session"]["mode"] == "snapshot"
    assert answers["/overview"]["pods"] == {
        "placed": 0,
        "waiting": 0,
        "pending": 6,
        "gated": 0,
        "failing": 0,
        "total": 6,
    }


def test_input_that_cannot_be_looked_at(kubewasp: Kubewasp, tmp_path: Path) -> None:
    missing = tmp_path / "no" / "report.html"
    assert "is no folder" in kubewasp("console", SMALL, "--html", missing).usage_error
    assert "is no folder" in kubewasp("simulate", SMALL, "--html", missing).usage_error
    assert "a recording is looked at alone" in kubewasp("console", CHURN, SMALL).usage_error
    assert "expected HOST:PORT" in kubewasp("console", SMALL, "--listen", "nowhere").usage_error
    ended = kubewasp("console", tmp_path / "nothing.yaml")
    assert (ended.code, ended.out) == (1, "")
    assert "nothing.yaml" in ended.err


def test_it_serves_until_it_is_interrupted() -> None:
    command = [sys.executable, "-m", "kubewasp", "console", str(SMALL)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.fullmatch(r"console at (http://127\.0\.0\.1:\d+)/console/ \(Ctrl-C ends it\)\n", line)
        assert found, line
        with urllib.request.urlopen(f"{found[1]}/api/v1/overview", timeout=10) as answer:
            assert json.loads(answer.read())["nodes"]["total"] == 3
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert process.wait(timeout=20) == 0
        assert time.monotonic() - began < 10


def test_a_comparison_opens_its_runs(kubewasp: Kubewasp, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[ConsoleSource, bool]] = []

    def show(source: ConsoleSource, *, opened: bool, **_more: object) -> None:
        shown.append((source, opened))

    monkeypatch.setattr("kubewasp.cli.console.show", show)
    ended = kubewasp("compare", "default", "default,ImageLocality=5", SMALL, "--open")
    assert ended.code == 0
    ((source, opened),) = shown
    assert (opened, [run.name for run in source.session.runs]) == (True, ["default", "default,ImageLocality=5"])
    assert source.comparison() is not None


def test_an_open_address_is_warned_of(kubewasp: Kubewasp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubewasp.console.console_server.serve", lambda *_given, **_more: None)
    ended = kubewasp("console", SMALL, "--listen", "0.0.0.0:0")
    assert (ended.code, ended.err) == (0, "warning: anybody who can reach 0.0.0.0 can look at this console\n")
    assert kubewasp("console", SMALL).err == ""
