"""Logs of plugins in the output of `simulate` and `explain`."""

import json

from tests.cli.conftest import Kubewasp
from tests.guests.build import EXAMPLES, ROOT, wat_text

CLUSTER = EXAMPLES.parent / "clusters" / "small.yaml"
LOGS = ROOT / "tests" / "guests" / "wat" / "log.wat"
TRAPS = """
(module
  (import "k8s.io/klog" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "last words")
  (func (export "filter") (result i32) (call $log (i32.const 0) (i32.const 0) (i32.const 10)) unreachable))
"""


def test_simulate_counts_the_lines_of_plugins(kubewasp: Kubewasp) -> None:
    shown = kubewasp("simulate", CLUSTER, "--plugin", LOGS).out
    assert shown.splitlines()[-1].endswith(" log lines of 1 plugin; --logs shows them")
    assert "hello" not in shown


def test_simulate_shows_all_lines_on_request(kubewasp: Kubewasp) -> None:
    shown = kubewasp("simulate", CLUSTER, "--plugin", LOGS, "--logs").out.splitlines()
    logs = shown[shown.index("LOGS") + 1 :]
    assert logs[0].startswith("default/")
    assert logs[1].startswith("  log filter  I  hello")
    assert logs[-1].endswith(" log lines of 1 plugin")


def test_simulate_shows_the_last_lines_before_an_error(kubewasp: Kubewasp) -> None:
    shown = kubewasp("simulate", CLUSTER, "--plugin", wat_text(TRAPS)).out
    assert "LAST LINES BEFORE THE ERROR OF default/web-" in shown
    assert "filter  I  last words\n" in shown


def test_json_has_a_field_for_logs(kubewasp: Kubewasp) -> None:
    found = json.loads(kubewasp("simulate", CLUSTER, "--plugin", LOGS, "-o", "json").out)["logs"]
    assert found["lines"] > 0
    assert found["plugins"] == ["log"]
    assert "entries" not in found
    complete = json.loads(kubewasp("simulate", CLUSTER, "--plugin", LOGS, "-o", "json", "--logs").out)["logs"]
    assert sum(entry["count"] for entry in complete["entries"]) == complete["lines"] == found["lines"]


def test_without_a_plugin_nothing_is_said_of_logs(kubewasp: Kubewasp) -> None:
    assert "log line" not in kubewasp("simulate", CLUSTER).out


def test_explain_shows_logs_and_the_last_lines_before_a_failure(kubewasp: Kubewasp) -> None:
    asked = ("explain", "default/huge", CLUSTER)
    assert kubewasp(*asked, "--plugin", LOGS).out.splitlines()[-1].endswith("; --logs shows them")
    shown = kubewasp(*asked, "--plugin", LOGS, "--logs").out
    assert "\nLOGS\ndefault/huge\n  log filter  I  hello" in shown
    failed = kubewasp(*asked, "--plugin", wat_text(TRAPS)).out
    assert "LAST LINES BEFORE THE ERROR OF default/huge" in failed
    assert json.loads(kubewasp(*asked, "--plugin", LOGS, "-o", "json").out)["logs"]["lines"] > 0
