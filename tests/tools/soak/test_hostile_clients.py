"""Hostile clients against a server that counts what arrives."""

import asyncio
from collections import Counter

import pytest

from tools.soak.hostile_clients import ATTACKS, NAMES, HostileClients, client


class Listener:
    """Closes a connection after some bytes."""

    def __init__(self, enough: int) -> None:
        self.connections = 0
        self._enough = enough

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self._enough:
            await reader.read(self._enough)
        writer.transport.abort()


async def attacked(enough: int) -> tuple[Counter[str], int]:
    """Attacks until each kind was tried twice."""
    listener, counts = Listener(enough), Counter[str]()
    server = await asyncio.start_server(listener.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    # Two of each: a silent client waits for this server as long as this server for it.
    tasks = [asyncio.create_task(client(port, attack, 0.0, counts)) for attack in ATTACKS for _ in range(2)]
    async with asyncio.timeout(60):
        while any(counts[name] < 2 for name in NAMES):
            await asyncio.sleep(0)
    assert [task for task in tasks if task.done()] == [], "a client gives up"
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    server.close()
    await server.wait_closed()
    return counts, listener.connections


@pytest.mark.parametrize("enough", [0, 64], ids=["at once", "after some bytes"])
def test_every_kind_attacks_and_none_gives_up(enough: int) -> None:
    counts, connections = asyncio.run(attacked(enough))
    assert set(counts) == set(NAMES)
    assert connections > 0


def test_the_process_ends_with_its_input_and_tells_its_counts() -> None:
    async def run() -> dict[str, int]:
        is_attacked = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if await reader.read(1):
                is_attacked.set()
            writer.transport.abort()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        with HostileClients(server.sockets[0].getsockname()[1]) as clients:
            async with asyncio.timeout(60):
                await is_attacked.wait()
            await asyncio.to_thread(clients.stop)
        server.close()
        await server.wait_closed()
        return clients.counts

    counts = asyncio.run(run())
    assert set(counts) <= set(NAMES)
    assert sum(counts.values()) > 0
