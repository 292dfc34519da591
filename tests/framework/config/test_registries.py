from pathlib import Path
from typing import Any

import pytest

from kubewasp.framework.config.fields import Problems, Section
from kubewasp.framework.config.model import API_VERSION, KIND, ConfigError
from kubewasp.framework.config.reading import read_config
from kubewasp.framework.config.registries import read_registries, written_registries
from kubewasp.framework.config.writing import as_template
from kubewasp.registry.settings import Mirror, RegistryRule, RegistrySettings

DOCUMENT: dict[str, Any] = {
    "credentialsFile": "secret/.dockerconfigjson",
    "timeout": "1m0s",
    "userFiles": False,
    "hosts": [
        {"host": "example.com:5000", "caFile": "ca.pem", "certFile": "c.pem", "keyFile": "k.pem"},
        {"host": "test.local", "insecure": True, "tokenHosts": ["auth.local:8443"]},
        {
            "host": "*.example.com",
            "location": "internal.example.com/x",
            "mirrors": [{"location": "m.example.com", "insecure": True, "pullFrom": "digest-only"}],
        },
        {"host": "bad.example.com", "blocked": True},
    ],
}


def _read(document: Any, folder: Path | None = Path("/etc/kw")) -> RegistrySettings:
    problems = Problems()
    found = read_registries(Section(document, "registries", problems), folder)
    problems.raise_if_any("")
    return found


def test_all_settings_are_read() -> None:
    assert _read(DOCUMENT) == RegistrySettings(
        (
            RegistryRule(
                "example.com:5000", ca_file="/etc/kw/ca.pem", cert_file="/etc/kw/c.pem", key_file="/etc/kw/k.pem"
            ),
            RegistryRule("test.local", insecure=True, token_hosts=("auth.local:8443",)),
            RegistryRule(
                "*.example.com",
                "internal.example.com/x",
                mirrors=(Mirror("m.example.com", insecure=True, pull_from="digest-only"),),
            ),
            RegistryRule("bad.example.com", blocked=True),
        ),
        credential_files=("/etc/kw/secret/.dockerconfigjson",),
        timeout=60.0,
        uses_user_files=False,
    )


def test_what_is_written_is_read_as_the_same() -> None:
    settings = _read(DOCUMENT)
    assert _read(written_registries(settings), Path("/elsewhere")) == settings
    assert _read(written_registries(RegistrySettings())) == RegistrySettings()


def test_a_configuration_keeps_its_registries() -> None:
    head = {"apiVersion": API_VERSION, "kind": KIND}
    config = read_config({**head, "registries": DOCUMENT}, folder=Path("/etc/kw"))
    assert read_config(as_template(config)).registries == config.registries == _read(DOCUMENT)
    assert "registries" not in as_template(read_config(head))


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ([], "registries: expected an object"),
        ({"hots": []}, 'registries.hots: unknown field; did you mean "hosts"?'),
        ({"timeout": "0s"}, 'registries.timeout: Invalid value: "0s": must be from 1s to 1h'),
        ({"hosts": [{}]}, "registries.hosts[0].host: Required value"),
        ({"hosts": [{"host": "https://x"}]}, 'registries.hosts[0].host: Invalid value: "https://x": must be a host'),
        ({"hosts": [{"host": "x"}, {"host": "x"}]}, "registries.hosts[1].host: Duplicate value"),
        ({"hosts": [{"host": "x", "insecure": True, "caFile": "c"}]}, "an insecure host is not verified"),
        ({"hosts": [{"host": "x", "certFile": "c"}]}, "registries.hosts[0].keyFile: Required value"),
        ({"hosts": [{"host": "x", "keyFile": "c"}]}, "registries.hosts[0].certFile: Required value"),
        ({"hosts": [{"host": "x", "tokenHosts": ["http://y"]}]}, "registries.hosts[0].tokenHosts[0]: Invalid value"),
        ({"hosts": [{"host": "x", "mirrors": [{}]}]}, "registries.hosts[0].mirrors[0].location: Required value"),
        (
            {"hosts": [{"host": "x", "mirrors": [{"location": "y", "pullFrom": "z"}]}]},
            'pullFrom: Unsupported value: "z": supported values: "all", "digest-only", "tag-only"',
        ),
    ],
)
def test_a_problem_is_named_with_its_place(document: Any, problem: str) -> None:
    with pytest.raises(ConfigError) as error:
        _read(document)
    assert problem in str(error.value)
