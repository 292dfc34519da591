"""Reloading of changed guests."""

import asyncio
from pathlib import Path

import pytest

from kubewasp.trust.bundle import sign_content
from kubewasp.wasm.errors import GuestLoadError
from tests.trust.signing import key
from tests.web.client import CHUNKED, app_of, client_of, one_handler

_TEMPLATE = """(module
  (import "kubewasp_http" "response_status" (func $status (param i32)))
  (memory (export "memory") 1)
  (func (export "malloc") (param i32) (result i32) (i32.const 0))
  (func (export "free") (param i32))
  (func (export "run") (result i64) (call $status (i32.const {})) (i64.const 0)))"""


def write(path: Path, text: str) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(path)


def test_changed_broken_and_changed_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    guest = tmp_path / "guest.wat"
    write(guest, _TEMPLATE.format(201))

    async def run() -> list[int]:
        app = app_of(one_handler(guest))
        async with client_of(app) as client:
            found = [(await client.get("/")).status_code]
            for text in (_TEMPLATE.format(202), "(module", _TEMPLATE.format(203)):
                write(guest, text)
                app.reloader.reload_changed()
                found.append((await client.get("/")).status_code)
            guest.unlink()
            app.reloader.reload_changed()
            found.append((await client.get("/")).status_code)
            assert app.guests["main"].reloads == {"success": 2, "failure": 1}
        app.close()
        return found

    assert asyncio.run(run()) == [201, 202, 202, 203, 203]
    assert "Guest reload failed, previous version stays" in caplog.messages


def test_a_changed_guest_is_used_once_its_signature_is_there(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    guest, signature = tmp_path / "guest.wat", tmp_path / "guest.wat.sigstore.json"
    (tmp_path / "team.pub").write_bytes(key().public.pem)
    trust = {"allOf": [{"kind": "pubKey", "owner": "team-a", "keyFile": str(tmp_path / "team.pub")}]}

    def signed(text: str) -> str:
        return sign_content(text.encode(), key()).write().decode()

    async def run() -> list[int]:
        write(guest, _TEMPLATE.format(201))
        write(signature, signed(_TEMPLATE.format(201)))
        app = app_of({**one_handler(guest), "trust": trust})
        async with client_of(app) as client:
            found = [(await client.get("/")).status_code]
            for path, text in ((guest, _TEMPLATE.format(202)), (signature, signed(_TEMPLATE.format(202)))):
                write(path, text)
                app.reloader.reload_changed()
                found.append((await client.get("/")).status_code)
        app.close()
        return found

    assert asyncio.run(run()) == [201, 201, 202]
    assert "Guest reload failed, previous version stays" in caplog.messages


def test_an_unsigned_guest_is_not_served(tmp_path: Path) -> None:
    guest = tmp_path / "guest.wat"
    write(guest, _TEMPLATE.format(201))
    trust = {"allOf": [{"kind": "pubKey", "owner": "team-a", "key": key().public.pem.decode()}]}
    with pytest.raises(GuestLoadError, match="no signature by team-a"):
        app_of({**one_handler(guest), "trust": trust})


def test_requests_under_way_end_with_the_version_they_began_with(tmp_path: Path) -> None:
    guest = tmp_path / "guest.wat"
    reads = _TEMPLATE.replace(
        "(memory", '(import "kubewasp_http" "request_read" (func $read (param i32 i32) (result i32))) (memory'
    ).replace("(call $status", "(drop (call $read (i32.const 0) (i32.const 1))) (call $status")
    write(
        guest, reads.format(201).replace("(drop (call", "(loop $again (br_if $again (call").replace("1)))", "60000))))")
    )

    async def run() -> list[int]:
        app = app_of(one_handler(guest))
        statuses: list[int] = []
        begun, go_on = asyncio.Event(), asyncio.Event()
        pieces = 0

        async def receive() -> dict[str, object]:
            nonlocal pieces
            pieces += 1
            if pieces > 1:  # the first piece is large enough for the guest to be called
                begun.set()
                await go_on.wait()
            return {"type": "http.request", "body": b"x" * 70000, "more_body": pieces < 3}

        async def send(message: dict[str, int]) -> None:
            if "status" in message:
                statuses.append(message["status"])

        scope = {"type": "http", "method": "POST", "path": "/", "headers": CHUNKED, "http_version": "1.1"}
        first = asyncio.create_task(app(scope, receive, send))
        await begun.wait()
        write(guest, _TEMPLATE.format(202))
        app.reloader.reload_changed()
        async with client_of(app) as client:
            statuses.append((await client.get("/")).status_code)
        go_on.set()
        await first
        app.close()
        return statuses

    assert asyncio.run(run()) == [202, 201]
