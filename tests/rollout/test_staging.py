"""Staging: guests loaded once, tags resolved before they are fetched, bad versions left out, trust of kept copies."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubewasp.framework.config.model import ConfigError, SchedulerConfig
from kubewasp.framework.config.reading import read_config
from kubewasp.framework.observer import NO_OBSERVER
from kubewasp.rollout.ledger import BadVersion, Ledger
from kubewasp.rollout.release import Release, ReleaseKey, settings_digest
from kubewasp.rollout.staging import Stager, is_tag_followed
from kubewasp.trust.policy import Rule, TrustPolicy
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest_log import LOGGER_SINK
from kubewasp.wasm.source import FetchedGuest
from tests.rollout.policies import wasm
from tests.scheduler.building import HEAD

TAG = "oci://registry.example/policy:v1"


def digest(content: bytes) -> str:
    import hashlib

    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def manifest(content: bytes) -> str:
    return digest(b"manifest of " + content)


class Registry:
    """One tag. Implements `Sources`."""

    def __init__(self, content: bytes) -> None:
        self.versions = {manifest(content): content}
        self.tag = content
        self.asked: list[str] = []
        self.is_away = False

    def push(self, content: bytes) -> None:
        self.versions[manifest(content)] = content
        self.tag = content

    def resolve(self, source: str) -> str:
        self.asked.append(f"resolve {source}")
        if self.is_away:
            raise GuestLoadError("wasm: cannot load: registry is away")
        return manifest(self.tag)

    def fetch(self, source: Any, *, sha256: Any = None, max_bytes: int, pull_policy: Any = None) -> FetchedGuest:
        self.asked.append(f"fetch {source}")
        reference = str(source).partition("@")[2] or manifest(self.tag)
        content = self.versions[reference]
        return FetchedGuest(content, digest(content), str(source), reference, reference)


def config(url: str = TAG, *, profiles: int = 1, **args: Any) -> SchedulerConfig:
    entry = {"name": "policy", "args": {"guestURL": url, **args}}
    plugins = {"multiPoint": {"enabled": [{"name": "policy"}]}}
    made = [{"schedulerName": f"p{n}", "plugins": plugins, "pluginConfig": [entry]} for n in range(profiles)]
    return read_config({**HEAD, "profiles": made})


def stager(source: Any, ledger: Ledger | None = None) -> Stager:
    return Stager(ledger or Ledger(None), NO_OBSERVER, LOGGER_SINK, make_sources=lambda _config: source)


def only(releases: dict[tuple[str, str], Release]) -> Release:
    [found] = releases.values()
    return found


def test_profiles_with_the_same_plugin_share_its_guest() -> None:
    found = stager(Registry(wasm("v1"))).stage(config(profiles=3), ())
    assert len(found) == 3
    assert len({id(release.guest) for release in found.values()}) == 1


def test_an_unmoved_tag_is_resolved_and_not_fetched() -> None:
    source = Registry(wasm("v1"))
    stage = stager(source)
    first = only(stage.stage(config(), ()))
    source.asked.clear()
    again = only(stage.stage(config(), [first]))
    assert again.guest is first.guest
    assert source.asked == [f"resolve {TAG}"]


def test_a_moved_tag_is_fetched_by_the_digest_that_it_was_resolved_to() -> None:
    source = Registry(wasm("v1"))
    stage = stager(source)
    first = only(stage.stage(config(), ()))
    source.push(wasm("v2"))
    source.asked.clear()
    moved = only(stage.stage(config(), [first]))
    assert moved.guest is not first.guest
    assert source.asked == [f"resolve {TAG}", f"fetch {TAG}@{manifest(wasm('v2'))}"]
    assert moved.reference == manifest(wasm("v2"))


def test_a_registry_that_is_away_is_no_reason_to_refuse_other_changes(caplog: pytest.LogCaptureFixture) -> None:
    source = Registry(wasm("v1"))
    stage = stager(source)
    first = only(stage.stage(config(), ()))
    source.is_away = True
    assert only(stage.stage(config(rollout={"shadow": "1%"}), [first])).guest is first.guest
    assert "Tag not checked" in caplog.text
    with pytest.raises(ConfigError, match='plugin "policy": wasm: cannot load: registry is away'):
        stage.stage(config(guestConfig="other"), [first])


class Signed(Registry):
    """The same, with a policy that names the trusted manifests."""

    trusted: frozenset[str] = frozenset()

    def fetch(self, source: Any, **options: Any) -> FetchedGuest:
        found = super().fetch(source, **options)
        if found.version not in self.trusted:
            raise GuestLoadError("wasm: not trusted")
        return found


@pytest.mark.parametrize("is_away", [False, True])
def test_an_unmoved_tag_is_verified_again_with_another_trust_policy(is_away: bool) -> None:
    """Without the registry as well: content and signatures may be in the local store."""
    source = Signed(wasm("v1"))
    source.trusted = frozenset({manifest(wasm("v1"))})
    stage, before = stager(source), replace(config(), trust=TrustPolicy(Rule(name="before")))
    first = only(stage.stage(before, ()))
    source.is_away = is_away
    source.asked.clear()
    assert only(stage.stage(before, [first])) is first
    assert source.asked == [f"resolve {TAG}"]
    after = replace(before, trust=TrustPolicy(Rule(name="after")))
    checked = only(stage.stage(after, [first]))
    assert checked.guest is first.guest
    assert source.asked[2:] == [f"fetch {TAG}@{first.reference}"]
    source.trusted = frozenset()
    assert only(stage.stage(after, [checked])) is checked, "this policy has accepted it"
    with pytest.raises(ConfigError, match='plugin "policy": wasm: not trusted'):
        stage.stage(before, [checked])


def test_a_version_in_use_is_verified_again_where_a_bad_one_is_left_out() -> None:
    source, ledger = Signed(wasm("v1")), Ledger(None)
    source.trusted = frozenset({manifest(wasm("v1")), manifest(wasm("v2"))})
    stage = stager(source, ledger)
    first = only(stage.stage(config(), ()))
    source.push(wasm("v2"))
    bad(ledger, wasm("v2"))
    source.trusted = frozenset({manifest(wasm("v2"))})
    with pytest.raises(ConfigError, match="not trusted"):
        stage.stage(replace(config(), trust=TrustPolicy()), [first])


def test_a_file_that_is_gone_cannot_be_verified_again(tmp_path: Path) -> None:
    file, ledger = tmp_path / "policy.wasm", Ledger(None)
    file.write_bytes(wasm("v1"))
    stage = Stager(ledger, NO_OBSERVER, LOGGER_SINK)
    first = only(stage.stage(config(str(file)), ()))
    file.write_bytes(wasm("v2"))
    bad(ledger, wasm("v2"))
    lenient = replace(config(str(file)), trust=TrustPolicy(Rule(required=False)))
    assert only(stage.stage(lenient, [first])).guest is first.guest
    source = Registry(wasm("v2"))
    with pytest.raises(ConfigError, match="the version in use cannot be verified with the new trust policy"):
        stager(source, ledger).stage(replace(config(str(file)), trust=TrustPolicy()), [first])


def test_other_settings_are_another_release() -> None:
    stage = stager(Registry(wasm("v1")))
    first = only(stage.stage(config(), ()))
    other = only(stage.stage(config(guestConfig="x"), [first]))
    assert other.guest is not first.guest
    assert other.key != first.key
    assert settings_digest(first.settings) == first.key.settings


@pytest.mark.parametrize(
    ("url", "args", "followed"),
    [
        (TAG, {}, True),
        (TAG, {"imagePullPolicy": "Never"}, False),
        (f"{TAG}@{digest(b'x')}", {}, False),
        ("file:///policy.wasm", {}, False),
    ],
)
def test_tags_are_followed_and_digests_are_not(url: str, args: dict[str, Any], followed: bool) -> None:
    [profile] = config(url, **args).profiles
    assert is_tag_followed(profile.wasm["policy"]) is followed


# ---------------------------------------------------------------------- bad and good versions


def bad(ledger: Ledger, content: bytes) -> None:
    [profile] = config().profiles
    key = ReleaseKey(digest(content), settings_digest(profile.wasm["policy"]))
    ledger.condemn("policy", BadVersion(key, manifest(content), "3 errors", 0.0))


def good(ledger: Ledger, content: bytes) -> None:
    [profile] = config().profiles
    key = ReleaseKey(digest(content), settings_digest(profile.wasm["policy"]))
    ledger.accept("policy", key, manifest(content))


def test_a_start_with_a_bad_version_is_one_with_the_last_good_one(caplog: pytest.LogCaptureFixture) -> None:
    source, ledger = Registry(wasm("v1")), Ledger(None)
    source.push(wasm("v2"))
    good(ledger, wasm("v1"))
    bad(ledger, wasm("v2"))
    found = only(stager(source, ledger).stage(config(), ()))
    assert found.digest == digest(wasm("v1"))
    assert "starting the last good one" in caplog.text


def test_a_start_with_a_bad_version_and_no_good_one_is_refused() -> None:
    ledger = Ledger(None)
    bad(ledger, wasm("v1"))
    with pytest.raises(ConfigError, match=r'plugin "policy": \w{12} was rolled back: 3 errors; no earlier version'):
        stager(Registry(wasm("v1")), ledger).stage(config(), ())


def test_a_reload_with_a_bad_version_keeps_the_one_in_use() -> None:
    source, ledger = Registry(wasm("v1")), Ledger(None)
    stage = stager(source, ledger)
    first = only(stage.stage(config(), ()))
    source.push(wasm("v2"))
    bad(ledger, wasm("v2"))
    assert only(stage.stage(config(), [first])) is first


def test_the_last_good_version_of_a_file_is_in_the_ledger(tmp_path: Path) -> None:
    file, ledger = tmp_path / "policy.wasm", Ledger(tmp_path / "ledger" / "x.json")
    file.write_bytes(wasm("v1"))
    stage = Stager(ledger, NO_OBSERVER, LOGGER_SINK)
    first = only(stage.stage(config(str(file)), ()))
    ledger.accept("policy", first.key, first.reference)
    file.write_bytes(wasm("v2"))
    second = only(stage.stage(config(str(file)), ()))
    back = stage.last_good(config(str(file)), second)
    assert back is not None
    assert back.digest == first.digest
    assert back.guest is not first.guest


class Needs:
    """A policy that wants signatures."""

    def needs_signatures(self, source: str) -> bool:
        return True


def test_a_kept_copy_is_not_used_where_signatures_are_needed(tmp_path: Path) -> None:
    file, ledger = tmp_path / "policy.wasm", Ledger(tmp_path / "ledger" / "x.json")
    file.write_bytes(wasm("v1"))
    stage = Stager(ledger, NO_OBSERVER, LOGGER_SINK)
    settings = config(str(file))
    first = only(stage.stage(settings, ()))
    ledger.accept("policy", first.key, first.reference)
    file.write_bytes(wasm("v2"))
    second = only(stage.stage(settings, ()))
    trusting: Any = replace(settings, trust=Needs())  # type: ignore[arg-type]
    assert stage.last_good(trusting, second) is None


def test_guests_of_a_staging_that_fails_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    monkeypatch.setattr("kubewasp.wasm.guest.Guest.close", lambda guest: closed.append(guest.name))
    fine, broken = tmp_path / "fine.wasm", tmp_path / "broken.wasm"
    fine.write_bytes(wasm("v1"))
    broken.write_bytes(b"broken")
    entries = [{"name": path.stem, "args": {"guestURL": str(path)}} for path in (fine, broken)]
    plugins = {"multiPoint": {"enabled": [{"name": "fine"}, {"name": "broken"}]}}
    document = {**HEAD, "profiles": [{"plugins": plugins, "pluginConfig": entries}]}
    with pytest.raises(ConfigError, match='plugin "broken"'):
        Stager(Ledger(None), NO_OBSERVER, LOGGER_SINK).stage(read_config(document), ())
    assert closed == ["fine"]
