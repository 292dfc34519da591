"""The page of a comparison: self-contained, well-formed, readable, and safe with any name."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.lab.comparisons.candidate_comparison import CandidateComparison, compare
from kubewasp.lab.comparisons.experiment_runner import LocalRunner
from kubewasp.lab.comparisons.page_text import plain
from kubewasp.lab.comparisons.report_page import page
from kubewasp.lab.comparisons.report_style import style
from tests.lab.comparisons.comparing import candidate, static, trace
from tests.simulation.simulating import node, pod

UNFIT = {"NodeResourcesFit": 0, "NodeResourcesBalancedAllocation": 0}
VOID = {"meta"}
HOSTILE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "&amp;&lt;",
    "\u202egnp.exe\u2066",
    "שלום عربى",
    "\x1b[31m\x00\x07",
    "\ud800",
    "x" * 100_000,
    "]]></style><!--",
]


class Checker(HTMLParser):
    """Tags that are open, attributes, and texts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def checked(text: str) -> Checker:
    checker = Checker()
    checker.feed(text)
    checker.close()
    assert checker.open == []
    return checker


@pytest.fixture(scope="module")
def of_a_trace() -> CandidateComparison:
    candidates = [candidate(), candidate("unfit", UNFIT)]
    return compare(trace(shuffle=True), candidates, (0, 1, 2), LocalRunner(), explained=3)


@pytest.fixture(scope="module")
def of_manifests() -> CandidateComparison:
    objects = [node("a"), node("b"), pod("x", cpu="2", on="a"), pod("y", cpu="1"), pod("huge", cpu="64")]
    return compare(static(*objects), [candidate(), candidate("unfit", UNFIT)], (0,), LocalRunner())


def test_a_page_refers_to_nothing_outside_and_has_no_script(of_a_trace: CandidateComparison) -> None:
    found = checked(page(of_a_trace, "pods.csv"))
    assert not found.tags & {"script", "link", "img", "iframe", "object", "image", "use", "a", "form"}
    assert not {name for name, _ in found.attributes} & {"src", "href", "style", "onload", "onerror", "xlink:href"}
    text = page(of_a_trace, "pods.csv")
    assert "url(" not in text
    assert "@import" not in text
    assert "://" not in text


def test_a_page_of_a_trace_has_all_pictures(of_a_trace: CandidateComparison) -> None:
    found = checked(page(of_a_trace, "pods.csv"))
    titles = {value for name, value in found.attributes if name == "aria-label"}
    assert {"Share of pods by time to bind", "cpu requested", "nodes in use, mean", "Pods in the queue"} <= titles
    assert any("not significant" in text for text in found.texts)
    assert any("first difference" in text for text in found.texts)


def test_a_page_of_manifests_shows_nodes_and_reasons(of_manifests: CandidateComparison) -> None:
    found = checked(page(of_manifests, "cluster.yaml"))
    titles = {value for name, value in found.attributes if name == "aria-label"}
    assert {"A: cpu requested", "B: cpu requested", "cpu requested, by share of nodes"} <= titles
    assert "Insufficient cpu" in found.texts
    assert any("NodeResourcesFit: a +0 over b" in text for text in found.texts)


def test_the_same_comparison_gives_the_same_bytes(of_manifests: CandidateComparison) -> None:
    objects = [node("a"), node("b"), pod("x", cpu="2", on="a"), pod("y", cpu="1"), pod("huge", cpu="64")]
    again = compare(static(*objects), [candidate(), candidate("unfit", UNFIT)], (0,), LocalRunner())
    assert page(of_manifests, "c.yaml") == page(again, "c.yaml")


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_text(of_manifests: CandidateComparison, name: str) -> None:
    """Of candidates, pods, nodes, reasons, errors and the input."""
    first, second = of_manifests.standings
    differences = tuple(replace(each, pod=name, node=name, workload=name) for each in second.differences)
    run = replace(second.runs[0], reasons={name: 3}, namespaces={name: next(iter(second.runs[0].namespaces.values()))})
    made = replace(
        of_manifests, standings=(first, replace(second, name=name, differences=differences, runs=(run,)), first)
    )
    made = replace(made, standings=(*made.standings, replace(second, name=name, error=name, runs=())))
    text = page(made, name)
    text.encode()
    assert len(text) < 200_000
    found = checked(text)
    assert found.tags == checked(page(of_manifests, "x")).tags | {"span"}
    assert not re.search(r"[\u202a-\u202e\u2066-\u2069\x00-\x08\x1b]", text)


@given(st.text(max_size=300))
@settings(max_examples=200)
def test_any_text_stays_text(text: str) -> None:
    shown = checked(f"<p>{plain(text)}</p>")
    assert shown.tags == {"p"}
    assert checked(f'<p title="{plain(text)}"></p>').tags == {"p"}


def luminance(colour: str) -> float:
    parts = colour.removeprefix("#")
    digits = [parts[place : place + 2] for place in (0, 2, 4)] if len(parts) == 6 else [part * 2 for part in parts]
    values = [int(part, 16) / 255 for part in digits]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_have_the_contrast_of_wcag_aa_in_both_modes() -> None:
    text = style()
    light: dict[str, str] = {}
    dark: dict[str, str] = {}
    for block, found in re.findall(r"(@media \(prefers-color-scheme:dark\)\{\s*)?:root\{([^}]*)\}", text):
        (dark if block else light).update(re.findall(r"--(\w+):(#[0-9a-f]+)", found))
    assert light.keys() == dark.keys() >= {"back", "text", "soft", "good", "bad", "s0", "s7"}
    for colours in (light, dark):
        for name in ("text", "soft", "good", "bad"):
            assert contrast(colours[name], colours["back"]) >= 4.5, name
        for number in range(8):
            assert contrast(colours[f"s{number}"], colours["back"]) >= 3, number
