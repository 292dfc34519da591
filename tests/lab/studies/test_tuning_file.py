"""Documents of tunings: all problems at once by path."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given

from kubewasp.errors import KubewaspError
from kubewasp.framework.config.model import ConfigError
from kubewasp.input_file import HeldFile
from kubewasp.lab.studies import tuning_file
from kubewasp.lab.studies.search_space import Choices, Floats, Integers
from kubewasp.lab.studies.tuning_file import Tuning
from tests.lab.studies.test_sweep_file import VALUES, st

PARAMETER = {"plugin": "NodeResourcesFit", "field": "weight", "from": 1, "to": 10}
VALID: dict[str, Any] = {
    "kind": "Tuning",
    "inputs": [{"name": "a", "manifests": ["cluster.yaml"]}],
    "parameters": [PARAMETER],
    "objectives": [{"minimize": "nodes.used"}],
}


def load(body: object) -> Tuning:
    return tuning_file.load(HeldFile("tuning.yaml", yaml.safe_dump(body).encode(), Path("/folder")))


def problems(body: object) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        load(body)
    return {problem.path: problem.text for problem in caught.value.problems}


def test_domains_follow_from_the_values() -> None:
    args = PARAMETER | {"field": "args.alpha"}
    listed = {"plugin": "P", "field": "args.x", "choices": ["a", 1, True]}
    found = load(VALID | {"parameters": [PARAMETER, args | {"from": 0.5, "scale": "log"}, listed]})
    assert [parameter.domain for parameter in found.parameters] == [
        Integers(1, 10),
        Floats(0.5, 10, is_log=True),
        Choices(("a", 1, True)),
    ]
    assert [parameter.name for parameter in found.parameters] == [
        "NodeResourcesFit.weight",
        "NodeResourcesFit.alpha",
        "P.x",
    ]


def test_seeds_of_the_hold_out_follow_those_of_the_training() -> None:
    assert load(VALID | {"seeds": [5, 9], "holdOut": {"seeds": 2}}).hold_out.seeds == (10, 11)


def test_all_problems_are_named_by_path() -> None:
    body = VALID | {
        "parameters": [
            PARAMETER | {"from": -1},
            {"plugin": "", "field": "wait", "from": "a"},
            {"plugin": "X", "field": "args..a", "choices": []},
            {"plugin": "X", "field": "args.b", "choices": [1, 1], "to": 3},
            {"plugin": "X", "field": "weight", "choices": [1]},
            {"plugin": "X", "field": "args.c", "from": 0, "to": 5, "scale": "log"},
            {"plugin": "X", "field": "args.d", "from": 5, "to": 1, "scale": "cubic"},
        ],
        "objectives": [{"minimize": "nodes"}, {"maximize": {"wait.mean": "x"}}, {"minimize": "a", "maximize": "b"}],
        "constraints": ["pods.pending", "pods.waiting <= 3"],
        "holdOut": {"inputs": ["a", "b"], "after": "1h"},
        "strategy": "guess",
        "budget": {"trials": 0, "time": "0s", "money": 1},
        "seed": -1,
    }
    found = problems(body)
    assert found.keys() == {
        "parameters[0].from",
        "parameters[1].plugin",
        "parameters[1].field",
        "parameters[1].from",
        "parameters[1].to",
        "parameters[2].field",
        "parameters[2].choices",
        "parameters[3].choices",
        "parameters[3].to",
        "parameters[4]",
        "parameters[5].from",
        "parameters[6].to",
        "parameters[6].scale",
        "objectives[0].minimize",
        'objectives[1].maximize["wait.mean"]',
        "objectives[2]",
        "constraints[0]",
        "constraints[1]",
        "holdOut.inputs[1]",
        "holdOut.inputs",
        "holdOut.after",
        "holdOut",
        "strategy",
        "budget.trials",
        "budget.time",
        "budget.money",
        "seed",
    }


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"parameters": []}, "parameters"),
        ({"parameters": [PARAMETER, PARAMETER]}, "parameters[1]"),
        ({"parameters": [PARAMETER | {"plugin": f"P{number}"} for number in range(101)]}, "parameters"),
        ({"objectives": []}, "objectives"),
        ({"objectives": [{"minimize": "nodes.used"}] * 2}, "objectives[1]"),
        ({"objectives": [{"minimize": {}}]}, "objectives[0].minimize"),
        ({"seeds": [1], "holdOut": {"seeds": [1]}}, "holdOut.seeds"),
        ({"configuration": {"plugins": [{"name": "x"}]}}, "configuration.plugins[0].guest"),
    ],
)
def test_a_problem_has_its_place(change: dict[str, object], path: str) -> None:
    assert path in problems(VALID | change)


FIELDS = ["inputs", "parameters", "objectives", "constraints", "holdOut", "budget", "strategy", "seeds", "seed"]


@given(st.dictionaries(st.sampled_from(FIELDS), VALUES))
def test_any_content_is_read_or_refused(body: dict[str, object]) -> None:
    content = yaml.safe_dump(VALID | body, allow_unicode=True).encode(errors="surrogatepass")
    try:
        tuning_file.load(HeldFile("tuning.yaml", content))
    except KubewaspError as error:
        assert str(error).startswith("tuning.yaml: ")  # noqa: PT017
