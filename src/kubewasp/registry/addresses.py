"""Addresses of hosts: the name service within a time limit, and the networks that addresses belong to."""

from __future__ import annotations

import ipaddress
import queue
import socket
import threading
from typing import Final, Literal, Protocol

Network = Literal["public", "private", "loopback", "link-local"]
_MAX_ADDRESSES: Final = 16


class Resolver(Protocol):
    """Name service."""

    def __call__(self, name: str, port: int, timeout: float, /) -> tuple[str, ...]:
        """Addresses of a host; OSError or TimeoutError."""


def resolve(name: str, port: int, timeout: float) -> tuple[str, ...]:
    """Addresses in the order to try them. On a thread, as the name service has no time limit of its own."""
    try:
        return (str(ipaddress.ip_address(name)),)
    except ValueError:
        pass
    done: queue.SimpleQueue[tuple[str, ...] | OSError] = queue.SimpleQueue()

    def run() -> None:
        try:
            found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
            done.put(tuple(dict.fromkeys(str(entry[4][0]) for entry in found))[:_MAX_ADDRESSES])
        except UnicodeError:
            done.put(socket.gaierror(socket.EAI_NONAME, "not a valid host name"))
        except OSError as error:
            done.put(error)

    threading.Thread(target=run, name="kubewasp-resolve", daemon=True).start()
    try:
        answer = done.get(timeout=timeout)
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(answer, OSError):
        raise answer
    return answer


def network_of(address: str) -> Network:
    """The kind of network of an address; one that is not global is private, whatever it is for."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        embedded = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if embedded is None and found in _NAT64:
            embedded = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if embedded is not None:
            found = embedded
    if found.is_loopback or found.is_unspecified:
        return "loopback"
    if found.is_link_local:
        return "link-local"
    return "public" if found.is_global and not found.is_multicast else "private"


_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
