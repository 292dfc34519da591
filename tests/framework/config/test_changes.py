"""Changes of a configuration: weights and arguments of plugins."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.framework.config.changes import MAX_WEIGHT, with_args, with_weight
from kubewasp.framework.config.default_plugins import BUILT_IN, plugins_at
from kubewasp.framework.config.model import ConfigError, SchedulerConfig
from kubewasp.framework.config.profiles import expanded
from kubewasp.framework.config.reading import default_config, read_config

SCORING = plugins_at("score")
IMPLEMENTED = {plugin.name: plugin.points for plugin in BUILT_IN.values()}


def weights(config: SchedulerConfig) -> dict[str, int]:
    profile = expanded(config.profiles[0], IMPLEMENTED, percentage=0)
    return {plugin.name: plugin.weight for plugin in profile.plugins["score"]}


def config(plugins: dict[str, object]) -> SchedulerConfig:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return read_config({**head, "profiles": [{"plugins": plugins}]})


CONFIGS = [
    default_config(),
    config({"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "ImageLocality", "weight": 4}]}}),
    config({"score": {"disabled": [{"name": "NodeResourcesFit"}, {"name": "ImageLocality"}]}}),
    config({"score": {"enabled": [{"name": "NodeResourcesFit", "weight": 9}]}}),
]


@pytest.mark.parametrize("given_config", CONFIGS)
@given(plugin=st.sampled_from(SCORING), weight=st.integers(0, 1000))
def test_a_plugin_gets_its_weight_and_others_keep_theirs(
    given_config: SchedulerConfig, plugin: str, weight: int
) -> None:
    before = weights(given_config)
    after = weights(with_weight(given_config, plugin, weight))
    assert after.pop(plugin, 0) == weight
    before.pop(plugin, 0)
    assert after == before


@given(plugin=st.sampled_from(SCORING), first=st.integers(0, 9), second=st.integers(1, 9))
def test_the_last_weight_counts(plugin: str, first: int, second: int) -> None:
    once = with_weight(default_config(), plugin, second)
    twice = with_weight(with_weight(default_config(), plugin, first), plugin, second)
    assert weights(once) == weights(twice)


@pytest.mark.parametrize(
    ("plugin", "weight", "text"),
    [
        ("NodeResourceFit", 1, 'no profile enables a plugin "NodeResourceFit"; did you mean "NodeResourcesFit"?'),
        ("NodeName", 1, "NodeName does not score: it has no weight"),
        ("ImageLocality", -1, f"weight of ImageLocality: expected an integer from 0 to {MAX_WEIGHT}, got -1"),
    ],
)
def test_bad_weights_are_refused(plugin: str, weight: int, text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        with_weight(default_config(), plugin, weight)
    assert str(raised.value) == text


def test_arguments_replace_fields_of_the_same_name() -> None:
    strategy = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
    found = with_args(default_config(), "NodeResourcesFit", {"scoringStrategy": strategy})
    args = found.profiles[0].args["NodeResourcesFit"]
    assert args["scoringStrategy"]["type"] == "MostAllocated"
    assert with_args(found, "NodeResourcesFit", {}).profiles[0].args["NodeResourcesFit"] == args


def test_fields_of_a_guest_configuration_are_merged_and_a_text_replaces_it() -> None:
    base = default_config().with_wasm_plugin("guest", "guest.wasm", '{"a": 1, "b": 2}')
    merged = with_args(base, "guest", {"b": 3}).profiles[0].wasm["guest"].guest_config
    assert orjson.loads(merged) == {"a": 1, "b": 3}
    assert with_args(base, "guest", "whole").profiles[0].wasm["guest"].guest_config == "whole"


@pytest.mark.parametrize(
    ("plugin", "args", "text"),
    [
        ("NodeName", {"a": 1}, "NodeName takes no args"),
        ("NodeResourcesFit", "text", 'args of NodeResourcesFit: expected an object, got "text"'),
        ("NodeResourcesFit", {"scoringStrategie": {}}, "NodeResourcesFit.scoringStrategie: unknown field"),
    ],
)
def test_bad_arguments_are_refused(plugin: str, args: dict[str, object] | str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        with_args(default_config(), plugin, args)


def test_fields_cannot_be_merged_into_a_guest_configuration_that_is_no_object() -> None:
    base = default_config().with_wasm_plugin("guest", "guest.wasm", "plain")
    with pytest.raises(ConfigError, match="its guestConfig is no JSON object"):
        with_args(base, "guest", {"b": 3})
