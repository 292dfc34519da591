"""A scheduler's handle for guests that ask for one."""

from collections.abc import Callable

from kubewasp.framework.events import RecordedEvent


class FakeHandle:
    """Knows the pods it is given as waiting, and takes note of what it is asked."""

    def __init__(self, waiting: dict[str, bytes] | None = None, on_get: Callable[[str], None] | None = None) -> None:
        self.waiting = waiting or {}
        self.on_get = on_get
        self.asked: list[str] = []
        self.events: list[RecordedEvent] = []

    def get_waiting_pod(self, uid: str) -> bytes | None:
        self.asked.append(uid)
        if self.on_get is not None:
            self.on_get(uid)
        return self.waiting.get(uid)

    def reject_waiting_pod(self, uid: str) -> bool:
        return self.waiting.pop(uid, None) is not None

    def record_event(self, event: RecordedEvent) -> None:
        self.events.append(event)
