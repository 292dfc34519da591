"""Fixtures of the comparison with kube-scheduler, and a summary at the end of the output."""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.e2e.parity.comparing import Tally
from tests.e2e.parity.schedulers import Schedulers, both
from tools.testbed.servers import Servers

_TALLY: Final = pytest.StashKey[Tally]()


@pytest.fixture(scope="session")
def tally(pytestconfig: pytest.Config) -> Tally:
    return pytestconfig.stash.setdefault(_TALLY, Tally())


@pytest.fixture(scope="package")
def all_schedulers(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Schedulers]:
    servers.ensure_running()
    with both(servers, tmp_path_factory.mktemp) as found:
        yield found


@pytest.fixture
def schedulers(all_schedulers: Schedulers) -> Iterator[Schedulers]:
    """With a cluster that is empty, before and after the test."""
    all_schedulers.world.clear()
    yield all_schedulers
    all_schedulers.world.clear()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    counted = config.stash.get(_TALLY, None)
    if counted:
        terminalreporter.section("compared with kube-scheduler")
        for line in counted.lines():
            terminalreporter.write_line(line)
