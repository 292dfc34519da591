"""Test suites of a project: native tests, the build, and one suite per scenario file."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubewasp.projects import scenario_runner
from kubewasp.projects.project import build, native_tests
from kubewasp.projects.toolchain import BuildError, TestResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.projects.project import Project
    from kubewasp.projects.scenario_tests import ScenarioTest


@dataclass(frozen=True, slots=True)
class Suite:
    """Results of related tests."""

    name: str
    results: tuple[TestResult, ...]

    @property
    def seconds(self) -> float:
        return sum(result.seconds for result in self.results)

    @property
    def failed(self) -> bool:
        return any(result.failure for result in self.results)


def native_suite(project: Project) -> Suite:
    """Tests in the plugin's own language. Tests that cannot run are one failed test."""
    began = time.perf_counter()
    try:
        results = tuple(native_tests(project))
    except BuildError as error:
        results = (TestResult("all tests", time.perf_counter() - began, failure=str(error)),)
    return Suite(f"{project.language.label} tests", results)


def build_suite(project: Project) -> Suite:
    began = time.perf_counter()
    try:
        build(project)
    except BuildError as error:
        return Suite("build", (TestResult(project.wasm_name, time.perf_counter() - began, failure=str(error)),))
    return Suite("build", (TestResult(project.wasm_name, time.perf_counter() - began),))


def scenario_suite(
    project: Project, file: str, tests: Sequence[ScenarioTest], *, is_built: bool, logs: bool = False
) -> Suite:
    """Scenario tests of one file; skipped without a built plugin. `logs` keeps the logs of all tests."""
    if is_built:
        return Suite(file, tuple(scenario_runner.run(test, project.wasm, project.name, logs=logs) for test in tests))
    return Suite(file, tuple(TestResult(test.name, skipped="the plugin was not built") for test in tests))
