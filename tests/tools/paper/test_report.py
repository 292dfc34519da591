"""Report of the reproduction: means, verdict, tables, picture, and the page between its marks."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from kubewasp.errors import KubewaspError
from tools.paper import report
from tools.paper.experiments import END, FULL, POLICIES, Run


def runs(shift: float = 0.0, seeds: int = 2) -> list[Run]:
    """Runs with the published means, but for a shift of the last policy."""
    found = []
    for policy in POLICIES:
        off = shift if policy is POLICIES[-1] else 0.0
        for seed in range(seeds):
            spread = 0.2 * (seed - (seeds - 1) / 2)
            rise = [min(at, policy.full + off + spread) for at in range(FULL + 1)]
            end = [policy.end + off + spread] * (END - FULL)
            found.append(Run(policy.name, 42 + seed, 10_811, 8_000, (*rise, *end), 12.0, 10.0))
    return found


def test_the_published_means_are_reproduced() -> None:
    found = report.lines(runs())
    assert [line.policy for line in found] == list(POLICIES)
    assert report.problems(found) == []
    assert report.verdict(found) == "All means are within 0.7 points of the published ones, in the published order."
    assert found[-1].full == pytest.approx(95.23)
    assert found[-1].spread == pytest.approx(0.1414, abs=1e-3)


def test_a_mean_that_is_too_far_away_is_told() -> None:
    (told,) = report.problems(report.lines(runs(shift=-0.8)))
    assert told == "FGD: 94.43 and 94.59, published 95.23 and 95.39: more than 0.7 points apart"


def test_another_order_is_told() -> None:
    given = runs(shift=-3.0)
    told = report.problems(report.lines(given))
    assert told[1:] == [f"at {place} % arrived, the policies are not in the published order" for place in (FULL, END)]
    assert report.verdict(report.lines(given)).startswith("- FGD: ")


def test_policies_that_have_not_run_are_left_out() -> None:
    found = report.lines([run for run in runs() if run.policy in ("fgd", "bestFit")])
    assert [line.policy.title for line in found] == ["BestFit", "FGD"]
    assert report.problems(found) == []


def test_the_table_fits_a_terminal() -> None:
    lines = list(report.text(report.lines(runs())))
    assert max(map(len, lines)) <= 80
    assert lines[-1].split() == ["FGD", "95.23", "95.23", "+0.00", "95.39", "95.39", "+0.00", "2"]


def test_the_picture_has_a_curve_and_a_name_for_each_policy() -> None:
    root = ET.fromstring(report.picture(report.lines(runs())))
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert [policy.title in " ".join(map(str, texts)) for policy in POLICIES] == [True] * 6
    assert sum(element.tag.endswith("polyline") for element in root.iter()) == 6


def test_the_page_is_written_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / report.PAGE
    (tmp_path / "images").mkdir()
    page.write_text(f"# Title\n\n{report.BEGIN}old\n{report.STOP}\nafter\n", encoding="utf-8")
    assert report.write_docs(runs(), tmp_path) == [page, tmp_path / report.IMAGE]
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# Title\n\n{report.BEGIN}\n| policy |")
    assert "| FGD | 95.23 | 95.23 | +0.00 | 95.39 | 95.39 | +0.00 | 2 | 0.14 |" in text
    assert "| FGD | 10,811 | 8,000 | 10.0 s | 0.92 ms |" in text
    assert text.endswith(f"\nCPU time of all 12 experiments: 2.0 minutes.\n\n{report.STOP}\nafter\n")
    assert "old" not in text
    page.write_text("# Title\n", encoding="utf-8")
    with pytest.raises(KubewaspError, match="are missing"):
        report.write_docs(runs(), tmp_path)


def test_a_run_survives_its_file() -> None:
    run = runs()[0]
    assert Run.from_json(run.as_json()) == run
    assert Run.from_json(replace(run, seed=7).as_json()).seed == 7
