"""The hand-written guest behind HTTP in its own process, called like an extender of kube-scheduler.

A cycle takes pod and nodes and ends with scores or verdicts: encoding of the request, one request on a kept connection,
decoding of the answer. kube-scheduler encodes its JSON in Go, which takes longer than here.

`extender-full` is `kubewasp extender` itself. kube-scheduler sends nodes without the pods on them, so policies that
read requested resources cannot run there. `extender-names` is the same service in a process that has the nodes
already, put in directly instead of by a watch: see extender_process.py.
"""

from __future__ import annotations

import contextlib
import http.client
import sys
import tempfile
import time
from abc import abstractmethod
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import orjson

from kubewasp.framework.plugin import Verdicts
from kubewasp.framework.status import SUCCESS, Code, Status
from tools.bench import guests
from tools.bench.forms.form import PODS, Answers, Form, FormError
from tools.bench.guests import Unavailable
from tools.bench.policies.policy_list import NEEDS_REQUESTED, POINTS
from tools.testbed.process import Server, importable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.bench.policies.clusters import Cluster

NO_PODS: Final = "kube-scheduler sends nodes without the pods on them, and this policy reads requested resources"
_JSON: Final = {"Content-Type": "application/json"}


def config(policy: str, wasm: Path) -> dict[str, Any]:
    """The configuration of an extender with one guest."""
    profile = {
        "plugins": {"multiPoint": {"enabled": [{"name": policy}]}},
        "pluginConfig": [{"name": policy, "args": {"guestURL": f"file://{wasm}"}}],
    }
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [profile]}


class ExtenderForm(Form):
    """A form behind HTTP; `load` starts the process."""

    def __init__(self, policy: str, cluster: Cluster) -> None:
        super().__init__(policy, cluster)
        self.wasm = guests.guest(policy, "wat")
        self._pods = cluster.pod_manifests(PODS)
        self._names = [manifest["metadata"]["name"] for manifest in cluster.manifests]
        self._places = {name: place for place, name in enumerate(self._names)}
        self._folder = tempfile.TemporaryDirectory(prefix="kubewasp-bench-")
        self._server = self.server(Path(self._folder.name))
        self._connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=120)

    @abstractmethod
    def server(self, folder: Path) -> Server:
        """The extender process."""

    @abstractmethod
    def asked(self, pod: dict[str, Any]) -> dict[str, Any]:
        """The request of kube-scheduler for the pod."""

    def load(self, *, use_cache: bool = True) -> None:  # noqa: ARG002 - the process uses its cache
        self._server.start()
        self._connection.connect()

    def cycle(self, pod: int) -> Answers:
        verb = "filter" if "filter" in POINTS[self.policy] else "prioritize"
        answer = self.post(verb, orjson.dumps(self.asked(self._pods[pod % PODS])))
        if verb == "prioritize":
            return Answers(np.fromiter((item["Score"] for item in answer), np.int64, len(answer)))
        return Answers(verdicts=self._verdicts(answer))

    def post(self, path: str, body: bytes) -> Any:
        self._connection.request("POST", f"/{path}", body, _JSON)
        response = self._connection.getresponse()
        content = response.read()
        if response.status != 200:
            raise FormError(f"{self.policy}: the extender answered {response.status}: {content[:1000].decode()}")
        return orjson.loads(content)

    def _verdicts(self, answer: Mapping[str, Any]) -> Verdicts | None:
        if answer.get("Error"):
            raise FormError(f"{self.policy}: {answer['Error']}")
        numbers = np.zeros(len(self._names), np.int64)
        statuses = [SUCCESS]
        known: dict[tuple[int, str], int] = {}
        kinds = (Code.UNSCHEDULABLE, "FailedNodes"), (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "FailedAndUnresolvableNodes")
        for code, field in kinds:
            for name, reason in answer[field].items():
                number = known.get((code, reason))
                if number is None:
                    number = known[code, reason] = len(statuses)
                    statuses.append(Status(code, reason))
                numbers[self._places[name]] = number
        return Verdicts(numbers, statuses) if known else None

    def names(self) -> Sequence[str]:
        return self._names

    def close(self) -> None:
        self._connection.close()
        self._server.stop()
        self._folder.cleanup()

    @property
    def process(self) -> int | None:
        return self._server.pid


class ExtenderFull(ExtenderForm):
    """Whole nodes in every request; a changed node has another resourceVersion."""

    def __init__(self, policy: str, cluster: Cluster) -> None:
        if policy in NEEDS_REQUESTED:
            raise Unavailable(NO_PODS)
        super().__init__(policy, cluster)
        self._nodes = list(cluster.manifests)

    def server(self, folder: Path) -> Server:
        path = folder / "config.yaml"
        path.write_bytes(orjson.dumps(config(self.policy, self.wasm)))
        # Like the command, which may not be on the PATH.
        program = "import sys; from kubewasp.cli.main import main; sys.exit(main())"
        return _Process(folder, [sys.executable, "-c", program, "extender", "--config", path, "--listen"])

    def asked(self, pod: dict[str, Any]) -> dict[str, Any]:
        return {"Pod": pod, "Nodes": {"metadata": {}, "items": self._nodes}, "NodeNames": None}

    def change(self, number: int) -> None:
        for place in self.cluster.changed(number):
            self._nodes[place] = self.cluster.manifest(place, number)


class ExtenderNames(ExtenderForm):
    """Names in every request: `nodeCacheCapable: true`."""

    def server(self, folder: Path) -> Server:
        what = {"policy": self.policy, "wasm": str(self.wasm), "cluster": asdict(self.cluster)}
        process = [sys.executable, "-m", "tools.bench.forms.extender_process", orjson.dumps(what).decode()]
        return _Process(folder, process)

    def asked(self, pod: dict[str, Any]) -> dict[str, Any]:
        return {"Pod": pod, "Nodes": None, "NodeNames": self._names}

    def change(self, number: int) -> None:
        self.post("bench/change", orjson.dumps(number))


class _Process(Server):
    """A command with the listen address as its last argument."""

    name: ClassVar = "extender"

    def __init__(self, folder: Path, command: Sequence[str | Path]) -> None:
        super().__init__(folder)
        self._command = command

    def command(self) -> Sequence[str | Path]:
        return (*self._command, f"127.0.0.1:{self.port}")

    def environment(self) -> Mapping[str, str]:
        return importable()

    def ready(self) -> bool:
        """Polls at short intervals: the start time is measured."""
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", "/readyz")
                is_ready = connection.getresponse().status == 200
                connection.close()
                return is_ready
            time.sleep(0.005)
        return False
