"""Traces: rows as pods and nodes, maps and presets, and the place of every bad value."""

import csv
import gzip
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.lab.traces.trace import Trace, TracePod, in_order
from kubewasp.lab.traces.trace_errors import TraceError
from kubewasp.lab.traces.trace_map import PRESETS, TraceMap, load, parse

GPU = "kubewasp.dev/gpu-milli"
OPENB = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
SMALL = parse({"pods": {"name": "id", "arrival": "at", "duration": "time", "requests": {"cpu": "cpu"}}})


def written(folder: Path, *lines: str, name: str = "pods.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


def read(path: Path, mapping: TraceMap = SMALL) -> list[TracePod]:
    return list(Trace(path, mapping).pods())


def requests(pod: TracePod) -> dict[str, str]:
    found: dict[str, str] = pod.spec["containers"][0]["resources"]["requests"]
    return found


# ---------------------------------------------------------------------- pods and nodes


def test_a_row_of_openb_is_a_pod(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        OPENB,
        "openb-pod-0000,12000,16384,1,460,V100M16|V100M32,LS,Running,1000,5000,1100",
        "openb-pod-0001,500,1024,0,0,,BE,Running,1060,2000,1060",
        "openb-pod-0002,8000,4096,2,1000,,Guaranteed,Running,1060,,1060",
    )
    first, second, third = read(path, PRESETS["openb"])
    assert requests(first) == {"cpu": "12", "memory": "16Gi", GPU: "460"}
    assert (first.name, first.arrival, first.duration, first.labels) == ("openb-pod-0000", 0, 3900, {"qos": "LS"})
    terms = first.spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    expected = {"key": "gpu-model", "operator": "In", "values": ["V100M16", "V100M32"]}
    assert terms == {"nodeSelectorTerms": [{"matchExpressions": [expected]}]}
    assert requests(second) == {"cpu": "500m", "memory": "1Gi"}
    assert (second.arrival, "affinity" in second.spec) == (60, False)
    assert requests(third)[GPU] == "2k"
    assert third.duration is None


def test_a_row_of_openb_is_a_node(tmp_path: Path) -> None:
    pods = written(tmp_path, OPENB)
    nodes = written(
        tmp_path, "sn,cpu_milli,memory_mib,gpu,model", "node-1,64000,262144,2,P100", "node-2,32000,1024,0,", name="n"
    )
    first, second = Trace(pods, PRESETS["openb"], nodes).nodes()
    assert first["metadata"]["labels"] == {"kubernetes.io/hostname": "node-1", "gpu-model": "P100"}
    assert first["status"]["allocatable"] == {"cpu": "64", "memory": "256Gi", GPU: "2k", "pods": "1k"}
    assert GPU not in second["status"]["allocatable"]
    assert "gpu-model" not in second["metadata"]["labels"]


def test_the_generic_preset_takes_the_columns_that_are_there(tmp_path: Path) -> None:
    path = written(tmp_path, "arrival,cpu,app", "2026-01-05T12:00:00Z,500m,web", "2026-01-05T12:01:30Z,2,")
    first, second = read(path, PRESETS["generic"])
    assert (first.name, first.labels, requests(first)) == ("pod-1", {"app": "web"}, {"cpu": "500m"})
    assert (second.arrival, second.duration, second.labels) == (90, None, {})


def test_pods_of_one_shape_share_their_spec(tmp_path: Path) -> None:
    one, other, third = read(written(tmp_path, "id,at,time,cpu", "a,0,1,1", "b,0,1,1000m", "c,0,1,2"))
    assert one.spec is other.spec
    assert one.spec is not third.spec


def test_a_trace_may_be_compressed(tmp_path: Path) -> None:
    path = tmp_path / "pods.csv.gz"
    path.write_bytes(gzip.compress(b"id,at,time,cpu\na,0,1m,1\n"))
    assert read(path)[0].duration == 60


def test_a_trace_may_be_parquet(tmp_path: Path) -> None:
    path = tmp_path / "pods.parquet"
    table = pyarrow.table({"id": ["a", "b"], "at": [0, 5], "time": [1.5, None], "cpu": [2, 4]})
    pyarrow.parquet.write_table(table, path)
    first, second = read(path)
    assert (first.duration, second.duration, second.arrival, requests(second)) == (1.5, None, 5, {"cpu": "4"})


def test_names_become_names_of_kubernetes(tmp_path: Path) -> None:
    assert read(written(tmp_path, "id,at,time,cpu", "Job_7/Task 1,0,1,1"))[0].name == "job-7-task-1"


def test_pods_out_of_order_are_refused(tmp_path: Path) -> None:
    trace = Trace(written(tmp_path, "id,at,time,cpu", "a,5,1,1", "b,3,1,1"), SMALL)
    with pytest.raises(TraceError, match=r"pods\.csv: pod 2 \(b\) arrives before the one above it; .* --sort"):
        list(in_order(trace.pods(), "pods.csv"))


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,0,1,many", r'pods\.csv:3: column cpu: expected a quantity such as 500m or 2Gi, got "many"'),
        ("a,0,1,-1", r'pods\.csv:3: column cpu: expected no negative amount, got "-1"'),
        ("a,soon,1,1", r"pods\.csv:3: column at: expected seconds, a time such as .* got \"soon\""),
        ("a,nan,1,1", r'pods\.csv:3: column at: expected seconds, got "nan"'),
        ("a,0,-1,1", r"pods\.csv:3: column time: negative duration"),
        ("-,0,1,1", r'pods\.csv:3: column id: expected a name, got "-"'),
        ("a,0,1", r"pods\.csv:3: 3 values, but the header has 4 columns"),
    ],
)
def test_a_bad_row_names_file_line_and_column(row: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, "id,at,time,cpu", "ok,0,1,1", row, "fine,1,1,1")
    with pytest.raises(TraceError, match=message):
        read(path)
    trace = Trace(path, SMALL, skip=True)
    assert [pod.name for pod in trace.pods()] == ["ok", "fine"]
    assert trace.bad.count == 1
    assert len(trace.bad.first) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty; the first line of a trace names its columns"),
        (b"id,at,cpu\na,0,1\n", r'no column "time" \(pods.duration of the map\); there are id, at, cpu'),
        (b"id,id\n1,2\n", 'the header names column "id" twice'),
        (b"\xff\xfe\x00", "not UTF-8 text; a trace is CSV or Parquet"),
        (b'id,at,time,cpu\n"a,0,1,1\n', r":2: unexpected end of data"),
    ],
)
def test_a_file_that_is_no_trace_is_one_error(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "pods.csv"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=message):
        read(path)


def test_a_missing_file_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="No such file"):
        read(tmp_path / "none.csv")


def test_equal_nodes_are_refused(tmp_path: Path) -> None:
    nodes = written(tmp_path, "name,cpu", "a,1", "a,2", name="nodes.csv")
    trace = Trace(written(tmp_path, "arrival,cpu"), PRESETS["generic"], nodes)
    with pytest.raises(TraceError, match=r"nodes\.csv:3: column name: a node a is in an earlier row"):
        list(trace.nodes())


@given(st.binary(max_size=300))
def test_any_bytes_are_a_trace_or_one_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("trace") / "pods.csv"
    path.write_bytes(b"id,at,time,cpu\n" + content)
    trace = Trace(path, SMALL, skip=True)
    with suppress(TraceError):
        assert all(math.isfinite(pod.arrival) for pod in trace.pods())
    assert all(told.startswith(str(path)) for told in trace.bad.first)


CELL = st.text(max_size=12) | st.sampled_from(
    ["0", "1", "1e3", "-1", "500m", "1Ei", "999999999999999999999", "2026-01-05T12:00:00Z"]
)


@given(st.lists(st.tuples(CELL, CELL, CELL, CELL), max_size=8))
def test_skipped_and_read_rows_are_all_rows(
    tmp_path_factory: pytest.TempPathFactory, cells: list[tuple[str, ...]]
) -> None:
    path = tmp_path_factory.mktemp("trace") / "pods.csv"
    with path.open("w", newline="", encoding="utf-8", errors="replace") as file:
        csv.writer(file).writerows([("id", "at", "time", "cpu"), *cells])
    trace = Trace(path, SMALL, skip=True)
    assert len(list(trace.pods())) + trace.bad.count == len(cells)


# ---------------------------------------------------------------------- maps


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "pods: missing"),
        ({"pods": []}, "pods: expected an object, got a list"),
        ({"pods": {"requests": {}}}, "pods.requests: missing"),
        (
            {"pods": {"requests": {"cpu": ""}}},
            r"pods.requests.cpu: expected the name of a column or an object, got \"\"",
        ),
        (
            {"pods": {"requests": {"cpu": {"columm": "c"}}}},
            "pods.requests.cpu.columm: unknown field; there are column, times",
        ),
        ({"pods": {"requests": {"cpu": {"column": "c", "unit": "MB"}}}}, 'unit: "MB" is no unit of a quantity'),
        ({"pods": {"requests": {"cpu": {"column": "c", "value": "1"}}}}, "expected either column or value"),
        ({"pods": {"requests": {"a b": "c"}}}, 'pods.requests: "a b":'),
        ({"pods": {"requests": {"cpu": "c"}, "end": "e", "duration": "d"}}, "duration and end exclude each other"),
        ({"pods": {"requests": {"cpu": "c"}, "arival": "a"}}, "pods.arival: unknown field; there are name"),
        ({"pods": {"requests": {"cpu": "c"}}, "nodes": {"name": "n"}}, "nodes: name and allocatable are required"),
    ],
)
def test_a_bad_map_is_one_error(body: dict[str, Any], message: str) -> None:
    with pytest.raises(TraceError, match=message):
        parse(body)


def test_a_map_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "map.yaml"
    path.write_text("kind: TraceMap\npods: {requests: {cpu: cores}, arrival: t}\n")
    assert read(written(tmp_path, "t,cores", "0,2"), load(path))[0].spec["containers"]
    path.write_text("kind: TraceMap\npods: {requests: {cpu: {}}}\n")
    with pytest.raises(TraceError, match=r"map\.yaml: pods.requests.cpu: expected"):
        load(path)
    path.write_text("kind: Pod\n")
    with pytest.raises(TraceError, match="expected one document of kind TraceMap"):
        load(path)
