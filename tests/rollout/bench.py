"""A scheduler with reloads in a fake cluster, without threads: staging and hand-over run where they are asked for."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kubewasp.framework.config.model import SchedulerConfig
from kubewasp.framework.config.reading import read_config
from kubewasp.framework.observer import NO_OBSERVER
from kubewasp.rollout.controller import RolloutController
from kubewasp.rollout.ledger import Ledger
from kubewasp.rollout.planning import Running
from kubewasp.rollout.reload_source import ReloadSource
from kubewasp.rollout.reloader import Reloader
from kubewasp.rollout.rollout_events import RolloutEvent
from kubewasp.rollout.rollout_service import load_version
from kubewasp.rollout.rollout_status import RolloutHistory, document
from kubewasp.rollout.staging import Stager
from kubewasp.scheduler.shadow import Comparison
from kubewasp.wasm.guest_log import LOGGER_SINK
from kubewasp.wasm.plugin import WasmPlugin
from tests.rollout.policies import wasm, write
from tests.scheduler.building import HEAD, Cluster

PLUGIN = "policy"


class Told:
    """Records everything. Implements `RolloutListener`."""

    def __init__(self) -> None:
        self.events: list[RolloutEvent] = []
        self.swaps: list[float] = []
        self.comparisons: list[Comparison] = []
        self.canaries = 0

    def happened(self, event: RolloutEvent) -> None:
        self.events.append(event)

    def swapped(self, seconds: float) -> None:
        self.swaps.append(seconds)

    def compared(self, trial: object, found: Comparison) -> None:
        self.comparisons.append(found)

    def canary_decides(self, trial: object) -> None:
        self.canaries += 1

    @property
    def reasons(self) -> list[str]:
        return [event.reason for event in self.events]


class Bench:
    """`guest` is the file of the plugin `policy`; `fields` are those of a profile."""

    def __init__(
        self,
        folder: Path,
        content: bytes | None = None,
        *,
        rollout: Mapping[str, Any] | None = None,
        nodes: str = "abc",
        ledger: Path | None = None,
        profile: Mapping[str, Any] | None = None,
        **args: Any,
    ) -> None:
        self.guest = folder / "policy.wasm"
        write(self.guest, content or wasm("v1"))
        self.args = {"guestURL": str(self.guest), **args} | ({} if rollout is None else {"rollout": dict(rollout)})
        self.profile = dict(profile or {})
        self.document: dict[str, Any] = {}
        self.ledger = Ledger(ledger)
        self.told = Told()
        self.asked = 0
        self.background: list[Callable[[], None]] = []
        self.stager = Stager(self.ledger, NO_OBSERVER, LOGGER_SINK)
        self.source = ReloadSource(self.read, "", self.ledger)
        running = load_version(self.source, self.read(), self.stager, NO_OBSERVER)
        setup = running.version.setup
        self.cluster = Cluster(setup.frameworks, setup.tuning)
        self.history = RolloutHistory(lambda: 0.0)
        self.controller = RolloutController(
            self.cluster.scheduler,
            running,
            observer=NO_OBSERVER,
            ledger=self.ledger,
            background=self.background.append,
            reload=self._ask,
            listeners=[self.told, self.history],
        )
        self.reloader = Reloader(
            read=self.read,
            stager=self.stager,
            controller=self.controller,
            post=lambda action: action(),
            listeners=[self.told, self.history],
        )
        for name in nodes:
            self.cluster.node(f"node-{name}")

    def _ask(self) -> None:
        self.asked += 1

    def read(self) -> SchedulerConfig:
        enabled = {"multiPoint": {"enabled": [{"name": PLUGIN, "weight": 1000}]}}
        config = [{"name": PLUGIN, "args": self.args}, *self.profile.get("pluginConfig", ())]
        profile = {"plugins": enabled, **self.profile, "pluginConfig": config}
        return read_config({**HEAD, "profiles": [profile], **self.document})

    @property
    def running(self) -> Running:
        return self.controller.running

    def work(self) -> None:
        """Does what the thread that stages would do."""
        while self.background:
            self.background.pop(0)()

    def reload(self, content: bytes | None = None) -> str:
        """Reloads with another guest, or none; returns the failure."""
        if content is not None:
            write(self.guest, content)
        failure = self.reloader.reload("test")
        self.work()
        return failure

    def pods(self, count: int, prefix: str = "pod", **more: Any) -> list[str]:
        """Schedules new pods; returns their nodes."""
        made = [self.cluster.pod(f"{prefix}-{number}", **more) for number in range(count)]
        self.cluster.all(most=10 * count + 100)
        self.work()
        return [self.cluster.where(pod) for pod in made]

    def plugin(self) -> WasmPlugin:
        found = self.cluster.scheduler.frameworks["default-scheduler"].plugins[PLUGIN]
        assert isinstance(found, WasmPlugin)
        return found

    def status(self) -> dict[str, Any]:
        [found] = document(self.running, self.history, self.ledger.all_bad())["plugins"]
        return dict(found)
