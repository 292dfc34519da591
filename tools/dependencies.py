"""Dependencies of the lock files: licences, unused packages, and the software bill of materials (SBOM).

`python -m tools.dependencies` checks the lock files; `--sbom FILE` writes the packages of an installation of kubewasp
in the format CycloneDX. Both read the metadata of the installed packages: nothing is downloaded.
"""

from __future__ import annotations

import argparse
import ast
import importlib.metadata
import re
import sys
import tomllib
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kubewasp import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Metadata = Callable[[str], importlib.metadata.Distribution]

ROOT: Final = Path(__file__).parents[1]
LOCKS: Final = {"requirements.lock": ("build",), "requirements-dev.lock": ("dev",), "requirements-docs.lock": ("docs",)}
_DEFAULT_LOCKS: Final = ("requirements.lock", "requirements-dev.lock")

# Licences that allow distribution beside Apache-2.0. MPL-2.0 binds changes of its own files only; we make none.
ALLOWED: Final = frozenset(
    (
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "LLVM-exception", "MIT", "MIT-0"),
        *("MPL-2.0", "PSF-2.0", "Unlicense", "Zlib"),
    )
)
# Names in older metadata.
_SPDX: Final = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD License": "BSD-3-Clause",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
# Packages whose metadata have no licence: that of their repository.
_KNOWN: Final = {
    "axe-playwright-python": "MIT AND MPL-2.0",
    "componentize-py": "Apache-2.0 WITH LLVM-exception",
    "sigstore-models": "MIT",
}
# Direct dependencies that no module imports.
_INDIRECT: Final = {"httptools": "the HTTP parser that uvicorn picks if it is there"}
_LOCKED: Final = re.compile(r"^([A-Za-z0-9._-]+)==(\S+?)(?:\s*;\s*(.*?))?\s*\\?$")
_HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Locked:
    """A package of a lock file that belongs into this environment."""

    name: str
    version: str
    hashes: tuple[str, ...]


def locked(text: str) -> dict[str, Locked]:
    """The packages of a lock file, by name. Those of other platforms and Python versions are left out."""
    found: dict[str, Locked] = {}
    for entry in re.split(r"\n(?=\S)", text.strip()):
        match = _LOCKED.match(entry.partition("\n")[0])
        if match is None:
            raise ValueError(f"cannot read the entry {entry[:80]!r}")
        name, version, marker = match.groups()
        if marker is None or Marker(marker).evaluate():
            found[canonicalize_name(name)] = Locked(canonicalize_name(name), version, tuple(_HASH.findall(entry)))
    return found


def licence(metadata: Mapping[str, Any], classifiers: Iterable[str]) -> str:
    """The SPDX expression of a package; empty if its metadata have none."""
    stated = metadata.get("License-Expression")
    if stated:
        return str(stated)
    names = [item.rpartition("::")[2].strip() for item in classifiers if item.startswith("License ::")]
    short = (metadata.get("License") or "").strip()
    for name in (short, *names):
        found = _SPDX.get(name, name)
        if found in ALLOWED:
            return found
    return " AND ".join(names) or short.partition("\n")[0]


def is_allowed(expression: str) -> bool:
    """Whether an SPDX expression leaves a choice that consists of allowed licences."""
    words = re.findall(r"[()]|[^\s()]+", expression)
    if not words or not all(re.fullmatch(r"[A-Za-z0-9.+()-]+", word) for word in words):
        return False
    logic = {"AND": "and", "WITH": "and", "OR": "or", "(": "(", ")": ")"}
    text = " ".join(logic.get(word) or str(word in ALLOWED) for word in words)
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return _is_true(tree.body)


def _is_true(node: ast.expr) -> bool:
    if isinstance(node, ast.BoolOp):
        values = [_is_true(value) for value in node.values]
        return all(values) if isinstance(node.op, ast.And) else any(values)
    return isinstance(node, ast.Constant) and node.value is True


def required(names: Iterable[str], metadata: Metadata) -> dict[str, list[str]]:
    """All packages that the given requirements need, each with those that it needs itself."""
    found: dict[str, list[str]] = {}
    open_ = [Requirement(name) for name in names]
    seen: set[tuple[str, frozenset[str]]] = set()
    while open_:
        item = open_.pop()
        name = canonicalize_name(item.name)
        if not _applies(item) or (name, frozenset(item.extras)) in seen:
            continue
        seen.add((name, frozenset(item.extras)))
        needs = [Requirement(text) for text in metadata(name).requires or ()]
        needs = [need for need in needs if _applies(need, item.extras)]
        found[name] = sorted({*found.get(name, ()), *(canonicalize_name(need.name) for need in needs)})
        for need in needs:
            need.marker = None
        open_ += needs
    return dict(sorted(found.items()))


def _applies(requirement: Requirement, extras: Iterable[str] = ()) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def direct(project: Mapping[str, Any], groups: Iterable[str]) -> list[str]:
    """Requirements of pyproject.toml: those of an installation, and those of dependency groups."""
    found = list(project["project"]["dependencies"])
    for group in groups:
        for item in project["dependency-groups"][group]:
            if isinstance(item, str):
                found.append(item)
            else:
                found += direct({**project, "project": {"dependencies": []}}, [item["include-group"]])
    return found


def problems(lock: str, text: str, project: Mapping[str, Any], metadata: Metadata) -> Iterator[str]:
    """Problems of one lock file."""
    packages = locked(text)
    for package in packages.values():
        try:
            installed = metadata(package.name)
        except importlib.metadata.PackageNotFoundError:
            yield f"{lock}: {package.name} is not installed; run `make .venv/.dev` (or `make docs`)"
            continue
        if installed.version != package.version:
            yield f"{lock}: {package.name} {package.version} is locked, {installed.version} is installed"
        found = _licence_of(package.name, installed)
        if not is_allowed(found):
            yield f"{lock}: {package.name}: the licence {found or '(none)'!r} is not allowed (tools/dependencies.py)"
    try:
        needed = required(direct(project, LOCKS[lock]), metadata)
    except importlib.metadata.PackageNotFoundError as error:
        yield f"{lock}: {error.name} is required but not installed"
        return
    yield from (f"{lock}: nothing requires {name}; run `make lock`" for name in sorted(packages.keys() - needed))
    missing = needed.keys() - packages.keys()
    yield from (f"{lock}: {name} is required but not locked; run `make lock`" for name in sorted(missing))


def unused(project: Mapping[str, Any], sources: Path) -> Iterator[str]:
    """Direct dependencies that no module of the package imports."""
    imported = {
        name.partition(".")[0]
        for path in sorted(sources.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_bytes()))
        for name in _imported(node)
    }
    providers = importlib.metadata.packages_distributions()
    used = {canonicalize_name(name) for module in imported for name in providers.get(module, ())}
    for requirement in project["project"]["dependencies"]:
        name = canonicalize_name(Requirement(requirement).name)
        if name not in used and name not in _INDIRECT:
            yield f"pyproject.toml: no module imports {name}"


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [item.name for item in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []


def _licence_of(name: str, installed: importlib.metadata.Distribution) -> str:
    metadata = installed.metadata
    fields = {key: metadata[key] for key in ("License-Expression", "License") if key in metadata}
    return licence(fields, metadata.get_all("Classifier") or ()) or _KNOWN.get(name, "")


def sbom(text: str, project: Mapping[str, Any], metadata: Metadata) -> dict[str, Any]:
    """The bill of materials of an installation of kubewasp from the lock file; equal inputs give equal bytes."""
    packages, needs = locked(text), required(direct(project, ()), metadata)
    components = [_component(packages[name], _licence_of(name, metadata(name))) for name in needs]
    root = f"pkg:pypi/kubewasp@{__version__}"
    first = sorted(canonicalize_name(Requirement(item).name) for item in project["project"]["dependencies"])
    graph = [{"ref": root, "dependsOn": [_purl(packages[name]) for name in first]}]
    graph += [
        {"ref": _purl(packages[name]), "dependsOn": [_purl(packages[to]) for to in needs[name]]} for name in needs
    ]
    content = orjson.dumps([root, components, graph]).decode()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": "kubewasp",
                "version": __version__,
                "licenses": [{"expression": project["project"]["license"]}],
                "purl": root,
            }
        },
        "components": components,
        "dependencies": graph,
    }


def _component(package: Locked, expression: str) -> dict[str, Any]:
    files = [{"alg": "SHA-256", "content": found} for found in package.hashes]
    page = f"https://pypi.org/project/{package.name}/{package.version}/"
    return {
        "type": "library",
        "bom-ref": _purl(package),
        "name": package.name,
        "version": package.version,
        "licenses": [{"expression": expression}],
        "purl": _purl(package),
        "externalReferences": [{"type": "distribution", "url": page, "hashes": files}],
    }


def _purl(package: Locked) -> str:
    return f"pkg:pypi/{package.name}@{package.version}"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tools.dependencies", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("locks", nargs="*", default=_DEFAULT_LOCKS, help="lock files (default: %(default)s)")
    parser.add_argument("--sbom", type=Path, metavar="FILE", help="write the bill of materials")
    options = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    metadata = importlib.metadata.distribution
    texts = {lock: (ROOT / lock).read_text(encoding="utf-8") for lock in options.locks}
    found = [problem for lock, text in texts.items() for problem in problems(lock, text, project, metadata)]
    found += unused(project, ROOT / "src" / "kubewasp")
    if found:
        sys.exit("\n".join(found))
    if options.sbom:
        text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
        options.sbom.parent.mkdir(parents=True, exist_ok=True)
        options.sbom.write_bytes(orjson.dumps(sbom(text, project, metadata), option=orjson.OPT_INDENT_2) + b"\n")


if __name__ == "__main__":
    main()
