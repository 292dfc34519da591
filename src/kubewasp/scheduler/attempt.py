"""Result of one scheduling attempt, and the interfaces of its listeners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.framework.binding_annotations import Annotation
    from kubewasp.framework.decision_record import DecisionRecord
    from kubewasp.framework.filtering import Objection
    from kubewasp.k8s.pods import Pod


@dataclass(frozen=True, slots=True)
class Attempt:
    """One scheduling attempt of one pod.

    `node` is set for a pod that is bound, is being bound, or waits on Permit. Otherwise `message` is the reason, and
    `objections` are the rejections by node. `annotations` go with the binding. `score` is that of the chosen node, if
    there was a choice.
    """

    pod: Pod
    node: str = ""
    message: str = ""
    is_waiting: bool = False
    is_binding: bool = False
    is_error: bool = False
    nominated_node: str = ""
    victims: tuple[Pod, ...] = ()
    objections: Sequence[Objection] = ()
    feasible: int = 0
    score: int | None = None
    seconds: float = 0.0
    annotations: tuple[Annotation, ...] = ()


class AttemptListener(Protocol):
    """Listener for attempts, and for the outcome of pods that waited or were being bound.

    Called on the scheduler's thread, before the node table changes again.
    """

    def attempted(self, attempt: Attempt) -> None: ...


class DecisionRecorder(Protocol):
    """Selection of the attempts to record."""

    def record_for(self, pod: Pod) -> DecisionRecord | None:
        """The record to fill in the pod's next attempt, or None."""


class NoRecorder:
    """Recorder that records nothing."""

    def record_for(self, pod: Pod) -> None:  # noqa: ARG002 - interface
        return None
