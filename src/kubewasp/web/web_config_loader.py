"""Loader of web server configurations: strict, with all problems in one error."""

from __future__ import annotations

import ipaddress
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from kubewasp.framework.config.fields import Problems, Section
from kubewasp.framework.config.model import ConfigError, Problem
from kubewasp.framework.config.plugin_args import read_pull_policy, reference_problem
from kubewasp.framework.config.reading import read_document
from kubewasp.framework.config.registries import read_registries
from kubewasp.input_file import input_file
from kubewasp.registry.references import is_reference
from kubewasp.server.allowed_hosts import HOST_FORM, is_host
from kubewasp.server.http_server import ServeError, host_and_port
from kubewasp.web.host_functions import RESERVED_MODULES
from kubewasp.web.web_config import (
    DEFAULT_CONNECTIONS,
    DEFAULT_CONTENT_TYPE,
    DEFAULT_LISTEN,
    DEFAULT_THREADS,
    MAX_WORKERS,
    STYLES,
    GuestConfig,
    Listen,
    Respond,
    RouteConfig,
    Style,
    WebConfig,
    WebLimits,
    misplaced_settings,
    role_problem,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.input_file import InputFile
    from kubewasp.trust.policy import TrustPolicy

_METHOD: Final = re.compile(r"[A-Z][A-Z-]{0,30}")
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTENT_TYPE: Final = re.compile(r"[\x20-\x7e]{1,200}")
_MAX_NAME: Final = 100
_MAX_REUSE: Final = 1_000_000
_VARIABLE: Final = re.compile(r"[^=\0]+")


def load_web_config(path: str | InputFile) -> WebConfig:
    """The configuration in a YAML file; relative paths start at its folder. ConfigError with all problems."""
    return read_web_config(read_document(path, "web configuration"), str(path), folder=input_file(path).parent)


def read_web_config(document: object, source: str = "", *, folder: Path | None = None) -> WebConfig:
    """The configuration in a parsed document. Relative paths start at `folder`, or the working directory."""
    if not isinstance(document, dict):
        raise ConfigError([Problem("", "expected an object with guests and routes")], source=source)
    problems = Problems()
    root = Section(document, "", problems)
    reader = _Reader(problems, folder or Path())
    config = reader.read(root, source)
    problems.raise_if_any(source)
    return config


class _Reader:
    def __init__(self, problems: Problems, folder: Path) -> None:
        self._problems = problems
        self._folder = folder

    def read(self, root: Section, source: str) -> WebConfig:
        listen = self._address(root, "listen", DEFAULT_LISTEN)
        tls = root.section("tls")
        certificate, key = self._file(tls, "certificate"), self._file(tls, "key")
        tls.refuse_unknown()
        if bool(certificate) != bool(key):
            self._problems.required("tls.key" if certificate else "tls.certificate", "HTTPS needs certificate and key")
        operations = self._address(root, "operations", "") if root.has("operations") else None
        workers = root.integer("workers", 1)
        if not 1 <= workers <= MAX_WORKERS:
            what = f"expected a number of processes from 1 to {MAX_WORKERS}; guest threads are `threads`"
            self._problems.invalid("workers", workers, what)
        threads = root.integer("threads", DEFAULT_THREADS)
        if not 1 <= threads <= 1000:
            self._problems.invalid("threads", threads, "expected a number from 1 to 1000")
        connections = root.integer("connections", DEFAULT_CONNECTIONS)
        if not 1 <= connections <= 100_000:
            self._problems.invalid("connections", connections, "expected a number from 1 to 100000")
        reload_seconds = root.seconds("reload", 1.0)
        if reload_seconds < 0:
            self._problems.invalid("reload", reload_seconds, "expected an interval such as 1s, or 0 for no reloading")
        guests = self._guests(root.section("guests"))
        routes = [self._route(section, guests) for section in root.sections("routes")]
        if not routes:
            self._problems.required("routes", "without routes every response is 404")
        self._check_unique(routes)
        allowed_hosts, trusted_proxies = self._hosts(root), self._proxies(root)
        registries, trust = read_registries(root.section("registries"), self._folder), self._trust(root)
        root.refuse_unknown()
        return WebConfig(
            guests=guests,
            routes=tuple(routes),
            listen=Listen(listen.host, listen.port, certificate, key),
            operations=operations,
            workers=workers,
            threads=threads,
            connections=connections,
            allowed_hosts=allowed_hosts,
            trusted_proxies=trusted_proxies,
            reload_seconds=reload_seconds,
            source=source,
            registries=registries,
            trust=trust,
        )

    def _trust(self, root: Section) -> TrustPolicy | None:
        section = root.section("trust")
        if not root.has("trust"):
            return None
        # Late: cryptography takes a tenth of a second to import.
        from kubewasp.framework.config.trust import read_trust

        return read_trust(section, self._folder)

    def _address(self, root: Section, name: str, default: str) -> Listen:
        text = root.text(name, default)
        try:
            return Listen(*host_and_port(text))
        except ServeError:
            self._problems.invalid(name, text, "expected HOST:PORT such as 127.0.0.1:8080")
            return Listen("", 0)

    def _hosts(self, root: Section) -> tuple[str, ...]:
        given = root.texts("allowedHosts")
        for index, text in enumerate(given):
            if not is_host(text):
                self._problems.invalid(f"allowedHosts[{index}]", text, HOST_FORM)
        return tuple(given)

    def _proxies(self, root: Section) -> tuple[str, ...]:
        given = root.texts("trustedProxies")
        for index, text in enumerate(given):
            try:
                ipaddress.ip_network(text)
            except ValueError:
                self._problems.invalid(f"trustedProxies[{index}]", text, "expected an address or a network: 10.0.0.0/8")
        return tuple(given)

    def _file(self, section: Section, name: str) -> str:
        given = section.text(name)
        return str(self._folder / given) if given else ""

    # ------------------------------------------------------------------ guests

    def _guests(self, section: Section) -> dict[str, GuestConfig]:
        found = {}
        for name in section.names():
            if not _NAME.fullmatch(name):
                self._problems.add(section.at(name), "expected a name of letters, digits, '-', '_' and '.'")
            found[name] = self._guest(name, section.section(name))
        return found

    def _guest(self, name: str, section: Section) -> GuestConfig:
        file = section.text("file")
        style = section.text("style")
        if not file:
            self._problems.required(section.at("file"), "path of the guest's .wasm or .wat, or an oci:// address")
        if style and style not in STYLES:
            self._problems.unsupported(section.at("style"), style, STYLES)
        guest = GuestConfig(
            name=name,
            file=Path(file) if is_reference(file) else self._folder / file,
            style=cast("Style", style) if style else None,
            folder=self._folder,
            config=section.text("config"),
            env=self._env(section),
            args=tuple(section.texts("args")),
            dirs=tuple(section.texts("dirs")),
            raw=section.boolean("raw"),
            content_type=self._content_type(section),
            import_module=self._import_module(section),
            reuse=self._reuse(section),
            limits=self._limits(section),
            reference=file if is_reference(file) else "",
            image_pull_policy=read_pull_policy(section),
        )
        if guest.reference and (problem := reference_problem(file)):
            self._problems.add(section.at("file"), problem)
        if guest.style in STYLES:
            for field, problem in misplaced_settings(guest, guest.style):
                self._problems.forbidden(section.at(field), problem)
        section.refuse_unknown()
        return guest

    def _env(self, section: Section) -> Mapping[str, str]:
        given = section.mapping("env")
        for name, value in given.items():
            if not isinstance(value, str) or "\0" in value or not _VARIABLE.fullmatch(name):
                self._problems.add(section.at("env"), f"{name}: expected NAME: text, without NUL and '=' in the name")
        return given

    def _content_type(self, section: Section) -> str:
        given = section.text("contentType", DEFAULT_CONTENT_TYPE)
        if not _CONTENT_TYPE.fullmatch(given):
            self._problems.invalid(section.at("contentType"), given, "expected a type such as text/html; charset=utf-8")
        return given

    def _import_module(self, section: Section) -> str:
        given = section.text("importModule")
        if section.has("importModule") and (not 0 < len(given) <= _MAX_NAME or given in RESERVED_MODULES):
            problem = f"expected a name of up to {_MAX_NAME} characters, not {' or '.join(RESERVED_MODULES)}"
            self._problems.invalid(section.at("importModule"), given, problem)
        return given

    def _reuse(self, section: Section) -> float:
        given = section.take("reuse")
        if given is None or isinstance(given, bool):
            return math.inf if given else 1
        if not isinstance(given, int) or not 1 <= given <= _MAX_REUSE:
            what = f"expected true, false or a number of requests from 1 to {_MAX_REUSE}"
            self._problems.invalid(section.at("reuse"), given, what)
            return 1
        return given

    def _limits(self, section: Section) -> WebLimits:
        limits, wrong = WebLimits.from_config(section.mapping("limits"))
        for name, problem in wrong.items():
            self._problems.add(f"{section.at('limits')}.{name}", problem)
        return limits

    # ------------------------------------------------------------------ routes

    def _route(self, section: Section, guests: Mapping[str, GuestConfig]) -> RouteConfig:
        path, prefix = section.text("path"), section.text("prefix")
        if bool(path) == bool(prefix):
            self._problems.add(section.path, "expected either path (exact) or prefix")
        elif not (path or prefix).startswith("/"):
            self._problems.invalid(section.at("path" if path else "prefix"), path or prefix, "expected to start with /")
        methods = section.texts("methods")
        for index, method in enumerate(methods):
            if not _METHOD.fullmatch(method):
                self._problems.invalid(f"{section.at('methods')}[{index}]", method, "expected a method such as GET")
        handler = section.text("handler")
        if bool(handler) == section.has("respond"):
            self._problems.add(section.path, "expected either handler (a guest) or respond")
        if handler:
            self._check_guest(section.at("handler"), handler, guests, is_middleware=False)
        middlewares = section.texts("middlewares")
        for index, name in enumerate(middlewares):
            self._check_guest(f"{section.at('middlewares')}[{index}]", name, guests, is_middleware=True)
        respond = self._respond(section.section("respond")) if section.has("respond") else None
        section.refuse_unknown()
        return RouteConfig(path or prefix, bool(prefix), tuple(methods), tuple(middlewares), handler, respond)

    def _check_guest(self, at: str, name: str, guests: Mapping[str, GuestConfig], *, is_middleware: bool) -> None:
        guest = guests.get(name)
        if guest is None:
            known = f"defined: {', '.join(guests)}" if guests else "no guests are defined"
            self._problems.add(at, f'unknown guest "{name}"; {known}')
        elif guest.style in STYLES and (problem := role_problem(guest.name, guest.style, is_middleware=is_middleware)):
            self._problems.add(at, problem)

    def _respond(self, section: Section) -> Respond:
        status = section.integer("status", 200)
        if not 200 <= status <= 599:
            self._problems.invalid(section.at("status"), status, "expected a number from 200 to 599")
        headers = section.mapping("headers")
        for name, value in headers.items():
            if not _HEADER.fullmatch(name) or not isinstance(value, str) or re.search(r"[\0\r\n]", value):
                self._problems.add(section.at("headers"), f"{name}: expected NAME: text, on one line")
        body = section.text("body")
        section.refuse_unknown()
        return Respond(status, tuple(headers.items()), body)

    def _check_unique(self, routes: list[RouteConfig]) -> None:
        seen: dict[tuple[str, bool, str], int] = {}
        for index, route in enumerate(routes):
            for method in route.methods or ("",):
                first = seen.setdefault((route.path, route.is_prefix, method), index)
                if first != index and route.path:
                    self._problems.add(f"routes[{index}]", f"duplicate of routes[{first}]")
