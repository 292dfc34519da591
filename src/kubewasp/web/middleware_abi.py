"""The public http-wasm handler ABI, imports under `http_handler`: https://http-wasm.io/http-handler-abi/.  HOT PATH.

Trailers are not offered, as servers of Python have none: `enable_features` leaves the bit out, there are none to be
read, and setting one traps. All else is there.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from kubewasp.web.exchange import BytesBody, Headers
from kubewasp.web.faults import ClientFault, GuestFault
from kubewasp.web.guest_log import is_enabled, log
from kubewasp.web.host_functions import Abi, HostFunction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubewasp.web.exchange import Body, Request, Response
    from kubewasp.web.handler_instance import Instance

MODULE: Final = "http_handler"
BUFFER_REQUEST: Final = 1
BUFFER_RESPONSE: Final = 2
_OFFERED: Final = BUFFER_REQUEST | BUFFER_RESPONSE
_REQUEST, _RESPONSE, _REQUEST_TRAILERS, _RESPONSE_TRAILERS = range(4)
_AT_END: Final = 1 << 32


@dataclass(slots=True)
class MiddlewareDuty:
    """The exchange that a middleware is called for, from its `handle_request` to its `handle_response`."""

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
    """Implements `Body`; what was read can be read again by the next handler."""

    def __init__(self, source: Body, limit: int) -> None:
        self.length = source.length
        self._source = source
        self._limit = limit
        self._seen = bytearray()

    def read(self, limit: int) -> bytes:
        chunk = self._source.read(limit)
        if len(self._seen) + len(chunk) > self._limit:
            raise ClientFault(413, f"a middleware wants to see the whole request, and may hold {self._limit} bytes")
        self._seen += chunk
        return chunk

    @property
    def is_at_end(self) -> bool:
        return self._source.is_at_end

    def from_start(self) -> Body:
        return _Joined(BytesBody(bytes(self._seen)), self._source, self.length)


class _Joined:
    """Implements `Body`: one after the other."""

    def __init__(self, first: Body, second: Body, length: int | None) -> None:
        self.length = length
        self._first = first
        self._second = second

    def read(self, limit: int) -> bytes:
        return self._first.read(limit) or self._second.read(limit)

    @property
    def is_at_end(self) -> bool:
        return self._first.is_at_end and self._second.is_at_end


def run(instance: Instance, duty: MiddlewareDuty, following: Callable[[], None]) -> None:
    """Has the guest handle the request and, if it wants `following` to answer, the response."""
    instance.duty = duty
    duty.enable(instance.features, instance.limits.buffer)
    try:
        result = instance.call("handle_request") & 0xFFFFFFFFFFFFFFFF
        if result & 0xFFFFFFFF:
            _prepare_next(duty)
            try:
                following()
            except (GuestFault, ClientFault):
                _let_go(instance, result >> 32)
                raise
            instance.call("handle_response", result >> 32, 0)
    finally:
        instance.duty = None
    if duty.features & BUFFER_RESPONSE:
        duty.response.release()


def _prepare_next(duty: MiddlewareDuty) -> None:
    duty.after_next = True
    duty.writes_response = False
    if duty.replay is not None:
        duty.request.body = duty.replay.from_start()
    if duty.new_request_body is not None:
        content = bytes(duty.new_request_body)
        duty.request.body = BytesBody(content)
        duty.request.headers.set(b"content-length", str(len(content)).encode())
        duty.request.headers.remove(b"transfer-encoding")


def _let_go(instance: Instance, context: int) -> None:
    """`handle_response` is called after a failure too, so that the guest can let go of what it keeps."""
    with suppress(GuestFault):  # the first fault is the one to be told
        instance.call("handle_response", context, 1)


# ---------------------------------------------------------------------- host functions


def _duty(instance: Instance) -> MiddlewareDuty:
    if instance.duty is None:
        raise GuestFault("abi", "there is no request while the guest starts")
    return cast("MiddlewareDuty", instance.duty)


def _enable_features(instance: Instance, features: int) -> int:
    if instance.duty is None:
        instance.features |= features & _OFFERED
        return instance.features
    duty = _duty(instance)
    duty.enable(features, instance.limits.buffer)
    return duty.features


def _get_config(instance: Instance, buffer: int, limit: int) -> int:
    return _within(instance, buffer, limit, instance.config)


def _log(instance: Instance, level: int, message: int, length: int) -> None:
    duty = cast("MiddlewareDuty | None", instance.duty)
    log(instance, level, instance.read(message, length), duty.request.id if duty else "")


def _log_enabled(_: Instance, level: int) -> int:
    return int(is_enabled(level))


def _get_method(instance: Instance, buffer: int, limit: int) -> int:
    return _within(instance, buffer, limit, _duty(instance).request.method.encode())


def _set_method(instance: Instance, method: int, length: int) -> None:
    duty = _before_next(instance, "set_method")
    if not length:
        raise GuestFault("abi", "set_method: a method cannot be empty")
    duty.request.method = instance.read(method, length).decode("latin-1")


def _get_uri(instance: Instance, buffer: int, limit: int) -> int:
    return _within(instance, buffer, limit, _duty(instance).request.target)


def _set_uri(instance: Instance, uri: int, length: int) -> None:
    request = _before_next(instance, "set_uri").request
    target = instance.read(uri, length) or b"/"
    if not target.startswith(b"/") or any(byte <= 0x20 or byte >= 0x7F for byte in target):
        raise GuestFault("abi", f"set_uri: expected an encoded path such as /a?b=c, got {target[:80]!r}")
    request.path, _, request.query = target.partition(b"?")


def _get_protocol_version(instance: Instance, buffer: int, limit: int) -> int:
    return _within(instance, buffer, limit, _duty(instance).request.protocol.encode())


def _get_source_addr(instance: Instance, buffer: int, limit: int) -> int:
    address, port = _duty(instance).request.client
    shown = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    return _within(instance, buffer, limit, shown.encode())


def _get_header_names(instance: Instance, kind: int, buffer: int, limit: int) -> int:
    return _list_within(instance, buffer, limit, _headers(instance, kind).names())


def _get_header_values(instance: Instance, kind: int, name: int, name_length: int, buffer: int, limit: int) -> int:
    found = _headers(instance, kind).values(_header_name(instance, name, name_length))
    return _list_within(instance, buffer, limit, found)


def _set_header_value(instance: Instance, kind: int, name: int, name_length: int, value: int, length: int) -> None:
    headers = _changeable(instance, kind, "set_header_value")
    headers.set(_header_name(instance, name, name_length), instance.read(value, length))


def _add_header_value(instance: Instance, kind: int, name: int, name_length: int, value: int, length: int) -> None:
    headers = _changeable(instance, kind, "add_header_value")
    headers.add(_header_name(instance, name, name_length), instance.read(value, length))


def _remove_header(instance: Instance, kind: int, name: int, name_length: int) -> None:
    _changeable(instance, kind, "remove_header").remove(_header_name(instance, name, name_length))


def _read_body(instance: Instance, kind: int, buffer: int, limit: int) -> int:
    if not limit:
        raise GuestFault("abi", "read_body: buf_limit is zero")
    instance.check(buffer, limit)
    body = _readable(instance, kind)
    done = 0
    while done < limit:
        with instance.waiting():
            chunk = body.read(limit - done)
        if not chunk:
            return _AT_END | done
        instance.write(buffer + done, chunk)
        done += len(chunk)
    return _AT_END | done if body.is_at_end else done


def _readable(instance: Instance, kind: int) -> Body:
    duty = _duty(instance)
    if kind == _REQUEST:
        if not duty.after_next:
            return duty.request.body
        if duty.replay is None:
            raise GuestFault(
                "abi", "read_body: not the request after the next handler unless buffer_request is enabled"
            )
        if duty.request_reader is None:
            duty.request_reader = duty.replay.from_start()
        return duty.request_reader
    if kind != _RESPONSE:
        raise GuestFault("abi", f"read_body: unknown kind {kind}")
    _may_change_response(duty, "read_body")
    if duty.response_reader is None:
        duty.response_reader = BytesBody(bytes(duty.response.held or b""))
    return duty.response_reader


def _write_body(instance: Instance, kind: int, body: int, length: int) -> None:
    chunk = instance.read(body, length)
    if kind == _REQUEST:
        duty = _before_next(instance, "write_body")
        if duty.new_request_body is None:
            duty.new_request_body = bytearray()
        if len(duty.new_request_body) + length > instance.limits.buffer:
            raise GuestFault("too-large", f"the new request body is over the limit of {instance.limits.buffer} bytes")
        duty.new_request_body += chunk
    elif kind == _RESPONSE:
        duty = _duty(instance)
        _may_change_response(duty, "write_body")
        if not duty.writes_response and duty.response.held is not None:
            duty.response.held.clear()
        duty.writes_response = True
        duty.response.headers.remove(b"content-length")
        with instance.waiting():
            duty.response.write(chunk)
    else:
        raise GuestFault("abi", f"write_body: unknown kind {kind}")


def _get_status_code(instance: Instance) -> int:
    duty = _duty(instance)
    _may_change_response(duty, "get_status_code")
    return duty.response.status


def _set_status_code(instance: Instance, status: int) -> None:
    duty = _duty(instance)
    _may_change_response(duty, "set_status_code")
    duty.response.set_status(status)


# ---------------------------------------------------------------------- inside


def _before_next(instance: Instance, function: str) -> MiddlewareDuty:
    duty = _duty(instance)
    if duty.after_next:
        raise GuestFault("abi", f"{function}: the request cannot be changed after the next handler")
    return duty


def _may_change_response(duty: MiddlewareDuty, function: str) -> None:
    if duty.after_next and not duty.features & BUFFER_RESPONSE:
        raise GuestFault("abi", f"{function}: not after the next handler unless buffer_response is enabled")
    if duty.response.started:
        raise GuestFault("abi", f"{function}: the response is on its way already")


def _headers(instance: Instance, kind: int) -> Headers:
    duty = _duty(instance)
    if kind == _REQUEST:
        return duty.request.headers
    if kind == _RESPONSE:
        return duty.response.headers
    if kind in (_REQUEST_TRAILERS, _RESPONSE_TRAILERS):
        return Headers()
    raise GuestFault("abi", f"unknown kind of header: {kind}")


def _changeable(instance: Instance, kind: int, function: str) -> Headers:
    if kind in (_REQUEST_TRAILERS, _RESPONSE_TRAILERS):
        raise GuestFault("abi", f"{function}: trailers are not offered")
    if kind == _REQUEST:
        return _before_next(instance, function).request.headers
    _may_change_response(_duty(instance), function)
    return _headers(instance, kind)


def _header_name(instance: Instance, name: int, length: int) -> bytes:
    if not length:
        raise GuestFault("abi", "the name of a header cannot be empty")
    return instance.read(name, length)


def _within(instance: Instance, buffer: int, limit: int, value: bytes) -> int:
    """Written if it fits; its length in any case."""
    if len(value) <= limit:
        instance.write(buffer, value)
    return len(value)


def _list_within(instance: Instance, buffer: int, limit: int, values: Sequence[bytes]) -> int:
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
