"""The ABI of long-lived handlers, imports under `kubewasp_http`; docs/http.md tells it to their authors.  HOT PATH.

Memory is always the guest's. Who owns a piece of it is the same for all functions of a kind:
- guest to host: a pointer and a length; the host copies before it returns, the guest keeps the piece;
- host to guest: the host asks the guest's `malloc` for it, fills it and hands it over; the guest frees it;
- the result of `run`: the host copies it and calls the guest's `free`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from kubewasp.web.faults import GuestFault
from kubewasp.web.guest_log import log
from kubewasp.web.host_functions import Abi, HostFunction

if TYPE_CHECKING:
    from kubewasp.web.exchange import Request, Response
    from kubewasp.web.handler_instance import Instance

MODULE: Final = "kubewasp_http"


@dataclass(slots=True)
class HandlerDuty:
    """The request that a handler is called for."""

    request: Request
    response: Response


def run(instance: Instance, duty: HandlerDuty) -> None:
    """Has the guest answer."""
    instance.duty = duty
    try:
        result = instance.call("run") & 0xFFFFFFFFFFFFFFFF
        if result:
            address, length = result >> 32, result & 0xFFFFFFFF
            try:
                last = instance.read(address, length)
            except IndexError as error:
                raise GuestFault("answer", f"the result of run: {error}") from None
            instance.call("free", address)
            duty.response.write(last)
    finally:
        instance.duty = None


def _duty(instance: Instance) -> HandlerDuty:
    if instance.duty is None:
        raise GuestFault("abi", "there is no request while the guest starts")
    return cast("HandlerDuty", instance.duty)


def _hand_over(instance: Instance, content: bytes) -> int:
    """The host allocates for the guest, which owns it from then on. An empty text is a piece too: 0 is "not there"."""
    length = max(len(content), 1)
    address = instance.call_again("malloc", length) & 0xFFFFFFFF
    if not address:
        raise GuestFault("abi", f"the guest's malloc has no {length} bytes")
    try:
        instance.check(address, length)
    except IndexError as error:
        raise GuestFault("abi", f"what the guest's malloc returned: {error}") from None
    instance.write(address, content)
    return address << 32 | len(content)


def _method(instance: Instance) -> int:
    return _hand_over(instance, _duty(instance).request.method.encode())


def _path(instance: Instance) -> int:
    return _hand_over(instance, _duty(instance).request.path)


def _query(instance: Instance) -> int:
    return _hand_over(instance, _duty(instance).request.query)


def _header(instance: Instance, name: int, length: int) -> int:
    values = _duty(instance).request.headers.values(instance.read(name, length))
    return _hand_over(instance, b", ".join(values)) if values else 0


def _headers(instance: Instance) -> int:
    pairs = _duty(instance).request.headers.pairs
    return _hand_over(instance, b"".join(name + b": " + value + b"\n" for name, value in pairs))


def _read(instance: Instance, buffer: int, limit: int) -> int:
    duty = _duty(instance)
    instance.check(buffer, limit)
    if not limit:
        return 0
    with instance.waiting():
        chunk = duty.request.body.read(limit)
    instance.write(buffer, chunk)
    return len(chunk)


def _config(instance: Instance) -> int:
    return _hand_over(instance, instance.config)


def _set_status(instance: Instance, status: int) -> None:
    response = _duty(instance).response
    _before_body(response, "response_status")
    response.set_status(status)


def _add_header(instance: Instance, name: int, name_length: int, value: int, value_length: int) -> None:
    response = _duty(instance).response
    _before_body(response, "response_header")
    response.headers.add(instance.read(name, name_length), instance.read(value, value_length))


def _before_body(response: Response, function: str) -> None:
    if response.started:
        raise GuestFault("abi", f"{function}: too late, the head of the response is on its way")


def _write(instance: Instance, address: int, length: int) -> None:
    chunk = instance.read(address, length)
    with instance.waiting():
        _duty(instance).response.write(chunk)


def _log(instance: Instance, level: int, address: int, length: int) -> None:
    duty = cast("HandlerDuty | None", instance.duty)
    log(instance, level, instance.read(address, length), duty.request.id if duty else "")


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
