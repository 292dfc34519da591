"""Handler ABI of the style `module`: imports from `kubewasp_http` (docs/http.md, "Style module").

HOT PATH (guard: make counts); measured by `make bars ARGS='--only web'`. All memory is the guest's. Ownership:
- guest to host: pointer and length; the host copies before it returns, the guest keeps ownership;
- host to guest: the host allocates with the guest's `malloc`; the guest takes ownership and frees;
- result of `run`: the host copies it and calls the guest's `free`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from kubewasp.web.errors import GuestError
from kubewasp.web.guest_output import log
from kubewasp.web.host_functions import Abi, HostFunction

if TYPE_CHECKING:
    from kubewasp.web.handler_instance import HandlerInstance
    from kubewasp.web.http_messages import Request, Response

MODULE: Final = "kubewasp_http"


@dataclass(slots=True)
class HandlerExchange:
    """Request and response of one handler call."""

    request: Request
    response: Response


def run(instance: HandlerInstance, exchange: HandlerExchange) -> None:
    """Calls the guest's `run`; its result is the end of the body."""
    last = instance.within(exchange, _steps, instance)
    if last:
        exchange.response.write(last)


def _steps(instance: HandlerInstance) -> bytes:
    result = instance.call_again("run")
    if not result:
        return b""
    address = result >> 32
    try:
        last = instance.read(address, result & 0xFFFFFFFF)
    except IndexError as error:
        raise GuestError("answer", f"result of run: {error}") from None
    instance.call_again("free", address)
    return last


def _exchange(instance: HandlerInstance) -> HandlerExchange:
    if instance.exchange is None:
        raise GuestError("abi", "no request during the start function")
    return cast("HandlerExchange", instance.exchange)


def _hand_over(instance: HandlerInstance, content: bytes) -> int:
    """Allocates with the guest's malloc. An empty string has an address too: 0 means "absent"."""
    return instance.allocate(content) << 32 | len(content)


def _method(instance: HandlerInstance) -> int:
    return _hand_over(instance, _exchange(instance).request.method.encode())


def _path(instance: HandlerInstance) -> int:
    return _hand_over(instance, _exchange(instance).request.path)


def _query(instance: HandlerInstance) -> int:
    return _hand_over(instance, _exchange(instance).request.query)


def _header(instance: HandlerInstance, name: int, length: int) -> int:
    values = _exchange(instance).request.headers.values(instance.read(name, length))
    return _hand_over(instance, b", ".join(values)) if values else 0


def _headers(instance: HandlerInstance) -> int:
    pairs = _exchange(instance).request.headers.pairs
    return _hand_over(instance, b"".join(name + b": " + value + b"\n" for name, value in pairs))


def _read(instance: HandlerInstance, buffer: int, limit: int) -> int:
    exchange = _exchange(instance)
    instance.check(buffer, limit)
    if not limit:
        return 0
    chunk = instance.waiting(exchange.request.body.read, limit)
    instance.write(buffer, chunk)
    return len(chunk)


def _config(instance: HandlerInstance) -> int:
    return _hand_over(instance, instance.config)


def _set_status(instance: HandlerInstance, status: int) -> None:
    response = _exchange(instance).response
    _before_body(response, "response_status")
    response.set_status(status)


def _add_header(instance: HandlerInstance, name: int, name_length: int, value: int, value_length: int) -> None:
    response = _exchange(instance).response
    _before_body(response, "response_header")
    response.headers.add(instance.read(name, name_length), instance.read(value, value_length))


def _before_body(response: Response, function: str) -> None:
    if response.started:
        raise GuestError("abi", f"{function}: the head of the response was sent already")


def _write(instance: HandlerInstance, address: int, length: int) -> None:
    chunk = instance.read(address, length)
    instance.waiting(_exchange(instance).response.write, chunk)


def _log(instance: HandlerInstance, level: int, address: int, length: int) -> None:
    exchange = cast("HandlerExchange | None", instance.exchange)
    log(instance.name, instance.output, level, instance.read(address, length), exchange.request.id if exchange else "")


ABI: Final = Abi(
    MODULE,
    (
        HostFunction("request_method", 0, "i64", _method),
        HostFunction("request_path", 0, "i64", _path),
        HostFunction("request_query", 0, "i64", _query),
        HostFunction("request_header", 2, "i64", _header),
        HostFunction("request_headers", 0, "i64", _headers),
        HostFunction("request_read", 2, "i32", _read),
        HostFunction("config", 0, "i64", _config),
        HostFunction("response_status", 1, "", _set_status),
        HostFunction("response_header", 4, "", _add_header),
        HostFunction("response_write", 2, "", _write),
        HostFunction("log", 3, "", _log),
    ),
    (("run", 0, "i64"), ("malloc", 1, "i32"), ("free", 1, "")),
)
