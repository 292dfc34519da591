"""Scenario tests of a plugin: YAML files in its `tests` folder, read strictly. `scenario_run` runs them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kubewasp.framework.config.fields import Problems, Section, as_json
from kubewasp.k8s import manifests
from kubewasp.k8s.errors import ManifestError, shown
from kubewasp.k8s.objects import name_of, namespace_of
from kubewasp.projects import expectations
from kubewasp.projects.short_forms import expand
from kubewasp.simulation import loading as cluster_input
from kubewasp.simulation import scenario

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from kubewasp.k8s.manifests import Manifest
    from kubewasp.projects.expectations import Expectation
    from kubewasp.simulation.scenario import Scenario

# A Monday: tests must not depend on the day they are run.
DEFAULT_TIME: Final = "2026-01-05T12:00:00Z"
CLUSTER: Final = "cluster.yaml"


@dataclass(frozen=True, slots=True)
class ScenarioTest:
    """A cluster, pods, a timeline, and what is expected of which pod (namespace/name).

    With `load_error`, nothing but this is expected: that the plugin cannot be started with the configuration.
    """

    name: str
    source: str
    config: str
    start_time: float
    cluster: cluster_input.ClusterInput
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


def _documents(path: Path) -> list[Manifest]:
    found = manifests.load(path)
    if not found:
        raise ManifestError("", "there is no test in this file", source=str(path))
    return found


def _test(document: Manifest, folder: Path) -> ScenarioTest:
    problems = Problems()
    body = Section(document.body, "", problems)
    body.check_plain()
    problems.raise_if_any(document.source)
    name = body.text("name")
    if not name:
        problems.required("name", "a test says what it is about")
    reading = _Objects(folder, document.source, problems)
    load_error = body.text("loadError") if body.has("loadError") else None
    reading.add_cluster(body.take("cluster"), is_needed=load_error is None)
    pods = reading.add_pods(body)
    steps = {key: value for key in ("steps", "lifetimes") if (value := body.take(key)) is not None}
    expected = _expected(body, pods)
    if load_error is not None and expected:
        problems.add("expect", "where a loadError is expected, nothing else can be")
    if load_error is None and not expected and not body.has("expect"):
        problems.required("expect", "what should become of the pod?")
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
        problems.add("until", "expected a time after the beginning")
    body.refuse_unknown()
    problems.raise_if_any(document.source)
    return test


def _config(body: Section) -> str:
    """A text as it is; anything else is given to the guest as JSON."""
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
    """With one `pod`, what is expected of it; else, what is expected by the name of the pod."""
    if not body.has("expect"):
        return {}
    expect = body.section("expect")
    if body.has("pod"):
        return {pods[0] if pods else "": expectations.read(expect)}
    found = {}
    for name in body.mapping("expect"):
        key = name if "/" in name else f"default/{name}"
        if key in found:
            body.problems.add(expect.at(name), "this pod stands here twice")
        found[key] = expectations.read(expect.section(name))
    if not found and not expect.problems:
        body.problems.add("expect", "expected what should become of each pod, by its name")
    return found


class _Objects:
    """The objects of one test: those of its cluster and its pods."""

    def __init__(self, folder: Path, source: str, problems: Problems) -> None:
        self.found = cluster_input.ClusterInput()
        self._folder = folder
        self._source = source
        self._problems = problems

    def add_cluster(self, value: Any, *, is_needed: bool) -> None:
        """Files and objects; the project's own cluster if nothing is said."""
        if value is None:
            if (self._folder / CLUSTER).exists():
                value = CLUSTER
            elif is_needed:
                self._problems.required("cluster", f"files, or nodes written here; or a {CLUSTER} in the project")
                return
        for manifest in self._manifests(value, "cluster", "Node"):
            cluster_input.add(self.found, manifest)

    def add_pods(self, body: Section) -> list[str]:
        """Their names, as namespace/name."""
        field = "pod" if body.has("pod") else "pods"
        value, other = body.take(field), body.take("pods")
        if field == "pod" and other is not None:
            self._problems.add("pods", "give one pod, or pods, not both")
        names = []
        for manifest in self._manifests(value, field, "Pod"):
            if manifest.kind != "Pod":
                text = f"expected a pod, got kind {shown(manifest.kind)}; what makes pods belongs to the cluster"
                self._problems.add(field, text)
                continue
            cluster_input.add(self.found, manifest)
            names.append(f"{namespace_of(manifest.body)}/{name_of(manifest.body)}")
        if field == "pod" and len(names) != 1 and not self._problems:
            self._problems.add("pod", f"expected one pod, found {len(names)}; use `pods` for several")
        return names

    def _manifests(self, value: Any, path: str, kind: str) -> Iterator[Manifest]:
        if value is None:
            return
        for number, item in enumerate(value if isinstance(value, list) else [value]):
            place = f"{path}[{number}]" if isinstance(value, list) else path
            if isinstance(item, str) and item:
                yield from self._of_file(item, place)
            elif isinstance(item, dict):
                body = expand(item, kind, place, self._problems)
                if body and not self._problems:
                    yield from manifests.taken_apart(body, f"{self._source}: {place}")
            else:
                self._problems.add(place, f"expected a file or an object, got {shown(item)}")

    def _of_file(self, name: str, place: str) -> Iterator[Manifest]:
        path = self._folder / name
        if not path.exists():
            self._problems.add(place, f"there is no {name} in {self._folder}")
            return
        for file in cluster_input.files(path):
            yield from manifests.load(file)
