"""Expectations of a scenario test: model, reader, comparison with the outcome, and the failure text."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from kubewasp.k8s.errors import shown
from kubewasp.wasm.hook_failures import without_prints

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kubewasp.explain.explanation import Explanation, NodeExplanation
    from kubewasp.framework.config.fields import Section

_MOST_NODES = 20


@dataclass(frozen=True, slots=True)
class Expectation:
    """Expected result of one pod. None means no expectation."""

    nodes: tuple[str, ...] | None = None
    waiting: bool = False
    rejected: str | None = None
    error: str | None = None
    order: tuple[str, ...] | None = None
    scores: Mapping[str, int] | None = None
    filtered: Mapping[str, str] | None = None
    annotations: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one pod. `node` is its node, or the assumed node of a pod that waits at Permit."""

    key: str
    node: str = ""
    is_waiting: bool = False
    is_error: bool = False
    message: str = ""
    explanation: Explanation | None = field(default=None, repr=False)
    annotations: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.node:
            return f"{self.node} (waiting for permission)" if self.is_waiting else self.node
        return f"{'an error' if self.is_error else 'no node'}: {self.message}" if self.message else "no node"


@dataclass(frozen=True, slots=True)
class Difference:
    """One unmet expectation."""

    what: str
    expected: str
    got: str


# ---------------------------------------------------------------------- reading


def read(section: Section) -> Expectation:
    """An expectation; mistakes are added to the problems of the section."""
    found = Expectation(
        nodes=_nodes(section),
        waiting=section.boolean("waiting"),
        rejected=section.text("rejected") if section.has("rejected") else None,
        error=section.text("error") if section.has("error") else None,
        order=tuple(section.texts("order")) if section.has("order") else None,
        scores=_scores(section),
        filtered=_texts(section, "filtered"),
        annotations=_texts(section, "annotations"),
    )
    section.refuse_unknown()
    ends = {
        "node": found.nodes is not None or found.waiting,
        "rejected": found.rejected is not None,
        "error": found.error is not None,
    }
    if sum(ends.values()) > 1:
        given = ", ".join(name for name, is_given in ends.items() if is_given)
        section.problems.add(section.path, f"expected one of node, rejected and error, got {given}")
    if found == Expectation():
        text = "expected at least one of node, waiting, rejected, error, order, scores, filtered and annotations"
        section.problems.add(section.path, text)
    return found


def _nodes(section: Section) -> tuple[str, ...] | None:
    value = section.take("node")
    if value is None:
        return None
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) and name for name in names):
        section.problems.unreadable(
            section.at("node"), f"expected a node's name or a list of names, got {shown(value)}"
        )
        return None
    return tuple(names)


def _scores(section: Section) -> dict[str, int] | None:
    if not section.has("scores"):
        return None
    inner = section.section("scores")
    found = {}
    for name, value in section.mapping("scores").items():
        if value is None:
            section.problems.unreadable(inner.at(name), "expected an integer, got null")
        found[name] = inner.integer(name, bits=64)
    return found


def _texts(section: Section, field_name: str) -> dict[str, str] | None:
    if not section.has(field_name):
        return None
    inner = section.section(field_name)
    return {name: inner.text(name) for name in section.mapping(field_name)}


# ---------------------------------------------------------------------- comparing


def compare(expected: Expectation, outcome: Outcome, plugin: str) -> list[Difference]:
    """Unmet expectations. Scores and rejections are those of this plugin."""
    nodes = {} if outcome.explanation is None else {node.name: node for node in outcome.explanation.nodes}
    return [
        *_placement(expected, outcome),
        *_unordered(expected.order or (), nodes, plugin),
        *_misjudged(expected.scores or {}, nodes, plugin),
        *_annotated(expected.annotations or {}, outcome.annotations),
        *(_wrongly_filtered(expected.filtered, nodes, plugin) if expected.filtered is not None else ()),
    ]


def _placement(expected: Expectation, outcome: Outcome) -> Iterator[Difference]:
    got = str(outcome)
    if expected.waiting and not outcome.is_waiting:
        yield Difference("waiting", "waiting for permission", got)
    elif expected.nodes is not None:
        is_placed = bool(outcome.node) and outcome.is_waiting == expected.waiting
        if not is_placed or outcome.node not in expected.nodes:
            yield Difference("node", " or ".join(expected.nodes), got)
    if expected.rejected is not None:
        is_rejected = not outcome.node and not outcome.is_error
        if not is_rejected or expected.rejected not in outcome.message:
            yield Difference("rejected", _with_text("no node", expected.rejected), got)
    if expected.error is not None and (not outcome.is_error or expected.error not in outcome.message):
        yield Difference("error", _with_text("an error", expected.error), got)


def _annotated(expected: Mapping[str, str], got: Mapping[str, str]) -> Iterator[Difference]:
    for key, value in expected.items():
        if got.get(key) != value:
            yield Difference(f"annotation {key}", _quoted(value), _quoted(got[key]) if key in got else "none")


def _with_text(what: str, text: str) -> str:
    return f"{what}, with {_quoted(text)} in the message" if text else what


def _unordered(order: tuple[str, ...], nodes: Mapping[str, NodeExplanation], plugin: str) -> Iterator[Difference]:
    if not order:
        return
    found = {name: score for name, node in nodes.items() if (score := node.normalized.get(plugin)) is not None}
    ranked = sorted(found, key=lambda name: (-found[name], name))
    got = " > ".join(f"{name} ({found[name]})" for name in ranked) or "no scores"
    listed = [found[name] for name in order if name in found]
    is_falling = len(listed) == len(order) and all(higher > lower for higher, lower in pairwise(listed))
    if not is_falling or any(score > listed[-1] for name, score in found.items() if name not in order):
        yield Difference("order", " > ".join(order), got)


def _misjudged(scores: Mapping[str, int], nodes: Mapping[str, NodeExplanation], plugin: str) -> Iterator[Difference]:
    for name, score in scores.items():
        got = nodes[name].normalized.get(plugin) if name in nodes else None
        if got != score:
            yield Difference(f"score of {name}", str(score), str(got) if got is not None else _unscored(name, nodes))


def _unscored(name: str, nodes: Mapping[str, NodeExplanation]) -> str:
    if name not in nodes:
        return "no such node" if nodes else "no scheduling attempt"
    node = nodes[name]
    return f"no score: {_rejection(node)}" if not node.is_feasible else "no score"


def _wrongly_filtered(
    filtered: Mapping[str, str], nodes: Mapping[str, NodeExplanation], plugin: str
) -> Iterator[Difference]:
    for name in dict.fromkeys([*filtered, *nodes]):
        status = nodes[name].objections.get(plugin) if name in nodes else None
        if name in filtered:
            reason = filtered[name]
            wanted = f"rejected with {_quoted(reason)}" if reason else "rejected"
            if status is None:
                yield Difference(f"filter of {name}", wanted, "passed" if name in nodes else _unscored(name, nodes))
            elif reason not in status.reason:
                yield Difference(f"filter of {name}", wanted, f"rejected with {_quoted(status.reason)}")
        elif status is not None:
            yield Difference(f"filter of {name}", "passed", f"rejected with {_quoted(status.reason)}")


# ---------------------------------------------------------------------- failure text


def failure_text(outcome: Outcome, differences: list[Difference], plugin: str) -> str:
    """The differences of a pod, and below them a table of the verdicts per node."""
    lines = [f"pod {outcome.key}"]
    width = max(len(item.what) for item in differences)
    for item in differences:
        lines.append(f"  {item.what:{width}}  expected  {item.expected}")
        got, *more = item.got.splitlines()
        lines.append(f"  {'':{width}}  got       {got}")
        lines += [f"  {'':{width}}            {line}" for line in more]
    if outcome.explanation is not None:
        lines += ["", *(f"  {line}" for line in _table(outcome.explanation, plugin))]
    return "\n".join(lines)


def _table(explanation: Explanation, plugin: str) -> list[str]:
    rows = [("NODE", plugin, "OTHERS", "TOTAL", "")]
    for node in explanation.nodes[:_MOST_NODES]:
        if node.total is None:
            rows.append((node.name, "-", "-", "-", "" if node.is_feasible else _rejection(node)))
            continue
        own = node.weighted.get(plugin, 0)
        weight = explanation.weights.get(plugin, 1)
        score = str(node.normalized.get(plugin, "-")) + (f" ×{weight}" if weight != 1 else "")
        rows.append((node.name, score, str(node.total - own), str(node.total), ""))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]) for row in rows
    ]
    left = len(explanation.nodes) - _MOST_NODES
    return [*(line.rstrip() for line in lines), *([f"… {left} more nodes"] if left > 0 else [])]


def _rejection(node: NodeExplanation) -> str:
    # Of an error with a stack trace the first line: the whole text is that of the pod.
    reasons = ", ".join(without_prints(reason).partition("\n")[0] for reason in node.reasons)
    return f"rejected by {node.rejected_by}: {reasons}" if node.rejected_by else node.skipped


def _quoted(text: str) -> str:
    return f'"{text}"'
