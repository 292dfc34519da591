"""`trust:` of a configuration: keys, identities, rules, and all problems with their paths."""

from pathlib import Path
from typing import Any

import pytest

from kubewasp.framework.config.model import ConfigError, SchedulerConfig
from kubewasp.framework.config.reading import load_config, read_config
from kubewasp.framework.config.trust import written_trust
from kubewasp.framework.config.writing import as_template
from kubewasp.trust.policy import TrustPolicy
from kubewasp.trust.signers import GithubSigner, IdentitySigner, KeySigner
from tests.framework.configs import HEAD
from tests.trust.signing import key

PEM = key().public.pem.decode()
BY_KEY = {"kind": "pubKey", "owner": "team-a", "key": PEM}


def read(trust: Any, folder: Path | None = None) -> SchedulerConfig:
    return read_config({**HEAD, "trust": trust}, folder=folder)


def policy(trust: Any, folder: Path | None = None) -> TrustPolicy:
    found = read(trust, folder).trust
    assert found is not None
    return found


def problems(trust: Any, folder: Path | None = None) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(trust, folder)
    return [str(problem) for problem in caught.value.problems]


def test_a_configuration_without_trust_checks_nothing() -> None:
    assert read_config(dict(HEAD)).trust is None


def test_a_key_is_read_from_text_file_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "team.pub").write_text(PEM)
    monkeypatch.setenv("TEAM_KEY", PEM)
    for setting in ({"key": PEM}, {"keyFile": "keys/team.pub"}, {"keyEnv": "TEAM_KEY"}):
        (signer,) = policy({"allOf": [{"kind": "pubKey", "owner": "team-a"} | setting]}, tmp_path).rule.all_of
        assert isinstance(signer, KeySigner)
        assert (signer.owner, signer.key) == ("team-a", key().public)


def test_a_key_file_starts_at_the_folder_of_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "team.pub").write_text(PEM)
    file = tmp_path / "etc" / "config.yaml"
    file.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "trust: {allOf: [{kind: pubKey, keyFile: team.pub}]}\n"
    )
    monkeypatch.chdir(tmp_path)
    assert load_config(str(file)).trust is not None


def test_identities_annotations_and_rules_are_read(tmp_path: Path) -> None:
    found = policy(
        {
            "required": False,
            "anyOf": {"minimumMatches": 2, "signatures": [BY_KEY, BY_KEY | {"annotations": {"env": "prod"}}]},
            "sources": [{"match": "oci://host/team/", "allOf": [BY_KEY]}, {"match": "/tmp", "required": False}],
        }
    )
    assert (found.rule.required, found.rule.minimum_matches, len(found.rule.any_of)) == (False, 2, 2)
    assert found.rule.any_of[1].annotations == {"env": "prod"}
    assert [(item.pattern.text, item.rule.required, item.rule.name) for item in found.sources] == [
        ("oci://host/team/", True, "trust.sources[0]"),
        ("/tmp", False, "trust.sources[1]"),
    ]


def test_identities_are_read_although_their_root_is_missing() -> None:
    issuer = {"kind": "genericIssuer", "issuer": "https://i", "subject": {"equal": "a@example.com"}}
    assert problems({"allOf": [issuer, {"kind": "githubAction", "owner": "acme", "repo": "x"}]}) == [
        "trust.trustedRoot: Required value: a trusted_root.json of Sigstore, to verify identities with"
    ]


NO_SIGNER = "Required value: no guest could be loaded: name signers in allOf or anyOf, or set required: false"
ONE_KEY = "Required value: one of key (PEM text), keyFile and keyEnv"
SCHEMES = "must begin with oci://, https://, http:// or file://, or be an absolute path, or - for standard input"
AT_MOST_ONE = "must be a number from 1 to 1, the number of signatures"


def by_key(**fields: Any) -> dict[str, Any]:
    return {"allOf": [{"kind": "pubKey", **fields}]}


def any_of(minimum: int) -> dict[str, Any]:
    return {"anyOf": {"minimumMatches": minimum, "signatures": [BY_KEY]}}


@pytest.mark.parametrize(
    ("trust", "path", "text"),
    [
        ({}, "trust.allOf", NO_SIGNER),
        ([], "trust", "expected an object, got a list"),
        ({"allOf": [BY_KEY], "requird": True}, "trust.requird", 'unknown field; did you mean "required"?'),
        (
            {"allOf": [{}]},
            "trust.allOf[0].kind",
            'Unsupported value: "": supported values: "pubKey", "genericIssuer", "githubAction"',
        ),
        (by_key(), "trust.allOf[0].key", ONE_KEY),
        (by_key(key=PEM, keyEnv="X"), "trust.allOf[0].key", ONE_KEY),
        (by_key(key="x"), "trust.allOf[0].key", "no key in PEM (-----BEGIN …-----)"),
        (by_key(keyFile="no.pub"), "trust.allOf[0].keyFile", "no.pub: cannot be read: No such file or directory"),
        (by_key(keyEnv="NO_KEY"), "trust.allOf[0].keyEnv", "NO_KEY: no environment variable of this name"),
        (by_key(key=PEM, annotations={"a": 1}), "trust.allOf[0].annotations", "Invalid value: 1: a: expected a string"),
        ({"anyOf": {}}, "trust.anyOf.signatures", "Required value: at least one"),
        (any_of(2), "trust.anyOf.minimumMatches", f"Invalid value: 2: {AT_MOST_ONE}"),
        (any_of(0), "trust.anyOf.minimumMatches", f"Invalid value: 0: {AT_MOST_ONE}"),
        ({"allOf": [BY_KEY] * 101}, "trust.allOf", "has 101 signers, 100 at most"),
        ({"sources": [{"match": "oci://h"}]}, "trust.sources[0].allOf", NO_SIGNER),
        (
            {"sources": [{"match": "h/x", "required": False}]},
            "trust.sources[0].match",
            f'Invalid value: "h/x": {SCHEMES}',
        ),
        ({"sources": [{"match": "/x", "required": False}] * 2}, "trust.sources[1].match", "Duplicate value: /x"),
    ],
)
def test_a_problem_has_its_path(trust: Any, path: str, text: str, tmp_path: Path) -> None:
    assert problems(trust, tmp_path) == [f"{path}: {text}"]


def test_problems_of_identities_have_their_path() -> None:
    found = problems(
        {
            "allOf": [
                {"kind": "genericIssuer", "subject": {"urlPrefix": "http://x"}},
                {"kind": "genericIssuer", "issuer": "https://i", "subject": {"equal": "a", "urlPrefix": "https://b"}},
                {"kind": "githubAction", "repo": "a/b"},
            ]
        }
    )
    assert found[:-1] == [
        "trust.allOf[0].issuer: Required value: address of the OpenID Connect issuer",
        'trust.allOf[0].subject.urlPrefix: Invalid value: "http://x": must begin with https://',
        "trust.allOf[1].subject: Required value: one of equal and urlPrefix",
        "trust.allOf[2].owner: Required value: owner of the repository on GitHub",
        'trust.allOf[2].repo: Invalid value: "a/b": must be a name on GitHub',
    ]


def test_a_private_key_in_the_policy_is_refused_and_not_shown() -> None:
    pem = key().pkcs8_pem(b"").decode()
    (found,) = problems({"allOf": [{"kind": "pubKey", "key": pem}]})
    assert found == "trust.allOf[0].key: a private key: use the public one (cosign.pub, kubewasp.pub) to verify"


def test_a_written_policy_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "team.pub").write_text(PEM)
    trust = {
        "required": True,
        "allOf": [BY_KEY, {"kind": "pubKey", "keyFile": "team.pub", "annotations": {"env": "prod"}}],
        "sources": [{"match": "oci://h/", "required": False, "anyOf": {"minimumMatches": 1, "signatures": [BY_KEY]}}],
    }
    config = read(trust, tmp_path)
    written = as_template(config)["trust"]
    assert written["allOf"][1]["keyFile"] == str(tmp_path / "team.pub")
    assert read(written).trust == config.trust


def test_identities_are_written_as_in_the_file() -> None:
    from kubewasp.trust.policy import Rule

    found = written_trust(
        TrustPolicy(Rule(all_of=(IdentitySigner("https://i", url_prefix="https://b"), GithubSigner("acme", "x"))))
    )
    assert found["allOf"] == [
        {"kind": "genericIssuer", "issuer": "https://i", "subject": {"urlPrefix": "https://b"}},
        {"kind": "githubAction", "owner": "acme", "repo": "x"},
    ]
