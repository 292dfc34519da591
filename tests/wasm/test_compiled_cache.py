import hashlib
import logging
import os
import tempfile
from pathlib import Path

import pytest
from wasmtime import Module

from kubewasp import user_cache
from kubewasp.wasm import compilation, compiled_cache
from kubewasp.wasm.compiled_cache import CompiledCache
from kubewasp.wasm.core.core_engine import core_engine
from kubewasp.wasm.core.core_module import CoreModule
from kubewasp.wasm.guest_module import load_guest_module
from kubewasp.wasm.limits import Limits
from tests.guests.build import wat


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, all for the test: what an engine itself compiles is not in it."""
    core_engine(Limits().stack)
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def load() -> CoreModule:
    return load_guest_module(wat("filter").read_bytes(), Limits())


def entry(folder: Path) -> Path:
    (found,) = folder.glob("*.cwasm")
    return found


# ---------------------------------------------------------------- where it is


def test_the_environment_says_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", "/somewhere")
    assert user_cache.directory() == Path("/somewhere")
    monkeypatch.delenv("KUBEWASP_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert user_cache.directory() == Path("/caches/kubewasp")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert user_cache.directory() == Path.home() / ".cache" / "kubewasp"


# ---------------------------------------------------------------- guests in it


def test_a_guest_is_compiled_once(folder: Path) -> None:
    assert not load().from_cache
    assert load().from_cache
    entry(folder)


def test_the_cache_is_left_alone_when_asked_to(folder: Path) -> None:
    load()
    assert not load_guest_module(wat("filter").read_bytes(), Limits(), use_cache=False).from_cache


def test_another_guest_is_another_entry(folder: Path) -> None:
    load()
    assert not load_guest_module(wat("score").read_bytes(), Limits()).from_cache
    assert len(list(folder.glob("*.cwasm"))) == 2


def test_other_engine_settings_are_another_entry(folder: Path) -> None:
    cache = CompiledCache(folder)
    assert cache.key(b"wasm", "stack=1") != cache.key(b"wasm", "stack=2")


def test_another_runtime_is_another_entry(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = CompiledCache(folder)
    before = cache.key(b"wasm", "")
    monkeypatch.setattr(compiled_cache, "version", lambda _: "0.0.1")
    assert cache.key(b"wasm", "") != before


def test_the_folder_and_its_entries_are_the_users_only(folder: Path) -> None:
    load()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert entry(folder).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda content: b"", id="empty"),
        pytest.param(lambda content: content[:20], id="shorter than its digest"),
        pytest.param(lambda content: content[:-1], id="truncated"),
        pytest.param(lambda content: content[:-1] + bytes([content[-1] ^ 1]), id="one bit flipped"),
        pytest.param(lambda content: content + b"\0", id="longer"),
    ],
)
def test_a_damaged_entry_is_made_again(damage: object, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    load()
    good = entry(folder).read_bytes()
    entry(folder).write_bytes(damage(good))  # type: ignore[operator]
    assert not load().from_cache
    assert "Ignored a damaged compiled module" in caplog.text
    assert entry(folder).read_bytes() == good
    assert load().from_cache


def test_an_entry_that_the_runtime_refuses_is_made_again(folder: Path) -> None:
    program = load()
    key = entry(folder).stem
    CompiledCache(folder).put(key, b"\x7fELF, but of something else")
    engine = program.engine
    assert compilation.load_compiled(Module, engine.engine, engine.settings, wat("filter").read_bytes()) is None
    assert not load().from_cache
    assert load().from_cache


@pytest.mark.parametrize("what", ["folder", "entry"])
def test_what_others_may_write_is_not_run(what: str, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    load()
    writable = folder if what == "folder" else entry(folder)
    writable.chmod(0o777)
    assert not load().from_cache
    assert "Ignored the compilation cache: other users may write to it" in caplog.text
    assert vars(caplog.records[0])["path"] == str(folder)


def test_what_belongs_to_somebody_else_is_not_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert not load().from_cache


def test_where_nothing_can_be_written_a_private_folder_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(user_cache, "private_folder", lambda: tmp_path / "private")
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with caplog.at_level(logging.INFO):
        assert not load().from_cache
        assert load().from_cache
    assert "Compilation cache is not usable" in caplog.text
    entry(tmp_path / "private")


def test_a_private_folder_is_the_users_only() -> None:
    assert user_cache.private_folder().stat().st_mode & 0o777 == 0o700
    assert CompiledCache(user_cache.private_folder()).is_usable()


def test_a_disk_that_fails_while_writing_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", fail)
        CompiledCache(folder).put("key", b"compiled")
    assert [path.name for path in folder.iterdir()] == ["key"]


# ---------------------------------------------------------------- other users of the machine


def test_only_the_owner_can_read_the_key(folder: Path) -> None:
    load()
    assert (folder / "key").stat().st_mode & 0o777 == 0o600
    assert len((folder / "key").read_bytes()) == 32
    (folder / "key").chmod(0o640)
    assert CompiledCache(folder).get(entry(folder).stem) is None
    assert not CompiledCache(folder).is_usable()


def test_an_entry_made_without_the_key_is_not_run(folder: Path) -> None:
    """A digest proves nothing: anybody can compute it."""
    cache = CompiledCache(folder)
    cache.put("name", b"compiled")
    (folder / "name.cwasm").write_bytes(hashlib.sha256(b"other").digest() + b"other")
    assert cache.get("name") is None


def test_an_entry_cannot_stand_for_another(folder: Path) -> None:
    cache = CompiledCache(folder)
    cache.put("one", b"compiled")
    (folder / "one.cwasm").rename(folder / "two.cwasm")
    assert cache.get("two") is None


@pytest.mark.parametrize("what", ["folder", "entry", "key"])
def test_links_are_not_followed(what: str, folder: Path, tmp_path: Path) -> None:
    cache = CompiledCache(folder)
    cache.put("name", b"compiled")
    assert cache.get("name") == b"compiled"
    original = {"folder": folder, "entry": folder / "name.cwasm", "key": folder / "key"}[what]
    original.rename(tmp_path / "elsewhere")
    original.symlink_to(tmp_path / "elsewhere")
    assert cache.get("name") is None


def test_a_folder_exchanged_while_it_is_read_changes_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner of the parent folder may put another folder in its place after the check."""
    cache = CompiledCache(folder)
    cache.put("name", b"compiled")
    check = user_cache.check_ours

    def exchange(*args: object, **kwargs: object) -> None:
        check(*args, **kwargs)  # type: ignore[arg-type]
        if folder.exists():
            folder.rename(tmp_path / "original")

    monkeypatch.setattr(user_cache, "check_ours", exchange)
    assert cache.get("name") == b"compiled"
    assert not folder.exists()


def test_a_pipe_in_place_of_an_entry_blocks_nothing(folder: Path) -> None:
    cache = CompiledCache(folder)
    cache.put("name", b"compiled")
    (folder / "name.cwasm").unlink()
    os.mkfifo(folder / "name.cwasm", 0o600)
    assert cache.get("name") is None


def test_the_first_of_two_keys_made_at_once_stays(folder: Path) -> None:
    cache = CompiledCache(folder)
    assert cache.is_usable()
    key = (folder / "key").read_bytes()
    with cache._opened() as (number, _):
        user_cache.write_file(number, "key", [bytes(32)], replace=False)
    assert (folder / "key").read_bytes() == key


# ---------------------------------------------------------------- its size


def test_the_entries_that_were_not_used_for_longest_go_first(tmp_path: Path) -> None:
    cache = CompiledCache(tmp_path / "cache", max_bytes=350)
    for age, key in enumerate(["newest", "older", "oldest"]):
        cache.put(key, bytes(68))
        os.utime(tmp_path / "cache" / f"{key}.cwasm", (1000 - age, 1000 - age))
    assert cache.get("oldest") is not None, "used just now"
    cache.put("one more", bytes(68))
    left = {path.stem for path in (tmp_path / "cache").glob("*.cwasm")}
    assert left == {"oldest", "newest", "one more"}


def test_what_is_larger_than_the_whole_cache_is_not_kept(tmp_path: Path) -> None:
    cache = CompiledCache(tmp_path / "cache", max_bytes=100)
    cache.put("huge", bytes(1000))
    assert cache.get("huge") is None


def test_where_no_folder_can_be_written_guests_load_without_a_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container with a read-only file system and no volume."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(tmp_path / "file" / "cache"))
    user_cache.private_folder.cache_clear()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    try:
        assert not load().from_cache
        large = wat("imports").read_bytes()
        assert len(large) > compilation.IN_PROCESS
        assert not load_guest_module(large, Limits()).from_cache
    finally:
        user_cache.private_folder.cache_clear()
