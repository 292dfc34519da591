"""Bounds on connections, requests and bodies, without sockets."""

import resource
from collections.abc import Iterator

import pytest

from kubewasp.server.connection_table import HELD_PER_BODY, ConnectionTable, HttpLimits


class Client:
    def __init__(self, table: ConnectionTable) -> None:
        self.table = table
        self.dropped = ""
        self.seconds = 0.0
        self.admitted = table.admit(self)

    def drop(self, reason: str) -> None:
        self.dropped = reason
        self.table.removed(self)

    def check(self, elapsed: float) -> None:
        self.seconds += elapsed


def table(**limits: int) -> ConnectionTable:
    return ConnectionTable(HttpLimits(**{"requests": 4, "reserved": 2, **limits}), now=0.0)


def test_the_oldest_idle_connection_makes_room() -> None:
    found = table()
    clients = [Client(found) for _ in range(6)]
    assert found.begin(clients[0], is_reserved=False)
    assert Client(found).admitted
    assert [bool(client.dropped) for client in clients] == [False, True, False, False, False, False]
    assert len(found) == 6


def test_a_connection_is_as_old_as_its_last_response() -> None:
    found = table()
    clients = [Client(found) for _ in range(6)]
    found.begin(clients[0], is_reserved=False)
    found.end(clients[0])
    Client(found)
    assert not clients[0].dropped
    assert clients[1].dropped


def test_requests_leave_room_for_health() -> None:
    found = table()
    clients = [Client(found) for _ in range(6)]
    assert [found.begin(client, is_reserved=False) for client in clients] == [True] * 4 + [False] * 2
    probe = Client(found)
    assert probe.admitted
    assert found.begin(probe, is_reserved=True)


def test_health_does_not_use_up_the_requests_of_others() -> None:
    found = table()
    clients = [Client(found) for _ in range(6)]
    assert all(found.begin(client, is_reserved=True) for client in clients)
    assert not Client(found).admitted  # nothing is idle
    found.end(clients[0])
    assert found.begin(clients[0], is_reserved=False)


def test_ended_and_lost_requests_free_their_places() -> None:
    found = table()
    for _ in range(10):
        client = Client(found)
        assert found.begin(client, is_reserved=False)
        found.removed(client)
    for _ in range(10):
        client = Client(found)
        assert found.begin(client, is_reserved=False)
        found.end(client)
        found.removed(client)
    assert len(found) == 0


def test_bodies_share_one_budget() -> None:
    found = table(bodies=2 * HELD_PER_BODY)
    assert found.reserve_body(None) == HELD_PER_BODY
    assert found.reserve_body(1000) == 1000
    assert found.reserve_body(1 << 40) == 0
    found.bodies -= 1000
    assert found.reserve_body(1 << 40) == HELD_PER_BODY


def test_a_busy_event_loop_is_no_fault_of_the_clients() -> None:
    found = table()
    client = Client(found)
    found.check(1.0)
    assert client.seconds == 1.0
    found.check(600.0)
    assert client.seconds <= 3.0


@pytest.fixture
def few_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("few_files")
def test_two_servers_fit_into_the_open_files_of_the_process() -> None:
    limits = HttpLimits(requests=4096).within_open_files()
    assert 2 * (limits.requests + limits.reserved) < 1024 - 200
    assert HttpLimits(requests=10).within_open_files().requests == 10
