"""Configuration of a web server: guests and their limits, routes, listeners. Plain data, read by web_config_loader."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Literal

from kubewasp.k8s import quantity
from kubewasp.k8s.duration import format_duration, parse_duration
from kubewasp.k8s.errors import shown
from kubewasp.registry.settings import RegistrySettings
from kubewasp.wasm.limits import COMPILATION, KIB, MIB, CompileLimits, config_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from kubewasp.registry.settings import PullPolicy
    from kubewasp.trust.policy import TrustPolicy

Style = Literal["wasi", "module", "run", "http-wasm"]
STYLES: Final = ("wasi", "module", "run", "http-wasm")
DEFAULT_CONTENT_TYPE: Final = "text/plain; charset=utf-8"
DEFAULT_LISTEN: Final = "127.0.0.1:8080"
MAX_WORKERS: Final = 64
DEFAULT_THREADS: Final = 32
DEFAULT_CONNECTIONS: Final = 2048
_COUNT: Final = "instances"
_TIMES: Final = ("timeout", "start_timeout", "client_timeout", "compile_timeout")
_RANGES: Final[dict[str, tuple[float, float]]] = {
    "memory": (64 * KIB, 4096 * MIB),
    "timeout": (0.01, 3600),
    "start_timeout": (0.01, 600),
    "client_timeout": (0.01, 3600),
    "stack": (64 * KIB, 4 * MIB),
    "request_body": (0, 1 << 50),
    "response_body": (0, 1 << 50),
    "buffer": (KIB, 1024 * MIB),
    "output": (0, 16 * MIB),
    "instances": (1, 10_000),
    "guest_size": (8, 1024 * MIB),
    "compile_timeout": (1, 3600),
    "compile_memory": (128 * MIB, 65536 * MIB),
}


@dataclass(frozen=True, slots=True)
class WebLimits:
    """Limits of one guest and its requests. Times in seconds, sizes in bytes."""

    memory: int = 128 * MIB
    timeout: float = 10.0  # of a call, without waiting for the client
    start_timeout: float = 10.0
    client_timeout: float = 30.0  # longest wait for the client
    stack: int = 1 * MIB
    request_body: int = 1024 * MIB
    response_body: int = 1024 * MIB
    buffer: int = 4 * MIB  # of a body buffered for a middleware
    output: int = 64 * KIB  # printed and logged per request
    instances: int = 64  # concurrent
    guest_size: int = 128 * MIB
    compile_timeout: float = COMPILATION.timeout
    compile_memory: int = COMPILATION.memory

    @property
    def compilation(self) -> CompileLimits:
        return CompileLimits(self.compile_timeout, self.compile_memory)

    @classmethod
    def from_config(cls, settings: Mapping[str, object]) -> tuple[WebLimits, dict[str, str]]:
        """Limits from a file (`timeout: 500ms`, `memory: 64Mi`), and the problem of each invalid one."""
        names = {config_name(field.name): field.name for field in fields(cls)}
        values: dict[str, Any] = {}
        wrong: dict[str, str] = {}
        for key, given in settings.items():
            if key not in names:
                wrong[key] = f"unknown limit; expected one of {', '.join(names)}"
                continue
            try:
                values[names[key]] = _checked(names[key], given)
            except ValueError as error:
                wrong[key] = str(error)
        return cls(**values), wrong


def _checked(name: str, given: object) -> float:
    is_time = name in _TIMES
    value = given
    if isinstance(given, str):
        value = parse_duration(given) if is_time else quantity.parse(given).value()
    wanted = "a duration such as 500ms" if is_time else "a number" if name == _COUNT else "a size such as 64Mi"
    if isinstance(value, bool) or not isinstance(value, int | float if is_time else int):
        raise ValueError(f"expected {wanted}, got {shown(given)}")  # noqa: TRY004 - user input
    low, high = _RANGES[name]
    if not low <= value <= high:
        first, last = (_shown(name, bound) for bound in (low, high))
        raise ValueError(f"expected {wanted}, from {first} to {last}, got {shown(given)}")
    return value


def _shown(name: str, bound: float) -> str:
    if name in _TIMES:
        return format_duration(bound)
    return f"{bound:g}" if name == _COUNT else quantity.format_size(int(bound))


@dataclass(frozen=True, slots=True)
class GuestConfig:
    """One wasm file, or a reference such as `oci://host/handler:v1` in place of it; with capabilities and limits."""

    name: str
    file: Path
    style: Style | None  # None: from its exports
    folder: Path
    config: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    dirs: tuple[str, ...] = ()
    raw: bool = False  # style wasi: standard output is the body, without a head
    content_type: str = DEFAULT_CONTENT_TYPE  # of guests that cannot set one
    import_module: str = ""  # style run: name of the host's functions
    reuse: float = 1  # requests per instance; infinite: as many as come
    limits: WebLimits = field(default_factory=WebLimits)
    reference: str = ""
    image_pull_policy: PullPolicy | None = None

    @property
    def place(self) -> str:
        return self.reference or str(self.file)


def misplaced_settings(guest: GuestConfig, style: Style) -> Iterator[tuple[str, str]]:
    """Fields that are set and that guests of a style do not have, with the problem of each."""
    for name, given in (("args", guest.args), ("dirs", guest.dirs), ("raw", guest.raw)):
        if given and style != "wasi":
            yield name, "only for guests of style wasi"
    if guest.import_module and style != "run":
        yield "importModule", "only for guests of style run"
    if guest.content_type != DEFAULT_CONTENT_TYPE and style != "run" and not guest.raw:
        yield "contentType", "only for guests of style run, and style wasi with raw: true; others set the header"
    if guest.reuse != 1 and style == "wasi":
        yield "reuse", "a WASI command runs once per request"


def role_problem(name: str, style: Style, *, is_middleware: bool) -> str:
    """Why a guest of a style cannot be a middleware, or a handler; empty if it can."""
    if is_middleware and style != "http-wasm":
        return f'guest "{name}" has style {style}; middlewares have style http-wasm'
    if not is_middleware and style == "http-wasm":
        return f'guest "{name}" has style http-wasm: list it under middlewares, and add respond'
    return ""


@dataclass(frozen=True, slots=True)
class Respond:
    """Fixed response."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""


@dataclass(frozen=True, slots=True)
class RouteConfig:
    """Route of an exact path or a prefix. Exactly one of handler (a guest's name) and respond is set."""

    path: str
    is_prefix: bool
    methods: tuple[str, ...] = ()  # empty: all
    middlewares: tuple[str, ...] = ()
    handler: str = ""
    respond: Respond | None = None

    @property
    def shown(self) -> str:
        return f"{self.path}*" if self.is_prefix else self.path


@dataclass(frozen=True, slots=True)
class Listen:
    """Listener address, with certificate and key files for HTTPS."""

    host: str
    port: int
    certificate: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class WebConfig:
    """Configuration of a server; `source` is its file, for messages."""

    guests: Mapping[str, GuestConfig]
    routes: tuple[RouteConfig, ...]
    listen: Listen
    operations: Listen | None = None
    workers: int = 1  # processes
    threads: int = DEFAULT_THREADS  # of guests, per worker
    connections: int = DEFAULT_CONNECTIONS
    allowed_hosts: tuple[str, ...] = ()  # beside loopback names, on loopback addresses
    trusted_proxies: tuple[str, ...] = ()  # addresses and networks; their X-Forwarded-For counts
    reload_seconds: float = 1.0
    registries: RegistrySettings = field(default_factory=RegistrySettings)
    trust: TrustPolicy | None = None
    source: str = ""
