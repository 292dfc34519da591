"""Container registries on loopback, and the clients of others: olareg, the distribution registry, crane, oras, cosign.

`python -m tools.testbed.registries` builds what tests and benchmarks need; with the argument `cosign` it builds that,
too, which takes minutes: the release workflow does, `make e2e` uses it where it is there.
"""

import base64
import functools
import http.client
import json
import os
import ssl
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import ClassVar, Final

import yaml

from kubewasp.projects import build_cache
from tools.testbed import debian_programs
from tools.testbed.certificates import Authority
from tools.testbed.go_programs import GoPrograms
from tools.testbed.process import Server

_SOURCES: Final = Path(__file__).parent / "registry_sources"
_TOOL_SECONDS: Final = 300.0
_READ, _WRITE = ("read",), ("read", "write", "delete")

REGISTRIES: Final = GoPrograms(
    sources=_SOURCES / "registries",
    packages=(
        "github.com/olareg/olareg/cmd/olareg",
        "github.com/google/go-containerregistry/cmd/crane",
        "oras.land/oras/cmd/oras",
        "./docker-registry",
    ),
    built=build_cache.folder("registries"),
    cost="about a minute on 2 cores",
)
COSIGN: Final = GoPrograms(
    sources=_SOURCES / "cosign",
    packages=("github.com/sigstore/cosign/v3/cmd/cosign",),
    built=build_cache.folder("cosign"),
    cost="4 to 10 minutes on 2 cores",
)


class ToolError(Exception):
    """A failed call of a client; the text is its output."""


class Auth(Enum):
    """How a registry knows its users: not at all, by password with every request, or by token of its own realm."""

    NONE = "none"
    BASIC = "basic"
    TOKEN = "token"


@dataclass(frozen=True, slots=True)
class User:
    """A user of a registry. Without `writes`, pulls only."""

    name: str
    password: str
    writes: bool = True


ALICE: Final = User("alice", "alice's password")
READER: Final = User("reader", "reader's password", writes=False)


class Registry(Server):
    """A registry on loopback. With an authority it speaks TLS; `users` are known if it has authentication."""

    referrers: ClassVar[bool]

    def __init__(
        self, folder: Path, *, authority: Authority | None = None, auth: Auth = Auth.NONE, users: Sequence[User] = ()
    ) -> None:
        super().__init__(folder)
        self.authority = authority
        self.auth = auth
        self.users = tuple(users) or ((ALICE, READER) if auth is not Auth.NONE else ())
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"{'http' if authority is None else 'https'}://{self.host}"
        self._pair = None if authority is None else authority.issue(f"{self.name}-{self.port}")

    def reference(self, name: str) -> str:
        """The address of a repository with tag or digest, for example `oci://127.0.0.1:5000/team/policy:v1`."""
        return f"oci://{self.host}/{name}"

    def image(self, name: str) -> str:
        """The same for the tools of others, without a scheme."""
        return f"{self.host}/{name}"

    def ready(self) -> bool:
        status, _, _ = self.request("GET", "/v2/")
        return status in (200, 401)

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers in lower case, and body of a request without credentials."""
        if self.authority is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        else:
            trust = ssl.create_default_context(cafile=str(self.authority.certificate))
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=trust)
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def docker_config(self, folder: Path, user: User = ALICE) -> Path:
        """A `config.json` with the credentials of a user, in a folder for `DOCKER_CONFIG`."""
        folder.mkdir(parents=True, exist_ok=True)
        secret = base64.b64encode(f"{user.name}:{user.password}".encode()).decode()
        path = folder / "config.json"
        path.touch(mode=0o600)
        path.write_text(json.dumps({"auths": {self.host: {"auth": secret}}}))
        return path


class Olareg(Registry):
    """A registry with the referrers API, unless `referrers` is off. In memory, or in `folder/store` as OCI layouts.

    `external_url` is where its tokens are said to come from; by default its own address.
    """

    name = "olareg"
    stop_seconds = 5.0
    referrers = True

    def __init__(
        self,
        folder: Path,
        *,
        authority: Authority | None = None,
        auth: Auth = Auth.NONE,
        users: Sequence[User] = (),
        on_disk: bool = False,
        referrers: bool = True,
        external_url: str = "",
    ) -> None:
        super().__init__(folder, authority=authority, auth=auth, users=users)
        self.store = folder / "store"
        self._on_disk = on_disk
        self._referrers = referrers
        self._external_url = external_url or self.url
        self._auth_file = folder / "auth.yaml"
        if auth is not Auth.NONE:
            self._write_users()

    def command(self) -> Sequence[str | Path]:
        self.store.mkdir(exist_ok=True)
        command: list[str | Path] = [REGISTRIES.folder() / self.name, "serve", "--addr=127.0.0.1"]
        command += [f"--port={self.port}", "--api-delete", "--api-blob-delete", "--gc-frequency=-1s"]
        command += [f"--api-referrer={str(self._referrers).lower()}"]
        command += [f"--store-type={'dir' if self._on_disk else 'mem'}", f"--dir={self.store}"]
        if self._pair is not None:
            command += [f"--tls-cert={self._pair.certificate}", f"--tls-key={self._pair.key}"]
        if self.auth is Auth.BASIC:
            command += [f"--auth-basic={self._auth_file}"]
        if self.auth is Auth.TOKEN:
            command += [f"--auth-token-opaque={self._auth_file}", f"--external-url={self._external_url}"]
        return command

    def _write_users(self) -> None:
        writers = [user.name for user in self.users if user.writes]
        readers = [user.name for user in self.users if not user.writes]
        rules = [
            {"repo": "*", "access": list(access), "members": members}
            for access, members in ((_WRITE, writers), (_READ, readers))
            if members
        ]
        users = {user.name: {"cred": _password_hash(user.password)} for user in self.users}
        self._auth_file.write_text(yaml.safe_dump({"users": users, "acls": rules}))


class DockerRegistry(Registry):
    """The distribution registry, which has no referrers API: clients fall back to tags. In memory."""

    name = "docker-registry"
    stop_seconds = 5.0
    referrers = False

    def __init__(
        self, folder: Path, *, authority: Authority | None = None, auth: Auth = Auth.NONE, users: Sequence[User] = ()
    ) -> None:
        if auth is Auth.TOKEN:
            raise ValueError("the distribution registry takes tokens of a separate server only; use Olareg")
        super().__init__(folder, authority=authority, auth=auth, users=users)
        self._config = folder / "config.yml"
        self._passwords = folder / "htpasswd"
        self._write_config()

    def command(self) -> Sequence[str | Path]:
        return (REGISTRIES.folder() / self.name, "serve", self._config)

    def environment(self) -> Mapping[str, str]:
        return {"OTEL_TRACES_EXPORTER": "none"}

    def _write_config(self) -> None:
        listener: dict[str, object] = {"addr": self.host, "secret": "one process"}
        if self._pair is not None:
            listener["tls"] = {"certificate": str(self._pair.certificate), "key": str(self._pair.key)}
        config: dict[str, object] = {
            "version": 0.1,
            "log": {"level": "info"},
            "storage": {"inmemory": {}, "delete": {"enabled": True}},
            "http": listener,
        }
        if self.auth is Auth.BASIC:
            lines = [f"{user.name}:{_password_hash(user.password)}\n" for user in self.users]
            self._passwords.write_text("".join(lines))
            config["auth"] = {"htpasswd": {"realm": "tests", "path": str(self._passwords)}}
        self._config.write_text(yaml.safe_dump(config))


@dataclass(frozen=True, slots=True)
class Tool:
    """A client of others as a program. It sees no settings of this machine's user: home and credentials are `home`."""

    program: Path
    home: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def __call__(
        self, *arguments: str | Path, registry: Registry | None = None, stdin: str = "", env: Mapping[str, str] = {}
    ) -> str:
        """Output of a call; ToolError if it fails. With a `registry`, its authority is trusted and ALICE known."""
        kept = {name: value for name, value in os.environ.items() if name in {"PATH", "LANG", "TMPDIR"}}
        docker = self.home / ".docker"
        docker.mkdir(parents=True, exist_ok=True)
        if not (docker / "config.json").exists():
            (docker / "config.json").write_text("{}")
        own = {"HOME": str(self.home), "DOCKER_CONFIG": str(docker), "XDG_RUNTIME_DIR": str(self.home)}
        if registry is not None and registry.authority is not None:
            own["SSL_CERT_FILE"] = str(registry.authority.certificate)
        if registry is not None and registry.auth is not Auth.NONE:
            own["REGISTRY_AUTH_FILE"] = str(registry.docker_config(docker))
        done = subprocess.run(
            [self.program, *arguments],
            env={**kept, **own, **self.environment, **env},
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TOOL_SECONDS,
            check=False,
        )
        if done.returncode:
            raise ToolError(f"{self.program.name} {' '.join(map(str, arguments))}: {done.stderr}{done.stdout}".strip())
        return done.stdout


def crane(home: Path) -> Tool:
    return Tool(REGISTRIES.folder() / "crane", home)


def oras(home: Path) -> Tool:
    return Tool(REGISTRIES.folder() / "oras", home)


def cosign(home: Path) -> Tool:
    """The real cosign, built here if need be."""
    return Tool(COSIGN.folder() / "cosign", home)


def skopeo(home: Path) -> Tool:
    """Of the PATH or of Debian; UnavailableError where there is neither."""
    found = debian_programs.program("skopeo")
    return Tool(found.path, home, {**found.environment(), **_container_settings(home)})


def buildah(home: Path) -> Tool:
    """The same, with images and containers of its own in `home`."""
    found = debian_programs.program("buildah")
    own = {"BUILDAH_ISOLATION": "chroot"}
    return Tool(found.path, home, {**found.environment(), **_container_settings(home), **own})


def _container_settings(home: Path) -> Mapping[str, str]:
    """Settings of skopeo and buildah: every image is accepted, storage is below `home`."""
    settings = home / ".config" / "containers"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "policy.json").write_text(json.dumps({"default": [{"type": "insecureAcceptAnything"}]}))
    storage = settings / "storage.conf"
    places = (f'runroot = "{home / "run"}"', f'graphroot = "{home / "storage"}"')
    storage.write_text("\n".join(("[storage]", 'driver = "vfs"', *places, "")))
    return {"CONTAINERS_STORAGE_CONF": str(storage)}


@functools.cache
def _password_hash(password: str) -> str:
    """As bcrypt, which both registries read. One place has it already: olareg itself."""
    command = [str(REGISTRIES.folder() / "olareg"), "hash", f"--pass={password}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main(arguments: Sequence[str]) -> int:
    known = {"registries": REGISTRIES, "cosign": COSIGN}
    wanted = arguments or ("registries",)
    for name in wanted:
        if name not in known:
            print(f"unknown: {name}; known: {', '.join(known)}", file=sys.stderr)
            return 2
    for name in wanted:
        print(known[name].folder())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
