"""Errors of plugins by cause."""

import pytest

from kubewasp.scheduler.attempt import Attempt
from kubewasp.simulation.error_log import ErrorLog
from kubewasp.state.node_table import NodeTable
from tests.plugins.building import make_node, make_pod


def log_of(*messages: tuple[str, str]) -> ErrorLog:
    """A log of failed attempts: pods with their messages."""
    table = NodeTable()
    for name in ("node-1", "node-2"):
        table.put_node(make_node(name))
    log = ErrorLog(table)
    for name, message in messages:
        log.attempted(Attempt(make_pod(name), message=message, is_error=True))
    return log


def test_attempts_with_one_text_have_one_cause() -> None:
    [first, second] = log_of(("a", "boom"), ("b", "crash"), ("c", "crash"), ("c", "crash")).causes()
    assert (first.message, first.pods, first.attempts) == ("crash", ("default/b", "default/c"), 3)
    assert (second.message, second.pods, second.attempts) == ("boom", ("default/a",), 1)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('KeyError: "a"', 'KeyError: "b"'),
        ("no team for default/a on node-1.", "no team for default/b on node-2."),
        (
            'wasm: filter error: printed 1\npanic: no label\nwasm trap: x (plugin "p")\nwasm stack trace:\n\tf @ 0x1',
            'wasm: filter error: printed 2\npanic: no label\nwasm trap: x (plugin "p")\nwasm stack trace:\n\tf @ 0x1',
        ),
        ("main.score({0xc0001, 0x3})\n\tmain.go:7 +0x2", "main.score({0xc0042, 0x5})\n\tmain.go:7 +0x2"),
    ],
)
def test_names_of_pods_and_nodes_and_addresses_do_not_make_a_cause(first: str, second: str) -> None:
    [cause] = log_of(("a", first), ("b", second)).causes()
    assert (cause.message, len(cause.pods)) == (first, 2)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("plugin.py, line 7", "plugin.py, line 9"),
        ("func[3] @ 0x31", "func[3] @ 0x35"),
        ("main.go:7 +0x2", "main.go:7 +0x9"),
        ("exit code 1", "exit code 2"),
    ],
)
def test_places_in_the_code_make_a_cause(first: str, second: str) -> None:
    assert len(log_of(("a", first), ("b", second)).causes()) == 2


def test_a_pod_that_is_placed_later_has_not_failed_but_its_error_stays() -> None:
    log = log_of(("a", "boom"), ("b", "boom"))
    log.attempted(Attempt(make_pod("a"), node="node-1"))
    assert log.failed == {"default/b"}
    assert log.causes()[0].pods == ("default/a", "default/b")
