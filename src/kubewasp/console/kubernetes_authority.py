"""Authority of a Kubernetes cluster: TokenReview for the name, SubjectAccessReview for the rights.

To look is `get` of the non-resource URL `/console`, to act is `update` of it. Verdicts are kept for a short time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.apiserver.errors import ApiError
from kubewasp.console.authorities import AccessUnknownError, Grant, token_key
from kubewasp.errors import KubewaspError
from kubewasp.server.limited_log import LimitedLog

if TYPE_CHECKING:
    from kubewasp.apiserver.client import ApiClient
    from kubewasp.clock import Clock

logger = logging.getLogger(__name__)

PATH: Final = "/console"
_TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105 - a path
_ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_JSON: Final = "application/json"
_TIMEOUT: Final = 5.0
_KEPT: Final = 30.0  # seconds of a verdict
_KEPT_REFUSAL: Final = 5.0
_MOST_KEPT: Final = 1000
_MOST_WAITING: Final = 16
# Reviews per second, of tokens that were valid before and of others: a flood of wrong tokens delays only the others.
_RATE, _BURST = 5.0, 10


class KubernetesAuthority:
    """Reviews by the API server, for the event loop."""

    asks = True
    sign_in = "A bearer token of the cluster, such as `kubectl create token NAME` prints."

    def __init__(self, client: ApiClient, clock: Clock) -> None:
        self._clock = clock
        self._lanes = {known: _Lane(client.sibling(qps=_RATE, burst=_BURST)) for known in (False, True)}
        self._kept: OrderedDict[bytes, tuple[float, Grant | None]] = OrderedDict()
        self._under_way: dict[bytes, asyncio.Task[Grant | None]] = {}
        self._log = LimitedLog(logger, clock)

    async def grant(self, token: str) -> Grant | None:
        key = token_key(token)
        known = self._kept.get(key)
        if known is not None and self._clock.now() < known[0]:
            return known[1]
        task = self._under_way.get(key)
        if task is None:
            lane = self._lanes[known is not None and known[1] is not None]
            if lane.waiting >= _MOST_WAITING:
                raise AccessUnknownError("too many tokens to check: try again in a few seconds")
            lane.waiting += 1
            task = self._under_way[key] = asyncio.create_task(self._reviewed(key, token, lane))
            task.add_done_callback(lambda _: self._ended(key, lane))
        return await asyncio.shield(task)

    def _ended(self, key: bytes, lane: _Lane) -> None:
        lane.waiting -= 1
        del self._under_way[key]

    async def _reviewed(self, key: bytes, token: str, lane: _Lane) -> Grant | None:
        try:
            grant = await lane.review(token)
        except KubewaspError as error:
            is_forbidden = isinstance(error, ApiError) and error.status == 403
            advice = "; its role needs `create` of tokenreviews and subjectaccessreviews" if is_forbidden else ""
            self._log.event("Console access not reviewed", is_forbidden, err=f"{error}{advice}")
            raise AccessUnknownError("the API server cannot be asked about tokens: see the scheduler's log") from None
        self._kept[key] = self._clock.now() + (_KEPT if grant else _KEPT_REFUSAL), grant
        self._kept.move_to_end(key)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return grant


class _Lane:
    """Reviews with a rate limit of their own."""

    def __init__(self, client: ApiClient) -> None:
        self.waiting = 0
        self._client = client

    async def review(self, token: str) -> Grant | None:
        user = await self._user(token)
        if user is None:
            return None
        may_view, may_act = await asyncio.gather(self._may(user, "get"), self._may(user, "update"))
        return Grant(str(user.get("username", "")), may_view=may_view, may_act=may_view and may_act)

    async def _user(self, token: str) -> dict[str, Any] | None:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        status = await self._posted(_TOKEN_REVIEWS, review)
        user = status.get("user")
        return user if status.get("authenticated") is True and isinstance(user, dict) else None

    async def _may(self, user: dict[str, Any], verb: str) -> bool:
        spec = {
            "user": user.get("username", ""),
            "uid": user.get("uid", ""),
            "groups": user.get("groups") or [],
            "extra": user.get("extra") or {},
            "nonResourceAttributes": {"path": PATH, "verb": verb},
        }
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        status = await self._posted(_ACCESS_REVIEWS, review)
        return status.get("allowed") is True and status.get("denied") is not True

    async def _posted(self, path: str, review: dict[str, Any]) -> dict[str, Any]:
        body = orjson.dumps(review)
        answer = await self._client.request(
            "POST", path, body=body, content_type=_JSON, accept=_JSON, idempotent=True, timeout=_TIMEOUT, tries=2
        )
        try:
            status = orjson.loads(answer).get("status")
        except (orjson.JSONDecodeError, AttributeError):
            status = None
        return status if isinstance(status, dict) else {}
