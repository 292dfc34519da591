"""Nominated pods by node."""

from kubewasp.scheduler.preemption import Nominator
from tests.plugins.building import make_pod

LOW, MIDDLE, HIGH = (make_pod(name, priority=priority) for name, priority in (("l", 1), ("m", 5), ("h", 9)))


def test_a_pod_is_nominated_to_one_node_at_a_time() -> None:
    nominator = Nominator()
    nominator.nominate(LOW, "a")
    nominator.nominate(LOW, "b")
    assert (nominator.on("a"), nominator.on("b"), nominator.node_of(LOW.uid)) == ([], [LOW], "b")


def test_an_empty_name_and_a_withdrawal_end_it() -> None:
    nominator = Nominator()
    for end in (lambda: nominator.nominate(LOW, ""), lambda: nominator.withdraw(LOW.uid)):
        nominator.nominate(LOW, "a")
        end()
        end()
        assert (nominator.on("a"), nominator.node_of(LOW.uid), nominator.nodes_above(HIGH)) == ([], "", {})


def test_other_pods_of_at_least_the_priority_count_against_a_pod() -> None:
    nominator = Nominator()
    equal = make_pod("e", priority=5)
    for pod, node in ((LOW, "a"), (MIDDLE, "a"), (equal, "b"), (HIGH, "b")):
        nominator.nominate(pod, node)
    assert nominator.nodes_above(MIDDLE) == {"b": [equal, HIGH]}
    assert nominator.nodes_above(HIGH) == {}
    assert nominator.nodes_above(make_pod("x")) == {"a": [LOW, MIDDLE], "b": [equal, HIGH]}
