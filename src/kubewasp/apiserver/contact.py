"""The first request to an API server: is it there, does it know us, is it new enough?

One clear line says what is wrong, before many lists fail for the same reason.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Final

import orjson

from kubewasp.apiserver.backoff import Backoff
from kubewasp.apiserver.errors import DISCONNECTED, INVALID_ANSWER, TIMED_OUT, UNREACHABLE, ApiError
from kubewasp.apiserver.request_info import request_info
from kubewasp.clock import SYSTEM_CLOCK, AsyncClock

if TYPE_CHECKING:
    from kubewasp.apiserver.client import ApiClient

# Since then it has all that is watched; csistoragecapacities of storage.k8s.io/v1 came last.
OLDEST_VERSION: Final = (1, 24)

_PATH: Final = "/version"
_TIMEOUT: Final = 10.0
_FIRST_DELAY, _MOST_DELAY = 1.0, 30.0
_MAY_PASS: Final = frozenset((UNREACHABLE, DISCONNECTED, TIMED_OUT))

logger = logging.getLogger(__name__)


class ServerTooOldError(Exception):
    """The API server has not all that is needed."""


async def first_contact(client: ApiClient, *, clock: AsyncClock = SYSTEM_CLOCK) -> None:
    """Returns when the server has answered. ApiError or ServerTooOldError if waiting does not help."""
    backoff = Backoff(_FIRST_DELAY, _MOST_DELAY)
    while True:
        server = (await client.credentials.fresh()).server
        try:
            body = await client.request("GET", _PATH, accept="application/json", timeout=_TIMEOUT, tries=1)
        except ApiError as error:
            if error.status == 403:
                return  # this one path is not allowed; what matters may be
            if not _may_pass(error, may_change=client.credentials.may_change):
                raise
            delay = max(backoff.next(), error.retry_after or 0.0)
            told = {"err": str(error), "retry": round(delay, 1)}
            logger.warning("No contact with the API server yet", extra=told)
        else:
            _check(server, body)
            return
        await clock.sleep(delay)


def _may_pass(error: ApiError, *, may_change: bool) -> bool:
    if error.status == 401:
        return may_change
    if error.status == 0:
        return error.reason in _MAY_PASS
    return error.status == 429 or error.status >= 500


def _check(server: str, body: bytes) -> None:
    try:
        found = orjson.loads(body)
        version = str(found["gitVersion"])
        numbers = int(found["major"]), int(re.match(r"\d+", found["minor"])[0])  # type: ignore[index] # TypeError below
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        message = f"not an answer of a Kubernetes API server: is {server} its address?"
        raise ApiError(request_info("GET", _PATH), 0, INVALID_ANSWER, message) from None
    if numbers < OLDEST_VERSION:
        oldest = ".".join(map(str, OLDEST_VERSION))
        raise ServerTooOldError(
            f"{server} is Kubernetes {version}: its version is too old; kubewasp needs {oldest} or newer"
        )
    logger.info("The API server answers", extra={"server": server, "version": version})
