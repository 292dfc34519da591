"""Instance of a web guest: store, memory, calls with a time limit, mapping of traps to errors.

HOT PATH (guard: make counts); measured by `make bars ARGS='--only web'`.
"""

from __future__ import annotations

import re
import time
from ctypes import memmove, string_at
from typing import TYPE_CHECKING, TypeVar

from wasmtime import ExitTrap, Trap, TrapCode, WasiConfig, WasmtimeError

from kubewasp.wasm.light_instance import LightInstance
from kubewasp.web import host_functions
from kubewasp.web.errors import ClientError, GuestError, OverrunError
from kubewasp.web.guest_output import Output

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kubewasp.web.handler_abi import HandlerExchange
    from kubewasp.web.handler_module import HandlerModule
    from kubewasp.web.middleware_abi import MiddlewareExchange
    from kubewasp.web.run_abi import RunExchange
    from kubewasp.web.web_config import WebLimits

Result = TypeVar("Result")
_TRAP = re.compile(r"wasm trap: .*")
_NEARLY_FULL = 0.9
# Wall time of a call on the event loop. Guests get there if they take a fiftieth of it (see `Pace`).
_BRIEF_SECONDS = 0.05


class HandlerInstance:
    """Started guest, called by one thread at a time. Unusable after an error (`broken`).

    The engine's ticker must run while an instance is made and called: time limits are counted in its ticks.
    """

    def __init__(
        self,
        module: HandlerModule,
        limits: WebLimits,
        *,
        name: str,
        config: bytes,
        env: Mapping[str, str],
        brief: bool = False,
    ) -> None:
        """`brief`: started on the event loop, for a brief request."""
        self.name = name
        self.limits = limits
        self.config = config
        self.features = 0  # http-wasm features enabled by the start function
        # During a call: the subject of host functions.
        self.exchange: HandlerExchange | MiddlewareExchange | RunExchange | None = None
        self.output = Output(limits.output)
        self.output.begin(hold=brief)
        self.broken = False
        self._module = module
        self._ticker = module.engine.ticker
        self._brief = brief
        self._failure: BaseException | None = None
        self._functions: dict[str, int] = {}
        self._until = 0.0
        self._guest = LightInstance(module.template, keeps_lock=brief and self._ticker.needs_no_lock)
        if module.uses_wasi:
            self._grant(env)
        self._start()

    def close(self) -> None:
        """Frees its memory now: tracebacks may keep the object for longer. No other method may follow."""
        self._guest.close()

    def _grant(self, env: Mapping[str, str]) -> None:
        wasi = WasiConfig()
        wasi.env = list(env.items())
        wasi.stdout_custom = self.output.take
        wasi.stderr_custom = self.output.take
        self._guest.set_wasi(wasi)

    def _start(self) -> None:
        module = self._module
        try:
            seconds = self._seconds(self.limits.start_timeout)
            if module.has_start_section:
                self._guarded(seconds, self._guest.instantiate)
            else:
                self._instantiate(seconds)
            for name in module.start:
                self._guarded(seconds, self._run_start, name)
        except GuestError as error:
            self.close()
            raise GuestError("start", f"{error.kind}: {error.detail}") from None

    def _run_start(self, name: str) -> None:
        try:
            self.call_again(name)
        except ExitTrap as error:
            if self._failure is not None or error.code != 0:
                raise

    def _instantiate(self, seconds: float) -> None:
        """Without a start section, no guest code runs."""
        try:
            self._guest.instantiate()
        except (WasmtimeError, Trap) as error:
            raise self._error(error, seconds) from None

    # ------------------------------------------------------------------ calling

    def begin(self, *, brief: bool) -> None:
        """Prepares for a request."""
        self.output.begin(hold=brief)
        if brief is not self._brief:
            self._brief = brief
            self._guest.keep_lock(brief and self._ticker.needs_no_lock)

    def call(self, name: str, first: int = 0, second: int = 0) -> int:
        """Calls an export of its ABI; GuestError or ClientError on failure."""
        return self._guarded(self._seconds(self.limits.timeout), self.call_again, name, first, second)

    def within(
        self, exchange: HandlerExchange | RunExchange, steps: Callable[..., Result], *parameters: object
    ) -> Result:
        """Runs several calls, by `call_again`, within one time limit; `exchange` is the subject of host functions."""
        self.exchange = exchange
        try:
            return self._guarded(self._seconds(self.limits.timeout), steps, *parameters)
        finally:
            self.exchange = None

    def _seconds(self, limit: float) -> float:
        return min(limit, _BRIEF_SECONDS) if self._brief else limit

    def call_again(self, name: str, first: int = 0, second: int = 0) -> int:
        """Call from a host function or from `within`, within the time limit of the outer call. Bits of the result."""
        function = self._functions.get(name)
        if function is None:  # looked up on first use: most requests call one or two exports
            function = self._functions[name] = self._guest.exported(name.encode())
        return self._guest.call(function, first, second)

    def _guarded(self, seconds: float, function: Callable[..., Result], *parameters: object) -> Result:
        self._until = time.monotonic() + seconds
        before = host_functions.serve(self)
        try:
            self._guest.set_deadline(self._ticker.ticks(seconds))
            return function(*parameters)
        except (WasmtimeError, Trap) as error:
            self.broken = True
            raise self._error(error, seconds) from None
        finally:
            host_functions.serve(before)

    def failed(self, error: BaseException, function: str) -> None:
        """Keeps the first error of a host function; the call then traps."""
        if self._failure is None:
            if isinstance(error, IndexError):
                error = GuestError("abi", f"{function}: {error}")
            elif isinstance(error, Trap | WasmtimeError):  # from a nested call
                error = self._error(error, self.limits.timeout)
            self._failure = error

    def _error(self, error: Exception, seconds: float) -> BaseException:
        failure = self._failure
        if isinstance(failure, GuestError | ClientError | OverrunError):
            return failure
        if failure is not None:
            return GuestError("host", f"{type(failure).__name__}: {failure}")
        if isinstance(error, ExitTrap):
            return GuestError("exit", f"guest exited with code {error.code}")
        if isinstance(error, Trap) and error.trap_code is TrapCode.INTERRUPT:
            if self._brief:
                return OverrunError("guest runs for long", by_time=True)
            return GuestError("timeout", f"time limit of {seconds:g} s exceeded")
        found = _TRAP.search(str(error))
        text = found.group() if found else " ".join(str(error).split())
        size = self.memory_bytes
        if size > self.limits.memory * _NEARLY_FULL:
            return GuestError("memory", f"{text} ({size} of {self.limits.memory} bytes of memory in use)")
        return GuestError("trap", text)

    @property
    def memory_bytes(self) -> int:
        return self._guest.memory_size + self._module.bounds.counted

    # ------------------------------------------------------------------ for host functions

    def bind_memory(self, caller: object) -> None:
        """Takes the memory from the caller during a start section, which runs before the exports are available."""
        if not self._guest.has_memory:
            self._guest.take_memory(caller)

    def read(self, address: int, length: int) -> bytes:
        """Copy of a part of the guest's memory; IndexError if it is outside."""
        return string_at(self._guest.place(address, length), length) if length else b""

    def write(self, address: int, content: bytes) -> None:
        if content:
            memmove(self._guest.place(address, len(content)), content, len(content))

    def allocate(self, content: bytes) -> int:
        """Copies bytes into memory from the guest's `malloc`; its address."""
        length = len(content) or 1
        address = self.call_again("malloc", length) & 0xFFFFFFFF
        if not address:
            raise GuestError("abi", f"malloc returned 0 for {length} bytes")
        try:
            self.check(address, length)
        except IndexError as error:
            raise GuestError("abi", f"result of malloc: {error}") from None
        self.write(address, content)
        return address

    def check(self, address: int, length: int) -> None:
        """IndexError if that is not a part of the guest's memory."""
        self._guest.place(address, length)

    def refuse_longer_than(self, delay: float) -> None:
        if self._brief:
            raise OverrunError("guest sleeps")
        if time.monotonic() + delay > self._until:
            raise GuestError("timeout", f"guest sleeps for {delay:g} s, beyond its time limit")

    def waiting(self, step: Callable[..., Result], *parameters: object) -> Result:
        """Runs a step that may wait for the client; the time spent does not count. Brief requests do not wait."""
        if self._brief:
            return step(*parameters)
        began = time.monotonic()
        found = step(*parameters)
        now = time.monotonic()
        self._until += now - began
        self._guest.set_deadline(self._ticker.ticks(max(self._until - now, 0)))
        return found
