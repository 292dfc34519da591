"""Leader election on a Lease, as in client-go.

Clocks of machines are never compared. A standby counts from the last change of the lease that it has seen, the holder
from the request of its last granted renewal. The holder gives up before a standby may take over (renew_deadline <
lease_duration): there are never two leaders.
"""

from __future__ import annotations

import asyncio
import logging
import random
from typing import TYPE_CHECKING, Any, Final

from kubewasp.apiserver.api_resources import LEASES
from kubewasp.apiserver.errors import ApiError
from kubewasp.clock import SYSTEM_CLOCK, AsyncClock
from kubewasp.k8s.codec import decode, encode, unwrap_unknown, wrap_unknown
from kubewasp.k8s.errors import WireError
from kubewasp.k8s.timestamps import in_microseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kubewasp.apiserver.client import ApiClient

_JITTER: Final = 1.2
_LONG_AGO: Final = float("-inf")

logger = logging.getLogger(__name__)


class LeaderElection:
    """Candidate for leadership. `run` ends when leadership is lost, or when it is cancelled.

    `is_leader` may be read on any thread; it becomes False at the renew deadline even if the event loop hangs.
    `on_started` and `on_stopped` are called in the event loop. `annotations` are written with each renewal; those of
    another holder are passed to `on_followed` when they have changed.
    """

    def __init__(
        self,
        client: ApiClient,
        namespace: str,
        name: str,
        identity: str,
        *,
        lease_duration: float = 15.0,
        renew_deadline: float = 10.0,
        retry_period: float = 2.0,
        on_started: Callable[[], None],
        on_stopped: Callable[[], None],
        annotations: Callable[[], Mapping[str, str]] = dict,
        on_followed: Callable[[Mapping[str, str]], None] = lambda _annotations: None,
        clock: AsyncClock = SYSTEM_CLOCK,
    ) -> None:
        if not lease_duration > renew_deadline > retry_period * _JITTER > 0:
            raise ValueError("lease duration, renew deadline and 1.2 retry periods must each be longer than the next")
        self._client = client
        self._identity = identity
        self._duration = lease_duration
        self._deadline = renew_deadline
        self._period = retry_period
        self._on_started = on_started
        self._on_stopped = on_stopped
        self._annotations = annotations
        self._on_followed = on_followed
        self._clock = clock
        self._namespace = namespace
        self._name = name
        self._path = LEASES.path_of(namespace, name)
        self._lease: dict[str, Any] = {}  # as last seen
        self._spec_seen_at = _LONG_AGO
        self._leads_until = _LONG_AGO

    @property
    def is_leader(self) -> bool:
        return self._clock.now() < self._leads_until

    @property
    def holder(self) -> str:
        """Last seen holder of the lease; empty if it is free."""
        return str(self._spec.get("holderIdentity") or "")

    async def run(self) -> None:
        """Waits for leadership, keeps it, and returns once it is lost. May be called again."""
        await self._acquire()
        logger.info("Became leader", extra={"lease": self._described, "identity": self._identity})
        try:
            self._on_started()
            await self._renew()
            logger.error("Leadership lost", extra={"lease": self._described, "identity": self._identity})
        finally:
            was_held, self._leads_until = self.is_leader, _LONG_AGO
            self._on_stopped()
            if was_held:
                await self._release()

    async def _acquire(self) -> None:
        while not await self._try(self._deadline):
            await self._clock.sleep(self._period * (1 + _JITTER * random.random()))  # noqa: S311 no secret

    async def _renew(self) -> None:
        while True:
            left = self._leads_until - self._clock.now()
            if left <= 0:
                return
            await self._clock.sleep(min(self._period, left))
            left = self._leads_until - self._clock.now()
            if left <= 0 or (not await self._try(left) and not self._is_ours):
                return

    async def _try(self, seconds: float) -> bool:
        """Takes or renews the lease; False if another candidate holds it or the request failed."""
        asked_at = self._clock.now()
        try:
            async with asyncio.timeout(seconds):
                granted = await self._take()
        except (ApiError, WireError, TimeoutError) as error:
            logger.warning("Cannot get or renew the lease", extra={"lease": self._described, "err": str(error)})
            return False
        if granted:
            self._leads_until = asked_at + self._deadline
        return granted

    async def _take(self) -> bool:
        if self._is_ours and self.is_leader:
            # The lease is most likely unchanged: one request instead of two.
            try:
                await self._write("PUT", self._path, self._renewed())
            except ApiError as error:
                if error.status != 409:
                    raise
            else:
                return True
        try:
            self._see(await self._request("GET", self._path))
        except ApiError as error:
            if error.status != 404:
                raise
            metadata = {"name": self._name, "namespace": self._namespace}
            lease = self._annotated({"metadata": metadata, "spec": self._claim(0)})
            await self._write("POST", LEASES.path_in(self._namespace), lease)
            return True
        if self.holder and not self._is_ours and not self._has_expired():
            return False
        await self._write("PUT", self._path, self._renewed())
        return True

    async def _release(self) -> None:
        """Frees the lease: a standby takes over at once instead of after the lease duration."""
        now = in_microseconds(int(self._clock.wall() * 1_000_000))
        free = {"holderIdentity": "", "leaseDurationSeconds": 1, "acquireTime": now, "renewTime": now}
        try:
            async with asyncio.timeout(self._deadline):
                self._see(await self._request("GET", self._path))  # a renewal may have been in flight
                if self._is_ours:
                    await self._write("PUT", self._path, {**self._lease, "spec": {**self._spec, **free}})
        except (ApiError, WireError, TimeoutError) as error:
            logger.warning("Cannot release the lease", extra={"lease": self._described, "err": str(error)})

    @property
    def _described(self) -> str:
        return f"{self._namespace}/{self._name}"

    @property
    def _spec(self) -> dict[str, Any]:
        return self._lease.get("spec") or {}

    @property
    def _notes(self) -> dict[str, str]:
        return (self._lease.get("metadata") or {}).get("annotations") or {}

    @property
    def _is_ours(self) -> bool:
        return self.holder == self._identity

    def _has_expired(self) -> bool:
        return self._clock.now() > self._spec_seen_at + (self._spec.get("leaseDurationSeconds") or 0)

    def _renewed(self) -> dict[str, Any]:
        """The lease with our claim. Its resourceVersion makes the server refuse a lost race."""
        transitions = self._spec.get("leaseTransitions") or 0
        if not self._is_ours:
            return self._annotated({**self._lease, "spec": {**self._spec, **self._claim(transitions + 1)}})
        kept = {key: self._spec[key] for key in ("acquireTime",) if key in self._spec}
        return self._annotated({**self._lease, "spec": {**self._spec, **self._claim(transitions), **kept}})

    def _annotated(self, lease: dict[str, Any]) -> dict[str, Any]:
        """The lease with our annotations; others stay."""
        metadata = lease.get("metadata") or {}
        annotations = {**(metadata.get("annotations") or {}), **self._annotations()}
        return {**lease, "metadata": {**metadata, "annotations": annotations}} if annotations else lease

    def _claim(self, transitions: int) -> dict[str, Any]:
        now = in_microseconds(int(self._clock.wall() * 1_000_000))
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": max(1, round(self._duration)),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": transitions,
        }

    async def _write(self, method: str, path: str, lease: dict[str, Any]) -> None:
        body = wrap_unknown(LEASES.api_version, LEASES.kind, encode(LEASES.kind, lease))
        self._see(await self._request(method, path, body))

    async def _request(self, method: str, path: str, body: bytes = b"") -> dict[str, Any]:
        # One short try: the retry period brings the next one, which must fit before the deadline.
        answer = await self._client.request(method, path, body=body, timeout=self._deadline / 2, tries=1)
        _, kind, raw = unwrap_unknown(answer)
        if kind != LEASES.kind:
            raise WireError(f"expected a Lease, found {kind}")
        return decode(LEASES.kind, raw)

    def _see(self, lease: dict[str, Any]) -> None:
        if lease.get("spec") != self._lease.get("spec"):
            self._spec_seen_at = self._clock.now()
        holder, before, self._lease = self.holder, self._notes, lease
        if self.holder not in {holder, "", self._identity}:
            logger.info("New leader elected", extra={"lease": self._described, "identity": self.holder})
        if not self._is_ours:
            self._leads_until = _LONG_AGO
            if self._notes != before:
                self._on_followed(self._notes)
