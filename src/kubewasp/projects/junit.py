"""JUnit XML report of test suites, for CI systems."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubewasp.projects.suites import Suite

# Characters that XML 1.0 does not allow, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def document(suites: Iterable[Suite], *, name: str) -> bytes:
    """The whole report; `name` is the plugin's name."""
    root = ET.Element("testsuites", name=_text(name))
    total = {"tests": 0, "failures": 0, "skipped": 0}
    seconds = 0.0
    for suite in suites:
        failures = sum(bool(result.failure) for result in suite.results)
        skipped = sum(bool(result.skipped) for result in suite.results)
        counts = {"tests": len(suite.results), "failures": failures, "skipped": skipped}
        element = ET.SubElement(root, "testsuite", name=_text(suite.name), errors="0", time=f"{suite.seconds:.3f}")
        for key, count in counts.items():
            element.set(key, str(count))
            total[key] += count
        seconds += suite.seconds
        for result in suite.results:
            case = ET.SubElement(
                element,
                "testcase",
                classname=_text(f"{name}.{suite.name}"),
                name=_text(result.name),
                time=f"{result.seconds:.3f}",
            )
            if result.failure:
                failed = ET.SubElement(case, "failure", message=_text(result.failure.partition("\n")[0]))
                failed.text = _text(result.failure)
            elif result.skipped:
                ET.SubElement(case, "skipped", message=_text(result.skipped))
    root.attrib |= {**{key: str(count) for key, count in total.items()}, "errors": "0", "time": f"{seconds:.3f}"}
    ET.indent(root)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _text(text: str) -> str:
    """Text with visible escapes for forbidden characters, such as terminal colours."""
    return _FORBIDDEN.sub(lambda match: f"\\x{ord(match.group()):02x}", text)
