"""JavaScript and TypeScript plugins with the real tools: build errors, and a component on the real host."""

import json
import re
from pathlib import Path

import pytest

from kubewasp.k8s.codec import encode
from kubewasp.projects import javascript
from kubewasp.projects.toolchain import BuildError
from kubewasp.state.node_objects import Nodes
from kubewasp.state.node_table import NodeTable
from kubewasp.wasm.compiled_cache import CompiledCache
from kubewasp.wasm.guest import Guest
from tests.e2e.projects.test_new_project import kubewasp
from tests.guests.build import ROOT, project_guest

PROBE = ROOT / "tests" / "e2e" / "guests" / "probe-javascript"
PLUGIN = """
import { Plugin, type Pod } from "@kubewasp/sdk";
export default class Mine extends Plugin {
  override preEnqueue(pod: Pod) { return pod.labels["a"] ? "no" : null; }
}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "mine").mkdir()
    return tmp_path / "mine"


def error(project: Path, source: str) -> str:
    (project / "plugin.ts").write_text(source)
    with pytest.raises(BuildError) as raised:
        javascript.TYPESCRIPT.build(project, project / "out.wasm")
    assert not (project / "out.wasm").exists()
    return str(raised.value)


def test_type_errors_are_those_of_tsc(project: Path) -> None:
    found = error(project, PLUGIN.replace('pod.labels["a"]', "pod.label"))
    assert found.startswith("TypeScript errors:\n")
    assert re.search(r"plugin\.ts\(4,\d+\): error TS\d+: Property 'label' does not exist on type 'Pod'", found)


def test_a_hook_with_other_parameters_is_a_type_error(project: Path) -> None:
    assert "error TS" in error(project, PLUGIN.replace("pod: Pod", "pod: string"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('import fs from "fs";', 'import "fs": this module does not work in a plugin: plugins have no files'),
        ('import { connect } from "node:net";', "plugins have no network"),
        ('import zlib from "node:zlib";', "it does not exist in WebAssembly"),
        ('import { nothing } from "no-such-package";', 'Could not resolve "no-such-package"'),
        ('import { x } from "@kubewasp/sdk/unknown";', "the SDK has no module @kubewasp/sdk/unknown"),
    ],
)
def test_imports_that_cannot_work_are_named_with_their_line(project: Path, line: str, message: str) -> None:
    (project / "plugin.js").write_text(f'import {{ Plugin }} from "@kubewasp/sdk";\n{line}\n')
    with pytest.raises(BuildError) as raised:
        javascript.JAVASCRIPT.build(project, project / "out.wasm")
    assert message in str(raised.value)
    assert "plugin.js:2:" in str(raised.value)


def test_a_file_outside_of_the_project_is_refused(project: Path) -> None:
    (project.parent / "shared.js").write_text("export const x = 1;")
    (project / "plugin.js").write_text('import { x } from "../shared.js"; export default x;')
    with pytest.raises(BuildError, match=r"shared\.js, outside of the project"):
        javascript.JAVASCRIPT.build(project, project / "out.wasm")


def test_a_class_that_cannot_work_fails_the_build(project: Path) -> None:
    (project / "plugin.js").write_text(
        'import { Plugin } from "@kubewasp/sdk"; export default class Mine extends Plugin { pre_filter() {} }'
    )
    with pytest.raises(BuildError) as raised:
        javascript.JAVASCRIPT.build(project, project / "out.wasm")
    assert "Mine.pre_filter is not a hook; did you mean preFilter?" in str(raised.value)
    assert "node:internal" not in str(raised.value)


def test_an_error_of_the_top_level_has_its_line(project: Path) -> None:
    (project / "plugin.js").write_text(
        'import { Plugin } from "@kubewasp/sdk";\nexport default class Mine extends Plugin { filter() {} }\nnull.x;\n'
    )
    with pytest.raises(BuildError) as raised:
        javascript.JAVASCRIPT.build(project, project / "out.wasm")
    assert str(raised.value).startswith("the plugin cannot be loaded:\nplugin.js:3 TypeError: ")
    assert "componentize" not in str(raised.value)


def test_a_missing_default_export_is_named(project: Path) -> None:
    (project / "plugin.js").write_text('import { Plugin } from "@kubewasp/sdk";\nexport class Mine extends Plugin {}\n')
    with pytest.raises(BuildError, match=r"plugin\.js has no default export: write `export default class"):
        javascript.JAVASCRIPT.build(project, project / "out.wasm")


def test_an_endless_top_level_ends_the_build(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(javascript, "_BUILD_TIMEOUT", 1)
    (project / "plugin.js").write_text(
        'import { Plugin } from "@kubewasp/sdk";\nexport default class Mine extends Plugin { filter() {} }\nfor (;;) {}'
    )
    with pytest.raises(BuildError, match="no result after 1 s"):
        javascript.JAVASCRIPT.build(project, project / "out.wasm")


def test_the_same_sources_give_the_same_bytes_in_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for place in ("one", "some where ü/100%"):
        folder = tmp_path / place
        folder.mkdir(parents=True)
        (folder / "plugin.ts").write_text(PLUGIN)
        cache = CompiledCache(folder / "cache")
        monkeypatch.setattr(javascript, "usable_cache", lambda cache=cache: cache)
        javascript.TYPESCRIPT.build(folder, folder / "out.wasm")
        made.append((folder / "out.wasm").read_bytes())
    assert made[0] == made[1]
    assert str(tmp_path).encode() not in made[0]


def test_an_error_has_its_line_in_a_folder_with_any_name(tmp_path: Path) -> None:
    project = tmp_path / "some where ü/100%"
    project.mkdir(parents=True)
    (project / "plugin.js").write_text(
        'import { Plugin } from "@kubewasp/sdk";\n'
        "export default class Mine extends Plugin {\n  filter() {\n    throw new Error('lost');\n  }\n}\n"
    )
    javascript.JAVASCRIPT.build(project, project / "out.wasm")
    assert "filter (plugin.js:4)" in kubewasp(project, "plugin", "call", "out.wasm", "filter", "-o", "json")


def test_packages_of_the_project_are_part_of_the_plugin(project: Path) -> None:
    package = project / "node_modules" / "digits"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"name": "digits", "main": "index.js", "type": "module"}')
    (package / "index.js").write_text("export const reason = () => `packed`;")
    (project / "plugin.js").write_text(
        'import { reason } from "digits";\nimport { Plugin } from "@kubewasp/sdk";\n'
        "export default class Mine extends Plugin { filter() { return reason(); } }"
    )
    javascript.JAVASCRIPT.build(project, project / "out.wasm")
    [call, *_] = json.loads(kubewasp(project, "plugin", "call", "out.wasm", "filter", "-o", "json"))
    assert call["reason"] == "packed"


def called(tmp_path: Path, pod: str) -> str:
    (tmp_path / "pod.yaml").write_text(f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {pod}}}\n")
    guest = str(project_guest(PROBE))
    return kubewasp(tmp_path, "plugin", "call", guest, "filter", "--pod", "pod.yaml", "-o", "json")


def test_an_error_has_the_file_and_line_of_the_author(tmp_path: Path) -> None:
    said = called(tmp_path, "fails")
    assert "RangeError: not" in said
    assert "fail (failing.js:3)" in said
    assert "filter (plugin.js:11)" in said
    assert "guest.js" not in said


def test_output_and_logs_arrive(tmp_path: Path) -> None:
    said = called(tmp_path, "fine")
    assert "seen " in said
    assert "random value=" in said


def test_every_instance_has_random_numbers_of_its_own(tmp_path: Path) -> None:
    found = {re.search(r"value=\\*\"([0-9.e-]+)", called(tmp_path, "fine"))[1] for _ in range(2)}  # type: ignore[index]
    assert len(found) == 2


def test_reserve_annotates_the_binding() -> None:
    nodes = NodeTable.of(Nodes([{"metadata": {"name": name}} for name in ("a", "b")]))
    with Guest.load(project_guest(PROBE)).cycle(encode("Pod", {"metadata": {"name": "web"}}), nodes) as cycle:
        assert cycle.reserve("b").annotations == {"example.com/node": "b"}


def test_hooks_are_those_of_the_class() -> None:
    assert set(Guest.load(project_guest(PROBE)).hooks) == {"filter", "reserve"}
