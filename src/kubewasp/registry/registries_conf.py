"""Files of the machine and the user: containers' registries.conf (both versions), certs.d."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kubewasp.k8s.errors import quoted
from kubewasp.registry.errors import RegistryError
from kubewasp.registry.references import is_host
from kubewasp.registry.settings import PULL_FROM, Mirror, RegistryRule, RegistrySettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_MAX_BYTES: Final = 1 << 20
_SYSTEM: Final = Path("/etc/containers")
_DOCKER: Final = Path("/etc/docker")


def with_user_files(settings: RegistrySettings) -> RegistrySettings:
    """The settings with the rules of registries.conf behind their own, and the usual folders of certificates."""
    if not settings.uses_user_files:
        return settings
    home = _home()
    rules = {rule.prefix: rule for rule in _rules(home)}
    rules.update((rule.prefix, rule) for rule in settings.rules)
    folders = (home / "certs.d", _SYSTEM / "certs.d", _DOCKER / "certs.d")
    return RegistrySettings(
        tuple(rules.values()),
        settings.credential_files,
        (*settings.certificate_folders, *folders),
        settings.timeout,
        settings.uses_user_files,
    )


def _home() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "containers"


def _rules(home: Path) -> Iterator[RegistryRule]:
    for file in _files(home):
        yield from read_rules(file)


def _files(home: Path) -> Iterator[Path]:
    """The main file, then additions, which replace its rules, in the order of their names."""
    configured = os.environ.get("CONTAINERS_REGISTRIES_CONF") or os.environ.get("REGISTRIES_CONFIG_PATH")
    if configured:
        yield Path(configured)
        return
    main = home / "registries.conf"
    yield from (file for file in (main if main.is_file() else _SYSTEM / "registries.conf",) if file.is_file())
    for folder in (_SYSTEM, home):
        yield from sorted((folder / "registries.conf.d").glob("*.conf"))


def read_rules(file: Path) -> Iterator[RegistryRule]:
    """The rules in a registries.conf."""
    try:
        with file.open("rb") as opened:
            content = opened.read(_MAX_BYTES + 1)
        document = tomllib.loads(content.decode("utf-8")) if len(content) <= _MAX_BYTES else None
    except OSError as error:
        raise RegistryError(f"{file}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        document = None
    if document is None:
        raise RegistryError(f"{file}: not a registries.conf: no TOML of at most 1Mi")
    registries = document.get("registry", [])
    if isinstance(registries, list):
        for number, entry in enumerate(registries):
            yield _rule(entry, f"{file}: registry {number + 1}")
    old = document.get("registries")
    if isinstance(old, dict):
        yield from (RegistryRule(host, insecure=True) for host in _old_list(old, "insecure"))
        yield from (RegistryRule(host, blocked=True) for host in _old_list(old, "block"))


def _old_list(document: Mapping[str, Any], name: str) -> Iterable[str]:
    found = document.get(name)
    hosts = found.get("registries") if isinstance(found, dict) else None
    return [host for host in hosts if isinstance(host, str) and host] if isinstance(hosts, list) else []


def _rule(entry: object, where: str) -> RegistryRule:
    if not isinstance(entry, dict):
        raise RegistryError(f"{where}: expected a table")
    location = _text(entry, "location", where)
    prefix = _text(entry, "prefix", where) or location
    if not prefix or (not location and not prefix.startswith("*.")):
        raise RegistryError(f"{where}: no location")
    check_place(prefix.removeprefix("*."), f"{where}: prefix")
    if location:
        check_place(location, f"{where}: location")
    by_digest = bool(entry.get("mirror-by-digest-only"))
    mirrors = entry.get("mirror", [])
    if not isinstance(mirrors, list):
        raise RegistryError(f"{where}: mirror: expected tables")
    return RegistryRule(
        prefix,
        "" if location == prefix else location,
        insecure=bool(entry.get("insecure")),
        blocked=bool(entry.get("blocked")),
        mirrors=tuple(
            _mirror(mirror, f"{where}: mirror {n + 1}", by_digest=by_digest) for n, mirror in enumerate(mirrors)
        ),
    )


def _mirror(entry: object, where: str, *, by_digest: bool) -> Mirror:
    if not isinstance(entry, dict):
        raise RegistryError(f"{where}: expected a table")
    location = _text(entry, "location", where)
    check_place(location, f"{where}: location")
    wanted = _text(entry, "pull-from-mirror", where) or ("digest-only" if by_digest else "all")
    if wanted not in PULL_FROM:
        raise RegistryError(f"{where}: pull-from-mirror: expected {', '.join(PULL_FROM)}, got {quoted(wanted)}")
    return Mirror(location, insecure=bool(entry.get("insecure")), pull_from=wanted)


def check_place(place: str, where: str) -> None:
    """RegistryError unless the place is a host, with or without the beginning of a repository."""
    if not is_host(place.partition("/")[0]):
        raise RegistryError(f"{where}: expected a host such as example.com:5000, without a scheme, got {quoted(place)}")


def _text(entry: Mapping[str, Any], name: str, where: str) -> str:
    found = entry.get(name, "")
    if not isinstance(found, str):
        raise RegistryError(f"{where}: {name}: expected a text")
    return found.rstrip("/")
