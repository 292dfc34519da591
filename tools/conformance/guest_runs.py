"""Runs of conformance cases: loads a guest of a checkout, calls its hooks, and writes each answer in one line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubewasp.errors import KubewaspError
from kubewasp.framework.cluster_events import ALL_EVENTS
from kubewasp.framework.handle import DetachedHandle
from kubewasp.framework.status import Code
from kubewasp.k8s import manifests
from kubewasp.k8s.codec import encode
from kubewasp.state.node_objects import Nodes
from kubewasp.wasm.guest import Guest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from kubewasp.framework.cluster_events import ClusterEvent
    from kubewasp.framework.status import Status
    from kubewasp.wasm.guest_cycle import GuestCycle
    from kubewasp.wasm.hook_results import Trace
    from tools.conformance.cases import Case, Object

_LOAD = "load"
_LABELS = {int(code): code.label for code in Code}


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one call beside the expected one, by the sources of that project."""

    case: Case
    call: str
    expected: str
    given: str

    @property
    def is_expected(self) -> bool:
        return _matches(self.given, self.expected)

    @property
    def is_known(self) -> bool:
        """Whether the answer differs from the expected one in a known way."""
        known = self.case.known.get(self.call)
        return not self.is_expected and known is not None and _matches(self.given, known)


def _matches(given: str, expected: str) -> bool:
    return given.startswith(expected[:-1]) if expected.endswith("…") else given == expected


def run(case: Case, checkout: Path) -> Iterator[Answer]:
    """The answers of a case; one to `load` if the guest does not load, or should not."""
    try:
        waiting = _Waiting(encode("Pod", _object(case.pod, checkout))) if case.waits else DetachedHandle()
        guest = Guest.load(
            checkout / f"{case.guest}.wasm", name="wasm", config=case.config, args=case.args, handle=waiting
        )
    except KubewaspError as error:
        yield Answer(case, _LOAD, case.load_error or "no error", _first_line(str(error)))
        return
    if case.load_error:
        yield Answer(case, _LOAD, case.load_error, "no error")
        return
    pod = encode("Pod", _object(case.pod, checkout))
    nodes = Nodes(_node(node, checkout) for node in case.nodes)
    for _ in range(case.cycles):
        with guest.cycle(pod, nodes) as cycle:
            for name, value in case.globals.items():
                cycle.runner.set_guest_global(name, value)
            for call, expected in case.calls.items():
                hook, _, node = call.partition(" ")
                yield Answer(case, call, expected, _called(cycle, case, hook, node))


def uncovered(checkout: Path, cases: Sequence[Case]) -> list[str]:
    """Guests in the checkout without a case."""
    covered = {f"{case.guest}.wasm" for case in cases}
    return sorted(
        path for found in checkout.rglob("*.wasm") if (path := found.relative_to(checkout).as_posix()) not in covered
    )


class _Waiting(DetachedHandle):
    """A scheduler in which the pod of the case waits on Permit."""

    def __init__(self, pod: bytes) -> None:
        super().__init__()
        self._pod = pod

    def get_waiting_pod(self, uid: str) -> bytes | None:  # noqa: ARG002 - one pod
        return self._pod

    def reject_waiting_pod(self, uid: str, plugin: str = "", reason: str = "") -> bool:  # noqa: ARG002 - one pod
        return True


def _called(cycle: GuestCycle, case: Case, hook: str, node: str) -> str:
    """The answer of a hook in one line: status, then what else it answered."""
    if hook == "enqueue":
        return f"events {_events(cycle.guest.cluster_events)}"  # called when the guest was loaded
    if hook == "filter":
        filtered = cycle.filter([node])
        return _answer(filtered.status(0), filtered.trace)
    if hook == "score":
        scored = cycle.score([node])
        return _answer(scored.status(0), scored.trace, f"score {int(scored.scores[0])}")
    if hook == "prefilter":
        prefiltered = cycle.prefilter()
        names = prefiltered.node_names
        return _answer(prefiltered.status, prefiltered.trace, *([f"nodes {', '.join(names)}"] if names else []))
    if hook == "postfilter":
        post = cycle.postfilter(case.statuses)
        nominated = [f"nominates {post.nominated_node}"] if post.nominated_node else []
        return _answer(post.status, post.trace, *nominated, f"mode {post.nominating_mode}")
    if hook == "normalizescore":
        normalized = cycle.normalize_score(case.scores)
        scores = ", ".join(f"{name}={score}" for name, score in normalized.scores.items())
        return _answer(normalized.status, normalized.trace, f"scores {scores or '-'}")
    if hook == "permit":
        permit = cycle.permit(node)
        return _answer(permit.status, permit.trace, f"timeout {permit.timeout_ms} ms")
    if hook in ("addpod", "removepod"):
        change = cycle.add_pod if hook == "addpod" else cycle.remove_pod
        changed = change(case.target, node)
        return _answer(changed.status, changed.trace)
    plain = getattr(cycle, hook)(*([node] if node else []))
    return _answer(plain.status, plain.trace)


def _answer(status: Status, trace: Trace, *more: str) -> str:
    code = int(status.code)
    label = _LABELS.get(code, f"code {code}")
    reason = f": {_first_line(status.reason)}" if status.reason and code else ""
    recorded = [f"event {event.type}: {event.reason}" for event in trace.events]
    return "; ".join([label + reason, *more, *recorded])


def _events(events: Sequence[ClusterEvent]) -> str:
    if tuple(events) == ALL_EVENTS:
        return "any"
    return ", ".join(f"{event.resource} {'/'.join(event.actions)}" for event in events)


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


def _object(given: Object | str, checkout: Path) -> Object:
    if not isinstance(given, str):
        return given
    (found,) = manifests.load(checkout / given)
    return found.body


def _node(given: Object | str, checkout: Path) -> Object:
    """A manifest, a path of one, or a name."""
    if isinstance(given, str) and not given.endswith(".yaml"):
        return {"metadata": {"name": given}}
    return _object(given, checkout)
