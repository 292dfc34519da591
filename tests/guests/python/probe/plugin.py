"""A plugin that does in each hook what the pod's annotation of that name says, in Python: tests bring the code along."""

import random
from dataclasses import dataclass, field
from typing import Any

from kubewasp_sdk import Action, ClusterEvent, Plugin

BUILT_WITH = random.random()


@dataclass
class Config:
    """What tests may configure."""

    start: str = ""
    limits: dict[str, int] = field(default_factory=dict)


class Probe(Plugin):
    """Has every hook."""

    wants = ("pods", "waiting_pods")
    config: Config

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.memory: list[Any] = []
        exec(config.start, {"self": self})

    def fail(self, divisor: int = 0) -> float:
        return 1 / divisor

    def late(self) -> str:
        import statistics

        from vendored.words import greeting

        return f"{greeting()} {statistics.mean([1, 3])}"

    def run(self, hook: str, pod: Any, **names: Any) -> Any:
        code = pod.annotations.get(hook)
        if code is None:
            return None
        names |= {"self": self, "pod": pod, "answer": None}
        exec(code, names)
        return names["answer"]

    def events(self):
        return [ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL)]

    def queueing_hint(self, pod, change):
        return self.run("queueing_hint", pod, change=change)

    def pre_enqueue(self, pod):
        return self.run("pre_enqueue", pod)

    def sort_key(self, pod, queued_at):
        return (-pod.priority, queued_at)

    def signature(self, pod):
        return pod.labels.get("signature")

    def pre_filter(self, state, pod):
        return self.run("pre_filter", pod, state=state)

    def add_pod(self, state, pod, added, node):
        state.setdefault("pods", []).append(added.name)

    def remove_pod(self, state, pod, removed, node):
        state["pods"].remove(removed.name)

    def filter(self, state, pod, node):
        if "filter" in pod.annotations:
            return self.run("filter", pod, state=state, node=node)

    def post_filter(self, state, pod, statuses):
        return self.run("post_filter", pod, state=state, statuses=statuses)

    def pre_score(self, state, pod, nodes):
        return self.run("pre_score", pod, state=state, nodes=nodes)

    def score(self, state, pod, node):
        return self.run("score", pod, state=state, node=node) if "score" in pod.annotations else 7

    def normalize_scores(self, state, pod, scores):
        return self.run("normalize_scores", pod, state=state, scores=scores)

    def reserve(self, state, pod, node):
        return self.run("reserve", pod, state=state, node=node)

    def unreserve(self, state, pod, node):
        self.run("unreserve", pod, state=state, node=node)

    def permit(self, state, pod, node):
        return self.run("permit", pod, state=state, node=node)

    def pre_bind(self, state, pod, node):
        return self.run("pre_bind", pod, state=state, node=node)

    def bind(self, state, pod, node):
        return self.run("bind", pod, state=state, node=node)

    def post_bind(self, state, pod, node):
        self.run("post_bind", pod, state=state, node=node)
