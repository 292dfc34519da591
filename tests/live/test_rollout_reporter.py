"""Rollout reporter: events about the scheduler itself, and versions in the annotations of a lease."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubewasp.apiserver.event_series import Reference
from kubewasp.live.rollout_reporter import (
    BAD,
    IN_USE,
    REFERENCES,
    RolloutReporter,
    leader_versions,
    lease_annotations,
    lease_reference,
)
from kubewasp.rollout import rollout_events as events
from kubewasp.rollout.process_version import LeaderVersions
from kubewasp.rollout.rollout_events import RolloutEvent


class Recorder:
    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def own_event(self, *event: Any) -> None:
        self.events.append(event)


def test_events_are_about_the_pod_or_the_lease() -> None:
    recorder: Any = Recorder()
    lease = lease_reference("kube-system", "kubewasp")
    RolloutReporter(recorder, lease).happened(RolloutEvent(events.ROLLED_BACK, "3 errors", "policy", "sha256:1"))
    RolloutReporter(recorder, Reference("Pod", "a", "b", "c")).happened(RolloutEvent(events.RELOADED, "reloaded"))
    RolloutReporter(recorder, None).happened(RolloutEvent(events.RELOADED, "nowhere"))
    assert recorder.events == [
        ("Warning", "RolledBack", "Reloading", lease, "3 errors"),
        ("Normal", "Reloaded", "Reloading", Reference("Pod", "a", "b", "c"), "reloaded"),
    ]
    assert lease.manifest() == {
        "kind": "Lease", "namespace": "kube-system", "name": "kubewasp", "apiVersion": "coordination.k8s.io/v1",
    }  # fmt: skip


names = st.text(min_size=1, max_size=5)


@given(
    st.dictionaries(names, names, min_size=1, max_size=3),
    st.dictionaries(names, names, max_size=3),
    st.dictionaries(names, st.lists(names, max_size=3), max_size=3),
)
def test_a_standby_reads_what_the_leader_wrote(
    digests: dict[str, str], references: dict[str, str], bad: dict[str, list[str]]
) -> None:
    written = lease_annotations(LeaderVersions(digests, references, bad))
    assert leader_versions(written) == LeaderVersions(digests, references, bad)


def test_without_wasm_plugins_a_lease_has_no_annotations() -> None:
    assert lease_annotations(LeaderVersions({}, {}, {})) == {}


@given(st.dictionaries(st.sampled_from([IN_USE, REFERENCES, BAD, "other"]), st.text(max_size=20) | st.just('{"a": 1}')))
def test_annotations_may_be_anything(annotations: dict[str, str]) -> None:
    found = leader_versions(annotations)
    assert all(isinstance(value, str) for value in found.digests.values())


def test_bad_versions_are_bounded() -> None:
    written = lease_annotations(LeaderVersions({"p": "1"}, {}, {"p": [str(number) for number in range(20)]}))
    assert leader_versions(written).bad == {"p": ["15", "16", "17", "18", "19"]}
