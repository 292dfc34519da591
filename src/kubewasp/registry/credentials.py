"""Credentials of registries from the files of Docker, Podman and Kubernetes, and from their helper programs.

A file is read when a registry asks for credentials. No value of a file is in an error or in the text of an object.
"""

from __future__ import annotations

import base64
import binascii
import os
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kubewasp.registry.credential_helpers import helper_credentials
from kubewasp.registry.errors import RegistryError
from kubewasp.registry.oci_manifests import read_object
from kubewasp.registry.references import DOCKER_HUB

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kubewasp.registry.settings import RegistrySettings

_MAX_BYTES: Final = 4 << 20
_HUB_KEY: Final = "https://index.docker.io/v1/"
_HUB_NAMES: Final = (DOCKER_HUB, "index.docker.io", "registry-1.docker.io")
_IN_FOLDER: Final = (".dockerconfigjson", "config.json")  # key of a secret of this kind; name in $DOCKER_CONFIG
TOKEN_USER: Final = "<token>"  # noqa: S105 - in place of a user name


@dataclass(frozen=True, slots=True)
class Credentials:
    """User name and password, a refresh token, or a token for the registry itself. Empty: anonymous access.

    `origin` is where they come from; of empty ones, why a configured file has none.
    """

    username: str = ""
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)
    registry_token: str = field(default="", repr=False)
    origin: str = ""

    def __bool__(self) -> bool:
        return bool(self.username or self.identity_token or self.registry_token)

    @property
    def basic(self) -> str:
        """Value of an Authorization header; empty without a user name."""
        if not self.username:
            return ""
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


ANONYMOUS: Final = Credentials()


class CredentialSource:
    """Credentials by host and repository. The first file with an entry for them decides."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._settings = settings

    def find(self, name: str) -> Credentials:
        """Credentials for a repository such as `example.com/team/policy`; RegistryError for an unusable file."""
        for file in self.files():
            document = _document(file)
            if document is not None:
                found = _in_file(document, name, str(file))
                if found is not None:
                    return found
        problem = next(filter(None, map(_absence, self._settings.credential_files)), "")
        return Credentials(origin=problem) if problem else ANONYMOUS

    def files(self) -> Iterator[Path]:
        """The files to look into, in order; most of them do not exist."""
        for configured in self._settings.credential_files:
            path = Path(configured)
            if path.is_dir():
                yield from (path / name for name in _IN_FOLDER)
            else:
                yield path
        if self._settings.uses_user_files:
            yield from _user_files()


def _absence(configured: str) -> str:
    """Problem of a configured file or folder without any credentials; empty if there are some."""
    path = Path(configured)
    if not path.is_dir():
        return "" if path.exists() else f"{path} does not exist"
    has_file = any((path / name).exists() for name in _IN_FOLDER)
    return "" if has_file else f"{path} has neither {' nor '.join(_IN_FOLDER)}"


def _user_files() -> Iterator[Path]:
    environment = os.environ
    if environment.get("REGISTRY_AUTH_FILE"):
        yield Path(environment["REGISTRY_AUTH_FILE"])
    if environment.get("XDG_RUNTIME_DIR"):
        yield Path(environment["XDG_RUNTIME_DIR"]) / "containers" / "auth.json"
    else:
        yield Path(f"/run/containers/{os.getuid()}/auth.json")
    yield Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "containers" / "auth.json"
    if environment.get("DOCKER_CONFIG"):
        yield Path(environment["DOCKER_CONFIG"]) / "config.json"
    else:
        yield Path.home() / ".docker" / "config.json"


def _document(file: Path) -> dict[str, Any] | None:
    try:
        with file.open("rb") as opened:
            content = opened.read(_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise RegistryError(f"{file}: credentials cannot be read: {error.strerror}") from None
    return read_object(content, str(file), max_bytes=_MAX_BYTES)


def _in_file(document: Mapping[str, Any], name: str, file: str) -> Credentials | None:
    host = name.partition("/")[0]
    helper = _helper(document, host)
    if helper:
        return _from_helper(helper, host, file)
    entry = _entry(document.get("auths"), name)
    if entry is not None and (found := _of_entry(entry, host, file)):
        return found
    store = document.get("credsStore")
    if isinstance(store, str) and store:
        return _from_helper(store, host, file) or None
    return None


def _helper(document: Mapping[str, Any], host: str) -> str:
    helpers = document.get("credHelpers")
    if not isinstance(helpers, dict):
        return ""
    names = (_HUB_KEY, *_HUB_NAMES) if host == DOCKER_HUB else (host,)
    return next((found for name in names if isinstance(found := helpers.get(name), str) and found), "")


def _from_helper(helper: str, host: str, file: str) -> Credentials:
    username, secret = helper_credentials(helper, _HUB_KEY if host == DOCKER_HUB else host)
    origin = f"{file}, credential helper {helper}"
    if username == TOKEN_USER:
        return Credentials(identity_token=secret, origin=origin)
    return Credentials(username, secret, origin=origin) if username else ANONYMOUS


def _entry(auths: object, name: str) -> Mapping[str, Any] | None:
    """The entry with the longest key that fits: of the repository, of a path above it, of the host, of a wildcard."""
    if not isinstance(auths, dict):
        return None
    best: tuple[int, int, Mapping[str, Any]] | None = None
    for key, entry in auths.items():
        if isinstance(entry, dict) and entry:
            place = _place(key)
            if (rank := _rank(place, name)) and (best is None or (rank, len(place)) > best[:2]):
                best = rank, len(place), entry
    return None if best is None else best[2]


def _place(key: str) -> str:
    """Host and path of a key: Docker writes some with scheme and version of the protocol."""
    _, scheme, rest = key.partition("://")
    place = (rest if scheme else key).rstrip("/")
    for version in ("/v1", "/v2"):
        place = place.removesuffix(version) if scheme or place.count("/") == 1 else place
    host, slash, path = place.partition("/")
    return (DOCKER_HUB if host in _HUB_NAMES else host.lower()) + slash + path


def _rank(place: str, name: str) -> int:
    """2 for an exact beginning, 1 for a host with wildcards as in secrets of Kubernetes, 0 for another place."""
    if name == place or name.startswith(f"{place}/"):
        return 2
    pattern, _, path = place.partition("/")
    if "*" not in pattern and "?" not in pattern:
        return 0
    host, _, repository = name.partition("/")
    wanted, found = pattern.split("."), host.split(".")
    if len(wanted) != len(found) or not all(map(fnmatchcase, found, wanted)):
        return 0
    return int(not path or repository == path or repository.startswith(f"{path}/"))


def _of_entry(entry: Mapping[str, Any], host: str, file: str) -> Credentials | None:
    where = f"{file}: auths of {host}"
    username, password, auth, identity, registry = (
        _text(entry, field, where) for field in ("username", "password", "auth", "identitytoken", "registrytoken")
    )
    if auth:
        try:
            decoded = base64.b64decode(auth.encode("ascii"), validate=True).decode("utf-8")
        except (UnicodeError, binascii.Error):
            raise RegistryError(f"{where}: auth is not base64 of user name and password") from None
        username, colon, password = decoded.rstrip("\0").partition(":")
        if not colon:
            raise RegistryError(f"{where}: auth is not base64 of user name and password")
    if username == TOKEN_USER:
        username, identity = "", identity or password
    found = Credentials(username, password, identity, registry, where)
    return found or None


def _text(entry: Mapping[str, Any], name: str, where: str) -> str:
    found = entry.get(name)
    if found is None:
        return ""
    if not isinstance(found, str) or not found.isprintable():
        raise RegistryError(f"{where}: {name} is no plain text")
    return found
