"""HTTP server for wasm handlers and middlewares: configuration, routing, guest ABIs and the ASGI application.

Public: the names in `__all__`, described in docs/http.md. The modules of this package are private.

>>> from kubewasp.web import create_app, load_web_config                # doctest: +SKIP
>>> app = create_app(load_web_config("site.yaml"))                      # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["ResponseAbortedError", "WebApp", "WebConfig", "create_app", "load_web_config", "read_web_config"]

if TYPE_CHECKING:
    from kubewasp.web.app import ResponseAbortedError, WebApp, create_app
    from kubewasp.web.web_config import WebConfig
    from kubewasp.web.web_config_loader import load_web_config, read_web_config

_HOMES = {
    "ResponseAbortedError": "app",
    "WebApp": "app",
    "WebConfig": "web_config",
    "create_app": "app",
    "load_web_config": "web_config_loader",
    "read_web_config": "web_config_loader",
}


def __getattr__(name: str) -> object:
    """Import on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
