"""C projects, with zig's C compiler."""

import shutil
import sys
from pathlib import Path

import pytest

from kubewasp.projects import c, installation, project, toolchain
from kubewasp.projects.toolchain import BuildError
from kubewasp.wasm.guest import Guest
from tests.projects.toolchains import fake_tool

PLUGIN = """#include "kubewasp.h"

KW_SCORE(pod, node, score) {
    *score = 7;
    return kw_success();
}
"""
TEST = """#include "main.c"
#include "kubewasp_test.h"

KW_TEST(scores) {
    KWT_NODE(.name = "a");
    kwt_schedule(KWT_POD(.name = "web"));
    KW_EXPECT_INT(kwt_score("a"), WANT);
}

KW_TEST(crashes) {
    if (WANT == -1) __builtin_trap();
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "prefer"
    made.mkdir()
    (made / "main.c").write_text(PLUGIN)
    return made


def probed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str | None) -> None:
    """Only a `zig` on the PATH with this script, or none."""
    monkeypatch.setattr(c.importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    c._probe.cache_clear()
    if script is not None:
        fake_tool(tmp_path, "zig", script)


# ---------------------------------------------------------------------- finding zig


def test_the_package_comes_first() -> None:
    assert c.find().command == (sys.executable, "-m", "ziglang")


def test_zig_of_the_path_is_used_without_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    probed(monkeypatch, tmp_path, "echo 0.13.0")
    assert c.find() == c.Zig((str(tmp_path / "zig"),), "0.13.0")


@pytest.mark.parametrize(
    ("script", "found"),
    [
        (None, r"\(found: none\)"),
        ("echo 0.9.1", r"zig: version 0\.9\.1"),
        ("echo broken >&2; exit 3", "zig: broken"),
        ("exit 3", "zig: exit code 3"),
    ],
)
def test_without_a_usable_zig_there_is_advice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str | None, found: str
) -> None:
    probed(monkeypatch, tmp_path, script)
    with pytest.raises(BuildError, match=found) as caught:
        c.find()
    assert f"`{installation.install_command('c')}`" in str(caught.value)


# ---------------------------------------------------------------------- building


def test_a_project_builds_to_a_guest_that_runs(folder: Path, tmp_path: Path) -> None:
    c.build(folder, tmp_path / "out.wasm")
    guest = Guest.load(tmp_path / "out.wasm")
    assert guest.hooks == ("score",)
    assert guest.evaluate({"metadata": {"name": "web"}}, [{"metadata": {"name": "a"}}]).scores == {"a": 7}
    assert (tmp_path / "out.wasm").stat().st_size < 4096


def test_unused_imports_are_not_in_the_guest(folder: Path, tmp_path: Path) -> None:
    c.build(folder, tmp_path / "out.wasm")
    assert Guest.load(tmp_path / "out.wasm").module.imports == (("kubewasp/v1", "at_hand"),)


def test_the_same_sources_give_the_same_bytes_wherever_they_are(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "main.c").write_text(f'{PLUGIN}\nKW_POST_BIND(pod, node) {{ kw_log(KW_INFO, "%s", __FILE__); }}\n')
    elsewhere = tmp_path / "some" / "where else"
    shutil.copytree(folder, elsewhere)
    c.build(folder, tmp_path / "one.wasm")
    monkeypatch.setenv("CPATH", str(tmp_path))
    c.build(elsewhere, tmp_path / "two.wasm")
    assert (tmp_path / "one.wasm").read_bytes() == (tmp_path / "two.wasm").read_bytes()


def test_all_c_files_but_tests_are_part_of_the_plugin(folder: Path, tmp_path: Path) -> None:
    (folder / "parts").mkdir()
    (folder / "parts" / "seven.c").write_text("int seven(void) { return 8; }\n")
    (folder / "main_test.c").write_text("not C")
    (folder / "build").mkdir()
    (folder / "build" / "old.c").write_text("not C")
    (folder / "main.c").write_text(PLUGIN.replace("= 7", "= seven()").replace("\n\nKW", "\n\nint seven(void);\nKW", 1))
    c.build(folder, tmp_path / "out.wasm")
    found = Guest.load(tmp_path / "out.wasm").evaluate({"metadata": {"name": "web"}}, [{"metadata": {"name": "a"}}])
    assert found.scores == {"a": 8}


def test_a_compile_error_is_shown_as_the_compiler_said_it(folder: Path, tmp_path: Path) -> None:
    (folder / "main.c").write_text(PLUGIN.replace("7", "seven"))
    with pytest.raises(BuildError, match=r"(?s)^C compiler errors:\n.*main\.c:4:14: .*undeclared.*seven"):
        c.build(folder, tmp_path / "out.wasm")
    assert not (tmp_path / "out.wasm").exists()


@pytest.mark.parametrize("name", ["KW_SCROE", "KW_SCORES"])
def test_a_misspelt_hook_is_named_with_its_line(folder: Path, tmp_path: Path, name: str) -> None:
    (folder / "main.c").write_text(PLUGIN.replace("KW_SCORE", name))
    with pytest.raises(BuildError, match=rf"^main\.c:3: {name} is not a hook; did you mean KW_SCORE\?$"):
        c.build(folder, tmp_path / "out.wasm")


def test_macros_of_the_author_are_no_misspelt_hooks(folder: Path, tmp_path: Path) -> None:
    own = PLUGIN.replace("KW_SCORE", "#define KW_SCORES(pod, node, score) KW_SCORE(pod, node, score)\nKW_SCORES")
    (folder / "main.c").write_text(own)
    c.build(folder, tmp_path / "out.wasm")
    assert Guest.load(tmp_path / "out.wasm").hooks == ("score",)


def test_dates_are_refused_as_they_change_the_bytes(folder: Path, tmp_path: Path) -> None:
    (folder / "main.c").write_text(f"{PLUGIN}\nconst char *when = __DATE__;\n")
    with pytest.raises(BuildError, match="not reproducible"):
        c.build(folder, tmp_path / "out.wasm")


def test_a_folder_without_main_c_is_no_project(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"not a C project: no main\.c"):
        c.build(tmp_path, tmp_path / "out.wasm")


def test_the_name_is_that_of_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    found = project.find(Path())
    assert (found.name, found.language.label) == ("prefer", "C")


# ---------------------------------------------------------------------- flags for editors


def test_editors_find_the_header(folder: Path) -> None:
    c.link(folder)
    assert f"-I{toolchain.sdk('c').resolve()}" in (folder / "compile_flags.txt").read_text().splitlines()


def test_flags_of_the_author_are_left_alone(folder: Path) -> None:
    (folder / "compile_flags.txt").write_text("-Imine\n")
    c.link(folder)
    assert (folder / "compile_flags.txt").read_text() == "-Imine\n"


def test_our_flags_follow_the_sdk(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    c.link(folder)
    monkeypatch.setattr(toolchain, "sdk", lambda _part: tmp_path / "moved")
    c.link(folder)
    assert f"-I{tmp_path / 'moved'}" in (folder / "compile_flags.txt").read_text()


# ---------------------------------------------------------------------- native tests


def test_native_tests_give_a_result_each(folder: Path) -> None:
    (folder / "main_test.c").write_text(TEST.replace("WANT", "7"))
    assert [(result.name, result.passed) for result in c.test(folder)] == [("scores", True), ("crashes", True)]


def test_a_failing_test_says_what_it_expected_and_a_crash_is_one_failure(folder: Path) -> None:
    (folder / "main_test.c").write_text(TEST.replace("WANT", "-1"))
    scores, crashes = c.test(folder)
    assert scores.failure == 'main_test.c:7: kwt_score("a") is 7, want -1'
    assert crashes.failure.startswith("the test ended with signal ")


CAREFUL = """#include "kubewasp.h"

static int undone;

KW_SCORE(pod, node, score) {
    *score = kw_pod_priority(pod);
    return kw_success();
}

KW_RESERVE(pod, node) {
    kw_annotate(kw_str("example.com/a"), kw_str("1"));
    return kw_pod_label(pod, "fail").len ? kw_failed("no room") : kw_success();
}

KW_UNRESERVE(pod, node) { undone++; }

KW_POST_BIND(pod, node) {
    if (kw_pod_label(pod, "late").len) kw_annotate(kw_str("example.com/a"), kw_str("2"));
}
"""
CAREFUL_TEST = """#include "main.c"
#include "kubewasp_test.h"

KW_TEST(a_failed_reserve_is_undone) {
    KWT_NODE(.name = "a");
    kwt_result result = kwt_schedule(KWT_POD(.name = "web", .labels = "fail=yes"));
    KW_EXPECT_TEXT(result.hook, "reserve");
    KW_EXPECT_TEXT(result.reason, "no room");
    KW_EXPECT_INT(undone, 1);
    KW_EXPECT_TEXT(kwt_annotation("example.com/a"), "");
}

KW_TEST(scores_have_a_range) {
    KWT_NODE(.name = "a");
    kwt_result result = kwt_schedule(KWT_POD(.name = "web", .priority = 101));
    KW_EXPECT_TEXT(result.reason, "the score of a is 101, not within 0 to 100");
    KW_EXPECT_TEXT(kwt_schedule(KWT_POD(.name = "web", .priority = 100)).node, "a");
    KW_EXPECT_TEXT(kwt_annotation("example.com/a"), "1");
}

KW_TEST(annotations_have_their_hooks) {
    KWT_NODE(.name = "a");
    kwt_schedule(KWT_POD(.name = "web", .labels = "late=yes"));
}
"""


def test_the_fake_host_is_as_strict_as_the_scheduler(folder: Path) -> None:
    (folder / "main.c").write_text(CAREFUL)
    (folder / "main_test.c").write_text(CAREFUL_TEST)
    undone, scores, annotations = c.test(folder)
    assert (undone.failure, scores.failure) == ("", "")
    assert annotations.failure.startswith("kw_annotate is allowed in KW_RESERVE and KW_PRE_BIND only\n")


def test_a_test_that_does_not_compile_is_a_build_error(folder: Path) -> None:
    (folder / "main_test.c").write_text(TEST.replace("WANT", "missing"))
    with pytest.raises(BuildError, match=r"main_test\.c:7:\d+: .*missing"):
        c.test(folder)


def test_a_project_without_tests_has_no_results(folder: Path) -> None:
    assert c.test(folder) == []


@pytest.mark.parametrize(
    ("output", "name", "failure"),
    [
        ("=== RUN one\n=== RUN two\nhm\n", "two", "hm"),
        ("=== RUN one\n--- FAIL one 0.1\n", "one", "the test failed"),
        ("=== RUN one\n", "one", "the test did not finish"),
    ],
)
def test_output_of_broken_programs_is_read(output: str, name: str, failure: str) -> None:
    last = c._results(output)[-1]
    assert (last.name, last.failure) == (name, failure)
