"""Instance of a web guest: store, memory, calls with a time limit, mapping of traps to errors.

HOT PATH (guard: make counts); measured by `make bars ARGS='--only web'`.
"""

from __future__ import annotations

import ctypes
import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from wasmtime import Caller, ExitTrap, Memory, Store, Trap, TrapCode, WasiConfig, WasmtimeError

from kubewasp.wasm.ffi import GuestCall, GuestMemory, exported_function, exported_memory, instantiated_from
from kubewasp.web import host_functions
from kubewasp.web.errors import ClientError, GuestError, OverrunError
from kubewasp.web.guest_output import Output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kubewasp.web.handler_abi import HandlerExchange
    from kubewasp.web.handler_module import HandlerModule
    from kubewasp.web.middleware_abi import MiddlewareExchange
    from kubewasp.web.run_abi import RunExchange
    from kubewasp.web.web_config import WebLimits

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
        self._memory: GuestMemory | None = None
        self._keeps_lock = brief and self._ticker.needs_no_lock
        self._brief = brief
        self._failure: BaseException | None = None
        self._calls: dict[str, GuestCall] = {}
        self._until = 0.0
        self._store = Store(module.engine.engine)
        module.bounds.apply(self._store)
        if module.uses_wasi:
            self._grant(env)
        self._start()

    def _grant(self, env: Mapping[str, str]) -> None:
        wasi = WasiConfig()
        wasi.env = list(env.items())
        wasi.stdout_custom = self.output.take
        wasi.stderr_custom = self.output.take
        self._store.set_wasi(wasi)

    def _start(self) -> None:
        try:
            seconds = self._seconds(self.limits.start_timeout)
            self._guarded(seconds, self._instantiate)
            for name in self._module.start:
                self._guarded(seconds, self._exported(name, ""), may_exit=True)
        except GuestError as error:
            raise GuestError("start", f"{error.kind}: {error.detail}") from None

    def _instantiate(self) -> None:
        self._instance = instantiated_from(self._module.prepared, self._store, keep_lock=self._keeps_lock)
        self._memory = GuestMemory(self._store, exported_memory(self._store, self._instance, b"memory"))

    def _exported(self, name: str, result: str) -> GuestCall:
        found = GuestCall(self._store, exported_function(self._store, self._instance, name.encode()), result)
        found.keep_lock(self._keeps_lock)
        return found

    # ------------------------------------------------------------------ calling

    @property
    def is_brief(self) -> bool:
        """Whether the current request runs on the event loop."""
        return self._brief

    def begin(self, *, brief: bool) -> None:
        """Prepares for a request."""
        self.output.begin(hold=brief)
        if brief is not self._brief:
            self._brief = brief
            self._keeps_lock = brief and self._ticker.needs_no_lock
            for function in self._calls.values():
                function.keep_lock(self._keeps_lock)

    def call(self, name: str, *parameters: int) -> int:
        """Calls an export of its ABI; GuestError or ClientError on failure."""
        return cast("int", self._guarded(self._seconds(self.limits.timeout), self._function(name), *parameters))

    def within(self, exchange: HandlerExchange | RunExchange, steps: Callable[[], None]) -> None:
        """Runs several calls, by `call_again`, within one time limit; `exchange` is the subject of host functions."""
        self.exchange = exchange
        try:
            self._guarded(self._seconds(self.limits.timeout), steps)
        finally:
            self.exchange = None

    def _seconds(self, limit: float) -> float:
        return min(limit, _BRIEF_SECONDS) if self._brief else limit

    def call_again(self, name: str, *parameters: int) -> int:
        """Call from a host function or from `within`, within the time limit of the outer call."""
        return self._function(name)(*parameters)

    def _function(self, name: str) -> GuestCall:
        """Looked up on first use: most requests call one or two exports."""
        found = self._calls.get(name)
        if found is None:
            found = self._calls[name] = self._exported(name, self._module.results[name])
        return found

    def _guarded(
        self, seconds: float, function: Callable[..., object], *parameters: int, may_exit: bool = False
    ) -> object:
        self._until = time.monotonic() + seconds
        before = host_functions.serve(self)
        try:
            self._store.set_epoch_deadline(self._ticker.ticks(seconds))
            return function(*parameters)
        except (WasmtimeError, Trap, ExitTrap) as error:
            if may_exit and self._failure is None and isinstance(error, ExitTrap) and error.code == 0:
                return 0
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
        used = self._memory.size if self._memory is not None else 0
        return used + self._module.bounds.counted

    # ------------------------------------------------------------------ for host functions

    def bind_memory(self, caller: Any) -> None:
        """Takes the memory from the caller during a start section, which runs before the exports are available."""
        if self._memory is None:
            found = Caller(caller).get("memory")
            if isinstance(found, Memory):
                self._memory = GuestMemory(self._store, found)

    def read(self, address: int, length: int) -> bytes:
        """Copy of a part of the guest's memory; IndexError if it is outside."""
        return ctypes.string_at(self._place(address, length), length) if length else b""

    def write(self, address: int, content: bytes) -> None:
        if content:
            ctypes.memmove(self._place(address, len(content)), content, len(content))

    def allocate(self, content: bytes) -> int:
        """Copies bytes into memory from the guest's `malloc`; its address."""
        length = max(len(content), 1)
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
        self._place(address, length)

    def _place(self, address: int, length: int) -> int:
        if self._memory is None:
            raise IndexError("the guest has no memory yet")
        return self._memory.place(address, length)

    def refuse_longer_than(self, delay: float) -> None:
        if self._brief:
            raise OverrunError("guest sleeps")
        if time.monotonic() + delay > self._until:
            raise GuestError("timeout", f"guest sleeps for {delay:g} s, beyond its time limit")

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Excludes the time spent waiting for the client from the time limit. Brief requests do not wait."""
        if self._brief:
            yield
            return
        began = time.monotonic()
        yield
        now = time.monotonic()
        self._until += now - began
        self._store.set_epoch_deadline(self._ticker.ticks(max(self._until - now, 0)))
