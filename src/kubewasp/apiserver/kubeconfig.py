"""Looks over a kubeconfig before the library loads it, so that each mistake has a clear text without secrets."""

from __future__ import annotations

import base64
import binascii
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from kubewasp.apiserver.errors import ApiConfigError
from kubewasp.k8s.errors import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

_LISTS: Final = ("contexts", "clusters", "users")
_FILES_OF_CLUSTER: Final = ("certificate-authority",)
_FILES_OF_USER: Final = ("client-certificate", "client-key")
_IMPERSONATION: Final = ("as", "as-uid", "as-groups", "as-user-extra")


@dataclass(frozen=True, slots=True)
class Choice:
    """The context of a kubeconfig that is to be used. The user's fields hold secrets: they are never shown."""

    files: str
    context: str
    user: Mapping[str, Any] = field(repr=False)
    namespace: str = ""

    @property
    def exec_command(self) -> str | None:
        """The exec plugin's command; None if there is no plugin."""
        plugin = self.user.get("exec")
        return str(plugin.get("command") or "") if isinstance(plugin, dict) else None

    @property
    def rotates(self) -> bool:
        """Whether credentials stand in files of their own, which somebody may replace."""
        token_file = self.user.get("tokenFile") and not self.user.get("token")
        return bool(token_file or self.user.get("client-certificate"))


def choose(files: str, context: str | None = None) -> Choice:
    """Checks one kubeconfig, or several with colons between as in `$KUBECONFIG`."""
    entries, current = _merged(files)
    chosen = context or current
    if not chosen:
        raise ApiConfigError(f"{files}: no current-context; name one of: {_names(entries['contexts'])}")
    where = f"{files}: context {quoted(chosen)}"
    if chosen not in entries["contexts"]:
        raise ApiConfigError(f"{files}: no context {quoted(chosen)}; there are: {_names(entries['contexts'])}")
    _, body = entries["contexts"][chosen]
    cluster_file, cluster = _entry(where, "cluster", body, entries["clusters"])
    server = cluster.get("server")
    if not isinstance(server, str) or not server.startswith(("https://", "http://")):
        raise ApiConfigError(f"{where}: its cluster has no server such as https://10.0.0.1:6443")
    _check_files(where, cluster_file, cluster, _FILES_OF_CLUSTER)
    user_file, user = _entry(where, "user", body, entries["users"])
    _check_files(where, user_file, user, _FILES_OF_USER)
    if user.get("tokenFile") and not user.get("token"):
        _readable(where, "tokenFile", user_file.parent / str(user["tokenFile"]))
    if any(user.get(key) for key in _IMPERSONATION):
        raise ApiConfigError(f"{where}: its user impersonates another one (as, as-groups…), which is not supported")
    return Choice(files, chosen, user, str(body.get("namespace") or ""))


_Entries = dict[str, dict[str, tuple[Path, dict[str, Any]]]]


def _merged(files: str) -> tuple[_Entries, str]:
    """All entries by name; of two with the same name the first counts."""
    entries: _Entries = {name: {} for name in _LISTS}
    current, found = "", False
    for path in (Path(name).expanduser() for name in files.split(os.pathsep) if name):
        if not path.exists():
            continue
        found = True
        document = _document(path)
        current = current or str(document.get("current-context") or "")
        for name in _LISTS:
            listed = document.get(name) or []
            if not isinstance(listed, list) or not all(isinstance(e, dict) and "name" in e for e in listed):
                raise ApiConfigError(f"{path}: {name} must be a list of entries with a name")
            for entry in listed:
                body = entry.get(name[:-1])
                entries[name].setdefault(str(entry["name"]), (path, body if isinstance(body, dict) else {}))
    if not found:
        raise ApiConfigError(f"{files}: no such kubeconfig file")
    return entries, current


def _document(path: Path) -> dict[str, Any]:
    try:
        document = yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except OSError as error:
        raise ApiConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except yaml.YAMLError as error:
        # The error's own text quotes the line, which may be the one with the token.
        mark = getattr(error, "problem_mark", None)
        raise ApiConfigError(f"{path}{f', line {mark.line + 1}' if mark else ''}: not valid YAML") from None
    if not isinstance(document, dict) or not any(name in document for name in _LISTS):
        raise ApiConfigError(f"{path}: not a kubeconfig: it has no clusters, contexts and users")
    return document


def _entry(
    where: str, what: str, context: Mapping[str, Any], entries: Mapping[str, tuple[Path, dict[str, Any]]]
) -> tuple[Path, dict[str, Any]]:
    name = context.get(what)
    if not name:
        raise ApiConfigError(f"{where}: it names no {what}")
    if str(name) not in entries:
        raise ApiConfigError(f"{where}: no {what} {quoted(str(name))}; there are: {_names(entries)}")
    return entries[str(name)]


def _check_files(where: str, file: Path, entry: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    for key in keys:
        inline = entry.get(f"{key}-data")
        if inline:
            try:
                base64.b64decode(str(inline), validate=True)
            except (binascii.Error, ValueError):
                raise ApiConfigError(f"{where}: {key}-data is not base64") from None
        elif entry.get(key):
            _readable(where, key, file.parent / str(entry[key]))


def _readable(where: str, key: str, path: Path) -> None:
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise ApiConfigError(f"{where}: {key} {path} cannot be read: {error.strerror}") from None


def _names(entries: Mapping[str, Any]) -> str:
    return ", ".join(sorted(entries)) or "none"
