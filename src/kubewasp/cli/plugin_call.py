"""`kubewasp plugin call`: single hook calls on one instance of a guest."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import typer

from kubewasp.cli import output
from kubewasp.framework.cluster_events import RESOURCES, Action
from kubewasp.framework.status import Code, Status
from kubewasp.k8s import manifests, sample_cluster
from kubewasp.k8s.codec import encode
from kubewasp.k8s.errors import ManifestError
from kubewasp.simulation.manifest_warnings import ManifestWarnings
from kubewasp.state.node_objects import Nodes
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.hooks import ANNOTATING_HOOKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kubewasp.framework.cluster_events import ClusterEvent, RecordedEvent
    from kubewasp.input_file import InputFile, StandardInput
    from kubewasp.wasm.guest_cycle import GuestCycle
    from kubewasp.wasm.hook_results import HookResult, NodeStatuses, Trace
    from kubewasp.wasm.limits import Limits

CODES = {code.label: int(code) for code in Code}
_EACH_NODE = ("filter", "score")
_ON_NODE = ("reserve", "unreserve", "permit", "prebind", "bind", "postbind")


@dataclass(frozen=True, slots=True)
class Request:
    """The command line."""

    guest: str | StandardInput
    hooks: tuple[str, ...]
    pod: InputFile | None
    nodes: tuple[InputFile, ...]
    target_pod: InputFile | None
    config: str
    args: tuple[str, ...]
    log_severity: int
    node_statuses: Mapping[str, int]
    scores: Mapping[str, int]
    globals: Mapping[str, int]
    limits: Limits
    sha256: str | None
    strict: bool


@dataclass(slots=True)
class Call:
    """One call with its result; `extra` has the fields specific to the hook."""

    hook: str
    node: str | None
    status: Status
    trace: Trace
    extra: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {
            "hook": self.hook,
            "node": self.node,
            "code": int(self.status.code),
            "status": self.status.label,
            "reason": self.status.reason,
            "hint": self.status.hint,
            **self.extra,
            "logs": [line.text for line in self.trace.logs],
            "recorded_events": [_event(event) for event in self.trace.events],
            "output": self.trace.output,
            "duration_us": round(self.trace.seconds * 1e6, 3),
        }


def run(request: Request, *, form: str) -> None:
    mistakes = ManifestWarnings()
    pod = _one_object(request.pod, "Pod", mistakes) or encode("Pod", sample_cluster.pod())
    target = _one_object(request.target_pod, "Pod", mistakes) or encode("Pod", sample_cluster.pod("db-1"))
    nodes = _nodes(request.nodes, mistakes)
    if request.strict:
        mistakes.raise_if_any()
    for warning in mistakes.texts():
        output.warn(warning)
    guest = Guest.load(
        request.guest,
        sha256=request.sha256,
        limits=request.limits,
        config=request.config,
        args=request.args,
        log_severity=request.log_severity,
    )
    for hook in request.hooks:
        if hook not in guest.hooks:
            message = f"{guest.name} does not export {hook}; exported: {', '.join(guest.hooks)}"
            raise typer.BadParameter(message, param_hint="HOOK")
    calls = list(Session(guest, request, pod, target, nodes).calls())
    if form != "table":
        output.print_document([call.as_dict() for call in calls], form)
    else:
        _print(calls, guest)


class Session:
    """Calls on one shared instance. A failed call ends the instance; the next call gets a new one."""

    def __init__(self, guest: Guest, request: Request, pod: bytes, target: bytes, nodes: Nodes) -> None:
        self._guest = guest
        self._request = request
        self._pod = pod
        self._target = target
        self._nodes = nodes
        self._made: list[Call] = []
        self._cycle = self._new_cycle()

    def calls(self) -> Iterator[Call]:
        for hook in self._request.hooks:
            for node in self._nodes_for(hook):
                if self._cycle.failed:
                    self._renew()
                call = self._call(hook, node)
                self._made.append(call)
                yield call
        self._cycle.close()

    def _new_cycle(self) -> GuestCycle:
        cycle = self._guest.cycle(self._pod, self._nodes)
        for name, value in self._request.globals.items():
            cycle.runner.set_guest_global(name, value)
        return cycle

    def _renew(self) -> None:
        """Starts a new cycle on a new instance, with prefilter if it was called before."""
        self._cycle.close()
        self._cycle = self._new_cycle()
        if any(call.hook == "prefilter" for call in self._made):
            self._cycle.prefilter()

    def _nodes_for(self, hook: str) -> Sequence[str | None]:
        if hook in _EACH_NODE:
            return tuple(self._nodes)
        if hook in _ON_NODE or hook in ("addpod", "removepod"):
            return (next(iter(self._nodes)),)
        return (None,)

    def _call(self, hook: str, node: str | None) -> Call:
        cycle, name = self._cycle, node or ""
        if hook == "enqueue":
            events, result = cycle.enqueue()
            return _call(hook, node, result, events=[_cluster_event(event) for event in events])
        if hook == "prefilter":
            prefiltered = cycle.prefilter()
            names = None if prefiltered.node_names is None else list(prefiltered.node_names)
            return _call(hook, node, prefiltered, node_names=names)
        if hook in ("addpod", "removepod"):
            change = cycle.add_pod if hook == "addpod" else cycle.remove_pod
            return _call(hook, node, change(self._target, name))
        if hook == "filter":
            return _first(hook, node, cycle.filter([name]))
        if hook == "postfilter":
            post = cycle.postfilter(self._request.node_statuses or self._answers("filter", "code"))
            return _call(hook, node, post, nominated_node=post.nominated_node, nominating_mode=post.nominating_mode)
        if hook == "prescore":
            rejected = {name for name, code in self._answers("filter", "code").items() if code}
            return _call(hook, node, cycle.prescore([name for name in self._nodes if name not in rejected]))
        if hook == "score":
            scored = cycle.score([name])
            return _first(hook, node, scored, score=int(scored.scores[0]))
        if hook == "normalizescore":
            scores = self._request.scores or self._answers("score", "score") or dict.fromkeys(self._nodes, 0)
            normalized = cycle.normalize_score(scores)
            return _call(hook, node, normalized, normalized_scores=normalized.scores)
        if hook == "signpod":
            signed = cycle.signpods([self._pod])
            return _call(hook, node, signed, signature=f"{signed.signatures[0]:016x}" if any(signed.signatures) else "")
        if hook == "preenqueue":
            return _call(hook, node, cycle.preenqueue())
        if hook == "queuesort":
            sorted_by = cycle.queuesort(time.time())
            return _call(hook, node, sorted_by, sort_key=sorted_by.key.hex())
        if hook == "queueinghint":
            hint = cycle.queueinghint("Pod", Action.ADD, b"", self._target)
            return _call(hook, node, hint, queue=hint.queue)
        if hook == "permit":
            permit = cycle.permit(name)
            return _call(hook, node, permit, timeout_ms=permit.timeout_ms)
        if hook in ANNOTATING_HOOKS:
            annotated = cycle.reserve(name) if hook == "reserve" else cycle.prebind(name)
            return _call(hook, node, annotated, annotations=dict(annotated.annotations))
        return _call(hook, node, getattr(cycle, hook)(name))

    def _answers(self, hook: str, key: str) -> dict[str, int]:
        """Results of an earlier hook, by node."""
        return {call.node: call.as_dict()[key] for call in self._made if call.hook == hook and call.node is not None}


def _call(hook: str, node: str | None, result: HookResult, **extra: Any) -> Call:
    return Call(hook, node, result.status, result.trace, extra)


def _first(hook: str, node: str | None, statuses: NodeStatuses, **extra: Any) -> Call:
    return Call(hook, node, statuses.status(0), statuses.trace, extra)


def _cluster_event(event: ClusterEvent) -> dict[str, Any]:
    return {
        "resource": event.resource,
        "resource_id": RESOURCES.index(event.resource),
        "action": event.action,
        "actions": list(event.actions),
    }


def _event(event: RecordedEvent) -> Mapping[str, Any]:
    return event.as_dict()


def _one_object(path: InputFile | None, kind: str, mistakes: ManifestWarnings) -> bytes:
    """The encoded object of a file; empty without a file."""
    if path is None:
        return b""
    found = manifests.load(path)
    if len(found) != 1:
        raise ManifestError("", f"expected one {kind}, found {len(found)} objects", source=str(path))
    return _encode(found[0], kind, mistakes)


def _nodes(paths: Sequence[InputFile], mistakes: ManifestWarnings) -> Nodes:
    if not paths:
        return Nodes(sample_cluster.nodes())
    nodes = Nodes()
    for path in paths:
        for manifest in manifests.load(path):
            encoded = _encode(manifest, "Node", mistakes)
            name = (manifest.body.get("metadata") or {}).get("name")
            if not name:
                raise ManifestError("metadata.name", "a node needs a name", source=manifest.source)
            if name in nodes:
                raise ManifestError("metadata.name", f"duplicate node {name!r}", source=manifest.source)
            nodes.put_encoded(name, encoded)
    if not nodes:
        raise ManifestError("", "no node found", source=", ".join(str(path) for path in paths))
    return nodes


def _encode(manifest: manifests.Manifest, kind: str, mistakes: ManifestWarnings) -> bytes:
    body = manifests.expect_kind(manifest, kind)
    try:
        encoded = encode(kind, body)
    except ManifestError as error:
        raise error.at(manifest.source) from None
    mistakes.examine(manifest)
    return encoded


def _print(calls: Sequence[Call], guest: Guest) -> None:
    rows = [
        (
            call.hook,
            call.node or "-",
            call.status.label,
            _answer(call),
            f"{call.trace.seconds * 1e6:.1f}",
            _reason(call),
        )
        for call in calls
    ]
    output.print_table(("HOOK", "NODE", "STATUS", "ANSWER", "µs", "REASON"), rows, right=("µs",))
    lines = [(guest.name, line.letter, line.text) for line in guest.start_logs]
    lines += [(call.hook, line.letter, line.text) for call in calls for line in call.trace.logs]
    if lines:
        output.console().print()
        output.print_table(("LOGGED BY", "SEVERITY", "LINE"), lines)
    events = [(call.hook, e.type, e.reason, e.note) for call in calls for e in call.trace.events]
    if events:
        output.console().print()
        output.print_table(("EVENT BY", "TYPE", "REASON", "NOTE"), events)
    printed = [(call.hook, call.trace.output) for call in calls if call.trace.output]
    if printed:
        output.console().print()
        output.print_table(("PRINTED BY", "TEXT"), printed)


def _reason(call: Call) -> str:
    code = int(call.status.code)
    return call.status.reason if code in CODES.values() else f"(code {code}) {call.status.reason}".strip()


def _answer(call: Call) -> str:
    extra = call.extra
    if call.hook == "score":
        return str(extra["score"])
    if call.hook == "permit":
        return f"{extra['timeout_ms']} ms"
    if call.hook == "postfilter":
        mode = {0: "noop", 1: "override"}.get(extra["nominating_mode"], str(extra["nominating_mode"]))
        return f"{extra['nominated_node'] or '-'} ({mode})"
    if call.hook == "prefilter":
        return "all nodes" if extra["node_names"] is None else f"only {_few(extra['node_names'])}"
    if call.hook == "enqueue":
        return _few([event["resource"] for event in extra["events"]]) or "all events"
    if call.hook == "queuesort":
        return f"key {extra['sort_key'] or '(empty)'}"
    if call.hook in ANNOTATING_HOOKS:
        return _few([f"{key}={value}" for key, value in extra["annotations"].items()])
    if call.hook == "queueinghint":
        return "queue" if extra["queue"] else "skip"
    if call.hook == "signpod":
        return f"signature {extra['signature'] or '(none)'}"
    if call.hook == "normalizescore":
        return _few([f"{name}={score}" for name, score in extra["normalized_scores"].items()])
    return ""


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" … {len(names) - 4} more" if len(names) > 4 else "")
