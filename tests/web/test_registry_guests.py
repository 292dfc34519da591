"""Web handlers of OCI registries."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from kubewasp.framework.config.model import ConfigError
from kubewasp.registry.copying import push_artifact
from kubewasp.registry.formats import wasm_artifact
from kubewasp.registry.references import Reference
from kubewasp.registry.registry_client import RegistryClient
from kubewasp.registry.settings import RegistrySettings
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.web import create_app
from kubewasp.web.web_config_loader import read_web_config
from tests.registry.fake_registry import FakeRegistry, without_user_files
from tests.web.guests import ECHO, handler


@pytest.fixture
def reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    without_user_files(monkeypatch, tmp_path)
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(tmp_path / "cache"))
    with FakeRegistry().serving() as registry, RegistryClient(RegistrySettings(uses_user_files=False)) as client:
        found = Reference.parse(registry.reference("handlers/echo:v1"))
        push_artifact(client, found, wasm_artifact(handler(ECHO).read_bytes(), file_name="echo.wasm", annotations={}))
        yield str(found)


def _document(file: str, **settings: object) -> dict[str, object]:
    guest = {"file": file, "style": "module", **settings}
    return {"guests": {"echo": guest}, "routes": [{"prefix": "/", "handler": "echo"}]}


async def _answer(app: object) -> int:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://web") as client:  # type: ignore[arg-type]
        return (await client.post("/", content=b"hello")).status_code


def test_a_handler_of_a_registry_answers(reference: str) -> None:
    config = read_web_config(_document(reference, imagePullPolicy="Always") | {"registries": {"timeout": "10s"}})
    guest = config.guests["echo"]
    assert (guest.place, guest.image_pull_policy, config.registries.timeout) == (reference, "Always", 10.0)
    app = create_app(config)
    try:
        assert asyncio.run(_answer(app)) == 200
        app.guests["echo"].reload_if_changed()
    finally:
        app.close()


def test_a_handler_that_the_registry_has_not_is_an_error_with_its_name(reference: str) -> None:
    with pytest.raises(GuestLoadError, match=r'guest "echo" \(oci://.*/handlers/other:v1\): wasm: .*not found'):
        create_app(read_web_config(_document(reference.replace("echo", "other"))))


def test_problems_are_named_with_their_place() -> None:
    with pytest.raises(ConfigError) as error:
        read_web_config(_document("oci://user:secret@host/x", imagePullPolicy="Sometimes"))
    assert "guests.echo.file: " in str(error.value)
    assert "guests.echo.imagePullPolicy: Unsupported value" in str(error.value)
    assert "secret" not in str(error.value)
