"""`registries:` of a configuration file: reader and writer of the settings of OCI registries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from kubewasp.k8s.duration import format_duration
from kubewasp.registry.references import is_host
from kubewasp.registry.settings import DEFAULT_TIMEOUT, PULL_FROM, Mirror, RegistryRule, RegistrySettings

if TYPE_CHECKING:
    from kubewasp.framework.config.fields import Section
    from kubewasp.registry.settings import PullFrom

    Json = dict[str, Any]

_MAX_TIMEOUT: Final = 3600.0
_PLACE: Final = (
    "must be a host such as example.com:5000, with or without the beginning of repositories, without a scheme"
)


def read_registries(section: Section, folder: Path | None) -> RegistrySettings:
    """The settings in `registries:`. Relative files start at `folder`, or the working directory."""
    return _Reader(section, folder or Path()).read()


class _Reader:
    def __init__(self, section: Section, folder: Path) -> None:
        self._section = section
        self._problems = section.problems
        self._folder = folder

    def read(self) -> RegistrySettings:
        section = self._section
        credentials = self._file(section, "credentialsFile")
        timeout = section.seconds("timeout", DEFAULT_TIMEOUT)
        if not 1 <= timeout <= _MAX_TIMEOUT:
            self._problems.invalid(section.at("timeout"), format_duration(timeout), "must be from 1s to 1h")
        rules = [self._rule(item) for item in section.sections("hosts")]
        uses_user_files = section.boolean("userFiles", True)
        section.refuse_unknown()
        seen: set[str] = set()
        for index, rule in enumerate(rules):
            if rule.prefix in seen:
                self._problems.duplicate(f"{section.at('hosts')}[{index}].host", rule.prefix)
            seen.add(rule.prefix)
        return RegistrySettings(
            tuple(rules),
            credential_files=(credentials,) if credentials else (),
            timeout=timeout,
            uses_user_files=uses_user_files,
        )

    def _rule(self, section: Section) -> RegistryRule:
        rule = RegistryRule(
            prefix=self._place(section, "host"),
            location=self._place(section, "location", is_needed=False),
            insecure=section.boolean("insecure"),
            blocked=section.boolean("blocked"),
            ca_file=self._file(section, "caFile"),
            cert_file=self._file(section, "certFile"),
            key_file=self._file(section, "keyFile"),
            token_hosts=tuple(section.texts("tokenHosts")),
            mirrors=tuple(self._mirror(item) for item in section.sections("mirrors")),
        )
        section.refuse_unknown()
        if rule.insecure and rule.ca_file:
            self._problems.add(
                section.at("insecure"), "an insecure host is not verified, so it has no caFile; remove one"
            )
        if bool(rule.cert_file) != bool(rule.key_file):
            name = "keyFile" if rule.cert_file else "certFile"
            self._problems.required(section.at(name), "a client certificate needs certFile and keyFile")
        for index, host in enumerate(rule.token_hosts):
            if not is_host(host):
                self._problems.invalid(f"{section.at('tokenHosts')}[{index}]", host, "must be a host, without a scheme")
        return rule

    def _mirror(self, section: Section) -> Mirror:
        location = self._place(section, "location")
        insecure = section.boolean("insecure")
        wanted = section.text("pullFrom", "all")
        section.refuse_unknown()
        if wanted not in PULL_FROM:
            self._problems.unsupported(section.at("pullFrom"), wanted, PULL_FROM)
        return Mirror(location, insecure=insecure, pull_from=cast("PullFrom", wanted))

    def _place(self, section: Section, name: str, *, is_needed: bool = True) -> str:
        given = section.text(name).rstrip("/")
        if not given:
            if is_needed:
                self._problems.required(section.at(name))
        elif not is_host(given.removeprefix("*.").partition("/")[0]):
            self._problems.invalid(section.at(name), given, _PLACE)
        return given

    def _file(self, section: Section, name: str) -> str:
        given = section.text(name)
        return str((self._folder / given).absolute()) if given else ""


def written_registries(settings: RegistrySettings) -> Json:
    """Reading the result gives the same settings."""
    document: Json = {
        "credentialsFile": settings.credential_files[0] if settings.credential_files else "",
        "timeout": format_duration(settings.timeout),
        "userFiles": settings.uses_user_files,
        "hosts": [_rule(rule) for rule in settings.rules],
    }
    return {name: value for name, value in document.items() if value not in ("", [])}


def _rule(rule: RegistryRule) -> Json:
    document: Json = {
        "host": rule.prefix,
        "location": rule.location,
        "insecure": rule.insecure,
        "blocked": rule.blocked,
        "caFile": rule.ca_file,
        "certFile": rule.cert_file,
        "keyFile": rule.key_file,
        "tokenHosts": list(rule.token_hosts),
        "mirrors": [
            {"location": mirror.location, "insecure": mirror.insecure, "pullFrom": mirror.pull_from}
            for mirror in rule.mirrors
        ],
    }
    return {name: value for name, value in document.items() if value not in ("", [], False)}
