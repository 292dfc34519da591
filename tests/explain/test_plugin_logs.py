"""Logs of plugins, collected for a report."""

from collections.abc import Iterator

import pytest

from kubewasp.explain import plugin_logs
from kubewasp.explain.plugin_logs import PluginLogs, by_pod
from kubewasp.framework.cluster_events import ObjectReference, RecordedEvent
from kubewasp.k8s.pods import PodParser
from kubewasp.scheduler.attempt import Attempt
from kubewasp.wasm.guest_log import Entry, GuestLog, HookLog
from tests import samples


class Lines(GuestLog):
    def __init__(self, *texts: str, stream: str = "") -> None:
        self._texts = texts
        self._stream = stream
        self.lines = len(texts)
        self.size = sum(map(len, texts))

    def entries(self) -> Iterator[Entry]:
        return ((0, self._stream, text.encode(), b"") for text in self._texts)


TRIED = RecordedEvent(
    ObjectReference("Pod", "v1", "web", "shop"), ObjectReference(), "Normal", "Tried", "Try", "a note"
)


def call(*texts: str, plugin: str = "policy", pod: str = "default/web", failed: bool = False) -> HookLog:
    return HookLog(plugin, "filter", pod, 0.0, Lines(*texts), is_failed=failed)


def error_of(pod: str, message: str) -> Attempt:
    return Attempt(PodParser().parse(samples.pod(pod)), message=message, is_error=True)


def test_lines_have_plugin_hook_and_pod_and_equal_ones_their_count() -> None:
    logs = PluginLogs(is_complete=True)
    logs.write(call("a", "b", "a"))
    logs.write(HookLog("other", "postbind", "default/db", 0.0, events=(TRIED,)))
    assert list(by_pod(logs.lines())) == [
        "default/web",
        "  policy filter  I  a (2 times)",
        "  policy filter  I  b",
        "default/db",
        "  other postbind  event  Normal Tried Pod/shop/web a note",
    ]
    assert logs.summary() == "3 log lines and 1 event of 2 plugins"
    found = logs.as_dict()
    assert (found["lines"], found["events"], found["plugins"], found["dropped"]) == (3, 1, ["policy", "other"], 0)
    assert found["entries"][0] == {
        "time": "1970-01-01T00:00:00.000000Z",
        "pod": "default/web",
        "plugin": "policy",
        "hook": "filter",
        "kind": "I",
        "text": "a",
        "count": 2,
    }


def test_without_a_word_there_is_no_summary() -> None:
    assert PluginLogs().summary() == ""
    assert PluginLogs().as_dict() == {"lines": 0, "events": 0, "plugins": [], "errors": {}}


@pytest.mark.parametrize("is_complete", [False, True])
def test_memory_is_bounded_and_all_lines_are_counted(is_complete: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin_logs, "_FEW_BYTES", 10)
    monkeypatch.setattr(plugin_logs, "_MOST_BYTES", 100)
    logs = PluginLogs(is_complete=is_complete)
    for number in range(1000):
        logs.write(call(str(number).rjust(5)))
    kept = 20 if is_complete else 2
    assert [line.text for line in logs.lines()] == [str(number).rjust(5) for number in range(1000 - kept, 1000)]
    assert (logs.counts(), logs.dropped) == ((1000, 0), 1000 - kept)


def test_an_error_keeps_the_last_lines_of_the_named_plugin_for_the_pod() -> None:
    logs = PluginLogs()
    logs.write(call(*(f"line {number}" for number in range(30))))
    logs.write(call("of another plugin", plugin="other"))
    logs.write(call("of another pod", pod="default/db"))
    logs.attempted(error_of("web", 'running "policy" filter plugin: wasm: filter error'))
    logs.attempted(Attempt(PodParser().parse(samples.pod("db")), message="unschedulable"))
    assert {pod: [line.text for line in lines] for pod, lines in logs.errors.items()} == {
        "default/web": [f"line {number}" for number in range(10, 30)]
    }
    assert [line["text"] for line in logs.as_dict()["errors"]["default/web"]][-1] == "line 29"


def test_an_error_without_a_plugins_name_keeps_the_lines_of_all() -> None:
    logs = PluginLogs()
    logs.write(call("one"))
    logs.write(call("x" * 5000, plugin="other"))
    logs.attempted(error_of("web", "no such node"))
    assert [line.text for line in logs.errors["default/web"]] == ["one", "x" * 2000 + "…"]


def test_a_failed_call_keeps_its_lines_whatever_becomes_of_the_pod() -> None:
    logs = PluginLogs()
    logs.write(call("last words", failed=True))
    assert [line.text for line in logs.errors["default/web"]] == ["last words"]


def test_printed_lines_that_the_error_contains_are_not_repeated() -> None:
    logs = PluginLogs()
    printed = Lines("at n1", "boom", "panic: boom", "\tmain.go:7", "", stream="stderr")
    logs.write(HookLog("policy", "filter", "default/web", 0.0, printed, is_failed=True))
    message = 'wasm: filter error: panic: boom\n\n\tmain.go:7\nwasm trap (plugin "policy")'
    logs.attempted(error_of("web", message))
    assert [line.text for line in logs.errors["default/web"]] == ["at n1", "boom"]
    assert [line.text for line in logs.lines(without=message)] == ["at n1", "boom"]
    assert len(list(logs.lines())) == 5
    logs.write(call("panic: boom"))
    logs.attempted(error_of("web", message.replace("error: ", "error: at n1\nboom\n")))
    assert [(line.kind, line.text) for line in logs.errors["default/web"]] == [("I", "panic: boom")]


def test_pods_with_errors_are_bounded() -> None:
    logs = PluginLogs()
    for number in range(50):
        logs.write(call("x", pod=f"default/{number}", failed=True))
    assert len(logs.errors) == 20
