from xml.etree import ElementTree as ET

import pytest

from kubewasp.projects import junit
from kubewasp.projects.suites import Suite
from kubewasp.projects.toolchain import TestResult


def parsed(*suites: Suite) -> ET.Element:
    written = junit.document(suites, name="policy")
    assert written.startswith(b"<?xml version='1.0' encoding='utf-8'?>\n")
    return ET.fromstring(written)


def test_results_are_counted_and_told() -> None:
    good = Suite("Go tests", (TestResult("TestA", 0.25), TestResult("TestB", 0.5, skipped="not today")))
    bad = Suite("tests/a.yaml", (TestResult("packs", 1.0, failure="pod default/web\n  node  expected a"),))
    root = parsed(good, bad)
    assert root.tag == "testsuites"
    assert root.attrib == {
        "name": "policy",
        "tests": "3",
        "failures": "1",
        "skipped": "1",
        "errors": "0",
        "time": "1.750",
    }
    first, second = root
    assert first.attrib == {
        "name": "Go tests",
        "tests": "2",
        "failures": "0",
        "skipped": "1",
        "errors": "0",
        "time": "0.750",
    }
    passed, skipped = first
    assert passed.attrib == {"classname": "policy.Go tests", "name": "TestA", "time": "0.250"}
    assert list(passed) == []
    assert [(child.tag, child.attrib) for child in skipped] == [("skipped", {"message": "not today"})]
    [[failure]] = second
    assert (failure.tag, failure.attrib["message"]) == ("failure", "pod default/web")
    assert failure.text == "pod default/web\n  node  expected a"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("<a> & \"b\" 'c'", "<a> & \"b\" 'c'"),
        ("\x1b[31mred\x00", "\\x1b[31mred\\x00"),
        ("\ud800 \ufffe", "\\xd800 \\xfffe"),
        ("日本 \U0001f600", "日本 \U0001f600"),
    ],
)
def test_any_text_becomes_valid_xml(text: str, written: str) -> None:
    root = parsed(Suite(text, (TestResult(text, failure=text), TestResult(text, skipped=text))))
    [[failed, skipped]] = root
    assert (root[0].attrib["name"], failed.attrib["name"]) == (written, written)
    assert (failed[0].text, failed[0].attrib["message"]) == (written, written)
    assert skipped[0].attrib["message"] == written


def test_nothing_is_valid_too() -> None:
    assert parsed().attrib["tests"] == "0"
