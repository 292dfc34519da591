"""`kubewasp sweep`: results once, in one table that depends on the content alone."""

import base64
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet
import pytest
import yaml

from kubewasp.lab.experiments import experiment_worker
from tests.cli.conftest import Kubewasp
from tests.guests.build import ROOT, wat
from tests.lab.studies.inline_engine import InlineEngine

SMALL = ROOT / "examples" / "clusters" / "small.yaml"
COMMAND = Path(sys.executable).parent / "kubewasp"


@pytest.fixture(autouse=True)
def _one_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting workers takes most of the time of a small sweep."""
    if "real_workers" not in request.fixturenames:
        monkeypatch.setattr("kubewasp.cli.sweep.ExperimentPool", lambda inputs, *_: InlineEngine(inputs))


@pytest.fixture
def real_workers() -> None: ...


def sweep(folder: Path, **changes: Any) -> Path:
    body = {
        "kind": "Sweep",
        "inputs": [{"name": "small", "manifests": ["small.yaml"]}],
        "configurations": [{"name": "default"}, {"name": "packed", "weights": {"NodeResourcesFit": 5}}],
        "seeds": 2,
        **changes,
    }
    if not (folder / "small.yaml").exists():
        shutil.copy(SMALL, folder / "small.yaml")
    file = folder / "sweep.yaml"
    file.write_text(yaml.safe_dump(body))
    return file


def rows(folder: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (folder / "results.jsonl").read_bytes().splitlines()]


def result(kubewasp: Kubewasp, *words: object, code: int = 0) -> dict[str, Any]:
    ended = kubewasp("sweep", *words, "--processes", "1", "-o", "json")
    assert (ended.code, ended.err) == (code, "")
    found: dict[str, Any] = orjson.loads(ended.out)
    return found


@pytest.mark.usefixtures("real_workers")
def test_a_sweep_has_a_row_per_run_and_a_manifest(kubewasp: Kubewasp, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = result(kubewasp, sweep(tmp_path), "--out", out)
    assert (found["runs"], found["done"], found["doneBefore"], found["failures"]) == (4, 4, 0, [])
    table = rows(out)
    assert [(row["input"], row["configuration"], row["seed"]) for row in table] == [
        ("small", "default", 0),
        ("small", "default", 1),
        ("small", "packed", 0),
        ("small", "packed", 1),
    ]
    assert all(row["pods.placed"] > 0 for row in table)
    manifest = orjson.loads((out / "manifest.json").read_bytes())
    assert manifest["table"]["rows"] == manifest["runs"] == 4
    assert manifest["table"]["columns"] == list(table[0])
    assert not (out / "failures.jsonl").exists()


def test_what_was_done_is_not_done_again(kubewasp: Kubewasp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    result(kubewasp, sweep(tmp_path, seeds=1), "--out", out)
    first = (out / "results.jsonl").read_bytes()
    found = result(kubewasp, sweep(tmp_path), "--out", out)
    assert (found["done"], found["doneBefore"]) == (4, 2)
    monkeypatch.setattr("kubewasp.cli.sweep.ExperimentPool", None)  # not needed
    names = [{"name": "a"}, {"name": "b", "weights": {"NodeResourcesFit": 5}}]
    found = result(kubewasp, sweep(tmp_path, configurations=names), "--out", out)
    assert found["doneBefore"] == 4
    result(kubewasp, sweep(tmp_path, seeds=1), "--out", out)
    assert (out / "results.jsonl").read_bytes() == first


def test_a_change_of_an_input_or_a_guest_is_another_run(kubewasp: Kubewasp, tmp_path: Path) -> None:
    out, guest = tmp_path / "out", tmp_path / "policy.wasm"
    shutil.copy(wat("filter"), guest)
    plugins = [{"name": "policy", "plugins": [{"guest": "policy.wasm"}]}]
    file = sweep(tmp_path, configurations=plugins, seeds=1)
    assert result(kubewasp, file, "--out", out)["doneBefore"] == 0
    assert result(kubewasp, file, "--out", out)["doneBefore"] == 1
    guest.write_bytes(guest.read_bytes() + b"\x00\x02\x01a")  # a custom section
    assert result(kubewasp, file, "--out", out)["doneBefore"] == 0
    with (tmp_path / "small.yaml").open("a") as manifests:
        manifests.write("\n# changed\n")
    assert result(kubewasp, file, "--out", out)["doneBefore"] == 0


def test_shards_make_the_table_of_the_whole(kubewasp: Kubewasp, tmp_path: Path) -> None:
    file = sweep(tmp_path, seeds=1)
    whole, parts = tmp_path / "whole", [tmp_path / "0", tmp_path / "1"]
    result(kubewasp, file, "--out", whole)
    for index, part in enumerate(parts):
        assert result(kubewasp, file, "--shard", f"{index}/2", "--out", part)["runs"] == 1
        assert not (part / "results.jsonl").exists()
    collected = tmp_path / "collected"
    result(kubewasp, file, "--collect", parts[0], "--collect", parts[1], "--out", collected)
    for name in ("results.jsonl", "manifest.json"):
        assert (collected / name).read_bytes() == (whole / name).read_bytes()


def test_collecting_less_than_all_names_what_is_missing(kubewasp: Kubewasp, tmp_path: Path) -> None:
    file, part = sweep(tmp_path, seeds=1), tmp_path / "0"
    result(kubewasp, file, "--shard", "0/2", "--out", part)
    ended = kubewasp("sweep", file, "--collect", part, "--out", tmp_path / "out")
    assert ended.code == 1
    assert "missing  1 run\n" in ended.out
    manifest = orjson.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert manifest["missing"] == [{"input": "small", "configuration": "packed", "seed": 0}]


def test_a_table_may_be_parquet(kubewasp: Kubewasp, tmp_path: Path) -> None:
    out = tmp_path / "out"
    file = sweep(tmp_path, seeds=1, measures=["pods.placed", "requested.end.*"])
    result(kubewasp, file, "--out", out)
    result(kubewasp, file, "--out", out, "--table", "parquet")
    table = pyarrow.parquet.read_table(out / "results.parquet")
    assert table.column_names[:5] == ["input", "configuration", "seed", "key", "pods.placed"]
    assert all(name.startswith("requested.end.") for name in table.column_names[5:])
    assert table.to_pylist() == rows(out)


def test_failures_are_kept_apart(kubewasp: Kubewasp, tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples/traces/pods.csv", tmp_path)
    inputs = [{"name": "bad", "trace": {"pods": "pods.csv"}}, {"name": "small", "manifests": ["small.yaml"]}]
    file = sweep(tmp_path, inputs=inputs, configurations=[{"name": "default"}], seeds=1)
    ended = kubewasp("sweep", file, "--processes", "1", "--out", tmp_path / "out")
    assert ended.code == 1
    assert "bad    default           0  " in ended.out
    assert "failed   1 run\n" in ended.out
    assert [row["input"] for row in rows(tmp_path / "out")] == ["small"]
    [failure] = map(orjson.loads, (tmp_path / "out" / "failures.jsonl").read_bytes().splitlines())
    assert "no nodes to run on" in failure["error"]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Background jobs of a shell ignore the signal, and so do their children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    file, out = sweep(tmp_path, seeds=5000), tmp_path / "out"
    command = [COMMAND, "sweep", file, "--processes", "1", "--out", out]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0) as process:
        while process.poll() is None and not list(out.rglob("*.json")):
            os.sched_yield()
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()
    assert process.returncode == 130
    found = re.fullmatch(
        rf"interrupted: ([0-9,]+) of 10,000 runs are in {out}; the same command goes on\n", told.decode()
    )
    assert found, told
    kept = len(list(out.rglob("[0-9a-f]*.json")))
    assert kept - 1 <= int(found[1].replace(",", "")) <= kept
    assert not list(out.rglob(".*"))


def test_the_default_folder_has_the_name_of_the_file(
    kubewasp: Kubewasp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert result(kubewasp, sweep(tmp_path, seeds=1))["results"] == "sweep.results/results.jsonl"


@pytest.mark.parametrize("shard", ["3", "2/2", "-1/2", "a/b", "1/99999999"])
def test_a_wrong_shard_is_wrong_usage(kubewasp: Kubewasp, tmp_path: Path, shard: str) -> None:
    assert kubewasp("sweep", sweep(tmp_path), f"--shard={shard}").usage_error.startswith(
        "invalid value for --shard: expected"
    )


def test_an_error_of_the_operating_system_names_its_file() -> None:
    reply = experiment_worker.answered(Path("/nowhere/at/all").read_bytes)
    assert reply.error == "/nowhere/at/all: No such file or directory"


def test_the_pods_of_a_job_make_the_table_of_the_whole(kubewasp: Kubewasp, tmp_path: Path) -> None:
    file = sweep(tmp_path, seeds=1)
    whole = tmp_path / "whole"
    result(kubewasp, file, "--out", whole)
    ended = kubewasp("sweep", file, "--job", "2", "--job-image", "registry.example/kubewasp:1")
    assert (ended.code, ended.err) == (0, "")
    config_map, job = yaml.safe_load_all(ended.out)
    pod = job["spec"]["template"]["spec"]
    inputs = tmp_path / "mounted"
    for item in pod["volumes"][0]["configMap"]["items"]:
        place = inputs / item["path"]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(base64.b64decode(config_map["binaryData"][item["key"]]))
    logs = tmp_path / "records.jsonl"
    with logs.open("w") as lines:
        for index in range(2):
            places = {"/inputs": str(inputs), "/results": str(tmp_path / f"pod-{index}")}
            words = [word.replace("$(JOB_COMPLETION_INDEX)", str(index)) for word in pod["containers"][0]["args"]]
            for mounted, place in places.items():
                words = [word.replace(mounted, place, 1) if word.startswith(mounted) else word for word in words]
            ended = kubewasp(*words)
            assert (ended.code, ended.err) == (0, "")
            lines.write("warning: another line of a log\n" + ended.out)
    collected = tmp_path / "collected"
    result(kubewasp, file, "--collect", logs, "--out", collected)
    assert (collected / "results.jsonl").read_bytes() == (whole / "results.jsonl").read_bytes()
    assert result(kubewasp, file, "--out", collected)["doneBefore"] == 2  # collected results are kept


def test_a_job_can_be_simulated(kubewasp: Kubewasp, tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(kubewasp("sweep", sweep(tmp_path), "--job", "3").out)
    node = {"cpu": "8", "memory": "8Gi", "pods": "20"}
    nodes = tmp_path / "nodes.yaml"
    nodes.write_text(
        yaml.safe_dump({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "status": {"allocatable": node}})
    )
    ended = kubewasp("simulate", job, nodes, "--strict", "-o", "json")
    assert ended.code == 0, ended.err
    assert len(orjson.loads(ended.out)["placements"]) == 3


@pytest.mark.parametrize(
    "options",
    [
        ("--dask", "tcp://x:1", "--ray", "auto"),
        ("--processes", "2", "--dask", "tcp://x:1"),
        ("--shard", "0/2", "--collect", "."),
    ],
)
def test_options_that_exclude_each_other_are_wrong_usage(
    kubewasp: Kubewasp, tmp_path: Path, options: tuple[str, ...]
) -> None:
    assert "exclude each other" in kubewasp("sweep", sweep(tmp_path), *options).usage_error


@pytest.mark.parametrize(("option", "extra"), [("--dask", "dask"), ("--ray", "ray")])
def test_an_engine_that_is_not_installed_is_one_line(
    kubewasp: Kubewasp, tmp_path: Path, option: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setitem(sys.modules, "ray", None)
    ended = kubewasp("sweep", sweep(tmp_path), option, "tcp://127.0.0.1:1", "--out", tmp_path / "out")
    assert (ended.code, ended.out) == (1, "")
    assert f"run `pip install 'kubewasp[{extra}]'`" in ended.err
