from typing import Any

import pytest

from kubewasp.framework.config.model import ConfigError, WasmPluginSettings
from kubewasp.framework.config.reading import read_config
from tests.framework.configs import HEAD, arg_problems, args_of, named, problems, read, with_args

CPU_AND_MEMORY = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]


@pytest.mark.parametrize(
    ("plugin", "defaults"),
    [
        ("DefaultPreemption", {"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100}),
        ("InterPodAffinity", {"hardPodAffinityWeight": 1, "ignorePreferredTermsOfExistingPods": False}),
        ("NodeAffinity", {}),
        ("NodeResourcesFit", {"ignoredResources": [], "ignoredResourceGroups": [],
                              "scoringStrategy": {"type": "LeastAllocated", "resources": CPU_AND_MEMORY}}),
        ("NodeResourcesBalancedAllocation", {"resources": CPU_AND_MEMORY}),
        ("PodTopologySpread", {"defaultingType": "System", "defaultConstraints": []}),
        ("VolumeBinding", {"bindTimeoutSeconds": 600}),
        ("DynamicResources", {"filterTimeout": "10s", "bindingTimeout": "10m0s"}),
    ],
)  # fmt: skip
def test_defaults(plugin: str, defaults: dict[str, Any]) -> None:
    for args in (None, {}, {"kind": f"{plugin}Args", "apiVersion": "kubescheduler.config.k8s.io/v1"}):
        assert args_of(plugin, args) == defaults


@pytest.mark.parametrize(
    ("plugin", "args"),
    [
        ("DefaultPreemption", {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 1}),
        ("InterPodAffinity", {"hardPodAffinityWeight": 0, "ignorePreferredTermsOfExistingPods": True}),
        ("NodeResourcesFit", {"ignoredResources": ["example.com/a"], "ignoredResourceGroups": ["example.com"],
                              "scoringStrategy": {"type": "MostAllocated",
                                                  "resources": [{"name": "cpu", "weight": 100}]}}),
        ("NodeResourcesFit", {"ignoredResources": [], "ignoredResourceGroups": [], "scoringStrategy": {
            "type": "RequestedToCapacityRatio", "resources": CPU_AND_MEMORY,
            "requestedToCapacityRatio": {
                "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}}}),
        ("NodeResourcesBalancedAllocation", {"resources": [{"name": "example.com/gpu", "weight": 1}]}),
        ("PodTopologySpread", {"defaultingType": "List", "defaultConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2,
             "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor", "matchLabelKeys": ["app"]},
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]}),
        ("VolumeBinding", {"bindTimeoutSeconds": 0}),
        ("DynamicResources", {"filterTimeout": "0s", "bindingTimeout": "1s"}),
        ("NodeAffinity", {"addedAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x"]},
                                      {"key": "b", "operator": "Exists"},
                                      {"key": "c", "operator": "Gt", "values": ["5"]}],
                 "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]},
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 3, "preference": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}}]}}),
    ],
)  # fmt: skip
def test_args_are_taken_as_they_are_given(plugin: str, args: dict[str, Any]) -> None:
    assert args_of(plugin, args) == args


def test_a_resource_without_a_weight_counts_once() -> None:
    given = {"resources": [{"name": "cpu"}, {"name": "memory", "weight": 0}]}
    assert args_of("NodeResourcesBalancedAllocation", given) == {"resources": CPU_AND_MEMORY}
    strategy = {"scoringStrategy": {"type": "MostAllocated", **given}}
    assert args_of("NodeResourcesFit", strategy)["scoringStrategy"]["resources"] == CPU_AND_MEMORY


def test_a_strategy_without_resources_has_cpu_and_memory() -> None:
    strategy = args_of("NodeResourcesFit", {"scoringStrategy": {"type": "MostAllocated"}})["scoringStrategy"]
    assert strategy == {"type": "MostAllocated", "resources": CPU_AND_MEMORY}


def fit(**strategy: Any) -> dict[str, Any]:
    return {"scoringStrategy": {"type": "LeastAllocated"} | strategy}


def ratio(*points: tuple[int, int]) -> dict[str, Any]:
    shape = [{"utilization": utilization, "score": score} for utilization, score in points]
    return fit(type="RequestedToCapacityRatio", requestedToCapacityRatio={"shape": shape})


def spread(**constraint: Any) -> dict[str, Any]:
    whole = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"} | constraint
    return {"defaultingType": "List", "defaultConstraints": [whole]}


def required(**requirement: Any) -> dict[str, Any]:
    terms = {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["x"]} | requirement]}]
    }
    return {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


EXPRESSION = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]"
STRATEGY = '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'
SHAPE = "scoringStrategy.requestedToCapacityRatio.shape"


@pytest.mark.parametrize(
    ("plugin", "args", "problem"),
    [
        ("DefaultPreemption", {"minCandidateNodesPercentage": 101},
         "minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]"),
        ("DefaultPreemption", {"minCandidateNodesAbsolute": -1},
         "minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)"),
        ("InterPodAffinity", {"hardPodAffinityWeight": 101},
         "hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]"),
        ("NodeResourcesFit", {"ignoredResourceGroups": ["a.com/b"]},
         "ignoredResourceGroups[0]: Invalid value: \"a.com/b\": resource group name can't contain '/'"),
        ("NodeResourcesFit", {"ignoredResources": ["a/"]},
         'ignoredResources[0]: Invalid value: "a/": name part must be non-empty'),
        ("NodeResourcesFit", fit(type="Most"),
         f'scoringStrategy.type: Unsupported value: "Most": supported values: {STRATEGY}'),
        ("NodeResourcesFit", {"scoringStrategy": {}},
         f'scoringStrategy.type: Unsupported value: "": supported values: {STRATEGY}'),
        ("NodeResourcesFit", fit(resources=[{"name": "cpu", "weight": 101}]),
         "scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]"),
        ("NodeResourcesFit", fit(resources=[{"name": "cpu", "weight": -1}]),
         "scoringStrategy.resources[0].weight: Invalid value: -1: resource weight of cpu not in valid range (0, 100]"),
        ("NodeResourcesFit", fit(type="RequestedToCapacityRatio"), "scoringStrategy.requestedToCapacityRatio: "
         "Required value: must be specified when type is RequestedToCapacityRatio"),
        ("NodeResourcesFit", fit(requestedToCapacityRatio={}), "scoringStrategy.requestedToCapacityRatio: "
         "Forbidden: must be nil when type is not RequestedToCapacityRatio"),
        ("NodeResourcesFit", ratio(), f"{SHAPE}: Required value: at least one point must be specified"),
        ("NodeResourcesFit", ratio((1, 0), (1, 1), (0, 1)),
         f"{SHAPE}[1].utilization: Invalid value: 1: values must be sorted in increasing order"),
        ("NodeResourcesFit", ratio((-1, 0)), f"{SHAPE}[0].utilization: Invalid value: -1: not in valid range [0, 100]"),
        ("NodeResourcesFit", ratio((101, 0)),
         f"{SHAPE}[0].utilization: Invalid value: 101: not in valid range [0, 100]"),
        ("NodeResourcesFit", ratio((0, 11)), f"{SHAPE}[0].score: Invalid value: 11: not in valid range [0, 10]"),
        ("NodeResourcesBalancedAllocation", {"resources": [{"name": "cpu"}, {"name": "cpu"}]},
         'resources[1].name: Duplicate value: "cpu"'),
        ("NodeResourcesBalancedAllocation", {"resources": [{"name": "cpu", "weight": 2}]},
         "resources[0].weight: Invalid value: 2: must be 1"),
        ("PodTopologySpread", {"defaultingType": "Own"},
         'defaultingType: Unsupported value: "Own": supported values: "System", "List"'),
        ("PodTopologySpread", spread() | {"defaultingType": "System"},
         'defaultingType: Invalid value: "System": when .defaultConstraints are not empty'),
        ("PodTopologySpread", spread(maxSkew=0),
         "defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)"),
        ("PodTopologySpread", spread(topologyKey=""),
         "defaultConstraints[0].topologyKey: Required value: can not be empty"),
        ("PodTopologySpread", spread(topologyKey="a/"),
         'defaultConstraints[0].topologyKey: Invalid value: "a/": name part must be non-empty'),
        ("PodTopologySpread", spread(whenUnsatisfiable=""),
         "defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty"),
        ("PodTopologySpread", spread(whenUnsatisfiable="Wait"), "defaultConstraints[0].whenUnsatisfiable: "
         'Unsupported value: "Wait": supported values: "DoNotSchedule", "ScheduleAnyway"'),
        ("PodTopologySpread", spread(labelSelector={}), "defaultConstraints[0].labelSelector: "
         "Forbidden: constraint must not define a selector, as they deduced for each pod"),
        ("PodTopologySpread", {"defaultingType": "List", "defaultConstraints": spread()["defaultConstraints"] * 2},
         'defaultConstraints[1]: Duplicate value: "{zone, DoNotSchedule}"'),
        ("VolumeBinding", {"bindTimeoutSeconds": -1}, "bindTimeoutSeconds: Invalid value: -1: "
         "invalid BindTimeoutSeconds, should not be a negative value"),
        ("VolumeBinding", {"shape": []}, "shape: Invalid value: []: "
         "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"),
        ("DynamicResources", {"filterTimeout": "-1s"},
         'filterTimeout: Invalid value: "-1s": must be zero or positive'),
        ("DynamicResources", {"bindingTimeout": "999ms"},
         'bindingTimeout: Invalid value: "999ms": must be at least 1 second'),
        ("NodeAffinity", required(operator="Is"), f'{EXPRESSION}.operator: Unsupported value: "Is": '
         'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'),
        ("NodeAffinity", required(values=[]),
         f"{EXPRESSION}.values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"),
        ("NodeAffinity", required(operator="Exists"),
         f'{EXPRESSION}.values: Invalid value: ["x"]: values set must be empty for exists and does not exist'),
        ("NodeAffinity", required(operator="Gt", values=["1", "2"]),
         f"{EXPRESSION}.values: Invalid value: [\"1\",\"2\"]: for 'Gt', 'Lt' operators, exactly one value is required"),
        ("NodeAffinity", required(operator="Lt"),
         f"{EXPRESSION}.values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer"),
        ("NodeAffinity", {"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "preference": {"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}}]}},
         "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchFields[0].operator: "
         'Unsupported value: "Exists": supported values: "In", "NotIn"'),
        ("NodeAffinity", {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": []}]}]}}},
         "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].values: "
         "Invalid value: []: must have one element"),
    ],
)  # fmt: skip
def test_args_that_kube_scheduler_refuses_are_refused_in_its_words(plugin: str, args: Any, problem: str) -> None:
    assert arg_problems(plugin, args)[0] == problem


def test_both_numbers_of_candidates_must_not_be_zero() -> None:
    assert arg_problems("DefaultPreemption", {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0}) == [
        "minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute",
        "minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the same time as minCandidateNodesPercentage",
    ]


def test_names_and_values_of_added_affinity_are_checked() -> None:
    assert arg_problems("NodeAffinity", required(key=""))[0] == (
        f'{EXPRESSION}.key: Invalid value: "": name part must be non-empty'
    )
    [problem] = arg_problems("NodeAffinity", required(values=["-"]))
    assert problem.startswith(f'{EXPRESSION}.values[0]: Invalid value: "-": a valid label must be an empty string or ')


def test_a_preferred_term_without_weight_is_not_looked_at() -> None:
    term = {"preference": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}
    assert args_of("NodeAffinity", {"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}})


def test_resources_fit_is_checked_only_where_it_is_enabled() -> None:
    profile = with_args("NodeResourcesFit", fit(type="Most"))["profiles"][0]
    off = {"plugins": {"multiPoint": {"disabled": named("NodeResourcesFit")}}}
    assert problems(profiles=[profile])
    assert read(profiles=[profile | off]).profiles[0].args["NodeResourcesFit"]["scoringStrategy"]["type"] == "Most"


@pytest.mark.parametrize(
    ("plugin", "args", "problem"),
    [
        ("VolumeBinding", {"bindTimeout": 1}, 'bindTimeout: unknown field; did you mean "bindTimeoutSeconds"?'),
        ("NodeResourcesFit", fit(kind="x"), "scoringStrategy.kind: unknown field"),
        ("NodeResourcesFit", fit(resources=[{"weigth": 1}]),
         'scoringStrategy.resources[0].weigth: unknown field; did you mean "weight"?'),
        ("NodeResourcesFit", fit(requestedToCapacityRatio={"shapes": []}, type="RequestedToCapacityRatio"),
         'scoringStrategy.requestedToCapacityRatio.shapes: unknown field; did you mean "shape"?'),
        ("NodeResourcesFit", {"ignoredResources": "cpu"}, 'ignoredResources: expected a list, got "cpu"'),
        ("NodeResourcesFit", {"ignoredResources": [1]}, "ignoredResources[0]: expected a string, got 1"),
        ("PodTopologySpread", spread(maxskew=1),
         'defaultConstraints[0].maxskew: unknown field; did you mean "maxSkew"?'),
        ("NodeAffinity", {"addedAffinity": {"required": 1}},
         'addedAffinity.required: unknown field; did you mean "requiredDuringSchedulingIgnoredDuringExecution"?'),
        ("NodeAffinity", required(value="x"), f'{EXPRESSION}.value: unknown field; did you mean "values"?'),
        ("DynamicResources", {"filterTimeout": 10},
         "filterTimeout: expected a duration such as 500ms or 1m30s, got 10"),
        ("VolumeBinding", {"kind": "NodeAffinityArgs"}, "kind: args for plugin VolumeBinding were not of type "
         "VolumeBindingArgs.kubescheduler.config.k8s.io, got NodeAffinityArgs.kubescheduler.config.k8s.io"),
        ("VolumeBinding", {"apiVersion": "v1"}, "kind: args for plugin VolumeBinding were not of type "
         "VolumeBindingArgs.kubescheduler.config.k8s.io, got VolumeBindingArgs"),
        ("VolumeBinding", {"apiVersion": "kubescheduler.config.k8s.io/v1beta3"},
         "apiVersion: expected kubescheduler.config.k8s.io/v1, got kubescheduler.config.k8s.io/v1beta3"),
    ],
)  # fmt: skip
def test_args_are_read_strictly(plugin: str, args: Any, problem: str) -> None:
    assert problem in arg_problems(plugin, args)


# ---------------------------------------------------------------------- wasm plugins


def test_args_with_a_guest_url_make_a_wasm_plugin() -> None:
    args = {
        "guestURL": "https://policies.example/p.wasm",
        "guestConfig": '{"a": 1}',
        "logSeverity": 2,
        "args": ["a", "b"],
        "sha256": "sha256:" + "0a" * 32,
        "limits": {"callTimeout": "500ms"},
        "failurePolicy": "Ignore",
    }
    [profile] = read(with_args("policy", args)).profiles
    assert profile.wasm == {
        "policy": WasmPluginSettings(
            guest_url="https://policies.example/p.wasm",
            guest_config='{"a": 1}',
            log_severity=2,
            args=("a", "b"),
            sha256="sha256:" + "0a" * 32,
            limits={"callTimeout": "500ms"},
            failure_policy="Ignore",
        )
    }
    assert "policy" not in profile.args


def test_a_wasm_plugin_needs_nothing_but_a_guest() -> None:
    [profile] = read(with_args("policy", {"guestURL": "file://p.wasm"})).profiles
    assert profile.wasm["policy"] == WasmPluginSettings("file://p.wasm", "", 0, (), None, {}, "Fail")


@pytest.mark.parametrize("url", ["p.wasm", "/p.wasm", "file:///p.wasm", "file://p.wasm", "HTTP://x/p", "https://x/p"])
def test_guests_come_from_files_and_the_web(url: str) -> None:
    assert read(with_args("policy", {"guestURL": url}))


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"guestURL": ""}, "guestURL: Required value"),
        ({"guestURL": 1}, "guestURL: expected a string, got 1"),
        ({"guestURL": "ftp://x/p.wasm"}, 'guestURL: Invalid value: "ftp://x/p.wasm": '
         "must be a path or a file://, http://, https:// or oci:// address"),
        ({"guestURL": "p", "guestConfig": {"a": 1}}, "guestConfig: expected a string, got an object"),
        ({"guestURL": "p", "logSeverity": "info"}, 'logSeverity: expected an integer, got "info"'),
        ({"guestURL": "p", "args": "a"}, 'args: expected a list, got "a"'),
        ({"guestURL": "p", "args": [1]}, "args[0]: expected a string, got 1"),
        ({"guestURL": "p", "sha256": "abc"}, 'sha256: Invalid value: "abc": must be 64 hexadecimal digits'),
        ({"guestURL": "p", "limits": []}, "limits: expected an object, got a list"),
        ({"guestURL": "p", "failurePolicy": "fail"},
         'failurePolicy: Unsupported value: "fail": supported values: "Fail", "Ignore"'),
        ({"guestURL": "p", "limit": {}}, 'limit: unknown field; did you mean "limits"?'),
    ],
)  # fmt: skip
def test_settings_of_a_wasm_plugin_are_read_strictly(args: Any, problem: str) -> None:
    assert arg_problems("policy", args) == [problem]


@pytest.mark.parametrize("name", ["NodeName", "NodeResourcesFit"])
def test_a_built_in_plugin_cannot_be_a_guest(name: str) -> None:
    assert arg_problems(name, {"guestURL": "p.wasm"}) == [
        f"guestURL: {name} is a built-in plugin, give the wasm plugin a name of its own"
    ]


def test_limits_are_judged_by_who_knows_them() -> None:
    document = HEAD | with_args("policy", {"guestURL": "p", "limits": {"memory": "lots"}})
    with pytest.raises(ConfigError) as caught:
        read_config(document, check_limits=lambda limits: f"limits.memory: {limits['memory']} is too much")
    assert str(caught.value) == "profiles[0].pluginConfig[0].args.limits.memory: lots is too much"
    assert read_config(document, check_limits=lambda _: "").profiles[0].wasm["policy"].limits == {"memory": "lots"}
