"""Health probe against servers that answer, refuse and fail."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.deploy.manifests import BASE, one, resources
from tools.soak.health_probe import TIMEOUT, HealthProbe, get
from tools.testbed.process import free_port


@contextmanager
def server(status: int) -> Iterator[tuple[int, threading.Semaphore]]:
    """Its port, and a semaphore that counts its requests."""
    requests = threading.Semaphore(0)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(f"answer to {self.path}".encode())
            requests.release()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield made.server_port, requests
        finally:
            made.shutdown()
            thread.join()


def probed(port: int, requests: threading.Semaphore) -> HealthProbe:
    """A probe after its first request."""
    probe = HealthProbe(port)
    probe.start()
    assert requests.acquire(timeout=30)
    probe.stop()
    return probe


def test_an_answer_counts() -> None:
    with server(200) as (port, requests):
        probe = probed(port, requests)
    counts = probe.counts()
    assert counts.probes >= 1
    assert counts.failed == 0
    assert 0 < counts.slowest < TIMEOUT
    assert probe.counts().slowest == 0.0, "since the last call"
    times = probe.milliseconds()
    assert 0 <= times["median"] <= times["greatest"]


def test_another_status_is_a_failure() -> None:
    with server(500) as (port, requests):
        counts = probed(port, requests).counts()
    assert counts.failed == counts.probes >= 1


def test_a_body_is_returned_and_a_closed_port_has_none() -> None:
    with server(200) as (port, _):
        assert get(port, "/metrics") == "answer to /metrics"
    assert get(free_port(), "/metrics") is None


def test_the_timeout_is_that_of_the_deployment() -> None:
    deployment = one(resources(BASE), "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["livenessProbe"]["timeoutSeconds"] == TIMEOUT
