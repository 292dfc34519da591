"""Report of a soak: table, documentation page, command line."""

from pathlib import Path

import pytest

from kubewasp.errors import KubewaspError
from tests.tools.soak.example import GOOD, SETTINGS, recording, samples
from tools.soak.__main__ import Progress, main
from tools.soak.judgement import judge
from tools.soak.report import BEGIN, END, IMAGE, PAGE, figures, judgement_lines, write_docs
from tools.soak.samples import Sample, as_line

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "images").mkdir()
    (tmp_path / PAGE).write_text(f"# Page\n\n{BEGIN}old\n{END}\nmore\n", encoding="utf-8")
    return tmp_path


def recorded(folder: Path, *found: Sample) -> Path:
    path = folder / "samples.jsonl"
    path.write_text("".join([as_line(SETTINGS), *map(as_line, found), as_line(GOOD)]), encoding="utf-8")
    return path


def test_the_table_has_both_thirds_and_the_tolerance() -> None:
    table = figures(recording(memory=lambda at: 230 if at < 1200 else 235))
    assert "| memory | 230 MiB | 235 MiB | +5 % or 16 MiB |" in table
    assert "| pods bound; not bound |  | 32,400; 0 | 0 not bound |" in table


def test_the_page_keeps_its_other_text_and_gets_table_and_picture(docs: Path) -> None:
    found = recording()
    write_docs(found, docs)
    text = (docs / PAGE).read_text(encoding="utf-8")
    assert text.startswith(f"# Page\n\n{BEGIN}\n30 min with 300 nodes and 20 new pods per second on 2 cores of a CPU")
    assert text.endswith(f"{END}\nmore\n")
    assert "old" not in text
    assert figures(found) in text
    assert f"]({IMAGE})" in text
    assert (docs / IMAGE).read_text(encoding="utf-8").startswith("<svg")
    write_docs(found, docs)
    assert (docs / PAGE).read_text(encoding="utf-8") == text


def test_the_page_of_the_documentation_has_the_marks() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert text.count(BEGIN) == text.count(END) == 1
    assert text.index(BEGIN) < text.index(END)


def test_a_page_without_marks_is_an_error(docs: Path) -> None:
    (docs / PAGE).write_text("# Page\n", encoding="utf-8")
    with pytest.raises(KubewaspError, match=r"operations\.md: the lines .* are missing"):
        write_docs(recording(), docs)


def test_lines_fit_into_80_columns_and_failures_come_last() -> None:
    lines = list(judgement_lines(judge(recording(memory=lambda at: 230 + at / 20)), 80))
    assert max(map(len, lines)) <= 80
    verdicts = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert verdicts == ["ok"] * (len(verdicts) - 1) + ["FAIL"]


def test_the_command_judges_a_recording(tmp_path: Path, docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded(tmp_path, *samples())
    assert main(["--report", str(path), "--docs", str(docs)]) == 0
    assert "ok   memory" in capsys.readouterr().out
    assert (docs / IMAGE).exists()
    assert main(["--report", str(recorded(tmp_path, *samples(threads=lambda at: at)))]) == 1
    assert "FAIL threads" in capsys.readouterr().out


@pytest.mark.parametrize("content", [None, "text\n", "[]\n"])
def test_a_file_that_is_no_recording_is_one_line(
    content: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "other"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    assert main(["--report", str(path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {path}: ")
    assert error.count("\n") == 1


def test_progress_is_a_line_a_minute_below_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    large = samples(minutes=3, memory=lambda _: 9999, descriptors=lambda _: 99_999, rate=lambda _: 4000)
    for one in large:
        progress(one)
    head, *lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["1.0", "2.0", "3.0"]
    assert all(len(line) <= 80 for line in (head, *lines))
    assert "4000.0" in lines[1]
