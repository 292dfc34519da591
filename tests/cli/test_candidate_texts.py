"""Candidates of a command line: a configuration, a guest or the default, with weights."""

from pathlib import Path

import pytest
import typer

from kubewasp.cli import candidate_texts
from kubewasp.cli.inputs import Inputs
from kubewasp.lab.experiments.candidates import CandidateSource

GUEST = str(Path(__file__).parents[2] / "examples/guests/nodenumber.wat")


def one(text: str) -> CandidateSource:
    (found,) = candidate_texts.read([text], Inputs())
    return found


def test_the_default_configuration_has_no_file() -> None:
    assert one("default") == CandidateSource("default")


def test_a_file_is_a_configuration_and_anything_else_a_guest() -> None:
    assert one("folder/scheduler.yaml") == CandidateSource("scheduler.yaml", Path("folder/scheduler.yaml"))
    guest = one(GUEST)
    assert guest.name == "nodenumber.wat"
    assert [(plugin.name, plugin.guest, plugin.weight) for plugin in guest.plugins] == [("nodenumber", GUEST, 0)]


def test_weights_follow_the_base() -> None:
    found = one("default,NodeResourcesFit=5,ImageLocality=0")
    assert (found.name, found.weights) == (
        "default,NodeResourcesFit=5,ImageLocality=0",
        {"NodeResourcesFit": 5, "ImageLocality": 0},
    )
    weighted = one(f"number={GUEST},weight=3,ImageLocality=2")
    assert [(plugin.name, plugin.weight) for plugin in weighted.plugins] == [("number", 3)]
    assert (weighted.name, weighted.weights) == ("number", {"ImageLocality": 2})


def test_an_existing_file_with_commas_is_a_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a,b=1.yaml").touch()
    assert one("a,b=1.yaml").config == Path("a,b=1.yaml")
    assert one("a,b=1.yaml,ImageLocality=2").weights == {"ImageLocality": 2}


def test_the_configuration_of_the_command_line_is_the_base_of_guests_and_of_the_default() -> None:
    base = Path("base.yaml")
    found = candidate_texts.read(["default", GUEST, "other.yaml"], Inputs(), config=base)
    assert [made.config for made in found] == [base, base, Path("other.yaml")]


def test_candidates_have_their_weights_and_plugins() -> None:
    made = one(f"{GUEST},ImageLocality=0").candidate()
    (profile,) = made.settings.profiles
    assert list(profile.wasm) == list(made.added) == ["nodenumber"]
    assert profile.plugins["score"].disabled == ("ImageLocality",)


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (["default", "default"], "two candidates are named 'default'; give one another name: NAME=default"),
        (["default,ImageLocality=x"], "weight of ImageLocality: expected an integer from 0 to"),
        (["default,weight=3"], "weight= is for a guest; name the plugin: PLUGIN=3"),
        (["-", "-"], "only one argument may be -"),
    ],
)
def test_bad_candidates_are_refused(texts: list[str], problem: str) -> None:
    with pytest.raises(typer.BadParameter, match=problem):
        candidate_texts.read(texts, Inputs())


def test_a_configuration_for_no_plugin_is_refused() -> None:
    with pytest.raises(typer.BadParameter, match="no candidate has a plugin 'other'"):
        candidate_texts.read([GUEST], Inputs(), plugin_configs={"other": "text"})
