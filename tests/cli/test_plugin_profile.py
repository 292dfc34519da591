import gzip
import json
import re
from pathlib import Path

import pytest

from kubewasp.wasm.core import profiling
from tests.cli.conftest import Kubewasp
from tests.guests.build import wat, wat_text
from tests.guests.burning import burner, unnamed_burner
from tests.wasm.component.components import probe_wasm

SMALL = ("--nodes", "2", "--pods", "3", "--seconds", "0")


def test_the_function_that_burns_the_time_is_first(kubewasp: Kubewasp, tmp_path: Path) -> None:
    ended = kubewasp("plugin", "profile", burner(), *SMALL, "--out", tmp_path / "p.json", "-o", "json")
    assert ended.code == 0, ended.err
    found = ended.json
    first = found["functions"][0]
    assert first["name"] == "expensive_label_scan"
    assert first["self_percent"] > 80
    assert first["self_us_per_cycle"] > 0
    assert found["cycles"] == 3
    assert found["samples"] >= first["self_samples"] > 0
    callers = {item["name"]: item for item in found["functions"]}
    assert callers["filter"]["total_percent"] >= first["self_percent"]


def test_the_table_fits_80_columns_and_names_the_file(kubewasp: Kubewasp, tmp_path: Path) -> None:
    ended = kubewasp("plugin", "profile", burner(), *SMALL, "--out", tmp_path / "p.json", "--top", "1")
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert re.search(r"^ *SELF +TOTAL +SELF A CYCLE +FUNCTION$", ended.out, re.MULTILINE)
    assert [line for line in lines if "expensive_label_scan" in line]
    assert "p.json" in ended.out
    assert "more; --top N shows more of them" in lines[-1]


def test_the_profile_is_in_the_format_of_firefox(kubewasp: Kubewasp, tmp_path: Path) -> None:
    kubewasp("plugin", "profile", burner(), *SMALL, "--out", tmp_path / "p.json")
    profile = json.loads((tmp_path / "p.json").read_bytes())
    thread = profile["threads"][0]
    assert profile["meta"]["preprocessedProfileVersion"] > 0
    assert "expensive_label_scan" in thread["stringArray"]
    assert len(thread["samples"]["stack"]) > 0


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (("--out", "p.pb.gz"), "p.pb.gz"),
        (("--format", "pprof"), "profile.pb.gz"),
        (("--format", "pprof", "--out", "p.json"), "p.json"),
    ],
)
def test_pprof_is_chosen_by_the_name_of_the_file_or_by_an_option(
    kubewasp: Kubewasp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kubewasp("plugin", "profile", burner(), *SMALL, *options)
    assert ended.code == 0, ended.err
    assert "open it with go tool pprof" in ended.out
    assert b"expensive_label_scan" in gzip.decompress((tmp_path / name).read_bytes())


@pytest.mark.parametrize("options", [(), ("--format", "firefox")])
def test_without_a_file_the_profile_is_firefoxs(
    kubewasp: Kubewasp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    found = kubewasp("plugin", "profile", burner(), *SMALL, *options, "-o", "json").json
    assert (found["profile"], found["profile_format"]) == ("profile.json", "firefox")
    assert "threads" in json.loads((tmp_path / "profile.json").read_bytes())


def test_a_guest_without_names_is_told_so(kubewasp: Kubewasp, tmp_path: Path) -> None:
    ended = kubewasp("plugin", "profile", unnamed_burner(), *SMALL, "--out", tmp_path / "p.json")
    assert "built without a name section (stripped)" in ended.out
    assert "func[1]" in ended.out


def test_a_component_is_one_clear_error(kubewasp: Kubewasp, tmp_path: Path) -> None:
    (tmp_path / "probe.wasm").write_bytes(probe_wasm())
    ended = kubewasp("plugin", "profile", tmp_path / "probe.wasm", *SMALL, "--out", tmp_path / "p.json")
    assert ended.code == 1
    assert "cannot be profiled: the runtime's C interface has no profiler for components" in ended.err
    assert "`kubewasp plugin bench` has the times of its hooks" in ended.err
    assert not (tmp_path / "p.json").exists()


def test_a_guest_without_samples_has_no_profile(
    kubewasp: Kubewasp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiling, "read", lambda _profile: [])
    ended = kubewasp("plugin", "profile", wat("filter"), *SMALL, "--out", tmp_path / "p.json")
    assert ended.code == 1
    assert "no samples: the guest ran for less than a millisecond; use more --nodes, --pods or --seconds" in ended.err
    assert not (tmp_path / "p.json").exists()


def test_a_file_that_cannot_be_written_is_an_error(kubewasp: Kubewasp, tmp_path: Path) -> None:
    ended = kubewasp("plugin", "profile", burner(), *SMALL, "--out", tmp_path / "missing" / "p.json")
    assert ended.code == 1
    assert "cannot be written: No such file or directory" in ended.err


def test_a_guest_that_fails_ends_the_profile(kubewasp: Kubewasp, tmp_path: Path) -> None:
    text = '(module (memory (export "memory") 1) (func (export "filter") (result i32) unreachable))'
    broken = wat_text(text, "broken")
    ended = kubewasp("plugin", "profile", broken, *SMALL, "--out", tmp_path / "p.json")
    assert ended.code == 1
    assert "the guest failed during the measurement" in ended.err


@pytest.mark.parametrize("option", [("--top", "0"), ("--nodes", "0"), ("--seconds", "-1")])
def test_numbers_have_bounds(kubewasp: Kubewasp, option: tuple[str, str]) -> None:
    assert kubewasp("plugin", "profile", burner(), *option).code == 2
