"""Kind of the kubewasp installation, and the command that adds the tools of a plugin language to it.

The extras of pyproject.toml name the tools: `kubewasp[python]`, `kubewasp[go]`. Environments differ in how they take
them: uv's and pipx's have no pip, a checkout has its Makefile.
"""

from __future__ import annotations

import importlib.util
import json
import shlex
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

_DISTRIBUTION: Final = "kubewasp"


def install_command(extra: str) -> str:
    """A shell command that installs the tools of the extra where this kubewasp finds them."""
    prefix = Path(sys.prefix)
    source = _source()
    checkout = _folder(source) if source.get("dir_info", {}).get("editable") else None
    requirement = _requirement(extra, source)
    if (prefix / "uv-receipt.toml").is_file():
        editable = ("--editable",) if checkout else ()
        return shlex.join(["uv", "tool", "install", *editable, requirement])
    if (prefix / "pipx_metadata.json").is_file():
        return shlex.join(["pipx", "inject", _DISTRIBUTION, *_tools(extra)])
    if checkout is not None and prefix == checkout / ".venv" and (checkout / "Makefile").is_file():
        return shlex.join(["make", "-C", str(checkout), ".venv/.dev"])
    editable = ("-e",) if checkout else ()
    if importlib.util.find_spec("pip") is None:  # an environment made by uv
        return shlex.join(["uv", "pip", "install", "--python", sys.executable, *editable, requirement])
    return shlex.join([sys.executable, "-m", "pip", "install", *editable, requirement])


def _source() -> dict[str, Any]:
    """The direct URL of the installation (PEP 610); empty for one from an index."""
    try:
        found = json.loads(metadata.distribution(_DISTRIBUTION).read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _folder(source: dict[str, Any]) -> Path:
    return Path(unquote(urlsplit(str(source.get("url", ""))).path))


def _requirement(extra: str, source: dict[str, Any]) -> str:
    """The requirement with the extra, from where this kubewasp came from."""
    if source.get("dir_info", {}).get("editable"):
        return f"{_folder(source)}[{extra}]"
    name, url = f"{_DISTRIBUTION}[{extra}]", str(source.get("url", ""))
    kind = source.get("vcs_info", {}).get("vcs")
    if kind:
        url = f"{kind}+{url}@{source['vcs_info'].get('commit_id', '')}".rstrip("@")
    return f"{name} @ {url}" if url else name


def _tools(extra: str) -> list[str]:
    """Requirements of the extra, without its marker."""
    try:
        required = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return []
    parts = [item.partition(";") for item in required]
    return [name.strip() for name, _, marker in parts if marker.replace('"', "'").strip() == f"extra == '{extra}'"]
