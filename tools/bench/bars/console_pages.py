"""Open pages of a console, in a process of their own: each follows the events and asks for its view after a change.

`python -m tools.bench.bars.console_pages PORT PAGES SECONDS` prints the seconds of all answers as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Final

import httpx

# What a page of each kind asks for.
VIEWS: Final = (("/overview",), ("/pending", "/queue"), ("/map", "/overview"), ("/queue?part=active",), ("/plugins",))


async def _page(client: httpx.AsyncClient, views: tuple[str, ...], until: float, found: dict[str, list[float]]) -> None:
    while time.monotonic() < until:
        async with client.stream("GET", "/api/v1/events") as stream:
            async for line in stream.aiter_lines():
                if time.monotonic() >= until:
                    return
                if line.startswith("data: "):
                    await _look(client, views, found)


async def _look(client: httpx.AsyncClient, views: tuple[str, ...], found: dict[str, list[float]]) -> None:
    for view in views:
        began = time.monotonic()
        answer = await client.get(f"/api/v1{view}")
        kind = "answers" if answer.status_code == 200 else str(answer.status_code)
        found.setdefault(kind, []).append(time.monotonic() - began)


async def _run(port: int, pages: int, seconds: float) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    until = time.monotonic() + seconds
    limits = httpx.Limits(max_connections=4 * pages)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60, limits=limits) as client:
        looking = [asyncio.create_task(_page(client, VIEWS[at % len(VIEWS)], until, found)) for at in range(pages)]
        await asyncio.wait(looking, timeout=seconds + 1)
        for task in looking:
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)
    return found


if __name__ == "__main__":
    port, pages, seconds = sys.argv[1:]
    sys.stdout.write(json.dumps(asyncio.run(_run(int(port), int(pages), float(seconds)))))
