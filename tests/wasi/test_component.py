from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kubewasp.wasi import streams
from kubewasp.wasi.capabilities import Capabilities
from kubewasp.wasi.command import Ending, run
from kubewasp.wasi.program import load_program
from kubewasp.wasi.streams import OutputLimitError
from kubewasp.wasm.errors import GuestLoadError
from tests.guests.build import SOURCES, wat_text
from tests.wasi.running import run_file

if TYPE_CHECKING:
    from pathlib import Path

# Component with one body and no other exports.
BARE = """(component
  (core module $main {memory} (func (export "run") (result i32) {body}))
  (core instance $main (instantiate $main))
  (func $run (result (result)) (canon lift (core func $main "run")))
  (instance $run_interface (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $run_interface)))"""


def command() -> Path:
    return wat_text((SOURCES / "wasi" / "command.wat").read_text(), "wasi-command")


def bare(body: str, memory: str = "") -> Path:
    return wat_text(BARE.format(body=body, memory=memory), "wasi-bare")


def test_a_component_sees_the_directories_that_are_granted_and_may_change_just_those(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    ran = run_file(command(), dirs=[f"{tmp_path}/one:/one", f"{tmp_path}/two:two:ro"])
    assert (ran.code, ran.stdout) == (0, "/one r1 w1\n/two r1 w0\n")


def test_a_component_without_a_grant_sees_no_directory() -> None:
    ran = run_file(command())
    assert (ran.outcome.ending, ran.code, ran.stdout) == (Ending.EXITED, 1, "")


@pytest.mark.parametrize("target", ["../outside", "/etc/hostname"])
def test_a_component_does_not_get_out_by_a_link(tmp_path: Path, target: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "outside").touch()
    (tmp_path / "in" / "file").symlink_to(target)
    assert run_file(command(), dirs=[f"{tmp_path}/in:/in"]).stdout == "/in r0 w0\n"


def test_a_component_ends_with_its_time_or_its_fuel() -> None:
    endless = bare("(loop $again (br $again)) (unreachable)")
    ran = run_file(endless, timeout=0.05)
    assert (ran.outcome.ending, ran.code) == (Ending.TIMED_OUT, 124)
    ran = run_file(endless, fuel=1000)
    assert (ran.outcome.ending, ran.code, ran.outcome.fuel_used) == (Ending.OUT_OF_FUEL, 124, 1000)


def test_a_component_that_traps_says_so() -> None:
    ran = run_file(bare("unreachable"))
    assert (ran.outcome.ending, ran.code) == (Ending.TRAPPED, 134)
    assert ran.outcome.message == "wasm trap: wasm `unreachable` instruction executed"


def test_the_memory_of_a_component_is_bounded() -> None:
    grows = bare("(i32.eq (memory.grow (i32.const 100)) (i32.const -1))", "(memory 1)")
    assert run_file(grows).code == 0
    assert run_file(grows, memory=1 << 20).code == 1


def test_what_a_sink_raises_ends_up_with_the_caller(tmp_path: Path) -> None:
    capabilities = Capabilities()
    program = load_program(bare("(i32.const 0)").read_bytes(), capabilities)
    assert run(program, capabilities, stdout=streams.Buffer(0)).exit_code == 0
    with pytest.raises(OutputLimitError, match="over the limit of 3 bytes"):
        run_file_with_limit(tmp_path, 3)


def run_file_with_limit(folder: Path, limit: int) -> None:
    from kubewasp.wasi.capabilities import Preopen

    capabilities = Capabilities(preopens=(Preopen(str(folder), "/long-name"),))
    run(load_program(command().read_bytes(), capabilities), capabilities, stdout=streams.Buffer(limit))


def test_a_component_that_is_no_command_says_what_it_exports() -> None:
    library = wat_text('(component (core module $m) (export "thing" (core module $m)))', "wasi-library")
    with pytest.raises(GuestLoadError, match=r"exports no wasi:cli/run@0\.2\.x; exports: thing"):
        run_file(library)


def test_an_import_that_is_not_wasi_is_named() -> None:
    odd = wat_text('(component (import "other:thing/face@1.0.0" (instance)))', "wasi-odd")
    with pytest.raises(GuestLoadError, match=r"import other:thing/face@1\.0\.0 is not available"):
        run_file(odd)
