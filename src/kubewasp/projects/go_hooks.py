"""Hooks of a Go plugin that the scheduler would never call: wrong signatures, misspelt names, no registration.

Go satisfies interfaces silently: a method that almost implements an extension point is an ordinary method. The sources
are scanned for the registered type and its methods, and the compiler is asked about those with the name of a hook: a
file with assertions, `var _ kubewasp.Filter = (*Plugin)(nil)`, is part of the build (an overlay, never on disk). The
extension points are read from the SDK's source.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubewasp.projects import near_names
from kubewasp.projects.toolchain import BuildError, sdk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_SDK: Final = "kubewasp.dev/sdk"
_FILE: Final = "zz_kubewasp_hooks.go"
_FIRST_LINE: Final = 3  # of the assertions in it
# Comments, and strings that may contain anything: blanked before the search for declarations, with their lines kept.
_NOT_CODE: Final = re.compile(r"//[^\n]*|/\*.*?\*/|`[^`]*`", re.DOTALL)
_METHOD: Final = re.compile(r"^func\s*\(\s*(?:\w+\s+)?\*?\s*(\w+)\s*\)\s*(\w+)\s*\(([^)]*)\)", re.MULTILINE)
_IMPORT: Final = re.compile(rf'^\s*(?:import\s+)?(\w+|\.)?\s*"{re.escape(_SDK)}"', re.MULTILINE)
_FUNCTION: Final = re.compile(r"^func\b[^\n]*", re.MULTILINE)
_INTERFACE: Final = re.compile(r"^type (\w+) interface \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_OVERLAY_ERROR: Final = re.compile(rf"^\S*{re.escape(_FILE)}:(\d+):\d+: (.*(?:\n\t.*)*)", re.MULTILINE)
_NOT_IMPLEMENTED: Final = re.compile(r"does not implement (\w+\.\w+) (\(.*)", re.DOTALL)
# Names that other hosts have for hooks.
_ALIASES: Final = {"less": "SortKey", "queuesort": "SortKey"}


@dataclass(frozen=True, slots=True)
class _Method:
    """A method declaration."""

    receiver: str
    name: str
    parameters: str
    where: str


@dataclass(frozen=True, slots=True)
class _Registered:
    """The registered plugin type: its package's folder, whether it is a pointer, and the place of the call."""

    folder: Path
    name: str
    is_pointer: bool
    where: str


class GoHooks:
    """Check of one project: problems in the sources first, then those in the compiler's output."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._sources = {path: _code(path) for path in sorted(project.rglob("*.go")) if _is_source(path, project)}
        self._hooks = _extension_points()
        self._asserted: list[_Method] = []

    def check(self) -> None:
        """Raises BuildError for problems that the sources alone show."""
        problems = list(self._problems())
        if problems:
            raise BuildError("\n".join(problems))

    def overlay(self, scratch: Path) -> tuple[str, ...]:
        """Arguments of `go build` that add the assertions; none if there is nothing to assert."""
        plugin = self._registered()
        if plugin is None or plugin.folder != self._project:
            return ()
        self._asserted = [method for method in self._methods(plugin) if method.name in self._hooks]
        value = f"(*{plugin.name})(nil)" if plugin.is_pointer else f"*new({plugin.name})"
        lines = [f"var _ kubewasp.{self._hooks[method.name]} = {value}" for method in self._asserted]
        if not lines:
            return ()
        text = "\n".join(["package main", f'import kubewasp "{_SDK}"', *lines, ""])
        (scratch / _FILE).write_text(text, encoding="utf-8")
        replaced = {str(self._project / _FILE): str(scratch / _FILE)}
        (scratch / "overlay.json").write_text(json.dumps({"Replace": replaced}), encoding="utf-8")
        return ("-overlay", str(scratch / "overlay.json"))

    def explained(self, compiler: str) -> str | None:
        """Compiler errors with those of the assertions as errors of the methods; None if the assertions are wrong."""
        errors = list(_OVERLAY_ERROR.finditer(compiler))
        explained = [self._explained_one(error) for error in errors]
        if not all(explained):
            return None
        rest = _OVERLAY_ERROR.sub("", compiler)
        others = [line for line in rest.splitlines()[1:] if line.strip() and not line.startswith("# ")]
        if not explained or others:
            explained.insert(0, rest.rstrip())
        return "\n".join(explained)

    def _explained_one(self, error: re.Match[str]) -> str:
        found = _NOT_IMPLEMENTED.search(error[2])
        if found is None:
            return ""
        method = self._asserted[int(error[1]) - _FIRST_LINE]
        if "pointer receiver" in found[2]:
            return (
                f"{method.where}: {method.name} has a pointer receiver and is never called: the plugin is registered "
                f"as a value; return *{method.receiver} from the constructor"
            )
        return f"{method.where}: {method.name} is never called: it does not implement {found[1]} {found[2]}"

    # ------------------------------------------------------------------ problems in the sources

    def _problems(self) -> Iterator[str]:
        calls = list(self._calls())
        if not calls:
            if self._uses_sdk() and not self._uses_other_modules():
                yield self._not_registered()
            return
        for path, place in calls:
            functions = [match for match in _FUNCTION.finditer(self._sources[path]) if match.start() < place]
            if functions and re.match(r"func\s+main\s*\(", functions[-1][0]):
                where = self._where(path, place)
                yield f"{where}: Register is called in main, which a plugin never runs; call it in `func init()`"
        plugin = self._registered()
        if plugin is None:
            return
        methods = self._methods(plugin)
        present = {method.name for method in methods}
        missing = [name for name in self._hooks if name not in present]
        misspelt = list(self._misspelt(methods, missing))
        yield from misspelt
        if not misspelt and not present & set(self._hooks) and not self._embedded(plugin):
            yield (
                f"{plugin.where}: {plugin.name} implements no extension point; give it a method such as Filter or Score"
            )

    def _not_registered(self) -> str:
        where, constructor = f"{self._project.name}", "New"
        for path, code in self._sources.items():
            found = re.search(r"^func\s+(\w+)\s*\([^()]*\*\w+\.Handle\s*\)", code, re.MULTILINE)
            if found:
                where, constructor = self._where(path, found.start()), found[1]
        return f"{where}: the plugin is never registered; add `func init() {{ kubewasp.Register({constructor}) }}`"

    def _misspelt(self, methods: Sequence[_Method], missing: Sequence[str]) -> Iterator[str]:
        for method in methods:
            if method.name in self._hooks or self._is_used(method.name):
                continue
            alike = any(f"{name}." in method.parameters for name in self._sdk_names())
            meant = near_names.nearest(method.name, missing, aliases=_ALIASES, fuzzy=alike)
            if meant:
                yield f"{method.where}: {method.name} is not an extension point; did you mean {meant}?"

    # ------------------------------------------------------------------ scan

    def _calls(self) -> Iterator[tuple[Path, int]]:
        """Calls of Register: file and offset."""
        for path, code in self._sources.items():
            for name in _names(code):
                pattern = r"(?<![\w.])Register\(" if name == "." else rf"\b{name}\.Register\("
                yield from ((path, match.end()) for match in re.finditer(pattern, code))

    def _registered(self) -> _Registered | None:
        """The type of the plugin, if one constructor is registered by its name and returns a type of its package."""
        calls = list(self._calls())
        if len(calls) != 1:
            return None
        path, place = calls[0]
        given = re.match(r"\s*(\w+)\s*\)", self._sources[path][place:])
        if given is None:
            return None
        result = rf"^func\s+{given[1]}\s*\([^()]*\)\s*\(\s*(?:\w+\s+)?(\*?)(\w+)\s*,"
        for other, code in self._sources.items():
            found = re.search(result, code, re.MULTILINE) if other.parent == path.parent else None
            if found and self._declares(other.parent, found[2]):
                return _Registered(other.parent, found[2], bool(found[1]), self._where(path, place))
        return None

    def _declares(self, folder: Path, name: str) -> bool:
        """Whether the package declares the type, and not as an interface."""
        pattern = re.compile(rf"^(?:type\s+|\t){name}\s+(?!interface\b)(?:=\s*)?[\w*\[]", re.MULTILINE)
        return any(pattern.search(code) for path, code in self._sources.items() if path.parent == folder)

    def _methods(self, plugin: _Registered) -> list[_Method]:
        """Methods of the plugin, and of the types of its package that it embeds."""
        receivers = {plugin.name, *self._embedded(plugin)}
        return [
            _Method(match[1], match[2], match[3], self._where(path, match.start()))
            for path, code in self._sources.items()
            if path.parent == plugin.folder
            for match in _METHOD.finditer(code)
            if match[1] in receivers
        ]

    def _embedded(self, plugin: _Registered) -> list[str]:
        for path, code in self._sources.items():
            found = re.search(rf"^type\s+{plugin.name}\s+struct\s*\{{(.*?)^\}}", code, re.MULTILINE | re.DOTALL)
            if found and path.parent == plugin.folder:
                return re.findall(r"^\s*\*?(?:\w+\.)?(\w+)(?:\[.*\])?\s*$", found[1], re.MULTILINE)
        return []

    def _is_used(self, name: str) -> bool:
        return any(re.search(rf"\.{name}\b", code) for code in self._sources.values())

    def _uses_sdk(self) -> bool:
        return any(_names(code) for code in self._sources.values())

    def _sdk_names(self) -> set[str]:
        return {name for code in self._sources.values() for name in _names(code)}

    def _uses_other_modules(self) -> bool:
        """Whether a module besides the SDK is required, which may register the plugin."""
        content = (self._project / "go.mod").read_text(errors="replace")
        required = re.findall(r"^\s*(?:require\s+)?([\w.-]+\.[\w./-]+)\s+v\S+", content, re.MULTILINE)
        return any(module != _SDK for module in required)

    def _where(self, path: Path, offset: int) -> str:
        line = self._sources[path].count("\n", 0, offset) + 1
        return f"{path.relative_to(self._project).as_posix()}:{line}"


def _is_source(path: Path, project: Path) -> bool:
    folders = path.relative_to(project).parent.parts
    left_out = any(part in ("vendor", "testdata", "build") or part.startswith((".", "_")) for part in folders)
    return path.is_file() and not path.name.endswith("_test.go") and not left_out


def _code(path: Path) -> str:
    text = path.read_text(encoding="utf-8", errors="replace")
    return _NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]) if match[0] else "", text)


def _names(code: str) -> list[str]:
    """Names under which a file imports the SDK."""
    return [name or "kubewasp" for name in _IMPORT.findall(code)]


def _extension_points() -> dict[str, str]:
    """Method → interface, for all extension points of the SDK."""
    code = _code(sdk("go") / "plugin.go")
    return {
        method: interface
        for interface, body in _INTERFACE.findall(code)
        for method in re.findall(r"^\t(\w+)\(", body, re.MULTILINE)
    }
