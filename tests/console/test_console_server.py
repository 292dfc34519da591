"""A console of its own: page and API on loopback, other hosts refused."""

import threading
import urllib.error
import urllib.request
from typing import Any

import pytest

from kubewasp.console import console_server
from tests.console.sources import source
from tests.simulation.simulating import node, pod


def served(work: Any) -> None:
    """Runs `work(url)` on a thread beside the server, which ends afterwards."""
    problems: list[BaseException] = []

    def beside(url: str) -> None:
        def ask() -> None:
            try:
                work(url)
            except BaseException as problem:  # noqa: BLE001 - raised below
                problems.append(problem)
            finally:
                signal.raise_signal(signal.SIGTERM)

        threading.Thread(target=ask).start()

    import signal

    console_server.serve(source(node("a"), pod("web")), ("127.0.0.1", 0), beside)
    if problems:
        raise problems[0]


def test_page_and_api_are_served() -> None:
    def work(url: str) -> None:
        with urllib.request.urlopen(url, timeout=10) as answer:
            assert answer.status == 200
        with urllib.request.urlopen(url.replace("/console/", "/api/v1/overview"), timeout=10) as answer:
            assert b'"pods"' in answer.read()

    served(work)


def test_other_hosts_are_refused() -> None:
    def work(url: str) -> None:
        request = urllib.request.Request(url, headers={"Host": "attacker.example"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=10)
        assert refused.value.code in (403, 421)
        refused.value.close()

    served(work)
