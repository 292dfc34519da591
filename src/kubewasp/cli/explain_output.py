"""Output of `kubewasp explain`: tables of one decision, or of recorded ones, from their JSON form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kubewasp.cli import output

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MOST: Final = 25
_MOST_NAMES: Final = 3


def print_explanation(found: Mapping[str, Any]) -> None:
    """Prints `Explanation.as_dict()`, or a recorded decision, which has additional fields."""
    output.print_facts(_facts(found))
    nodes = found["nodes"]
    feasible = [node for node in nodes if node["feasible"]]
    _print_feasible([node for node in feasible if node["in_sample"]], found["weights"])
    if outside := sum(not node["in_sample"] for node in feasible):
        output.write(f"{outside} more are feasible and outside of the sample\n")
    _print_rejected([node for node in nodes if not node["feasible"]])
    _print_candidates(found["candidates"])


def print_recorded(found: Mapping[str, Any]) -> None:
    """Prints the recorded decisions of a pod, oldest first. Failed attempts outside the sample have no node table."""
    sampled = found["decisions"]
    decisions = sorted([*sampled, *(one for one in found["failed"] if one not in sampled)], key=_time)
    for place, decision in enumerate(decisions):
        if place:
            output.write("\n")
        print_explanation(decision)


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
    return facts


def _print_feasible(nodes: Sequence[Mapping[str, Any]], weights: Mapping[str, int]) -> None:
    if not nodes:
        return
    output.write("\n")
    if weights:
        plugins = [name for name in weights if any(node["scores"].get(name) for node in nodes)]
        rows = [
            (node["name"], str(node["total"]), ", ".join(f"{name} {node['scores'][name]}" for name in plugins))
            for node in nodes[:_MOST]
        ]
        output.print_table(("FEASIBLE", "TOTAL", "SCORE × WEIGHT"), rows, right=("TOTAL",))
    else:
        output.print_table(("FEASIBLE",), [(node["name"],) for node in nodes[:_MOST]])
    _print_more(nodes)


def _print_rejected(nodes: Sequence[Mapping[str, Any]]) -> None:
    """Nodes with the same rejection and the same needs share a row."""
    if not nodes:
        return
    output.write("\n")
    groups: dict[tuple[str, str, str], list[str]] = {}
    for node in nodes:
        verdict = (node["rejected_by"] or "", ", ".join(node["reasons"]), "; ".join(node["hints"]))
        groups.setdefault(verdict, []).append(node["name"])
    rows = [(_names(names), *verdict) for verdict, names in groups.items()][:_MOST]
    if any(node["hints"] for node in nodes):
        output.print_table(("REJECTED", "BY", "REASON", "WOULD NEED"), rows)
    else:
        output.print_table(("REJECTED", "BY", "REASON"), [row[:3] for row in rows])
    left = sum(map(len, list(groups.values())[_MOST:]))
    if left:
        output.write(f"… {left} more nodes\n")


def _names(names: Sequence[str]) -> str:
    """One below the other: node names are long, and the hints need the width."""
    more = len(names) - _MOST_NAMES
    return "\n".join([*names[:_MOST_NAMES], *([f"and {more} more"] if more > 0 else [])])


def _print_candidates(candidates: Sequence[Mapping[str, Any]]) -> None:
    if not candidates:
        return
    output.write("\n")
    rows = [
        (candidate["node"], ", ".join(candidate["victims"]), str(candidate["budget_violations"] or ""))
        for candidate in candidates[:_MOST]
    ]
    output.print_table(("PREEMPTION ON", "VICTIMS", "PDB VIOLATIONS"), rows)
    _print_more(candidates)


def _print_more(nodes: Sequence[object]) -> None:
    if len(nodes) > _MOST:
        output.write(f"… {len(nodes) - _MOST} more nodes\n")
