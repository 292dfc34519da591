"""Kubeconfig loader: files merged as kubectl does, checked, with paths relative to their file.

Every mistake is one error that names file, context and field, and never a secret.
"""

from __future__ import annotations

import base64
import binascii
import os
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import yaml

from kubewasp.apiserver.errors import ApiConfigError
from kubewasp.apiserver.tls import Pem
from kubewasp.k8s.errors import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

EXEC_API_VERSIONS: Final = tuple(f"client.authentication.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
INTERACTIVE_MODES: Final = ("Never", "IfAvailable", "Always")

_LISTS: Final = ("contexts", "clusters", "users")
_IMPERSONATION: Final = ("as", "as-uid", "as-groups", "as-user-extra")
_EXEC_EXTENSION: Final = "client.authentication.k8s.io/exec"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Address of an API server and how to trust it. `exec_config` is the extension for exec plugins."""

    server: str
    authority: Pem | None = None
    skips_verification: bool = False
    server_name: str = ""
    proxy: str = field(default="", repr=False)
    exec_config: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """Command that prints an ExecCredential."""

    api_version: str
    command: str
    arguments: tuple[str, ...] = field(default=(), repr=False)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    interactive_mode: str = "IfAvailable"
    wants_cluster: bool = False
    install_hint: str = ""


@dataclass(frozen=True, slots=True)
class AuthProvider:
    """Legacy auth provider; its configuration holds tokens. `folder` is that of its kubeconfig file."""

    name: str
    folder: Path
    config: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True, repr=False)
class User:
    """Credentials of a user. `token` is that of the `tokenFile` if only this one is set."""

    token: str = ""
    basic: tuple[str, str] | None = None
    certificate: Pem | None = None
    key: Pem | None = None
    exec_plugin: ExecPlugin | None = None
    auth_provider: AuthProvider | None = None
    has_token_file: bool = False

    @property
    def rotates(self) -> bool:
        """Whether credentials live in files of their own, which may be replaced at any time."""
        return self.has_token_file or (self.certificate is not None and self.certificate.path is not None)


@dataclass(frozen=True, slots=True)
class Context:
    """Context of a kubeconfig with its cluster and user. `where` begins every error text about it."""

    where: str
    namespace: str
    cluster: Cluster
    user: User


def load_context(files: str, name: str | None = None) -> Context:
    """The named or current context of a kubeconfig, or of several with colons between as in `$KUBECONFIG`."""
    entries, current = _merged(files)
    chosen = name or current
    if not chosen:
        raise ApiConfigError(f"{files}: no current-context; name one of: {_names(entries['contexts'])}")
    if chosen not in entries["contexts"]:
        raise ApiConfigError(f"{files}: no context {quoted(chosen)}; there are: {_names(entries['contexts'])}")
    body = entries["contexts"][chosen].body
    where = f"{files}: context {quoted(chosen)}"
    cluster = _cluster(where, _referenced(where, "cluster", body, entries["clusters"]))
    user = _user(where, _referenced(where, "user", body, entries["users"]))
    return Context(where, str(body.get("namespace") or ""), cluster, user)


def environment_proxy(server: str) -> str:
    """Proxy of the environment for a server, as other Kubernetes clients read it; empty if there is none."""
    url = urlsplit(server)
    if urllib.request.proxy_bypass(url.hostname or ""):
        return ""
    proxy = urllib.request.getproxies().get(url.scheme, "")
    if proxy and "://" not in proxy:
        proxy = f"http://{proxy}"
    _check_proxy(f"the {url.scheme.upper()}_PROXY of the environment", proxy)
    return proxy


# ---------------------------------------------------------------------- files


@dataclass(frozen=True, slots=True)
class _Entry:
    """Body of a named cluster, user or context, and the folder of its file."""

    folder: Path
    body: Mapping[str, Any] = field(repr=False)


_Entries = dict[str, dict[str, _Entry]]


def _merged(files: str) -> tuple[_Entries, str]:
    """All entries by name, and the current context. The first file that sets a value wins."""
    entries: _Entries = {name: {} for name in _LISTS}
    current, is_found = "", False
    for path in (Path(os.path.expanduser(name)) for name in files.split(os.pathsep) if name):  # noqa: PTH111 - "~" may have no home
        document = _document(path)
        if document is None:
            continue
        is_found = True
        current = current or str(document.get("current-context") or "")
        for name in _LISTS:
            listed = document.get(name) or []
            if not isinstance(listed, list) or not all(isinstance(e, dict) and "name" in e for e in listed):
                raise ApiConfigError(f"{path}: {name} must be a list of entries with a name")
            for entry in listed:
                body = entry.get(name[:-1])
                found = _Entry(path.parent, body if isinstance(body, dict) else {})
                entries[name].setdefault(str(entry["name"]), found)
    if not is_found:
        raise ApiConfigError(f"{files}: no such kubeconfig file")
    return entries, current


def _document(path: Path) -> dict[str, Any] | None:
    """Content of a file; None if there is no such file."""
    try:
        document = yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ApiConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, ValueError) as error:
        # The error's own text quotes the line, and with it perhaps a token.
        mark = getattr(error, "problem_mark", None)
        raise ApiConfigError(f"{path}{f', line {mark.line + 1}' if mark else ''}: not valid YAML") from None
    if not isinstance(document, dict) or not any(name in document for name in _LISTS):
        raise ApiConfigError(f"{path}: not a kubeconfig: it has no clusters, contexts and users")
    return document


def _referenced(where: str, what: str, context: Mapping[str, Any], entries: Mapping[str, _Entry]) -> _Entry:
    name = context.get(what)
    if not name:
        raise ApiConfigError(f"{where}: it names no {what}")
    if str(name) not in entries:
        raise ApiConfigError(f"{where}: no {what} {quoted(str(name))}; there are: {_names(entries)}")
    return entries[str(name)]


# ---------------------------------------------------------------------- clusters and users


def _cluster(where: str, entry: _Entry) -> Cluster:
    body = entry.body
    server = body.get("server")
    if not isinstance(server, str) or not server.startswith(("https://", "http://")):
        raise ApiConfigError(f"{where}: its cluster has no server such as https://10.0.0.1:6443")
    proxy = str(body.get("proxy-url") or "")
    _check_proxy(f"{where}: proxy-url", proxy)
    extensions = {
        extension.get("name"): extension.get("extension")
        for extension in body.get("extensions") or ()
        if isinstance(extension, dict)
    }
    return Cluster(
        server.rstrip("/"),
        pem_field(where, "certificate-authority", entry.folder, body),
        _flag(where, "insecure-skip-tls-verify", body),
        str(body.get("tls-server-name") or ""),
        proxy,
        extensions.get(_EXEC_EXTENSION),
    )


def _user(where: str, entry: _Entry) -> User:
    body, folder = entry.body, entry.folder
    if any(body.get(key) for key in _IMPERSONATION):
        raise ApiConfigError(f"{where}: its user impersonates another one (as, as-groups…), which is not supported")
    token, has_token_file = str(body.get("token") or ""), False
    if not token and body.get("tokenFile"):
        token, has_token_file = _token(where, folder / str(body["tokenFile"])), True
    has_basic = "username" in body and "password" in body
    return User(
        token,
        (str(body["username"]), str(body["password"])) if has_basic else None,
        pem_field(where, "client-certificate", folder, body),
        pem_field(where, "client-key", folder, body),
        _exec_plugin(where, folder, body["exec"]) if body.get("exec") else None,
        _auth_provider(where, folder, body["auth-provider"]) if body.get("auth-provider") else None,
        has_token_file,
    )


def _token(where: str, path: Path) -> str:
    token = _content(where, "tokenFile", path).decode("utf-8", "replace").strip()
    if not token:
        raise ApiConfigError(f"{where}: tokenFile {path} is empty")
    return token


def _exec_plugin(where: str, folder: Path, entry: Any) -> ExecPlugin:
    if not isinstance(entry, dict) or not entry.get("command") or not entry.get("apiVersion"):
        raise ApiConfigError(f"{where}: exec needs a command and an apiVersion")
    version, command = str(entry["apiVersion"]), str(entry["command"])
    if version not in EXEC_API_VERSIONS:
        supported = ", ".join(EXEC_API_VERSIONS)
        raise ApiConfigError(f"{where}: exec has the apiVersion {quoted(version)}; supported are: {supported}")
    arguments = entry.get("args") or []
    if not isinstance(arguments, list) or not all(isinstance(argument, str) for argument in arguments):
        raise ApiConfigError(f"{where}: the args of exec must be a list of strings")
    variables = entry.get("env") or []
    if not isinstance(variables, list) or not all(isinstance(each, dict) and each.get("name") for each in variables):
        raise ApiConfigError(f"{where}: the env of exec must be a list of entries with a name and a value")
    mode = str(entry.get("interactiveMode") or "IfAvailable")
    if mode not in INTERACTIVE_MODES:
        raise ApiConfigError(f"{where}: the interactiveMode of exec must be one of: {', '.join(INTERACTIVE_MODES)}")
    return ExecPlugin(
        version,
        str(folder / command) if os.sep in command else command,  # a bare name is looked up on the PATH
        tuple(arguments),
        {str(each["name"]): str(each.get("value") or "") for each in variables},
        mode,
        _flag(where, "provideClusterInfo", entry),
        str(entry.get("installHint") or ""),
    )


def _auth_provider(where: str, folder: Path, entry: Any) -> AuthProvider:
    if not isinstance(entry, dict) or not entry.get("name"):
        raise ApiConfigError(f"{where}: auth-provider needs a name")
    config = entry.get("config") or {}
    if not isinstance(config, dict):
        raise ApiConfigError(f"{where}: the config of auth-provider must be a map")
    return AuthProvider(str(entry["name"]), folder, config)


# ---------------------------------------------------------------------- fields


def pem_field(where: str, name: str, folder: Path, body: Mapping[str, Any]) -> Pem | None:
    """Field with PEM data: inline as `NAME-data`, else in the file `NAME`."""
    inline = body.get(f"{name}-data")
    if inline:
        try:
            content = base64.b64decode("".join(str(inline).split()), validate=True)
        except (binascii.Error, ValueError):
            raise ApiConfigError(f"{where}: {name}-data is not base64") from None
        return Pem(f"{where}: {name}-data", content)
    if body.get(name):
        path = folder / str(body[name])
        return Pem(f"{where}: {name} {path}", _content(where, name, path), path)
    return None


def _content(where: str, name: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ApiConfigError(f"{where}: {name} {path} cannot be read: {error.strerror}") from None


def _flag(where: str, name: str, body: Mapping[str, Any]) -> bool:
    value = body.get(name)
    if not isinstance(value, bool | None):
        raise ApiConfigError(f"{where}: {name} must be true or false")
    return bool(value)


def _check_proxy(what: str, proxy: str) -> None:
    """The text must not quote the address: it may hold a password."""
    try:
        address = urlsplit(proxy)
        is_valid = not proxy or (address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0)
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ApiConfigError(f"{what} must be one for HTTP, such as http://proxy:3128")


def _names(entries: Mapping[str, Any]) -> str:
    return ", ".join(sorted(entries)) or "none"
