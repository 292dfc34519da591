"""Scenario tests of a plugin: model and strict reader of the YAML files in `tests/`. `scenario_runner` runs them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kubewasp.framework.config.fields import Problems, Section, as_json
from kubewasp.k8s import manifests
from kubewasp.k8s.errors import ManifestError, shown
from kubewasp.projects import scenario_expectations
from kubewasp.projects.scenario_objects import ObjectReader
from kubewasp.simulation import scenario
from kubewasp.simulation.manifest_warnings import ManifestWarnings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kubewasp.k8s.manifests import Manifest
    from kubewasp.projects.scenario_expectations import Expectation
    from kubewasp.simulation.loading import ClusterInput
    from kubewasp.simulation.scenario import Scenario

# A Monday, so that results do not depend on the day of the run.
DEFAULT_TIME: Final = "2026-01-05T12:00:00Z"


@dataclass(frozen=True, slots=True)
class ScenarioTest:
    """A cluster, its pods, a timeline, and the expectations by pod (namespace/name).

    A test with `load_error` has no other expectation: the plugin must reject its configuration with this text.
    """

    name: str
    source: str
    config: str
    start_time: float
    cluster: ClusterInput
    timeline: Scenario
    until: float = math.inf
    weight: int = 1
    is_alone: bool = False
    load_error: str | None = None
    expected: Mapping[str, Expectation] = field(default_factory=dict)


def read(folder: Path) -> dict[str, list[ScenarioTest]]:
    """The tests of a project, by file."""
    tests = folder / "tests"
    files = sorted(path for path in tests.glob("*") if path.suffix in (".yaml", ".yml")) if tests.is_dir() else []
    return {f"tests/{path.name}": [_test(document, folder) for document in _documents(path)] for path in files}


def mistakes(tests: Mapping[str, Sequence[ScenarioTest]]) -> ManifestWarnings:
    """Unknown fields and kinds in the objects of all tests."""
    found = ManifestWarnings()
    for given in tests.values():
        for test in given:
            found.add_all(test.cluster.mistakes)
            found.add_all(test.timeline.mistakes)
    return found


def _documents(path: Path) -> list[Manifest]:
    found = manifests.load(path)
    if not found:
        raise ManifestError("", "no test in this file", source=str(path))
    return found


def _test(document: Manifest, folder: Path) -> ScenarioTest:
    problems = Problems()
    body = Section(document.body, "", problems)
    body.check_plain()
    problems.raise_if_any(document.source)
    name = body.text("name")
    if not name:
        problems.required("name", "the behaviour under test")
    reading = ObjectReader(folder, document.source, problems)
    load_error = body.text("loadError") if body.has("loadError") else None
    reading.add_cluster(body.take("cluster"), is_needed=load_error is None)
    pods = reading.add_pods(body)
    steps = {key: value for key in ("steps", "lifetimes") if (value := body.take(key)) is not None}
    expected = _expected(body, pods)
    if load_error is not None and expected:
        problems.add("expect", "not allowed together with loadError")
    if load_error is None and not expected and not body.has("expect"):
        problems.required("expect", "the expected result of each pod")
    test = ScenarioTest(
        name=name,
        source=document.source,
        config=_config(body),
        start_time=_start_time(body),
        cluster=reading.found,
        timeline=_timeline(steps, document.source, folder, problems),
        until=body.seconds("until", math.inf),
        weight=body.integer("weight", 1),
        is_alone=body.boolean("only"),
        load_error=load_error,
        expected=expected,
    )
    if not 1 <= test.weight <= 1_000_000:
        problems.add("weight", f"expected an integer from 1 to 1000000, got {test.weight}")
    if test.until < 0:
        problems.add("until", "expected a time after the start, 0 or more")
    body.refuse_unknown()
    problems.raise_if_any(document.source)
    return test


def _config(body: Section) -> str:
    """Configuration text for the guest. Text is passed unchanged, an object or a list as JSON."""
    value = body.take("config")
    if value is None or isinstance(value, str):
        return value or ""
    if not isinstance(value, dict | list):
        body.problems.unreadable("config", f"expected a text, an object or a list, got {shown(value)}")
        return ""
    return as_json(value)


def _start_time(body: Section) -> float:
    value = body.take("time")
    try:
        return scenario.start_time(DEFAULT_TIME if value is None else value, "time")
    except ManifestError as error:
        body.problems.unreadable(error.path, error.problem)
        return 0.0


def _timeline(steps: Mapping[str, Any], source: str, folder: Path, problems: Problems) -> Scenario:
    try:
        return scenario.parse(steps, source, folder)
    except ManifestError as error:
        if error.source not in ("", source):
            raise
        problems.add(error.path, error.problem)
        return scenario.Scenario(source)


def _expected(body: Section, pods: list[str]) -> dict[str, Expectation]:
    """Expectations by pod. With a single `pod`, `expect` has its fields; with `pods`, a section per name."""
    if not body.has("expect"):
        return {}
    expect = body.section("expect")
    if body.has("pod"):
        return {pods[0] if pods else "": scenario_expectations.read(expect)}
    found = {}
    for name in body.mapping("expect"):
        key = name if "/" in name else f"default/{name}"
        if key in found:
            body.problems.add(expect.at(name), "duplicate pod")
        found[key] = scenario_expectations.read(expect.section(name))
    if not found and not expect.problems:
        body.problems.add("expect", "expected a section per pod, by its name")
    return found
