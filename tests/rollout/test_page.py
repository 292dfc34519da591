"""Commands of the page on rollouts, in order, on a scheduler in memory behind a real port."""

import http.server
import re
import shlex
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from kubewasp.cli.main import main
from kubewasp.framework.config.reading import parse_config
from kubewasp.rollout.rollout_status import document
from kubewasp.server.endpoints import create_app
from kubewasp.server.health import Health
from kubewasp.server.metrics import Metrics
from kubewasp.server.rollout_endpoints import rollout_routes
from tests import command_line
from tests.rollout.bench import Bench
from tests.rollout.policies import wasm
from tests.server.asking import Client
from tests.test_docs import ROOT, commands, skeleton

PAGE = (ROOT / "docs" / "rollout.md").read_text(encoding="utf-8")


class Control:
    """A scheduler in memory. Implements `RolloutControl`."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def reload(self, cause: str, *, forgive: bool = False) -> None:
        if forgive:
            self._bench.ledger.forgive()
        self._bench.reload()

    def status(self) -> dict[str, Any]:
        return document(self._bench.running, self._bench.history, self._bench.ledger.all_bad())

    async def promote(self, plugin: str = "") -> str:
        return self._bench.controller.promote(plugin)

    async def abort(self, plugin: str = "") -> str:
        found = self._bench.controller.abort(plugin)
        self._bench.work()
        return found


@contextmanager
def served(bench: Bench) -> Iterator[str]:
    app = create_app(Health(), Metrics(), dict, routes=rollout_routes(Control(bench)))

    class Handler(http.server.BaseHTTPRequestHandler):
        client: ClassVar = Client(app)

        def _respond(self) -> None:
            answer = self.client.ask(self.command, self.path)
            self.send_response(answer.status_code)
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_POST = _respond  # noqa: N815 - names of the library

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_commands_of_the_page_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command_line.fixed_terminal(monkeypatch)
    kubewasp = command_line.command(main, "kubewasp", monkeypatch, capsys)
    stages = {"shadow": "20%", "canary": "5%", "promote": {"after": 500, "maxDisagreement": "10%"}}
    bench = Bench(tmp_path, wasm("v1", prefers="a"), rollout=stages, nodes="abc")
    bench.controller.promote()
    bench.work()
    bench.reload(wasm("v2", prefers="a", rejects="b"))
    bench.pods(150)
    shown = [pair for body in blocks("text") for pair in commands(body) if pair[0].startswith("kubewasp rollout")]
    assert [shlex.split(command)[2] for command, _ in shown] == ["status", "promote", "abort", "reload", "status"]
    with served(bench) as url:
        for command, wanted in shown:
            words = shlex.split(command, comments=True)[1:]
            ended = kubewasp(*words, "--server", url)
            assert ended.code == 0, ended.err
            assert _alike(ended.out) == _alike(wanted), command
    bench.cluster.tick()


def _alike(text: str) -> list[str]:
    return skeleton(re.sub(r"\b[0-9a-f]{12}\b", "DIGEST", re.sub(r"\d[\d.]*(µs|ms)", "TIME", text)))


def test_the_configurations_of_the_page_are_valid() -> None:
    found = [yaml.safe_load(body) for body in blocks("yaml")]
    assert len(found) >= 2
    for body in found:
        args = {"guestURL": "p.wasm", **({"rollout": body["rollout"]} if "rollout" in body else {})}
        entry = {"name": "policy", "args": args}
        config: dict[str, Any] = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"pluginConfig": [entry]}],
            **({"reload": body["reload"]} if "reload" in body else {}),
        }
        parse_config(yaml.safe_dump(config).encode(), "page")


def test_the_page_lists_every_event_reason_and_annotation() -> None:
    from kubewasp.live import rollout_reporter
    from kubewasp.rollout import rollout_events as events

    reasons = [value for name, value in vars(events).items() if name.isupper() and isinstance(value, str)]
    assert len(reasons) >= 6
    for text in (*reasons, rollout_reporter.IN_USE, rollout_reporter.BAD):
        assert f"`{text}`" in PAGE, text
