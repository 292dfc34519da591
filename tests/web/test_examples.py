"""Examples of docs/http.md and the metrics table."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from kubewasp.web import create_app, load_web_config
from kubewasp.web.web_metrics import WEB_METRICS
from tests.guests import build
from tests.test_docs import FENCE
from tests.web.client import app_of, ask, client_of, one_handler

EXAMPLES = build.ROOT / "examples" / "http"
PAGE = build.ROOT / "docs" / "http.md"


def test_web_yaml_answers_as_the_page_shows() -> None:
    async def run() -> list[httpx.Response]:
        config = load_web_config(EXAMPLES / "web.yaml")
        patient = {
            name: replace(guest, limits=replace(guest.limits, timeout=300)) for name, guest in config.guests.items()
        }
        app = create_app(replace(config, guests=patient, reload_seconds=0))
        async with client_of(app) as client:
            found = [
                await client.post("/greet?ada", content=b"four"),
                await client.get("/secret?ada"),
                await client.get("/secret?ada", headers={"x-key": "open sesam!"}),
                await client.get("/secret?ada", headers={"x-key": "open sesame"}),
                await client.get("/elsewhere"),
            ]
        app.close()
        return found

    found = asyncio.run(run())
    assert [response.status_code for response in found] == [200, 401, 401, 200, 404]
    page = PAGE.read_text(encoding="utf-8")
    for response in (found[0], found[1], found[3]):
        assert all(line in page for line in response.text.splitlines())
    assert (EXAMPLES / "web.yaml").read_text(encoding="utf-8").partition("\n")[2] in page


def test_app_of_the_page_is_mounted_and_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    (body,) = (body for language, body in FENCE.findall(PAGE.read_text(encoding="utf-8")) if language == "py")
    names: dict[str, Any] = {}
    exec(body, names)

    async def run() -> httpx.Response:
        app = names["app"]
        async with app.router.lifespan_context(app):
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                return await client.get("/plugins/greet?ada")

    assert asyncio.run(run()).text.startswith("hello, ada\n")
    with pytest.raises(RuntimeError, match="after shutdown"):
        names["wasm"]._threads.submit(print)


def test_handler_in_go() -> None:
    document = one_handler(build.go_example(EXAMPLES / "hello-go"), "wasi", env={"GREETING": "good day"})
    assert ask(document, path="/?name=ada").text == "good day, ada\n"
    assert ask(document, "POST", content=b"1234").text == "good day, world\nthank you for 4 bytes\n"
    assert ask(document, path="/?%zz").status_code == 400


def _greets(message: Path, lines: Path, returned: Path) -> None:
    """The three handlers of a language, as detected, on instances that are used again."""
    assert ask(one_handler(message, "run"), "POST", content=b"ada").text == "hello, ada\n"
    assert ask(one_handler(message, "run"), "POST").text == "hello, world\n"
    assert ask(one_handler(lines, "run"), "POST", content=b"one\ntwo").text == "1 ONE\n2 TWO\n"
    assert ask(one_handler(returned, "module"), path="/?ada").text == "hello, ada\n"


@pytest.mark.parametrize("language", ["c", "go"])
def test_handlers_with_helpers_for_ownership(language: str) -> None:
    if language == "go":
        found = [build.go_handler(EXAMPLES / "go", name) for name in ("message", "lines", "returned")]
    else:
        found = [build.c_handler(EXAMPLES / "c" / f"{name}.c") for name in ("message", "lines", "returned")]
    _greets(*found)


def test_ownership_holds_over_many_calls_of_one_instance() -> None:
    """Neither the host nor a handler loses memory: lost messages would replace the instance every 40 calls."""
    body = b"x" * 30_000
    for file, limit in (
        (build.c_handler(EXAMPLES / "c" / "message.c"), "23Mi"),  # 16 of them are the stack
        (build.go_handler(EXAMPLES / "go", "message"), "16Mi"),
    ):
        document = one_handler(file, "run", reuse=True, limits={"memory": limit})
        responses, created = _many(document, [body] * 400)
        assert {(response.status_code, len(response.content)) for response in responses} == {(200, 30_008)}
        assert created <= 3, file


def _many(document: dict[str, Any], bodies: list[bytes]) -> tuple[list[httpx.Response], int]:
    async def run() -> tuple[list[httpx.Response], int]:
        app = app_of(document)
        async with client_of(app) as client:
            found = [await client.post("/", content=body) for body in bodies]
        app.close()
        return found, app.guests["main"].stats.created

    return asyncio.run(run())


def test_page_has_all_metrics() -> None:
    page = Path(PAGE).read_text(encoding="utf-8")
    for metric in WEB_METRICS:
        labels = ", ".join(metric.labels)
        assert f"| `{metric.name}` | {labels} |" in page or f"| `{metric.name}` | |" in page, metric.name
