"""ASGI app of the extender: the verbs with their limits and errors, beside health and metrics."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from kubewasp.clock import SYSTEM_CLOCK
from kubewasp.extender import protocol
from kubewasp.extender.decider import PluginFailure
from kubewasp.extender.protocol import VERBS, ProtocolError
from kubewasp.server.limited_log import LimitedLog

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

    from kubewasp.server.metrics import Metrics

logger = logging.getLogger(__name__)
JSON: Final = "application/json"
MAX_BODY: Final = 128 * 1024 * 1024
# kube-scheduler schedules one pod at a time, with a few concurrent requests at most.
_MAX_CONCURRENT: Final = 64
_BODY_TIMEOUT_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Gate:
    """Checks before every verb. `problem` returns the reason for refusing all requests, empty if there is none."""

    problem: Callable[[], str] = lambda: ""
    max_body: int = MAX_BODY

    @property
    def max_total(self) -> int:
        """Bytes of the bodies of all requests in progress."""
        return 2 * self.max_body


class ExtenderMetrics:
    """Metrics of requests by verb. Updated on the event loop only."""

    def __init__(self, metrics: Metrics) -> None:
        self.requests = metrics.counter("kubewasp_extender_requests_total")
        self.seconds = metrics.histogram("kubewasp_extender_request_duration_seconds")


class Refusal(Exception):  # noqa: N818 - an answer, not an error
    """A refused request: HTTP status and reason."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def create_app(
    answers: Mapping[str, Callable[[bytes], Awaitable[bytes]]],
    operations: ASGIApp,
    metrics: ExtenderMetrics,
    gate: Gate,
) -> Starlette:
    """ASGI app with `answers` by verb and `operations` for all other paths. Responses are not compressed."""
    under_way = _UnderWay(LimitedLog(logger, SYSTEM_CLOCK))
    routes = [Route(f"/{verb}", _Verb(verb, answers.get(verb), metrics, gate, under_way)) for verb in VERBS]
    return Starlette(routes=[*routes, Mount("/", operations)])


@dataclass(slots=True)
class _UnderWay:
    """Requests of all verbs in progress."""

    log: LimitedLog
    count: int = 0
    bytes: int = 0


class _Verb:
    """ASGI app of one verb, for all methods; others than POST get status 405."""

    def __init__(
        self,
        verb: str,
        answer: Callable[[bytes], Awaitable[bytes]] | None,
        metrics: ExtenderMetrics,
        gate: Gate,
        under_way: _UnderWay,
    ) -> None:
        self._verb = verb
        self._answer = answer
        self._metrics = metrics
        self._gate = gate
        self._under_way = under_way

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        self._under_way.count += 1
        body = _Body(self._gate, self._under_way)
        try:
            status, content = await self._answered(Request(scope, receive), body)
        except ClientDisconnect:
            return
        finally:
            body.release()
            self._under_way.count -= 1
        self._metrics.requests[self._verb, str(status)] += 1
        self._metrics.seconds[(self._verb,)].add(time.perf_counter() - began)
        headers = {"Allow": "POST"} if status == 405 else None
        await Response(content, status, headers, JSON)(scope, receive, send)

    async def _answered(self, request: Request, body: _Body) -> tuple[int, bytes]:
        try:
            answer = self._checked(request)
            return 200, await _unless_gone(answer(await body.read(request)), request.receive)
        except Refusal as refusal:
            status, text = refusal.status, str(refusal)
        except ProtocolError as error:
            status, text = 400, str(error)
        except PluginFailure as failure:
            status, text = 500, str(failure)
        except ClientDisconnect:
            raise
        except Exception:
            logger.exception("Verb failed", extra={"verb": self._verb})
            status, text = 500, "internal error, see the log of kubewasp extender"
        self._under_way.log.event("Request refused", (self._verb, status), verb=self._verb, code=status, err=text)
        return status, protocol.failure(text)

    def _checked(self, request: Request) -> Callable[[bytes], Awaitable[bytes]]:
        if request.method != "POST":
            raise Refusal(405, f"{request.method} is not allowed: /{self._verb} expects POST")
        if self._answer is None:
            raise Refusal(404, _missing(self._verb))
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != JSON:  # also against CSRF: browsers do not send it across sites without a preflight
            raise Refusal(415, f"Content-Type: expected {JSON}, got {kind or 'none'}")
        if self._under_way.count > _MAX_CONCURRENT:
            raise Refusal(503, f"more than {_MAX_CONCURRENT} concurrent requests")
        problem = self._gate.problem()
        if problem:
            raise Refusal(503, problem)
        return self._answer


class _Body:
    """Body of one request; its bytes count from their arrival until `release`."""

    def __init__(self, gate: Gate, under_way: _UnderWay) -> None:
        self._gate = gate
        self._under_way = under_way
        self._size = 0

    def release(self) -> None:
        self._under_way.bytes -= self._size
        self._size = 0

    async def read(self, request: Request) -> bytes:
        limit = self._gate.max_body
        too_large = Refusal(413, f"the body has more than {limit:,} bytes: see --max-body")
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length) > limit:
            raise too_large
        parts = []
        try:
            async with asyncio.timeout(_BODY_TIMEOUT_SECONDS):
                async for part in request.stream():
                    parts.append(part)
                    self._size += len(part)
                    self._under_way.bytes += len(part)
                    if self._size > limit:
                        raise too_large
                    if self._under_way.bytes > self._gate.max_total:
                        raise Refusal(503, f"all bodies in progress have more than {self._gate.max_total:,} bytes")
        except TimeoutError:
            raise Refusal(408, f"the body did not arrive within {_BODY_TIMEOUT_SECONDS:g} s") from None
        return b"".join(parts)


async def _unless_gone(answer: Awaitable[bytes], receive: Receive) -> bytes:
    """The answer; cancelled when the client disconnects, so that its request does not delay others."""
    answering, leaving = asyncio.ensure_future(answer), asyncio.ensure_future(receive())
    try:
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            answering.cancel()
            await asyncio.wait((answering,))
            raise ClientDisconnect
        return answering.result()
    finally:
        leaving.cancel()


def _missing(verb: str) -> str:
    if verb == "bind":
        return "bind is disabled: start kubewasp extender with --kubeconfig and --bind, or leave bindVerb out"
    return f"the verb {verb} is not available"
