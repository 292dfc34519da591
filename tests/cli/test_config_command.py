from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Kubewasp
from tests.guests.build import example, wat, wat_text

Write = Callable[[str, str], Path]

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def policy(guest: object, args: str = "", enabled: str = "multiPoint: {enabled: [{name: policy, weight: 5}]}") -> str:
    return f"""{HEAD}
profiles:
- schedulerName: wasm-scheduler
  plugins: {{{enabled}}}
  pluginConfig:
  - name: policy
    args: {{guestURL: "{guest}"{args}}}
"""


def test_the_table_shows_settings_points_and_args(kubewasp: Kubewasp, write: Write) -> None:
    ended = kubewasp("config", "check", write("s.yaml", HEAD + "parallelism: 3\n"))
    assert (ended.code, ended.err) == (0, "")
    lines = [" ".join(line.split()) for line in ended.out.splitlines()]
    assert "parallelism 3" in lines
    assert "leader election lease kube-system/kube-scheduler, duration 15s, renew deadline" in lines
    assert "profile default-scheduler" in lines
    assert "nodes to score all" in lines
    assert "postFilter DynamicResources, DefaultPreemption" in lines
    assert any(line.startswith("score TaintToleration ×3, NodeAffinity ×2, NodeResourcesFit ×1,") for line in lines)
    assert "VolumeBinding {bindTimeoutSeconds: 600}" in lines
    assert not any(line.startswith("permit") for line in lines)


def test_the_table_says_which_nodes_are_scored(kubewasp: Kubewasp, write: Write) -> None:
    def shown(text: str) -> list[str]:
        lines = (" ".join(line.split()) for line in kubewasp("config", "check", write("s.yaml", text)).out.splitlines())
        return [line for line in lines if line.startswith("nodes to score")]

    # As an SDK builds it: a hook that the plugin does not implement, beside the import.
    unimplemented = wat_text("""
      (module
        (import "kubewasp/v1" "pod_signature" (func $sign (param i32 i32)))
        (import "kubewasp/v1" "implemented" (func $implemented (param i32)))
        (memory (export "memory") 1)
        (func (export "_initialize") (call $implemented (i32.const 16)))
        (func (export "filter") (result i32) i32.const 0)
        (func (export "signpod") (result i64) i64.const 1))
    """)
    assert shown(policy(unimplemented)) == ["nodes to score adaptive sample, for policy"]
    unsigned, signed, bound = wat("score"), example("prefer_label"), wat("bind")
    assert shown(policy(unsigned)) == ["nodes to score adaptive sample, for policy"]
    assert shown(policy(signed)) == ["nodes to score all"]
    assert shown(policy(bound)) == ["nodes to score all"]
    assert shown(policy(unsigned) + "percentageOfNodesToScore: 30") == ["nodes to score 30%"]


def test_the_table_shows_extenders(kubewasp: Kubewasp, write: Write) -> None:
    extenders = "extenders: [{urlPrefix: http://a, filterVerb: f, prioritizeVerb: p, weight: 2, ignorable: true}]\n"
    ended = kubewasp("config", "check", write("s.yaml", HEAD + extenders + "leaderElection: {leaderElect: false}\n"))
    lines = [" ".join(line.split()) for line in ended.out.splitlines()]
    assert "extender http://a: filter, prioritize (weight 2); ignorable" in lines
    assert "leader election off" in lines


def test_json_and_yaml_are_the_configuration_in_effect(kubewasp: Kubewasp, write: Write) -> None:
    path = write("s.yaml", HEAD + "percentageOfNodesToScore: 40\n")
    as_json = kubewasp("config", "check", path, "-o", "json").json
    assert yaml.safe_load(kubewasp("config", "check", path, "-o", "yaml").out) == as_json
    [profile] = as_json["profiles"]
    assert profile["percentageOfNodesToScore"] == 40
    assert profile["plugins"]["multiPoint"] == {"disabled": [{"name": "*"}]}
    assert profile["plugins"]["bind"] == {"enabled": [{"name": "DefaultBinder"}]}
    assert profile["plugins"]["score"]["enabled"][0] == {"name": "TaintToleration", "weight": 3}
    again = write("again.yaml", yaml.safe_dump(as_json))
    assert kubewasp("config", "check", again, "-o", "json").json == as_json


def test_the_default_configuration_is_a_file_to_start_from(kubewasp: Kubewasp, write: Write) -> None:
    ended = kubewasp("config", "default")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("# ")
    empty, full = write("empty.yaml", HEAD), write("full.yaml", ended.out)
    assert kubewasp("config", "check", full, "-o", "json").json == kubewasp("config", "check", empty, "-o", "json").json


def test_errors_are_told_with_their_paths(kubewasp: Kubewasp, write: Write) -> None:
    path = write("s.yaml", HEAD + "parallelism: 0\nprofiles: [{plugins: {score: {enabled: [{name: A, weight: x}]}}}]\n")
    ended = kubewasp("config", "check", path)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.splitlines() == [
        f"error: {path}: 2 problems",
        '  profiles[0].plugins.score.enabled[0].weight: expected an integer, got "x"',
        "  parallelism: Invalid value: 0: should be an integer value greater than zero",
    ]


def test_a_file_that_is_not_there_is_an_error(kubewasp: Kubewasp, tmp_path: Path) -> None:
    ended = kubewasp("config", "check", tmp_path / "none.yaml")
    assert (ended.code, ended.err) == (1, f"error: {tmp_path}/none.yaml: cannot be read: No such file or directory\n")


def test_an_unknown_plugin_is_an_error(kubewasp: Kubewasp, write: Write) -> None:
    path = write("s.yaml", HEAD + "profiles: [{plugins: {score: {enabled: [{name: Nope}]}}}]\n")
    ended = kubewasp("config", "check", path)
    assert (ended.code, ended.err) == (
        1,
        f'error: {path}: profiles[0].plugins.score: ScorePlugin "Nope" does not exist\n',
    )


def test_a_wasm_plugin_stands_where_its_guest_has_hooks(kubewasp: Kubewasp, write: Write) -> None:
    path = write("s.yaml", policy(wat("all_hooks"), ", guestConfig: hello, limits: {memory: 64Mi}"))
    [profile] = kubewasp("config", "check", path, "-o", "json").json["profiles"]
    points = [point for point, plugins in profile["plugins"].items()
              if any(plugin["name"] == "policy" for plugin in plugins.get("enabled", ()))]  # fmt: skip
    assert sorted(points) == sorted(
        ["preFilter", "filter", "postFilter", "preScore", "score", "reserve", "permit", "preBind", "bind", "postBind"]
    )
    assert profile["plugins"]["score"]["enabled"][-1] == {"name": "policy", "weight": 5}
    assert profile["pluginConfig"][-1]["args"]["guestConfig"] == "hello"
    assert "policy (wasm) ×5" in " ".join(kubewasp("config", "check", path).out.split())


def test_a_guest_that_cannot_be_loaded_is_an_error(kubewasp: Kubewasp, write: Write) -> None:
    path = write("s.yaml", policy("nowhere.wasm"))
    ended = kubewasp("config", "check", path)
    tried = path.parent / "nowhere.wasm"
    assert ended.code == 1
    assert ended.err == (
        f'error: {path}: profiles[0]: plugin "policy": wasm: cannot load {tried}: No such file or directory\n'
    )


@pytest.mark.parametrize("prefix", ["", "file://", "file:"])
def test_a_relative_guest_is_beside_the_file_wherever_the_command_runs(
    prefix: str, kubewasp: Kubewasp, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "guests").mkdir()
    (tmp_path / "guests" / "p.wasm").write_bytes(wat("filter").read_bytes())
    configured = write("s.yaml", policy(f"{prefix}guests/p.wasm"))
    monkeypatch.chdir(tmp_path / "guests")
    effective = kubewasp("config", "check", configured, "-o", "yaml")
    assert (effective.code, effective.err) == (0, "")
    # the effective configuration is a file for any folder
    again = tmp_path / "guests" / "again.yaml"
    again.write_text(effective.out, encoding="utf-8")
    assert kubewasp("config", "check", "again.yaml", "-o", "yaml").out == effective.out


def test_limits_of_a_guest_are_checked(kubewasp: Kubewasp, write: Write) -> None:
    ended = kubewasp("config", "check", write("s.yaml", policy("p.wasm", ", limits: {callTimeout: soon, x: 1}")))
    path = "profiles[0].pluginConfig[0].args.limits.callTimeout"
    assert f"{path}: expected a duration such as 500ms or 1m30s, got 'soon'" in ended.err


def test_a_wasm_plugin_that_is_not_enabled_is_a_warning(kubewasp: Kubewasp, write: Write) -> None:
    ended = kubewasp(
        "config", "check", write("s.yaml", policy("http://me:secret@nowhere/p.wasm", enabled="")), "-o", "yaml"
    )
    assert ended.code == 0
    assert ended.err == (
        'warning: profiles[0].pluginConfig[0]: "policy" is configured but not enabled; '
        "to use it, enable it under plugins.multiPoint\n"
    )
    assert "secret" not in ended.out
    assert "http://nowhere/p.wasm" in ended.out
