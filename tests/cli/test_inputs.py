"""Standard input, plugin projects, and the values of `--plugin` in all commands."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
import yaml

from kubewasp.cli.inputs import Inputs
from kubewasp.input_file import StandardInput
from kubewasp.scheduler.configuration import AddedPlugin
from tests.cli.conftest import Kubewasp
from tests.guests.build import EXAMPLES, example
from tests.projects import toolchains
from tests.projects.toolchains import FakeToolchain
from tests.simulation.simulating import node, pod

Stdin = Callable[[str | bytes], None]
Write = Callable[[str, str], Path]
HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
CLUSTER = yaml.safe_dump_all([node("node-1"), node("node-2"), pod("web-2")])


@pytest.fixture
def toolchain(monkeypatch: pytest.MonkeyPatch) -> FakeToolchain:
    return toolchains.installed(monkeypatch)


def config(guest: str) -> str:
    plugin = {"name": "policy", "args": {"guestURL": guest}}
    profile = {"plugins": {"multiPoint": {"enabled": [{"name": "policy"}]}}, "pluginConfig": [plugin]}
    return yaml.safe_dump({**HEAD, "profiles": [profile]})


# ---------------------------------------------------------------------- standard input


def test_manifests_come_from_standard_input(kubewasp: Kubewasp, stdin: Stdin) -> None:
    stdin(CLUSTER)
    ended = kubewasp("simulate", "-", "--plugin", example("nodenumber"), "-o", "json")
    assert ended.json["placements"] == [{"pod": "default/web-2", "node": "node-2"}]
    stdin(CLUSTER)
    assert kubewasp("explain", "web-2", "-", "-o", "json").json["pod"] == "default/web-2"


def test_a_scenario_comes_from_standard_input(kubewasp: Kubewasp, stdin: Stdin, write: Write) -> None:
    stdin(yaml.safe_dump({"kind": "Scenario", "steps": [{"at": 60, "apply": ["later.yaml"]}]}))
    cluster = write("cluster.yaml", yaml.safe_dump(node("a")))
    ended = kubewasp("simulate", cluster, "--scenario", "-")
    assert (ended.code, "later.yaml" in ended.err) == (1, True)  # in the working directory


def test_a_configuration_comes_from_standard_input_and_starts_at_the_working_directory(
    kubewasp: Kubewasp, stdin: Stdin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES)
    stdin(config("nodenumber.wat"))
    [profile] = kubewasp("config", "check", "-", "-o", "json").json["profiles"]
    assert profile["pluginConfig"][-1]["args"]["guestURL"] == str(EXAMPLES / "nodenumber.wat")
    stdin(config("nodenumber.wat"))
    assert kubewasp("extender", "config", "--config", "-", "-o", "json").json["extenders"]
    stdin("guests: {}\nroutes: [{prefix: /, respond: {status: 204}}]\n")
    assert "respond 204" in kubewasp("http", "routes", "--config", "-").out


def test_pods_and_nodes_of_a_call_come_from_standard_input(kubewasp: Kubewasp, stdin: Stdin) -> None:
    samples = ["node-1", "node-2", "node-3"]
    for option, given, nodes in (("--pod", pod("web-2"), samples), ("--node", node("node-2"), ["node-2"])):
        stdin(yaml.safe_dump(given))
        ended = kubewasp("plugin", "call", example("nodenumber"), "score", option, "-", "-o", "json")
        assert (ended.code, ended.err) == (0, "")
        assert [call["node"] for call in ended.json] == nodes


@pytest.mark.parametrize("content", [example("nodenumber").read_bytes(), (EXAMPLES / "nodenumber.wat").read_bytes()])
def test_a_guest_comes_from_standard_input_as_wasm_or_text(content: bytes, kubewasp: Kubewasp, stdin: Stdin) -> None:
    stdin(content)
    assert "score" in kubewasp("plugin", "inspect", "-", "-o", "json").json["hooks"]
    stdin(content)
    assert kubewasp("plugin", "call", "-", "score").code == 0


def test_a_plugin_from_standard_input_is_loaded_for_all_profiles(
    kubewasp: Kubewasp, stdin: Stdin, write: Write
) -> None:
    stdin(example("nodenumber").read_bytes())
    profiles = [{"schedulerName": "default-scheduler"}, {"schedulerName": "other"}]
    path = write("s.yaml", yaml.safe_dump({**HEAD, "profiles": profiles}))
    ended = kubewasp("simulate", write("c.yaml", CLUSTER), "--config", path, "--plugin", "numbers=-", "-o", "json")
    assert ended.json["placements"] == [{"pod": "default/web-2", "node": "node-2"}]


def test_a_plugin_configuration_comes_from_standard_input(kubewasp: Kubewasp, stdin: Stdin, write: Write) -> None:
    stdin("2")  # reserved
    plugin = f"numbers={example('nodenumber')}"
    options = ("--plugin", plugin, "--plugin-config", "numbers=@-", "-o", "json")
    ended = kubewasp("simulate", write("c.yaml", CLUSTER), *options)
    assert ended.json["placements"] == [{"pod": "default/web-2", "node": "node-1"}]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("simulate", "-"), "standard input: document 1: kind is missing"),
        (("config", "check", "-"), "standard input: 2 problems"),
        (("plugin", "inspect", "-"), "standard input: wasm: "),
        (("plugin", "call", example("nodenumber"), "score", "--pod", "-"), "standard input: document 1: kind is"),
        (("http", "routes", "--config", "-"), "standard input: "),
    ],
)
def test_an_error_names_standard_input(
    arguments: tuple[object, ...], error: str, kubewasp: Kubewasp, stdin: Stdin
) -> None:
    stdin("a: 1\n")
    ended = kubewasp(*arguments)
    assert ended.code == 1
    assert ended.err.startswith(f"error: {error}")


@pytest.mark.parametrize(
    "arguments",
    [
        ("simulate", "-", "-"),
        ("simulate", "-", "--config", "-"),
        ("simulate", "-", "--plugin", "a=-"),
        ("explain", "web", "-", "--plugin-config", "a=@-"),
        ("plugin", "call", "-", "score", "--pod", "-"),
        ("plugin", "call", "p.wasm", "score", "--pod", "-", "--node", "-"),
        ("extender", "config", "--config", "-", "--plugin", "-"),
        ("wasi", "run", "--stdin", "-", "-"),
    ],
)
def test_only_one_argument_may_be_standard_input(arguments: tuple[str, ...], kubewasp: Kubewasp, stdin: Stdin) -> None:
    stdin("")
    error = kubewasp(*arguments).usage_error
    assert error.endswith("standard input is read once: only one argument may be -")


# ---------------------------------------------------------------------- values of --plugin


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("p.wasm", AddedPlugin("p", "p.wasm", 0)),
        ("spot=p.wasm", AddedPlugin("spot", "p.wasm", 0)),
        ("p.wasm,weight=5", AddedPlugin("p", "p.wasm", 5)),
        ("spot=p.wasm,weight=5", AddedPlugin("spot", "p.wasm", 5)),
        ("weight=5,spot=p.wasm", AddedPlugin("spot", "p.wasm", 5)),
        ("weight=p.wasm", AddedPlugin("weight", "p.wasm", 0)),
        ("dir/a=b.wasm", AddedPlugin("a=b", "dir/a=b.wasm", 0)),
        ("a,b.wasm", AddedPlugin("a,b", "a,b.wasm", 0)),
        ("https://x.example/p.wasm?a=b,c", AddedPlugin("p", "https://x.example/p.wasm?a=b,c", 0)),
        ("spot=https://x.example/p.wasm?a=b,weight=2", AddedPlugin("spot", "https://x.example/p.wasm?a=b", 2)),
        ("here=there.wasm", AddedPlugin("here=there", "here=there.wasm", 0)),
        ("here=there.wasm,weight=3", AddedPlugin("here=there", "here=there.wasm", 3)),
        ("odd,weight=2", AddedPlugin("odd,weight=2", "odd,weight=2", 0)),
        ("n=here=there.wasm", AddedPlugin("n", "here=there.wasm", 0)),
    ],
)
def test_a_plugin_has_a_name_and_a_weight_and_an_existing_file_wins(
    text: str, found: AddedPlugin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here=there.wasm").touch()
    (tmp_path / "odd,weight=2").touch()
    assert Inputs().plugin(text) == found


def test_a_plugin_on_standard_input_is_called_guest() -> None:
    plugin = Inputs().plugin("-,weight=2")
    assert (plugin.name, plugin.weight) == ("guest", 2)
    assert isinstance(plugin.guest, StandardInput)


@pytest.mark.parametrize("weight", ["0", "-1", "x", "", "1.5", "9" * 30])
def test_a_weight_is_a_positive_integer(weight: str) -> None:
    with pytest.raises(typer.BadParameter, match="weight: expected an integer from 1 to"):
        Inputs().plugin(f"p.wasm,weight={weight}")


@pytest.mark.parametrize("setting", ["wieght=5", "5", "weight"])
def test_another_setting_than_the_weight_is_an_error(setting: str, tmp_path: Path) -> None:
    (tmp_path / "p.wasm").touch()
    for text in (f"{tmp_path}/p.wasm,{setting}", f"mine={tmp_path}/p.wasm,{setting}"):
        with pytest.raises(typer.BadParameter, match=r"unknown setting '.*'; only weight=N may follow the guest"):
            Inputs().plugin(text)


def test_the_weight_counts_also_for_a_plugin_of_the_configuration(
    kubewasp: Kubewasp, write: Write, tmp_path: Path
) -> None:
    cluster = write("c.yaml", CLUSTER)
    guest = example("nodenumber")

    def weight(*options: object) -> int:
        return int(kubewasp("explain", "web-2", cluster, "-o", "json", *options).json["weights"]["policy"])

    configured = write("s.yaml", config(str(guest)))
    assert weight("--config", configured) == 1
    assert weight("--plugin", f"policy={guest},weight=7") == 7
    assert weight("--config", configured, "--plugin", f"policy={guest},weight=7") == 7


# ---------------------------------------------------------------------- plugin projects


def test_a_project_is_built_once_and_used(
    kubewasp: Kubewasp, write: Write, tmp_path: Path, toolchain: FakeToolchain
) -> None:
    folder = toolchains.made(tmp_path / "project").folder
    cluster = write("c.yaml", CLUSTER)
    first = kubewasp("simulate", cluster, "--plugin", folder, "-o", "json")
    assert first.code == 0
    assert re.fullmatch(r"building policy \(Fake\) … \d+\.\d s\n", first.err)
    assert first.json["placements"] == [{"pod": "default/web-2", "node": "node-2"}]
    toolchain.broken = "no compiler"
    second = kubewasp("simulate", cluster, "--plugin", f"mine={folder},weight=2", "-o", "json")
    assert (second.code, second.err) == (0, "")
    compared = kubewasp("simulate", cluster, "--plugin", folder, "--baseline", "-o", "json").json["baseline"]
    assert (compared["name"], len(compared["moved"])) == ("without policy", 1)
    assert "score" in kubewasp("plugin", "inspect", folder, "-o", "json").json["hooks"]
    (folder / "more").write_text("a new source")
    third = kubewasp("simulate", cluster, "--plugin", folder)
    assert third.code == 1
    assert re.fullmatch(r"building policy \(Fake\) … failed after \d+\.\d s\nerror: no compiler\n", third.err)


def test_a_folder_without_a_project_is_an_error(kubewasp: Kubewasp, tmp_path: Path, write: Write) -> None:
    (tmp_path / "empty").mkdir()
    ended = kubewasp("simulate", write("c.yaml", CLUSTER), "--plugin", tmp_path / "empty")
    assert ended.err.startswith(f"error: {tmp_path / 'empty'} is not a plugin project: ")
