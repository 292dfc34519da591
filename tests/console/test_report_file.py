"""The report: one file with the answers, which asks no server."""

import json
import re

from kubewasp.console.report_file import report_file
from tests.console.sources import check, described, source
from tests.simulation.simulating import node, pod

SOURCE = source(node("a", zone="x"), node("b", zone="y"), pod("web"), pod("huge", cpu="64"))


def answers() -> dict[str, dict[str, object]]:
    found = re.search(
        r'<script type="application/json" id="kubewasp-answers">(.*?)</script>', report_file(SOURCE), re.DOTALL
    )
    assert found
    parsed: dict[str, dict[str, object]] = json.loads(found[1])
    return parsed


def test_it_has_the_answers_of_all_views() -> None:
    found = answers()
    for path in ("/session", "/overview", "/pending", "/map", "/queue", "/timeline", "/timeline/changes", "/plugins"):
        assert path in found
    assert "/map?by=topology.kubernetes.io%2Fzone" in found
    assert "/pods/default/huge/decision" in found
    assert "/pods/default/huge/decision?at=1" in found or "/pods/default/huge/decision?at=0" in found
    assert "/nodes/a" in found


def test_its_answers_are_as_described() -> None:
    for address, document in answers().items():
        check(document, described(address.partition("?")[0]))


def test_markup_in_names_does_not_end_the_data() -> None:
    hostile = pod("web")
    hostile["metadata"]["labels"] = {"app": "ok"}
    hostile["metadata"]["annotations"] = {"</script><script>alert(1)</script>": "x"}
    text = report_file(source(node("a"), hostile))
    assert "</script><script>alert" not in text
