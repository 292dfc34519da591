"""Fake scheduler handle for guests."""

from collections.abc import Callable

from kubewasp.framework.cluster_events import RecordedEvent


class FakeClock:
    """Clock that is moved by hand."""

    def __init__(self) -> None:
        self.seconds = 10.0

    def now(self) -> float:
        return self.seconds

    def wall(self) -> float:
        return 1_700_000_000.5


class FakeHandle:
    """Fake handle with the given waiting pods and a record of calls."""

    def __init__(self, waiting: dict[str, bytes] | None = None, on_get: Callable[[str], None] | None = None) -> None:
        self.waiting = waiting or {}
        self.on_get = on_get
        self.asked: list[str] = []
        self.decided: list[tuple[str, str, str]] = []
        self.clock = FakeClock()
        self.events: list[RecordedEvent] = []

    def get_waiting_pod(self, uid: str) -> bytes | None:
        self.asked.append(uid)
        if self.on_get is not None:
            self.on_get(uid)
        return self.waiting.get(uid)

    def waiting_pods(self) -> list[bytes]:
        return list(self.waiting.values())

    def allow_waiting_pod(self, uid: str, plugin: str) -> bool:
        self.decided.append((uid, plugin, ""))
        return self.waiting.pop(uid, None) is not None

    def reject_waiting_pod(self, uid: str, plugin: str = "", reason: str = "") -> bool:
        self.decided.append((uid, plugin, reason))
        return self.waiting.pop(uid, None) is not None

    def record_event(self, event: RecordedEvent) -> None:
        self.events.append(event)
