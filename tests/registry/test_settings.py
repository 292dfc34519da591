from pathlib import Path

import pytest

from kubewasp.registry.errors import DeniedError, RegistryError
from kubewasp.registry.references import Reference
from kubewasp.registry.registries_conf import read_rules, with_user_files
from kubewasp.registry.settings import Mirror, RegistryRule, RegistrySettings, host_name, is_loopback

DIGEST = "sha256:" + "ab" * 32


def _places(settings: RegistrySettings, text: str, *, for_push: bool = False) -> list[str]:
    return [endpoint.name for endpoint in settings.endpoints(Reference.parse(text), for_push=for_push)]


def test_a_registry_without_a_rule_is_asked_itself() -> None:
    (endpoint,) = RegistrySettings().endpoints(Reference.parse("oci://example.com/team/policy"))
    assert (endpoint.host, endpoint.repository, endpoint.insecure) == ("example.com", "team/policy", False)


def test_docker_hub_has_a_server_of_another_name() -> None:
    (endpoint,) = RegistrySettings().endpoints(Reference.parse("oci://docker.io/policy"))
    assert (endpoint.host, endpoint.server, endpoint.repository) == (
        "docker.io",
        "registry-1.docker.io",
        "library/policy",
    )


@pytest.mark.parametrize("host", ["localhost", "localhost:5000", "127.0.0.1:5000", "127.9.9.9", "[::1]:5000"])
def test_this_machine_is_insecure_as_for_docker(host: str) -> None:
    assert is_loopback(host)
    (endpoint,) = RegistrySettings().endpoints(Reference.parse(f"oci://{host}/policy"))
    assert endpoint.insecure


@pytest.mark.parametrize("host", ["localhost.example.com", "128.0.0.1", "example.com", "[fe80::1]", "0.0.0.0"])
def test_other_hosts_are_not(host: str) -> None:
    assert not is_loopback(host)
    assert not RegistrySettings().endpoints(Reference.parse(f"oci://{host}/policy"))[0].insecure


def test_the_longest_prefix_decides() -> None:
    settings = RegistrySettings(
        (
            RegistryRule("*.example.com", insecure=True),
            RegistryRule("a.example.com", location="b.com"),
            RegistryRule("a.example.com/team", location="c.com/copies"),
        )
    )
    assert _places(settings, "oci://a.example.com/team/policy") == ["c.com/copies/policy"]
    assert _places(settings, "oci://a.example.com/teams/policy") == ["b.com/teams/policy"]
    assert _places(settings, "oci://x.example.com/policy") == ["x.example.com/policy"]
    assert settings.endpoints(Reference.parse("oci://x.example.com/policy"))[0].insecure
    assert _places(settings, "oci://example.com/policy") == ["example.com/policy"]


def test_mirrors_come_first_for_pulls_and_have_their_own_rules() -> None:
    settings = RegistrySettings(
        (
            RegistryRule("*.example.com", mirrors=(Mirror("m.com"), Mirror("d.com", pull_from="digest-only"))),
            RegistryRule("m.com", ca_file="/m.pem"),
        )
    )
    assert _places(settings, "oci://a.example.com/x/y") == ["m.com/x/y", "a.example.com/x/y"]
    assert _places(settings, f"oci://a.example.com/x/y@{DIGEST}") == ["m.com/x/y", "d.com/x/y", "a.example.com/x/y"]
    assert _places(settings, "oci://a.example.com/x/y", for_push=True) == ["a.example.com/x/y"]
    assert settings.endpoints(Reference.parse("oci://a.example.com/x"))[0].certificates.ca_files == ("/m.pem",)


def test_a_blocked_registry_is_not_asked() -> None:
    with pytest.raises(DeniedError, match=r"example\.com is blocked"):
        _places(RegistrySettings((RegistryRule("example.com", blocked=True),)), "oci://example.com/policy")


def test_certificates_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "example.com:5000"
    folder.mkdir()
    for name in ("ca.crt", "client.cert", "client.key"):
        (folder / name).touch()
    settings = RegistrySettings(certificate_folders=(tmp_path / "none", tmp_path))
    (endpoint,) = settings.endpoints(Reference.parse("oci://example.com:5000/policy"))
    found = endpoint.certificates
    assert found.ca_files == (str(folder / "ca.crt"),)
    assert (found.cert_file, found.key_file) == (str(folder / "client.cert"), str(folder / "client.key"))


def test_the_name_of_a_host() -> None:
    assert [host_name(host) for host in ("a.b", "a.b:1", "[::1]", "[::1]:5")] == ["a.b", "a.b", "::1", "::1"]


# ---------------------------------------------------------------------- registries.conf


def _conf(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "registries.conf"
    file.write_text(text, encoding="utf-8")
    return file


def test_rules_of_registries_conf(tmp_path: Path) -> None:
    file = _conf(
        tmp_path,
        """
unqualified-search-registries = ["docker.io"]
[[registry]]
prefix = "example.com/team"
location = "internal.example.com:5000/copies"
insecure = true
mirror-by-digest-only = true
[[registry.mirror]]
location = "m1.example.com"
[[registry.mirror]]
location = "m2.example.com/x"
insecure = true
pull-from-mirror = "tag-only"
[[registry]]
location = "bad.example.com"
blocked = true
[[registry]]
prefix = "*.test"
""",
    )
    assert list(read_rules(file)) == [
        RegistryRule(
            "example.com/team",
            "internal.example.com:5000/copies",
            insecure=True,
            mirrors=(Mirror("m1.example.com", pull_from="digest-only"), Mirror("m2.example.com/x", True, "tag-only")),
        ),
        RegistryRule("bad.example.com", blocked=True),
        RegistryRule("*.test"),
    ]


def test_the_first_version_of_registries_conf(tmp_path: Path) -> None:
    file = _conf(
        tmp_path, '[registries.insecure]\nregistries = ["a.com"]\n[registries.block]\nregistries = ["b.com"]\n'
    )
    assert list(read_rules(file)) == [RegistryRule("a.com", insecure=True), RegistryRule("b.com", blocked=True)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("= 5", "not a registries.conf"),
        ("x" * ((1 << 20) + 1), "not a registries.conf"),
        ("registry = [1]", "registry 1: expected a table"),
        ("[[registry]]", "registry 1: no location"),
        ('[[registry]]\nlocation = "https://x"', "registry 1: prefix: expected a host such as"),
        ("[[registry]]\nlocation = 5", "registry 1: location: expected a text"),
        ('[[registry]]\nlocation = "x"\nmirror = 5', "registry 1: mirror: expected tables"),
        ('[[registry]]\nlocation = "x"\n[[registry.mirror]]\nlocation = ""', "mirror 1: location: expected a host"),
        (
            '[[registry]]\nlocation = "x"\n[[registry.mirror]]\nlocation = "y"\npull-from-mirror = "z"',
            'mirror 1: pull-from-mirror: expected all, digest-only, tag-only, got "z"',
        ),
    ],
)
def test_an_invalid_file_is_named_with_its_problem(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(RegistryError, match=problem):
        list(read_rules(_conf(tmp_path, text)))


def test_own_rules_come_before_those_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = _conf(tmp_path, '[[registry]]\nlocation = "a.com"\ninsecure = true\n[[registry]]\nlocation = "b.com"\n')
    monkeypatch.setenv("CONTAINERS_REGISTRIES_CONF", str(file))
    found = with_user_files(RegistrySettings((RegistryRule("a.com", ca_file="/ca"),)))
    assert {rule.prefix: rule.insecure for rule in found.rules} == {"a.com": False, "b.com": False}
    alone = RegistrySettings(uses_user_files=False)
    assert with_user_files(alone) is alone


def test_additions_of_the_user_replace_rules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "containers"
    (folder / "registries.conf.d").mkdir(parents=True)
    (folder / "registries.conf").write_text('[[registry]]\nlocation = "a.com"\n', encoding="utf-8")
    (folder / "registries.conf.d" / "1.conf").write_text(
        '[[registry]]\nlocation = "a.com"\nblocked = true\n', encoding="utf-8"
    )
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    found = with_user_files(RegistrySettings())
    assert {rule.prefix: rule.blocked for rule in found.rules if rule.prefix == "a.com"} == {"a.com": True}
    assert found.certificate_folders[0] == folder / "certs.d"
