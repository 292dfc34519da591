"""Output of `kubewasp explain`: tables of one decision, or of recorded ones, from their JSON form."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from kubewasp.cli import output
from kubewasp.cli.folding import FEW, in_short, node_pool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MOST: Final = 10


def print_explanation(found: Mapping[str, Any], *, is_all: bool = False) -> None:
    """Prints `Explanation.as_dict()`, or a recorded decision, which has additional fields."""
    output.print_facts(_facts(found))
    nodes = found["nodes"]
    # Small clusters have a line per node; of large ones, equal lines are folded.
    is_folded = not is_all and len(nodes) > _MOST
    feasible = [node for node in nodes if node["feasible"]]
    _print_feasible([node for node in feasible if node["in_sample"]], found["weights"], is_folded=is_folded)
    if outside := sum(not node["in_sample"] for node in feasible):
        output.write(f"{outside:,} more are feasible and outside of the sample\n")
    _print_rejected([node for node in nodes if not node["feasible"]], is_folded=is_folded)
    _print_candidates(found["candidates"], is_folded=is_folded)


def print_recorded(found: Mapping[str, Any], *, is_all: bool = False) -> None:
    """Prints the recorded decisions of a pod, oldest first. Failed attempts outside the sample have no node table."""
    sampled = found["decisions"]
    decisions = sorted([*sampled, *(one for one in found["failed"] if one not in sampled)], key=_time)
    for place, decision in enumerate(decisions):
        if place:
            output.write("\n")
        print_explanation(decision, is_all=is_all)


def _time(decision: Mapping[str, Any]) -> str:
    return str(decision["time"])


def _facts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    facts = [("pod", found["pod"])]
    if "time" in found:
        facts.append(("time", found["time"]))
        facts.append(("result", f"{found['result']}, {found['feasible']} of {found['all_nodes']} nodes fit"))
    facts += [("note", note) for note in found["notes"]]
    if found["sample"] and not found["sample"].startswith("all "):
        facts.append(("scored", found["sample"]))
    facts.append(("node", found["node"] or "none"))
    if found["message"]:
        facts.append(("message", found["message"]))
    if found["nominated_node"]:
        evicting = f", evicting {', '.join(found['victims'])}" if found["victims"] else ""
        facts.append(("nominated", found["nominated_node"] + evicting))
    for item in found.get("annotations") or ():
        facts.append(("annotation", f"{item['key']}: {in_short(item['value'])} ({item['plugin']})"))
    return facts


def _print_feasible(nodes: Sequence[Mapping[str, Any]], weights: Mapping[str, int], *, is_folded: bool) -> None:
    if not nodes:
        return
    output.write("\n")
    given = {name: [node["scores"].get(name) or 0 for node in nodes] for name in weights}
    # Scores that are the same for all nodes decide nothing: once below the table. Of the others, the largest
    # difference comes first.
    spans = {name: max(scores) - min(scores) for name, scores in given.items() if any(scores)}
    shared = [name for name, span in spans.items() if len(nodes) > 1 and not span]
    plugins = sorted((name for name in spans if name not in shared), key=lambda name: -spans[name])
    rows = [
        (node["name"], str(node["total"]), ", ".join(f"{name} {given[name][row]}" for name in plugins))
        for row, node in enumerate(nodes)
    ]
    if weights:
        _print_nodes(("FEASIBLE", "TOTAL", "SCORE × WEIGHT"), rows, is_folded=is_folded, right=("TOTAL",))
    else:
        _print_nodes(("FEASIBLE",), [row[:1] for row in rows], is_folded=is_folded)
    if shared:
        scores = ", ".join(f"{name} {nodes[0]['scores'][name]}" for name in shared)
        output.print_facts([("same for all", scores)])


def _print_rejected(nodes: Sequence[Mapping[str, Any]], *, is_folded: bool) -> None:
    if not nodes:
        return
    output.write("\n")
    rows = [
        (
            node["name"],
            node["rejected_by"] or "",
            ", ".join(map(in_short, node["reasons"])),
            "; ".join(map(in_short, node["hints"])),
        )
        for node in nodes
    ]
    if any(node["hints"] for node in nodes):
        _print_nodes(("REJECTED", "BY", "REASON", "WOULD NEED"), rows, is_folded=is_folded)
    else:
        _print_nodes(("REJECTED", "BY", "REASON"), [row[:3] for row in rows], is_folded=is_folded)


def _print_candidates(candidates: Sequence[Mapping[str, Any]], *, is_folded: bool) -> None:
    if not candidates:
        return
    output.write("\n")
    rows = [
        (candidate["node"], ", ".join(candidate["victims"]), str(candidate["budget_violations"] or ""))
        for candidate in candidates
    ]
    _print_nodes(("PREEMPTION ON", "VICTIMS", "PDB VIOLATIONS"), rows, is_folded=is_folded)


def _print_nodes(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, is_folded: bool, right: Sequence[str] = ()
) -> None:
    """A row per node, or equal rows folded and the last ones left out."""
    shown = _folded(rows) if is_folded else rows
    most = _MOST if is_folded else len(shown)
    output.print_table(columns, shown[:most], right=right)
    if len(shown) > most:
        output.write(f"… {len(shown) - most:,} more lines; --all shows every node\n")


def _folded(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Rows that differ in their first cell only as one, in the order of the first."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for first, *others in rows:
        groups.setdefault(tuple(others), []).append(first)
    return [(_nodes(names), *others) for others, names in groups.items()]


def _nodes(names: Sequence[str]) -> str:
    """All of few names; of many, those of each pool, or the first and the number of the others."""
    if len(names) <= FEW:
        return "\n".join(names)
    pools = Counter(map(node_pool, names))
    if len(pools) <= FEW:
        return "\n".join(f"{pool} ({count:,})" if count > 1 else _only(names, pool) for pool, count in pools.items())
    return "\n".join((*names[:2], f"… {len(names) - 2:,} more"))


def _only(names: Sequence[str], pool: str) -> str:
    return next(name for name in names if node_pool(name) == pool)
