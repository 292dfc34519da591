"""Hooks of a Python plugin that would not be called as they are written: found before the build, with file and line."""

from pathlib import Path

import pytest

from kubewasp.projects import python_checks
from kubewasp.projects.toolchain import BuildError

HEAD = "from dataclasses import dataclass\nfrom kubewasp_sdk import Plugin\n\n\nclass Mine(Plugin):\n"
SCORE = "    def score(self, state, pod, node): return 1\n"


def checked(folder: Path, body: str) -> None:
    (folder / "plugin.py").write_text(HEAD + body)
    python_checks.check(folder)


def problem(folder: Path, body: str) -> str:
    with pytest.raises(BuildError) as caught:
        checked(folder, body)
    return str(caught.value)


@pytest.mark.parametrize(
    ("method", "meant"),
    [
        ("def filtr(self, state, pod, node): pass", "filter"),
        ("def Filter(self, state, pod, node): pass", "filter"),
        ("def preFilter(self, state, pod): pass", "pre_filter"),
        ("def prefilter(self, pod): pass", "pre_filter"),
        ("def normalize_score(self, state, pod, scores): pass", "normalize_scores"),
        ("def normalise_scores(self, state, pod, scores): pass", "normalize_scores"),
        ("def queue_sort(self, pod, queued_at): pass", "sort_key"),
        ("def events_to_register(self): pass", "events"),
        ("async def fliter(self, state, pod, node): pass", "filter"),
    ],
)
def test_a_misspelt_hook_is_an_error_with_the_right_name(tmp_path: Path, method: str, meant: str) -> None:
    name = method.removeprefix("async ").removeprefix("def ").partition("(")[0]
    assert problem(tmp_path, f"{SCORE}    {method}") == f"plugin.py:7: {name} is not a hook; did you mean {meant}?"


@pytest.mark.parametrize(
    "method",
    [
        "def filter_gpus(self, pod, node): pass",
        "def scores(self, names): pass",
        "def weight(self, state, pod, node): pass",
        "def _filter(self, state, pod, node): pass",
        "def filtr(self, pod): return self.filtr(pod)",
        "def Score(self, state, pod, node): pass",
        "@property\n    def permits(self): pass",
    ],
)
def test_methods_of_the_authors_own_are_no_errors(tmp_path: Path, method: str) -> None:
    checked(tmp_path, f"{SCORE}    {method}")


@pytest.mark.parametrize(
    ("method", "found"),
    [
        (
            "def filter(self, pod, node): pass",
            "filter(self, pod, node) is called with other arguments: filter(self, state, pod, node)",
        ),
        (
            "def filter(state, pod, node): pass",
            "filter(state, pod, node) is called with other arguments: filter(self, state, pod, node)",
        ),
        (
            "def filter(self, state, node, pod): pass",
            "filter(self, state, node, pod) is called with other arguments: filter(self, state, pod, node)",
        ),
        (
            "def filter(self, state, pod, *, node): pass",
            "filter(self, state, pod, *, node) is called with other arguments: filter(self, state, pod, node)",
        ),
        (
            "@staticmethod\n    def filter(self, state, pod, node): pass",
            "filter(self, state, pod, node) is called with other arguments: filter(state, pod, node)",
        ),
        ("async def filter(self, state, pod, node): pass", "filter is async; hooks are plain methods"),
        ("@property\n    def filter(self): pass", "filter is a property; hooks are methods"),
        (
            "def filter(self, state, pod, node):\n        yield 1",
            "filter has a yield, so its result is a generator; return the result",
        ),
    ],
)
def test_a_hook_that_cannot_be_called_is_an_error(tmp_path: Path, method: str, found: str) -> None:
    line = 7 if "@" in method else 6
    assert problem(tmp_path, f"    {method}") == f"plugin.py:{line}: {found}"


@pytest.mark.parametrize(
    "method",
    [
        "def filter(self, *arguments): pass",
        "def filter(self, a, b, c, verbose=False): pass",
        "def filter(self, state, pod, node, /): pass",
        "@staticmethod\n    def filter(state, pod, node): pass",
        "@classmethod\n    def filter(cls, state, pod, node): pass",
        "@logged\n    def filter(self): pass",
        "filter = other_filter",
        "if True:\n        def filter(self, state, pod, node): pass",
        "def filter(self, state, pod, node):\n        def parts():\n            yield 1\n        return max(parts())",
    ],
)
def test_other_ways_to_write_a_hook_are_no_errors(tmp_path: Path, method: str) -> None:
    checked(tmp_path, f"    {method}")


def test_a_plugin_without_a_hook_is_an_error(tmp_path: Path) -> None:
    assert problem(tmp_path, "    def weight(self): pass") == (
        "plugin.py:5: Mine implements no hook; give it a method such as filter or score"
    )


def test_a_hook_outside_of_the_class_is_an_error(tmp_path: Path) -> None:
    assert problem(tmp_path, "    wants = ()\n\ndef filter(self, state, pod, node): pass\n") == (
        "plugin.py:8: filter is a function outside of the class Mine; indent it to make it a hook"
    )


def test_hooks_of_a_base_class_in_the_project_count_and_are_checked(tmp_path: Path) -> None:
    base = tmp_path / "base.py"
    (tmp_path / "plugin.py").write_text("from base import Base\n\nclass Mine(Base): pass\n")
    base.write_text(HEAD.replace("Mine", "Base") + SCORE)
    python_checks.check(tmp_path)
    base.write_text(HEAD.replace("Mine", "Base") + "    def score(self): pass\n")
    with pytest.raises(BuildError, match=r"^base\.py:6: score\(self\) is called with other arguments"):
        python_checks.check(tmp_path)


@pytest.mark.parametrize("body", ["    wants = ()\n\nMine.filter = print", "    pass\nclass Other(unknown.Base): pass"])
def test_what_the_source_does_not_decide_is_no_error(tmp_path: Path, body: str) -> None:
    checked(tmp_path, body.replace("    pass\n", SCORE))


@pytest.mark.parametrize(
    ("wants", "found"),
    [
        ('"pods"', 'wants is a text; expected a tuple, ("pods",)'),
        ('("pod",)', "wants: unknown 'pod'; did you mean pods?"),
        ('["waiting-pods"]', "wants: unknown 'waiting-pods'; did you mean waiting_pods?"),
        ('["secrets"]', "wants: unknown 'secrets'; there are pods, waiting_pods"),
    ],
)
def test_unknown_data_in_wants_is_an_error(tmp_path: Path, wants: str, found: str) -> None:
    assert problem(tmp_path, f"    wants = {wants}\n{SCORE}") == f"plugin.py:6: {found}"


def test_a_configuration_class_is_a_dataclass(tmp_path: Path) -> None:
    body = f"    config: Config\n{SCORE}\n\nclass Config:\n    label: str\n"
    assert problem(tmp_path, body) == (
        "plugin.py:10: Config, the type of config, is not a dataclass; decorate it with @dataclass"
    )
    checked(tmp_path, body.replace("class Config", "@dataclass\nclass Config"))


def test_all_problems_are_shown_at_once(tmp_path: Path) -> None:
    assert (
        problem(tmp_path, "    def filter(self): pass\n    def Score(self, state, pod, node): pass").count("plugin.py:")
        == 2
    )
