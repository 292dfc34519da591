"""Projects for tests: scenario files written in a line each."""

from pathlib import Path
from typing import Any

import yaml

from kubewasp.projects import scenario_runner, scenario_tests
from kubewasp.projects.scenario_tests import ScenarioTest
from kubewasp.projects.toolchain import TestResult
from tests.guests.build import example

THREE_NODES = [{"name": f"node-{number}"} for number in (1, 2, 3)]


def written(folder: Path, *documents: Any, file: str = "tests/cases.yaml") -> Path:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    return path


def case(**fields: Any) -> dict[str, Any]:
    """A test with three nodes and one pod, that likes the node of its number."""
    whole = {"name": "case", "cluster": THREE_NODES, "pod": {"name": "web-2"}, "expect": {"node": "node-2"}, **fields}
    return {key: value for key, value in whole.items() if value is not None}


def read_one(folder: Path, document: Any) -> ScenarioTest:
    written(folder, document)
    [[test]] = scenario_tests.read(folder).values()
    return test


def run_one(folder: Path, document: Any, guest: Path | None = None) -> TestResult:
    """On the guest `nodenumber`, or another one; under the name `policy`."""
    return scenario_runner.run(read_one(folder, document), guest or example("nodenumber"), "policy")
