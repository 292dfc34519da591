"""`run` as a library: streams, threads, exceptions."""

from __future__ import annotations

import gc
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kubewasp.wasi import streams
from kubewasp.wasi.capabilities import Capabilities
from kubewasp.wasi.command import Ending, run
from kubewasp.wasi.program import load_program
from tests.wasi.running import probe_file


def test_a_program_runs_many_times_at_once_and_each_run_has_its_own_rights() -> None:
    program = load_program(probe_file().read_bytes(), Capabilities())

    def once(number: int) -> bytes:
        kept = streams.Buffer(1000)
        capabilities = Capabilities(arguments=("env",), environment={"NUMBER": str(number)})
        assert run(program, capabilities, stdout=kept).exit_code == 0
        return kept.content()

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(once, range(200))) == [b"NUMBER=%d\n" % number for number in range(200)]


def test_programs_run_beside_each_other() -> None:
    """The first waits for output of the second: in sequence they would deadlock."""
    program = load_program(probe_file().read_bytes(), Capabilities())
    capabilities = Capabilities(arguments=("stdin",))
    printed = threading.Event()

    def wait(_wanted: int) -> bytes:
        assert printed.wait(300)
        return b""

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(run, program, capabilities, stdin=wait)
        hello = Capabilities(arguments=("hello",))
        second = threads.submit(run, program, hello, stdout=lambda _: printed.set())
        assert (first.result(300).exit_code, second.result(300).exit_code) == (0, 0)


def test_streams_are_streamed() -> None:
    """Input is printed before the next read: nothing is buffered in between."""
    seen: list[str] = []
    chunks = iter([b"one", b"two", b""])

    def source(wanted: int) -> bytes:
        assert wanted == 4096
        seen.append("asked")
        return next(chunks)

    capabilities = Capabilities(arguments=("stdin",))
    program = load_program(probe_file().read_bytes(), capabilities)
    run(program, capabilities, stdin=source, stdout=lambda content: seen.append(content.decode()))
    assert seen == ["asked", "one", "asked", "two", "asked"]


@pytest.mark.parametrize("error", [ValueError("no more"), KeyboardInterrupt()])
def test_what_a_stream_raises_ends_the_program_and_is_raised(error: BaseException) -> None:
    def broken(*_: object) -> bytes:
        raise error

    capabilities = Capabilities(arguments=("stdin",))
    program = load_program(probe_file().read_bytes(), capabilities)
    with pytest.raises(type(error)):
        run(program, capabilities, stdin=broken)
    with pytest.raises(type(error)):
        run(program, capabilities, stdin=streams.of_bytes(b"text"), stdout=broken)
    assert run(program, capabilities).ending is Ending.EXITED


def test_a_source_that_gives_more_than_it_was_asked_for_is_an_error() -> None:
    capabilities = Capabilities(arguments=("stdin",))
    program = load_program(probe_file().read_bytes(), capabilities)
    with pytest.raises(ValueError, match="the source returned 4097 bytes, requested were 4096"):
        run(program, capabilities, stdin=lambda wanted: b"x" * (wanted + 1))


def test_a_program_runs_within_the_stream_of_another() -> None:
    program = load_program(probe_file().read_bytes(), Capabilities())
    inner = streams.Buffer(100)

    def sink(_content: bytes) -> None:
        run(program, Capabilities(arguments=("args", "inner")), stdout=inner)

    outer = Capabilities(arguments=("read", "/none"))
    outcome = run(program, outer, stderr=sink)
    assert inner.content() == b"inner\n"
    assert [denial.path for denial in outcome.denials] == ["/none"]


def test_a_stream_may_be_an_open_file() -> None:
    readable, writable = os.pipe()
    capabilities = Capabilities(arguments=("hello",))
    run(load_program(probe_file().read_bytes(), capabilities), capabilities, stdout=streams.Descriptor(writable))
    os.close(writable)
    assert streams.Descriptor(readable)(100) == b"hello\n"
    os.close(readable)


def test_no_file_of_a_run_stays_open() -> None:
    capabilities = Capabilities(arguments=("hello",))
    program = load_program(probe_file().read_bytes(), capabilities)
    run(program, capabilities)
    gc.collect()
    before = open_files()
    for _ in range(20):
        run(program, capabilities, stdout=streams.Buffer(100))
    assert open_files() <= before


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
