"""Web configurations: defaults, and all problems with their places."""

from pathlib import Path
from typing import Any

import pytest

from kubewasp.framework.config.model import ConfigError
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.web.app import create_app
from kubewasp.web.web_config_loader import load_web_config, read_web_config
from tests.guests.build import wat_text
from tests.web.client import app_of, one_handler, with_middlewares
from tests.web.guests import handler, middleware

_ROUTE = {"prefix": "/", "respond": {"body": "x"}}


def problems(document: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        read_web_config(document, "web.yaml")
    return str(caught.value)


def test_smallest_and_largest() -> None:
    config = read_web_config({"routes": [_ROUTE]})
    assert (config.listen.host, config.listen.port, config.operations) == ("127.0.0.1", 8080, None)
    config = read_web_config(
        {
            "listen": "[::1]:80",
            "operations": ":9090",
            "tls": {"certificate": "c.pem", "key": "k.pem"},
            "workers": 4,
            "threads": 8,
            "connections": 10,
            "allowedHosts": ["site.example"],
            "trustedProxies": ["10.0.0.0/8", "::1"],
            "reload": "5s",
            "guests": {
                "cgi": {
                    "file": "a.wasm",
                    "style": "wasi",
                    "env": {"A": "b"},
                    "args": ["x"],
                    "dirs": ["data:/data:ro"],
                    "limits": {"memory": "64Mi", "timeout": "500ms", "requestBody": 10, "instances": 3},
                },
                "check": {"file": "b.wat", "style": "http-wasm", "config": "c", "reuse": True},
            },
            "routes": [{"path": "/a", "methods": ["GET"], "middlewares": ["check"], "handler": "cgi"}],
        },
        folder=Path("conf"),
    )
    assert (config.listen.host, config.listen.port, config.listen.certificate) == ("::1", 80, "conf/c.pem")
    assert config.operations is not None
    assert (config.operations.host, config.reload_seconds) == ("0.0.0.0", 5.0)
    assert (config.connections, config.allowed_hosts) == (10, ("site.example",))
    assert config.trusted_proxies == ("10.0.0.0/8", "::1")
    guest = config.guests["cgi"]
    assert (guest.file, guest.limits.memory, guest.limits.timeout) == (Path("conf/a.wasm"), 64 * 2**20, 0.5)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ([], "expected an object"),
        ({"connections": 0, "routes": [_ROUTE]}, "connections: Invalid value: 0: expected a number from 1"),
        (
            {"trustedProxies": ["10.0.0.1/8"], "routes": [_ROUTE]},
            'trustedProxies[0]: Invalid value: "10.0.0.1/8": expected an address or a network',
        ),
        (
            {"allowedHosts": ["site.example", "https://site.example"], "routes": [_ROUTE]},
            'allowedHosts[1]: Invalid value: "https://site.example": expected a host name such as',
        ),
        ({}, "routes: Required value"),
        ({"rutes": [_ROUTE], "routes": [_ROUTE]}, 'rutes: unknown field; did you mean "routes"?'),
        ({"listen": "8080", "routes": [_ROUTE]}, 'listen: Invalid value: "8080": expected HOST:PORT'),
        ({"listen": "a:99999", "routes": [_ROUTE]}, "listen: Invalid value"),
        ({"workers": 0, "routes": [_ROUTE]}, "workers: Invalid value: 0"),
        ({"tls": {"key": "k"}, "routes": [_ROUTE]}, "tls.certificate: Required value"),
        ({"routes": [{"respond": {}}]}, "routes[0]: expected either path (exact) or prefix"),
        ({"routes": [{"path": "/", "prefix": "/", "respond": {}}]}, "routes[0]: expected either path"),
        ({"routes": [{"path": "a", "respond": {}}]}, "routes[0].path: Invalid value"),
        ({"routes": [{"path": "/"}]}, "routes[0]: expected either handler (a guest) or respond"),
        ({"routes": [{"path": "/", "handler": "x"}]}, 'routes[0].handler: unknown guest "x"; no guests are defined'),
        ({"routes": [{"path": "/", "methods": ["get"], "respond": {}}]}, "routes[0].methods[0]: Invalid value"),
        ({"routes": [_ROUTE, _ROUTE]}, "routes[1]: duplicate of routes[0]"),
        ({"routes": [{"path": "/", "respond": {"status": 99}}]}, "routes[0].respond.status: Invalid value: 99"),
        ({"routes": [{"path": "/", "respond": {"headers": {"a b": "c"}}}]}, "routes[0].respond.headers: a b"),
        ({"guests": {"a": {}}, "routes": [_ROUTE]}, "guests.a.file: Required value"),
        ({"guests": {"a": {"file": "x", "style": "cgi"}}, "routes": [_ROUTE]}, "guests.a.style: Unsupported value"),
        (
            {"guests": {"a": {"file": "x", "style": "module", "limits": {"mem": 1}}}, "routes": [_ROUTE]},
            "guests.a.limits.mem: unknown limit; expected one of memory",
        ),
        (
            {"guests": {"a": {"file": "x", "style": "module", "limits": {"timeout": "1x"}}}, "routes": [_ROUTE]},
            "guests.a.limits.timeout: expected a duration",
        ),
        (
            {"guests": {"a": {"file": "x", "style": "module", "limits": {"memory": "1Ki"}}}, "routes": [_ROUTE]},
            "guests.a.limits.memory: expected a size such as 64Mi, from 64Ki to 4Gi",
        ),
        (
            {"guests": {"a": {"file": "x", "style": "module", "dirs": ["/"]}}, "routes": [_ROUTE]},
            "guests.a.dirs: Forbidden: only for guests of style wasi",
        ),
        (
            {"guests": {"a": {"file": "x", "style": "module", "raw": True}}, "routes": [_ROUTE]},
            "guests.a.raw: Forbidden: only for guests of style wasi",
        ),
        (
            {"guests": {"a": {"file": "x", "style": "wasi", "contentType": "a/b"}}, "routes": [_ROUTE]},
            "guests.a.contentType: Forbidden: only for guests of style run, and style wasi with raw: true",
        ),
        (
            {"guests": {"a": {"file": "x", "contentType": "a\r\nb"}}, "routes": [_ROUTE]},
            "guests.a.contentType: Invalid value",
        ),
        (
            {"guests": {"a": {"file": "x", "style": "module", "importModule": "m"}}, "routes": [_ROUTE]},
            "guests.a.importModule: Forbidden: only for guests of style run",
        ),
        (
            {"guests": {"a": {"file": "x", "importModule": "http_handler"}}, "routes": [_ROUTE]},
            "guests.a.importModule: Invalid value",
        ),
        (
            {"guests": {"a": {"file": "x", "reuse": 0}}, "routes": [_ROUTE]},
            "guests.a.reuse: Invalid value: 0: expected true, false or a number of requests from 1",
        ),
        (
            {"guests": {"a": {"file": "x", "style": "http-wasm"}}, "routes": [{"path": "/", "handler": "a"}]},
            'routes[0].handler: guest "a" has style http-wasm: list it under middlewares',
        ),
        (
            {
                "guests": {"a": {"file": "x", "style": "module"}},
                "routes": [{"path": "/", "middlewares": ["a"], "respond": {}}],
            },
            'routes[0].middlewares[0]: guest "a" has style module; middlewares have style http-wasm',
        ),
    ],
)
def test_problems_have_a_place(document: Any, expected: str) -> None:
    text = problems(document)
    assert text.startswith("web.yaml: ")
    assert expected in text


def test_all_problems_at_once() -> None:
    text = problems({"listen": "x", "workers": -1, "routes": [{"path": "a"}]})
    assert "4 problems" in text


def test_file_that_is_not_there_or_not_yaml(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load_web_config(tmp_path / "web.yaml")
    (tmp_path / "web.yaml").write_text("routes: [")
    with pytest.raises(ConfigError, match="line 2"):
        load_web_config(tmp_path / "web.yaml")


def load_error(document: dict[str, Any]) -> str:
    with pytest.raises(GuestLoadError) as caught:
        app_of(document)
    return str(caught.value)


def test_guests_that_cannot_be_used(tmp_path: Path) -> None:
    missing = load_error(one_handler(tmp_path / "no.wasm"))
    assert missing.startswith('guest "main" (')
    assert "No such file" in missing
    (tmp_path / "text.wasm").write_text("hello")
    assert "not WebAssembly" in load_error(one_handler(tmp_path / "text.wasm"))
    empty = wat_text("(module)")
    assert "doesn't export func[run]; style module needs run() -> (i64)" in load_error(one_handler(empty))
    assert "_start" in load_error(one_handler(empty, "wasi"))
    assert "set style: http-wasm" in load_error(one_handler(middleware()))
    assert "set style: module" in load_error(with_middlewares([handler("(i64.const 0)")]))
    wrong = wat_text('(module (memory (export "memory") 1) (func (export "run")))')
    assert "func[run]: () -> (). should be () -> (i64)" in load_error(one_handler(wrong))
    unknown = wat_text('(module (import "kubewasp_http" "fly" (func)))')
    assert 'name "fly"; offered: request_method' in load_error(one_handler(unknown))
    foreign = wat_text('(module (import "env" "fly" (func)))')
    assert "style module offers kubewasp_http and wasi_snapshot_preview1" in load_error(one_handler(foreign))
    trapping = handler("(i64.const 0)", more='(func (export "_initialize") unreachable)')
    assert "guest start failed: trap" in load_error(one_handler(trapping))
    big = handler("(i64.const 0)", memory="100")
    assert "raise limits.memory" in load_error(one_handler(big, limits={"memory": "1Mi"}))


def test_create_app_loads_a_file(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text("routes: [{prefix: /, respond: {body: hi}}]")
    create_app(load_web_config(tmp_path / "web.yaml")).close()
