"""Plugin classes in unit tests: hooks that the scheduler would never call."""

from collections.abc import Callable
from typing import Any

import pytest
from kubewasp_sdk import Plugin
from kubewasp_sdk.testing import FakeCluster


def three(self: Any, state: Any, pod: Any, node: Any) -> None:
    """A hook with the parameters of filter."""


def two(self: Any, pod: Any, node: Any) -> None:
    """A method with too few."""


async def asynchronous(self: Any, state: Any, pod: Any, node: Any) -> None:
    """A coroutine."""


def plugin(**members: Any) -> type[Plugin]:
    return type("Mine", (Plugin,), members)


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"Filter": three}, r"^Mine\.Filter \(test_python_hook_checks\.py:\d+\) is not a hook; did you mean filter\?$"),
        ({"preScore": two, "score": three}, r"preScore .* did you mean pre_score\?$"),
        ({"filter": two}, r"^Mine\.filter .* is called with other arguments: filter\(self, state, pod, node\)$"),
        ({"filter": staticmethod(three)}, r"is called with other arguments: filter\(state, pod, node\)$"),
        ({"filter": asynchronous}, r"is async; hooks are plain methods$"),
        ({"filter": property(two)}, r"^Mine\.filter is a property; hooks are methods$"),
        ({}, r"^Mine implements no hook; give it a method such as filter or score$"),
    ],
)
def test_a_hook_that_would_not_be_called_is_an_error(members: dict[str, Any], problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        FakeCluster().start(plugin(**members))


@pytest.mark.parametrize(
    "hook", [three, staticmethod(two), classmethod(three), lambda *_: None, lambda self, state, pod, node, more=1: None]
)
def test_other_ways_to_write_a_hook_are_no_errors(hook: Callable[..., None]) -> None:
    FakeCluster().start(plugin(filter=hook, _score=two, filter_gpus=two))
