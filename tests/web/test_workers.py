"""Worker processes: start, shared port, crash, reload, shutdown, limit of restarts."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from kubewasp.server.http_server import Address, listening_sockets
from kubewasp.web.worker_group import MAX_ENDS, WorkerGroup, WorkersError
from tests.web.client import one_handler
from tests.web.guests import handler, runner
from tests.web.test_served import running

_NEW = {"connection": "close"}  # the next request has a connection of its own
_HELLO = handler("(call $write (i32.const 0) (i32.const 5)) (i64.const 0)", more='(data (i32.const 0) "hello")')


def workers_of(pid: int) -> list[int]:
    return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def metric(client: httpx.Client, url: str, name: str) -> float:
    lines = client.get(f"{url}/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


def test_workers_serve_together_crash_reload_and_stop(tmp_path: Path) -> None:
    document = {**one_handler(_HELLO), "listen": "127.0.0.1:0", "operations": "127.0.0.1:0", "workers": 2}
    with running(tmp_path, document) as (process, urls, _), httpx.Client(timeout=300) as client:
        assert process.stderr is not None

        def wait_for(text: str) -> None:
            while (line := process.stderr.readline()) and text not in line:  # type: ignore[union-attr]
                assert "Traceback" not in line
            assert text in line

        for _ in range(20):  # new connections: both workers get some
            assert client.get(f"{urls[0]}/", headers=_NEW).text == "hello"
        assert metric(client, urls[1], "kubewasp_http_requests_total") == 20
        assert metric(client, urls[1], "kubewasp_http_workers ") == 2
        assert client.get(f"{urls[1]}/configz").json()["guests"][0]["style"] == "module"
        assert client.get(f"{urls[1]}/readyz").text == "ok"

        before = workers_of(process.pid)
        os.kill(before[0], signal.SIGKILL)
        wait_for('"Worker ended"')
        wait_for('"Worker started"')
        after = workers_of(process.pid)
        assert (len(after), before[1] in after, before[0] in after) == (2, True, False)
        for _ in range(10):
            assert client.get(f"{urls[0]}/", headers=_NEW).text == "hello"
        assert metric(client, urls[1], "kubewasp_http_requests_total") == 30  # with those of the ended worker
        assert metric(client, urls[1], "kubewasp_http_worker_restarts_total") == 1

        changed = json.loads((tmp_path / "web.yaml").read_text())
        changed["guests"]["main"]["file"] = str(runner("(call $eputs (i32.const 0) (i32.const 1))", message=True))
        changed["guests"]["main"]["style"] = "run"
        fresh = tmp_path / "new.yaml"
        fresh.write_text(json.dumps(changed))
        fresh.replace(tmp_path / "web.yaml")
        process.send_signal(signal.SIGHUP)
        wait_for('"Configuration reloaded"')
        wait_for('"Configuration reloaded"')
        for _ in range(10):
            assert client.get(f"{urls[0]}/", headers=_NEW).text == ""
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
        assert process.wait(300) == 0
    assert "Traceback" not in rest
    for pid in after:
        assert not Path(f"/proc/{pid}").exists()


def test_workers_end_with_their_supervisor(tmp_path: Path) -> None:
    document = {**one_handler(_HELLO), "listen": "127.0.0.1:0", "operations": "127.0.0.1:0", "workers": 2}
    with running(tmp_path, document) as (process, _, _):
        workers = [os.pidfd_open(pid) for pid in workers_of(process.pid)]
        process.kill()
        process.wait()
        for descriptor in workers:
            signal_ended(descriptor)


def signal_ended(descriptor: int) -> None:
    """Waits for the end of a process."""
    import select

    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    assert poll.poll(300_000)
    os.close(descriptor)


def group_of(script: str, count: int = 1) -> WorkerGroup:
    """Workers that are this script; `link` is their channel."""
    prelude = "import os, socket, sys\nlink = socket.socket(fileno=int(sys.argv[2])).makefile('rwb', 0)\n"

    def command(listening: int, control: int) -> Sequence[str]:
        return [sys.executable, "-S", "-E", "-c", prelude + script, str(listening), str(control)]

    return WorkerGroup(listening_sockets(Address(port=0), 10, count), command)


def test_workers_that_do_not_start_are_an_error_with_the_cause() -> None:
    async def start(script: str) -> None:
        await group_of(script, 2).start()

    with pytest.raises(WorkersError, match=r"^guest \"a\" is broken$"):
        asyncio.run(start("""link.write(b'["failed", "guest \\\\"a\\\\" is broken"]\\n')"""))
    with pytest.raises(WorkersError, match="worker ended at its start: exit code 3"):
        asyncio.run(start("sys.exit(3)"))
    with pytest.raises(WorkersError, match="worker ended at its start: signal SIGKILL"):
        asyncio.run(start("os.kill(os.getpid(), 9)"))


def test_workers_that_end_again_and_again_end_the_server(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> WorkersError:
        group = group_of("""link.write(b'["ready", "http://x"]\\n')""")
        assert await group.start() == "http://x"
        error = await group.failed
        assert group.restarts == MAX_ENDS
        await group.stop()
        return error

    assert "more than 10 workers ended within 60 s; the last one: exit code 0" in str(asyncio.run(run()))
    assert caplog.messages.count("Worker ended") == MAX_ENDS + 1


def test_worker_that_does_not_answer_delays_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubewasp.web.worker_group._REPORT_SECONDS", 0.01)

    async def run() -> list[list[object]]:
        group = group_of("""link.write(b'["ready", "http://x"]\\n'); link.read(5); link.readline(); link.read()""")
        await group.start()
        found = await group.metrics()
        for worker in group._workers.values():
            worker.process.kill()
        await group.stop()
        return found

    assert [family[0] for family in asyncio.run(run())] == ["kubewasp_http_workers", "kubewasp_http_worker_restarts"]


def test_sockets_of_workers_have_one_port() -> None:
    sockets = listening_sockets(Address(port=0), 10, 3)
    assert len({made.getsockname() for made in sockets}) == 1
    assert len({made.fileno() for made in sockets}) == 3
    for made in sockets:
        assert made.type == socket.SOCK_STREAM
        made.close()
