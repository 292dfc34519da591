import json
from pathlib import Path
from typing import Any

import pytest

from kubewasp.framework.config.model import (
    ClientConnection,
    ConfigError,
    Extender,
    ExtenderTLS,
    LeaderElection,
    ManagedResource,
    SchedulerConfig,
    WasmPluginSettings,
)
from kubewasp.framework.config.profiles import expanded
from kubewasp.framework.config.reading import MAX_BYTES, default_config, load_config, parse_config, read_config
from kubewasp.k8s.errors import ManifestError
from tests.framework.configs import BUILT_IN_POINTS, HEAD, named, problems, read

HEAD_YAML = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def file_problem(content: str | bytes) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_config(content if isinstance(content, bytes) else content.encode(), "scheduler.yaml")
    return str(caught.value)


# ---------------------------------------------------------------------- the file


def test_a_long_value_is_cut_in_its_problem() -> None:
    text = file_problem(f"{HEAD_YAML}trust: {{required: false, sources: [{{match: 'oci:{'x' * 100_000}'}}]}}\n")
    assert "trust.sources[0].match: Invalid value" in text
    assert "…" in text
    assert len(text) < 3000


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(HEAD_YAML + "parallelism: 4\n")
    config = load_config(path)
    assert (config.parallelism, config.source) == (4, str(path))


def test_json_is_read_as_well() -> None:
    assert parse_config(json.dumps(HEAD | {"parallelism": 3}, indent="\t").encode(), "s.json").parallelism == 3


def test_a_file_that_cannot_be_read_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file or directory"):
        load_config(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="cannot be read: "):
        load_config("a\0b")


def test_a_config_error_is_a_manifest_error() -> None:
    assert issubclass(ConfigError, ManifestError)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "expected one KubeSchedulerConfiguration, found 0 documents"),
        (f"{HEAD_YAML}---\n{HEAD_YAML}", "expected one KubeSchedulerConfiguration, found 2 documents"),
        ("[]", "expected an object, found a list"),
        ("hello", "expected an object, found a string"),
        (b"\xff", "not UTF-8 text: byte 1 is wrong"),
        (b" " * (MAX_BYTES + 1), "larger than 8Mi"),
        (HEAD_YAML + "a: [", "line 4: "),
        (HEAD_YAML + "parallelism: 1\nparallelism: 2", 'line 4: duplicate key "parallelism" in the same object'),
        ('{"kind": "a", "kind": "b"}', 'duplicate key "kind" in the same object'),
        ('{"a": {"b": 1, "b": 1}}', 'duplicate key "b" in the same object'),
        ('{"a": NaN}', "apiVersion: missing"),
        ("{" * 5000, "nested more than 200 deep"),
    ],
    ids=range(12),
)
def test_a_file_that_is_no_configuration_is_refused(content: str | bytes, problem: str) -> None:
    assert problem in file_problem(content)


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("apiVersion", None, "apiVersion: missing: add `apiVersion: kubescheduler.config.k8s.io/v1`"),
        ("kind", None, "kind: missing: add `kind: KubeSchedulerConfiguration`"),
        ("apiVersion", "kubescheduler.config.k8s.io/v1beta3",
         'apiVersion: expected kubescheduler.config.k8s.io/v1, got "kubescheduler.config.k8s.io/v1beta3"'),
        ("apiVersion", 1, "apiVersion: expected kubescheduler.config.k8s.io/v1, got 1"),
        ("kind", "Pod", 'kind: expected KubeSchedulerConfiguration, got "Pod"'),
    ],
)  # fmt: skip
def test_apiversion_and_kind_must_be_right(field: str, value: Any, problem: str) -> None:
    assert problems({field: value, "parallelism": 0}) == [problem]


def test_every_problem_is_told_on_a_line_of_its_own() -> None:
    text = file_problem(HEAD_YAML + "parallelism: x\nprofile: []\npercentageOfNodesToScore: 101\n")
    assert text.splitlines() == [
        "scheduler.yaml: 3 problems",
        '  parallelism: expected an integer, got "x"',
        '  profile: unknown field; did you mean "profiles"?',
        "  percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
    ]


def test_one_problem_is_told_in_one_line() -> None:
    assert file_problem(HEAD_YAML + "parallelism: 1.5") == "scheduler.yaml: parallelism: expected an integer, got 1.5"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"nonsense": 1}, "nonsense: unknown field"),
        ({"Parallelism": 1}, 'Parallelism: unknown field; did you mean "parallelism"?'),
        ({"a b": 1}, '["a b"]: unknown field'),
        ({"parallelism": True}, "parallelism: expected an integer, got true"),
        ({"parallelism": 2**31}, "parallelism: expected a 32-bit integer, got 2147483648"),
        ({"podMaxBackoffSeconds": 2**63}, "podMaxBackoffSeconds: expected a 64-bit integer, got 9223372036854775808"),
        ({"enableProfiling": "yes"}, 'enableProfiling: expected true or false, got "yes"'),
        ({"profiles": {}}, "profiles: expected a list, got an object"),
        ({"profiles": ["a"]}, 'profiles[0]: expected an object, got "a"'),
        ({"profiles": [{"schedulerName": 1}]}, "profiles[0].schedulerName: expected a string, got 1"),
        ({"profiles": [{"plugins": []}]}, "profiles[0].plugins: expected an object, got a list"),
        ({"profiles": [{"plugins": {"scores": {}}}]},
         'profiles[0].plugins.scores: unknown field; did you mean "score"?'),
        ({"profiles": [{"plugins": {"score": {"enable": []}}}]},
         'profiles[0].plugins.score.enable: unknown field; did you mean "enabled"?'),
        ({"profiles": [{"plugins": {"score": {"enabled": [{"name": "A"}, {"name": "B", "weight": "x"}]}}}]},
         'profiles[0].plugins.score.enabled[1].weight: expected an integer, got "x"'),
        ({"profiles": [{"plugins": {"score": {"disabled": ["A"]}}}]},
         'profiles[0].plugins.score.disabled[0]: expected an object, got "A"'),
        ({"profiles": [{"pluginConfig": [{"name": "A", "arg": {}}]}]},
         'profiles[0].pluginConfig[0].arg: unknown field; did you mean "args"?'),
        ({"profiles": [{"pluginConfig": [{"name": "A", "args": "x"}]}]},
         'profiles[0].pluginConfig[0].args: expected an object, got "x"'),
        ({"leaderElection": {"leaseDuration": 15}},
         "leaderElection.leaseDuration: expected a duration such as 500ms or 1m30s, got 15"),
        ({"leaderElection": {"retryPeriod": "soon"}},
         'leaderElection.retryPeriod: expected a duration such as 500ms or 1m30s, got "soon"'),
        ({"leaderElection": {"leaseDuration": "9999999h"}},
         'leaderElection.leaseDuration: expected a duration such as 500ms or 1m30s, got "9999999h"'),
        ({"leaderElection": {"leaseDurations": "1s"}},
         'leaderElection.leaseDurations: unknown field; did you mean "leaseDuration"?'),
        ({"clientConnection": {"qps": "50"}}, 'clientConnection.qps: expected a number, got "50"'),
        ({"clientConnection": {"qps": 1e39}}, "clientConnection.qps: expected a 32-bit number, got 1e+39"),
        ({"clientConnection": {"kubeconfig": "\ud800"}},
         'clientConnection.kubeconfig: expected valid Unicode text, got "\\ud800"'),
        ({"extenders": [{"urlprefix": "x"}]}, 'extenders[0].urlprefix: unknown field; did you mean "urlPrefix"?'),
        ({"extenders": [{"tlsConfig": {"certData": "!"}}]}, "extenders[0].tlsConfig.certData: expected base64 text"),
        ({"extenders": [{"tlsConfig": {"keyData": 7}}]}, "extenders[0].tlsConfig.keyData: expected base64 text"),
        ({"extenders": [{"tlsConfig": {"key": ""}}]},
         'extenders[0].tlsConfig.key: unknown field; did you mean "keyFile"?'),
        ({"extenders": [{"managedResources": [{"name": "a/b", "ignoreByScheduler": True}]}]},
         'extenders[0].managedResources[0].ignoreByScheduler: unknown field; did you mean "ignoredByScheduler"?'),
    ],
)  # fmt: skip
def test_unknown_fields_and_wrong_types_are_refused_with_their_path(fields: dict[str, Any], problem: str) -> None:
    assert problems(fields) == [problem]


def test_null_counts_as_absent() -> None:
    assert read(dict.fromkeys(["parallelism", "profiles", "extenders", "leaderElection", "enableProfiling"])) == read()
    assert read(profiles=[None]) == read()


def test_a_whole_number_may_be_written_with_a_point() -> None:
    assert read(parallelism=4.0).parallelism == 4


# ---------------------------------------------------------------------- defaults


def test_defaults_of_the_settings() -> None:
    config = default_config()
    assert config == SchedulerConfig(
        profiles=config.profiles,
        parallelism=16,
        leader_election=LeaderElection(True, 15.0, 10.0, 2.0, "leases", "kube-scheduler", "kube-system"),
        client_connection=ClientConnection("", "", "application/vnd.kubernetes.protobuf", 50.0, 100),
        enable_profiling=True,
        enable_contention_profiling=True,
        percentage_of_nodes_to_score=0,
        pod_initial_backoff_seconds=1,
        pod_max_backoff_seconds=10,
        extenders=(),
        delay_cache_until_active=False,
    )


def test_settings_of_the_file_are_taken() -> None:
    config = read(
        parallelism=1,
        leaderElection={
            "leaderElect": False,
            "leaseDuration": "1m30s",
            "renewDeadline": "1m",
            "retryPeriod": "500ms",
            "resourceLock": "leases",
            "resourceName": "second",
            "resourceNamespace": "apps",
        },
        clientConnection={"kubeconfig": "k", "acceptContentTypes": "a", "contentType": "c", "qps": -1, "burst": 7},
        enableProfiling=True,
        enableContentionProfiling=False,
        percentageOfNodesToScore=100,
        podInitialBackoffSeconds=2,
        podMaxBackoffSeconds=2,
        delayCacheUntilActive=True,
    )
    assert config.leader_election == LeaderElection(False, 90.0, 60.0, 0.5, "leases", "second", "apps")
    assert config.client_connection == ClientConnection("k", "a", "c", -1.0, 7)
    assert (config.parallelism, config.percentage_of_nodes_to_score) == (1, 100)
    assert (config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds) == (2, 2)
    assert (config.enable_profiling, config.enable_contention_profiling) == (True, False)
    assert config.delay_cache_until_active


def test_zero_and_empty_mean_the_default_where_kubernetes_cannot_tell_them_from_absent() -> None:
    config = read(
        leaderElection={"leaseDuration": "0s", "renewDeadline": "0", "retryPeriod": "0s", "resourceLock": "",
                        "resourceName": "", "resourceNamespace": ""},
        clientConnection={"qps": 0, "burst": 0, "contentType": ""},
    )  # fmt: skip
    assert config == read()


def test_contention_profiling_is_on_by_default_only_with_profiling() -> None:
    assert not read(enableProfiling=False).enable_contention_profiling
    assert read(enableProfiling=False, enableContentionProfiling=True).enable_contention_profiling


def test_without_profiles_there_is_one() -> None:
    for config in (read(), read(profiles=[]), read(profiles=[{}])):
        assert [profile.scheduler_name for profile in config.profiles] == ["default-scheduler"]


def test_a_scheduler_name_has_a_default_only_if_there_is_one_profile() -> None:
    assert problems(profiles=[{}, {"schedulerName": "b"}]) == ["profiles[0].schedulerName: Required value"]
    assert problems(profiles=[{"schedulerName": ""}]) == ["profiles[0].schedulerName: Required value"]


def test_the_percentage_of_a_profile_may_be_absent_or_zero() -> None:
    profiles = [{"schedulerName": "a"}, {"schedulerName": "b", "percentageOfNodesToScore": 0}]
    assert [profile.percentage_of_nodes_to_score for profile in read(profiles=profiles).profiles] == [None, 0]


# ---------------------------------------------------------------------- validation


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"parallelism": 0}, "parallelism: Invalid value: 0: should be an integer value greater than zero"),
        ({"percentageOfNodesToScore": -1}, "percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]"),
        ({"profiles": [{"percentageOfNodesToScore": 101}]},
         "profiles[0].percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"),
        ({"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]},
         "profiles[1].schedulerName: Duplicate value: profiles[0].schedulerName"),
        ({"podInitialBackoffSeconds": 0}, "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"),
        ({"podInitialBackoffSeconds": 11}, "podMaxBackoffSeconds: Invalid value: 10: "
         "must be greater than or equal to PodInitialBackoffSeconds"),
        ({"clientConnection": {"burst": -1}}, "clientConnection.burst: Invalid value: -1: must be non-negative"),
        ({"leaderElection": {"retryPeriod": "-1s"}},
         'leaderElection.retryPeriod: Invalid value: "-1s": must be greater than zero'),
        ({"leaderElection": {"renewDeadline": "-1s"}},
         'leaderElection.renewDeadline: Invalid value: "-1s": must be greater than zero'),
        ({"leaderElection": {"leaseDuration": "10s"}},
         'leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`'),
        ({"leaderElection": {"resourceLock": "endpoints"}},
         'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"'),
        ({"extenders": [{"prioritizeVerb": "p"}]},
         "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"),
        ({"extenders": [{"bindVerb": "b"}, {}, {"bindVerb": "b"}]},
         'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind'),
        ({"extenders": [{"managedResources": [{"name": "cpu"}]}]},
         'extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name'),
        ({"extenders": [{"managedResources": [{"name": "requests.example.com/a"}]}]},
         'extenders[0].managedResources[0].name: Invalid value: "requests.example.com/a": '
         "is an invalid extended resource name"),
        ({"extenders": [{"managedResources": [{"name": "e.com/a"}]}, {"managedResources": [{"name": "e.com/a"}]}]},
         'extenders[1].managedResources[0].name: Invalid value: "e.com/a": duplicate extender managed resource name'),
    ],
)  # fmt: skip
def test_values_that_kube_scheduler_refuses_are_refused_in_its_words(fields: dict[str, Any], problem: str) -> None:
    assert problems(fields) == [problem]


def test_a_managed_resource_must_be_a_qualified_name() -> None:
    [line] = problems(extenders=[{"managedResources": [{"name": "example.com/"}]}])[:1]
    assert line.endswith('Invalid value: "example.com/": name part must be non-empty')


def test_without_leader_election_its_settings_are_not_checked() -> None:
    assert read(leaderElection={"leaderElect": False, "resourceLock": "endpoints", "leaseDuration": "-1s"})


def test_a_rule_about_a_field_that_cannot_be_read_is_not_applied() -> None:
    assert problems(podInitialBackoffSeconds=20, podMaxBackoffSeconds="x") == [
        'podMaxBackoffSeconds: expected an integer, got "x"'
    ]
    assert problems(podInitialBackoffSeconds=20.5, podMaxBackoffSeconds=0) == [
        "podInitialBackoffSeconds: expected an integer, got 20.5"
    ]
    assert problems(profiles=[1, {"schedulerName": "a"}]) == ["profiles[0]: expected an object, got 1"]


@pytest.mark.parametrize("name", ["AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"])
def test_removed_plugins_are_refused_by_name(name: str) -> None:
    said = (
        f'Invalid value: "{name}": was invalid in version "v1" '
        '(KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")'
    )
    enabled = {"plugins": {"filter": {"enabled": named("NodeName", name)}}}
    assert problems(profiles=[enabled]) == [f"profiles[0].plugins.filter.enabled[1]: {said}"]
    assert problems(profiles=[{"pluginConfig": named(name)}]) == [f"profiles[0].pluginConfig[0]: {said}"]
    assert read(profiles=[{"plugins": {"filter": {"disabled": named(name)}}}])


def test_queue_sort_must_be_the_same_in_all_profiles() -> None:
    def sorting(name: str, *plugins: str, **config: Any) -> dict[str, Any]:
        sort = {"queueSort": {"enabled": named(*plugins)}}
        return {"schedulerName": name, "plugins": sort, **config}

    assert read(profiles=[sorting("a", "S"), sorting("b", "S")])
    assert problems(profiles=[sorting("a", "S", "T")]) == [
        "profiles[0].plugins.queueSort.enabled: Invalid value: 2: only one queue sort plugin can be enabled"
    ]
    assert problems(profiles=[sorting("a", "S"), sorting("b", "T")]) == [
        'profiles[1].plugins.queueSort: Invalid value: {"enabled":["T"],"disabled":[]}: '
        "must be the same for all profiles"
    ]
    configured = sorting("b", "S", pluginConfig=[{"name": "S", "args": {"x": 1}}])
    assert problems(profiles=[sorting("a", "S"), configured]) == [
        'profiles[1].pluginConfig.args: Invalid value: {"x":1}: queueSort must be the same for all profiles'
    ]


# ---------------------------------------------------------------------- extenders


def test_all_fields_of_an_extender_are_read() -> None:
    [extender] = read(
        extenders=[
            {
                "urlPrefix": "http://127.0.0.1:8888/scheduler",
                "filterVerb": "filter",
                "preemptVerb": "preempt",
                "prioritizeVerb": "prioritize",
                "weight": 2,
                "bindVerb": "bind",
                "enableHTTPS": True,
                "tlsConfig": {
                    "insecure": True,
                    "serverName": "s",
                    "certFile": "c",
                    "keyFile": "k",
                    "caFile": "a",
                    "certData": "Yw==",
                    "keyData": "aw==",
                    "caData": "YQ==",
                },
                "httpTimeout": "1.5s",
                "nodeCacheCapable": True,
                "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}],
                "ignorable": True,
            }
        ]
    ).extenders
    assert extender == Extender(
        url_prefix="http://127.0.0.1:8888/scheduler",
        filter_verb="filter",
        preempt_verb="preempt",
        prioritize_verb="prioritize",
        weight=2,
        bind_verb="bind",
        enable_https=True,
        tls=ExtenderTLS(True, "s", "c", "k", "a", b"c", b"k", b"a"),
        http_timeout=1.5,
        node_cache_capable=True,
        managed_resources=(ManagedResource("example.com/gpu", True),),
        ignorable=True,
    )
    assert "b'k'" not in repr(extender)


def test_an_extender_has_five_seconds_unless_it_says_otherwise() -> None:
    assert [extender.http_timeout for extender in read(extenders=[{}, {"httpTimeout": "0s"}]).extenders] == [5.0, 5.0]


def test_extenders_that_may_fail_come_last() -> None:
    given = [{"urlPrefix": "a", "ignorable": True}, {"urlPrefix": "b"}, {"urlPrefix": "c", "ignorable": True},
             {"urlPrefix": "d"}]  # fmt: skip
    assert [extender.url_prefix for extender in read(extenders=given).extenders] == ["b", "d", "a", "c"]


def test_resources_that_extenders_look_after_replace_those_ignored_by_node_resources_fit() -> None:
    resources = [{"name": "e.com/a", "ignoredByScheduler": True}, {"name": "e.com/b"}]
    config = read(
        extenders=[{"managedResources": resources},
                   {"managedResources": [{"name": "e.com/c", "ignoredByScheduler": True}]}],
        profiles=[{"schedulerName": "a"}, {"schedulerName": "b", "pluginConfig": [
            {"name": "NodeResourcesFit", "args": {"ignoredResources": ["e.com/z"]}}]}],
    )  # fmt: skip
    ignored = [profile.args["NodeResourcesFit"]["ignoredResources"] for profile in config.profiles]
    assert ignored == [["e.com/a", "e.com/c"], ["e.com/a", "e.com/c"]]


# ---------------------------------------------------------------------- pluginConfig


def test_two_entries_for_one_plugin_are_refused() -> None:
    given = [{"name": "NodeAffinity"}, {"name": "NodeAffinity"}]
    assert problems(profiles=[{"pluginConfig": given}]) == [
        'profiles[0].pluginConfig[1]: Duplicate value: "NodeAffinity"'
    ]


def test_enabled_plugins_have_their_default_args() -> None:
    [profile] = default_config().profiles
    assert sorted(profile.args) == [
        "DefaultPreemption",
        "DynamicResources",
        "InterPodAffinity",
        "NodeAffinity",
        "NodeResourcesBalancedAllocation",
        "NodeResourcesFit",
        "PodTopologySpread",
        "VolumeBinding",
    ]
    [bare] = read(profiles=[{"plugins": {"multiPoint": {"disabled": named("*")}}}]).profiles
    assert bare.args == {}


def test_args_of_a_plugin_that_is_not_built_in_are_kept_as_they_are() -> None:
    args = {"apiVersion": "x", "any": [{"thing": 1.5}], "more": None}
    assert read(profiles=[{"pluginConfig": [{"name": "Own", "args": args}]}]).profiles[0].args["Own"] == args


def test_args_without_end_are_refused() -> None:
    args: Any = {}
    for _ in range(200):
        args = {"a": args}
    path = "profiles[0].pluginConfig[0].args"
    assert problems(profiles=[{"pluginConfig": [{"name": "Own", "args": args}]}]) == [
        f"{path}: nested more than 100 deep"
    ]
    assert problems(profiles=[{"pluginConfig": [{"name": "Own", "args": {"a": ["\ud800"]}}]}]) == [
        f'{path}: expected valid Unicode text, got "\\ud800"'
    ]


def test_a_plugin_that_is_configured_but_not_enabled_gives_a_warning() -> None:
    wasm = {"name": "policy", "args": {"guestURL": "file://policy.wasm"}}
    unused = read(profiles=[{"pluginConfig": [wasm]}])
    assert unused.warnings == (
        'profiles[0].pluginConfig[0]: "policy" is configured but not enabled; '
        "to use it, enable it under plugins.multiPoint",
    )
    used = read(profiles=[{"pluginConfig": [wasm], "plugins": {"multiPoint": {"enabled": named("policy")}}}])
    assert used.warnings == ()


def test_args_that_a_plugin_does_not_take_give_a_warning() -> None:
    config = read(profiles=[{"pluginConfig": [{"name": "NodeName", "args": {"x": 1}}]}])
    assert config.warnings == ("profiles[0].pluginConfig[0].args: NodeName takes no args; they are ignored",)


# ---------------------------------------------------------------------- a wasm plugin on the command line


def test_a_wasm_plugin_can_be_added_to_every_profile() -> None:
    config = read(profiles=[{"schedulerName": "a"}, {"schedulerName": "b"}]).with_wasm_plugin("policy", "p.wasm")
    for profile in config.profiles:
        assert profile.wasm == {"policy": WasmPluginSettings("p.wasm")}
        assert profile.plugins["multiPoint"].enabled[-1].name == "policy"


def test_a_wasm_plugin_that_is_there_gets_another_guest_and_keeps_its_place() -> None:
    entry = {"name": "policy", "args": {"guestURL": "old.wasm", "guestConfig": "c"}}
    plugins = {"score": {"enabled": [{"name": "policy", "weight": 5}]}}
    config = read(profiles=[{"pluginConfig": [entry], "plugins": plugins}])
    [profile] = config.with_wasm_plugin("policy", "new.wasm").profiles
    assert profile.wasm == {"policy": WasmPluginSettings("new.wasm", guest_config="c")}
    assert profile.plugins == config.profiles[0].plugins


@pytest.mark.parametrize("name", ["NodeName", "NodeResourcesFit", "Own"])
def test_a_wasm_plugin_cannot_have_the_name_of_another_plugin(name: str) -> None:
    config = read(profiles=[{"pluginConfig": [{"name": "Own", "args": {"x": 1}}]}])
    with pytest.raises(ConfigError, match=f'"{name}" is the name of another plugin'):
        config.with_wasm_plugin(name, "p.wasm")


def test_wasm_plugins_can_be_left_out() -> None:
    entry = {"name": "policy", "args": {"guestURL": "p.wasm"}}
    plugins = {"score": {"enabled": [{"name": "policy", "weight": 5}, {"name": "NodeName"}]}}
    added = read(profiles=[{"pluginConfig": [entry], "plugins": plugins}]).with_wasm_plugin("other", "o.wasm")
    [profile] = added.without_wasm_plugins().profiles
    assert profile.wasm == {}
    assert [plugin.name for plugin in profile.plugins["score"].enabled] == ["NodeName"]
    assert not {"policy", "other"} & set(profile.plugin_names)


@pytest.mark.parametrize(
    "plugins",
    [
        {"queueSort": {"enabled": [{"name": "policy"}], "disabled": [{"name": "*"}]}},
        {"queueSort": {"disabled": [{"name": "PrioritySort"}]}, "multiPoint": {"enabled": [{"name": "policy"}]}},
        {"multiPoint": {"enabled": [{"name": "policy"}], "disabled": [{"name": "PrioritySort"}]}},
        {"multiPoint": {"enabled": [{"name": "policy"}]}},
    ],
)
def test_without_the_wasm_plugin_that_sorts_the_default_one_does(plugins: dict[str, Any]) -> None:
    entry = {"name": "policy", "args": {"guestURL": "p.wasm"}}
    [profile] = read(profiles=[{"pluginConfig": [entry], "plugins": plugins}]).without_wasm_plugins().profiles
    assert expanded(profile, BUILT_IN_POINTS, percentage=0).names("queueSort") == ("PrioritySort",)


def test_without_the_wasm_plugin_that_binds_the_default_one_does() -> None:
    entry = {"name": "policy", "args": {"guestURL": "p.wasm"}}
    plugins = {"bind": {"enabled": named("policy"), "disabled": named("*")}}
    [profile] = read(profiles=[{"pluginConfig": [entry], "plugins": plugins}]).without_wasm_plugins().profiles
    assert expanded(profile, BUILT_IN_POINTS, percentage=0).names("bind") == ("DefaultBinder",)


def test_a_configuration_can_be_read_without_a_source() -> None:
    with pytest.raises(ConfigError) as caught:
        read_config([])
    assert str(caught.value) == "expected an object, found a list"
    assert str(caught.value.at("f.yaml")) == "f.yaml: expected an object, found a list"
