"""Explanations for tests: one pod on a cluster of one-line objects."""

from kubewasp.explain.explanation import Explanation, NodeExplanation, explain
from kubewasp.framework.config.model import SchedulerConfig
from kubewasp.framework.decision_record import DecisionRecord
from tests.simulation.simulating import Object, filled


def explained(name: str, *objects: Object, config: SchedulerConfig | None = None) -> Explanation:
    cluster = filled(*objects, config=config)
    wanted = cluster.pods[f"default/{name}"]
    record = DecisionRecord()
    choice = cluster.scheduler.evaluate(wanted, record)
    return explain(
        wanted,
        record,
        cluster.scheduler.table,
        node=choice.node,
        message=choice.message,
        nominated_node=choice.nominated_node,
        victims=choice.victims,
    )


def of(found: Explanation, name: str) -> NodeExplanation:
    return next(item for item in found.nodes if item.name == name)


def hints(found: Explanation) -> dict[str, list[str]]:
    return {item.name: item.hints for item in found.nodes}
