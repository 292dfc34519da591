"""Decision record: the result of each plugin for each node in one scheduling attempt. Optional, off by default."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.framework.plugin import Rows, Scores, Verdicts
    from kubewasp.framework.status import Status


ALL_ROWS: Final = -1


@dataclass(frozen=True, slots=True)
class FilterRecord:
    """The verdicts of one Filter plugin on its rows; None if all are feasible."""

    plugin: str
    rows: Rows
    verdicts: Verdicts | None


@dataclass(frozen=True, slots=True)
class ScoreRecord:
    """The scores of one Score plugin, raw and normalized, and its weight."""

    plugin: str
    weight: int
    raw: Scores
    normalized: Scores


@dataclass(frozen=True, slots=True)
class Sample:
    """Number of feasible nodes that end a search over `nodes` nodes.

    `each_node` are the plugins that an adaptive sample is taken for. Without them, the number is configured, or all.
    """

    nodes: int
    wanted: int
    each_node: Sequence[str] = ()

    @property
    def is_whole(self) -> bool:
        return self.wanted >= self.nodes

    def __str__(self) -> str:
        if self.is_whole:
            return f"all {self.nodes}"
        cause = f"adaptive, for {', '.join(self.each_node)}" if self.each_node else "percentageOfNodesToScore"
        return f"the first {self.wanted} feasible of {self.nodes} ({cause})"


@dataclass(slots=True)
class DecisionRecord:
    """One scheduling attempt of one pod.

    `hints` has the hints of each plugin by row, those for the whole pod by `ALL_ROWS`. `hinted_rows` limits the rows
    that plugins are asked for hints on; None means all rejected ones.
    """

    pre_filter: list[tuple[str, Status]] = field(default_factory=list)
    narrowed: dict[str, frozenset[str]] = field(default_factory=dict)  # plugin -> its PreFilterResult.nodes
    sample: Sample | None = None
    filters: list[FilterRecord] = field(default_factory=list)
    scored_rows: Rows | None = None
    scores: list[ScoreRecord] = field(default_factory=list)
    totals: Scores | None = None
    hints: dict[str, dict[int, tuple[str, ...]]] = field(default_factory=dict)
    hinted_rows: frozenset[int] | None = None
    seconds: dict[str, float] = field(default_factory=dict)
