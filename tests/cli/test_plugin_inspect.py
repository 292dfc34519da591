import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Kubewasp
from tests.guests import HOOKS
from tests.guests.build import c_guest, example, go_guest, wat, wat_text


def report(kubewasp: Kubewasp, guest: object, *options: object) -> dict[str, Any]:
    ended = kubewasp("plugin", "inspect", guest, "-o", "json", *options)
    assert (ended.code, ended.err) == (0, "")
    found: dict[str, Any] = ended.json
    return found


def facts(kubewasp: Kubewasp, guest: object, *options: object) -> dict[str, str]:
    """The table, a value that goes over several lines put together."""
    ended = kubewasp("plugin", "inspect", guest, *options)
    assert (ended.code, ended.err) == (0, "")
    return table(ended.out)


def table(printed: str) -> dict[str, str]:
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 80
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        name = line[:11].strip() or name
        found[name] = f"{found.get(name, '')} {line[11:].strip()}".strip()
    return found


@pytest.mark.parametrize("build", [lambda: wat("filter"), lambda: go_guest("nodenumber"), lambda: c_guest("labels")])
def test_report_tells_what_the_guest_is(kubewasp: Kubewasp, build: Any) -> None:
    guest: Path = build()
    found = report(kubewasp, guest)
    content = guest.read_bytes()
    assert found["kind"] == "core module, classic ABI"
    assert found["size_bytes"] == len(content)
    assert found["sha256"] == hashlib.sha256(content).hexdigest()
    assert "filter" in found["hooks"]
    assert found["imports"]["k8s.io/scheduler"]
    assert found["memory_bytes"] % 65536 == 0
    assert found["memory_max_bytes"] is None
    assert found["load_ms"] > 0
    assert found["error"] is None


def test_report_tells_limits(kubewasp: Kubewasp) -> None:
    limits = report(kubewasp, wat("filter"), "--limit", "callTimeout=250ms", "--limit", "memory=64Mi")["limits"]
    assert (limits["callTimeout"], limits["startTimeout"], limits["memory"]) == (0.25, 10, 64 * 2**20)


def test_report_of_a_go_guest(kubewasp: Kubewasp) -> None:
    found = report(kubewasp, go_guest("nodenumber"))
    assert found["producers"]["language"][0].startswith("Go go1.")
    assert found["hooks"] == ["enqueue", "prefilter", "filter", "postfilter", "prescore", "score", "permit", "bind"]
    assert found["start"] == ["_initialize"]
    assert "fd_write" in found["imports"]["wasi_snapshot_preview1"]
    assert found["events"] == ["Node Add"]
    assert found["warnings"] == []


def test_report_of_a_c_guest(kubewasp: Kubewasp) -> None:
    found = report(kubewasp, c_guest("labels"))
    assert found["hooks"] == ["filter", "score"]
    assert found["imports"]["k8s.io/api"] == ["node"]
    assert (found["start"], found["events"], found["warnings"]) == ([], ["any event"], [])


def test_table_of_a_go_guest(kubewasp: Kubewasp) -> None:
    guest = go_guest("nodenumber")
    found = facts(kubewasp, guest)
    assert found["kind"] == "core module, classic ABI"
    assert f"({guest.stat().st_size} bytes)" in found["size"]
    assert found["sha256"] == hashlib.sha256(guest.read_bytes()).hexdigest()
    assert "Go cmd/compile go1." in found["toolchain"]
    assert found["hooks"].startswith("enqueue, prefilter, filter")
    assert "k8s.io/klog: log" in found["imports"]
    assert "limit 256Mi" in found["memory"]
    assert "callTimeout 1 s" in found["limits"]
    assert " ms (" in found["load time"]
    assert found["events"] == "Node Add"


def test_table_of_a_wat_guest(kubewasp: Kubewasp) -> None:
    found = facts(kubewasp, wat("all_hooks"))
    assert found["toolchain"] == "unknown (no producers section)"
    assert found["hooks"] == ", ".join(HOOKS)
    assert found["start"] == "none"
    assert found["memory"] == "64Ki initial, limit 256Mi"
    assert found["events"] == "any event"


def test_guest_in_text_is_inspected_as_what_it_becomes(kubewasp: Kubewasp, tmp_path: Path) -> None:
    text = tmp_path / "filter.wat"
    text.write_text('(module (memory (export "memory") 1 2) (func (export "filter") (result i32) (i32.const 0)))')
    found = report(kubewasp, text)
    assert found["memory_max_bytes"] == 2 * 65536
    assert facts(kubewasp, text)["memory"] == "64Ki initial, maximum 128Ki"


def test_events_are_told_by_name(kubewasp: Kubewasp) -> None:
    assert report(kubewasp, wat("enqueue"))["events"] == ["Node Add/UpdateNodeLabel", "Pod Delete"]
    assert facts(kubewasp, wat("enqueue"))["events"] == "Node Add/UpdateNodeLabel; Pod Delete"


def test_start_functions_and_what_they_log_are_told(kubewasp: Kubewasp) -> None:
    assert report(kubewasp, wat("start_exit0"))["start"] == ["_start"]
    found = report(kubewasp, wat("start_section"))
    assert len(found["start"]) == 1
    [line] = found["start_logs"]
    assert line in kubewasp("plugin", "inspect", wat("start_section")).out


def test_second_load_comes_from_the_cache(kubewasp: Kubewasp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(tmp_path / "cache"))
    assert [report(kubewasp, wat("filter"))["from_cache"] for _ in range(2)] == [False, True]


MEMORY = '(memory (export "memory") 1)'
POD = '(import "k8s.io/scheduler" "currentPod" (func (param i32 i32) (result i32)))'
FILTER = '(func (export "filter") (result i32) (i32.const 0))'


@pytest.mark.parametrize(
    ("parts", "warning"),
    [
        ((POD, MEMORY, FILTER), None),
        ((MEMORY, FILTER), "no k8s.io import: the guest cannot read pods or nodes"),
        (
            (POD, MEMORY, FILTER, '(func (export "prescore") (result i32) (i32.const 0))'),
            "prescore is never called without score",
        ),
        (
            (POD, MEMORY, FILTER, '(func (export "normalizescore") (result i32) (i32.const 0))'),
            "normalizescore is never called without score",
        ),
        (
            (POD, MEMORY, FILTER, '(func (export "addpod") (result i32) (i32.const 0))'),
            "addpod is never called without prefilter",
        ),
        ((POD, MEMORY, FILTER, '(func (export "unreserve"))'), None),
        ((POD, MEMORY, FILTER, '(func (export "postbind"))'), None),
        (
            (
                POD,
                '(import "wasi_snapshot_preview1" "fd_prestat_get" (func (param i32 i32) (result i32)))',
                MEMORY,
                FILTER,
            ),
            None,
        ),
        (
            (
                POD,
                '(import "wasi_snapshot_preview1" "path_open"'
                " (func (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))",
                MEMORY,
                FILTER,
            ),
            "path_open: files and sockets are not available, these calls fail",
        ),
        ((POD, '(memory (export "memory") 2049)', FILTER), "initial memory is more than half of the limit (256Mi)"),
    ],
    ids=[
        "none",
        "no-import",
        "prescore",
        "normalizescore",
        "addpod",
        "unreserve",
        "postbind",
        "fd_prestat",
        "path_open",
        "memory",
    ],
)
def test_warnings_tell_what_will_not_work(kubewasp: Kubewasp, parts: tuple[str, ...], warning: str | None) -> None:
    guest = wat_text(f"(module {' '.join(parts)})")
    assert report(kubewasp, guest)["warnings"] == ([] if warning is None else [warning])
    assert facts(kubewasp, guest).get("warning") == warning


@pytest.mark.parametrize("guest", ["start_exit1", "start_trap", "start_loop", "enqueue_trap"])
def test_guest_that_fails_at_its_start_is_told_about_all_the_same(kubewasp: Kubewasp, guest: str) -> None:
    limit = ["--limit", "startTimeout=100ms"]
    ended = kubewasp("plugin", "inspect", wat(guest), *limit, "-o", "json")
    assert ended.code == 1
    assert ended.json["hooks"][-1] == "filter"
    assert ended.json["error"].startswith("wasm: ")
    assert ended.err.startswith("error: ")
    assert ended.json["error"] in ended.err
    ended = kubewasp("plugin", "inspect", wat(guest), *limit)
    assert ended.code == 1
    assert table(ended.out)["kind"] == "core module, classic ABI"
    assert ended.err.startswith("error: ")


def test_control_characters_in_a_toolchains_name_are_escaped(kubewasp: Kubewasp, tmp_path: Path) -> None:
    section = b"\x09producers\x01\x08language\x01\x06\x1b[31mX\x01\x07"
    module = wat("filter").read_bytes() + bytes([0, len(section)]) + section
    guest = tmp_path / "guest.wasm"
    guest.write_bytes(module)
    ended = kubewasp("plugin", "inspect", guest)
    assert ended.code == 0
    assert "\\x1b[31mX \\x07" in ended.out
    assert "\x1b" not in ended.out


def test_an_import_that_is_there_twice_is_listed_once(kubewasp: Kubewasp) -> None:
    text = f'(module {POD} {POD} (memory (export "memory") 1) {FILTER})'
    found = kubewasp("plugin", "inspect", wat_text(text), "-o", "json").json
    assert found["imports"] == {"k8s.io/scheduler": ["currentPod"]}


def test_a_limit_that_is_too_small_names_the_option(kubewasp: Kubewasp) -> None:
    ended = kubewasp("plugin", "inspect", example("nodenumber"), "--limit", "guestSize=100")
    assert ended.err.endswith("is larger than 100 bytes; raise it with --limit guestSize=\n")
