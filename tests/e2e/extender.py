"""`kubewasp extender` as a process, and the entry of kube-scheduler's configuration that has it asked."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import yaml

from tests.e2e.client import Object
from tests.e2e.process import Server
from tests.e2e.servers import ADMIN, ApiServer
from tests.guests.build import example

_PROGRAM = Path(sys.executable).with_name("kubewasp")


class Extender(Server):
    """With `names_only` it watches the cluster; `guests` are wasm plugins by name, `args` is more of their args."""

    name: ClassVar = "kubewasp-extender"

    def __init__(
        self,
        folder: Path,
        api: ApiServer,
        *,
        names_only: bool,
        guests: Mapping[str, Path] | None = None,
        args: Mapping[str, Any] | None = None,
        user: str = ADMIN,
        flags: Sequence[str] = (),
    ) -> None:
        super().__init__(folder)
        self.names_only = names_only
        self.url = f"http://127.0.0.1:{self.port}"
        wasm = guests or {"nodenumber": example("nodenumber")}
        profile = {
            "plugins": {"multiPoint": {"enabled": [{"name": name, "weight": 2} for name in wasm]}},
            "pluginConfig": [
                {"name": name, "args": {"guestURL": f"file://{path}", **(args or {})}} for name, path in wasm.items()
            ],
        }
        self._config = folder / "config.yaml"
        document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        self._config.write_text(yaml.safe_dump({**document, "profiles": [profile]}))
        self._flags = [*(("--kubeconfig", api.kubeconfig(user)) if names_only else ()), *flags]

    def command(self) -> Sequence[str | Path]:
        return (_PROGRAM, "extender", "--config", self._config, f"--listen=127.0.0.1:{self.port}", *self._flags)

    def ready(self) -> bool:
        return self.get("/readyz") == "ok"

    def get(self, path: str) -> str:
        with urllib.request.urlopen(self.url + path, timeout=5) as answer:
            return str(answer.read().decode())

    def entry(self, **more: Any) -> Object:
        """What `kubewasp extender config` prints, with a weight that decides, and what else is given."""
        command = [_PROGRAM, "extender", "config", "--config", self._config, "--url", self.url, "-o", "json"]
        command += ["--weight=1000", *(() if self.names_only else ["--full-nodes"])]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
        (entry,) = json.loads(done.stdout)["extenders"]
        return {**entry, **more}

    def answered(self, verb: str, code: int = 200) -> int:
        """How many requests had that answer."""
        labels = f'{{code="{code}",verb="{verb}"}}'
        lines = (line.rpartition(" ") for line in self.get("/metrics").splitlines())
        return int(sum(float(n) for name, _, n in lines if name == f"kubewasp_extender_requests_total{labels}"))


StartExtender = Callable[..., Extender]
