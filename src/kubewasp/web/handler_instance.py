"""One running guest: store, memory, calls with a time limit, and what ended a call that has no answer.  HOT PATH."""

from __future__ import annotations

import ctypes
import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from wasmtime import Caller, ExitTrap, Memory, Store, Trap, TrapCode, WasiConfig, WasmtimeError

from kubewasp.wasm.ffi import GuestCall, exported_function, exported_memory
from kubewasp.web import host_functions
from kubewasp.web.faults import ClientFault, GuestFault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from kubewasp.web.handler_module import Program
    from kubewasp.web.request_limits import WebLimits

_TRAP = re.compile(r"wasm trap: .*")
_NEARLY_FULL = 0.9


class Output:
    """What a guest prints. Apart from the instance: the runtime holds it, and must not hold the instance."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = limit
        self._content = bytearray()

    def begin(self) -> None:
        """A new request, with a new allowance."""
        self._left = self._limit

    def take(self, chunk: bytes) -> int:
        self._content += self.bounded(chunk)
        return len(chunk)

    def bounded(self, chunk: bytes) -> bytes:
        """As much of it as the guest may still say."""
        allowed = chunk[: self._left]
        self._left -= len(allowed)
        return allowed

    def lines(self) -> list[str]:
        """Said so far, and not told before."""
        text, self._content = self._content.decode(errors="replace"), bytearray()
        return [line for line in text.splitlines() if line.strip()]


class Instance:
    """A guest that can be called, by one thread at a time. After a fault it must be thrown away."""

    def __init__(
        self, program: Program, limits: WebLimits, *, name: str, config: bytes, env: Mapping[str, str]
    ) -> None:
        self.name = name
        self.limits = limits
        self.config = config
        self.features = 0  # of the http-wasm ABI: enabled while it started
        self.duty: Any = None  # what its host functions work on, for as long as it is called
        self.output = Output(limits.output)
        self.broken = False
        self._program = program
        self._ticker = program.engine.ticker
        self._memory: Memory | None = None
        self._failure: BaseException | None = None
        self._calls: dict[str, GuestCall] = {}
        self._until = 0.0
        self._store = Store(program.engine.engine)
        self._store.set_limits(memory_size=limits.memory, table_elements=1_000_000, instances=1, tables=32, memories=1)
        if program.uses_wasi:
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
            self._guarded(self.limits.start_timeout, self._instantiate)
            for name in self._program.start:
                self._guarded(self.limits.start_timeout, self._exported(name, ""), may_exit=True)
        except GuestFault as fault:
            raise GuestFault("start", f"{fault.kind}: {fault.detail}") from None

    def _instantiate(self) -> None:
        self._instance = self._program.prepared.instantiate(self._store)
        self._memory = exported_memory(self._store, self._instance, b"memory")

    def _exported(self, name: str, result: str) -> GuestCall:
        return GuestCall(self._store, exported_function(self._store, self._instance, name.encode()), result)

    # ------------------------------------------------------------------ calling

    def call(self, name: str, *parameters: int) -> int:
        """Calls an export of its ABI; GuestFault or ClientFault if there is no answer."""
        return cast("int", self._guarded(self.limits.timeout, self._found(name), *parameters))

    def call_again(self, name: str, *parameters: int) -> int:
        """The same from within a host function: the time limit is that of the call which is under way."""
        return self._found(name)(*parameters)

    def _found(self, name: str) -> GuestCall:
        """Looked up when it is first called: most requests call one or two."""
        found = self._calls.get(name)
        if found is None:
            found = self._calls[name] = self._exported(name, self._program.results[name])
        return found

    def _guarded(self, seconds: float, function: Any, *parameters: int, may_exit: bool = False) -> Any:
        self._until = time.monotonic() + seconds
        before = host_functions.serve(self)
        self._ticker.begin()
        try:
            self._store.set_epoch_deadline(self._ticker.ticks(seconds))
            return function(*parameters)
        except (WasmtimeError, Trap, ExitTrap) as error:
            if may_exit and self._failure is None and isinstance(error, ExitTrap) and error.code == 0:
                return 0
            self.broken = True
            raise self._fault(error, seconds) from None
        finally:
            self._ticker.end()
            host_functions.serve(before)

    def failed(self, error: BaseException, function: str) -> None:
        """A host function cannot answer; the first one tells why."""
        if self._failure is None:
            if isinstance(error, IndexError):
                error = GuestFault("abi", f"{function}: {error}")
            elif isinstance(error, Trap | WasmtimeError):  # of a call that it made itself
                error = self._fault(error, self.limits.timeout)
            self._failure = error

    def _fault(self, error: Exception, seconds: float) -> BaseException:
        failure = self._failure
        if isinstance(failure, GuestFault | ClientFault):
            return failure
        if failure is not None:
            return GuestFault("host", f"{type(failure).__name__}: {failure}")
        if isinstance(error, ExitTrap):
            return GuestFault("exit", f"guest exited with code {error.code}")
        if isinstance(error, Trap) and error.trap_code is TrapCode.INTERRUPT:
            return GuestFault("timeout", f"time limit of {seconds:g} s exceeded")
        found = _TRAP.search(str(error))
        text = found.group() if found else " ".join(str(error).split())
        size = self.memory_bytes
        if size > self.limits.memory * _NEARLY_FULL:
            return GuestFault("memory", f"{text} ({size} of {self.limits.memory} bytes of memory in use)")
        return GuestFault("trap", text)

    @property
    def memory_bytes(self) -> int:
        return self._memory.data_len(self._store) if self._memory is not None else 0

    # ------------------------------------------------------------------ for host functions

    def meet(self, caller: Any) -> None:
        """A module's start section runs before its exports are known to us: the caller has its memory."""
        if self._memory is None:
            found = Caller(caller).get("memory")
            if isinstance(found, Memory):
                self._memory = found

    def read(self, address: int, length: int) -> bytes:
        """A copy: whatever the guest does with its memory later, it stays as it is."""
        return ctypes.string_at(self._place(address, length), length) if length else b""

    def write(self, address: int, content: bytes) -> None:
        if content:
            ctypes.memmove(self._place(address, len(content)), content, len(content))

    def check(self, address: int, length: int) -> None:
        """IndexError unless that is a part of the guest's memory."""
        self._place(address, length)

    def _place(self, address: int, length: int) -> int:
        memory = self._memory
        if memory is None:
            raise IndexError("the guest has no memory yet")
        size = memory.data_len(self._store)
        if address + length > size:
            raise IndexError(f"{length} bytes at {address} are outside of the guest's memory of {size} bytes")
        return ctypes.addressof(memory.data_ptr(self._store).contents) + address

    def refuse_longer_than(self, delay: float) -> None:
        if time.monotonic() + delay > self._until:
            raise GuestFault("timeout", f"guest sleeps for {delay:g} s, beyond its time limit")

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """The time spent here, waiting for the client, does not count for the guest."""
        began = time.monotonic()
        yield
        now = time.monotonic()
        self._until += now - began
        self._store.set_epoch_deadline(self._ticker.ticks(max(self._until - now, 0)))
