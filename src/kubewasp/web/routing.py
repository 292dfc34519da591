"""Routing: the route table, and the pipeline of middlewares and handler behind each route."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubewasp.web.errors import OverrunError
from kubewasp.web.pace import Pace
from kubewasp.web.web_config import WebLimits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kubewasp.web.guests import Guest
    from kubewasp.web.http_messages import Request, Response
    from kubewasp.web.web_config import Respond, RouteConfig


class Pipeline:
    """Middlewares and handler of one route."""

    def __init__(self, route: RouteConfig, guests: Mapping[str, Guest]) -> None:
        names = [*route.middlewares, *([route.handler] if route.handler else [])]
        self.route = route
        self.guests = [guests[name] for name in names]
        self.limits = self.guests[-1].config.limits if self.guests else WebLimits()
        self.slots = asyncio.Semaphore(self.limits.instances)
        self.pace = Pace()

    @property
    def is_short(self) -> bool:
        """Whether a request may run on the event loop now."""
        if not self.pace.is_short or self.slots.locked():
            return False
        for guest in self.guests:  # noqa: SIM110 - a generator costs more than the rest
            if not guest.may_be_brief:
                return False
        return True

    def run(self, request: Request, response: Response) -> None:
        """Runs on a guest thread; on the event loop if the request is brief (OverrunError)."""
        began = time.thread_time()
        try:
            self._run_from(0, request, response)
        except OverrunError as error:
            self.pace.overran(time.thread_time() - began, by_time=error.by_time)
            raise
        self.pace.took(time.thread_time() - began)

    def _run_from(self, index: int, request: Request, response: Response) -> None:
        if index < len(self.guests):
            self.guests[index].run(request, response, lambda: self._run_from(index + 1, request, response))
        elif self.route.respond is not None:
            _respond(self.route.respond, response)


def _respond(fixed: Respond, response: Response) -> None:
    response.set_status(fixed.status)
    for name, value in fixed.headers:
        response.headers.set(name.encode(), value.encode())
    response.write(fixed.body.encode())


@dataclass(frozen=True, slots=True)
class Match:
    """Result of a lookup: a pipeline with its methods (none: all), or the methods of the path (none: no such path)."""

    pipeline: Pipeline | None
    allowed: tuple[str, ...] = ()


class RouteTable:
    """Exact paths first, then the longest prefix; among routes with the same path, the first with the method."""

    def __init__(self, routes: Iterable[RouteConfig], guests: Mapping[str, Guest]) -> None:
        self._exact: dict[str, list[Match]] = {}
        prefixes: dict[str, list[Match]] = {}
        for route in routes:
            table = prefixes if route.is_prefix else self._exact
            table.setdefault(route.path, []).append(Match(Pipeline(route, guests), _methods(route)))
        self._prefixes = sorted(prefixes.items(), key=lambda item: -len(item[0]))

    def match(self, path: str, method: str) -> Match:
        """The pipeline for a decoded path and a method."""
        for found in self._exact.get(path, ()):
            if not found.allowed or method in found.allowed:
                return found
        allowed: dict[str, None] = {}
        for candidates in self._candidates(path):
            for found in candidates:
                if found.pipeline is None or not found.allowed or method in found.allowed:
                    return found
                allowed |= dict.fromkeys(found.pipeline.route.methods)
        return Match(None, tuple(allowed))

    def _candidates(self, path: str) -> Iterable[list[Match]]:
        if path in self._exact:
            yield self._exact[path]
        for prefix, candidates in self._prefixes:
            if _is_below(path, prefix):
                yield candidates


def _methods(route: RouteConfig) -> tuple[str, ...]:
    return (*route.methods, "HEAD") if "GET" in route.methods else route.methods


def _is_below(path: str, prefix: str) -> bool:
    """Prefix `/api` matches `/api` and `/api/x`, not `/apix`; prefix `/api/` matches `/api/x` only."""
    return path.startswith(prefix) and (prefix.endswith("/") or path[len(prefix) : len(prefix) + 1] in ("", "/"))
