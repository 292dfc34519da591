"""JavaScript SDK: its own tests under Node.js, and what it shares with the host."""

import json
import re
from pathlib import Path

import kubewasp_sdk
import pytest

from kubewasp.framework import cluster_events as host_events
from kubewasp.projects import node, toolchain
from kubewasp.projects.toolchain import BuildError, sdk
from tests.guests.build import ROOT

FOLDER = sdk("javascript")
PAGE = ROOT / "docs" / "sdk-javascript.md"

try:
    node.find()
except BuildError as error:
    pytest.skip(str(error), allow_module_level=True)


def printed(code: str) -> object:
    done = toolchain.captured([node.find().command, "--input-type=module", "--eval", code], cwd=FOLDER, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("file", sorted(path.name for path in (FOLDER / "test").glob("*.test.js")))
def test_the_tests_of_the_sdk_pass(file: str) -> None:
    done = toolchain.captured(
        [node.find().command, "--test", f"test/{file}"], cwd=FOLDER, env=node.environment(None, FOLDER), timeout=120
    )
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"^# pass (\d+)$", done.stdout, re.MULTILINE)[1]) > 5  # type: ignore[index]


def test_events_have_the_numbers_of_the_host() -> None:
    resources, actions = printed(
        'import {RESOURCES, Action} from "./src/events.js"; console.log(JSON.stringify([RESOURCES, Action]))'
    )  # type: ignore[misc]
    assert tuple(resources) == host_events.RESOURCES
    members = [host_events.Action[name] for name in host_events.Action.__members__ if name != "NONE"]
    expected = {str(item.name).replace("_", "").lower(): int(item) for item in members}
    assert {name.lower(): value for name, value in actions.items()} == expected


def test_all_sdks_have_one_version() -> None:
    package = json.loads((FOLDER / "package.json").read_text())
    version = printed('import {VERSION} from "./src/index.js"; console.log(JSON.stringify(VERSION))')
    assert package["version"] == version == kubewasp_sdk.__version__


def test_the_package_needs_no_other_and_exports_files_that_are_there() -> None:
    package = json.loads((FOLDER / "package.json").read_text())
    assert not {"dependencies", "peerDependencies"} & package.keys()
    files = [file for entry in package["exports"].values() for file in entry.values()]
    assert [file for file in files if not (FOLDER / file).is_file()] == []


def test_every_exported_name_has_a_type() -> None:
    for module, types in (("index", "index"), ("testing", "testing")):
        names = printed(f'import * as all from "./src/{module}.js"; console.log(JSON.stringify(Object.keys(all)))')
        declared = (FOLDER / f"{types}.d.ts").read_text()
        pattern = r"\b(?:const|class|function|namespace)\s+{}\b"
        missing = [name for name in names if not re.search(pattern.format(name), declared)]  # type: ignore[attr-defined]
        assert missing == []


def test_every_hook_has_a_type_with_its_parameters() -> None:
    declared = (FOLDER / "index.d.ts").read_text()
    hooks = printed('import {parameters} from "./src/hook_checks.js"; console.log(JSON.stringify(parameters()))')
    for hook, names in hooks.items():  # type: ignore[attr-defined]
        found = re.search(rf"^  {hook}\?\((.*?)\):", declared, re.MULTILINE)
        assert found, hook
        assert re.findall(r"(\w+):", found[1]) == names


def test_no_source_is_long() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in Path(FOLDER / "src").glob("*.js")}
    assert {name: count for name, count in lengths.items() if count > 400} == {}


@pytest.mark.parametrize("code", re.findall(r"^```js\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL))
def test_the_examples_of_the_page_run(code: str, tmp_path: Path) -> None:
    (tmp_path / "example.mjs").write_text(code)
    done = toolchain.captured(
        [node.find().command, "--import", (node.SCRIPTS / "register.mjs").as_uri(), "example.mjs"],
        cwd=tmp_path,
        env=node.environment(None, FOLDER),
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_the_page_lists_every_hook() -> None:
    hooks = printed('import {parameters} from "./src/hook_checks.js"; console.log(JSON.stringify(parameters()))')
    page = PAGE.read_text()
    calls = [f"`{hook}({', '.join(names)})`" for hook, names in hooks.items()]  # type: ignore[attr-defined]
    assert [call for call in calls if call not in page] == []
