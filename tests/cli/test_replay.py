"""`kubewasp replay`: output, exit codes, errors."""

from pathlib import Path

import pytest

from tests.cli.conftest import Kubewasp
from tests.guests.build import ROOT
from tests.live.recording.churn import Churn, RecordedCluster

NUMBER = f"nodenumber={ROOT / 'examples' / 'guests' / 'nodenumber.wat'},weight=100"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cluster = RecordedCluster(tmp_path_factory.mktemp("churn") / "recording")
    Churn(cluster).run(60)
    cluster.writer.write_queued()
    cluster.close()
    return cluster.writer.folder


def test_the_same_configuration_has_no_difference(kubewasp: Kubewasp, folder: Path) -> None:
    ended = kubewasp("replay", folder, "--fail-on", "difference")
    assert (ended.code, ended.err) == (0, "")
    lines = dict(line.split(maxsplit=1) for line in ended.out.splitlines())
    assert lines["differences"] == "none"
    assert int(lines["decisions"]) > 5
    assert "times the recorded speed" in ended.out


def test_the_first_difference_is_shown_with_its_cause(kubewasp: Kubewasp, folder: Path) -> None:
    ended = kubewasp("replay", folder, "--plugin", NUMBER)
    assert ended.code == 0
    first, then, now, cause = ended.out.splitlines()[:4]
    assert first.startswith("first difference  default/p")
    assert then.split()[0] == "then"
    assert now.split()[0] == "now"
    assert then.split()[1] != now.split()[1]
    assert cause.startswith("cause             nodenumber gives n")
    assert "\nDIFFERENCE  DECISIONS\nother node" in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80


def test_differences_have_an_exit_code_of_their_own(kubewasp: Kubewasp, folder: Path) -> None:
    assert kubewasp("replay", folder, "--plugin", NUMBER, "--fail-on", "difference").code == 5


def test_all_differences_are_listed_on_request(kubewasp: Kubewasp, folder: Path) -> None:
    found = kubewasp("replay", folder, "--plugin", NUMBER, "-o", "json").json
    ended = kubewasp("replay", folder, "--plugin", NUMBER, "--all")
    assert found["differences"] == len(found["list"]) == sum(found["kinds"].values())
    for item in found["list"]:
        assert item["pod"] in ended.out


def test_json_has_both_decisions_and_the_cause(kubewasp: Kubewasp, folder: Path) -> None:
    found = kubewasp("replay", folder, "--plugin", NUMBER, "-o", "json").json
    first = found["first"]
    assert first["then"]["node"] != first["now"]["node"]
    assert first["cause"]["plugin"] == "nodenumber"
    assert first["cause"]["scores"][0]["before"] == {"then_node": 0, "now_node": 0}
    assert found["recording"]["segments"] == 1


def test_another_configuration_replaces_the_recorded_one(kubewasp: Kubewasp, folder: Path, tmp_path: Path) -> None:
    config = tmp_path / "scheduler.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: default-scheduler, plugins: {score: {disabled: [{name: '*'}]}}}]\n"
    )
    found = kubewasp("replay", folder, "--config", config, "-o", "json").json
    assert found["kinds"]["other node"] > 0


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("replay", "nowhere"), "nowhere: cannot be read: No such file or directory"),
        (("replay", "."), ".: there is no recording; `kubewasp run --record .` makes one"),
    ],
)
def test_a_folder_without_a_recording_is_an_error(
    kubewasp: Kubewasp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...], text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kubewasp(*words)
    assert (ended.code, ended.err) == (1, f"error: {text}\n")
