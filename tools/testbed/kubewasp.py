"""`kubewasp run` as a process, and a profile of its configuration."""

import sys
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import yaml

from tools.testbed.client import Object
from tools.testbed.process import Server, importable
from tools.testbed.servers import ADMIN, ApiServer

NAME: Final = "kubewasp"
_WAIT_SECONDS: Final = 60.0
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
        packages: Path | None = None,
    ) -> None:
        """`packages` is a folder with packages that are not installed, whose plugins the configuration may name."""
        super().__init__(folder)
        self._flags = flags
        self._packages = packages
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

    def environment(self) -> Mapping[str, str]:
        return {} if self._packages is None else importable(self._packages)

    def start(self) -> Self:
        self._log_start = len(self.log_text)
        return super().start()

    def ready(self) -> bool:
        return "Cluster state synced" in self.log_text[self._log_start :]

    @property
    def log_text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def get(self, path: str) -> str:
        """Response body of an endpoint; an error status is an exception."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
            return str(answer.read().decode())

    def metrics(self) -> str:
        return self.get("/metrics")

    @property
    def healthy(self) -> bool:
        return self.get("/healthz") == "ok"

    def metric(self, name: str) -> int:
        """The sum of a metric's samples."""
        samples = (line.rpartition(" ") for line in self.metrics().splitlines())
        return sum(int(float(value)) for key, _, value in samples if key.partition("{")[0] == name)

    @property
    def leads(self) -> bool:
        return "Started scheduling" in self.log_text[self._log_start :]

    def signal(self, number: int) -> None:
        if self._process is None:
            raise RuntimeError(f"{self.name} is not running")
        self._process.send_signal(number)

    def wait_ended(self, timeout: float = _WAIT_SECONDS) -> int:
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
