"""A scheduler in a fake cluster, in the form of a process, for the console."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kubewasp.console.attempt_statistics import AttemptStatistics
from kubewasp.console.console_pace import Pace
from kubewasp.console.live_source import LiveSource
from kubewasp.framework.config.model import SchedulerConfig
from kubewasp.k8s.pods import Pod
from kubewasp.rollout.planning import Running
from kubewasp.server.metrics import Metrics
from kubewasp.server.scheduler_metrics import SchedulerMetrics
from tests.live.recording.churn import Churn, RecordedCluster


class LiveCluster:
    """Implements `RunningProcess`. `tell` delivers all changes, `run` schedules all pods."""

    def __init__(self, folder: Path, nodes: int = 6, config: SchedulerConfig | None = None) -> None:
        self.cluster = RecordedCluster(folder, config, is_recorded=False, fails=False)
        self.scheduler = self.cluster.scheduler
        self.statistics = AttemptStatistics(self.cluster.clock)
        self.scheduler.subscribe(self.statistics)
        self.churn = Churn(self.cluster, nodes, priorities=False)
        self.rollout = SimpleNamespace(running=Running(self.cluster.version))
        self.metrics = SchedulerMetrics(Metrics())
        self.pace = Pace(lambda: False)
        self.source = LiveSource(self, self.statistics, self.metrics, self.pace, self.cluster.clock, title="test")
        self.tell()

    def pods(self) -> dict[str, Pod]:
        pods: dict[str, Pod] = self.cluster.tap._parts[1].pods.copy()
        return pods

    def tell(self) -> None:
        while self.cluster._pending:
            self.cluster.deliver(1000)

    def later(self, seconds: float = 2.0) -> None:
        self.cluster.clock.time += seconds

    def pod(self, name: str, cpu: str = "100m", **spec: Any) -> None:
        container = {
            "name": "c",
            "image": "app:1",
            "env": [{"name": "PASSWORD", "value": "hunter2"}],
            "resources": {"requests": {"cpu": cpu}},
        }
        body = {"schedulerName": "default-scheduler", "priority": 0, "containers": [container], **spec}
        self.cluster.put(
            "Pod", {"metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"}, "spec": body}
        )
        self.tell()

    def run(self, *, confirm: bool = True) -> None:
        for _ in range(50):
            self.cluster.step()
        if confirm:
            self.tell()


@contextmanager
def live(folder: Path, **more: Any) -> Iterator[LiveCluster]:
    made = LiveCluster(folder, **more)
    try:
        yield made
    finally:
        made.cluster.close()
