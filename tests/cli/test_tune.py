"""`kubewasp tune`: the report, the hold-out, and a configuration file that other commands take."""

import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import orjson
import pytest
import yaml

from tests.cli.conftest import Kubewasp
from tests.lab.studies.inline_engine import InlineEngine
from tests.lab.studies.test_tuning import BODY, NODE, POD, REQUESTS


@pytest.fixture(autouse=True)
def _one_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting workers takes most of the time of a small search."""
    if request.function is not test_documents_have_all_trials:
        monkeypatch.setattr("kubewasp.cli.tune.ExperimentPool", lambda inputs, *_: InlineEngine(inputs))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    nodes = [NODE | {"metadata": {"name": f"node-{number}"}} for number in range(3)]
    pods = [POD | {"metadata": {"name": f"pod-{number}"}, "spec": REQUESTS} for number in range(3)]
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all([*nodes, *pods]))
    return tmp_path


def tuning(folder: Path, **changes: Any) -> Path:
    file = folder / "tuning.yaml"
    file.write_text(yaml.safe_dump(BODY | {"holdOut": {"seeds": 1}} | changes))
    return file


def test_the_result_is_a_configuration_that_packs(kubewasp: Kubewasp, folder: Path) -> None:
    written, picture = folder / "scheduler.yaml", folder / "front.svg"
    options = ("--out", folder / "out", "--write", written, "--picture", picture, "--processes", "1")
    ended = kubewasp("tune", tuning(folder), *options)
    assert (ended.code, ended.err) == (0, "")
    assert "trials      12 random" in ended.out
    assert "held out    better than the base: nodes.used 1.0 instead of 3.0" in ended.out
    found = kubewasp("simulate", folder / "cluster.yaml", "--config", written, "-o", "json")
    assert len({placed["node"] for placed in orjson.loads(found.out)["placements"]}) == 1
    assert ET.parse(picture).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    trials = [orjson.loads(line) for line in (folder / "out" / "trials.jsonl").read_bytes().splitlines()]
    assert [trial["trial"] for trial in trials] == list(range(13))


def test_documents_have_all_trials(kubewasp: Kubewasp, folder: Path) -> None:
    ended = kubewasp("tune", tuning(folder), "--out", folder / "out", "--trials", "3", "--processes", "1", "-o", "json")
    found = orjson.loads(ended.out)
    assert [trial["trial"] for trial in found["trials"]] == [0, 1, 2, 3]
    assert found["trials"][0]["parameters"] is None
    assert found["front"] == [found["best"]]
    assert found["heldOut"] in ("better", "same")


def test_a_gain_that_is_not_there_on_the_hold_out_is_said(kubewasp: Kubewasp, folder: Path) -> None:
    """In the held-out cluster, two nodes are needed in any case."""
    nodes = [NODE | {"metadata": {"name": f"node-{number}"}} for number in range(2)]
    large = {"containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "3"}}}]}
    pods = [POD | {"metadata": {"name": f"pod-{number}"}, "spec": large} for number in range(2)]
    (folder / "other.yaml").write_text(yaml.safe_dump_all([*nodes, *pods]))
    inputs = [{"name": "a", "manifests": ["cluster.yaml"]}, {"name": "b", "manifests": ["other.yaml"]}]
    file = tuning(folder, inputs=inputs, holdOut={"inputs": ["b"]})
    ended = kubewasp("tune", file, "--out", folder / "out", "--processes", "1")
    assert "held out    NOT better than the base: nodes.used 2.0 instead of 2.0" in ended.out


def test_without_a_result_nothing_is_written(kubewasp: Kubewasp, folder: Path) -> None:
    file, written = tuning(folder, constraints=["nodes.used > 3"]), folder / "scheduler.yaml"
    ended = kubewasp("tune", file, "--out", folder / "out", "--write", written, "--trials", "2", "--processes", "1")
    assert ended.code == 1
    assert "no trial fulfils the constraints" in ended.out
    assert not written.exists()


def test_another_trial_may_be_chosen(kubewasp: Kubewasp, folder: Path) -> None:
    file, written = tuning(folder), folder / "scheduler.yaml"
    options = ("--out", folder / "out", "--trials", "2", "--processes", "1")
    ended = kubewasp("tune", file, *options, "--write", written, "--trial", "0")
    assert ended.code == 0
    assert written.read_text().startswith("# Written by kubewasp tune: the base\n")
    assert kubewasp("tune", file, *options, "--trial", "9").usage_error == (
        "invalid value for --trial: there is no trial 9 with a result"
    )


def test_a_strategy_that_is_not_installed_is_one_line(
    kubewasp: Kubewasp, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    ended = kubewasp("tune", tuning(folder, strategy="bayesian"), "--out", folder / "out")
    assert (ended.code, ended.out) == (1, "")
    assert "run `pip install 'kubewasp[tune]'`" in ended.err
