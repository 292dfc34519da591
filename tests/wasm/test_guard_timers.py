"""Timers that take the rights to a page away: when, from which thread, and what is left of them."""

import ctypes
import mmap
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import wasmtime

from kubewasp.wasm import guard_timers
from kubewasp.wasm.ffi import AdapterCall, address_of
from kubewasp.wasm.guard_timers import GuardTimer
from kubewasp.wasm.load_checks import GUARD, with_checks
from kubewasp.wasm.load_deadline import LoadDeadline
from tools.fuzz.targets import load_checks as fuzzed

pytestmark = pytest.mark.skipif(not guard_timers.are_there(), reason="this system has no such timers")

LOOP = '(module (func (export "run") (param i32) (loop (br_if 0 (local.get 0)))))'
_c = ctypes.CDLL(None, use_errno=True)
_c.access.argtypes = [ctypes.c_void_p, ctypes.c_int]


class Looping:
    """A guest that loops if its parameter is not 0."""

    def __init__(self) -> None:
        wasm = with_checks(bytes(wasmtime.wat2wasm(LOOP))).wasm
        self.store = wasmtime.Store(fuzzed._engine())
        exports = wasmtime.Instance(self.store, wasmtime.Module(fuzzed._engine(), wasm), []).exports(self.store)
        self.page = address_of(self.store, cast("wasmtime.Memory", exports[GUARD]))
        self.run = AdapterCall(self.store, cast("wasmtime.Func", exports["run"]), 1)
        self.deadline = LoadDeadline()
        self.deadline.guard(self.page)

    def call(self, seconds: float, loops: int = 1) -> bool:
        """Whether the call was ended by its limit."""
        self.deadline.begin()
        try:
            self.deadline.arm(seconds)
            try:
                self.run(loops)
            except wasmtime.Trap as error:
                self.deadline.ended(error)
            finally:
                self.deadline.disarm()
        finally:
            self.deadline.end()
        return self.deadline.is_over


def is_readable(page: int) -> bool:
    return not (_c.access(page, 0) == -1 and ctypes.get_errno() == 14)


@pytest.fixture
def page() -> Iterator[int]:
    memory = mmap.mmap(-1, guard_timers.GUARD_SIZE)
    view = (ctypes.c_char * guard_timers.GUARD_SIZE).from_buffer(memory)
    yield ctypes.addressof(view)
    guard_timers._system().give_rights(ctypes.addressof(view))  # type: ignore[union-attr]
    del view


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No limit of wall time, however busy the machine is."""
    monkeypatch.setattr(guard_timers, "WALL_FACTOR", 10_000)


def burn(seconds: float) -> None:
    began = time.thread_time()
    while time.thread_time() - began < seconds:
        pass


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.001)


# ---------------------------------------------------------------- limits


@pytest.mark.usefixtures("patient")
def test_an_endless_call_ends_at_its_limit_of_cpu_time() -> None:
    looping, began = Looping(), time.thread_time()
    assert looping.call(0.1)
    assert time.thread_time() - began >= 0.1


def test_a_call_that_keeps_pythons_lock_ends_at_its_limit() -> None:
    looping = Looping()
    looping.run.keep_lock(True)
    assert looping.call(0.05)


@pytest.mark.usefixtures("patient")
def test_every_call_has_its_whole_time() -> None:
    looping = Looping()
    for _ in range(3):
        began = time.thread_time()
        assert looping.call(0.05)
        assert time.thread_time() - began >= 0.05
        assert is_readable(looping.page), "the page is given back"
        assert not looping.call(0.05, loops=0)


@pytest.mark.usefixtures("patient")
def test_short_calls_before_do_not_shorten_a_call() -> None:
    looping = Looping()
    for _ in range(2000):
        assert not looping.call(0.1, loops=0)
    began = time.thread_time()
    assert looping.call(0.1)
    assert time.thread_time() - began >= 0.1


@pytest.mark.usefixtures("patient")
def test_time_between_calls_does_not_count() -> None:
    looping = Looping()
    assert not looping.call(0.02, loops=0)
    burn(0.1)  # the timer expires without a page
    began = time.thread_time()
    assert looping.call(0.02)
    assert time.thread_time() - began >= 0.02


def test_a_thread_without_cpu_time_is_ended_in_wall_time(page: int) -> None:
    timer, began = GuardTimer(), time.monotonic()
    timer.arm(page, 0.02)
    wait_for(lambda: not is_readable(page))
    assert timer.has_fired
    assert time.monotonic() - began >= guard_timers.WALL_FACTOR * 0.02
    timer.disarm()
    assert is_readable(page)


@pytest.mark.usefixtures("patient")
def test_a_sleeping_thread_uses_up_no_cpu_time(page: int) -> None:
    timer = GuardTimer()
    timer.arm(page, 0.05)
    time.sleep(0.2)
    assert not timer.has_fired
    timer.disarm()


def test_another_limit_is_set_at_once(page: int) -> None:
    timer = GuardTimer()
    timer.arm(page, 60)
    timer.disarm()
    timer.arm(page, 0.01)
    burn(0.1)
    wait_for(lambda: timer.has_fired)
    timer.disarm()


# ---------------------------------------------------------------- one guest of many


@pytest.mark.usefixtures("patient")
def test_a_call_is_ended_alone() -> None:
    """Four threads: one guest's limit is over, the others go on."""
    ended: dict[float, tuple[bool, float]] = {}

    def run(seconds: float) -> None:
        began = time.thread_time()
        over = Looping().call(seconds)
        ended[seconds] = over, time.thread_time() - began

    threads = [threading.Thread(target=run, args=[seconds]) for seconds in (0.05, 0.1, 0.2, 0.3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(over and spent >= seconds for seconds, (over, spent) in ended.items())
    assert len(ended) == 4


def test_calls_within_calls_have_limits_of_their_own() -> None:
    """As a guest's callback that calls another guest on the same thread."""
    outer, inner = Looping(), Looping()
    outer.deadline.begin()
    outer.deadline.arm(30)
    assert inner.call(0.02)
    assert is_readable(outer.page)
    outer.deadline.disarm()
    assert not outer.deadline.is_over
    outer.deadline.end()


def test_an_instance_may_be_called_by_one_thread_after_the_other() -> None:
    looping, over = Looping(), []

    def run() -> None:
        over.append(looping.call(0.03))

    for _ in range(5):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert over == [True] * 5
    assert looping.call(0.03)


def test_timers_of_ended_threads_are_deleted() -> None:
    listed = Path("/proc/self/timers")
    if not listed.exists():
        pytest.skip("the system does not list timers")

    def timers() -> int:
        return listed.read_text(encoding="ascii").count("ID:")

    before = timers()
    for _ in range(20):
        thread = threading.Thread(target=lambda: Looping().call(1, loops=0))
        thread.start()
        thread.join()
    assert timers() - before < 5


def test_a_trap_of_the_guests_own_is_not_taken_for_its_limit(page: int) -> None:
    looping = Looping()
    looping.deadline.begin()
    looping.deadline.arm(0.01)
    burn(0.05)
    wait_for(lambda: not is_readable(looping.page))
    store = wasmtime.Store()
    module = wasmtime.Module(
        store.engine, '(module (memory 1) (func (export "f") (drop (i32.load (i32.const 65536)))))'
    )
    run: Any = wasmtime.Instance(store, module, []).exports(store)["f"]
    with pytest.raises(wasmtime.Trap) as trap:
        run(store)
    looping.deadline.ended(trap.value)
    assert not looping.deadline.is_over
    looping.deadline.disarm()
    looping.deadline.end()


# ---------------------------------------------------------------- late and lost calls


def test_a_timer_that_fires_late_finds_no_page(page: int) -> None:
    timer = GuardTimer()
    timer.arm(page, 0.01)
    armed: Any = timer._armed
    timer.disarm()
    system: Any = guard_timers._system()
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(system.take_rights)(ctypes.addressof(armed.slot))
    assert is_readable(page)
    assert (armed.slot.begun, armed.slot.done) == (1, 1)


def test_after_it_has_fired_a_timer_has_another_slot(page: int) -> None:
    timer = GuardTimer()
    slots = set()
    for _ in range(3):
        timer.arm(page, 0.01)
        armed: Any = timer._armed
        slots.add(ctypes.addressof(armed.slot))
        burn(0.03)
        wait_for(lambda: timer.has_fired)
        timer.disarm()
        assert armed.slot.page == 0
    assert len(slots) == 3


def test_a_slot_is_used_again_after_a_while(page: int, monkeypatch: pytest.MonkeyPatch) -> None:
    system: Any = guard_timers._system()
    monkeypatch.setattr(system, "_put_away", type(system._put_away)())
    slot = system.slot()
    system.put_away(slot)
    assert ctypes.addressof(system.slot()) != ctypes.addressof(slot)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 61)
    assert ctypes.addressof(system.slot()) == ctypes.addressof(slot)


def test_a_system_without_timers_left_is_an_error(page: int) -> None:
    """The limit of queued signals is that of timers, too."""
    program = """
import resource
from kubewasp.wasm import guard_timers
assert guard_timers.are_there()
resource.setrlimit(resource.RLIMIT_SIGPENDING, (0, 0))
try:
    guard_timers.GuardTimer().arm(4096, 1)
except OSError as error:
    print(error.errno)
"""
    ended = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert ended.stdout == "11\n"


FORKS = """
import os, sys
from kubewasp import Guest
from tests import samples
from tests.guests.build import wat
from tests.wasm.steering import misbehave

def is_ended():
    with guest.cycle(samples.pod(), samples.nodes(1)) as cycle:
        misbehave(cycle, "infinite loop", "filter")
        return "time limit" in cycle.filter().reason(0)

guest = Guest.load(wat("misbehave"), limits={"call_timeout": 0.05})
assert is_ended()
child = os.fork()
if not child:
    os._exit(0 if is_ended() else 1)
assert os.waitpid(child, 0)[1] == 0
assert is_ended()
"""


def test_a_forked_process_has_timers_of_its_own() -> None:
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS], check=True, env=environment, timeout=60)


def test_systems_without_machine_code_have_no_such_timers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(OSError, match="no machine code or timers"):
        guard_timers._System()
