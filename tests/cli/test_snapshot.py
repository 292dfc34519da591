"""`kubewasp snapshot`: a cluster or manifests in one file, which other commands read."""

import gzip
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kubewasp.apiserver.api_resources import RESOURCES
from kubewasp.simulation import simulate
from tests.apiserver.fake_server import FakeServer, status_answer
from tests.cli.conftest import Kubewasp
from tests.cli.test_explain_live import in_background, kubeconfig
from tests.guests.build import ROOT
from tests.live.test_cluster_lists import lay_out
from tests.live.test_snapshot import stored
from tests.simulation.simulating import node, pod

SMALL = ROOT / "examples" / "clusters" / "small.yaml"
TRACE = ROOT / "examples" / "traces" / "pods.csv"


@pytest.fixture
def file(kubewasp: Kubewasp, tmp_path: Path) -> Path:
    path = tmp_path / "small.kwsnap"
    ended = kubewasp("snapshot", SMALL, "--out", path)
    assert (ended.code, ended.err) == (0, "")
    return path


@pytest.fixture
def server() -> FakeServer:
    server = FakeServer()
    lay_out(server, *map(stored, (node("a"), node("b", cpu="1"), pod("old", on="b", cpu="1"), pod("web", cpu="2"))))
    return server


@pytest.fixture
def cluster(server: FakeServer, tmp_path: Path) -> Iterator[Path]:
    """The kubeconfig of a cluster."""
    with in_background(server):
        yield kubeconfig(tmp_path, server.url)


# ---------------------------------------------------------------------- a real cluster


def test_a_cluster_is_saved_and_simulated(kubewasp: Kubewasp, cluster: Path, tmp_path: Path) -> None:
    path = tmp_path / "cluster.kwsnap"
    ended = kubewasp("snapshot", "--kubeconfig", cluster, "--out", path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("file ")
    assert re.search(r"\nserver +v1\.36\.0\nnames +original\npods +1 bound, 1 pending\n", ended.out)
    assert re.search(r"\nNode +2\n", ended.out)
    assert re.search(r"\ncpu +5 +1 +20\.0%\n", ended.out)
    found = kubewasp("simulate", path, "-o", "json")
    assert (found.code, found.err) == (0, "")
    assert found.json["placements"] == [{"pod": "shop/web", "node": "a"}]
    assert kubewasp("explain", "shop/web", path, "-o", "json").json["node"] == "a"


def test_what_may_not_be_listed_is_told_now_and_by_every_reader(
    kubewasp: Kubewasp, server: FakeServer, cluster: Path, tmp_path: Path
) -> None:
    server.always("GET", RESOURCES["csinodes"].path, status_answer(403, "Forbidden", "no"))
    path = tmp_path / "cluster.kwsnap"
    ended = kubewasp("snapshot", "--kubeconfig", cluster, "--out", path, "-o", "json")
    missing = 'without csinodes: RBAC does not allow the verb "list" on them, in API group "storage.k8s.io"'
    assert (ended.code, ended.err) == (0, f"warning: {missing}\n")
    assert ended.json["warnings"] == [missing]
    assert kubewasp("simulate", path).err == f"warning: {path}: {missing}\n"
    again = kubewasp("snapshot", path, "--out", tmp_path / "again.kwsnap")
    assert again.err == f"warning: {missing}\n"


def test_a_cluster_without_the_right_to_read_nodes_is_one_error(
    kubewasp: Kubewasp, server: FakeServer, cluster: Path, tmp_path: Path
) -> None:
    server.always("GET", RESOURCES["nodes"].path, status_answer(403, "Forbidden", "no"))
    path = tmp_path / "cluster.kwsnap"
    ended = kubewasp("snapshot", "--kubeconfig", cluster, "--out", path)
    assert ended.code == 1
    assert ended.err.startswith("error: cannot list nodes: no (RBAC must allow")
    assert not path.exists()


# ---------------------------------------------------------------------- files


def test_a_file_is_private_and_replaced_at_once(kubewasp: Kubewasp, file: Path) -> None:
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.read_bytes()
    assert kubewasp("snapshot", SMALL, "--out", file).code == 0
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_snapshot_of_a_snapshot_is_the_same(kubewasp: Kubewasp, file: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    kubewasp("snapshot", file, "--out", again)
    assert again.read_bytes() == file.read_bytes()


def test_a_summary_needs_no_file(kubewasp: Kubewasp, file: Path) -> None:
    shown = kubewasp("snapshot", file, "-o", "json").json
    assert shown["counts"] == {"Node": 3, "Deployment": 1, "Pod": 2}
    assert shown["pods"] == {"bound": 0, "pending": 2}
    assert {item["resource"]: item["allocatable"] for item in shown["resources"]}["cpu"] == 16_000
    assert "file" not in shown


@pytest.mark.parametrize("command", [("simulate",), ("explain", "default/huge"), ("trace", "run", TRACE)])
def test_other_commands_read_it_as_they_read_manifests(
    kubewasp: Kubewasp, file: Path, command: tuple[object, ...]
) -> None:
    def found(path: Path) -> object:
        ended = kubewasp(*command, path, "-o", "json")
        assert (ended.code, ended.err) == (0, "")
        return {name: value for name, value in ended.json.items() if name not in ("timing", "simulation", "seconds")}

    if command[0] == "trace":
        assert str(found(file))[:2000] == str(found(SMALL))[:2000]
    else:
        assert found(file) == found(SMALL)


def test_folders_standard_input_and_python_take_it_too(
    kubewasp: Kubewasp, file: Path, stdin: Callable[[str | bytes], None]
) -> None:
    wanted = kubewasp("simulate", SMALL, "-o", "json").json["placements"]
    assert kubewasp("simulate", file.parent, "-o", "json").json["placements"] == wanted
    stdin(file.read_bytes())
    assert kubewasp("simulate", "-", "-o", "json").json["placements"] == wanted
    assert sorted(item.pod for item in simulate([file]).placements) == sorted(item["pod"] for item in wanted)


def test_a_damaged_file_is_one_error(kubewasp: Kubewasp, file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])
    ended = kubewasp("simulate", file)
    assert (ended.code, ended.err) == (1, f"error: {file}: cut off: the end is missing; copy the file again\n")


def test_a_file_that_cannot_be_written_is_one_error(kubewasp: Kubewasp, tmp_path: Path) -> None:
    path = tmp_path / "none" / "x.kwsnap"
    ended = kubewasp("snapshot", SMALL, "--out", path)
    assert (ended.code, ended.err) == (1, f"error: {path}: No such file or directory\n")


# ---------------------------------------------------------------------- anonymity


def test_names_are_replaced_and_the_result_is_the_same(kubewasp: Kubewasp, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for path in (first, second):
        ended = kubewasp("snapshot", SMALL, "--anonymize", "--salt", "s", "--out", path)
        assert re.search("^names +anonymized$", ended.out, re.MULTILINE)
    assert first.read_bytes() == second.read_bytes()
    text = gzip.decompress(first.read_bytes())
    assert b"node-1" not in text
    assert b"nginx" not in text

    def pods_by_node(path: Path) -> list[str]:
        return sorted(str(item["after"]) for item in kubewasp("simulate", path, "-o", "json").json["nodes"])

    assert pods_by_node(first) == pods_by_node(SMALL)


def test_without_a_salt_names_are_new_each_time(kubewasp: Kubewasp, tmp_path: Path) -> None:
    paths = tmp_path / "first", tmp_path / "second"
    for path in paths:
        kubewasp("snapshot", SMALL, "--anonymize", "--out", path)
    assert paths[0].read_bytes() != paths[1].read_bytes()


def test_a_salt_may_be_in_a_file(kubewasp: Kubewasp, tmp_path: Path) -> None:
    (tmp_path / "salt").write_text("s")
    for name, salt in (("a", "s"), ("b", f"@{tmp_path / 'salt'}")):
        kubewasp("snapshot", SMALL, "--anonymize", "--salt", salt, "--out", tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_chosen_labels_and_annotations_are_kept(kubewasp: Kubewasp, tmp_path: Path) -> None:
    manifest = tmp_path / "node.yaml"
    manifest.write_text(
        "apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n  labels: {type: m5}\n"
        "  annotations: {example.com/a: kept, example.org/b: dropped}\n"
    )
    out = tmp_path / "out"
    words = ("--anonymize", "--keep-label", "type", "--keep-annotation", "example.com/*")
    assert kubewasp("snapshot", manifest, *words, "--out", out).code == 0
    text = gzip.decompress(out.read_bytes())
    assert b'"annotations":{"example.com/a":"kept"}' in text
    assert b'"type":"m5"' in text


# ---------------------------------------------------------------------- usage


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "--out: a snapshot of a cluster needs a file, e.g. --out cluster.kwsnap"),
        ((SMALL, "--salt", "s"), "--salt: only with --anonymize"),
        ((SMALL, "--keep-label", "k"), "--keep-label: only with --anonymize"),
        ((SMALL, "--kubeconfig", "f"), "--kubeconfig: not allowed together with manifests"),
        (("--strict", "--out", "f"), "--strict: only for manifests"),
    ],
)
def test_wrong_usage_is_told(kubewasp: Kubewasp, words: tuple[object, ...], problem: str) -> None:
    ended = kubewasp("snapshot", *words)
    assert ended.code == 2
    assert problem in ended.err
