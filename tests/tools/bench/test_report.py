import dataclasses
import re
from pathlib import Path

import pytest

from tests.tools.bench import example
from tools.bench import model
from tools.bench.model import Measurement, Result, Skipped
from tools.bench.report import documents
from tools.bench.report.causes import CAUSES, cause
from tools.bench.report.losses import losses

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"


def page(result: Result) -> str:
    return documents.files(result)[documents.PAGE]


def section(text: str, heading: str) -> str:
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, heading
    return found[1]


def test_the_committed_pages_are_what_the_committed_result_says() -> None:
    result = model.read(DOCS / "benchmarks.json")
    for name, text in documents.files(result).items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, f"{name}: run `make bench-report`"
    made = {name for name in documents.files(result) if name.startswith(documents.IMAGES)}
    assert {f"{documents.IMAGES}/{path.name}" for path in (DOCS / documents.IMAGES).glob("bench-*.svg")} == made


@pytest.mark.parametrize("layers", [(), ("plugin",), ("scheduler",), ("counts",), ("plugin", "scheduler", "counts")])
def test_a_page_of_any_layers_has_no_gaps(layers: tuple[str, ...], tmp_path: Path) -> None:
    result = example.result(**{layer: layer in layers for layer in ("plugin", "scheduler", "counts")})
    documents.write(result, tmp_path)
    text = (tmp_path / documents.PAGE).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (tmp_path / target).exists() or (DOCS / target).exists(), target
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1, table
    assert not re.search(r"^(#+ .*)\n+(?=##? |\Z)", text.replace("# Benchmarks\n", ""), re.MULTILINE)
    assert not re.search(r"\bnan\b|\bNone\b|\{|\}", text)
    left_out = {found[1] for found in re.finditer(r"^\| (\w+) \| [^|]* \| not part of this result", text, re.MULTILINE)}
    assert left_out == {"plugin", "scheduler", "counts"} - set(layers)


def test_ratios_stand_before_absolute_figures() -> None:
    headings = re.findall(r"^## (.*)$", page(example.result()), re.MULTILINE)
    assert headings.index("Ratios") < headings.index("Charts") < headings.index("Plugins in every form")
    assert "On a real API server" in headings  # other pages link to it


def test_the_page_tells_machine_date_versions_and_time() -> None:
    text = page(example.result())
    assert "Measured on 2026-01-02 on Example CPU 3000, 2 cores, 16 GiB, Linux x86_64" in text
    assert "| wasmtime | 50.0.1 |" in text
    assert "make bench          # plugins in every form: 19 min" in text
    assert "Total time here: 1 h 50 min." in text


def test_a_bar_that_is_missed_is_said_at_the_top() -> None:
    result = example.result()
    result.measurements = [
        dataclasses.replace(one, values=tuple(value / 100 for value in one.values))
        if one.case.get("form") == "go-extension"
        else one
        for one in result.measurements
    ]
    text = page(result)
    top = text[: text.index("## ")]
    assert "Missed: a Go guest against kube-scheduler-wasm-extension: 5.9" in top
    assert "**missed**" in section(text, "Ratios")
    assert "**missed**" not in section(page(example.result()), "Ratios")


def test_what_was_skipped_is_told_in_one_line_that_is_only_text() -> None:
    result = example.result(peers=False)
    result.skipped.append(Skipped("plugin", "python", "<img src=x> `code`\n| more"))
    text = section(page(result), "Not measured")
    assert r"| plugin | python | &lt;img src=x> 'code' \| more |" in text


def test_figures_have_their_spread() -> None:
    result = Result(
        measurements=[
            Measurement("plugin", {"policy": "p", "form": "go", "nodes": 100}, "unchanged_cycle", "µs", (90, 100, 110)),
            Measurement("plugin", {"policy": "p", "form": "go", "nodes": 100}, "fuel", "", (4200,), exact=True),
        ]
    )
    text = page(result)
    assert "| Go guest | 100 µs ± 10 % | 1.00 µs |" in text
    assert "| p | Go guest | 100 | 4,200 | 42.0 | 100 µs | 42.0 |" in text


def test_a_loss_is_listed_with_its_cause_and_a_win_is_not() -> None:
    text = section(page(example.result()), "Cases in which kubewasp is slower or larger")
    assert "| Go guest | built in (numpy) | no node changed | 12 |" in text
    loser = r"kubewasp with 1 wasm plugin \(signs all pods at once\)"
    assert re.search(rf"{loser} \| kube-scheduler \| pods per second \| pod-anti-affinity", text)
    assert "| Go guest | Python callbacks | no node changed" not in text
    assert "an interpreter inside the sandbox" in text


def test_a_cause_disappears_with_its_loss() -> None:
    result = example.result(scheduler=False)
    result.measurements = [one for one in result.measurements if one.case.get("form") != "python"]
    assert "CPython" not in page(result)


def test_nothing_lost_is_said_in_a_sentence() -> None:
    assert "No case beyond the noise" in page(Result())


def test_noise_is_no_loss() -> None:
    case = {"policy": "nodenumber", "nodes": 100}
    near = [
        Measurement("plugin", case | {"form": "go"}, "first_cycle", "µs", (100, 110, 120)),
        Measurement("plugin", case | {"form": "in-process"}, "first_cycle", "µs", (90, 95, 101)),
    ]
    assert losses(Result(measurements=near)) == []
    far = [near[0], dataclasses.replace(near[1], values=(50, 55, 60))]
    [loss] = losses(Result(measurements=far))
    assert (loss.ours, loss.theirs, loss.factor) == ("go", "in-process", 2.0)


def test_every_cause_explains_something_that_can_be_lost() -> None:
    result = example.result()
    # The example's processes take the same memory in every form; here those with guests take more.
    result.measurements = [
        dataclasses.replace(one, values=tuple(value * 2 for value in one.values))
        if one.metric == "host_memory" and one.case["form"] in example.GUESTS
        else one
        for one in result.measurements
    ]
    used = {cause(loss) for loss in losses(result)}
    assert [found.text for found in CAUSES if found.text not in used] == []


def test_pictures_of_an_earlier_result_are_removed_and_others_stay(tmp_path: Path) -> None:
    documents.write(example.result(), tmp_path)
    (tmp_path / "images" / "adapter.svg").write_text("<svg/>")
    documents.write(example.result(scheduler=False), tmp_path)
    left = {path.name for path in (tmp_path / "images").iterdir()}
    assert "adapter.svg" in left
    assert "bench-headline.svg" in left
    assert not any("scheduling" in name for name in left)


def test_the_figures_lie_beside_the_page(tmp_path: Path) -> None:
    source = tmp_path / "latest.json"
    source.write_text(example.result().as_json(), encoding="utf-8")
    documents.write(model.read(source), tmp_path / "docs")
    assert model.read(tmp_path / "docs" / "benchmarks.json") == example.result()


def test_a_plugin_that_does_not_sign_pods_is_never_left_out() -> None:
    result = example.result()
    text = page(result)
    assert "1 wasm plugin (does not sign): CPU time per pod, on a real API server, 5,000 nodes" in section(
        text, "Ratios"
    )
    files = documents.files(result)
    assert "does not sign" in files["images/bench-scheduling-5000.svg"]
    assert "does not sign" in files["images/bench-overhead-5000.svg"]
