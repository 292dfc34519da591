from typing import Any

import pytest

from kubewasp.framework.config.model import EnabledPlugin
from kubewasp.framework.config.profiles import expanded
from kubewasp.framework.config.reading import default_config
from tests.framework.configs import BUILT_IN_POINTS, named, profile_of, read, startup_error

OWN = {"Own": {"filter", "score"}, "Other": {"score"}}

DEFAULT_LIST = [
    ("SchedulingGates", 0),
    ("PrioritySort", 0),
    ("NodeUnschedulable", 0),
    ("NodeName", 0),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodePorts", 0),
    ("NodeResourcesFit", 1),
    ("VolumeRestrictions", 0),
    ("NodeVolumeLimits", 0),
    ("VolumeBinding", 0),
    ("VolumeZone", 0),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 2),
    ("DefaultPreemption", 0),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
    ("DefaultBinder", 0),
    ("NodeDeclaredFeatures", 0),
]
DEFAULT_POINTS = {
    "preEnqueue": "SchedulingGates DynamicResources DefaultPreemption",
    "queueSort": "PrioritySort",
    "preFilter": "NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone "
    "PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures",
    "filter": "NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions "
    "NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity DynamicResources "
    "NodeDeclaredFeatures",
    "postFilter": "DynamicResources DefaultPreemption",
    "preScore": "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread InterPodAffinity "
    "NodeResourcesBalancedAllocation",
    "score": "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread InterPodAffinity "
    "DynamicResources NodeResourcesBalancedAllocation ImageLocality",
    "reserve": "VolumeBinding DynamicResources",
    "permit": "",
    "preBind": "VolumeBinding DynamicResources",
    "bind": "DefaultBinder",
    "postBind": "",
    "placementGenerate": "",
    "placementScore": "NodeResourcesFit",
}


def everywhere(plugins: dict[str, Any]) -> list[tuple[str, int]]:
    """The `multiPoint` list after the merge."""
    [profile] = read(profiles=[{"plugins": plugins}]).profiles
    return [(plugin.name, plugin.weight) for plugin in profile.plugins["multiPoint"].enabled]


def scores(plugins: dict[str, Any]) -> list[tuple[str, int]]:
    return [(plugin.name, plugin.weight) for plugin in profile_of(plugins, OWN).plugins["score"]]


# ---------------------------------------------------------------------- defaults and merge


def test_the_default_list() -> None:
    assert everywhere({}) == DEFAULT_LIST


def test_only_multi_point_has_defaults() -> None:
    [profile] = default_config().profiles
    assert {point for point, plugins in profile.plugins.items() if plugins.enabled or plugins.disabled} == {
        "multiPoint"
    }


def test_the_extension_points_of_the_default_profile() -> None:
    profile = profile_of({})
    assert {point: " ".join(profile.names(point)) for point in profile.plugins} == DEFAULT_POINTS


def test_the_weights_of_the_default_profile() -> None:
    assert [plugin.weight for plugin in profile_of({}).plugins["score"]] == [3, 2, 1, 1, 2, 2, 2, 1, 1]
    assert profile_of({}).plugins["placementScore"] == (EnabledPlugin("NodeResourcesFit", 1),)


def test_plugins_of_the_user_come_after_the_defaults() -> None:
    assert everywhere({"multiPoint": {"enabled": [{"name": "B", "weight": 4}, {"name": "A"}]}}) == [
        *DEFAULT_LIST,
        ("B", 4),
        ("A", 0),
    ]


def test_a_disabled_default_is_left_out() -> None:
    found = everywhere({"multiPoint": {"disabled": named("NodeName", "ImageLocality", "Unknown")}})
    assert found == [item for item in DEFAULT_LIST if item[0] not in ("NodeName", "ImageLocality")]


def test_a_star_disables_all_defaults() -> None:
    assert everywhere({"multiPoint": {"disabled": named("*"), "enabled": named("NodeName")}}) == [("NodeName", 0)]


def test_a_default_that_is_enabled_again_keeps_its_place_and_takes_the_new_weight() -> None:
    found = everywhere({"multiPoint": {"enabled": [{"name": "NodeAffinity", "weight": 7}, {"name": "A"}]}})
    assert found.index(("NodeAffinity", 7)) == 5
    assert len(found) == len(DEFAULT_LIST) + 1


def test_a_default_that_is_disabled_and_enabled_comes_last() -> None:
    multi_point = {"disabled": named("NodeAffinity"), "enabled": [{"name": "NodeAffinity", "weight": 7}]}
    assert everywhere({"multiPoint": multi_point})[-1] == ("NodeAffinity", 7)


def test_a_default_that_is_enabled_again_without_a_weight_counts_once() -> None:
    assert scores({"multiPoint": {"enabled": named("TaintToleration")}})[0] == ("TaintToleration", 1)


# ---------------------------------------------------------------------- expansion


def test_a_multi_point_plugin_is_asked_wherever_it_can_answer() -> None:
    profile = profile_of({"multiPoint": {"enabled": [{"name": "Own", "weight": 5}]}}, OWN)
    assert profile.names("filter")[-1] == "Own"
    assert profile.plugins["score"][-1] == EnabledPlugin("Own", 5)
    assert "Own" not in profile.names("preScore")


def test_weights_are_kept_only_where_nodes_are_scored() -> None:
    assert {plugin.weight for plugin in profile_of({}).plugins["filter"]} == {0}


def test_a_point_can_be_left_out_for_one_plugin() -> None:
    profile = profile_of({"score": {"disabled": named("ImageLocality", "NodeAffinity")}})
    assert "NodeAffinity" not in profile.names("score")
    assert "NodeAffinity" in profile.names("filter")


def test_a_star_at_a_point_leaves_what_is_named_there() -> None:
    plugins = {"score": {"disabled": named("*"), "enabled": [{"name": "Own", "weight": 2}, {"name": "ImageLocality"}]}}
    assert scores(plugins) == [("Own", 2), ("ImageLocality", 1)]


def test_a_plugin_that_is_left_no_point_is_still_made() -> None:
    [profile] = read(profiles=[{"plugins": {"score": {"disabled": named("*")}}}]).profiles
    assert "ImageLocality" in profile.plugin_names


def test_overrides_come_first_then_multi_point_then_the_rest() -> None:
    enabled = [
        {"name": "Other", "weight": 8},
        {"name": "ImageLocality", "weight": 9},
        {"name": "Own", "weight": 7},
        {"name": "NodeAffinity", "weight": 6},
    ]
    names = [name for name, _ in scores({"score": {"enabled": enabled}})]
    assert names[:2] == ["ImageLocality", "NodeAffinity"]
    assert names[2:4] == ["TaintToleration", "NodeResourcesFit"]
    assert names[-2:] == ["Other", "Own"]


def test_the_weight_at_the_point_wins() -> None:
    found = dict(scores({"score": {"enabled": [{"name": "ImageLocality", "weight": 9}]}}))
    assert (found["ImageLocality"], found["TaintToleration"]) == (9, 3)
    assert dict(scores({"score": {"enabled": named("TaintToleration")}}))["TaintToleration"] == 1


def test_a_plugin_disabled_and_enabled_at_a_point_is_enabled() -> None:
    plugins = {"score": {"disabled": named("ImageLocality"), "enabled": [{"name": "ImageLocality", "weight": 9}]}}
    assert scores(plugins)[-1] == ("ImageLocality", 9)


def test_a_profile_without_multi_point_has_what_its_points_name() -> None:
    profile = profile_of(
        {
            "multiPoint": {"disabled": named("*")},
            "queueSort": {"enabled": named("PrioritySort")},
            "bind": {"enabled": named("DefaultBinder")},
            "filter": {"enabled": named("NodeName", "NodeAffinity")},
        }
    )
    assert {point: profile.names(point) for point, plugins in profile.plugins.items() if plugins} == {
        "queueSort": ("PrioritySort",),
        "bind": ("DefaultBinder",),
        "filter": ("NodeName", "NodeAffinity"),
    }


@pytest.mark.parametrize(("own", "expected"), [(None, 40), (0, 0), (7, 7)])
def test_the_percentage_of_a_profile_wins_over_that_of_the_whole(own: int | None, expected: int) -> None:
    [profile] = read(profiles=[{"percentageOfNodesToScore": own}]).profiles
    assert expanded(profile, BUILT_IN_POINTS, percentage=40).percentage_of_nodes_to_score == expected


# ---------------------------------------------------------------------- errors at the start


@pytest.mark.parametrize(
    ("plugins", "error"),
    [
        ({"multiPoint": {"enabled": named("X")}}, 'plugins.multiPoint: PreFilterPlugin "X" does not exist'),
        ({"multiPoint": {"enabled": named("X")}, "preFilter": {"disabled": named("*")}},
         'plugins.multiPoint: FilterPlugin "X" does not exist'),
        ({"score": {"enabled": named("X")}}, 'plugins.score: ScorePlugin "X" does not exist'),
        ({"preBind": {"enabled": named("X")}}, 'plugins.preBind: PreBindPlugin "X" does not exist'),
        ({"score": {"enabled": named("NodeName")}},
         'plugins.score: plugin "NodeName" does not extend ScorePlugin plugin'),
        ({"score": {"enabled": named("Own", "Own")}},
         'plugins.score: plugin "Own" already registered as "ScorePlugin"'),
        ({"multiPoint": {"enabled": named("Own", "Own")}},
         'plugins.multiPoint: plugin "Own" already registered as "FilterPlugin"'),
        ({"multiPoint": {"enabled": named("NodeName", "NodeName")}},
         'plugins.multiPoint: plugin "NodeName" already registered as "FilterPlugin"'),
        ({"multiPoint": {"disabled": named("PrioritySort")}}, "plugins.queueSort: only one queue sort plugin required "
         'for profile with scheduler name "default-scheduler", but got 0'),
        ({"queueSort": {"enabled": named("Sort")}}, "plugins.queueSort: only one queue sort plugin required "
         'for profile with scheduler name "default-scheduler", but got 2'),
        ({"bind": {"disabled": named("*")}},
         'plugins.bind: at least one bind plugin is needed for profile with scheduler name "default-scheduler"'),
    ],
)  # fmt: skip
def test_what_keeps_kube_scheduler_from_starting_is_told_in_its_words(plugins: dict[str, Any], error: str) -> None:
    assert startup_error(plugins, OWN | {"Sort": {"queueSort"}}) == error


def test_points_are_looked_at_before_multi_point() -> None:
    plugins = {"multiPoint": {"enabled": named("X")}, "score": {"enabled": named("Y")}}
    assert startup_error(plugins) == 'plugins.score: ScorePlugin "Y" does not exist'


def test_a_plugin_named_at_its_point_may_stand_twice_under_multi_point() -> None:
    twice = {"multiPoint": {"enabled": named("Other", "Other")}, "score": {"enabled": named("Other")}}
    assert profile_of(twice, OWN).names("score").count("Other") == 1


def test_weights_that_could_overflow_are_refused() -> None:
    from kubewasp.framework.config.model import PluginSet, ProfileConfig

    plugins = PluginSet((EnabledPlugin("Own", 2**63 // 100 + 1),))
    sort, bind = PluginSet((EnabledPlugin("PrioritySort"),)), PluginSet((EnabledPlugin("DefaultBinder"),))
    profile = ProfileConfig("a", {"score": plugins, "queueSort": sort, "bind": bind})
    with pytest.raises(ValueError, match="total score of Score plugins could overflow"):
        expanded(profile, {**BUILT_IN_POINTS, **OWN}, percentage=0)
