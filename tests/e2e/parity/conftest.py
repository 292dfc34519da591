"""Fixtures of the comparison with kube-scheduler, and a summary at the end of the output."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import pytest

from tests.e2e.parity.comparing import Tally
from tests.e2e.parity.schedulers import Schedulers, both
from tests.e2e.summary import COUNTS
from tools.testbed.servers import Servers

_TITLE: Final = "compared with kube-scheduler"


@pytest.fixture(scope="session")
def tally(pytestconfig: pytest.Config) -> Tally:
    return pytestconfig.stash.setdefault(COUNTS, {}).setdefault(_TITLE, Counter())


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
