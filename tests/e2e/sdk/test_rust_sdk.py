"""Rust SDK: its own tests, clippy, format, the size of a small guest, and reproducible builds of projects."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kubewasp import Guest
from kubewasp.k8s.codec import encode
from kubewasp.projects import rust, scaffold
from kubewasp.state.node_objects import Nodes
from kubewasp.state.node_table import NodeTable
from tests.guests.build import ROOT, rust_build_folder, rust_target
from tests.nodenumber import Wave, outcome
from tests.simulation.simulating import node, pod

SDK = ROOT / "sdk" / "rust"
FREESTANDING = "wasm32-unknown-unknown"
SMALL = ["--no-default-features", "--features", "tiny", "--target", FREESTANDING]


def cargo(*arguments: str) -> str:
    with rust_build_folder():
        done = subprocess.run(
            ["cargo", *arguments],
            cwd=SDK,
            env=os.environ | {"CARGO_TERM_COLOR": "never"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_the_tests_of_the_crate_pass() -> None:
    assert cargo("test").count("test result: ok") >= 4


@pytest.mark.parametrize(
    "options",
    [["--all-targets"], ["--lib", "--target", rust.TARGET], ["--lib", *SMALL]],
    ids=["native", "wasi", "tiny"],
)
def test_clippy_has_no_warnings(options: list[str]) -> None:
    rust_target()
    rust_target(FREESTANDING)
    cargo("clippy", *options, "--", "-D", "warnings")


def test_the_code_has_the_format_of_the_project() -> None:
    cargo("fmt", "--check")


def test_a_small_guest_has_less_than_400_bytes() -> None:
    rust_target(FREESTANDING)
    cargo("build", "--release", "--example", "tiny", *SMALL)
    wasm = ROOT / ".build" / "cargo" / FREESTANDING / "release" / "examples" / "tiny.wasm"
    assert wasm.stat().st_size < 400
    guest = Guest.load(wasm)
    assert guest.hooks == ("filter",)
    wave = Wave([node("a", cpu="64")], [], [pod(f"p-{number}", cpu="100m") for number in range(12)])
    [placed] = outcome("policy", {"guestURL": str(wasm)}, 1, [wave])
    assert sum(bool(on) for on, _ in placed.values()) == 10
    assert {why.split(". ")[0] for on, why in placed.values() if not on} == {"0/1 nodes are available: 1 ten pods"}


def test_the_same_sources_give_the_same_bytes_wherever_they_are(tmp_path: Path) -> None:
    rust_target()
    example = ROOT / "examples" / "plugins" / "nodenumber-rust"
    made = []
    for place in ("one", "some where/else"):
        folder = tmp_path / place
        shutil.copytree(example, folder, ignore=shutil.ignore_patterns("build", "target", ".kubewasp"))
        rust.build(folder, tmp_path / "out.wasm")
        made.append((tmp_path / "out.wasm").read_bytes())
    assert made[0] == made[1]
    assert str(tmp_path).encode() not in made[0]
    assert str(Path.home()).encode() not in made[0]


def test_flags_of_the_user_do_not_change_what_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rust_target()
    example = ROOT / "examples" / "plugins" / "nodenumber-rust"
    with rust_build_folder():
        rust.build(example, tmp_path / "one.wasm")
        monkeypatch.setenv("RUSTFLAGS", "-Copt-level=0")
        monkeypatch.setenv("CARGO_BUILD_TARGET", FREESTANDING)
        rust.build(example, tmp_path / "two.wasm")
    assert (tmp_path / "one.wasm").read_bytes() == (tmp_path / "two.wasm").read_bytes()


ANNOTATING = """use kubewasp_sdk::*;

struct Chooser;

impl Plugin for Chooser {
    type State = ();

    fn new() -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Filter for Chooser {
    fn filter(&mut self, cycle: &mut Cycle<()>, _: &Node) -> Verdict {
        if cycle.pod.name() == "panics" {
            panic!("lost");
        }
        if cycle.pod.name() == "early" {
            annotate("example.com/early", "1");
        }
        Ok(())
    }
}

impl Reserve for Chooser {
    fn reserve(&mut self, _: &mut Cycle<()>, node: &Node) -> Verdict {
        annotate("example.com/node", node.name());
        Ok(())
    }
}

impl PreBind for Chooser {
    fn pre_bind(&mut self, _: &mut Cycle<()>, _: &Node) -> Verdict {
        annotate("example.com/ä", "invalid key");
        Ok(())
    }
}

register!(Chooser);
"""


def test_annotations_and_panics_on_the_real_host(tmp_path: Path) -> None:
    rust_target()
    scaffold.create(tmp_path / "chooser", "chooser", "rust")
    (tmp_path / "chooser" / "src" / "lib.rs").write_text(ANNOTATING)
    with rust_build_folder():
        rust.build(tmp_path / "chooser", tmp_path / "out.wasm")
    guest = Guest.load(tmp_path / "out.wasm")
    nodes = NodeTable.of(Nodes([{"metadata": {"name": name}} for name in ("a", "b")]))

    def filtered(name: str) -> str:
        found = guest.evaluate({"metadata": {"name": name}}, [{"metadata": {"name": "a"}}])
        return found.rejected["a"].reason

    with guest.cycle(encode("Pod", {"metadata": {"name": "web"}}), nodes) as cycle:
        assert cycle.reserve("b").annotations == {"example.com/node": "b"}
        assert "example.com/ä" in cycle.prebind("b").reason
    assert "src/lib.rs:16" in filtered("panics")
    assert "only reserve and prebind may annotate" in filtered("early")


def test_the_plugin_of_the_page_passes_the_test_of_the_page(tmp_path: Path) -> None:
    rust_target()
    text = (ROOT / "docs" / "sdk-rust.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```rust\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    scaffold.create(tmp_path / "page", "page", "rust")
    (tmp_path / "page" / "src" / "lib.rs").write_text("\n".join(blocks))
    with rust_build_folder():
        results = rust.test(tmp_path / "page")
    assert [(result.name, result.failure) for result in results] == [("keeps_pods_off_other_nodes", "")]
