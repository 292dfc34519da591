"""Ledger of versions: good and bad ones survive a restart; a file that cannot be used is no reason not to start."""

import hashlib
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.rollout.ledger import BadVersion, Ledger, ledger_file
from kubewasp.rollout.release import ReleaseKey


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


GOOD, BAD = ReleaseKey(digest(b"good"), "s"), ReleaseKey(digest(b"bad"), "s")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rollout" / "ledger.json"


def test_good_and_bad_versions_survive_a_restart(path: Path) -> None:
    ledger = Ledger(path)
    ledger.accept("policy", GOOD, "sha256:manifest")
    ledger.condemn("policy", BadVersion(BAD, "sha256:other", "3 errors", 12.0))
    again = Ledger(path)
    good = again.good("policy")
    assert good is not None
    assert (good.key, good.reference) == (GOOD, "sha256:manifest")
    bad = again.bad("policy", BAD)
    assert bad is not None
    assert (bad.reason, bad.time) == ("3 errors", 12.0)
    assert again.bad("policy", GOOD) is None
    assert again.bad("another", BAD) is None


def test_a_version_is_bad_with_its_settings_only(path: Path) -> None:
    ledger = Ledger(path)
    ledger.condemn("policy", BadVersion(BAD, "r", "errors", 0.0))
    assert ledger.bad("policy", ReleaseKey(BAD.digest, "other settings")) is None


def test_an_accepted_version_is_bad_no_more(path: Path) -> None:
    ledger = Ledger(path)
    ledger.condemn("policy", BadVersion(GOOD, "r", "errors", 0.0))
    ledger.accept("policy", GOOD, "r")
    assert ledger.bad("policy", GOOD) is None


def test_forgiven_versions_may_be_tried_again(path: Path) -> None:
    ledger = Ledger(path)
    ledger.condemn("policy", BadVersion(BAD, "r", "errors", 0.0))
    ledger.forgive()
    assert list(Ledger(path).all_bad()) == []


def test_the_number_of_bad_versions_is_bounded(path: Path) -> None:
    ledger = Ledger(path)
    for number in range(100):
        ledger.condemn("policy", BadVersion(ReleaseKey(digest(b"%d" % number), "s"), "r", "errors", 0.0))
    assert len(list(Ledger(path).all_bad())) == 20
    assert ledger.bad("policy", ReleaseKey(digest(b"99"), "s")) is not None


def test_the_content_of_the_last_good_version_is_kept_and_checked(path: Path) -> None:
    ledger = Ledger(path)
    ledger.keep(GOOD.digest, b"good")
    ledger.keep(BAD.digest, b"bad")
    ledger.accept("policy", GOOD, "r")
    ledger.condemn("policy", BadVersion(BAD, "r", "errors", 0.0))
    again = Ledger(path)
    assert again.wasm(GOOD.digest) == b"good"
    assert again.wasm(BAD.digest) is None
    [kept] = path.parent.glob("*.wasm")
    kept.chmod(0o600)
    kept.write_bytes(b"another")
    assert again.wasm(GOOD.digest) is None
    assert again.wasm("sha256:../../etc/passwd") is None


def test_the_content_of_earlier_versions_is_removed(path: Path) -> None:
    ledger = Ledger(path)
    for content in (b"one", b"two", b"three"):
        ledger.keep(digest(content), content)
        ledger.accept("policy", ReleaseKey(digest(content), "s"), "r")
    assert [file.read_bytes() for file in path.parent.glob("*.wasm")] == [b"three"]


def test_files_are_readable_by_their_owner_only(path: Path) -> None:
    ledger = Ledger(path)
    ledger.keep(GOOD.digest, b"good")
    ledger.accept("policy", GOOD, "r")
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}


def test_a_ledger_that_others_may_write_to_is_not_used(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Ledger(path).accept("policy", GOOD, "r")
    path.chmod(0o666)
    assert Ledger(path).good("policy") is None
    assert "Ledger of versions not read" in caplog.text


def test_a_ledger_that_cannot_be_written_is_a_warning_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    ledger = Ledger(tmp_path / "file" / "ledger.json")
    ledger.accept("policy", GOOD, "r")
    ledger.accept("policy", BAD, "r")
    assert ledger.good("policy") is not None
    assert caplog.text.count("Ledger of versions not written") == 1


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["format", "plugins", "good", "bad", "digest", "settings", "reference", "reason", "time", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
)


@settings(deadline=None)
@given(st.binary(max_size=50) | junk.map(lambda value: json.dumps(value).encode()))
def test_a_damaged_ledger_is_an_empty_one(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.json"
        path.write_bytes(content)
        path.chmod(0o600)
        Path(folder).chmod(0o700)
        assert list(Ledger(path).all_bad()) == [] or b"bad" in content


def test_a_ledger_belongs_to_a_configuration_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(tmp_path))
    one, two = ledger_file("/etc/one.yaml"), ledger_file("/etc/two.yaml")
    assert one != two
    assert one == ledger_file("/etc/one.yaml")
    assert one.parent == tmp_path / "rollout"


def test_a_ledger_in_memory_keeps_nothing() -> None:
    ledger = Ledger(None)
    ledger.keep(GOOD.digest, b"good")
    ledger.accept("policy", GOOD, "r")
    assert ledger.wasm(GOOD.digest) is None
    assert ledger.good("policy") is not None
