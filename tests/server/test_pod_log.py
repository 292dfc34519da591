"""Log line per pod."""

import logging
from typing import Any

import pytest

from kubewasp.framework.messages import NO_NODES
from kubewasp.scheduler.attempt import Attempt
from kubewasp.server.logs import KlogFormatter, verbosity
from kubewasp.server.pod_log import PodLog
from tests.plugins.building import make_pod


def told(caplog: pytest.LogCaptureFixture, **attempt: Any) -> list[str]:
    PodLog().attempted(Attempt(make_pod("web"), **attempt))
    return [KlogFormatter().format(record).partition("] ")[2] for record in caplog.records]


@pytest.mark.parametrize(
    ("attempt", "line"),
    [
        ({"node": "n1"}, '"Successfully bound pod to node" pod="default/web" node="n1"'),
        (
            {"message": "0/1 nodes are available: 1 Insufficient cpu."},
            '"Unable to schedule pod; no fit; waiting" pod="default/web" '
            'err="0/1 nodes are available: 1 Insufficient cpu."',
        ),
        (
            {"message": NO_NODES},
            '"Unable to schedule pod; no nodes are registered to the cluster; waiting" pod="default/web"',
        ),
        ({"message": "lost", "is_error": True}, '"Error scheduling pod; retrying" pod="default/web" err="lost"'),
    ],
)
def test_a_line_has_the_words_of_kube_scheduler(
    caplog: pytest.LogCaptureFixture, attempt: dict[str, Any], line: str
) -> None:
    caplog.set_level(verbosity(2), "kubewasp")
    assert told(caplog, **attempt) == [line]


@pytest.mark.parametrize("under_way", ["is_waiting", "is_binding"])
def test_what_is_under_way_is_told_later(caplog: pytest.LogCaptureFixture, under_way: str) -> None:
    caplog.set_level(verbosity(2), "kubewasp")
    assert told(caplog, node="n1", **{under_way: True}) == []


def test_only_errors_are_told_by_default(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kubewasp")
    assert told(caplog, node="n1") == []
    assert told(caplog, message="no") == []
    assert len(told(caplog, message="lost", is_error=True)) == 1
