"""JavaScript and TypeScript toolchains: discovery, advice, names, native tests. Builds are in tests/e2e."""

import json
import shutil
from pathlib import Path

import pytest

from kubewasp.projects import build_cache, javascript, node, project, scaffold
from kubewasp.projects.toolchain import BuildError, sdk
from tests.projects.toolchains import fake_tool


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    scaffold.create(tmp_path / "mine", "mine", "javascript")
    return tmp_path / "mine"


# ---------------------------------------------------------------------- projects


@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_a_new_project_is_one_of_its_language(tmp_path: Path, language: str) -> None:
    scaffold.create(tmp_path / "mine", "mine", language)
    found = project.find(tmp_path / "mine")
    assert (found.name, found.language.name) == ("mine", language)


def test_a_project_is_named_by_its_package_without_the_scope(folder: Path) -> None:
    (folder / "package.json").write_text('{"name": "@team/policy"}')
    assert project.find(folder).name == "policy"
    for content in ("{}", "[]", '{"name": 3}'):
        (folder / "package.json").write_text(content)
        assert project.find(folder).name == "mine"
    (folder / "package.json").unlink()
    assert project.find(folder).name == "mine"


@pytest.mark.parametrize("content", ["{", "[" * 100_000, "\x00"])
def test_an_invalid_package_file_is_one_clear_error(folder: Path, content: str) -> None:
    (folder / "package.json").write_text(content)
    with pytest.raises(BuildError, match=r"package\.json: "):
        project.find(folder)


def test_a_folder_with_both_languages_is_ambiguous(folder: Path) -> None:
    (folder / "plugin.ts").write_text("")
    with pytest.raises(BuildError, match=r"JavaScript and TypeScript: it has plugin\.js, plugin\.ts"):
        project.find(folder)


def test_packages_and_the_linked_sdk_are_no_sources(folder: Path) -> None:
    before = list(build_cache.contents(folder))
    javascript.JAVASCRIPT.link(folder)
    assert (folder / "node_modules" / "@kubewasp" / "sdk").resolve() == sdk("javascript").resolve()
    assert list(build_cache.contents(folder)) == before
    assert project.find(folder).name == "mine"  # a link out of the project, but ours


def test_a_link_is_renewed_and_an_installed_package_is_kept(folder: Path, tmp_path: Path) -> None:
    place = folder / "node_modules" / "@kubewasp" / "sdk"
    place.parent.mkdir(parents=True)
    place.symlink_to(tmp_path / "elsewhere")
    javascript.JAVASCRIPT.link(folder)
    assert place.resolve() == sdk("javascript").resolve()
    place.unlink()
    place.mkdir()
    javascript.JAVASCRIPT.link(folder)
    assert not place.is_symlink()


# ---------------------------------------------------------------------- tools


def test_a_missing_node_is_advised(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    for work in (javascript.JAVASCRIPT.test, lambda path: javascript.JAVASCRIPT.build(path, tmp_path / "x.wasm")):
        with pytest.raises(BuildError, match=r"require Node\.js 20 or newer \(found: none on the PATH\); install it"):
            work(folder)


@pytest.mark.parametrize(
    ("script", "found"), [("echo v18.19.1", "is 18.19.1"), ("echo hello", ": hello"), ("exit 3", "exit code 3")]
)
def test_an_unsuitable_node_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, found: str) -> None:
    fake_tool(tmp_path / "bin", "node", script)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    with pytest.raises(BuildError) as raised:
        node.find()
    assert found in str(raised.value)
    assert str(tmp_path / "bin" / "node") in str(raised.value)


@pytest.fixture
def _empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(build_cache, "folder", lambda part: tmp_path / "cache" / part)


@pytest.mark.usefixtures("_empty_cache")
def test_tools_are_installed_once_from_the_lock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_tool(
        tmp_path / "bin", "npm", f'echo "$@" >> {tmp_path}/calls; test -f package-lock.json && mkdir node_modules'
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    first, second = node.tools(), node.tools()
    assert first == second
    assert (first / "node_modules").is_dir()
    assert (tmp_path / "calls").read_text().splitlines() == [
        "ci --ignore-scripts --no-audit --no-fund --loglevel=error"
    ]


@pytest.mark.usefixtures("_empty_cache")
def test_a_failed_installation_leaves_nothing_and_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_tool(tmp_path / "bin", "npm", "echo no such host >&2; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    with pytest.raises(BuildError, match="cannot be installed; this needs the npm registry, once:\nno such host"):
        node.tools()
    assert [path.name for path in (tmp_path / "cache" / "node-tools").iterdir()] == ["install.lock"]
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    with pytest.raises(BuildError, match="npm not found"):
        node.tools()


def test_the_lock_pins_contents_and_names_no_registry() -> None:
    lock = json.loads((node.SCRIPTS / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert [name for name, package in packages.items() if not package["integrity"].startswith("sha512-")] == []
    assert [name for name, package in packages.items() if "resolved" in package] == []
    wanted = json.loads((node.SCRIPTS / "package.json").read_text())["dependencies"]
    assert {name: packages[f"node_modules/{name}"]["version"] for name in wanted} == wanted


# ---------------------------------------------------------------------- native tests


def test_the_tests_of_a_new_project_pass_without_any_package(folder: Path) -> None:
    results = javascript.JAVASCRIPT.test(folder)
    assert len(results) == 3
    assert all(result.passed for result in results)


def test_results_have_names_reasons_and_places(folder: Path) -> None:
    (folder / "tests" / "plugin.test.js").write_text("""
import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import Plugin from "../plugin.js";
describe("outer", () => {
  it("passes", () => {});
  it("fails", () => { assert.equal(1, 2); });
});
test("is skipped", { skip: "not here" }, () => {});
test("is planned", { todo: true }, () => { throw new Error("later"); });
test("throws", () => new Plugin().filter(null, null, null));
""")
    results = {result.name: result for result in javascript.JAVASCRIPT.test(folder)}
    assert set(results) == {"outer > passes", "outer > fails", "is skipped", "is planned", "throws"}
    assert results["outer > passes"].passed
    assert "Expected values to be strictly equal:\n\n1 !== 2" in results["outer > fails"].failure
    assert "plugin.test.js:7" in results["outer > fails"].failure
    assert "node:internal" not in results["outer > fails"].failure
    assert results["is skipped"].skipped == "not here"
    assert results["is planned"].skipped
    assert "plugin.js:" in results["throws"].failure


def test_a_test_file_that_cannot_be_loaded_is_a_failed_test(folder: Path) -> None:
    (folder / "tests" / "plugin.test.js").write_text('import "./missing.js";')
    [result] = javascript.JAVASCRIPT.test(folder)
    assert result.name.endswith("plugin.test.js")
    assert result.failure


def test_a_project_without_tests_has_none(folder: Path) -> None:
    shutil.rmtree(folder / "tests")
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "other.test.js").write_text("throw 1")
    assert javascript.JAVASCRIPT.test(folder) == []


def test_the_users_node_settings_have_no_effect(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODE_OPTIONS", "--no-such-option")
    monkeypatch.setenv("NODE_TEST_CONTEXT", "child-v8")
    assert len(javascript.JAVASCRIPT.test(folder)) == 3
