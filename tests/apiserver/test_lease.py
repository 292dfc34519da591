"""Leader election: one leader at a time, and a quick takeover."""

import asyncio
from typing import Any

import pytest

from kubewasp.apiserver.lease import LeaderElection
from kubewasp.k8s.codec import decode, unwrap_unknown
from tests.apiserver.fake_server import Answer, Drop, FakeServer, Request, Silence, object_answer, status_answer
from tests.apiserver.running import ManualClock, asynchronous, client_of, stop

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
LEASE = f"{LEASES}/kubewasp"


class LeaseServer(FakeServer):
    """Store of one lease, with optimistic concurrency; a set `failure` replaces its responses."""

    def __init__(self) -> None:
        super().__init__()
        self.lease: dict[str, Any] | None = None
        self.annotations: dict[str, str] = {}
        self.failure: Answer | Silence | Drop | None = None
        self.always("GET", LEASE, self._get)
        self.always("PUT", LEASE, self._put)
        self.always("POST", LEASES, self._post)

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        return dict(self.lease["spec"])

    def edit(self, **spec: Any) -> None:
        """Edit by another client."""
        version = int(self.lease["metadata"]["resourceVersion"]) + 1 if self.lease else 1
        metadata: dict[str, Any] = {"name": "kubewasp", "namespace": "kube-system", "resourceVersion": str(version)}
        if self.annotations:
            metadata["annotations"] = dict(self.annotations)
        self.lease = {"metadata": metadata, "spec": {**(self.lease or {}).get("spec", {}), **spec}}

    def _get(self, _: Request) -> Answer | Silence | Drop:
        if self.failure is not None:
            return self.failure
        if self.lease is None:
            return status_answer(404, "NotFound", name="kubewasp")
        return object_answer("Lease", self.lease, "coordination.k8s.io/v1")

    def _put(self, request: Request) -> Answer | Silence | Drop:
        if self.failure is not None:
            return self.failure
        sent = _lease(request)
        if self.lease is None or sent["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            return status_answer(409, "Conflict", name="kubewasp")
        self.lease = {**self.lease, "spec": {}}
        self.annotations = sent["metadata"].get("annotations") or {}
        self.edit(**sent["spec"])
        return self._get(request)

    def _post(self, request: Request) -> Answer | Silence | Drop:
        if self.failure is not None:
            return self.failure
        if self.lease is not None:
            return status_answer(409, "AlreadyExists", name="kubewasp")
        sent = _lease(request)
        self.annotations = sent["metadata"].get("annotations") or {}
        self.edit(**sent["spec"])
        return self._get(request)


def _lease(request: Request) -> dict[str, Any]:
    api_version, kind, raw = unwrap_unknown(request.body)
    assert (api_version, kind) == ("coordination.k8s.io/v1", "Lease")
    return decode("Lease", raw)


class Candidate:
    def __init__(
        self, server: FakeServer, clock: ManualClock, identity: str, annotations: dict[str, str] | None = None
    ) -> None:
        self.log: list[str] = []
        self.annotations = annotations or {}
        self.followed: list[dict[str, str]] = []
        self.client = client_of(server)
        self.election = LeaderElection(
            self.client,
            "kube-system",
            "kubewasp",
            identity,
            on_started=lambda: self.log.append("started"),
            on_stopped=lambda: self.log.append(f"stopped, leads={self.election.is_leader}"),
            annotations=lambda: self.annotations,
            on_followed=lambda found: self.followed.append(dict(found)),
            clock=clock,
        )
        self.task = asyncio.create_task(self.election.run())

    async def stop(self) -> None:
        await stop(self.task)
        await self.client.close()


@asynchronous
async def test_the_first_one_creates_the_lease_and_leads() -> None:
    clock = ManualClock()
    async with LeaseServer() as server:
        one = Candidate(server, clock, "one")
        await clock.asleep(1)
        assert one.election.is_leader
        assert one.log == ["started"]
        assert (server.spec["holderIdentity"], server.spec["leaseDurationSeconds"]) == ("one", 15)
        assert server.spec["renewTime"] == "1970-01-01T00:16:40.000000Z"
        await one.stop()


@asynchronous
async def test_the_leader_renews_with_one_request_and_keeps_the_time_it_began() -> None:
    clock = ManualClock()
    async with LeaseServer() as server:
        one = Candidate(server, clock, "one")
        await clock.asleep(1)
        requests = len(server.requests)
        for _ in range(10):
            await clock.advance(2, then_asleep=1)
        assert one.election.is_leader
        assert len(server.requests) == requests + 10
        assert server.spec["acquireTime"] == "1970-01-01T00:16:40.000000Z"
        assert server.spec["renewTime"] == "1970-01-01T00:17:00.000000Z"
        assert "leaseTransitions" not in server.spec or server.spec["leaseTransitions"] == 0
        await one.stop()


@asynchronous
async def test_a_standby_takes_over_when_the_lease_has_not_changed_for_its_duration() -> None:
    clock = ManualClock()
    async with LeaseServer() as server:
        server.edit(holderIdentity="dead", leaseDurationSeconds=15, renewTime="1970-01-01T00:00:00.000000Z")
        two = Candidate(server, clock, "two")
        await clock.asleep(1)
        for _ in range(3):
            await clock.advance(5, then_asleep=1)
            assert not two.election.is_leader  # whatever the lease says of the time of day
            assert two.election.holder == "dead"
        await clock.advance(5, then_asleep=1)
        assert two.election.is_leader
        assert (server.spec["holderIdentity"], server.spec["leaseTransitions"]) == ("two", 1)
        await two.stop()


@asynchronous
async def test_a_lease_that_is_renewed_is_never_taken() -> None:
    clock = ManualClock()
    async with LeaseServer() as server:
        one = Candidate(server, clock, "one")
        await clock.asleep(1)
        two = Candidate(server, clock, "two")
        await clock.asleep(2)
        for _ in range(30):
            await clock.advance(2, then_asleep=2)
            assert one.election.is_leader
            assert not two.election.is_leader
        await two.stop()
        await one.stop()
        assert two.log == []


@asynchronous
async def test_a_released_lease_is_taken_at_the_next_try() -> None:
    clock = ManualClock()
    async with LeaseServer() as server:
        one = Candidate(server, clock, "one")
        await clock.asleep(1)
        two = Candidate(server, clock, "two")
        await clock.asleep(2)
        await one.stop()
        assert one.log == ["started", "stopped, leads=False"]
        assert (server.spec.get("holderIdentity", ""), server.spec["leaseDurationSeconds"]) == ("", 1)
        await clock.advance(4.4, then_asleep=1)
        assert two.election.is_leader
        assert server.spec["leaseTransitions"] == 1
        await two.stop()


@pytest.mark.parametrize("failure", [status_answer(500, "InternalError"), Drop()])
def test_a_leader_that_cannot_renew_steps_down_at_the_deadline_not_later(failure: Answer | Drop) -> None:
    @asynchronous
    async def run() -> None:
        clock = ManualClock()
        async with LeaseServer() as server:
            one = Candidate(server, clock, "one")
            await clock.asleep(1)
            server.failure = failure
            for _ in range(4):
                await clock.advance(2, then_asleep=1)
                assert one.election.is_leader
            clock.time += 1.99
            assert one.election.is_leader
            clock.time += 0.02
            assert not one.election.is_leader  # though nothing has run since
            await clock.advance(0, then_asleep=0)
            await one.task
            assert one.log == ["started", "stopped, leads=False"]
            await one.client.close()

    run()


@asynchronous
async def test_each_try_is_one_request_so_that_the_deadline_leaves_room_for_the_next() -> None:
    clock = ManualClock()
    async with LeaseServer() as server:
        server.failure = status_answer(500, "InternalError")
        one = Candidate(server, clock, "one")
        for count in (1, 2, 3):
            await clock.asleep(1)
            assert len(server.requests) == count
            await clock.advance(5, then_asleep=1)
        await one.stop()


@asynchronous
async def test_a_server_that_recovers_in_time_leaves_the_leader_in_place() -> None:
    clock = ManualClock()
    async with LeaseServer() as server:
        one = Candidate(server, clock, "one")
        await clock.asleep(1)
        server.failure = status_answer(503, "ServiceUnavailable")
        for _ in range(3):
            await clock.advance(2, then_asleep=1)
        server.failure = None
        await clock.advance(2, then_asleep=1)
        clock.time += 9
        assert one.election.is_leader
        assert one.log == ["started"]
        await one.stop()


@asynchronous
async def test_a_stalled_loop_does_not_keep_leadership() -> None:
    clock = ManualClock()
    async with LeaseServer() as server:
        one = Candidate(server, clock, "one")
        await clock.asleep(1)
        clock.time += 60  # a long garbage collection, or a suspended machine
        assert not one.election.is_leader
        server.edit(holderIdentity="two", leaseTransitions=1)
        await clock.advance(0, then_asleep=0)
        await one.task
        assert one.log == ["started", "stopped, leads=False"]
        assert server.spec["holderIdentity"] == "two"
        await one.client.close()


@asynchronous
async def test_a_leader_that_sees_another_one_stops_at_once_and_leaves_the_lease_alone() -> None:
    clock = ManualClock()
    async with LeaseServer() as server:
        one = Candidate(server, clock, "one")
        await clock.asleep(1)
        server.edit(holderIdentity="two", leaseTransitions=1)
        await clock.advance(2, then_asleep=0)
        await one.task
        assert not one.election.is_leader
        assert one.log == ["started", "stopped, leads=False"]
        assert server.spec["holderIdentity"] == "two"
        await one.client.close()


@asynchronous
async def test_somebody_elses_edit_of_other_fields_costs_one_more_request_only() -> None:
    clock = ManualClock()
    async with LeaseServer() as server:
        one = Candidate(server, clock, "one")
        await clock.asleep(1)
        server.edit(strategy="OldestEmulationVersion")
        before = len(server.requests)
        await clock.advance(2, then_asleep=1)
        assert [request.method for request in server.requests[before:]] == ["PUT", "GET", "PUT"]
        assert one.election.is_leader
        assert server.spec["strategy"] == "OldestEmulationVersion"
        await one.stop()


@asynchronous
async def test_a_renewal_whose_answer_was_lost_is_recognised() -> None:
    clock = ManualClock()
    async with LeaseServer() as server:
        one = Candidate(server, clock, "one")
        await clock.asleep(1)

        def carried_out_but_not_answered(request: Request) -> Drop:
            server._put(request)
            return Drop()

        server.on("PUT", LEASE, carried_out_but_not_answered)
        await clock.advance(2, then_asleep=1)
        await clock.advance(2, then_asleep=1)
        assert one.election.is_leader
        assert one.log == ["started"]
        await one.stop()


@asynchronous
async def test_of_two_that_start_together_one_leads() -> None:
    clock = ManualClock()
    async with LeaseServer() as server:
        candidates = [Candidate(server, clock, name) for name in ("one", "two", "three")]
        await clock.asleep(3)
        assert sum(candidate.election.is_leader for candidate in candidates) == 1
        for candidate in candidates:
            await candidate.stop()


@asynchronous
async def test_leadership_can_be_sought_again_after_it_was_lost() -> None:
    clock = ManualClock()
    async with LeaseServer() as server:
        one = Candidate(server, clock, "one")
        await clock.asleep(1)
        server.edit(holderIdentity="two", leaseDurationSeconds=1)
        await clock.advance(2, then_asleep=0)
        await one.task
        one.task = asyncio.create_task(one.election.run())
        await clock.asleep(1)
        await clock.advance(5, then_asleep=1)
        assert one.election.is_leader
        assert one.log == ["started", "stopped, leads=False", "started"]
        await one.stop()


@asynchronous
async def test_stopping_while_the_server_is_away_does_not_hang_on_the_release() -> None:
    clock = ManualClock()
    async with LeaseServer() as server:
        one = Candidate(server, clock, "one")
        await clock.asleep(1)
        server.failure = Drop()
        await one.stop()
        assert one.log == ["started", "stopped, leads=False"]


@pytest.mark.parametrize("times", [(10, 10, 2), (15, 2, 2), (15, 10, 0)])
def test_times_that_allow_two_leaders_are_refused(times: tuple[float, float, float]) -> None:
    @asynchronous
    async def run() -> None:
        async with FakeServer() as server, client_of(server) as client:
            with pytest.raises(ValueError, match="must each be longer than the next"):
                LeaderElection(
                    client,
                    "ns",
                    "name",
                    "me",
                    lease_duration=times[0],
                    renew_deadline=times[1],
                    retry_period=times[2],
                    on_started=lambda: None,
                    on_stopped=lambda: None,
                )

    run()


@asynchronous
async def test_the_holder_annotates_the_lease_and_a_standby_follows() -> None:
    clock = ManualClock()
    async with LeaseServer() as server:
        one = Candidate(server, clock, "one", {"digest": "1"})
        await clock.asleep(1)
        assert server.annotations == {"digest": "1"}
        two = Candidate(server, clock, "two", {"digest": "its own"})
        await clock.asleep(2)
        assert two.followed == [{"digest": "1"}]
        server.annotations["other"] = "of somebody else"
        server.edit()
        one.annotations = {"digest": "2"}
        for _ in range(3):
            await clock.advance(5, then_asleep=2)
        assert server.annotations == {"digest": "2", "other": "of somebody else"}
        assert two.followed[-1] == server.annotations
        assert one.followed == []  # of a lease that is its own
        await one.stop()
        await two.stop()


@asynchronous
async def test_a_free_lease_is_followed_before_it_is_taken() -> None:
    clock = ManualClock()
    async with LeaseServer() as server:
        server.annotations = {"digest": "of the last holder"}
        server.edit(holderIdentity="", leaseDurationSeconds=1)
        one = Candidate(server, clock, "one", {"digest": "its own"})
        await clock.asleep(1)
        assert one.log == ["started"]
        assert one.followed == [{"digest": "of the last holder"}]
        assert server.annotations == {"digest": "its own"}
        await one.stop()
