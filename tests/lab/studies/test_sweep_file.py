"""Documents of sweeps: grids and lists of runs, and all problems at once by path."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.errors import KubewaspError
from kubewasp.framework.config.model import ConfigError
from kubewasp.input_file import HeldFile
from kubewasp.lab.studies import sweep_file
from kubewasp.lab.studies.sweep_file import Sweep, SweepRun

VALID = {
    "kind": "Sweep",
    "inputs": [{"name": "a", "manifests": ["cluster.yaml"]}, {"name": "b", "trace": {"pods": "pods.csv"}}],
    "configurations": [{"name": "default"}, {"name": "other", "config": "scheduler.yaml"}],
}


def load(body: object) -> Sweep:
    return sweep_file.load(HeldFile("sweep.yaml", yaml.safe_dump(body).encode(), Path("/folder")))


def problems(body: object) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        load(body)
    assert str(caught.value).startswith("sweep.yaml: ")
    return {problem.path: problem.text for problem in caught.value.problems}


def test_a_grid_is_inputs_by_configurations_by_seeds() -> None:
    found = load(VALID | {"seeds": 2})
    assert found.runs == tuple(
        SweepRun(name, configuration, seed)
        for name in ("a", "b")
        for configuration in ("default", "other")
        for seed in (0, 1)
    )


def test_seeds_may_be_listed() -> None:
    assert {run.seed for run in load(VALID | {"seeds": [42, 51]}).runs} == {42, 51}


def test_runs_may_be_listed() -> None:
    runs = [{"input": "b", "configuration": "other", "seed": 7}, {"input": "a", "configuration": "default"}]
    assert load(VALID | {"runs": runs}).runs == (SweepRun("b", "other", 7), SweepRun("a", "default", 0))


def test_the_only_input_needs_no_name_in_a_run() -> None:
    body = VALID | {"inputs": VALID["inputs"][:1], "runs": [{"configuration": "other"}]}  # type: ignore[index]
    assert load(body).runs == (SweepRun("a", "other", 0),)


def test_paths_start_at_the_folder_of_the_file() -> None:
    plugins = [{"guest": "policy.wasm", "config": {"a": 1}, "weight": 3}, {"name": "far", "guest": "oci://x.io/p:v1"}]
    found = load(VALID | {"configurations": [{"name": "x", "config": "s.yaml", "plugins": plugins}]})
    [configuration] = found.configurations
    assert found.inputs[0].manifests == (Path("/folder/cluster.yaml"),)
    assert configuration.config == Path("/folder/s.yaml")
    assert [(plugin.name, plugin.guest, plugin.weight) for plugin in configuration.plugins] == [
        ("policy", "/folder/policy.wasm", 3),
        ("far", "oci://x.io/p:v1", 0),
    ]
    assert configuration.plugin_configs == {"policy": '{"a":1}'}


def test_all_problems_are_named_by_path() -> None:
    body = {
        "kind": "Sweep",
        "inputs": [
            {"name": "a b", "manifests": ["x"], "scenary": 1},
            {"name": "t", "trace": {"inflate": {"ratio": 0}, "until": "soon"}},
            {"name": "t"},
        ],
        "configurations": [{"name": "c", "plugins": [{"weight": -1}], "weights": {"X": -2}, "args": {"Y": 3}}],
        "measures": ["pods.pendin", "nothing.*"],
        "seeds": [1, -1],
        "more": 1,
    }
    assert problems(body) == {
        "inputs[0].scenary": 'unknown field; did you mean "scenario"?',
        "inputs[0].name": 'Invalid value: "a b": must be letters, digits, dots, dashes and underscores, at most 63',
        "inputs[1].trace.pods": "Required value: a CSV or Parquet file with a row per pod",
        "inputs[1].trace.inflate.ratio": "Invalid value: 0.0: must be above 0, and at most 1000",
        "inputs[1].trace.until": 'expected a duration such as 500ms or 1m30s, got "soon"',
        "inputs[2].name": "Duplicate value: t",
        "inputs[2].manifests": "Required value: or a trace",
        "configurations[0].plugins[0].guest": "Required value: a .wasm or .wat file, a URL or a plugin project",
        "configurations[0].plugins[0].weight": "Invalid value: -1: must not be negative",
        "configurations[0].weights.X": "Invalid value: -2: must not be negative",
        "configurations[0].args.Y": "expected an object, got 3",
        "measures[0]": 'no measure "pods.pendin"; did you mean "pods.pending"?',
        "measures[1]": 'no measure "nothing.*"',
        "seeds[1]": "expected a seed from 0 to 2**63-1, got -1",
        "more": "unknown field",
    }


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"kind": "Swap"}, "kind"),
        ({"apiVersion": "v2"}, "apiVersion"),
        ({"inputs": []}, "inputs"),
        ({"configurations": None}, "configurations"),
        ({"seeds": 0}, "seeds"),
        ({"seeds": "ten"}, "seeds"),
        ({"seeds": [1, 1]}, "seeds"),
        ({"seeds": 50_000}, ""),
        ({"runs": [{"input": "a", "configuration": "defalt"}]}, "runs[0].configuration"),
        ({"runs": [{"configuration": "default"}]}, "runs[0].input"),
        ({"runs": [{"input": "a", "configuration": "default"}] * 2}, "runs[1]"),
        ({"runs": [], "seeds": 3}, "seeds"),
        ({"configurations": [{"name": f"c{number}"} for number in range(1001)]}, "configurations"),
    ],
)
def test_a_problem_has_its_place(change: dict[str, object], path: str) -> None:
    assert path in problems(VALID | change)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["inputs", "configurations", "seeds", "runs", "measures"]), VALUES))
def test_any_content_is_read_or_refused(body: dict[str, object]) -> None:
    content = yaml.safe_dump(VALID | body, allow_unicode=True).encode(errors="surrogatepass")
    try:
        sweep_file.load(HeldFile("sweep.yaml", content))
    except KubewaspError as error:
        assert str(error).startswith("sweep.yaml: ")  # noqa: PT017
