"""The console's page: its static files over HTTP, and the whole of it in one HTML file with embedded answers.

The page has no build step: the files of `static/` are served as they are. For the single file, every module becomes a
function and every import a constant, so modules keep their own names.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from starlette.requests import Request
    from starlette.routing import BaseRoute

PREFIX: Final = "/console"
STATIC: Final = Path(__file__).with_name("static")
SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HEADERS: Final = {
    "Content-Security-Policy": SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Files change with the version of kubewasp: browsers ask again, and get 304.
    "Cache-Control": "no-cache",
    "Vary": "Accept-Encoding",
}
# The forms of imports and exports in static/; a test checks that there are no others.
_IMPORT: Final = re.compile(r'^import \{ ([^}]+) \} from "([^"]+)";$', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ((?:async )?function|const|let|class) (\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Asset:
    content: bytes
    compressed: bytes
    media_type: str
    tag: str


def page_routes(*, root: bool = False) -> list[BaseRoute]:
    """Routes of the page below `/console/`; `root` redirects from `/`, for a server of the console alone."""
    routes: list[BaseRoute] = [Route(PREFIX, _redirect), Route(f"{PREFIX}/{{path:path}}", _serve)]
    return [Route("/", _redirect), *routes] if root else routes


async def _redirect(_request: Request) -> Response:
    return RedirectResponse(f"{PREFIX}/", headers={"Cache-Control": "no-store"})


async def _serve(request: Request) -> Response:
    asset = _assets().get(request.path_params["path"] or "index.html")
    if asset is None:
        return PlainTextResponse("the console has no such file\n", 404, _HEADERS)
    headers = {**_HEADERS, "ETag": asset.tag}
    asked = request.headers.get("if-none-match", "")
    if asset.tag in (tag.strip().removeprefix("W/") for tag in asked.split(",")):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.compressed, 200, {**headers, "Content-Encoding": "gzip"}, asset.media_type)
    return Response(asset.content, 200, headers, asset.media_type)


@functools.cache
def _assets() -> dict[str, _Asset]:
    """All files of `static/` by their path: a path of a request is a key of this table and nothing else."""
    return {path.relative_to(STATIC).as_posix(): _asset(path) for path in static_files()}


def static_files() -> list[Path]:
    return sorted(path for path in STATIC.rglob("*") if path.suffix in _TYPES)


def _asset(path: Path) -> _Asset:
    content = path.read_bytes()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return _Asset(content, gzip.compress(content, mtime=0), _TYPES[path.suffix], tag)


def inline_page(documents: Mapping[str, Any]) -> str:
    """The page as one HTML file that asks no server: `documents` has answers of the API by their address.

    An address is the path below `/api/v1` with its query, without parameters that have their default, such as `run` for
    the first run, and without those of a part of a list: `/map`, `/map?by=team`, `/pods/default/web-1/decision`.
    """
    script, style = _bundle(), _text("style.css")
    icon = base64.b64encode((STATIC / "icon.svg").read_bytes()).decode()
    policy = (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    # "<" never stands in the answers: no text of a cluster can end the element.
    answers = orjson.dumps(documents).decode().replace("<", "\\u003c")
    charset = '<meta charset="utf-8">'
    parts = {
        charset: f'{charset}\n<meta http-equiv="Content-Security-Policy" content="{policy}">',
        'href="icon.svg"': f'href="data:image/svg+xml;base64,{icon}"',
        '<link rel="stylesheet" href="style.css">': f"<style>{style}</style>",
        '<script type="module" src="app.js"></script>': f'<script type="module">{script}</script>',
        "</body>": f'<script type="application/json" id="kubewasp-answers">{answers}</script>\n</body>',
    }
    page = _text("index.html")
    for place, replacement in parts.items():
        before, found, after = page.partition(place)
        if not found:
            raise ValueError(f"static/index.html has no {place}")
        page = f"{before}{replacement}{after}"
    return page


def _text(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@functools.cache
def _bundle() -> str:
    """All modules in one script, each after those that it imports."""
    numbers = {name: number for number, name in enumerate(_in_order("app.js", []))}
    parts = [_as_function(name, numbers) for name in numbers]
    return "\n" + "\n".join(parts)


def _in_order(name: str, above: list[str]) -> Iterator[str]:
    if name in above:
        raise ValueError(f"modules import each other: {' -> '.join([*above, name])}")
    seen: set[str] = set()
    for _names, target in _IMPORT.findall(_text(name)):
        for found in _in_order(_resolved(name, target), [*above, name]):
            if found not in seen:
                seen.add(found)
                yield found
    yield name


def _resolved(name: str, target: str) -> str:
    return (STATIC / name).parent.joinpath(target).resolve().relative_to(STATIC.resolve()).as_posix()


def _as_function(name: str, numbers: Mapping[str, int]) -> str:
    text = _text(name)
    exports = ", ".join(found for _kind, found in _EXPORT.findall(text))
    text = _IMPORT.sub(lambda found: f"const {{ {found[1]} }} = module{numbers[_resolved(name, found[2])]};", text)
    text = _EXPORT.sub(r"\1 \2", text)
    return f"const module{numbers[name]} = (() => {{\n{text}return {{ {exports} }};\n}})();"
