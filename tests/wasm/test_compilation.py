import logging
import os
from pathlib import Path

import pytest
from wasmtime import Module

from kubewasp.wasm import compilation
from kubewasp.wasm.compilation import CompilationCache
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
    assert compilation.directory() == Path("/somewhere")
    monkeypatch.delenv("KUBEWASP_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert compilation.directory() == Path("/caches/kubewasp")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert compilation.directory() == Path.home() / ".cache" / "kubewasp"


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
    cache = CompilationCache(folder)
    assert cache.key(b"wasm", "stack=1") != cache.key(b"wasm", "stack=2")


def test_another_runtime_is_another_entry(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = CompilationCache(folder)
    before = cache.key(b"wasm", "")
    monkeypatch.setattr(compilation, "version", lambda _: "0.0.1")
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
    CompilationCache(folder).put(key, b"\x7fELF, but of something else")
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
    assert vars(caplog.records[-1])["path"] == str(folder)


def test_what_belongs_to_somebody_else_is_not_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert not load().from_cache


def test_guests_load_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with caplog.at_level(logging.INFO):
        assert not load().from_cache
        assert not load().from_cache
    assert "Compilation cache is not writable" in caplog.text


def test_a_disk_that_fails_while_writing_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        CompilationCache(folder).put("key", b"compiled")
    assert list(folder.iterdir()) == []


# ---------------------------------------------------------------- its size


def test_the_entries_that_were_not_used_for_longest_go_first(tmp_path: Path) -> None:
    cache = CompilationCache(tmp_path / "cache", max_bytes=350)
    for age, key in enumerate(["newest", "older", "oldest"]):
        cache.put(key, bytes(68))
        os.utime(tmp_path / "cache" / f"{key}.cwasm", (1000 - age, 1000 - age))
    assert cache.get("oldest") is not None, "used just now"
    cache.put("one more", bytes(68))
    left = {path.stem for path in (tmp_path / "cache").iterdir()}
    assert left == {"oldest", "newest", "one more"}


def test_what_is_larger_than_the_whole_cache_is_not_kept(tmp_path: Path) -> None:
    cache = CompilationCache(tmp_path / "cache", max_bytes=100)
    cache.put("huge", bytes(1000))
    assert cache.get("huge") is None
