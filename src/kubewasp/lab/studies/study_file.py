"""Documents of sweeps and searches: reading what both have, strictly and with all problems at once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kubewasp.framework.config.changes import MAX_WEIGHT
from kubewasp.framework.config.fields import Problems, Section, as_json
from kubewasp.framework.config.model import ConfigError, Problem
from kubewasp.framework.config.reading import read_document
from kubewasp.k8s.errors import described, shown
from kubewasp.k8s.spelling import did_you_mean, nearest
from kubewasp.lab.experiments.candidates import CandidateSource
from kubewasp.lab.experiments.measures import MEASURES, describe
from kubewasp.lab.studies.study_inputs import read_source
from kubewasp.scheduler.configuration import AddedPlugin
from kubewasp.wasm.source import default_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from kubewasp.input_file import InputFile
    from kubewasp.lab.studies.study_inputs import InputSource

API_VERSION: Final = "kubewasp.dev/v1"
MAX_RUNS: Final = 100_000
MAX_LISTED: Final = 1000  # inputs, configurations
MAX_SEED: Final = 2**63 - 1
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True)
class StudyFile:
    """An open document: its root, and the folder at which its paths start."""

    root: Section
    folder: Path

    @property
    def problems(self) -> Problems:
        return self.root.problems


def open_document(path: InputFile, kind: str) -> StudyFile:
    """The document of a file, which must be of this kind."""
    body = read_document(path, kind)
    if not isinstance(body, dict):
        raise ConfigError(
            [Problem("", f"expected an object of kind {kind}, found {described(body)}")], source=str(path)
        )
    root = Section(body, "", Problems())
    version = root.take("apiVersion")
    if version is not None and version != API_VERSION:
        root.problems.add("apiVersion", f"expected {API_VERSION}, got {shown(version)}")
    found = root.take("kind")
    if found != kind:
        problem = f"missing: add `kind: {kind}`" if found is None else f"expected {kind}, got {shown(found)}"
        root.problems.add("kind", problem)
    root.problems.raise_if_any(str(path))
    root.take("metadata")
    return StudyFile(root, path.parent)


def read_inputs(file: StudyFile) -> tuple[InputSource, ...]:
    sections = file.root.sections("inputs")
    if not sections:
        file.problems.required("inputs", "at least one")
    found = tuple(read_source(section, file.folder) for section in _bounded(sections, "inputs", file.problems))
    check_names((source.name for source in found), "inputs", file.problems)
    return found


def read_configurations(file: StudyFile) -> tuple[CandidateSource, ...]:
    sections = file.root.sections("configurations")
    if not sections:
        file.problems.required("configurations", "at least one, such as `- name: default`")
    bounded = _bounded(sections, "configurations", file.problems)
    found = tuple(read_candidate(section, file, section.text("name")) for section in bounded)
    check_names((source.name for source in found), "configurations", file.problems)
    return found


def read_candidate(section: Section, file: StudyFile, name: str) -> CandidateSource:
    """A configuration: a file or the default one, plugins, weights and arguments."""
    section.take("name")
    config = file.folder / section.text("config") if section.has("config") else None
    section.take("config")
    plugins: list[AddedPlugin] = []
    configs: dict[str, str] = {}
    for item in section.sections("plugins"):
        plugin = _read_plugin(item, file)
        plugins.append(plugin)
        if item.has("config"):
            given = item.take("config")
            configs[plugin.name] = given if isinstance(given, str) else as_json(given)
        item.take("config")
        item.refuse_unknown()
    weights_section = section.section("weights")
    weights = {name: _weight(weights_section, name) for name in weights_section.names()}
    args = _read_args(section.section("args"))
    section.refuse_unknown()
    return CandidateSource(name, config, tuple(plugins), configs, weights, args)


def _read_plugin(section: Section, file: StudyFile) -> AddedPlugin:
    guest, name, weight = section.text("guest"), section.text("name"), _weight(section, "weight")
    if not guest:
        section.problems.required(section.at("guest"), "a .wasm or .wat file, a URL or a plugin project")
        return AddedPlugin("", "")
    address = guest if "://" in guest else str(file.folder / guest)
    return AddedPlugin(name or default_name(address), address, weight)


def _weight(section: Section, name: str) -> int:
    found = section.integer(name)
    if not 0 <= found <= MAX_WEIGHT:
        section.problems.invalid(section.at(name), found, "must not be negative")
        return 0
    return found


def _read_args(section: Section) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in section.names():
        value = section.take(name)
        if isinstance(value, str):
            found[name] = value
        else:
            found[name] = Section(value, section.at(name), section.problems).everything()
    return found


def read_seeds(section: Section, name: str, default: Sequence[int] = (0,)) -> tuple[int, ...]:
    """Seeds: a list, or their number. Those of a number are 0, 1, 2 …"""
    value, problems, path = section.take(name), section.problems, section.at(name)
    if value is None:
        return tuple(default)
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MAX_RUNS:
            problems.invalid(path, value if abs(value) < 2**53 else 0, f"must be from 1 to {MAX_RUNS}, or a list")
            return ()
        return tuple(range(value))
    if not isinstance(value, list) or not value:
        problems.unreadable(path, f"expected a number of seeds or a list of them, got {shown(value)}")
        return ()
    for index, seed in enumerate(value):
        if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed <= MAX_SEED:
            problems.unreadable(f"{path}[{index}]", f"expected a seed from 0 to 2**63-1, got {shown(seed)}")
            return ()
    if len(set(value)) < len(value):
        problems.invalid(path, value[:20], "seeds must differ")
    return tuple(value)


def read_measures(section: Section, name: str) -> tuple[str, ...]:
    """Names of measures; `requested.end.*` are all that begin so."""
    found = section.texts(name)
    for index, text in enumerate(found):
        check_measure(text, f"{section.at(name)}[{index}]", section.problems)
    return tuple(found)


def check_measure(text: str, path: str, problems: Problems, *, is_pattern: bool = True) -> None:
    if is_pattern and text.endswith("*"):
        start = text[:-1]
        if any(measure.name.startswith(start) or start.startswith(measure.name) for measure in MEASURES):
            return
    else:
        try:
            describe(text)
        except KeyError:
            pass
        else:
            return
    names = [measure.name for measure in MEASURES]
    problems.unreadable(path, f"no measure {shown(text)}{did_you_mean(nearest(text, names))}")


def check_names(names: Iterable[str], path: str, problems: Problems) -> None:
    seen: set[str] = set()
    for index, name in enumerate(names):
        place = f"{path}[{index}].name"
        if not name:
            problems.required(place)
        elif not _NAME.fullmatch(name):
            problems.invalid(place, name, "must be letters, digits, dots, dashes and underscores, at most 63")
        elif name in seen:
            problems.duplicate(place, name)
        seen.add(name)


def _bounded(sections: list[Section], path: str, problems: Problems) -> list[Section]:
    if len(sections) > MAX_LISTED:
        problems.unreadable(path, f"at most {MAX_LISTED} of them, got {len(sections)}")
    return sections[:MAX_LISTED]
