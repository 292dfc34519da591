"""`kubewasp run` as a process, and what tests ask of it: its configuration, events, conditions."""

import sys
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import yaml

from kubewasp.testbed.client import ApiError, Object
from kubewasp.testbed.cluster import Cluster, pod
from kubewasp.testbed.process import Server
from kubewasp.testbed.servers import ADMIN, ApiServer
from kubewasp.testbed.waiting import wait_until

NAME: Final = "kubewasp"
EVENTS: Final = "events.k8s.io/v1"
SOON: Final = 60.0  # seconds; the machine may be busy
_UNLIMITED: Final = 100_000


class Kubewasp(Server):
    """The scheduler under test. `config` has fields of KubeSchedulerConfiguration; client limits are far away.

    Without `profiles` there is one, for pods of the scheduler `kubewasp`. It is up when it knows the cluster: it then
    schedules, or waits to be the leader.
    """

    name = NAME

    def __init__(
        self,
        folder: Path,
        api: ApiServer,
        *,
        user: str = ADMIN,
        profiles: Sequence[Mapping[str, Any]] = (),
        config: Mapping[str, Any] | None = None,
        flags: Sequence[str] = (),
    ) -> None:
        super().__init__(folder)
        self._flags = flags
        connection = {"kubeconfig": str(api.kubeconfig(user)), "qps": _UNLIMITED, "burst": _UNLIMITED}
        content = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "clientConnection": connection,
            "profiles": list(profiles) or [profile()],
            **(config or {}),
        }
        if "clientConnection" in (config or {}):
            content["clientConnection"] = connection | dict((config or {})["clientConnection"])
        self._config = folder / "config.yaml"
        self._config.write_text(yaml.safe_dump(content, sort_keys=False))
        self._log_start = 0

    def command(self) -> Sequence[str | Path]:
        return (
            Path(sys.executable).with_name("kubewasp"),
            "run",
            f"--port={self.port}",
            "--config",
            self._config,
            *self._flags,
        )

    def start(self) -> Self:
        self._log_start = len(self.log_text)
        return super().start()

    def ready(self) -> bool:
        return "the cluster is known" in self.log_text[self._log_start :]

    @property
    def log_text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def get(self, path: str) -> str:
        """What it answers about itself; an error if the answer is one."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
            return str(answer.read().decode())

    @property
    def healthy(self) -> bool:
        return self.get("/healthz") == "ok"

    def metric(self, name: str) -> int:
        """The sum of a metric's samples."""
        samples = (line.rpartition(" ") for line in self.get("/metrics").splitlines())
        return sum(int(float(value)) for key, _, value in samples if key.partition("{")[0] == name)

    @property
    def leads(self) -> bool:
        return " schedules" in self.log_text[self._log_start :]

    def signal(self, number: int) -> None:
        if self._process is None:
            raise RuntimeError(f"{self.name} is not running")
        self._process.send_signal(number)

    def wait_ended(self, timeout: float = SOON) -> int:
        """Its exit code."""
        if self._process is None:
            raise RuntimeError(f"{self.name} is not running")
        return self._process.wait(timeout)


StartKubewasp = Callable[..., Kubewasp]


def profile(name: str = NAME, guests: Mapping[str, Path] | None = None, **fields: Any) -> Object:
    """A profile with wasm plugins, by name, at all extension points they have; `fields` takes more of a profile."""
    wasm = guests or {}
    enabled = [{"name": plugin, "weight": 1000} for plugin in wasm]
    args = [{"name": plugin, "args": {"guestURL": f"file://{guest}"}} for plugin, guest in wasm.items()]
    fields = {**fields, "pluginConfig": [*args, *fields.get("pluginConfig", ())]}
    fields.setdefault("plugins", {"multiPoint": {"enabled": enabled}})
    return {"schedulerName": name, **fields}


def ours(name: str, **fields: Any) -> Object:
    """A pod that kubewasp schedules."""
    return pod(name, scheduler=fields.pop("scheduler", NAME), **fields)


def condition(found: Object, kind: str = "PodScheduled") -> Object:
    """That condition of a pod; empty if it has none."""
    conditions = found["status"].get("conditions", [])
    return next((one for one in conditions if one["type"] == kind), {})


def events_of(cluster: Cluster, name: str, reason: str = "") -> list[Object]:
    """The events about a pod, in the order in which they were recorded."""
    found = [
        event
        for event in cluster.list_all("Event", version=EVENTS)
        if event["regarding"].get("name") == name and reason in ("", event["reason"])
    ]
    return sorted(found, key=lambda event: str(event["eventTime"]))


def wait_events(cluster: Cluster, name: str, reason: str, count: int = 1) -> list[Object]:
    def enough() -> list[Object]:
        found = events_of(cluster, name, reason)
        return found if len(found) >= count else []

    return wait_until(enough, SOON, f"{count} {reason} events of {name}", cluster.describe)


def wait_node(cluster: Cluster, name: str, timeout: float = SOON) -> str:
    """The node of a pod, as soon as it has one."""
    return wait_until(
        lambda: str(cluster.get("Pod", name)["spec"].get("nodeName", "")),
        timeout,
        f"{name} to be bound",
        cluster.describe,
    )


def wait_unschedulable(cluster: Cluster, name: str, text: str = "") -> Object:
    """The condition of a pod that has no node, as soon as it says so, with that text."""

    def told() -> Object:
        found = condition(cluster.get("Pod", name))
        return found if found.get("status") == "False" and text in found.get("message", "") else {}

    return wait_until(told, SOON, f"{name} to be unschedulable: {text}", cluster.describe)


def is_gone(cluster: Cluster, name: str) -> bool:
    try:
        cluster.get("Pod", name)
    except ApiError as error:
        if error.status != 404:
            raise
        return True
    return False
