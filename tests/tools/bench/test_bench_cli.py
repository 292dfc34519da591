"""`python -m tools.bench`: options, files and output, with synthetic figures."""

import json
import random
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubewasp.errors import KubewaspError
from tests.command_line import Command, Ended, examples
from tests.guests.build import wat
from tests.permissions import file_permissions_obeyed
from tests.tools.bench import example
from tools.bench import machine, model, run_command
from tools.bench.bars.bar import Bar
from tools.bench.model import Measurement, Result, Skipped

COMMANDS = ("plugin", "scheduler", "counts", "languages", "compare", "report", "interruption", "bars")
LAYERS = ("plugin", "scheduler")
ROOT = Path(__file__).parents[3]

Write = Callable[[str, str], Path]


class Fake:
    """Fake of all layers: their results, and a record of calls."""

    def __init__(self) -> None:
        chance = random.Random(1)
        self.found: dict[str, list[Measurement | Skipped]] = {
            "plugin": [*example.plugin_layer(chance, peers=False), Skipped("plugin", "python, zone", "no compiler")],
            "scheduler": list(example.scheduler_layer(chance)),
            "counts": list(example.counts_layer()),
            "peers": [Skipped("plugin", "wazero", "there is no Go")],
        }
        self.asked: list[str] = []
        self.fails: BaseException | None = None
        self.decoding = 50.0

    def measure(self, layer: str) -> Callable[..., Iterator[Measurement | Skipped]]:
        def measured(step: Callable[[str], None], *_: object) -> Iterator[Measurement | Skipped]:
            self.asked.append(layer)
            step(f"first of {layer}")
            yield from self.found[layer][:1]
            if self.fails is not None:
                raise self.fails
            step(f"rest of {layer}")
            yield from self.found[layer][1:]

        return measured

    def bars(self, step: Callable[[str], None]) -> Iterator[Bar]:
        self.asked.append("codec")
        step("encoding")
        yield Bar("encode", 30.0, "µs", at_most=200, note="a note")
        yield Bar("decode", self.decoding, "µs", at_most=400)

    def figures(self, layer: str) -> list[Measurement]:
        return [one for one in self.found[layer] if isinstance(one, Measurement)]


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Fake:
    """No test may measure anything, nor write into the folder that the tests were started in."""
    monkeypatch.chdir(tmp_path)
    made = Fake()
    for layer, module in (
        ("plugin", "plugin_layer"),
        ("scheduler", "scheduler_layer"),
        ("counts", "counts"),
        ("peers", "peers.peer_layer"),
    ):
        monkeypatch.setattr(f"tools.bench.{module}.steps", lambda *_: 2)
        monkeypatch.setattr(f"tools.bench.{module}.measure", made.measure(layer))
    monkeypatch.setattr("tools.bench.bars.codec.bars", made.bars)
    return made


def files() -> list[str]:
    """Files left by a command in its folder."""
    return [str(path) for path in Path().iterdir()]


def failed(ended: Ended) -> str:
    """The one line of an error that is the user's."""
    assert (ended.code, ended.out) == (1, "")
    assert re.fullmatch(r"error: .*\n", ended.err), ended.err
    return ended.err.removeprefix("error: ").rstrip()


def faster(result: model.Result, layer: str, share: float) -> model.Result:
    """The same result, in which a layer's figures are another share of what they were."""

    def changed(one: Measurement) -> Measurement:
        return replace(one, values=tuple(value * share for value in one.values)) if one.layer == layer else one

    return replace(result, measurements=[changed(one) for one in result.measurements])


# ---------------------------------------------------------------------- help


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_an_example_of_it(bench: Command, command: str) -> None:
    ended = bench(command, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert max(map(len, ended.out.splitlines())) <= 80
    assert f"Example: python -m tools.bench {command}" in " ".join(ended.out.split())


def test_help_of_the_group_names_every_command(bench: Command) -> None:
    shown = bench("--help").out
    for command in COMMANDS:
        assert re.search(rf"^  {command} ", shown, re.MULTILINE), command


@pytest.mark.parametrize("command", COMMANDS)
def test_example_in_the_help_works(bench: Command, command: str) -> None:
    text = example.result().as_json()
    for name in ("before.json", "after.json", "bench-result.json"):
        Path(name).write_text(text, encoding="utf-8")
    Path("tools/bench").mkdir(parents=True)
    baseline = example.result(plugin=False, scheduler=False)
    Path("tools/bench/counts.json").write_text(baseline.as_json(), encoding="utf-8")
    Path("guest.wasm").write_bytes(wat("score").read_bytes())
    (shown,) = examples(bench(command, "-h").out)
    words = shlex.split(shown.removeprefix("python -m tools.bench ").replace("/tmp/report", "report"))
    assert bench(*words).code == 0


# ---------------------------------------------------------------------- wrong usage


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("scheduler", "--embedded", "--real"), "--embedded and --real: leave both out to measure both"),
        (("plugin", "--nodes", "0"), "--nodes: expected 1 to 100000, got 0"),
        (("plugin", "--nodes", "many"), "--nodes: expected an integer"),
        (("compare", "one.json"), "missing argument B.json"),
    ],
    ids=lambda found: " ".join(found) if isinstance(found, tuple) else "",
)
def test_wrong_usage_is_an_error_that_measures_nothing(
    bench: Command, fake: Fake, arguments: tuple[str, ...], said: str
) -> None:
    assert said in bench(*arguments).usage_error
    assert (fake.asked, files()) == ([], [])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plugin", "--form", "go", "--form", "cobol"), r"there is no form cobol; there are builtin, .*wazero"),
        (("scheduler", "--workload", "nothing"), r"there is no workload 'nothing'; there are basic, .*gated"),
        (
            ("counts", "--only", "nothing"),
            r"there is no policy, form or path 'nothing'; there are nodenumber, .*web handlers",
        ),
    ],
    ids=["form", "workload", "path"],
)
def test_a_name_that_is_not_known_is_answered_with_those_that_are(
    bench: Command, fake: Fake, arguments: tuple[str, ...], said: str
) -> None:
    assert re.match(said, failed(bench(*arguments)))
    assert (fake.asked, files()) == ([], [])


# ---------------------------------------------------------------------- measuring a layer


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_is_written_and_summarized(bench: Command, fake: Fake, layer: str) -> None:
    ended = bench(layer, "--out", "found.json")
    assert ended.code == 0
    kept = model.read(Path("found.json"))
    assert kept.measurements == fake.figures(layer)
    assert list(kept.seconds) == [layer]
    assert 0 <= kept.seconds[layer] < 60
    assert (bool(kept.measured_on), "cpu" in kept.machine, "wasmtime" in kept.versions) == (True, True, True)
    last = ended.out.splitlines()[-2:]
    assert re.fullmatch(rf"{len(kept.measurements):,} figures in 0:\d\d min, written to found.json", last[0])
    assert last[1] == "report: python -m tools.bench report found.json"


def test_without_out_the_file_is_in_the_working_folder(bench: Command) -> None:
    assert bench("plugin").code == 0
    assert files() == ["bench-result.json"]


def test_ratios_are_printed_with_their_bars(bench: Command, fake: Fake) -> None:
    shown = bench("plugin").out
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.split()[:3] == ["WHAT", "MEASURED", "BAR"]
    assert re.search(r"^in the sandbox against Python callbacks +[\d,]+x *$", shown, re.MULTILINE)
    assert "kube-scheduler-wasm-extension" not in shown  # nothing was measured of it
    fake.found["plugin"] = [*example.plugin_layer(random.Random(1))]
    with_peers = " ".join(bench("plugin").out.split())
    assert re.search(r"[\d,]+x >= 200x (ok|MISSED) ", with_peers)


def test_what_could_not_be_measured_is_a_warning_and_is_kept(bench: Command) -> None:
    ended = bench("plugin")
    assert "warning: not measured: python, zone: no compiler\n" in ended.err
    assert "warning: not measured: wazero: there is no Go\n" in ended.err
    assert [one.what for one in model.read(Path("bench-result.json")).skipped] == ["python, zone", "wazero"]


def test_json_is_the_fresh_layer_alone_and_can_be_read_as_a_result(bench: Command, fake: Fake, write: Write) -> None:
    out = write("found.json", here(example.result()).as_json())
    ended = bench("plugin", "--out", out, "-o", "json")
    assert ended.code == 0
    assert {one["layer"] for one in ended.json["measurements"]} == {"plugin"}
    assert model.read(write("printed.json", ended.out)).measurements == fake.figures("plugin")
    assert "scheduler" in {one.layer for one in model.read(out).measurements}


def here(result: Result) -> Result:
    """Result with the machine fields of this machine."""
    return replace(result, machine=machine.machine(), versions=machine.versions())


def test_what_was_measured_elsewhere_is_not_kept(bench: Command, fake: Fake, write: Write) -> None:
    out = write("found.json", example.result().as_json())
    ended = bench("scheduler", "--out", out)
    assert ended.code == 0
    assert "found.json: figures of another machine or other versions are dropped" in ended.err
    assert model.read(out).measurements == fake.figures("scheduler")


def test_a_part_of_a_layer_replaces_that_part(bench: Command, fake: Fake, write: Write) -> None:
    old = here(example.result())
    out = write("found.json", old.as_json())
    assert bench("scheduler", "--embedded", "--out", out).code == 0
    fresh = {one.key for one in fake.figures("scheduler")}
    assert model.read(out).measurements == [
        *(one for one in old.measurements if one.layer != "scheduler" or one.key not in fresh),
        *fake.figures("scheduler"),
    ]


def test_a_layer_that_is_measured_anew_leaves_the_others(bench: Command, fake: Fake, write: Write) -> None:
    old = here(example.result())
    out = write("found.json", old.as_json())
    assert bench("scheduler", "--out", out).code == 0
    kept = model.read(out)
    for layer in ("plugin", "counts"):
        assert [one for one in kept.measurements if one.layer == layer] == [
            one for one in old.measurements if one.layer == layer
        ]
        assert kept.seconds[layer] == old.seconds[layer]
    assert [one for one in kept.measurements if one.layer == "scheduler"] == fake.figures("scheduler")
    assert kept.seconds["scheduler"] < old.seconds["scheduler"]
    assert kept.skipped == [one for one in old.skipped if one.layer != "scheduler"]


@pytest.mark.parametrize(
    ("forms", "asked"),
    [((), ["plugin", "peers"]), (("go",), ["plugin"]), (("go", "wazero"), ["plugin", "peers"])],
    ids=["all", "ours", "with a peer"],
)
def test_peers_are_measured_unless_other_forms_are_asked_for(
    bench: Command, fake: Fake, forms: tuple[str, ...], asked: list[str]
) -> None:
    assert bench("plugin", *(word for form in forms for word in ("--form", form))).code == 0
    assert fake.asked == asked


# ---------------------------------------------------------------------- progress


def test_progress_is_lines_where_there_is_no_terminal(bench: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_command, "_LINE_SECONDS", 0.0)
    lines = [line for line in bench("plugin").err.splitlines() if not line.startswith("warning")]
    told = ["1 of 4: first of plugin", "2 of 4: rest of plugin", "3 of 4: first of peers", "4 of 4: rest of peers"]
    assert [re.sub(r"^ +\d+ s  ", "", line) for line in lines] == told


def test_a_short_run_is_one_line(bench: Command) -> None:
    assert re.fullmatch(r" +0 s  1 of 2: first of scheduler\n", bench("scheduler").err)


def test_progress_is_a_bar_on_a_terminal(bench: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("kubewasp.cli.output.has_progress", lambda: True)
    ended = bench("scheduler", "-o", "json")
    assert ended.json["measurements"]
    assert "1 of 2" not in ended.err
    assert "2/2" in ended.err


# ---------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("before", [None, example.result().as_json()], ids=["no file", "a file"])
@pytest.mark.parametrize(
    "ending", [(KubewaspError("a scheduler was wrong"), 1), (KeyboardInterrupt(), 130)], ids=["error", "interrupt"]
)
def test_a_measurement_that_does_not_end_leaves_the_file_as_it_was(
    bench: Command, fake: Fake, layer: str, before: str | None, ending: tuple[BaseException, int]
) -> None:
    out = Path("found.json")
    if before is not None:
        out.write_text(before, encoding="utf-8")
    fake.fails, code = ending
    ended = bench(layer, "--out", out)
    assert (ended.code, ended.out) == (code, "")
    assert "Traceback" not in ended.err
    assert (out.read_text(encoding="utf-8") if out.exists() else None) == before


@pytest.mark.parametrize("layer", LAYERS)
def test_a_folder_that_is_not_there_is_made(bench: Command, tmp_path: Path, layer: str) -> None:
    assert bench(layer, "--out", tmp_path / "a" / "b" / "found.json").code == 0
    assert model.read(tmp_path / "a" / "b" / "found.json").measurements


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("a file/found.json", "cannot be written: Not a directory"),
        ("a file/folder/found.json", "cannot be written: Not a directory"),
        ("a folder", "Is a directory"),
        ("no JSON", "not JSON"),
        ("no result", "not a benchmark result"),
        ("another format", "format 99 is not known here"),
    ],
)
def test_an_out_that_cannot_be_used_is_told_before_anything_is_measured(
    bench: Command, fake: Fake, write: Write, out: str, said: str
) -> None:
    Path("a folder").mkdir()
    for name, text in (("a file", ""), ("no JSON", "{"), ("no result", "[]"), ("another format", '{"format": 99}')):
        write(name, text)
    before = files()
    for layer in LAYERS:
        assert failed(bench(layer, "--out", out)).startswith(f"{out}: {said}")
    assert (fake.asked, files()) == ([], before)
    assert Path("no JSON").read_text(encoding="utf-8") == "{"


def test_a_folder_that_may_not_be_written_to_is_told_before_anything_is_measured(
    bench: Command, fake: Fake, tmp_path: Path
) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o555)
    with file_permissions_obeyed():
        told = failed(bench("plugin", "--out", folder / "found.json"))
    assert "cannot be written: Permission denied" in told
    assert fake.asked == []


# ---------------------------------------------------------------------- counts


def test_counts_are_printed_for_each_policy(bench: Command) -> None:
    ended = bench("counts")
    assert ended.code == 0
    assert max(map(len, ended.out.splitlines())) <= 80
    assert re.search(r"^NODENUMBER +FUEL +COPIED +CALLS +PYTHON +ALLOCATED$", ended.out, re.MULTILINE)
    assert re.search(r"^go, first +5,000 +4,000 +3,000 +1,000 +2,000$", ended.out, re.MULTILINE)


def test_counts_that_are_written_are_a_baseline_that_holds(bench: Command) -> None:
    assert bench("counts", "--out", "baseline.json").code == 0
    ended = bench("counts", "--check", "baseline.json")
    assert (ended.code, ended.out.splitlines()[-1]) == (0, "45 counts, 0 worse than the baseline")


def test_a_count_that_grew_fails_the_check_and_says_how_to_renew_it(bench: Command, fake: Fake) -> None:
    assert bench("counts", "--out", "baseline.json").code == 0
    first = fake.figures("counts")[0]
    fake.found["counts"][0] = replace(first, values=(first.values[0] * 1.5,))
    ended = bench("counts", "--check", "baseline.json")
    assert ended.code == 1
    assert re.search(r"fuel +5,000 +7,500 +\+50", " ".join(ended.out.split()))
    assert "If intended: python -m tools.bench counts --out BASELINE.json\n" in ended.out
    in_json = bench("counts", "--check", "baseline.json", "-o", "json")
    assert (in_json.code, [found["metric"] for found in in_json.json["worse"]]) == (1, ["fuel"])


def test_a_baseline_that_is_not_there_is_told_before_anything_is_counted(bench: Command, fake: Fake) -> None:
    assert failed(bench("counts", "--check", "none.json")) == "none.json: No such file or directory"
    assert fake.asked == []


# ---------------------------------------------------------------------- compare


@pytest.fixture
def pair(write: Write) -> tuple[Path, Path]:
    """A result, and one whose plugins take twice the time."""
    before = example.result()
    return write("before.json", before.as_json()), write("after.json", faster(before, "plugin", 2).as_json())


def test_compare_says_what_changed(bench: Command, pair: tuple[Path, Path]) -> None:
    ended = bench("compare", *pair)
    assert (ended.code, ended.err) == (0, "")
    worse = sum(one.layer == "plugin" for one in example.result().measurements)
    same = len(example.result().measurements) - worse
    assert ended.out.splitlines()[-1] == f"{worse} worse, 0 better, {same} the same"
    assert ended.out.split()[:5] == ["WORSE", "METRIC", "BEFORE", "AFTER", "CHANGE"]
    back = bench("compare", *reversed(pair))
    assert back.out.splitlines()[-1] == f"0 worse, {worse} better, {same} the same"


def test_compare_prints_json(bench: Command, pair: tuple[Path, Path]) -> None:
    ended = bench("compare", *pair, "-o", "json")
    assert (ended.code, ended.err) == (0, "")
    assert {change["layer"] for change in ended.json["worse"]} == {"plugin"}
    assert {round(change["change"], 6) for change in ended.json["worse"]} == {1.0}
    assert (ended.json["better"], ended.json["only_before"], ended.json["warnings"]) == ([], [], [])


@pytest.mark.parametrize("form", [(), ("-o", "json")], ids=["text", "json"])
def test_a_check_fails_when_something_is_worse(bench: Command, pair: tuple[Path, Path], form: tuple[str, ...]) -> None:
    before, after = pair
    assert bench("compare", before, after, "--check", *form).code == 1
    assert bench("compare", after, before, "--check", *form).code == 0
    assert bench("compare", before, before, "--check", *form).code == 0


def wrong(**changed: Any) -> str:
    return json.dumps(json.loads(example.result().as_json()) | changed)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file or directory"),
        ("figures", "not JSON: "),
        ("[1]", "not a benchmark result: it has no `format`"),
        ('{"kind": "Pod"}', "not a benchmark result: it has no `format`"),
        ('{"format": 1}', "not a benchmark result: "),
        (wrong(format=2), "format 2 is not known here, only 1; measure again"),
        (wrong(measurements=[{"layer": "plugin"}]), "not a benchmark result: "),
    ],
    ids=["missing", "no JSON", "a list", "a manifest", "empty", "another format", "half a measurement"],
)
@pytest.mark.parametrize("command", ["compare", "report"])
def test_a_file_that_is_no_result_is_named(
    bench: Command, write: Write, command: str, text: str | None, said: str
) -> None:
    path = Path("missing.json") if text is None else write("wrong.json", text)
    good = write("good.json", example.result().as_json())
    orders = [(path, good), (good, path)] if command == "compare" else [(path, "--docs", "report")]
    for order in orders:
        assert failed(bench(command, *order)).startswith(f"{path}: {said}")
    assert not Path("report").exists()


# ---------------------------------------------------------------------- report


def test_report_writes_page_and_pictures_and_says_where(bench: Command, write: Write, tmp_path: Path) -> None:
    ended = bench("report", write("found.json", example.result().as_json()), "--docs", tmp_path / "report")
    assert (ended.code, ended.err) == (0, "")
    said = {Path(line) for line in ended.out.splitlines()}
    assert said == {path for path in (tmp_path / "report").rglob("*") if path.is_file()}
    assert {path.suffix for path in said} == {".md", ".json", ".svg"}
    assert (tmp_path / "report" / "benchmarks.md").read_text(encoding="utf-8").count("# Benchmarks\n") == 1


def test_a_command_that_fails_exits_with_1_and_one_line(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tools.bench", "report", tmp_path / "none.json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = failed(Ended(ended.returncode, ended.stdout, ended.stderr))
    assert said == f"{tmp_path / 'none.json'}: No such file or directory"


# ---------------------------------------------------------------------- bars


def test_bars_are_printed_and_written(bench: Command, fake: Fake) -> None:
    ended = bench("bars", "--only", "codec", "--out", "a/bars.json")
    assert (ended.code, fake.asked) == (0, ["codec"])
    assert re.search(r"^encode +30 µs +<= 200 +ok", ended.out, re.MULTILINE)
    assert ended.out.splitlines()[-1] == "2 of 2 bars reached"
    written = json.loads(Path("a/bars.json").read_text(encoding="utf-8"))
    assert [(bar["name"], bar["reached"]) for bar in written["bars"]] == [("encode", True), ("decode", True)]


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--check",), 1)], ids=["shown", "checked"])
def test_a_missed_bar_fails_the_check(bench: Command, fake: Fake, options: tuple[str, ...], code: int) -> None:
    fake.decoding = 500.0
    ended = bench("bars", "--only", "codec", *options)
    assert ended.code == code
    assert re.search(r"^decode +500 µs +<= 400 +MISSED$", ended.out, re.MULTILINE)


def test_a_part_with_a_missed_bar_is_measured_again_by_the_check(bench: Command, fake: Fake) -> None:
    def calmer(step: Callable[[str], None]) -> Iterator[Bar]:
        yield from fake.bars(step)
        fake.decoding -= 60

    fake.decoding = 450.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tools.bench.bars.codec.bars", calmer)
        ended = bench("bars", "--only", "codec", "--check")
    assert (ended.code, fake.asked) == (0, ["codec", "codec"])
    assert re.search(r"^decode +390 µs +<= 400 +ok$", ended.out, re.MULTILINE)


def test_an_unknown_part_is_wrong_usage(bench: Command, fake: Fake) -> None:
    parts = (
        "codec, host, interruption, cycle, sdk, rollout, recording, lab, console, console_live, web, registry or trust"
    )
    assert f"--only: expected {parts}" in bench("bars", "--only", "nothing").usage_error
    assert fake.asked == []
