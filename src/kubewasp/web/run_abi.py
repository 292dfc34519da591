"""ABI of the style `run`: an exported `run`, and text input and output by imports of `httpwasm` (docs/http.md).

HOT PATH (guard: make counts); measured by `make bars ARGS='--only web'`. Two forms, told apart by the type of `run`:
- `run()` reads lines by `igets`. The host allocates them with the guest's `malloc`;
- `run(pointer, length)` gets the whole request body, allocated in the same way.
In both, the host frees its allocations with the guest's `free` once `run` has returned. Input, output and allocations
belong to one call.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from kubewasp.web.errors import ClientError, GuestError
from kubewasp.web.host_functions import Abi, HostFunction

if TYPE_CHECKING:
    from kubewasp.web.handler_instance import HandlerInstance
    from kubewasp.web.http_messages import Request, Response

DEFAULT_MODULE: Final = "httpwasm"
# Types of `run`.
LINES: Final = "() -> ()"
MESSAGE: Final = "(i32, i32) -> ()"
_CHUNK: Final = 64 * 1024
_MAX_LINES: Final = 1_000_000


@dataclass(slots=True)
class RunExchange:
    """Data of one call: request, response, input not yet read, addresses to free."""

    request: Request
    response: Response
    limit: int  # of a line, or of the whole message
    allocated: array[int] = field(default_factory=lambda: array("I"))
    _input: bytearray = field(default_factory=bytearray)
    _searched: int = 0
    _is_at_end: bool = False

    def message(self) -> bytes:
        """The whole body."""
        while chunk := self.request.body.read(_CHUNK):
            self._input += chunk
            self._check(len(self._input), "request body")
        return bytes(self._input)

    def line(self) -> bytes:
        """The next line of the body and a final newline; empty at the end."""
        while (end := self._input.find(b"\n", self._searched)) < 0 and not self._is_at_end:
            self._searched = len(self._input)
            self._check(len(self._input), "line of the request body")
            chunk = self.request.body.read(_CHUNK)
            self._is_at_end = not chunk
            self._input += chunk or b"\n"
        self._check(end, "line of the request body")
        self._searched = 0
        found = bytes(self._input[: end + 1])
        del self._input[: end + 1]
        return found

    def _check(self, length: int, what: str) -> None:
        if length > self.limit:
            raise ClientError(413, f"{what} is over the limit of {self.limit} bytes")


def abi(module: str, run: str, *, reads_lines: bool) -> Abi:
    """The ABI for a type of `run`. Guests that get no strings need no allocator."""
    exports = (("run", 2 if run == MESSAGE else 0, ""),)
    allocator = (("malloc", 1, "i32"), ("free", 1, ""))
    return Abi(module, _FUNCTIONS, exports + allocator if run == MESSAGE or reads_lines else exports)


def run(instance: HandlerInstance, exchange: RunExchange, *, takes_message: bool) -> None:
    """Calls the guest's `run`, and frees what was allocated for it."""
    message = exchange.message() if takes_message else None
    instance.within(exchange, _steps, instance, exchange, message)


def _steps(instance: HandlerInstance, exchange: RunExchange, message: bytes | None) -> None:
    if message is None:
        instance.call_again("run")
    else:
        address = instance.allocate(message)
        exchange.allocated.append(address)
        instance.call_again("run", address, len(message))
    for address in exchange.allocated:
        instance.call_again("free", address)


def _exchange(instance: HandlerInstance) -> RunExchange:
    if instance.exchange is None:
        raise GuestError("abi", "no request during the start function")
    return cast("RunExchange", instance.exchange)


def _igets(instance: HandlerInstance) -> int:
    exchange = _exchange(instance)
    line = instance.waiting(exchange.line)
    if not line:
        return 0
    if len(exchange.allocated) == _MAX_LINES:
        raise GuestError("abi", f"igets: more than {_MAX_LINES} lines in one call")
    address = instance.allocate(line)
    exchange.allocated.append(address)
    return address << 32 | len(line)


def _oputs(instance: HandlerInstance, address: int, length: int) -> None:
    chunk = instance.read(address, length)
    instance.waiting(_exchange(instance).response.write, chunk)


def _eputs(instance: HandlerInstance, address: int, length: int) -> None:
    instance.output.take(instance.read(address, length))


_FUNCTIONS: Final = (
    HostFunction("igets", 0, "i64", _igets),
    HostFunction("oputs", 2, "", _oputs),
    HostFunction("eputs", 2, "", _eputs),
)
