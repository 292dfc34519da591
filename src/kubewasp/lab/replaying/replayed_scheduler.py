"""Replayed scheduler: takes recorded turns in and decides again; its state follows the recording.

Each decision is compared on its own. Where it differs, the recorded one takes effect, so that the next pod meets the
state that it met then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from kubewasp.framework.decision_record import DecisionRecord
from kubewasp.framework.messages import MAX_MESSAGE
from kubewasp.k8s.codec import decode, encode
from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.texts import shortened
from kubewasp.lab.replaying.recorded_places import RecordedPlaces
from kubewasp.lab.replaying.replay_differences import Decision, Difference, DifferenceKind, difference
from kubewasp.lab.replaying.replayed_surroundings import RecordedNotes, ReplayClock, ReplayedClient, ReplayedRandom
from kubewasp.lab.replaying.watched_events import WatchedEvents
from kubewasp.live.mirror import Mirror
from kubewasp.live.recording.entries import DEPARTED, VICTIMS, EntryKind, attempt_document, read_status
from kubewasp.scheduler.checkpoint import restore
from kubewasp.scheduler.composition import Environment
from kubewasp.scheduler.subqueues import ACTIVE, BACKOFF
from kubewasp.wasm.repeatable import Repeatable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kubewasp.k8s.pods import Pod
    from kubewasp.lab.replaying.recording import SegmentHeader
    from kubewasp.lab.replaying.watched_events import ReplayWatcher
    from kubewasp.live.recording.entries import Entry
    from kubewasp.scheduler.attempt import Attempt
    from kubewasp.scheduler.composition import Setup
    from kubewasp.scheduler.cycle import Choice, SchedulingCycle
    from kubewasp.scheduler.queued_pod import QueuedPod
    from kubewasp.scheduler.scheduler import Scheduler

    Document = Mapping[str, Any]

_HINTED_NODES: Final = 20  # as for the sampled decisions of a process


class ReplayListener(Protocol):
    """Listener of a replay."""

    def compared(self, then: Decision, now: Decision) -> None:
        """Two decisions on one attempt."""

    def differs(self, found: Difference) -> None: ...

    def wants_cause(self) -> bool:
        """Whether the cause of a difference is to be found out, which takes further cycles."""

    def explained(self, scheduler: Scheduler, cycle: SchedulingCycle, pod: Pod, then: Decision, now: Decision) -> None:
        """A difference, in the state in which it was decided."""


class ReplayedScheduler:
    """A scheduler without a cluster. Implements `Trial`, `DecisionRecorder` and `AttemptListener` of its own."""

    def __init__(
        self,
        header: SegmentHeader,
        make_setup: Callable[[Repeatable], Setup],
        listener: ReplayListener,
        watch: Callable[[Scheduler], ReplayWatcher] | None = None,
    ) -> None:
        """`watch` gives the watcher of the scheduler made here."""
        self._clock, self._notes = ReplayClock(), RecordedNotes()
        self._clock.set(header.now, header.wall)
        self._client = ReplayedClient(self._notes)
        self._listener = listener
        setup = make_setup(Repeatable(header.seed, self._clock))
        self.scheduler = setup.scheduler(
            Environment(
                clock=self._clock,
                client=self._client,
                recorder=self,
                listeners=[self],
                seed=header.seed,
                make_random=lambda seed: ReplayedRandom(seed, self._notes),
            )
        )
        self.scheduler.install(self.scheduler.profiles.stable, trial=self)
        self._watcher = None if watch is None else watch(self.scheduler)
        events = self.scheduler.events
        intake = events if self._watcher is None else WatchedEvents(events, self._watcher)
        self._mirror = Mirror(intake, self.scheduler.store)
        self._notified: list[Attempt] = []
        self._main: Document = {}
        self._chosen: Decision | None = None
        self._victims: dict[tuple[str, str], Pod] = {}  # by their uid and the preemptor's
        self._pods = RecordedPlaces(self.scheduler, self._mirror)
        self._early: set[str] = set()
        self._given: set[str] = set()  # outcomes of this turn that other threads decided
        self._parts: dict[str, list[bytes]] = {}
        self._actions: dict[EntryKind, Callable[[Entry], None]] = {
            EntryKind.OBJECTS: self._part,
            EntryKind.STATE: self._restore,
            EntryKind.LIST_PART: self._part,
            EntryKind.LISTED: self._listed,
            EntryKind.CHANGED: self._changed,
            EntryKind.GONE: self._gone,
            EntryKind.BOUND: self._bound,
            EntryKind.EVICTED: self._evicted,
            EntryKind.NOT_EVICTED: self._evicted,
            EntryKind.TICK: lambda _entry: self.scheduler.tick(),
            EntryKind.FLUSH: lambda _entry: self.scheduler.flush_stuck(),
            EntryKind.SETTLE: self._settle,
            EntryKind.ATTEMPT: self._attempt,
        }

    def take(self, entry: Entry) -> None:
        """Takes an entry in, and compares what came of it."""
        action = self._actions.get(entry.kind)
        if action is None:
            return
        body = entry.body or {}
        self._clock.set(entry.now, entry.wall)
        self._notes.set(body.get("notes"))
        self._notified = []
        self._given.clear()
        action(entry)
        if body.get("outcomes") or self._notified:
            self._compare(body.get("outcomes", ()), entry.wall)

    # ------------------------------------------------------------------ objects

    def _part(self, entry: Entry) -> None:
        self._parts.setdefault(str(entry.body["kind"]), []).extend(data for data in entry.objects if data)

    def _listed(self, entry: Entry) -> None:
        kind = str(entry.body["kind"])
        self._mirror.replaced(kind, self._parts.pop(kind, []))

    def _changed(self, entry: Entry) -> None:
        for data in entry.objects:
            if data:
                self._mirror.changed(str(entry.body["kind"]), "MODIFIED", data)

    def _gone(self, entry: Entry) -> None:
        namespace, name = entry.body["key"]
        kind = str(entry.body["kind"])
        metadata = {"namespace": namespace, "name": name} if namespace else {"name": name}
        self._mirror.changed(kind, "DELETED", encode(kind, {"metadata": metadata}))

    def _restore(self, entry: Entry) -> None:
        """Restores the checkpoint at the beginning of a segment."""
        parts, self._parts = self._parts, {}
        pods, nodes = parts.pop("Pod", []), iter(parts.pop("Node", []))
        for pair, raw in zip(entry.body["evicting"], parts.pop(VICTIMS, []), strict=True):
            self._victims[tuple(pair)] = self._apart(raw)
        departed = {pod.uid: pod for pod in map(self._apart, parts.pop(DEPARTED, []))}
        for kind, objects in parts.items():
            self._mirror.replaced(kind, objects)
        state, events = entry.body, self.scheduler.events
        for row, name in enumerate(state["rows"]):
            if name is not None:
                self._mirror.changed("Node", "MODIFIED", next(nodes))
            else:
                events.put_node(_placeholder(row))
        for row in state["free"]:
            events.delete_node(_placeholder(row).name)
        found = [self._mirror.restore(data) for data in pods]
        restore(self.scheduler, state, {pod.uid: pod for pod in found}, departed, self._pods.framework)
        self._pods.following.update(state["binding"], (item[0] for item in state["waiting"]))
        if self._watcher is not None:
            self._watcher.restored(self._mirror.pods)
        self._notified.clear()

    # ------------------------------------------------------------------ results of writes

    def _bound(self, entry: Entry) -> None:
        self.scheduler.bound(str(entry.body["uid"]), read_status(entry.body["status"]))

    def _evicted(self, entry: Entry) -> None:
        preemptor = self._known(entry.body["preemptor"])
        evicted = self._victims.pop((str(entry.body["victim"][1]), preemptor.uid), None)
        victim = self._known(entry.body["victim"]) if evicted is None else evicted
        if entry.kind is EntryKind.EVICTED:
            self.scheduler.evicted(victim, preemptor)
        else:
            self.scheduler.not_evicted(victim, preemptor)

    def _known(self, reference: Sequence[str]) -> Pod:
        """A pod that exists; the name and uid alone of any other."""
        key, uid = reference
        found = self._mirror.pods.get(key)
        if found is not None and found.uid == uid:
            return found
        namespace, _, name = key.partition("/")
        manifest = {"metadata": {"namespace": namespace, "name": name, "uid": uid}, "spec": {"containers": []}}
        return self._apart(encode("Pod", manifest))

    def _apart(self, raw: bytes) -> Pod:
        """A pod that is not, or no longer, one of the cluster's."""
        return Mirror(self.scheduler.events, self.scheduler.store).restore(raw)

    def _evicting(self, victim: Pod, preemptor: Pod) -> None:
        self._victims[victim.uid, preemptor.uid] = victim
        self.scheduler.evicting(victim, preemptor)

    # ------------------------------------------------------------------ attempts

    def _settle(self, entry: Entry) -> None:
        """Decisions on waiting pods. Those of other threads are input, not decisions of the plugins."""
        self.scheduler.settle()
        decided = list(self._notified)
        known = {attempt.pod.uid for attempt in decided}
        for outcome in entry.body.get("outcomes", ()):
            if outcome["uid"] not in known:
                self._given.add(str(outcome["uid"]))
                self._pods.follow(outcome, is_forced=True)
        self._notified = decided

    def _attempt(self, entry: Entry) -> None:
        self._main = next((item for item in entry.body.get("outcomes", ()) if item.get("main")), {})
        self._chosen = None
        self.scheduler.settle()
        if self._main:
            queued = self._popped(self._main, entry.wall)
            if queued is not None:
                self.scheduler.schedule(queued)

    def _popped(self, main: Document, wall: float) -> QueuedPod | None:
        """The recorded pod, which may not be the next one of this queue."""
        queue, uid = self.scheduler.queue, str(main["uid"])
        queued = queue.pop()
        self._early.discard(uid)
        if queued is not None and queued.pod.uid == uid:
            return queued
        then = Decision.of(main)
        if queued is not None and queued.pod.uid not in self._early:
            self._early.add(queued.pod.uid)
            other, note = (queued.pod.key, queued.attempts, wall), f"before {main['pod']}"
            self._tell(DifferenceKind.TRIED_EARLIER, other, Decision(), Decision(), note)
        known = queue.get(uid)
        if known is None or known.place != ACTIVE:
            attempt = (str(main["pod"]), _number(main), wall)
            self._tell(DifferenceKind.NOT_READY, attempt, then, Decision(), _reason(known))
        found = queue.take(uid, instead_of=queued)
        if found is None:
            self._pods.following.add(uid)
        return found

    def record_for(self, pod: Pod) -> DecisionRecord | None:  # noqa: ARG002 - interface
        """Implements `DecisionRecorder`: for attempts that were recorded in detail, which calls plugins more often."""
        if not self._notes.next("recorded"):
            return None
        return DecisionRecord(hinted_rows=frozenset(self.scheduler.table.order()[:_HINTED_NODES].tolist()))

    def attempted(self, attempt: Attempt | None = None) -> None:
        """Implements `AttemptListener`, with an attempt, and `Trial`."""
        if attempt is not None:
            self._notified.append(attempt)

    def choose(self, cycle: SchedulingCycle, pod: Pod, record: DecisionRecord | None) -> Choice:
        """The choice of the cycle or, where it differs, the recorded one. Implements `Trial`."""
        main, scheduler = self._main, self.scheduler
        start = scheduler.builder.rotation.start
        nominations = list(scheduler.nominator)
        choice = cycle.choose(pod, record)
        evicted = self._client.take_evicted()
        then, now = Decision.of(main), _decision(choice)
        if not _must_follow(then, choice, now):
            for victim in evicted:
                self._evicting(victim, pod)
            if not choice.node and not choice.is_error:
                choice.rejected_by = frozenset(main.get("rejected_by", ()))
            return choice
        self._chosen = now
        if not main.get("canary") and self._listener.wants_cause():
            after, scheduler.builder.rotation.start = scheduler.builder.rotation.start, start
            self._listener.explained(scheduler, cycle, pod, then, now)
            scheduler.builder.rotation.start = after
            self._client.take_evicted()
        self._force(choice, pod, then, nominations)
        return choice

    def _force(self, choice: Choice, pod: Pod, then: Decision, nominations: Sequence[tuple[str, Pod]]) -> None:
        """Replaces a choice by the recorded one, with its effects on nominations and evictions."""
        main, nominator = self._main, self.scheduler.nominator
        for _, other in list(nominator):
            nominator.withdraw(other.uid)
        for node, other in nominations:
            nominator.nominate(other, node)
        choice.node, choice.message, choice.is_error = then.node, then.message, then.is_error
        choice.rejected_by = frozenset(main.get("rejected_by", ()))
        choice.nominated_node = str(main.get("nomination", ""))
        choice.score, choice.feasible = then.score, then.feasible
        choice.victims = choice.candidates = ()
        victims = self._notes.next("evictions")
        for other in nominator.on(then.nominated) if victims else ():
            if other.priority < pod.priority:
                self.scheduler.handle.withdraw_nomination(other)
        for reference in victims or ():
            self._evicting(self._known(reference), pod)

    # ------------------------------------------------------------------ comparison

    def _compare(self, outcomes: Sequence[Document], wall: float) -> None:
        replayed = {attempt.pod.uid: attempt for attempt in self._notified}
        pods = self._pods
        for outcome in outcomes:
            uid, then, is_main = str(outcome["uid"]), Decision.of(outcome), bool(outcome.get("main"))
            attempt, forced = replayed.pop(uid, None), self._chosen if is_main else None
            now = forced or _of_attempt(attempt)
            if is_main and not outcome.get("canary"):
                self._listener.compared(then, now)
            is_comparable = attempt is not None if is_main else not (uid in pods.following or uid in self._given)
            if is_comparable and not outcome.get("canary"):
                kind = difference(then, now)
                if kind is not None:
                    kind = DifferenceKind.OTHER_END if attempt is None else kind
                    self._tell(kind, (str(outcome["pod"]), _number(outcome), wall), then, now)
            pods.follow(outcome, is_forced=forced is not None)
        for uid, attempt in replayed.items():
            standing = pods.standing.get(uid)
            if standing is not None:
                if uid not in pods.following:
                    then, now = Decision.of(standing), _of_attempt(attempt)
                    self._tell(DifferenceKind.OTHER_END, (attempt.pod.key, 0, wall), then, now)
                pods.follow(standing)

    def _tell(
        self, kind: DifferenceKind, attempt: tuple[str, int, float], then: Decision, now: Decision, note: str = ""
    ) -> None:
        """Tells a difference; `attempt` is the pod, the number of its attempt, and the time."""
        self._listener.differs(Difference(kind, *attempt, then, now, note))


def _must_follow(then: Decision, choice: Choice, now: Decision) -> bool:
    """Whether the recorded decision must replace a choice. A failure after the choice is not one of its own."""
    if choice.node:
        return choice.node != then.node and not (not then.node and then.feasible)
    return difference(then, now) is not None


def _decision(choice: Choice) -> Decision:
    return Decision(
        node=choice.node,
        message=shortened(choice.message, MAX_MESSAGE),
        is_error=choice.is_error,
        nominated=choice.nominated_node or "",
        victims=tuple(victim.key for victim in choice.victims),
        score=choice.score,
        feasible=choice.feasible,
    )


def _of_attempt(attempt: Attempt | None) -> Decision:
    return Decision() if attempt is None else Decision.of(attempt_document(attempt, 0, frozenset()))


def _number(outcome: Document) -> int:
    return int(outcome.get("attempt", 0))


def _reason(queued: QueuedPod | None) -> str:
    """Why a pod would not be tried."""
    if queued is None:
        return "it is not in the queue: no profile takes it, or it is bound already"
    if queued.gated_by:
        return f"gated by {queued.gated_by}: {queued.gate_reason}"
    if queued.place == BACKOFF:
        return "its backoff has not ended"
    return "no event has made it schedulable"


def _placeholder(row: int) -> Any:
    """A node that holds a row while nodes are restored."""
    manifest = {"metadata": {"name": f"kubewasp-row-{row}"}}
    raw = encode("Node", manifest)
    return parse_node(decode("Node", raw), raw)
