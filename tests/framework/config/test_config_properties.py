"""Properties of the configuration: any input gives a configuration or a ConfigError; written files are read back."""

from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.framework.config.default_plugins import BUILT_IN
from kubewasp.framework.config.model import POINTS, ConfigError, SchedulerConfig
from kubewasp.framework.config.reading import default_config, parse_config, read_config
from kubewasp.framework.config.writing import as_document, as_template
from kubewasp.framework.registry import Registry
from tests.framework.configs import HEAD, named, read

FIELDS = [
    "parallelism", "leaderElection", "leaderElect", "leaseDuration", "clientConnection", "qps", "burst", "profiles",
    "schedulerName", "percentageOfNodesToScore", "plugins", "multiPoint", "enabled", "disabled", "name", "weight",
    "pluginConfig", "args", "extenders", "managedResources", "tlsConfig", "keyData", "httpTimeout", "guestURL",
    "limits", "sha256", "failurePolicy", "addedAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms", "matchExpressions", "matchFields", "key",
    "operator", "values", "scoringStrategy", "type", "resources", "requestedToCapacityRatio", "shape", "utilization",
    "defaultConstraints", "defaultingType", "filterTimeout", "apiVersion", "kind", *POINTS,
]  # fmt: skip
WORDS = ["*", "1s", "-1s", "In", "Gt", "9" * 400, "List", "RequestedToCapacityRatio", "file://x", "\ud800", *BUILT_IN]

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-2, 101)
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=5)
    | st.sampled_from(WORDS)
)
keys = st.sampled_from(FIELDS) | st.text(st.characters(exclude_categories=()), max_size=5)
junk = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4))
plugin_entry = st.fixed_dictionaries({"name": st.sampled_from(WORDS)}, optional={"weight": scalars})
plugin_set = st.fixed_dictionaries(
    {}, optional={"enabled": st.lists(plugin_entry, max_size=3), "disabled": st.lists(plugin_entry, max_size=2)}
)
plugin_config = st.fixed_dictionaries({"name": st.sampled_from([*BUILT_IN, "Own"]), "args": junk})
profile = st.fixed_dictionaries(
    {},
    optional={
        "schedulerName": scalars,
        "plugins": st.dictionaries(st.sampled_from(["multiPoint", *POINTS]), plugin_set, max_size=3),
        "pluginConfig": st.lists(plugin_config, max_size=3),
    },
)


class AnyGuest:
    def asks_each_node(self, *_: Any) -> bool:
        return False

    def points(self, *_: Any) -> set[str]:
        return {"filter"}

    def create(self, *_: Any) -> Any:
        raise NotImplementedError


@settings(deadline=None)
@given(junk)
def test_junk_gives_no_other_error(value: Any) -> None:
    try:
        read_config(value)
    except ConfigError as error:
        assert error.problems  # noqa: PT017


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(st.sampled_from(FIELDS), junk, max_size=4),
    st.lists(profile, max_size=2),
    st.lists(st.dictionaries(st.sampled_from(FIELDS), junk, max_size=4), max_size=2),
)
def test_junk_in_the_right_places_gives_no_other_error(fields: Any, profiles: Any, extenders: Any) -> None:
    try:
        config = read_config(fields | HEAD | {"profiles": profiles, "extenders": extenders})
        Registry(wasm=AnyGuest()).profiles(config)
    except ConfigError as error:
        str(error).encode()


@settings(deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
def test_bytes_give_no_other_error(content: bytes) -> None:
    try:
        parse_config(content, "file")
    except ConfigError as error:
        assert str(error).startswith("file: ")  # noqa: PT017


weights = st.integers(-(2**31), 2**31 - 1)
own_entry = st.fixed_dictionaries({"name": st.sampled_from([*BUILT_IN, "Own"])}, optional={"weight": weights})
own_set = st.fixed_dictionaries(
    {},
    optional={
        "enabled": st.lists(own_entry, max_size=4, unique_by=lambda entry: entry["name"]),
        "disabled": st.lists(st.sampled_from(list(BUILT_IN)).map(lambda name: {"name": name}), max_size=4),
    },
)


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["multiPoint", "filter", "score", "preScore"]), own_set),
    st.integers(0, 100),
    st.integers(1, 60),
)
def test_what_is_written_is_read_again(plugins: Any, percentage: int, renew: int) -> None:
    config = read(
        percentageOfNodesToScore=percentage,
        leaderElection={"leaseDuration": f"{renew}.5s", "renewDeadline": f"{renew}s"},
        extenders=[{"urlPrefix": "http://x", "tlsConfig": {"caData": "YQ=="}, "ignorable": True}, {"bindVerb": "b"}],
        profiles=[{"plugins": plugins, "pluginConfig": [{"name": "Own", "args": {"guestURL": "p", "args": ["a"]}}]}],
    )
    found = Registry(wasm=AnyGuest())
    try:
        profiles = found.profiles(config)
    except ConfigError:
        return
    for document in (as_document(config, profiles), as_template(config)):
        again = parse_config(yaml.safe_dump(document).encode(), "again")
        assert found.profiles(again) == profiles
        assert _settings(again) == _settings(config)


def _settings(config: SchedulerConfig) -> tuple[Any, ...]:
    return (config.leader_election, config.client_connection, config.extenders, config.percentage_of_nodes_to_score)


def test_a_private_key_is_not_written() -> None:
    config = read(extenders=[{"tlsConfig": {"keyData": "c2VjcmV0"}}])
    [extender] = as_template(config)["extenders"]
    assert extender["tlsConfig"]["keyData"] == "REDACTED"
    assert read_config(as_template(config))


def test_the_template_of_the_defaults_is_complete() -> None:
    template = as_template(default_config())
    [written] = template["profiles"]
    assert [plugin["name"] for plugin in written["plugins"]["multiPoint"]["enabled"]] == list(BUILT_IN)
    assert written["plugins"]["multiPoint"]["disabled"] == named("*")
