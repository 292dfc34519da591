import pytest

from kubewasp.wasm.hook_failures import hook_failure, time_limit, without_prints
from kubewasp.wasm.limits import Limits

TRACE = "wasm stack trace:\n\tmain.(*Plugin).Filter @ 0x31"
GO = "panic: boom\n\ngoroutine 1 [running]:\nmain.f()\n\tmain.go:20 +0x5"


def failed(output: str, cause: str = "wasm trap: unreachable", trace: str = TRACE) -> str:
    failure = hook_failure("filter", "mine", "trap", cause, output=output, trace=trace)
    return f'running "mine" filter plugin: {failure.text}'


@pytest.mark.parametrize("trace", [TRACE, ""])
@pytest.mark.parametrize(
    "report",
    [
        GO,
        "fatal error: all goroutines are asleep",
        "thread 'main' panicked at src/lib.rs:7:",
        "policy.c:7: f: Assertion failed",
        "Traceback (most recent call last):\n  File x",
    ],
)
def test_a_failure_without_prints_begins_with_the_report_of_the_runtime(report: str, trace: str) -> None:
    assert without_prints(failed(f"looking at n1\nor n2 (panic: no)\n{report}", trace=trace)) == failed(
        report, trace=trace
    )


def test_at_a_time_limit_no_output_is_the_cause() -> None:
    cause = time_limit(Limits(), "call_timeout", place="node n1", function="main.f")
    assert without_prints(failed("looking\nat n1", cause)) == failed("", cause)


@pytest.mark.parametrize("text", ["", "no room", failed(""), failed("no price for zone a"), failed("a") + "\nmore"])
def test_other_texts_are_kept(text: str) -> None:
    assert without_prints(text) == text
