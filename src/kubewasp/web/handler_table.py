"""Handlers of a web server: guests and routes of one configuration, replaced as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubewasp.framework.config.model import ConfigError, Problem
from kubewasp.wasm.source import GuestSources
from kubewasp.web.guests import load_guest
from kubewasp.web.routing import RouteTable
from kubewasp.web.web_config import role_problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubewasp.web.guests import Guest
    from kubewasp.web.web_config import WebConfig

# Settings of listeners and threads, with their names in the file.
_FIXED = {
    "listen": "listen",
    "operations": "operations",
    "workers": "workers",
    "threads": "threads",
    "connections": "connections",
    "allowed_hosts": "allowedHosts",
    "trusted_proxies": "trustedProxies",
}


@dataclass(frozen=True, slots=True)
class HandlerTable:
    """Guests by name, and the routes to them. A request ends with the table that it began with."""

    config: WebConfig
    guests: Mapping[str, Guest]
    routes: RouteTable


def handler_table(config: WebConfig, before: HandlerTable | None = None) -> HandlerTable:
    """The handlers of a configuration; GuestLoadError for an unusable guest. Unchanged guests go on."""
    sources = GuestSources(config.registries, config.trust)
    known: Mapping[str, Guest] = {}
    if before is not None and (before.config.registries, before.config.trust) == (config.registries, config.trust):
        known = before.guests
    guests = {
        name: known[name] if name in known and known[name].config == guest else load_guest(guest, sources)
        for name, guest in config.guests.items()
    }
    _check_roles(config, guests)
    return HandlerTable(config, guests, RouteTable(config.routes, guests))


def _check_roles(config: WebConfig, guests: Mapping[str, Guest]) -> None:
    """ConfigError for middlewares and handlers whose style, from their exports, is another one."""
    problems = []
    for index, route in enumerate(config.routes):
        roles = [(name, f"middlewares[{at}]", True) for at, name in enumerate(route.middlewares)]
        roles += [(route.handler, "handler", False)] if route.handler else []
        for name, field, is_middleware in roles:
            if problem := role_problem(name, guests[name].style, is_middleware=is_middleware):
                problems.append(Problem(f"routes[{index}].{field}", problem))
    if problems:
        raise ConfigError(problems, source=config.source)


def check_fixed(running: WebConfig, config: WebConfig) -> None:
    """ConfigError for changes that need a restart."""
    problems = [
        Problem(name, "cannot change while the server runs: restart it")
        for field, name in _FIXED.items()
        if getattr(running, field) != getattr(config, field)
    ]
    if problems:
        raise ConfigError(problems, source=config.source)
