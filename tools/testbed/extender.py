"""`kubewasp extender` as a process, and its entry in kube-scheduler's configuration."""

import json
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import yaml

from tools.testbed.client import Object
from tools.testbed.process import Server
from tools.testbed.servers import ADMIN, ApiServer

_PROGRAM = Path(sys.executable).with_name("kubewasp")


class Extender(Server):
    """With `names_only` it watches the cluster; `guests` are wasm plugins by name, `args` is more of their args.

    With `tls`, both sides have certificates, and `tls_config` is what kube-scheduler needs for it.
    """

    name: ClassVar = "kubewasp-extender"

    def __init__(
        self,
        folder: Path,
        api: ApiServer,
        *,
        names_only: bool,
        guests: Mapping[str, Path],
        args: Mapping[str, Any] | None = None,
        user: str = ADMIN,
        tls: bool = False,
        flags: Sequence[str] = (),
    ) -> None:
        super().__init__(folder)
        self.names_only = names_only
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self._ca = api.authority.certificate
        self._pair = api.authority.issue(f"extender-{self.port}") if tls else None
        profile = {
            "plugins": {"multiPoint": {"enabled": [{"name": name, "weight": 2} for name in guests]}},
            "pluginConfig": [
                {"name": name, "args": {"guestURL": f"file://{path}", **(args or {})}} for name, path in guests.items()
            ],
        }
        self._config = folder / "config.yaml"
        document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        self._config.write_text(yaml.safe_dump({**document, "profiles": [profile]}))
        self._flags = [*(("--kubeconfig", api.kubeconfig(user)) if names_only else ()), *flags]
        if self._pair is not None:
            self._flags += [f"--tls-cert={self._pair.certificate}", f"--tls-key={self._pair.key}"]
            self._flags += [f"--client-ca={self._ca}"]

    def command(self) -> Sequence[str | Path]:
        return (_PROGRAM, "extender", "--config", self._config, f"--listen=127.0.0.1:{self.port}", *self._flags)

    def ready(self) -> bool:
        return self.get("/readyz") == "ok"

    def get(self, path: str) -> str:
        context = None
        if self._pair is not None:
            context = ssl.create_default_context(cafile=self._ca)
            context.load_cert_chain(self._pair.certificate, self._pair.key)
        with urllib.request.urlopen(self.url + path, timeout=5, context=context) as answer:
            return str(answer.read().decode())

    def entry(self, **more: Any) -> Object:
        """The output of `kubewasp extender config` with a decisive weight and more fields."""
        command = [_PROGRAM, "extender", "config", "--config", self._config, "--url", self.url, "-o", "json"]
        command += ["--weight=1000", *(() if self.names_only else ["--full-nodes"])]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
        (entry,) = json.loads(done.stdout)["extenders"]
        return {**entry, **more}

    @property
    def tls_config(self) -> Object:
        assert self._pair is not None
        files = {"caFile": self._ca, "certFile": self._pair.certificate, "keyFile": self._pair.key}
        return {name: str(path) for name, path in files.items()}

    def answered(self, verb: str, code: int = 200) -> int:
        """Number of requests with that answer."""
        labels = f'{{code="{code}",verb="{verb}"}}'
        lines = (line.rpartition(" ") for line in self.get("/metrics").splitlines())
        return int(sum(float(n) for name, _, n in lines if name == f"kubewasp_extender_requests_total{labels}"))


StartExtender = Callable[..., Extender]
