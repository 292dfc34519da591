"""Style of a guest from its exports."""

import asyncio
from pathlib import Path

import pytest

from kubewasp.framework.config.model import ConfigError
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.web.guest_style import detect_style
from tests.guests.build import wat_text
from tests.web.client import app_of, ask
from tests.web.guests import handler, middleware, runner

_COMMAND = '(module (memory (export "memory") 1) (func (export "_start")))'


@pytest.mark.parametrize(
    ("guest", "style"),
    [
        (handler("(i64.const 0)"), "module"),
        (runner(""), "run"),
        (runner("", message=True), "run"),
        (middleware(), "http-wasm"),
        (wat_text(_COMMAND), "wasi"),
        (wat_text("(component)"), "wasi"),
    ],
)
def test_style_is_that_of_the_exports(guest: Path, style: str) -> None:
    assert detect_style(guest.read_bytes()) == style


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("(module)", "style not recognized.*none of them is there"),
        ('(module (func (export "run") (param i64)))', r"style not recognized.*run has the type \(i64\) -> \(\)"),
        (
            '(module (func (export "run")) (func (export "handle_request")))',
            "exports fit the styles http-wasm and run: set style",
        ),
    ],
)
def test_no_style_or_two(text: str, problem: str) -> None:
    with pytest.raises(GuestLoadError, match=problem):
        detect_style(wat_text(text).read_bytes())


@pytest.mark.parametrize("content", [b"", b"\0asm", b"\0asm\x01\0\0\0\x01\xff\xff\xff\xff\x7f", b"text"])
def test_bytes_that_are_no_module(content: bytes) -> None:
    with pytest.raises(GuestLoadError):
        detect_style(content)


def test_configuration_needs_no_style() -> None:
    guests = {"check": {"file": str(middleware())}, "main": {"file": str(runner("", message=True))}}
    routes = [{"prefix": "/", "middlewares": ["check"], "handler": "main"}]
    assert ask({"guests": guests, "routes": routes}).status_code == 200


def test_settings_and_roles_of_another_style_are_errors() -> None:
    def load(guest: dict[str, object], role: str = "handler") -> None:
        route: dict[str, object] = {"path": "/", "handler": "a"}
        if role == "middleware":
            route = {"path": "/", "middlewares": ["a"], "respond": {}}
        app_of({"guests": {"a": guest}, "routes": [route]})

    with pytest.raises(GuestLoadError, match="guest has style run; dirs: only for guests of style wasi"):
        load({"file": str(runner("")), "dirs": ["/"]})
    with pytest.raises(GuestLoadError, match="guest has style wasi; reuse: a WASI command runs once"):
        load({"file": str(wat_text(_COMMAND)), "reuse": 5})
    with pytest.raises(ConfigError, match=r'routes\[0\]\.handler: guest "a" has style http-wasm'):
        load({"file": str(middleware())})
    with pytest.raises(ConfigError, match=r'routes\[0\]\.middlewares\[0\]: guest "a" has style run'):
        load({"file": str(runner(""))}, "middleware")


def test_guest_is_not_replaced_by_a_middleware(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "guest.wasm"
    file.write_bytes(runner("").read_bytes())

    async def run() -> str:
        app = app_of({"guests": {"a": {"file": str(file)}}, "routes": [{"path": "/", "handler": "a"}]})
        fresh = tmp_path / "new"
        fresh.write_bytes(middleware().read_bytes())
        fresh.replace(file)
        app.reloader.reload_changed()
        app.close()
        return app.guests["a"].style

    assert asyncio.run(run()) == "run"
    (record,) = (record for record in caplog.records if "reload failed" in record.message)
    assert record.__dict__["problem"] == ("wasm: guest of style run was replaced by one of style http-wasm")
