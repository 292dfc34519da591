"""Hosts that a request on a loopback address may name: protection against DNS rebinding.

A web page can let its own name point to 127.0.0.1 and then read a local server as its own origin; the Host field
still has the name of the page.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

ANY_HOST: Final = "*"
# Of a configured name.
HOST_FORM: Final = "expected a host name such as scheduler.example, or *"
_PORT: Final = re.compile(r":\d*$")
_MAX_SEEN: Final = 256
_NAME: Final = re.compile(r"[0-9a-z_]([0-9a-z._-]{0,251}[0-9a-z_])?")


class AllowedHosts:
    """Loopback names and addresses, with any port, and the names given; `*` allows all."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = frozenset(_plain(name) for name in names)
        self._seen: set[str] = set()  # values of fields that are allowed

    def __contains__(self, host: str) -> bool:
        """Whether the value of a Host field is allowed."""
        if host in self._seen:
            return True
        is_allowed = self._allows(_plain(host))
        if is_allowed and len(self._seen) < _MAX_SEEN:
            self._seen.add(host)
        return is_allowed

    def _allows(self, name: str) -> bool:
        return (
            name == "localhost"
            or name.endswith(".localhost")
            or name in self._names
            or ANY_HOST in self._names
            or is_loopback(name)
        )


def is_host(name: str) -> bool:
    """Whether a configured name can be that of a request: a DNS name or an address, or `*`."""
    plain = _plain(name)
    return plain == ANY_HOST or _NAME.fullmatch(plain) is not None or _address(plain) is not None


def is_loopback(address: str) -> bool:
    found = _address(address)
    return found is not None and (getattr(found, "ipv4_mapped", None) or found).is_loopback


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _plain(host: str) -> str:
    host = host.strip().lower()
    if not host.count(":") > 1 or host.startswith("["):  # else an IPv6 address without brackets, from a configuration
        host = _PORT.sub("", host)
    return host.strip("[]").removesuffix(".")
