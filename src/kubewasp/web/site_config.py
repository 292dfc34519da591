"""The configuration of a web server: guests, routes, where to listen. Plain data; `config_reading` reads it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from kubewasp.web.request_limits import WebLimits

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Style = Literal["wasi", "module", "http-wasm"]
STYLES: Final = ("wasi", "module", "http-wasm")
DEFAULT_LISTEN: Final = "127.0.0.1:8080"
DEFAULT_WORKERS: Final = 32


@dataclass(frozen=True, slots=True)
class GuestConfig:
    """One wasm file and what it may do."""

    name: str
    file: Path
    style: Style
    folder: Path
    config: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    dirs: tuple[str, ...] = ()
    reuse: bool = False
    limits: WebLimits = field(default_factory=WebLimits)


@dataclass(frozen=True, slots=True)
class Respond:
    """An answer that is always the same."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""


@dataclass(frozen=True, slots=True)
class RouteConfig:
    """Which requests go where: an exact path, or a prefix. One of handler (a guest's name) and respond is set."""

    path: str
    is_prefix: bool
    methods: tuple[str, ...] = ()  # none: all
    middlewares: tuple[str, ...] = ()
    handler: str = ""
    respond: Respond | None = None

    @property
    def shown(self) -> str:
        return f"{self.path}*" if self.is_prefix else self.path


@dataclass(frozen=True, slots=True)
class Listen:
    """An address, and the certificate if HTTPS is spoken there."""

    host: str
    port: int
    certificate: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class WebConfig:
    """All of it."""

    guests: Mapping[str, GuestConfig]
    routes: tuple[RouteConfig, ...]
    listen: Listen
    operations: Listen | None = None
    workers: int = DEFAULT_WORKERS
    reload_seconds: float = 1.0
    source: str = ""
