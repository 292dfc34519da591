"""Go toolchain: selection, errors without Go, builds and native tests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kubewasp.projects import go, toolchain
from kubewasp.projects.installation import install_command
from kubewasp.projects.toolchain import BuildError
from kubewasp.wasm.guest import Guest
from tests.projects.toolchains import fake_tool

MODULE = "module example.test/prefer\n\ngo 1.24\n\nrequire kubewasp.dev/sdk v0.0.0\n"
PLUGIN = """package main

import kubewasp "kubewasp.dev/sdk"

type prefer struct{}

func newPrefer(*kubewasp.Handle) (prefer, error) { return prefer{}, nil }

func (prefer) Score(*kubewasp.CycleState, *kubewasp.Pod, *kubewasp.NodeInfo) (int64, kubewasp.Status) {
	return 7, kubewasp.Success()
}

func init() { kubewasp.Register(newPrefer) }

func main() {}
"""
TEST = """package main

import (
	"os"
	"testing"

	"kubewasp.dev/sdk/kubewasptest"
)

func TestScores(t *testing.T) {
	cluster := kubewasptest.NewCluster(kubewasptest.Node{Name: "a"})
	cycle := kubewasptest.Load(t, cluster, newPrefer, "").Cycle(kubewasptest.Pod{Name: "web"})
	if got := cycle.Score("a"); got != WANT {
		t.Errorf("the score is %d, want %d", got, WANT)
	}
}

func TestParts(t *testing.T) {
	t.Run("good", func(*testing.T) {})
	t.Run("skipped", func(t *testing.T) { t.Skip("not today") })
	t.Run("other", func(t *testing.T) {
		if WANT != 7 {
			t.Fatal("part failed")
		}
	})
}

func TestEndsThePlugin(t *testing.T) {
	if WANT == -1 {
		os.Exit(3)
	}
}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "prefer"
    folder.mkdir()
    (folder / "go.mod").write_text(MODULE)
    (folder / "main.go").write_text(PLUGIN)
    return folder


@pytest.fixture
def only_fake_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole PATH; there is no Go beside Python either."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "python"))
    return folder


# ---------------------------------------------------------------------- which Go


def test_a_missing_go_is_explained(only_fake_go: Path, project: Path, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"require Go 1\.24 or newer \(found: none on the PATH\)") as caught:
        go.build(project, tmp_path / "out.wasm")
    assert str(caught.value).endswith(f"or with `{install_command('go')}`")


def test_an_old_go_is_named_with_its_version(only_fake_go: Path) -> None:
    script = fake_tool(only_fake_go, "go", "echo go version go1.22.3 linux/amd64")
    with pytest.raises(BuildError) as caught:
        go.find()
    assert f"{script} is 1.22.3" in str(caught.value)


def test_a_go_that_does_not_run_is_told_in_its_own_words(only_fake_go: Path) -> None:
    fake_tool(only_fake_go, "go", "echo cannot find GOROOT >&2; exit 2")
    with pytest.raises(BuildError, match="cannot find GOROOT"):
        go.find()


def test_go_is_never_asked_to_download_another_one(only_fake_go: Path) -> None:
    fake_tool(only_fake_go, "go", 'test "$GOTOOLCHAIN" = local && echo go version go1.26.1 linux/amd64')
    assert go.find().version == (1, 26, 1)


def test_the_go_beside_python_is_used_where_that_of_the_path_is_too_old(only_fake_go: Path, tmp_path: Path) -> None:
    fake_tool(only_fake_go, "go", "echo go version go1.19 linux/amd64")
    beside = fake_tool(tmp_path / "venv", "go", "echo go version go1.24 linux/amd64")
    assert go.find().command == str(beside)


def test_a_project_that_wants_a_newer_go_is_told_so(project: Path, tmp_path: Path) -> None:
    (project / "go.mod").write_text(MODULE.replace("1.24", "1.999"))
    with pytest.raises(BuildError, match=r"go\.mod requires Go 1\.999, but .* install a newer Go"):
        go.build(project, tmp_path / "out.wasm")


def test_a_folder_without_go_mod_is_no_project(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"not a Go project: no go\.mod"):
        go.build(tmp_path, tmp_path / "out.wasm")


# ---------------------------------------------------------------------- building


def test_a_project_builds_to_a_guest_that_runs(project: Path, tmp_path: Path) -> None:
    go.build(project, tmp_path / "out.wasm")
    guest = Guest.load(tmp_path / "out.wasm")
    assert guest.hooks == ("score",)
    assert guest.evaluate({"metadata": {"name": "web"}}, [{"metadata": {"name": "a"}}]).scores == {"a": 7}


def test_the_same_sources_give_the_same_bytes_wherever_they_are(project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "some" / "where else"
    shutil.copytree(project, elsewhere)
    go.build(project, tmp_path / "one.wasm")
    go.build(elsewhere, tmp_path / "two.wasm")
    assert (tmp_path / "one.wasm").read_bytes() == (tmp_path / "two.wasm").read_bytes()


def test_settings_of_the_user_do_not_change_what_is_built(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go.build(project, tmp_path / "one.wasm")
    for name, value in {
        "GOFLAGS": "-mod=vendor -tags=x",
        "GOARCH": "386",
        "GOWASM": "satconv",
        "GOWORK": "off",
    }.items():
        monkeypatch.setenv(name, value)
    go.build(project, tmp_path / "two.wasm")
    assert (tmp_path / "one.wasm").read_bytes() == (tmp_path / "two.wasm").read_bytes()


def test_a_compile_error_is_shown_as_the_compiler_said_it(project: Path, tmp_path: Path) -> None:
    (project / "main.go").write_text(PLUGIN.replace("return 7,", "return seven,"))
    with pytest.raises(BuildError) as caught:
        go.build(project, tmp_path / "out.wasm")
    assert str(caught.value) == ("Go compiler errors:\n# example.test/prefer\n./main.go:10:9: undefined: seven")
    assert not (tmp_path / "out.wasm").exists()


def test_a_module_that_is_not_there_is_not_downloaded(project: Path, tmp_path: Path) -> None:
    (project / "main.go").write_text(PLUGIN.replace("import kub", 'import _ "example.test/other"\nimport kub'))
    with pytest.raises(BuildError, match=r"example\.test/other"):
        go.build(project, tmp_path / "out.wasm")


def test_a_go_mod_that_says_where_the_sdk_is_is_believed(project: Path, tmp_path: Path) -> None:
    copied = tmp_path / "sdk"
    shutil.copytree(toolchain.sdk("go"), copied)
    (copied / "broken.go").write_text("package kubewasp\n\nvar broken = missing\n")
    (project / "go.mod").write_text(f"{MODULE}\nreplace kubewasp.dev/sdk => {copied}\n")
    with pytest.raises(BuildError, match="undefined: missing"):
        go.build(project, tmp_path / "out.wasm")
    assert not (project / "go.work").exists()


# ---------------------------------------------------------------------- the workspace in the project


def test_after_a_build_plain_go_test_works_in_the_project(project: Path, tmp_path: Path) -> None:
    (project / "main_test.go").write_text(TEST.replace("WANT", "7"))
    go.build(project, tmp_path / "out.wasm")
    done = subprocess.run(
        [go.find().command, "test", "./..."],
        cwd=project,
        env=os.environ | {"GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_workspace_of_the_author_is_left_alone(project: Path, tmp_path: Path) -> None:
    (project / "go.work").write_text("go 1.24\n\nuse .\n")
    go.build(project, tmp_path / "out.wasm")
    assert (project / "go.work").read_text() == "go 1.24\n\nuse .\n"


def test_our_workspace_follows_the_sdk(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go.link(project)
    moved = tmp_path / "moved sdk"
    shutil.copytree(toolchain.sdk("go"), moved)
    monkeypatch.setattr(toolchain, "sdk", lambda _part: moved)
    go.link(project)
    assert f'"{moved}"' in (project / "go.work").read_text()


def test_a_project_that_asks_for_a_newer_go_than_the_sdk_builds(project: Path, tmp_path: Path) -> None:
    version = go.find().version
    (project / "go.mod").write_text(MODULE.replace("1.24", f"{version[0]}.{version[1]}.{version[2]}"))
    go.build(project, tmp_path / "out.wasm")
    assert (tmp_path / "out.wasm").exists()


# ---------------------------------------------------------------------- native tests


def test_native_tests_give_a_result_each(project: Path) -> None:
    (project / "main_test.go").write_text(TEST.replace("WANT", "7"))
    results = {result.name: result for result in go.test(project)}
    assert list(results) == [
        "TestScores",
        "TestParts/good",
        "TestParts/skipped",
        "TestParts/other",
        "TestEndsThePlugin",
    ]
    assert all(result.passed for name, result in results.items() if name != "TestParts/skipped")
    assert "not today" in results["TestParts/skipped"].skipped


def test_a_failing_test_says_what_it_printed(project: Path) -> None:
    (project / "main_test.go").write_text(TEST.replace("WANT", "8"))
    failed = {result.name: result.failure for result in go.test(project) if result.failure}
    assert failed == {
        "TestScores": "    main_test.go:14: the score is 7, want 8",
        "TestParts/other": "    main_test.go:23: part failed",
    }


def test_tests_that_end_before_their_time_have_failed(project: Path) -> None:
    (project / "main_test.go").write_text(TEST.replace("WANT", "-1"))
    failed = {result.name for result in go.test(project) if result.failure}
    assert "TestEndsThePlugin" in failed


def test_a_test_that_does_not_compile_is_a_build_error_with_the_compilers_words(project: Path) -> None:
    (project / "main_test.go").write_text(TEST.replace("WANT", "missing"))
    with pytest.raises(BuildError) as caught:
        go.test(project)
    assert "./main_test.go:13:37: undefined: missing" in str(caught.value)


def test_a_project_without_tests_has_no_results(project: Path) -> None:
    assert go.test(project) == []
