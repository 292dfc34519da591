"""Languages side by side: the choice of languages, tables, the page; with synthetic figures."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kubewasp.errors import KubewaspError
from tests.command_line import Command
from tools.bench import guests
from tools.bench.forms.form import FormError
from tools.bench.guests import TINYGO, Unavailable
from tools.bench.languages import collectors, example_guests, page, side_by_side
from tools.bench.languages.collectors import CASES
from tools.bench.languages.example_guests import EXAMPLES
from tools.bench.model import Skipped

PAGE = Path(__file__).parents[3] / "docs" / "languages.md"
FIGURES = side_by_side.Figures("rust", 157_971, 812.5, 6.5, 3.25, 0.06, 0.08, 1_179_648)
COLLECTED = collectors.Figures("Go, as it is", 2_477.7, 4_502.5, 2_531.4, 8_437_264, 3)


@pytest.fixture(autouse=True)
def _nothing_is_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBEWASP_BENCH_TINYGO_GUESTS", "")
    monkeypatch.setattr(guests.shutil, "which", lambda _name: None)

    def of_languages(_step: Callable[[str], None], names: list[str]) -> Iterator[side_by_side.Figures | Skipped]:
        for name in names:
            yield Skipped("languages", "Zig", "no zig here") if name == "zig" else replace(FIGURES, language=name)

    monkeypatch.setattr(side_by_side, "measure", of_languages)
    monkeypatch.setattr(collectors, "measure", lambda _step: iter([COLLECTED]))


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


def test_every_language_has_a_row_and_a_missing_toolchain_a_warning(bench: Command) -> None:
    ended = bench("languages")
    assert ended.code == 0
    names = [row[0] for row in rows(ended.out)]
    wanted = [example.name for key, example in EXAMPLES.items() if key not in (TINYGO, "zig")]
    assert [name for name in names if name in wanted] == wanted
    assert "not measured: Zig: no zig here" in ended.err


def test_a_row_has_size_loads_costs_and_memory() -> None:
    assert rows(page.of_languages([FIGURES]))[2] == [
        *("Rust", "Cargo", "154.3Ki", "812 ms", "6.50 ms", "3.25 µs", "0.060 µs", "0.080 µs", "1.1Mi")
    ]
    slow = replace(FIGURES, load_cold=9_800.0)
    assert "9.80 s" in page.of_languages([slow])


def test_collectors_have_times_memory_and_instances(bench: Command) -> None:
    found = rows(bench("languages", "--only", "collectors").out)
    assert found[2] == ["Go, as it is", "2.48 ms", "2.53 ms", "4.50 ms", "8Mi", "3"]
    assert len(found) == 3


def test_languages_can_be_chosen(bench: Command) -> None:
    assert [row[0] for row in rows(bench("languages", "--only", "c").out)[2:]] == ["C"]
    ended = bench("languages", "--only", "cobol")
    assert ended.code == 1
    assert "there is no language cobol; there are go, tinygo, rust, rust-tiny, c, zig" in ended.err


def test_tables_are_written_into_a_page_between_their_marks(bench: Command, tmp_path: Path) -> None:
    text = "# Page\n<!-- begin: languages -->\nearlier\n<!-- end: languages -->\nrest\n"
    (tmp_path / "page.md").write_text(text)
    assert bench("languages", "--only", "c", "--docs", "page.md").code == 0
    written = (tmp_path / "page.md").read_text()
    assert written.startswith("# Page\n<!-- begin: languages -->\n\n| language |")
    assert written.endswith("|\n\n<!-- end: languages -->\nrest\n")
    assert "earlier" not in written
    with pytest.raises(KubewaspError, match="no lines '<!-- begin: collectors -->'"):
        page.write(tmp_path / "page.md", {"collectors": "table"})


def test_the_page_has_every_language_and_every_collector() -> None:
    found = {row[0] for row in rows(PAGE.read_text(encoding="utf-8"))}
    assert {example.name for name, example in EXAMPLES.items() if name != TINYGO} <= found
    assert {case.name for case in CASES} <= found


def test_a_guest_with_other_answers_is_an_error() -> None:
    with pytest.raises(FormError, match=r"nodenumber, wat, pod web-3: .* instead of"):
        example_guests.check("wat", guests.guest("nodenumber", "wat"))


def test_a_given_guest_of_tinygo_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unavailable, match="TinyGo is not on the PATH"):
        EXAMPLES[TINYGO].wasm()
    (tmp_path / "nodenumber.wasm").write_bytes(b"")
    monkeypatch.setenv("KUBEWASP_BENCH_TINYGO_GUESTS", str(tmp_path))
    assert EXAMPLES[TINYGO].wasm() == tmp_path / "nodenumber.wasm"
