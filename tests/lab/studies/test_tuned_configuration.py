"""Configuration files of tunings: short, and read as the same configuration."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from kubewasp.framework.config.model import SchedulerConfig
from kubewasp.framework.config.reading import parse_config
from kubewasp.lab.experiments.candidates import CandidateSource
from kubewasp.lab.studies import tuned_configuration
from kubewasp.scheduler.configuration import AddedPlugin
from tests.guests.build import ROOT

FIT = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 3}]}}
POLICY = AddedPlugin("policy", str(ROOT / "policy.wasm"), 3)
PACKING = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
podMaxBackoffSeconds: 60
profiles:
- schedulerName: one
  plugins: {score: {disabled: [{name: "*"}], enabled: [{name: NodeResourcesFit, weight: 2}]}}
- schedulerName: two
"""


def read(settings: SchedulerConfig) -> SchedulerConfig:
    text = tuned_configuration.text(settings, "one\ntwo")
    assert text.startswith("# one\n# two\napiVersion: ")
    return parse_config(text.encode(), "tuned.yaml")


@pytest.mark.parametrize(
    "source",
    [
        CandidateSource("default"),
        CandidateSource("weights", weights={"NodeResourcesFit": 7, "ImageLocality": 0}),
        CandidateSource("args", args={"NodeResourcesFit": FIT}, weights={"TaintToleration": 1}),
        CandidateSource("plugin", plugins=(POLICY,), plugin_configs={"policy": '{"a":1}'}, weights={"policy": 9}),
    ],
    ids=lambda source: source.name,
)
def test_a_short_file_is_read_as_the_same_configuration(source: CandidateSource) -> None:
    settings = source.candidate().settings
    found = read(settings)
    again = tuned_configuration._content(found)
    assert again == tuned_configuration._content(settings)
    assert "leaderElection" not in tuned_configuration.document(settings)


def test_a_file_of_other_settings_is_complete(tmp_path: Path) -> None:
    file = tmp_path / "packing.yaml"
    file.write_text(PACKING)
    settings = CandidateSource("file", file, weights={"NodeResourcesFit": 5}).candidate().settings
    found = read(settings)
    assert found.pod_max_backoff_seconds == 60
    assert tuned_configuration._content(found) == tuned_configuration._content(settings)


def test_guests_have_absolute_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    source = CandidateSource("plugin", plugins=(replace(POLICY, guest="policy.wasm"),))
    written = yaml.safe_load(tuned_configuration.text(source.candidate().settings, ""))
    assert written["profiles"][0]["pluginConfig"][0]["args"]["guestURL"] == str(tmp_path / "policy.wasm")
