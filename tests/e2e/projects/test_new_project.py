"""From a new project to a placement with the real toolchains, as in docs/plugins.md."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.e2e.commands import Ended, run
from tests.guests.build import ROOT, rust_target
from tests.test_docs import FENCE, PLAIN, commands, skeleton

PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
NAME = "prefer-disk"  # as on the page: the same sources are built and compiled once
WASM = f"build/{NAME}.wasm"


# The crates of a Rust project are compiled once for all tests.
CACHES = {"KUBEWASP_CACHE_DIR": str(ROOT / ".build" / "compiled"), "CARGO_TARGET_DIR": str(ROOT / ".build" / "cargo")}


def ended(folder: Path, *arguments: str) -> Ended:
    return run(*arguments, env=PLAIN | CACHES, cwd=folder, seconds=600)


def kubewasp(folder: Path, *arguments: str, code: int = 0) -> str:
    done = ended(folder, *arguments)
    assert done.code == code, done.err + done.out
    return done.out


def placements(folder: Path, *arguments: str) -> dict[str, str]:
    found = json.loads(kubewasp(folder, "simulate", "cluster.yaml", "pods.yaml", *arguments, "-o", "json"))
    return {item["pod"]: item["node"] for item in found["placements"]}


LANGUAGES = {
    "go": ("Go", "main.go", "core module"),
    "python": ("Python", "plugin.py", "component"),
    "rust": ("Rust", "src/lib.rs", "core module"),
    "javascript": ("JavaScript", "plugin.js", "component"),
    "typescript": ("TypeScript", "plugin.ts", "component"),
    "c": ("C", "main.c", "core module"),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_new_project_is_tested_built_and_used(tmp_path: Path, language: str) -> None:
    if language == "rust":
        rust_target()
    kubewasp(tmp_path, "plugin", "new", NAME, "--lang", language)
    folder = tmp_path / NAME

    tested = json.loads(kubewasp(folder, "plugin", "test", "-o", "json", "--junit", "results.xml"))
    outcomes = {suite["name"]: [test["outcome"] for test in suite["tests"]] for suite in tested["suites"]}
    label, source, kind = LANGUAGES[language]
    assert outcomes == {f"{label} tests": ["passed"] * 3, "build": ["passed"], "tests/scenarios.yaml": ["passed"] * 6}
    assert ET.parse(folder / "results.xml").getroot().attrib["failures"] == "0"

    plugin = ("--plugin", WASM)
    assert set(placements(folder, *plugin).values()) == {"nvme-1"}
    assert set(placements(folder).values()) != {"nvme-1"}

    inspected = json.loads(kubewasp(folder, "plugin", "inspect", WASM, "-o", "json"))
    assert {"filter", "score"} <= set(inspected["hooks"]) <= {"prefilter", "filter", "score"}
    assert inspected["kind"].startswith(kind)

    closed = ("--config", '{"closed": ["ssd"]}', "--node", "cluster.yaml", "-o", "json")
    calls = json.loads(kubewasp(folder, "plugin", "call", WASM, "filter", "score", *closed))
    answers = {(call["hook"], call["node"]): call.get("score", call["reason"]) for call in calls}
    assert answers["filter", "ssd-1"] == "nodes with disktype=ssd are closed"
    assert answers["score", "nvme-1"] == 2, "before the declared normalization"

    # Compiler errors are printed unchanged, and the previous build stays.
    before = (folder / WASM).read_bytes()
    code = (folder / source).read_text()
    (folder / source).write_text(code + "\nnot (code\n")
    broken = ended(tmp_path, "plugin", "build", str(folder))
    assert (broken.code, broken.out) == (1, "")
    line = code.count("\n") + 2
    place = f"(?:{line}|{line + 1})"  # an open bracket is noticed at the end of the file
    assert re.search(rf"{re.escape(source)}(:{place}|\({place},|\", line {place})", broken.err), broken.err
    assert "Traceback" not in broken.err
    assert (folder / WASM).read_bytes() == before


def test_a_change_of_the_policy_changes_placements_and_is_noticed(tmp_path: Path) -> None:
    kubewasp(tmp_path, "plugin", "new", NAME, "--lang", "go")
    folder = tmp_path / NAME
    code = (folder / "main.go").read_text()
    assert "len(p.config.Prefer) - place" in code
    (folder / "main.go").write_text(code.replace("len(p.config.Prefer) - place", "place + 1"))
    tested = json.loads(kubewasp(folder, "plugin", "test", "-o", "json", code=1))
    native, built, scenarios = ({test["name"]: test for test in suite["tests"]} for suite in tested["suites"])
    assert native["TestTheBestDiskIsPreferred"]["message"].startswith("    main_test.go:")
    assert built[f"{NAME}.wasm"]["outcome"] == "passed"
    failed = scenarios["the best disk is preferred"]
    assert "node             expected  nvme-1" in failed["message"]
    assert scenarios["closed nodes take pods of kube-system only"]["outcome"] == "failed"
    assert set(placements(folder, "--plugin", WASM).values()) == {"ssd-1"}


def test_the_page_shows_what_happens(tmp_path: Path) -> None:
    *shown, (profile, _) = [item for kind, body in FENCE.findall(PAGE) if kind == "text" for item in commands(body)]
    assert profile.startswith("kubewasp plugin profile ")  # its functions and times are those of a machine
    assert [command.split()[1:3] for command, _ in shown] == [
        ["plugin", "new"],
        ["plugin", "test"],
        ["plugin", "build"],
        ["simulate", "prefer-disk/cluster.yaml"],
    ]
    for command, output in shown:
        printed = skeleton(kubewasp(tmp_path, *command.split()[1:]))
        wanted = skeleton(output)
        if wanted[-1] == "…":
            printed, wanted = printed[: len(wanted) - 1], wanted[:-1]
        assert _without_units(printed) == _without_units(wanted)


def test_the_scenario_on_the_page_is_one(tmp_path: Path) -> None:
    from kubewasp.projects import scenario_tests

    [document] = [body for kind, body in FENCE.findall(PAGE) if kind == "yaml"]
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "page.yaml").write_text(document)
    [[test]] = scenario_tests.read(tmp_path).values()
    assert list(test.expected) == ["default/large"]


def _without_units(lines: list[str]) -> list[str]:
    """Whether something took milliseconds or seconds depends on the machine."""
    return [re.sub(r"# (ms|s)$", "# s", line) for line in lines]
