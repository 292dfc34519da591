"""Reload of a web server's configuration: routes and guests between two requests, refusals, moved tags."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubewasp.wasm.errors import GuestLoadError
from kubewasp.web import create_app, load_web_config
from kubewasp.web.app import WebApp
from tests.web.client import client_of
from tests.web.test_guests import _TEMPLATE, write


def configure(path: Path, **fields: Any) -> None:
    guests = {"main": {"file": "guest.wat", "style": "module"}}
    document = {"guests": guests, "routes": [{"prefix": "/", "handler": "main"}], "reload": "0s", **fields}
    write(path, yaml.safe_dump(document))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    write(tmp_path / "guest.wat", _TEMPLATE.format(201))
    write(tmp_path / "other.wat", _TEMPLATE.format(202))
    configure(tmp_path / "web.yaml")
    return tmp_path / "web.yaml"


def app_of(path: Path) -> WebApp:
    return create_app(load_web_config(path), read=lambda: load_web_config(path), file=str(path))


async def statuses(app: WebApp, *paths: str) -> list[int]:
    async with client_of(app) as client:
        return [(await client.get(path)).status_code for path in paths]


def test_routes_and_guests_are_replaced_and_unchanged_guests_go_on(config: Path) -> None:
    async def run() -> None:
        app = app_of(config)
        kept = app.guests["main"]
        assert await statuses(app, "/", "/other") == [201, 201]
        guests = {"main": {"file": "guest.wat", "style": "module"}, "other": {"file": "other.wat", "style": "module"}}
        routes = [{"path": "/", "handler": "main"}, {"path": "/other", "handler": "other"}]
        configure(config, guests=guests, routes=routes)
        app.reloader.reload_changed()
        assert await statuses(app, "/", "/other", "/none") == [201, 202, 404]
        assert app.guests["main"] is kept
        assert app.reloader.counts == {"success": 1, "failure": 0}
        app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"routes": []}, "routes: Required value"),
        ({"guests": {"main": {"file": "none.wat", "style": "module"}}}, 'guest "main"'),
        ({"listen": "127.0.0.1:1"}, "listen: cannot change while the server runs: restart it"),
        ({"workers": 3}, "workers: cannot change while the server runs: restart it"),
    ],
)
def test_a_configuration_that_cannot_be_used_changes_nothing(
    config: Path, fields: dict[str, Any], problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        app = app_of(config)
        table = app.table
        configure(config, **fields)
        app.reloader.reload_changed()
        assert app.table is table
        assert await statuses(app, "/") == [201]
        assert problem in app.reloader.last_failure
        assert app.reloader.status()["reloads"]["failed"] == 1
        app.close()

    asyncio.run(run())
    assert "Configuration reload failed, previous one stays" in caplog.messages


def test_a_reload_on_request(config: Path) -> None:
    async def run() -> None:
        app = app_of(config)
        write(config.parent / "guest.wat", _TEMPLATE.format(203))
        app.reloader.reload("SIGHUP")
        app.reloader.reload_changed()
        assert await statuses(app, "/") == [203]
        assert app.reloader.counts["success"] == 1
        app.close()

    asyncio.run(run())


def test_the_meaning_of_a_tag_is_loaded_by_its_digest(config: Path) -> None:
    async def run() -> None:
        app = app_of(config)
        guest = app.guests["main"]
        fetched, asked = guest._sources.fetch(str(config.parent / "other.wat"), max_bytes=1 << 20), list[str]()

        class Sources:
            meaning = "sha256:" + "1" * 64
            is_away = False

            def resolve(self, source: str) -> str:
                if self.is_away:
                    raise GuestLoadError("away")
                return self.meaning

            def fetch(self, place: str, **_: Any) -> Any:
                asked.append(place)
                return replace(fetched, version=self.meaning)

        sources: Any = Sources()
        guest.config = replace(guest.config, reference="oci://registry.example/handler:v1")
        guest._sources = sources
        guest.reload_if_moved()
        guest.reload_if_moved()
        assert asked == [f"oci://registry.example/handler:v1@{sources.meaning}"]
        assert await statuses(app, "/") == [202]
        sources.is_away = True
        guest.reload_if_moved()  # told, and no change
        assert await statuses(app, "/") == [202]
        app.close()

    asyncio.run(run())


def test_a_moved_tag_is_used_once_it_is_signed(config: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A tag is pushed first, and signed a moment later."""

    async def run() -> None:
        app = app_of(config)
        guest = app.guests["main"]
        fetched = guest._sources.fetch(str(config.parent / "other.wat"), max_bytes=1 << 20)

        class Sources:
            meaning = "sha256:" + "1" * 64
            is_signed = False

            def resolve(self, source: str) -> str:
                return self.meaning

            def fetch(self, place: str, **_: Any) -> Any:
                if not self.is_signed:
                    raise GuestLoadError("wasm: no signature by team-a")
                return replace(fetched, version=self.meaning)

        sources: Any = Sources()
        guest.config = replace(guest.config, reference="oci://registry.example/handler:v1")
        guest._sources = sources
        first = guest.digest
        guest.reload_if_moved()
        guest.reload_if_moved()
        assert await statuses(app, "/") == [201]
        [shown] = app.reloader.status()["guests"]
        failed = {"succeeded": 0, "failed": 2, "lastFailure": "wasm: no signature by team-a"}
        assert (shown["guest"], shown["digest"], shown["reloads"]) == ("main", first, failed)
        sources.is_signed = True
        guest.reload_if_moved()
        assert await statuses(app, "/") == [202]
        [shown] = app.reloader.status()["guests"]
        assert (shown["digest"], shown["source"]) == (fetched.digest, fetched.source)
        assert shown["reloads"] == {"succeeded": 1, "failed": 2, "lastFailure": ""}
        assert guest.reloads == {"success": 1, "failure": 2}
        app.close()

    asyncio.run(run())
    assert caplog.messages.count("Guest reload failed, previous version stays") == 1
