"""Which route a request takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubewasp.web.site_config import RouteConfig


@dataclass(frozen=True, slots=True)
class Match:
    """The route that was found; else the methods with which there would have been one."""

    route: RouteConfig | None
    allowed: tuple[str, ...] = ()


class RouteTable:
    """Exact paths first, then the longest prefix; of those with the same path, the first that takes the method."""

    def __init__(self, routes: Iterable[RouteConfig]) -> None:
        self._exact: dict[str, list[RouteConfig]] = {}
        prefixes: dict[str, list[RouteConfig]] = {}
        for route in routes:
            (prefixes if route.is_prefix else self._exact).setdefault(route.path, []).append(route)
        self._prefixes = sorted(prefixes.items(), key=lambda item: -len(item[0]))

    def match(self, path: str, method: str) -> Match:
        allowed: dict[str, None] = {}
        for routes in self._candidates(path):
            for route in routes:
                if not route.methods or method in route.methods or (method == "HEAD" and "GET" in route.methods):
                    return Match(route)
                allowed |= dict.fromkeys(route.methods)
        return Match(None, tuple(allowed))

    def _candidates(self, path: str) -> Iterable[list[RouteConfig]]:
        if path in self._exact:
            yield self._exact[path]
        for prefix, routes in self._prefixes:
            if is_below(path, prefix):
                yield routes


def is_below(path: str, prefix: str) -> bool:
    """`/api` leads to `/api` and `/api/x`, but not to `/apix`; `/api/` to `/api/x` only."""
    return path.startswith(prefix) and (prefix.endswith("/") or path[len(prefix) : len(prefix) + 1] in ("", "/"))
