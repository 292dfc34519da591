"""Probe plugin: each hook runs the code in the pod's annotation of that name."""

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

    def events(self) -> Any:
        return [ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL)]

    def queueing_hint(self, pod: Any, change: Any) -> Any:
        return self.run("queueing_hint", pod, change=change)

    def pre_enqueue(self, pod: Any) -> Any:
        return self.run("pre_enqueue", pod)

    def sort_key(self, pod: Any, queued_at: Any) -> Any:
        return (-pod.priority, queued_at)

    def signature(self, pod: Any) -> Any:
        return pod.labels.get("signature")

    def pre_filter(self, state: Any, pod: Any) -> Any:
        return self.run("pre_filter", pod, state=state)

    def add_pod(self, state: Any, pod: Any, added: Any, node: Any) -> Any:
        state.setdefault("pods", []).append(added.name)

    def remove_pod(self, state: Any, pod: Any, removed: Any, node: Any) -> Any:
        state["pods"].remove(removed.name)

    def filter(self, state: Any, pod: Any, node: Any) -> Any:
        return self.run("filter", pod, state=state, node=node)

    def post_filter(self, state: Any, pod: Any, statuses: Any) -> Any:
        return self.run("post_filter", pod, state=state, statuses=statuses)

    def pre_score(self, state: Any, pod: Any, nodes: Any) -> Any:
        return self.run("pre_score", pod, state=state, nodes=nodes)

    def score(self, state: Any, pod: Any, node: Any) -> Any:
        return self.run("score", pod, state=state, node=node) if "score" in pod.annotations else 7

    def normalize_scores(self, state: Any, pod: Any, scores: Any) -> Any:
        return self.run("normalize_scores", pod, state=state, scores=scores)

    def reserve(self, state: Any, pod: Any, node: Any) -> Any:
        return self.run("reserve", pod, state=state, node=node)

    def unreserve(self, state: Any, pod: Any, node: Any) -> Any:
        self.run("unreserve", pod, state=state, node=node)

    def permit(self, state: Any, pod: Any, node: Any) -> Any:
        return self.run("permit", pod, state=state, node=node)

    def pre_bind(self, state: Any, pod: Any, node: Any) -> Any:
        return self.run("pre_bind", pod, state=state, node=node)

    def bind(self, state: Any, pod: Any, node: Any) -> Any:
        return self.run("bind", pod, state=state, node=node)

    def post_bind(self, state: Any, pod: Any, node: Any) -> Any:
        self.run("post_bind", pod, state=state, node=node)
