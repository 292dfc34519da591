"""Node.js and the npm packages that build plugins: found, and installed once into the cache of kubewasp.

The packages are pinned by the lock file in `node_scripts`, with the digests of their contents. Their install scripts do
not run. A user's project is not touched.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubewasp.projects import build_cache, toolchain
from kubewasp.projects.toolchain import BuildError

OLDEST: Final = 20
SCRIPTS: Final = Path(__file__).parent / "node_scripts"
COMPONENTIZE: Final = "@bytecodealliance/componentize-js"
_PINNED: Final = ("package.json", "package-lock.json")
_INSTALL: Final = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
_VERSION: Final = re.compile(r"\Av(\d+\.\d+\.\d+)\S*\Z")
_TIMEOUT: Final = 900
_LONGEST: Final = 2000


@dataclass(frozen=True, slots=True)
class Node:
    """A Node.js of a supported version, or a package for it."""

    command: str
    version: str


def find() -> Node:
    """The `node` of the PATH."""
    command = shutil.which("node")
    if command is None:
        raise BuildError(_advice("none on the PATH"))
    node = _probe(command)
    if isinstance(node, str):
        raise BuildError(_advice(f"{command}: {node}"))
    if int(node.version.partition(".")[0]) < OLDEST:
        raise BuildError(_advice(f"{command} is {node.version}"))
    return node


def _advice(found: str) -> str:
    return (
        f"JavaScript and TypeScript plugins require Node.js {OLDEST} or newer (found: {found}); "
        "install it from https://nodejs.org"
    )


@functools.cache
def _probe(command: str) -> Node | str:
    """A Node.js with its version, or the reason why it does not run."""
    found = toolchain.probe([command, "--version"], _VERSION)
    return found if isinstance(found, str) else Node(command, found[1])


def lock_digest() -> str:
    """Digest of the pinned packages."""
    return build_cache.digest((SCRIPTS / name).read_bytes() for name in _PINNED)


def tools_digest() -> str:
    """Digest of the pinned packages and of the scripts that use them."""
    scripts = (path.read_bytes() for path in sorted(SCRIPTS.glob("*.mjs")))
    return build_cache.digest([lock_digest().encode(), *scripts])


def tools() -> Path:
    """Folder with the installed packages; installs them if they are not there."""
    where = build_cache.folder("node-tools")
    target = where / lock_digest()
    if target.is_dir():
        return target
    try:
        where.mkdir(parents=True, exist_ok=True)
        with build_cache.locked(where / "install.lock"):
            if not target.is_dir():
                _install(where, target)
    except OSError as error:
        raise BuildError(f"{where} cannot be written: {error}") from None
    return target


def componentize_js() -> Node:
    """The pinned componentize-js, if it is installed. Its command is the folder of the package."""
    folder = build_cache.folder("node-tools") / lock_digest() / "node_modules" / COMPONENTIZE
    try:
        version = json.loads((folder / "package.json").read_bytes())["version"]
    except (OSError, ValueError, KeyError, TypeError):
        raise BuildError(
            "componentize-js is not installed; the first build of a JavaScript or TypeScript plugin installs it"
        ) from None
    return Node(str(folder), str(version))


def _install(where: Path, target: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise BuildError(
            "npm not found, required once to install the tools for JavaScript and TypeScript plugins; "
            "it comes with Node.js: https://nodejs.org"
        )
    with tempfile.TemporaryDirectory(dir=where, prefix=".install-") as scratch:
        fresh = Path(scratch) / "tools"
        fresh.mkdir()
        for name in _PINNED:
            shutil.copyfile(SCRIPTS / name, fresh / name)
        try:
            done = toolchain.captured([npm, *_INSTALL], cwd=fresh, timeout=_TIMEOUT)
        except subprocess.TimeoutExpired:
            raise BuildError(f"`npm ci` of the JavaScript tools takes more than {_TIMEOUT} s; try again") from None
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}")[-_LONGEST:]
            raise BuildError(
                "the tools for JavaScript and TypeScript plugins cannot be installed; "
                f"this needs the npm registry, once:\n{said}"
            )
        fresh.replace(target)


def environment(tools_folder: Path | None, sdk: Path) -> dict[str, str | None]:
    """Changes to the environment for the scripts in `node_scripts`, without settings of the user for Node.js."""
    cleared = dict.fromkeys(name for name in os.environ if name.startswith("NODE_") or name == "FORCE_COLOR")
    return cleared | {
        "KUBEWASP_NODE_TOOLS": "" if tools_folder is None else str(tools_folder),
        "KUBEWASP_JAVASCRIPT_SDK": str(sdk.resolve()),
        "NODE_OPTIONS": "",
        "NO_COLOR": "1",
    }
