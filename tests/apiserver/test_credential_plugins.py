"""Credential plugins: exec commands, OIDC and GCP. No secret in errors, no process left behind."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from kubewasp.apiserver import credential_plugins
from kubewasp.apiserver.auth import from_kubeconfig
from kubewasp.apiserver.errors import ApiConfigError
from tests.apiserver.kubeconfigs import SECRET, credential, plugin, problem, write
from tests.apiserver.running import FakeClock, asynchronous

if TYPE_CHECKING:
    from pathlib import Path


@asynchronous
async def test_an_exec_plugin_is_run_again_shortly_before_its_token_expires(tmp_path: Path) -> None:
    counter = tmp_path / "count"
    expiry = (datetime.now(UTC) + timedelta(minutes=10)).strftime("%Y-%m-%dT%H:%M:%SZ")
    status = credential(token="TOKEN", expirationTimestamp=expiry)
    code = (
        f"file = open({str(counter)!r}, 'a+')\nfile.write('x')\nfile.seek(0)\n"
        f"print({status!r}.replace('TOKEN', 'token-' + str(len(file.read()))))"
    )
    clock = FakeClock()
    credentials = await from_kubeconfig(write(tmp_path, user=plugin(tmp_path, code)), clock=clock)
    assert (await credentials.fresh()).authorization == "Bearer token-1"
    clock.time += 500
    assert (await credentials.fresh()).authorization == "Bearer token-1"
    clock.time += 60
    assert (await credentials.fresh()).authorization == "Bearer token-2"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            f"import sys; print({SECRET!r}, file=sys.stderr); sys.exit(3)",
            "failed with exit code 3; run it by hand to see why",
        ),
        (f"print({SECRET!r})", "did not print an ExecCredential"),
        ("print('{}')", "did not print an ExecCredential"),
        (f"print({credential(nothing=SECRET)!r})", "gave neither a token nor a certificate"),
        (f"print({credential(token=SECRET)!r}.replace('/v1', '/v9'))", "did not print an ExecCredential"),
        ("print('[]')", "did not print an ExecCredential"),
    ],
)
def test_an_exec_plugin_that_fails_is_named_without_what_it_printed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, code: str, expected: str
) -> None:
    files = write(tmp_path, user=plugin(tmp_path, code))
    found = problem(caplog, files)
    assert found.startswith(f'{files}: context "main": the exec plugin "')
    assert expected in found


def test_an_exec_plugin_that_is_missing_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = write(tmp_path, user=plugin(tmp_path, "", command="no-such-plugin", args=[SECRET]))
    expected = f'{files}: context "main": the exec plugin "no-such-plugin" cannot be run: No such file or directory'
    assert problem(caplog, files) == f"{expected}; is it installed?"


@pytest.mark.parametrize("timeout", [2.0, 60.0])
def test_an_exec_plugin_that_hangs_is_ended_when_time_is_up_or_nobody_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timeout: float
) -> None:
    monkeypatch.setattr(credential_plugins, "_COMMAND_TIMEOUT", timeout)
    started = tmp_path / "started"
    code = f"import os, signal\nopen({str(started)!r}, 'w').write(f'{{os.getpid()}} ')\nsignal.pause()"
    files = write(tmp_path, user=plugin(tmp_path, code))

    @asynchronous
    async def run() -> None:
        loading = asyncio.create_task(from_kubeconfig(files))
        while not (started.exists() and started.read_text().endswith(" ")):
            await asyncio.sleep(0)
        pid = int(started.read_text())
        if timeout == 60.0:
            loading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await loading
        else:
            with pytest.raises(ApiConfigError, match=r"the exec plugin .* took more than 2 s"):
                await loading
        assert not _is_there(pid)

    run()


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
