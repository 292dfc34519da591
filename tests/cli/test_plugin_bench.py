import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Kubewasp
from tests.guests.build import example, go_guest, wat, wat_text

SMALL = ("--nodes", "4", "--pods", "3")
FIGURES = (
    "load_cold_ms",
    "load_cached_ms",
    "first_cycle_us_per_node",
    "cycle_us",
    "cycle_us_per_node",
    "guest_memory_bytes",
    "size_bytes",
)


def report(kubewasp: Kubewasp, guest: object, *options: object) -> dict[str, Any]:
    ended = kubewasp("plugin", "bench", guest, *SMALL, *options, "-o", "json")
    assert (ended.code, ended.err) == (0, "")
    found: dict[str, Any] = ended.json
    return found


@pytest.mark.parametrize("build", [lambda: example("nodenumber"), lambda: go_guest("nodenumber")], ids=["wat", "go"])
def test_report_has_every_figure(kubewasp: Kubewasp, build: Any) -> None:
    guest = build()
    found = report(kubewasp, guest)
    assert (found["guest"], found["nodes"], found["pods"]) == (str(guest), 4, 3)
    for figure in (*FIGURES, "callback_us_per_node", "speedup"):
        assert found[figure] > 0, figure
    assert {"prefilter", "filter", "score"} <= set(found["hooks_us"])
    assert set(found["hooks_us_per_node"]) == {"filter", "score"}
    assert all(spent > 0 for spent in found["hooks_us"].values())


def test_table_fits_80_columns(kubewasp: Kubewasp) -> None:
    ended = kubewasp("plugin", "bench", example("nodenumber"), *SMALL)
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert max(map(len, lines)) <= 80
    names = [line[:18].strip() for line in lines if line[:18].strip()]
    assert names == [
        "guest",
        "load, cold",
        "load, cached",
        "cycle",
        "per node",
        "prefilter",
        "filter",
        "score",
        "Python callbacks",
        "guest memory",
    ]
    assert "for 4 nodes, median of 3 pods" in ended.out


@pytest.mark.parametrize(
    ("guest", "hooks"),
    [
        ("permit", ["permit"]),
        ("bind", ["bind"]),
        ("only_prefilter", ["prefilter"]),
        ("reserve", ["reserve"]),
        ("all_hooks", None),
    ],
)
def test_hooks_that_the_guest_has_are_measured(kubewasp: Kubewasp, guest: str, hooks: list[str] | None) -> None:
    found = report(kubewasp, wat(guest))
    if hooks is None:
        assert len(found["hooks_us"]) == 10
    else:
        assert list(found["hooks_us"]) == hooks
        assert (found["callback_us_per_node"], found["speedup"]) == (None, None)
    assert all(found[figure] > 0 for figure in FIGURES)


def test_table_of_a_guest_without_hooks_for_nodes_has_no_comparison(kubewasp: Kubewasp) -> None:
    ended = kubewasp("plugin", "bench", wat("permit"), *SMALL)
    assert ended.code == 0
    assert "Python callbacks" not in ended.out


def test_normalizescore_is_measured_on_what_score_said(kubewasp: Kubewasp) -> None:
    found = report(kubewasp, wat("normalizescore"), "--nodes", "3")
    assert set(found["hooks_us"]) == {"score", "normalizescore"}


def test_statuses_do_not_matter(kubewasp: Kubewasp) -> None:
    assert set(report(kubewasp, wat("prescore"))["hooks_us"]) == {"prescore", "score"}


def test_config_and_args_reach_the_guest(kubewasp: Kubewasp) -> None:
    ended = kubewasp("plugin", "bench", go_guest("nodenumber"), *SMALL, "--config", "no object")
    assert (ended.code, ended.out) == (1, "")
    assert "the config is no JSON object: no object" in ended.err
    assert report(kubewasp, go_guest("allhooks"), "--arg", "one")["pods"] == 3


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ("unreachable", "wasm trap: wasm `unreachable` instruction executed"),
        ("(loop $forever (br $forever)) (i32.const 0)", "time limit of 0.05 s exceeded"),
    ],
    ids=["trap", "loop"],
)
@pytest.mark.parametrize("hook", ["prefilter", "filter"])
def test_guest_that_fails_is_not_measured(kubewasp: Kubewasp, hook: str, body: str, cause: str) -> None:
    other = "" if hook == "filter" else '(func (export "filter") (result i32) (i32.const 0))'
    guest = wat_text(f'(module (memory (export "memory") 1) (func (export "{hook}") (result i32) {body}) {other})')
    ended = kubewasp("plugin", "bench", guest, *SMALL, "--limit", "callTimeout=50ms")
    assert (ended.code, ended.out) == (1, "")
    expected = f"error: {guest}: the guest failed during the measurement: wasm: {hook} error: {cause}"
    assert ended.err.splitlines()[0].startswith(expected)
    assert "Traceback" not in ended.err


def test_guest_that_relies_on_prescore_is_compared(kubewasp: Kubewasp) -> None:
    guest = wat_text("""
        (module
          (memory (export "memory") 1)
          (global $ready (mut i32) (i32.const 0))
          (func (export "prescore") (result i32) (global.set $ready (i32.const 1)) (i32.const 0))
          (func (export "score") (result i64)
            (if (i32.eqz (global.get $ready)) (then unreachable))
            (i64.const 0)))
    """)
    assert report(kubewasp, guest)["callback_us_per_node"] > 0


def test_guest_that_minds_the_order_of_its_calls_has_no_comparison(kubewasp: Kubewasp) -> None:
    guest = wat_text("""
        (module
          (memory (export "memory") 1)
          (global $scored (mut i32) (i32.const 0))
          (func (export "prefilter") (result i32) (global.set $scored (i32.const 0)) (i32.const 0))
          (func (export "filter") (result i32)
            (if (global.get $scored) (then unreachable))
            (i32.const 0))
          (func (export "score") (result i64) (global.set $scored (i32.const 1)) (i64.const 0)))
    """)
    found = report(kubewasp, guest)
    assert found["callback_us_per_node"] is None
    assert found["cycle_us_per_node"] > 0


def test_guest_whose_name_is_not_utf8_is_measured(kubewasp: Kubewasp, tmp_path: Path) -> None:
    guest = tmp_path / os.fsdecode(b"\xff.wasm")
    try:
        shutil.copy(wat("filter"), guest)
    except OSError:
        pytest.skip("this file system knows UTF-8 names only")
    assert report(kubewasp, guest)["guest"] == f"{tmp_path}/\ufffd.wasm"
