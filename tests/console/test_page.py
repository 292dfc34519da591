"""The console's page as files: their size, their form, how they are served, and the page in one file."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import re
from typing import Any

import pytest
from starlette.applications import Starlette

from kubewasp.console.page import SECURITY_POLICY, STATIC, inline_page, page_routes, static_files
from tests.server.asking import Client

MOST_BYTES = 300_000
SVG = "http://www.w3.org/2000/svg"  # the name of a format, which nothing fetches
MODULES = sorted(STATIC.rglob("*.js"))


@pytest.fixture
def client() -> Client:
    return Client(Starlette(routes=page_routes(root=True)))


def test_all_files_together_are_small() -> None:
    assert sum(path.stat().st_size for path in static_files()) < MOST_BYTES


def test_every_file_of_the_folder_is_served() -> None:
    assert static_files() == sorted(path for path in STATIC.rglob("*") if path.is_file())


def test_no_address_outside_is_named() -> None:
    for path in static_files():
        text = path.read_text(encoding="utf-8").replace(SVG, "")
        assert re.findall(r"(?i)\b(?:https?|wss?|ftp):|(?<![:/])//[a-z0-9-]+\.[a-z]", text) == [], path.name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_data_never_becomes_markup_or_code(path: Any) -> None:
    text = path.read_text(encoding="utf-8")
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|DOMParser|</script"
    )
    assert re.findall(forbidden, text) == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_imports_and_exports_have_the_forms_that_one_file_needs(path: Any) -> None:
    for line in path.read_text(encoding="utf-8").splitlines():
        if re.match(r"import\b", line):
            assert re.fullmatch(r'import \{ [\w, ]+ \} from "\.{1,2}/[\w/.]+\.js";', line), line
        if re.match(r"export\b", line):
            assert re.match(r"export (async function|function|const|let|class) \w+", line), line
        assert "import(" not in line


def test_the_page_is_served_with_its_policy(client: Client) -> None:
    response = client.get("/console/")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["content-security-policy"] == SECURITY_POLICY
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in SECURITY_POLICY
    assert "unsafe" not in SECURITY_POLICY


@pytest.mark.parametrize("path", ["/", "/console"])
def test_short_addresses_lead_to_the_page(client: Client, path: str) -> None:
    response = client.get(path)
    assert (response.status_code, response.headers["location"]) == (307, "/console/")


@pytest.mark.parametrize("path", [path.relative_to(STATIC).as_posix() for path in static_files()])
def test_a_file_is_sent_once(client: Client, path: str) -> None:
    first = client.get(f"/console/{path}")
    assert first.content == (STATIC / path).read_bytes()
    tag = first.headers["etag"]
    again = client.get(f"/console/{path}", headers={"If-None-Match": f'"other", W/{tag}'})
    assert (again.status_code, again.content) == (304, b"")
    plain = client.get(f"/console/{path}", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers


@pytest.mark.parametrize(
    "path", ["page.py", "../page.py", "..%2fpage.py", "%2e%2e/page.py", "/etc/passwd", "views", "views/"]
)
def test_other_files_are_not_there(client: Client, path: str) -> None:
    response = client.get(f"/console/{path}")
    assert response.status_code == 404
    assert "def " not in response.text


def test_only_reading_is_allowed(client: Client) -> None:
    assert client.ask("POST", "/console/").status_code == 405


class _Parts(html.parser.HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": []}
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = tag
        if tag in self.texts:
            self.texts[tag].append("")

    def handle_data(self, data: str) -> None:
        if self._open in self.texts:
            self.texts[self._open][-1] += data

    def handle_endtag(self, tag: str) -> None:
        self._open = ""


def test_the_single_file_runs_its_own_script_and_no_other() -> None:
    parts = _Parts(inline_page({"/session": {}}))
    (policy,) = [attrs["content"] for tag, attrs in parts.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    hashes = set(re.findall(r"'sha256-([^']+)'", policy))
    made = [parts.texts["script"][0], parts.texts["style"][0]]
    assert hashes == {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in made}
    assert "connect-src" not in policy
    addresses = [value for _, attrs in parts.tags for name, value in attrs.items() if name in ("src", "href") and value]
    assert [value for value in addresses if not value.startswith(("#", "data:"))] == []


def test_answers_in_the_single_file_cannot_end_their_element() -> None:
    hostile = "</script><script>alert(1)</script><!--"
    documents = {"/overview": {"text": hostile, "line": "\u2028"}}
    parts = _Parts(inline_page(documents))
    (answers,) = [
        index for index, item in enumerate(tag for tag in parts.tags if tag[0] == "script") if item[1].get("id")
    ]
    assert json.loads(parts.texts["script"][answers]) == documents
    assert [tag for tag, _ in parts.tags].count("script") == 2


def test_every_module_stands_in_the_single_file_once() -> None:
    script = _Parts(inline_page({})).texts["script"][0]
    assert script.count("= (() => {\n//") == len(MODULES)
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
