"""Recording of the demo: format, picture, and the same text as the demo of today."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.guests.build import ROOT
from tests.test_docs import skeleton
from tools import recording
from tools.recording import Line, cast, picture, read_cast, record

SVG = "{http://www.w3.org/2000/svg}"
KEPT = 200_000  # bytes


def test_the_recording_is_what_the_demo_prints() -> None:
    """After a change of the demo or of the output of its commands: make recording."""
    printed = [line.plain for line in record(["sh", "examples/demo.sh"])]
    kept = [line.plain for line in read_cast(recording.CAST.read_text(encoding="utf-8"))]
    assert skeleton("\n".join(kept)) == skeleton("\n".join(printed))
    assert len(printed) <= 60
    assert max(map(len, printed)) <= recording.COLUMNS


def test_the_demo_in_a_file_has_no_colours(tmp_path: Path) -> None:
    (tmp_path / "kubewasp").symlink_to(shutil.which("true") or "")
    found = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "TERM": "xterm-256color"}
    printed = subprocess.run(
        ["sh", ROOT / "examples" / "demo.sh"], env=found, check=True, stdout=subprocess.PIPE
    ).stdout
    assert printed.startswith(b"# A web shop")
    assert b"$ kubewasp simulate " in printed
    assert b"\x1b" not in printed


def test_the_picture_is_that_of_the_recording() -> None:
    kept = recording.CAST.read_text(encoding="utf-8")
    assert recording.PICTURE.read_text(encoding="utf-8") == picture(read_cast(kept))
    assert recording.PICTURE.stat().st_size + recording.CAST.stat().st_size < KEPT


def test_a_recording_has_a_header_and_an_event_per_line() -> None:
    lines = record(["printf", r"one\n\033[1m$ two\033[0m\n"])
    header, *events = map(json.loads, cast(lines).splitlines())
    assert (header["version"], header["width"], header["height"]) == (2, 80, 2)
    assert [event[1:] for event in events] == [["o", "one\r\n"], ["o", "\x1b[1m$ two\x1b[0m\r\n"]]
    assert events[1][0] - events[0][0] > 1  # a pause before a command
    assert read_cast(cast(lines)) == lines


def test_a_line_of_the_picture_has_its_columns_styles_and_time() -> None:
    [head, text] = ET.fromstring(picture([Line(1.5, "\x1b[1m<a>  b\x1b[0m c"), Line(2, "")])).findall(f"{SVG}text")
    assert head.text == recording.TITLE
    assert text.get("style") == "animation-delay:1.5s"
    spans = [(span.get("class"), span.get("x"), span.text) for span in text]
    assert spans == [("b", "16.0", "<a>"), ("b", "58.0", "b"), ("n", "74.8", "c")]


def test_a_style_lasts_over_lines() -> None:
    drawn = picture([Line(0, "\x1b[1m$ one \\"), Line(0, "two\x1b[0m"), Line(0, "three")])
    assert re.findall(r'<tspan class="(\w)"[^>]*>([^<]*)<', drawn) == [("b", "$ one \\"), ("b", "two"), ("n", "three")]


def test_a_command_that_fails_is_no_recording() -> None:
    with pytest.raises(SystemExit, match="error: false ended with exit code 1"):
        record(["false"])
