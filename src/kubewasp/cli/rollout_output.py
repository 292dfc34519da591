"""Tables of `kubewasp rollout`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubewasp.cli import output
from kubewasp.k8s.duration import format_duration
from kubewasp.rollout.release import short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Json = Mapping[str, Any]


def show_message(document: Json, *, form: str) -> None:
    if form == "table":
        output.write(f"{output.printable(str(document.get('message', '')))}\n")
    else:
        output.print_document(dict(document), form)


def show(document: Json, *, form: str) -> None:
    if form != "table":
        output.print_document(dict(document), form)
        return
    plugins, guests = document.get("plugins", ()), document.get("guests", ())
    if plugins:
        output.print_table(("PLUGIN", "DIGEST", "STATE", "PODS", "ERRORS", "TIMEOUTS"), map(_row, plugins))
    elif guests:
        _show_guests(guests)
    else:
        output.write("no wasm plugins\n")
    for item in plugins:
        if item.get("trial"):
            output.write(f"\n{output.printable(item['plugin'])}: {_summary(item['trial'])}\n")
            output.print_facts(_facts(item["trial"]))
    bad = document.get("badVersions", ())
    if bad:
        output.write("\n")
        output.print_table(
            ("ROLLED BACK", "DIGEST", "REASON"),
            [(item["plugin"], short(item["digest"]), item["reason"]) for item in bad],
        )
    reloads = document.get("reloads", {})
    output.write(f"\nreloads: {reloads.get('succeeded', 0)} succeeded, {reloads.get('failed', 0)} failed\n")
    if reloads.get("lastFailure"):
        output.write(f"last failure: {output.printable(reloads['lastFailure'])}\n")


def _show_guests(guests: Iterable[Json]) -> None:
    """Guests of a web server."""
    rows = [(item["guest"], short(item["digest"]), item["reloads"]) for item in guests]
    output.print_table(
        ("GUEST", "DIGEST", "RELOADS", "FAILED"),
        [(name, digest, str(counts["succeeded"]), str(counts["failed"])) for name, digest, counts in rows],
        right=("RELOADS", "FAILED"),
    )
    for name, _, counts in rows:
        if counts["lastFailure"]:
            output.write(f"{output.printable(name)}: last failure: {output.printable(counts['lastFailure'])}\n")


def _row(item: Json) -> tuple[str, ...]:
    trial = item.get("trial") or {"stage": ""}
    is_unproven = trial["stage"] == "probation"
    counted, pods = (trial, _progress(trial)) if is_unproven else (item, "")
    state, digest = "probation" if is_unproven else "stable", short(item["digest"]) or "-"
    return item["plugin"], digest, state, pods, str(counted["errors"]), str(counted["timeouts"])


def _summary(trial: Json) -> str:
    version = short(trial["digest"])
    if trial["stage"] == "probation":
        back = short(trial["previous"])
        return f"{version} decides for all pods, {f'the way back is {back}' if back else 'there is no way back'}"
    return f"{version} is in stage {trial['stage']}"


def _facts(trial: Json) -> Iterator[tuple[str, str]]:
    yield "pods", _progress(trial)
    yield "errors", str(trial["errors"])
    yield "timeouts", str(trial["timeouts"])
    if "otherNodes" in trial:
        yield "other node", _share(trial["otherNodes"], trial["pods"])
        yield "other verdicts", _share(trial["otherVerdicts"], trial["nodesJudged"]) + " nodes"
        yield "score distance", f"{trial['scoreDistance']:g} of 100"
        yield "time p50, p99", f"{_times(trial, 'p50Seconds', 'p99Seconds')}"
        yield "in use p50, p99", f"{_times(trial, 'stableP50Seconds', 'stableP99Seconds')}"
        for example in trial.get("examples", ()):
            yield "", example
    else:
        yield "time p50, p99", _times(trial, "p50Seconds", "p99Seconds")


def _progress(trial: Json) -> str:
    return f"{trial['pods']} of {trial['of']}" if trial["of"] else str(trial["pods"])


def _share(count: int, of: int) -> str:
    return f"{count} of {of} ({100 * count / of:.1f}%)" if of else "0"


def _times(trial: Json, *names: str) -> str:
    return ", ".join(format_duration(round(trial[name], 6)) for name in names)
