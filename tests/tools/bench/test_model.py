import json
from pathlib import Path

import pytest

from tests.tools.bench import example
from tools.bench import model
from tools.bench.machine import machine, versions
from tools.bench.model import Measurement, Result, ResultError, Skipped


def test_a_result_that_was_written_is_read_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(example.result(peers=False).as_json(), encoding="utf-8")
    assert model.read(path) == example.result(peers=False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[]", "no `format`"),
        ('{"format": 99}', "format 99 is not known"),
        ('{"format": 1}', "not a benchmark result"),
    ],
)
def test_a_file_that_is_no_result_is_named_with_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(ResultError, match=said) as caught:
        model.read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [("values", [], "no values"), ("layer", "other", "none of plugin"), ("better", "odd", "not lower or higher")],
)
def test_a_measurement_that_makes_no_sense_is_refused(tmp_path: Path, field: str, value: object, said: str) -> None:
    document = json.loads(example.result(scheduler=False).as_json())
    document["measurements"][3][field] = value
    path = tmp_path / "result.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ResultError, match=said):
        model.read(path)


def test_a_file_that_is_not_there_is_an_error_for_the_user(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="No such file"):
        model.read(tmp_path / "missing.json")


def test_a_fresh_layer_replaces_the_old_one_and_leaves_the_others() -> None:
    kept = example.result(plugin=False, counts=False)
    old = len(kept.measurements)
    kept.put("plugin", Result(measurements=[Measurement("plugin", {}, "first_cycle", "µs", (1.0,))]))
    kept.put(
        "plugin",
        Result(
            measurements=[Measurement("plugin", {}, "first_cycle", "µs", (2.0,))],
            skipped=[Skipped("plugin", "go", "no Go")],
            seconds={"plugin": 3.0},
        ),
    )
    assert [one.values for one in kept.select("plugin", "first_cycle")] == [(2.0,)]
    assert len(kept.measurements) == old + 1
    assert [one.layer for one in kept.skipped] == ["scheduler", "plugin"]
    assert kept.seconds == {"scheduler": 5_400.0, "plugin": 3.0}


def test_the_machine_is_told_without_whose_it_is(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text(
        "processor\t: 0\nmodel name\t: Example  CPU @ 3 GHz\n\nprocessor\t: 1\nmodel name\t: Example  CPU\n"
    )
    found = machine(info)
    assert found["cpu"] == "Example CPU @ 3 GHz"
    assert set(found) == {"cpu", "cores", "memory_gib", "system"}
    assert int(found["cores"]) >= 1


def test_a_processor_that_has_no_name_is_told_by_its_architecture(tmp_path: Path) -> None:
    assert machine(tmp_path / "missing")["cpu"]


def test_versions_are_of_what_has_a_part_in_the_figures() -> None:
    found = versions()
    assert {"kubewasp", "python", "wasmtime", "numpy", "protobuf", "kubernetes"} <= set(found)
    assert all(text[0].isdigit() for text in found.values())
