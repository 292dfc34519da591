"""Equal results of all forms of a policy, before and after changes of nodes."""

import numpy as np
import pytest

from kubewasp.k8s import sample_cluster
from kubewasp.k8s.codec import encode
from kubewasp.k8s.pods import PodParser
from tools.bench import agreement, guests
from tools.bench.agreement import loaded, story
from tools.bench.forms.catalogue import COMPONENTS, FORMS, GUESTS
from tools.bench.forms.form import FormError, TableForm, told
from tools.bench.forms.guest import GuestForm, Wat
from tools.bench.guests import Unavailable
from tools.bench.policies.clusters import Cluster
from tools.bench.policies.policy_list import NEEDS_REQUESTED, POINTS, POLICIES

# TinyGo has to be installed by hand: tests/tools/bench/test_guests.py.
IN_TABLES = [
    name for name, kind in FORMS.items() if issubclass(kind, TableForm) and name not in ("builtin", guests.TINYGO)
]
# A component takes half a minute to build and to compile.
HERE = [(name, policy) for name in IN_TABLES for policy in POLICIES if name not in COMPONENTS or policy == "nodenumber"]


@pytest.mark.parametrize(("name", "policy"), HERE)
def test_all_forms_in_the_process_say_the_same(name: str, policy: str) -> None:
    agreement.check(name, policy)


def test_a_difference_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMS, "wat", Changeless)
    with pytest.raises(FormError, match=r"label-cpu, wat: 1 nodes, cycle \d+, node-\S+: \(.*, the built-in form says"):
        agreement.check("wat", "label-cpu")


class Changeless(Wat):
    """Does not notice changes of nodes."""

    def change(self, number: int) -> None:
        pass


@pytest.mark.parametrize(
    ("name", "policy"), [("extender-full", "nodenumber"), *(("extender-names", policy) for policy in POLICIES)]
)
def test_extenders_say_the_same_on_their_scale(name: str, policy: str) -> None:
    cluster = Cluster(150, 5, moving=True)
    with loaded(name, policy, cluster) as form, loaded("builtin", policy, cluster) as reference:
        assert story(form) == [
            # Scores are 0 to 10 there, rounded half up.
            {node: ((score + 5) // 10, code, reason) for node, (score, code, reason) in one.items()}
            for one in story(reference)
        ]


@pytest.mark.parametrize("policy", NEEDS_REQUESTED)
def test_what_whole_nodes_do_not_tell_is_not_pretended(policy: str) -> None:
    with pytest.raises(Unavailable, match="without the pods on them"):
        FORMS["extender-full"](policy, Cluster(1))


@pytest.mark.parametrize("name", ["builtin", *IN_TABLES])
def test_a_pod_without_a_number_likes_no_node(name: str) -> None:
    manifest = sample_cluster.pod("web")
    with loaded(name, "nodenumber", Cluster(20)) as form:
        assert isinstance(form, TableForm)
        form.pods = [PodParser().parse(manifest, encode("Pod", manifest))] * 100
        assert {score for score, _, _ in told(form, form.cycle(0)).values()} == {0}


def test_the_policies_tell_nodes_apart() -> None:
    cluster = Cluster(600)
    answers = {policy: FORMS["builtin"](policy, cluster) for policy in POLICIES}
    for form in answers.values():
        form.load()
    scores = {policy: form.cycle(3).scores for policy, form in answers.items()}
    assert scores["nodenumber"] is not None
    assert np.bincount(scores["nodenumber"]).tolist() == [540, 0, 0, 0, 0, 0, 0, 0, 0, 0, 60]
    assert scores["label-cpu"] is not None
    assert len(set(scores["label-cpu"].tolist())) > 50
    verdicts = answers["filter-reasons"].cycle(3).verdicts
    assert verdicts is not None
    passed, closed, full = np.bincount(verdicts.numbers) / 600
    assert 0.6 < passed < 0.73
    assert min(closed, full) > 0.1


@pytest.mark.parametrize(("name", "policy"), [pair for pair in HERE if pair[0] in GUESTS])
def test_no_guest_has_its_answers_remembered(name: str, policy: str) -> None:
    with loaded(name, policy, Cluster(20)) as form:
        assert isinstance(form, GuestForm)
        for pod in range(3):
            form.cycle(pod)
        assert form.guest.signature == 0
        assert form.plugin.shared_answers == 0
        points = {"prescore": "preScore"}
        assert tuple(points.get(hook, hook) for hook in form.guest.hooks) == POINTS[policy]


def test_a_cluster_is_the_same_every_time() -> None:
    one, other = Cluster(30, 7), Cluster(30, 7)
    assert one.manifests == other.manifests
    assert one.changed(2) == other.changed(2)
    assert [pod.encoded for pod in one.pods_on(4, 2)] == [pod.encoded for pod in other.pods_on(4, 2)]
    assert one.manifests != Cluster(30, 8).manifests


def test_a_change_is_about_one_in_a_hundred_nodes() -> None:
    assert len(Cluster(500).changed(1)) == 5
    assert len(Cluster(3).changed(1)) == 1
