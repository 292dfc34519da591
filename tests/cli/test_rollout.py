"""`kubewasp rollout`: tables, requests, and one clear line where there is no scheduler."""

import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from tests.cli.conftest import Kubewasp

DIGEST = "sha256:" + "ab" * 32
TRIAL = {
    "stage": "shadow",
    "digest": DIGEST,
    "previous": "",
    "pods": 40,
    "of": 500,
    "errors": 1,
    "timeouts": 0,
    "p50Seconds": 0.0001,
    "p99Seconds": 0.002,
    "otherNodes": 10,
    "nodesJudged": 4000,
    "otherVerdicts": 4,
    "scoreDistance": 2.5,
    "wholeCycles": 4,
    "stableP50Seconds": 0.0002,
    "stableP99Seconds": 0.003,
    "examples": ["default/web: node-1 -> node-2"],
}
STATUS = {
    "plugins": [
        {
            "plugin": "team-nodes",
            "profiles": ["default"],
            "digest": "sha256:" + "cd" * 32,
            "source": "x",
            "errors": 0,
            "timeouts": 0,
            "trial": TRIAL,
        }
    ],
    "reloads": {"succeeded": 3, "failed": 1, "rollbacks": 1, "lastFailure": "plugin broken"},
    "badVersions": [{"plugin": "team-nodes", "digest": DIGEST, "reason": "6 errors in 20 pods", "time": "now"}],
    "events": [],
}


class Scheduler(http.server.BaseHTTPRequestHandler):
    """Answers like `kubewasp run`."""

    asked: ClassVar[list[str]]
    answer: ClassVar[tuple[int, bytes]]

    def _respond(self) -> None:
        self.asked.append(f"{self.command} {self.path}")
        status, body = self.answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = _respond  # noqa: N815 - names of the library

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def scheduler() -> Iterator[Any]:
    class Handler(Scheduler):
        asked: ClassVar[list[str]] = []
        answer = (200, json.dumps(STATUS).encode())

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        Handler.url = f"http://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
        yield Handler
        server.shutdown()
        thread.join()


def test_the_status_is_a_table_of_80_columns(kubewasp: Kubewasp, scheduler: Any) -> None:
    ended = kubewasp("rollout", "status", "--server", scheduler.url)
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1].split() == ["team-nodes", "cdcdcdcdcdcd", "stable", "0", "0"]
    assert "team-nodes: abababababab is in stage shadow" in lines
    text = " ".join(ended.out.split())
    assert "other node 10 of 40 (25.0%)" in text
    assert "other verdicts 4 of 4000 (0.1%) nodes" in text
    assert "time p50, p99 100µs, 2ms" in text
    assert "6 errors in 20 pods" in text
    assert "reloads: 3 succeeded, 1 failed" in text
    assert scheduler.asked == ["GET /rollout"]


def test_guests_of_a_web_server_have_their_digests_and_failures(kubewasp: Kubewasp, scheduler: Any) -> None:
    counts = {"succeeded": 2, "failed": 1, "lastFailure": "wasm: no signature by team-a"}
    guests = [{"guest": "greet", "digest": DIGEST, "source": "greet.wat", "reloads": counts}]
    status = {"plugins": [], "guests": guests, "reloads": {"succeeded": 0, "failed": 0, "lastFailure": ""}}
    scheduler.answer = (200, json.dumps(status).encode())
    lines = kubewasp("rollout", "status", "--server", scheduler.url).out.splitlines()
    assert lines[1].split() == ["greet", "abababababab", "2", "1"]
    assert lines[2] == "greet: last failure: wasm: no signature by team-a"
    assert lines[-1] == "reloads: 0 succeeded, 0 failed"


def test_json_has_everything(kubewasp: Kubewasp, scheduler: Any) -> None:
    assert json.loads(kubewasp("rollout", "status", "--server", scheduler.url, "-o", "json").out) == STATUS


@pytest.mark.parametrize(
    ("words", "request_line"),
    [
        (("promote",), "POST /rollout/promote"),
        (("promote", "a b"), "POST /rollout/promote?plugin=a%20b"),
        (("abort", "policy"), "POST /rollout/abort?plugin=policy"),
        (("reload",), "POST /reload"),
        (("reload", "--retry"), "POST /reload?retry=true"),
    ],
)
def test_a_command_is_one_request(
    kubewasp: Kubewasp, scheduler: Any, words: tuple[str, ...], request_line: str
) -> None:
    scheduler.answer = (200, b'{"message": "done"}')
    ended = kubewasp("rollout", *words, "--server", scheduler.url)
    assert (ended.code, ended.out) == (0, "done\n")
    assert scheduler.asked == [request_line]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((409, b"no version is on trial\n"), "no version is on trial"),
        ((500, b"<html>secret of a proxy</html>"), "HTTP status 500; is it kubewasp run?"),
        ((200, b"not json"), "the answer is not one of kubewasp"),
        ((200, b"[]"), "the answer is not one of kubewasp"),
    ],
)
def test_a_refusal_is_one_line(kubewasp: Kubewasp, scheduler: Any, answer: tuple[int, bytes], told: str) -> None:
    scheduler.answer = answer
    ended = kubewasp("rollout", "promote", "--server", scheduler.url)
    assert ended.code == 1
    assert ended.err == f"error: {scheduler.url}: {told}\n"


def test_a_scheduler_that_is_not_there_is_one_line(kubewasp: Kubewasp) -> None:
    ended = kubewasp("rollout", "status", "--server", "http://127.0.0.1:1")
    assert ended.code == 1
    assert ended.err.startswith("error: http://127.0.0.1:1 cannot be reached: Connection refused; is kubewasp running")
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("url", ["127.0.0.1:10259", "ftp://x", "http://", "http://x:0x", "http://x?y"])
def test_an_address_that_is_none_is_wrong_usage(kubewasp: Kubewasp, url: str) -> None:
    assert "expected a URL such as" in kubewasp("rollout", "status", "--server", url).usage_error
