"""The examples do what docs/http.md shows."""

import asyncio
from dataclasses import replace
from pathlib import Path

import httpx

from kubewasp.web.app import create_app
from kubewasp.web.site_config_reading import load_web_config
from kubewasp.web.web_metrics import WEB_METRICS
from tests.guests import build
from tests.web.client import ask, client_of, one_handler

EXAMPLES = build.ROOT / "examples" / "http"
PAGE = build.ROOT / "docs" / "http.md"


def test_web_yaml_answers_as_the_page_shows() -> None:
    async def run() -> list[httpx.Response]:
        app = create_app(replace(load_web_config(EXAMPLES / "web.yaml"), reload_seconds=0))
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


def test_handler_in_go() -> None:
    document = one_handler(build.go_example(EXAMPLES / "hello-go"), "wasi", env={"GREETING": "good day"})
    assert ask(document, path="/?name=ada").text == "good day, ada\n"
    assert ask(document, "POST", content=b"1234").text == "good day, world\nthank you for 4 bytes\n"
    assert ask(document, path="/?%zz").status_code == 400


def test_handler_in_python() -> None:
    document = one_handler(build.python_example(EXAMPLES / "hello-python"), "wasi")
    assert ask(document, path="/?name=ada").json() == {"greeting": "hello", "name": "ada"}
    assert ask(document, "POST", content=b"1234").json()["bytes"] == 4


def test_page_has_all_metrics() -> None:
    page = Path(PAGE).read_text(encoding="utf-8")
    for metric in WEB_METRICS:
        labels = ", ".join(metric.labels)
        assert f"| `{metric.name}` | {labels} |" in page or f"| `{metric.name}` | |" in page, metric.name
