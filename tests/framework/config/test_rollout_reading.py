"""`rollout:` and `reload:` of a configuration: forms, defaults, problems, and what is written is read again."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.framework.config.model import ConfigError
from kubewasp.framework.config.reading import parse_config, read_config
from kubewasp.framework.config.rollout import (
    DEFAULT_RELOAD,
    DEFAULT_ROLLOUT,
    ONE_PERCENT,
    Amount,
    Bounds,
    ReloadSettings,
    RolloutSettings,
)
from kubewasp.framework.config.writing import as_template
from tests.framework.configs import HEAD, problems, read, with_args
from tests.plugins.building import make_pod


def rollout(given: Any) -> RolloutSettings:
    config = read(with_args("policy", {"guestURL": "p.wasm", "rollout": given}))
    return config.profiles[0].wasm["policy"].rollout


def rollout_problems(given: Any) -> list[str]:
    found = problems(with_args("policy", {"guestURL": "p.wasm", "rollout": given}))
    path = "profiles[0].pluginConfig[0].args.rollout"
    assert all(line.startswith(path) for line in found)
    return [line.removeprefix(path).removeprefix(".") for line in found]


def test_without_a_rollout_a_version_is_swapped_in_at_once_and_watched() -> None:
    assert rollout(None) == DEFAULT_ROLLOUT
    assert not DEFAULT_ROLLOUT.has_stages
    assert DEFAULT_ROLLOUT.rollback_within == 500
    assert DEFAULT_ROLLOUT.rollback_bounds == Bounds(ONE_PERCENT, ONE_PERCENT)


def test_the_short_forms() -> None:
    found = rollout({"shadow": "20%", "canary": "5%", "promote": "after 500 pods", "rollback": "never"})
    assert (found.shadow, found.promote_after, found.rollback_within) == (20.0, 500, 0)
    assert found.canary is not None
    assert (found.canary.percentage, found.canary.namespaces, found.canary.selector) == (5.0, (), None)


def test_the_long_forms() -> None:
    found = rollout(
        {
            "shadow": "0.5 %",
            "canary": {"percent": "5%", "namespaces": ["a", "b"], "labelSelector": {"matchLabels": {"tier": "test"}}},
            "promote": {
                "after": "500 pods",
                "maxErrors": 3,
                "maxTimeouts": "2%",
                "maxP99": "5ms",
                "maxDisagreement": "10%",
            },
            "rollback": {"within": 200, "maxErrors": 0},
        }
    )
    assert found.shadow == 0.5
    assert found.promote_after == 500
    assert found.promote_bounds == Bounds(
        Amount(3), Amount(2.0, is_percentage=True), 0.005, Amount(10.0, is_percentage=True)
    )
    assert (found.rollback_within, found.rollback_bounds.max_errors) == (200, Amount(0))
    assert found.canary is not None
    assert found.canary.takes(make_pod("x", {"tier": "test"}, namespace="a")) in (True, False)
    assert not found.canary.takes(make_pod("x", {"tier": "test"}, namespace="c"))


def test_a_canary_by_labels_alone_takes_all_pods_with_them() -> None:
    found = rollout({"canary": {"labelSelector": {"matchExpressions": [{"key": "new", "operator": "Exists"}]}}})
    assert found.canary is not None
    assert found.canary.takes(make_pod("x", {"new": ""}))
    assert not found.canary.takes(make_pod("x"))
    assert found.promote_after is None  # by hand


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"shadow": 20}, "shadow: expected a percentage of the pods such as 20%, got 20"),
        ({"shadow": "0%"}, 'shadow: expected a percentage of the pods such as 20%, got "0%"'),
        ({"shadow": "101%"}, 'shadow: expected a percentage of the pods such as 20%, got "101%"'),
        ({"canary": "all"}, 'canary: expected a percentage of the pods such as 5%, or an object, got "all"'),
        ({"canary": {"share": "5%"}}, "canary.share: unknown field"),
        (
            {"canary": {"labelSelector": {"matchExpressions": [{"key": "x", "operator": "Like"}]}}},
            "canary.labelSelector: x: unknown operator 'Like'",
        ),
        (
            {"shadow": "1%", "promote": "soon"},
            'promote: expected `manual`, or a number of pods such as `after 500 pods`, got "soon"',
        ),
        ({"shadow": "1%", "promote": {"after": 0}}, "promote.after: expected a number of pods such as 500, got 0"),
        ({"promote": "manual"}, "promote: without shadow or canary there is nothing to promote: add one of them"),
        (
            {"rollback": {"maxErrors": "many"}},
            'rollback.maxErrors: expected a number of pods such as 5, or a percentage such as 1%, got "many"',
        ),
        ({"rollback": {"maxP99": "-1s"}}, 'rollback.maxP99: Invalid value: "-1s": must be greater than zero'),
        ({"rollback": {"minErrors": 1}}, "rollback.minErrors: unknown field; did you mean"),
        ({"rolback": "never"}, "rolback: unknown field; did you mean"),
        ("never", 'expected an object, got "never"'),
    ],
)
def test_a_mistake_is_told_with_its_place(given: Any, problem: str) -> None:
    found = rollout_problems(given)
    assert len(found) == 1
    assert found[0].removeprefix(": ") == problem or found[0].startswith(problem)


def test_a_plugin_has_one_rollout_in_all_profiles() -> None:
    def profile(name: str, share: str) -> dict[str, Any]:
        args = {"guestURL": "p.wasm", "rollout": {"shadow": share}}
        return {"schedulerName": name, "pluginConfig": [{"name": "policy", "args": args}]}

    assert read(profiles=[profile("one", "5%"), profile("two", "5%")])
    [found] = problems(profiles=[profile("one", "5%"), profile("two", "6%")])
    assert found.startswith('profiles[1].pluginConfig: "policy" has another rollout in another profile')


def test_settings_of_reloads() -> None:
    assert read().reload == DEFAULT_RELOAD == ReloadSettings(watch=True, interval=60.0)
    assert read(reload={"watch": False, "interval": "5m"}).reload == ReloadSettings(watch=False, interval=300.0)
    [found] = problems(reload={"interval": "1ms"})
    assert found == 'reload.interval: Invalid value: "1ms": must be at least 1s: registries limit requests'


percentages = st.sampled_from(["1%", "20%", "99.5%", "100%"])
bounds = st.fixed_dictionaries(
    {},
    optional={
        "maxErrors": st.integers(0, 100) | percentages,
        "maxTimeouts": st.integers(0, 100) | percentages,
        "maxDisagreement": percentages,
        "maxP99": st.sampled_from(["1ms", "2s"]),
    },
)
shares = percentages | st.fixed_dictionaries(
    {},
    optional={
        "percent": percentages,
        "namespaces": st.lists(st.sampled_from(["a", "b"]), max_size=2),
        "labelSelector": st.just({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "x", "operator": "Exists"}]}),
    },
)
rollouts = st.fixed_dictionaries(
    {"shadow": percentages},
    optional={
        "canary": shares,
        "promote": st.sampled_from(["manual", "after 7 pods"])
        | bounds.map(lambda found: {"after": 9, **found})
        | bounds.map(lambda found: {"after": "manual", **found}),
        "rollback": st.just("never") | bounds.map(lambda found: {"within": 3, **found}),
    },
)


@settings(deadline=None)
@given(rollouts)
def test_what_is_written_is_read_again(given_rollout: dict[str, Any]) -> None:
    config = read(with_args("policy", {"guestURL": "p.wasm", "rollout": given_rollout}), reload={"interval": "9s"})
    again = parse_config(yaml.safe_dump(as_template(config)).encode(), "again")
    assert again.profiles[0].wasm["policy"].rollout == config.profiles[0].wasm["policy"].rollout
    assert again.reload == config.reload


names = st.sampled_from(["shadow", "canary", "promote", "rollback", "percent", "labelSelector", "matchLabels", "after"])
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | percentages,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names | st.text(max_size=3), inner, max_size=4),
)


@settings(deadline=None, max_examples=200)
@given(st.dictionaries(names, junk, max_size=4), junk)
def test_junk_gives_no_other_error(given_rollout: dict[str, Any], given_reload: Any) -> None:
    document = HEAD | with_args("policy", {"guestURL": "p", "rollout": given_rollout}) | {"reload": given_reload}
    try:
        read_config(document)
    except ConfigError as error:
        assert error.problems  # noqa: PT017
