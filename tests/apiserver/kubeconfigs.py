"""Kubeconfigs for tests, and the error text of a bad one."""

from __future__ import annotations

import base64
import json
import logging
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kubewasp.apiserver.auth import from_kubeconfig
from kubewasp.apiserver.errors import ApiConfigError
from tests.apiserver.running import asynchronous

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "s3cret-t0ken"


def write(folder: Path, *, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> str:
    """A kubeconfig with the context `main`."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"} | (cluster or {})}],
        "users": [{"name": "u", "user": user or {}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return str(path)


def inline(content: bytes) -> str:
    return base64.b64encode(content).decode()


def plugin(folder: Path, code: str, **more: Any) -> dict[str, Any]:
    """A user whose exec plugin runs that Python code."""
    script = folder / "plugin.py"
    script.write_text(code)
    command = {"apiVersion": "client.authentication.k8s.io/v1", "command": sys.executable, "args": [str(script)]}
    return {"exec": command | more}


def credential(**status: Any) -> str:
    return json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status})


def problem(caplog: pytest.LogCaptureFixture, files: str, context: str | None = None) -> str:
    """Error text; neither it nor the log holds the secret."""
    caught: list[str] = []

    @asynchronous
    async def run() -> None:
        with pytest.raises(ApiConfigError) as error:
            await from_kubeconfig(files, context)
        caught.append(f"{error.value}")
        assert error.value.__suppress_context__ or error.value.__context__ is None

    with caplog.at_level(logging.DEBUG):
        run()
    assert SECRET not in caught[0]
    assert SECRET not in caplog.text
    return caught[0]
