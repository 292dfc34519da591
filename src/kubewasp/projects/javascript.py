"""JavaScript and TypeScript toolchains: bundled with esbuild, made a component by componentize-js, tested by Node.js.

A plugin is the default export of `plugin.js` or `plugin.ts`. Packages in the project's `node_modules` are bundled with
it. TypeScript is checked by tsc before a build and before its tests.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kubewasp.projects import node, project_links
from kubewasp.projects.toolchain import BuildError, TestResult, captured, run_tool, sdk
from kubewasp.wasm.compiled_cache import usable_cache

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGE: Final = "@kubewasp/sdk"
_SETTINGS: Final = "tsconfig.json"
_TEST: Final = re.compile(r"(?:.+[.\-_]test|test-.+|test)\.m?[jt]s")
_IGNORED: Final = frozenset({"node_modules", "build"})
_MARK: Final = "kubewasp-test "
_TEST_TIMEOUT: Final = 600
# The top level of a plugin may be an endless loop.
_BUILD_TIMEOUT: Final = 600
_DEFAULTS: Final = {
    "target": "ES2022",
    "module": "ESNext",
    "moduleResolution": "Bundler",
    "lib": ["ES2023", "WebWorker"],
    "strict": True,
    "skipLibCheck": True,
    "allowImportingTsExtensions": True,
    "verbatimModuleSyntax": True,
}


@dataclass(frozen=True, slots=True)
class JavaScript:
    """Toolchain of JavaScript, or of TypeScript if `is_typed`."""

    entries: tuple[str, ...]
    is_typed: bool = False

    def build(self, project: Path, target: Path) -> None:
        """Builds the plugin in the folder `project` into the file `target`.

        Builds are reproducible: same sources and same kubewasp, same bytes. A component takes ten seconds or more to
        make, and is cached by its bundle.
        """
        entry = self._entry(project)
        found, tools = node.find(), node.tools()
        if self.is_typed:
            self._check_types(project, [project / entry], tools, found)
        cache = usable_cache()
        with tempfile.TemporaryDirectory(prefix="kubewasp-js-") as scratch:
            bundle, made = Path(scratch) / "plugin.js", Path(scratch) / "plugin.wasm"
            _bundle(project, entry, bundle, tools, found)
            ingredients = bundle.read_bytes() + (sdk("wit") / "plugin.wit").read_bytes()
            key = cache.key(ingredients, f"javascript component {node.tools_digest()}")
            component = cache.get(key)
            if component is None:
                _componentize(bundle, made, tools, found)
                component = made.read_bytes()
                cache.put(key, component)
        self.link(project)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(component)

    def test(self, project: Path) -> Sequence[TestResult]:
        """Runs the tests of the project with `node --test`, without WebAssembly."""
        found = node.find()
        files = _test_files(project)
        if not files:
            return []
        tools = node.tools() if self.is_typed else None
        if tools is not None:
            self._check_types(project, files, tools, found, for_tests=True)
        command = [
            found.command,
            "--import",
            (node.SCRIPTS / "register.mjs").as_uri(),
            "--enable-source-maps",
            "--test",
        ]
        command += [f"--test-reporter={(node.SCRIPTS / 'reporter.mjs').as_uri()}", "--test-reporter-destination=stdout"]
        try:
            done = captured(
                [*command, *(str(path.relative_to(project)) for path in files)],
                cwd=project,
                env=_environment(tools),
                timeout=_TEST_TIMEOUT,
            )
        except subprocess.TimeoutExpired:
            raise BuildError(f"the tests take more than {_TEST_TIMEOUT} s") from None
        self.link(project)
        results = [_result(line) for line in done.stdout.splitlines() if line.startswith(_MARK)]
        if done.returncode and not any(result.failure for result in results):
            raise BuildError(f"node cannot run the tests:\n{(done.stderr + done.stdout).strip()}")
        return results

    def link(self, project: Path) -> None:
        """Links the SDK into `node_modules`, for editors and plain `node --test`. An installed package is kept."""
        with suppress(OSError):  # optional: a read-only folder builds without it
            project_links.point(project / "node_modules" / PACKAGE, sdk("javascript").resolve())

    def _entry(self, project: Path) -> str:
        for name in self.entries:
            if (project / name).is_file():
                return name
        raise BuildError(f"{project} is not a project of this language: no {' or '.join(self.entries)}")

    def _check_types(
        self, project: Path, files: Sequence[Path], tools: Path, found: node.Node, *, for_tests: bool = False
    ) -> None:
        """Runs tsc with the project's settings. Tests have the types of Node.js, a plugin has not."""
        with tempfile.TemporaryDirectory(prefix="kubewasp-js-") as scratch:
            settings = Path(scratch) / _SETTINGS
            settings.write_text(
                json.dumps(_type_settings(project, files, tools, for_tests=for_tests)), encoding="utf-8"
            )
            tsc = tools / "node_modules" / "typescript" / "bin" / "tsc"
            command: list[str | Path] = [found.command, tsc, "--project", settings, "--pretty", "false"]
            run_tool(command, cwd=project, env=_environment(tools), failed="TypeScript errors:")


JAVASCRIPT: Final = JavaScript(("plugin.js", "plugin.mjs"))
TYPESCRIPT: Final = JavaScript(("plugin.ts",), is_typed=True)


def name_of(folder: Path) -> str:
    """`name` of package.json, without a scope; else the name of the folder."""
    path = folder / "package.json"
    if not path.exists():
        return folder.resolve().name
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BuildError(f"{path}: {error}") from None
    name = content.get("name") if isinstance(content, dict) else None
    return name.rpartition("/")[2] if isinstance(name, str) and name else folder.resolve().name


def _type_settings(project: Path, files: Sequence[Path], tools: Path, *, for_tests: bool) -> dict[str, Any]:
    """Settings of tsc: those of the project, with the SDK of this kubewasp and without output."""
    library = sdk("javascript").resolve()
    options: dict[str, Any] = {
        "noEmit": True,
        "paths": {PACKAGE: [str(library / "index.d.ts")], f"{PACKAGE}/testing": [str(library / "testing.d.ts")]},
        "typeRoots": [str(tools / "node_modules" / "@types")],
        "types": ["node"] if for_tests else [],
    }
    found: dict[str, Any] = {"files": [str(path) for path in files], "include": []}
    if (project / _SETTINGS).is_file():
        return found | {"extends": str(project / _SETTINGS), "compilerOptions": options}
    return found | {"compilerOptions": _DEFAULTS | options}


def _bundle(project: Path, entry: str, target: Path, tools: Path, found: node.Node) -> None:
    script, library = node.SCRIPTS / "bundle.mjs", sdk("javascript").resolve()
    command: list[str | Path] = [found.command, script, project, entry, library, target]
    said = json.loads(run_tool(command, cwd=project, env=_environment(tools), failed="esbuild cannot run:"))
    if "errors" in said:
        raise BuildError("\n\n".join(said["errors"]))
    allowed = (project.resolve(), library)
    for name in said["inputs"]:
        if not any(Path(name).resolve().is_relative_to(folder) for folder in allowed):
            raise BuildError(
                f"{entry} imports {name}, outside of the project; move it into the project, or into its node_modules"
            )


def _componentize(bundle: Path, made: Path, tools: Path, found: node.Node) -> None:
    command: list[str | Path] = [found.command, node.SCRIPTS / "componentize.mjs", bundle, sdk("wit"), made]
    # componentize-js has its temporary files in a folder that an interrupted build would leave behind.
    environment = _environment(tools) | {"TMPDIR": str(bundle.parent)}
    failed = "the plugin cannot be loaded:"
    run_tool(command, cwd=bundle.parent, env=environment, failed=failed, timeout=_BUILD_TIMEOUT)


def _environment(tools: Path | None) -> dict[str, str | None]:
    return node.environment(tools, sdk("javascript"))


def _test_files(project: Path) -> list[Path]:
    found = []
    for place, folders, files in os.walk(project):
        folders[:] = sorted(name for name in folders if name not in _IGNORED and not name.startswith("."))
        found += [Path(place, name) for name in sorted(files) if _TEST.fullmatch(name)]
    return found


def _result(line: str) -> TestResult:
    read = json.loads(line.removeprefix(_MARK))
    return TestResult(
        str(read["name"]), float(read["seconds"]), failure=read.get("failure", ""), skipped=read.get("skipped", "")
    )
