"""kubewasp's decisions about the same objects, with the results of each plugin."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.framework.config.reading import read_config
from kubewasp.framework.decision_record import DecisionRecord
from kubewasp.framework.handle import ReadOnlyClient
from kubewasp.framework.plugin import Candidate
from kubewasp.k8s.codec import encode
from kubewasp.k8s.pods import PodParser
from kubewasp.live.mirror import Mirror
from kubewasp.scheduler.composition import Environment, set_up
from tests.e2e.parity.probing import Key
from tests.e2e.parity.reference import Scored
from tests.e2e.parity.settings import Profile
from tests.e2e.parity.world import VERSIONS
from tools.testbed.client import Object

_HEAD: Final = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


@dataclass(slots=True)
class Decision(Scored):
    """Decision with its message and preemption candidates."""

    message: str = ""
    is_error: bool = False
    nominated: str = ""
    candidates: Sequence[Candidate] = ()
    is_narrowed: bool = False  # to nodes that the pod names

    @property
    def victims(self) -> set[Key]:
        found = next((item for item in self.candidates if item.node == self.nominated), None)
        return keys_of(found) if found else set()


def keys_of(candidate: Candidate) -> set[Key]:
    return {(victim.namespace, victim.name) for victim in candidate.victims}


class LookingScheduler:
    """A scheduler that knows the listed objects, and decides about pods without doing anything."""

    def __init__(self, listed: Mapping[str, Sequence[Object]], profile: Profile) -> None:
        setup = set_up(read_config({**_HEAD, "profiles": [profile]}))
        self.scheduler = setup.scheduler(Environment(clock=SYSTEM_CLOCK, client=ReadOnlyClient()))
        mirror = Mirror(self.scheduler.events, self.scheduler.store)
        for kind in sorted(VERSIONS, key=lambda kind: kind == "Pod"):
            mirror.replaced(kind, [encode(kind, found) for found in listed[kind]])
        self._parser = PodParser()

    def decide(self, probe: Object) -> Decision:
        pod = self._parser.parse(probe, encode("Pod", probe))
        record = DecisionRecord()
        choice = self.scheduler.evaluate(pod, record)
        found = Decision(
            chosen=choice.node,
            message=choice.message,
            is_error=choice.is_error,
            nominated=choice.nominated_node or "",
            candidates=choice.candidates,
            is_narrowed=bool(record.narrowed),
        )
        if choice.feasible > 1 and record.scored_rows is not None and record.totals is not None:
            table = self.scheduler.table
            for place, row in enumerate(record.scored_rows.tolist()):
                node = table.node(row).name
                found.totals[node] = int(record.totals[place])
                found.scores[node] = {
                    score.plugin: int(score.normalized[place]) * score.weight for score in record.scores
                }
        return found
