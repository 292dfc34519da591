"""What a plugin may ask of the scheduler that runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kubewasp.framework.events import RecordedEvent


class Handle(Protocol):
    """Implemented by the scheduler; plugins may call it from any thread."""

    def get_waiting_pod(self, uid: str) -> bytes | None:
        """The encoded pod that waits for permission under that uid."""

    def reject_waiting_pod(self, uid: str) -> bool:
        """Whether a pod was waiting under that uid; if so, it is rejected."""

    def record_event(self, event: RecordedEvent) -> None:
        """Takes note of an event about an object."""


class NoScheduler:
    """The handle where no scheduler runs: no pod waits, and events go no further."""

    def get_waiting_pod(self, uid: str) -> bytes | None:  # noqa: ARG002
        return None

    def reject_waiting_pod(self, uid: str) -> bool:  # noqa: ARG002
        return False

    def record_event(self, event: RecordedEvent) -> None:
        pass
