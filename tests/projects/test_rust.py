"""Rust toolchain: discovery, advice, builds and tests with a Cargo of scripted answers; tests/e2e has the real one."""

import json
import shutil
from pathlib import Path

import pytest

from kubewasp.projects import project as projects
from kubewasp.projects import rust, rust_tests, scaffold, toolchain
from kubewasp.projects.toolchain import BuildError
from tests.guests.build import example
from tests.projects.toolchains import fake_tool

VERSION = "cargo 1.95.0 (f2d3ce0bd 2026-03-21)"


class FakeRust:
    """A cargo and a rustc that are the whole PATH, beside a few tools of the shell."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.library, self.calls = folder / "bin", folder / "library", folder / "calls"
        self.bin.mkdir()
        self.library.mkdir()
        (self.library / "libcore-1.rlib").touch()
        for tool in ("sh", "cat", "env"):
            (self.bin / tool).symlink_to(shutil.which(tool) or tool)
        self.script("rustc", f'case "$1" in --print) echo {self.library};; *) echo rustc 1.95.0;; esac')

    def script(self, name: str, text: str) -> None:
        fake_tool(self.bin, name, text, shell=str(self.bin / "sh"))

    def cargo(self, answer: str, *, version: str = VERSION) -> None:
        said = f'[ "$1" = --version ] && echo "{version}" && exit 0'
        self.script("cargo", f'{said}\necho "$@" >> {self.calls}; env > {self.calls}.env\n{answer}')


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeRust:
    made = FakeRust(tmp_path)
    monkeypatch.setenv("PATH", str(made.bin))
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "nowhere"))
    monkeypatch.delenv("RUSTC", raising=False)
    return made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "prefer"
    scaffold.create(folder, "prefer", "rust")
    return folder


def artifact(project: Path, wasm: Path) -> str:
    message = {"reason": "compiler-artifact", "manifest_path": str(project / "Cargo.toml"), "filenames": [str(wasm)]}
    return f"cat <<'END'\nnot JSON\n{json.dumps({'reason': 'build-finished'})}\n{json.dumps(message)}\nEND"


# ---------------------------------------------------------------------- which Rust


def test_a_missing_cargo_is_explained(fake: FakeRust, project: Path) -> None:
    with pytest.raises(
        BuildError, match=r"require Rust 1\.85 or newer .*rustup\.rs, then `rustup target add wasm32-wasip1`"
    ):
        rust.find(project)


def test_cargo_is_found_in_the_folder_of_rustup(fake: FakeRust, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.cargo("")
    home = fake.bin.parent / "home"
    shutil.move(fake.bin, home / "bin")
    fake.bin.mkdir()
    (fake.bin / "sh").symlink_to(shutil.which("sh", path="/bin:/usr/bin") or "sh")
    monkeypatch.setenv("CARGO_HOME", str(home))
    assert rust.find(project).command == str(home / "bin" / "cargo")


def test_an_old_cargo_is_named_with_its_version(fake: FakeRust, project: Path) -> None:
    fake.cargo("", version="cargo 1.70.0")
    with pytest.raises(BuildError, match=r"but .*cargo is cargo 1\.70\.0; run `rustup update`"):
        rust.find(project)


def test_a_missing_target_is_explained(fake: FakeRust, project: Path) -> None:
    fake.cargo("")
    (fake.library / "libcore-1.rlib").unlink()
    with pytest.raises(BuildError, match=r"lacks the target wasm32-wasip1, .*: install Rust from https://rustup\.rs"):
        rust.find(project)
    fake.script("rustup", "")
    with pytest.raises(BuildError, match=r"lacks the target .*: `rustup target add wasm32-wasip1`$"):
        rust.find(project)


def test_a_cargo_that_does_not_run_is_told_in_its_own_words(fake: FakeRust, project: Path) -> None:
    fake.script("cargo", "echo no toolchain is configured >&2; exit 1")
    with pytest.raises(BuildError, match="no toolchain is configured"):
        rust.find(project)


# ---------------------------------------------------------------------- building


def test_the_wasm_of_the_project_is_taken(fake: FakeRust, project: Path, tmp_path: Path) -> None:
    wasm = tmp_path / "prefer.wasm"
    wasm.write_bytes(example("nodenumber").read_bytes())
    fake.cargo(artifact(project, wasm))
    rust.build(project, tmp_path / "out.wasm")
    assert (tmp_path / "out.wasm").read_bytes() == wasm.read_bytes()
    assert "--release --target wasm32-wasip1" in fake.calls.read_text()
    assert (project / ".kubewasp" / "kubewasp-sdk").resolve() == toolchain.sdk("rust").resolve()


def test_folders_of_this_machine_are_remapped_and_flags_of_the_user_left_out(
    fake: FakeRust, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUSTFLAGS", "-Copt-level=0")
    monkeypatch.setenv("CARGO_BUILD_TARGET", "x86_64-unknown-linux-gnu")
    fake.cargo("exit 1")
    with pytest.raises(BuildError):
        rust.build(project, tmp_path / "out.wasm")
    environment = Path(f"{fake.calls}.env").read_text()
    assert f"--remap-path-prefix={project}=/plugin" in environment
    assert "\nRUSTFLAGS=" not in environment
    assert "CARGO_BUILD_TARGET=" not in environment


def test_the_lock_is_kept_where_it_fits_and_else_written_anew(fake: FakeRust, project: Path, tmp_path: Path) -> None:
    wasm = tmp_path / "prefer.wasm"
    wasm.write_bytes(b"wasm")
    (project / "Cargo.lock").touch()
    told = "error: cannot update the lock file because --locked was passed"
    outgrown = f'case "$*" in *--locked*) echo "{told}" >&2; exit 101;; esac'
    fake.cargo(f"{outgrown}\n{artifact(project, wasm)}")
    rust.build(project, tmp_path / "out.wasm")
    first, second = fake.calls.read_text().splitlines()
    assert "--locked" in first
    assert "--locked" not in second


def test_a_compile_error_is_shown_without_the_chatter_of_cargo(fake: FakeRust, project: Path, tmp_path: Path) -> None:
    fake.cargo("echo '   Compiling prefer v0.1.0' >&2; echo 'error: expected item --> src/lib.rs:3:1' >&2; exit 101")
    with pytest.raises(BuildError) as caught:
        rust.build(project, tmp_path / "out.wasm")
    assert str(caught.value) == "Rust compiler errors:\nerror: expected item --> src/lib.rs:3:1"
    assert not (tmp_path / "out.wasm").exists()


def test_a_crate_that_is_no_guest_is_told_so(fake: FakeRust, project: Path, tmp_path: Path) -> None:
    fake.cargo(artifact(project, tmp_path / "libprefer.rlib"))
    with pytest.raises(BuildError, match='needs `crate-type = \\["cdylib", "lib"\\]` under'):
        rust.build(project, tmp_path / "out.wasm")


def test_a_plugin_that_is_not_registered_is_told_so(fake: FakeRust, project: Path, tmp_path: Path) -> None:
    fake.cargo(artifact(project, tmp_path / "libprefer.rlib"))
    library = project / "src" / "lib.rs"
    library.write_text(library.read_text().replace("register!(PreferLabel);", ""))
    with pytest.raises(BuildError, match=r"src: no plugin is registered; write `register!\(TYPE\);`"):
        rust.build(project, tmp_path / "out.wasm")


def test_a_folder_without_cargo_toml_is_no_project(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"not a Rust project: no Cargo\.toml"):
        rust.build(tmp_path, tmp_path / "out.wasm")


# ---------------------------------------------------------------------- the project


def test_a_project_has_the_name_of_its_crate(project: Path) -> None:
    found = projects.find(project)
    assert (found.name, found.language.name) == ("prefer", "rust")


@pytest.mark.parametrize(
    ("text", "problem"), [("[package]", "no package.name"), ("x =", "Cargo.toml: "), ("package = 1", "Cargo.toml: ")]
)
def test_an_invalid_cargo_toml_is_one_line(project: Path, text: str, problem: str) -> None:
    (project / "Cargo.toml").write_text(text)
    with pytest.raises(BuildError) as caught:
        projects.find(project)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_link_follows_the_sdk(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rust.link(project)
    (tmp_path / "moved").mkdir()
    monkeypatch.setattr(toolchain, "sdk", lambda _part: tmp_path / "moved")
    rust.link(project)
    assert (project / ".kubewasp" / "kubewasp-sdk").readlink() == tmp_path / "moved"


def test_an_author_who_has_the_sdk_elsewhere_gets_no_link(project: Path) -> None:
    (project / "Cargo.toml").write_text(
        '[package]\nname = "prefer"\n[dependencies]\nkubewasp-sdk = { path = "vendor" }\n'
    )
    rust.link(project)
    assert not (project / ".kubewasp").exists()


def test_a_folder_that_cannot_be_written_is_told(fake: FakeRust, project: Path, tmp_path: Path) -> None:
    fake.cargo("")
    (project / ".kubewasp").write_text("")
    with pytest.raises(BuildError, match="kubewasp-sdk cannot be written, the SDK of this machine"):
        rust.build(project, tmp_path / "out.wasm")


# ---------------------------------------------------------------------- native tests

PASSED = """
running 3 tests
test tests::good ... ok
test tests::slow ... ignored, takes a day
test tests::panics - should panic ... ok

test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""
FAILED = """
running 2 tests
test tests::good ... ok
test tests::bad ... FAILED

failures:

---- tests::bad stdout ----

thread 'tests::bad' (1234) panicked at src/tests.rs:7:5:
assertion `left == right` failed
  left: 1
 right: 2
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


failures:
    tests::bad

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""


def test_native_tests_give_a_result_each(fake: FakeRust, project: Path) -> None:
    fake.cargo(f"cat <<'END'{PASSED}END")
    results = rust.test(project)
    assert [(result.name, result.passed) for result in results] == [
        ("tests::good", True),
        ("tests::slow", False),
        ("tests::panics", True),
    ]
    assert results[1].skipped == "takes a day"


def test_a_failing_test_says_what_it_printed(fake: FakeRust, project: Path) -> None:
    fake.cargo(f"cat <<'END'{PASSED}{FAILED}END\necho 'error: test failed, to rerun pass `--lib`' >&2; exit 101")
    failed = {result.name: result.failure for result in rust.test(project) if result.failure}
    assert failed == {"tests::bad": "src/tests.rs:7:5:\nassertion `left == right` failed\n  left: 1\n right: 2"}


def test_tests_that_do_not_compile_are_a_build_error(fake: FakeRust, project: Path) -> None:
    fake.cargo("echo 'error[E0425]: cannot find value' >&2; exit 101")
    with pytest.raises(BuildError, match="Rust compiler errors:\nerror\\[E0425\\]: cannot find value"):
        rust.test(project)


def test_tests_that_end_before_their_time_have_failed() -> None:
    found = rust_tests.results(
        "running 2 tests\ntest a ... ok\n", "error: process didn't exit successfully (signal: 6)"
    )
    assert [(result.name, bool(result.failure)) for result in found] == [("a", False), ("all tests", True)]
    assert "signal: 6" in found[1].failure


def test_a_project_without_tests_has_no_results(fake: FakeRust, project: Path) -> None:
    fake.cargo("echo; echo running 0 tests; echo; echo 'test result: ok. 0 passed; 0 failed'")
    assert rust.test(project) == []
