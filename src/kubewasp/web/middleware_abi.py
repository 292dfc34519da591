"""Public http-wasm handler ABI of middlewares: imports from `http_handler` (https://http-wasm.io/http-handler-abi/).

HOT PATH (guard: make counts); measured by `make bars ARGS='--only web'`. Complete except for trailers, which ASGI
servers lack: `enable_features` omits the bit, getters return none, setters trap.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from kubewasp.web.errors import ClientError, GuestError
from kubewasp.web.guest_output import is_enabled, log
from kubewasp.web.host_functions import Abi, HostFunction
from kubewasp.web.http_messages import BytesBody, Headers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubewasp.web.handler_instance import HandlerInstance
    from kubewasp.web.http_messages import Body, Request, Response

MODULE: Final = "http_handler"
BUFFER_REQUEST: Final = 1
BUFFER_RESPONSE: Final = 2
_OFFERED: Final = BUFFER_REQUEST | BUFFER_RESPONSE
_REQUEST, _RESPONSE, _REQUEST_TRAILERS, _RESPONSE_TRAILERS = range(4)
_AT_END: Final = 1 << 32


@dataclass(slots=True)
class MiddlewareExchange:
    """Request and response of one middleware call, from `handle_request` to `handle_response`."""

    request: Request
    response: Response
    features: int = 0
    after_next: bool = False
    replay: ReplayBody | None = None
    new_request_body: bytearray | None = None
    writes_response: bool = False
    request_reader: Body | None = None
    response_reader: Body | None = None

    def enable(self, features: int, limit: int) -> None:
        fresh = features & _OFFERED & ~self.features
        self.features |= fresh
        if fresh & BUFFER_RESPONSE and not self.after_next:
            self.response.hold(limit)
        if fresh & BUFFER_REQUEST and not self.after_next:
            self.replay = self.request.body = ReplayBody(self.request.body, limit)


class ReplayBody:
    """`Body` that the next handler can read again from the start."""

    def __init__(self, source: Body, limit: int) -> None:
        self.length = source.length
        self._source = source
        self._limit = limit
        self._seen = bytearray()

    def read(self, limit: int) -> bytes:
        chunk = self._source.read(limit)
        if len(self._seen) + len(chunk) > self._limit:
            raise ClientError(413, f"request body buffered for a middleware is over the limit of {self._limit} bytes")
        self._seen += chunk
        return chunk

    @property
    def is_at_end(self) -> bool:
        return self._source.is_at_end

    def from_start(self) -> Body:
        return _Joined(BytesBody(bytes(self._seen)), self._source, self.length)


class _Joined:
    """`Body` of two bodies in sequence."""

    def __init__(self, first: Body, second: Body, length: int | None) -> None:
        self.length = length
        self._first = first
        self._second = second

    def read(self, limit: int) -> bytes:
        return self._first.read(limit) or self._second.read(limit)

    @property
    def is_at_end(self) -> bool:
        return self._first.is_at_end and self._second.is_at_end


def run(instance: HandlerInstance, exchange: MiddlewareExchange, following: Callable[[], None]) -> None:
    """Calls `handle_request` and, if it returns next = 1, `following` and `handle_response`."""
    instance.exchange = exchange
    exchange.enable(instance.features, instance.limits.buffer)
    try:
        result = instance.call("handle_request")
        if result & 0xFFFFFFFF:
            _prepare_next(exchange)
            try:
                following()
            except (GuestError, ClientError):
                _handle_failed_response(instance, result >> 32)
                raise
            instance.call("handle_response", result >> 32, 0)
    finally:
        instance.exchange = None
    if exchange.features & BUFFER_RESPONSE:
        exchange.response.release()


def _prepare_next(exchange: MiddlewareExchange) -> None:
    exchange.after_next = True
    exchange.writes_response = False
    if exchange.replay is not None:
        exchange.request.body = exchange.replay.from_start()
    if exchange.new_request_body is not None:
        content = bytes(exchange.new_request_body)
        exchange.request.body = BytesBody(content)
        exchange.request.headers.set(b"content-length", str(len(content)).encode())
        exchange.request.headers.remove(b"transfer-encoding")


def _handle_failed_response(instance: HandlerInstance, context: int) -> None:
    """`handle_response` with is_error = 1: lets the guest release the state of the request."""
    with suppress(GuestError):  # the first error is the one to report
        instance.call("handle_response", context, 1)


# ---------------------------------------------------------------------- host functions


def _exchange(instance: HandlerInstance) -> MiddlewareExchange:
    if instance.exchange is None:
        raise GuestError("abi", "no request during the start function")
    return cast("MiddlewareExchange", instance.exchange)


def _enable_features(instance: HandlerInstance, features: int) -> int:
    if instance.exchange is None:
        instance.features |= features & _OFFERED
        return instance.features
    exchange = _exchange(instance)
    exchange.enable(features, instance.limits.buffer)
    return exchange.features


def _get_config(instance: HandlerInstance, buffer: int, limit: int) -> int:
    return _within(instance, buffer, limit, instance.config)


def _log(instance: HandlerInstance, level: int, message: int, length: int) -> None:
    exchange = cast("MiddlewareExchange | None", instance.exchange)
    log(instance.name, instance.output, level, instance.read(message, length), exchange.request.id if exchange else "")


def _log_enabled(_: HandlerInstance, level: int) -> int:
    return int(is_enabled(level))


def _get_method(instance: HandlerInstance, buffer: int, limit: int) -> int:
    return _within(instance, buffer, limit, _exchange(instance).request.method.encode())


def _set_method(instance: HandlerInstance, method: int, length: int) -> None:
    exchange = _before_next(instance, "set_method")
    if not length:
        raise GuestError("abi", "set_method: empty method")
    exchange.request.method = instance.read(method, length).decode("latin-1")


def _get_uri(instance: HandlerInstance, buffer: int, limit: int) -> int:
    return _within(instance, buffer, limit, _exchange(instance).request.target)


def _set_uri(instance: HandlerInstance, uri: int, length: int) -> None:
    request = _before_next(instance, "set_uri").request
    target = instance.read(uri, length) or b"/"
    if not target.startswith(b"/") or any(byte <= 0x20 or byte >= 0x7F for byte in target):
        raise GuestError("abi", f"set_uri: expected an encoded path such as /a?b=c, got {target[:80]!r}")
    request.path, _, request.query = target.partition(b"?")


def _get_protocol_version(instance: HandlerInstance, buffer: int, limit: int) -> int:
    return _within(instance, buffer, limit, _exchange(instance).request.protocol.encode())


def _get_source_addr(instance: HandlerInstance, buffer: int, limit: int) -> int:
    address, port = _exchange(instance).request.client
    shown = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    return _within(instance, buffer, limit, shown.encode())


def _get_header_names(instance: HandlerInstance, kind: int, buffer: int, limit: int) -> int:
    return _list_within(instance, buffer, limit, _headers(instance, kind).names())


def _get_header_values(
    instance: HandlerInstance, kind: int, name: int, name_length: int, buffer: int, limit: int
) -> int:
    found = _headers(instance, kind).values(_header_name(instance, name, name_length))
    return _list_within(instance, buffer, limit, found)


def _set_header_value(
    instance: HandlerInstance, kind: int, name: int, name_length: int, value: int, length: int
) -> None:
    headers = _changeable(instance, kind, "set_header_value")
    headers.set(_header_name(instance, name, name_length), instance.read(value, length))


def _add_header_value(
    instance: HandlerInstance, kind: int, name: int, name_length: int, value: int, length: int
) -> None:
    headers = _changeable(instance, kind, "add_header_value")
    headers.add(_header_name(instance, name, name_length), instance.read(value, length))


def _remove_header(instance: HandlerInstance, kind: int, name: int, name_length: int) -> None:
    _changeable(instance, kind, "remove_header").remove(_header_name(instance, name, name_length))


def _read_body(instance: HandlerInstance, kind: int, buffer: int, limit: int) -> int:
    if not limit:
        raise GuestError("abi", "read_body: buf_limit is zero")
    instance.check(buffer, limit)
    body = _readable(instance, kind)
    done = 0
    while done < limit:
        chunk = instance.waiting(body.read, limit - done)
        if not chunk:
            return _AT_END | done
        instance.write(buffer + done, chunk)
        done += len(chunk)
    return _AT_END | done if body.is_at_end else done


def _readable(instance: HandlerInstance, kind: int) -> Body:
    exchange = _exchange(instance)
    if kind == _REQUEST:
        if not exchange.after_next:
            return exchange.request.body
        if exchange.replay is None:
            raise GuestError("abi", "read_body: request body after the next handler needs buffer_request")
        if exchange.request_reader is None:
            exchange.request_reader = exchange.replay.from_start()
        return exchange.request_reader
    if kind != _RESPONSE:
        raise GuestError("abi", f"read_body: unknown kind {kind}")
    _may_change_response(exchange, "read_body")
    if exchange.response_reader is None:
        exchange.response_reader = BytesBody(bytes(exchange.response.held or b""))
    return exchange.response_reader


def _write_body(instance: HandlerInstance, kind: int, body: int, length: int) -> None:
    chunk = instance.read(body, length)
    if kind == _REQUEST:
        exchange = _before_next(instance, "write_body")
        if exchange.new_request_body is None:
            exchange.new_request_body = bytearray()
        if len(exchange.new_request_body) + length > instance.limits.buffer:
            raise GuestError("too-large", f"new request body is over the limit of {instance.limits.buffer} bytes")
        exchange.new_request_body += chunk
    elif kind == _RESPONSE:
        exchange = _exchange(instance)
        _may_change_response(exchange, "write_body")
        if not exchange.writes_response and exchange.response.held is not None:
            exchange.response.held.clear()
        exchange.writes_response = True
        exchange.response.headers.remove(b"content-length")
        instance.waiting(exchange.response.write, chunk)
    else:
        raise GuestError("abi", f"write_body: unknown kind {kind}")


def _get_status_code(instance: HandlerInstance) -> int:
    exchange = _exchange(instance)
    _may_change_response(exchange, "get_status_code")
    return exchange.response.status


def _set_status_code(instance: HandlerInstance, status: int) -> None:
    exchange = _exchange(instance)
    _may_change_response(exchange, "set_status_code")
    exchange.response.set_status(status)


# ---------------------------------------------------------------------- checks and memory


def _before_next(instance: HandlerInstance, function: str) -> MiddlewareExchange:
    exchange = _exchange(instance)
    if exchange.after_next:
        raise GuestError("abi", f"{function}: the request is immutable after the next handler")
    return exchange


def _may_change_response(exchange: MiddlewareExchange, function: str) -> None:
    if exchange.after_next and not exchange.features & BUFFER_RESPONSE:
        raise GuestError("abi", f"{function}: after the next handler it needs buffer_response")
    if exchange.response.started:
        raise GuestError("abi", f"{function}: the head of the response was sent already")


def _headers(instance: HandlerInstance, kind: int) -> Headers:
    exchange = _exchange(instance)
    if kind == _REQUEST:
        return exchange.request.headers
    if kind == _RESPONSE:
        return exchange.response.headers
    if kind in (_REQUEST_TRAILERS, _RESPONSE_TRAILERS):
        return Headers()
    raise GuestError("abi", f"unknown header kind {kind}")


def _changeable(instance: HandlerInstance, kind: int, function: str) -> Headers:
    if kind in (_REQUEST_TRAILERS, _RESPONSE_TRAILERS):
        raise GuestError("abi", f"{function}: trailers are not supported")
    if kind == _REQUEST:
        return _before_next(instance, function).request.headers
    _may_change_response(_exchange(instance), function)
    return _headers(instance, kind)


def _header_name(instance: HandlerInstance, name: int, length: int) -> bytes:
    if not length:
        raise GuestError("abi", "empty header name")
    return instance.read(name, length)


def _within(instance: HandlerInstance, buffer: int, limit: int, value: bytes) -> int:
    """Writes the value if it fits; returns its length in any case."""
    if len(value) <= limit:
        instance.write(buffer, value)
    return len(value)


def _list_within(instance: HandlerInstance, buffer: int, limit: int, values: Sequence[bytes]) -> int:
    return len(values) << 32 | _within(instance, buffer, limit, b"".join(value + b"\0" for value in values))


ABI: Final = Abi(
    MODULE,
    (
        HostFunction("enable_features", 1, "i32", _enable_features),
        HostFunction("get_config", 2, "i32", _get_config),
        HostFunction("log", 3, "", _log),
        HostFunction("log_enabled", 1, "i32", _log_enabled),
        HostFunction("get_method", 2, "i32", _get_method),
        HostFunction("set_method", 2, "", _set_method),
        HostFunction("get_uri", 2, "i32", _get_uri),
        HostFunction("set_uri", 2, "", _set_uri),
        HostFunction("get_protocol_version", 2, "i32", _get_protocol_version),
        HostFunction("get_source_addr", 2, "i32", _get_source_addr),
        HostFunction("get_header_names", 3, "i64", _get_header_names),
        HostFunction("get_header_values", 5, "i64", _get_header_values),
        HostFunction("set_header_value", 5, "", _set_header_value),
        HostFunction("add_header_value", 5, "", _add_header_value),
        HostFunction("remove_header", 3, "", _remove_header),
        HostFunction("read_body", 3, "i64", _read_body),
        HostFunction("write_body", 3, "", _write_body),
        HostFunction("get_status_code", 0, "i32", _get_status_code),
        HostFunction("set_status_code", 1, "", _set_status_code),
    ),
    (("handle_request", 0, "i64"), ("handle_response", 2, "")),
)
