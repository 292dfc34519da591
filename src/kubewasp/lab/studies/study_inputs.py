"""Inputs of sweeps and searches: files named in a document, read once, with a digest of their content."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kubewasp.input_file import HeldFile
from kubewasp.lab.experiments.experiment import LabInput
from kubewasp.lab.studies.fixed_candidates import digest_of
from kubewasp.lab.traces import trace_map
from kubewasp.lab.traces.trace_errors import TraceError
from kubewasp.lab.traces.trace_map import PRESETS
from kubewasp.lab.traces.trace_simulation import Inflation, TraceOptions
from kubewasp.simulation import loading
from kubewasp.simulation.simulator import read_input

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.framework.config.fields import Section

_DEFAULT_MAP: Final = "generic"
_DEFAULT_RESOURCE: Final = "cpu"
_MAX_RATIO: Final = 1000


@dataclass(frozen=True, slots=True)
class TraceSource:
    """A trace of a document. `options` has paths and an empty map: the map is a preset or a file."""

    pods: Path
    nodes: Path | None
    mapping: str | Path
    options: dict[str, Any]


@dataclass(frozen=True, slots=True)
class InputSource:
    """An input of a document: manifests, folders and snapshots, with a scenario or a trace."""

    name: str
    manifests: tuple[Path, ...] = ()
    scenario: Path | None = None
    trace: TraceSource | None = None

    def load(self) -> StudyInput:
        """Reads all files. Errors are those of their readers."""
        files = [HeldFile.of(file) for path in self.manifests for file in loading.files(path)]
        timeline = HeldFile.of(self.scenario) if self.scenario is not None else None
        objects = read_input(files, timeline=timeline, start_time=None if timeline is not None else 0.0)
        if objects.timeline is not None and objects.timeline.start_time is None:
            objects = replace(objects, start_time=0.0)
        content: list[Any] = [_digests(files), _digests([timeline] if timeline is not None else [])]
        if self.trace is None:
            return StudyInput(LabInput(objects), digest_of(content))
        options, digest = _loaded(self.trace)
        return StudyInput(LabInput(objects, options), digest_of([*content, digest]))


@dataclass(frozen=True, slots=True)
class StudyInput:
    """An input that was read, and the digest of its content."""

    given: LabInput
    digest: str


def _loaded(source: TraceSource) -> tuple[TraceOptions, Any]:
    mapping = source.mapping
    if isinstance(mapping, Path):
        file = HeldFile.of(mapping)
        found, meaning = trace_map.load(file), _digests([file])
    else:
        found, meaning = PRESETS[mapping], [mapping]
    pods = _held(source.pods)
    nodes = _held(source.nodes) if source.nodes is not None else None
    options = TraceOptions(pods, found, nodes, **source.options)
    changes = {name: repr(value) for name, value in source.options.items()}
    return options, [_digests([pods]), _digests([nodes] if nodes is not None else []), meaning, changes]


def _held(path: Path) -> HeldFile:
    try:
        return HeldFile.of(path)
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from None


def _digests(files: Sequence[HeldFile]) -> list[str]:
    return [hashlib.sha256(file.content).hexdigest() for file in files]


# ---------------------------------------------------------------------- reading


def read_source(section: Section, folder: Path) -> InputSource:
    """The input in a section of a document; paths start at the folder."""
    found = InputSource(
        section.text("name"),
        tuple(folder / text for text in section.texts("manifests")),
        folder / section.text("scenario") if section.has("scenario") else None,
        _read_trace(section.section("trace"), folder) if section.has("trace") else None,
    )
    section.take("scenario")
    section.take("trace")
    section.refuse_unknown()
    if found.trace is None and not found.manifests:
        section.problems.required(section.at("manifests"), "or a trace")
    if found.trace is not None and found.scenario is not None:
        section.problems.forbidden(section.at("scenario"), "a trace has its own timeline")
    return found


def _read_trace(section: Section, folder: Path) -> TraceSource:
    pods, mapping = section.text("pods"), section.text("map", _DEFAULT_MAP)
    if not pods:
        section.problems.required(section.at("pods"), "a CSV or Parquet file with a row per pod")
    options: dict[str, Any] = {
        "skip": section.boolean("skipBadRows"),
        "sort": section.boolean("sort"),
        "shuffle": section.boolean("shuffle"),
        "shuffle_nodes": section.boolean("shuffleNodes"),
        "inflation": _read_inflation(section.section("inflate")) if section.has("inflate") else None,
        "until": _duration(section, "until"),
        "patience": _duration(section, "patience"),
        "stays": section.boolean("stay"),
    }
    nodes = folder / section.text("nodes") if section.has("nodes") else None
    section.take("nodes")
    section.take("inflate")
    section.refuse_unknown()
    return TraceSource(folder / pods, nodes, mapping if mapping in PRESETS else folder / mapping, options)


def _duration(section: Section, name: str) -> float:
    found = section.seconds(name, math.inf)
    if found < 0:
        section.problems.invalid(section.at(name), found, "must not be negative")
    return found


def _read_inflation(section: Section) -> Inflation:
    ratio = section.number("ratio")
    if not 0 < ratio <= _MAX_RATIO:
        section.problems.invalid(section.at("ratio"), ratio, f"must be above 0, and at most {_MAX_RATIO}")
    found = Inflation(ratio, section.text("resource", _DEFAULT_RESOURCE))
    section.refuse_unknown()
    return found
