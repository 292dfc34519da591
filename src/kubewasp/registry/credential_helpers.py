"""Helper programs `docker-credential-NAME`: bounded in time and output, their words are not repeated."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from contextlib import suppress
from typing import Final

from kubewasp.k8s.errors import quoted
from kubewasp.registry.errors import ContentError, RegistryError
from kubewasp.registry.oci_manifests import read_object

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NOT_FOUND: Final = b"credentials not found"
_MAX_BYTES: Final = 1 << 20
TIMEOUT: Final = 30.0


def helper_credentials(name: str, server: str, *, timeout: float = TIMEOUT) -> tuple[str, str]:
    """User name and secret for a server; both are empty if the helper has none."""
    if not _NAME.fullmatch(name):
        raise RegistryError(f"{quoted(name)} is no name of a credential helper")
    program = f"docker-credential-{name}"
    code, output = _run(program, server, timeout)
    if code:
        if _NOT_FOUND in output:
            return "", ""
        raise RegistryError(f"{program} get failed with exit code {code}; run it by hand to see why")
    try:
        printed = read_object(output, program, max_bytes=_MAX_BYTES)
    except ContentError:
        printed = {}
    username, secret = printed.get("Username"), printed.get("Secret")
    if not isinstance(username, str) or not isinstance(secret, str):
        raise RegistryError(f"{program} get did not print a JSON object with Username and Secret")
    return username, secret


def _run(program: str, server: str, timeout: float) -> tuple[int, bytes]:
    """Exit code and output. The whole session is ended at the limits: a child would keep the pipe open."""
    try:
        process = subprocess.Popen(
            (program, "get"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise RegistryError(f"{program} cannot be run: {error.strerror}; is it installed, and in the PATH?") from None
    assert process.stdin is not None  # noqa: S101 - both are pipes
    assert process.stdout is not None  # noqa: S101
    is_late = threading.Event()

    def end() -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)

    def end_late() -> None:
        is_late.set()
        end()

    timer = threading.Timer(timeout, end_late)
    timer.daemon = True
    timer.start()
    try:
        with process:
            with suppress(BrokenPipeError):
                process.stdin.write(f"{server}\n".encode())
                process.stdin.close()
            output = process.stdout.read(_MAX_BYTES + 1)
            if len(output) > _MAX_BYTES:
                end()
                raise RegistryError(f"{program} get printed more than 1Mi")
            code = process.wait()
    finally:
        timer.cancel()
    if is_late.is_set():
        raise RegistryError(f"{program} get took more than {timeout:g} s")
    return code, output
