"""Start and end of one component instance."""

import gc
import json
import time
import weakref
from typing import Any

import pytest

from kubewasp.wasm.component.component_instance import ComponentFailure, ComponentInstance
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest_runner import GuestSettings
from kubewasp.wasm.limits import Limits
from tests.wasm.component.components import probe_program

MIB = 2**20


def started(start: str = "", **limits: Any) -> ComponentInstance:
    bounds = Limits(**limits)
    return ComponentInstance(probe_program(bounds.stack), bounds, GuestSettings("probe", json.dumps({"start": start})))


def do(instance: ComponentInstance, code: str) -> dict[str, Any]:
    """Runs code in the guest, in pre_enqueue."""
    pod = {"metadata": {"name": "p", "annotations": {"pre_enqueue": code}}}
    header = {"hook": "preenqueue", "cycle": 0, "now": 0, "waiting": []}
    request, seconds = f"{json.dumps(header)}\np {json.dumps(pod)}", instance._limits.call_timeout
    answer: dict[str, Any] = json.loads(instance.exchange(request, hook="preenqueue", seconds=seconds))
    return answer


def failure(instance: ComponentInstance, code: str) -> tuple[str, str]:
    with pytest.raises(ComponentFailure) as raised:
        do(instance, code)
    assert instance.broken
    return raised.value.failure.kind, raised.value.failure.text


def reason(instance: ComponentInstance, code: str) -> str:
    return str(do(instance, code)["status"][1])


# ---------------------------------------------------------------------- starting


def test_a_component_describes_itself() -> None:
    told = started().description
    assert {"filter", "score", "permit", "queuesort"} <= set(told.hooks)
    assert told.wants_pods
    assert told.wants_waiting_pods
    assert told.sdk.startswith("kubewasp-sdk ")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{", "wasm: start error: config: not valid JSON: Expecting property name"),
        ('{"strat": ""}', 'wasm: start error: config.strat: unknown field; did you mean "start"?'),
        ('{"limits": {"a": "b"}}', 'wasm: start error: config.limits.a: expected a whole number, got "b"'),
        ("[]", "wasm: start error: config: expected an object, got []"),
    ],
)
def test_a_bad_config_is_a_load_error(config: str, message: str) -> None:
    with pytest.raises(GuestLoadError) as raised:
        ComponentInstance(probe_program(), Limits(), GuestSettings("probe", config))
    assert str(raised.value).startswith(message)


def test_an_exception_in_the_constructor_is_a_load_error_with_its_traceback() -> None:
    with pytest.raises(GuestLoadError) as raised:
        started("self.fail()")
    text = str(raised.value)
    assert text.startswith("wasm: start error: ZeroDivisionError: division by zero\nTraceback")
    assert "return 1 / divisor" in text


def test_a_constructor_that_does_not_return_is_a_load_error() -> None:
    with pytest.raises(GuestLoadError, match=r"wasm: start error: time limit of 0.2 s exceeded"):
        started("while True: pass", start_timeout=0.2)


def test_what_is_printed_and_logged_in_the_constructor_is_kept() -> None:
    logs = started("print('printed'); self.log.error('logged')").description.log.log_lines()
    assert [(line.severity, line.text) for line in logs] == [(2, "logged"), (0, "printed")]


def test_too_little_memory_is_a_load_error() -> None:
    text = "wasm: guest starts with [0-9]+ bytes in 1 memories and 2 tables, over the limit of 1048576; raise "
    with pytest.raises(GuestLoadError, match=text):
        started(memory=MIB)


def test_instances_do_not_share_what_chance_gives() -> None:
    code = "import random; answer = str(random.random())"
    assert reason(started(), code) != reason(started(), code)


# ---------------------------------------------------------------------- what there is not


def test_there_are_no_files_and_no_environment() -> None:
    instance = started()
    assert do(instance, "open('/etc/hostname')")["error"]["kind"] == "FileNotFoundError"
    assert do(instance, "open('/new', 'w')")["error"]["kind"] == "FileNotFoundError"
    assert reason(instance, "import os; answer = repr(dict(os.environ))") == "{}"


def test_sleeping_is_an_exception() -> None:
    error = do(started(), "import time; time.sleep(60)")["error"]
    assert error["cause"].startswith("RuntimeError: a plugin may not sleep")


def test_a_guest_cannot_wait_in_the_host() -> None:
    began = time.monotonic()
    kind, text = failure(started(), "import select; select.select([], [], [], 60)")
    assert kind == "trap"
    assert "a plugin may not sleep or wait" in text
    assert time.monotonic() - began < 30


def test_there_is_no_network() -> None:
    code = "import _socket; _socket.socket().connect(('127.0.0.1', 80))"
    kind, text = failure(started(), code)
    assert (kind, "there is no network in a plugin" in text) == ("trap", True)


# ---------------------------------------------------------------------- ending


def test_an_endless_loop_ends_at_the_time_limit() -> None:
    kind, text = failure(started(call_timeout=0.1), "while True: pass")
    cause = "time limit of 0.1 s exceeded; the limit is limits.callTimeout"
    assert (kind, text) == ("timeout", f'wasm: preenqueue error: {cause} (plugin "probe")')


def test_too_deep_a_recursion_ends_at_the_stack_limit() -> None:
    kind, text = failure(started(), "import json; json.loads('[' * 100000)")
    assert (kind, text) == ("overrun", 'wasm: preenqueue error: stack limit of 1048576 bytes exceeded (plugin "probe")')


def test_an_exit_of_the_process_is_told() -> None:
    assert failure(started(), "import os; os._exit(1)") == (
        "exit",
        'wasm: preenqueue error: guest exited with code 1 (plugin "probe")',
    )


def test_memory_is_bounded() -> None:
    error = do(started(memory=64 * MIB), "x = []\nwhile True: x.append(bytes(1000000))")["error"]
    assert error["kind"] == "MemoryError"


def test_an_exception_does_not_end_the_instance() -> None:
    instance = started()
    assert do(instance, "self.fail()")["error"]["kind"] == "ZeroDivisionError"
    assert reason(instance, "answer = 'still there'") == "still there"
    assert not instance.broken


def test_output_is_bounded() -> None:
    output = do(started(output=10), "print('x' * 8); print('y' * 8)")["output"]
    assert output == "xxxxxxxx\ny… (8 more characters)"


def test_an_instance_that_nobody_uses_is_freed() -> None:
    instance = started()
    do(instance, "print('hello')")
    gone = weakref.ref(instance)
    del instance
    gc.collect()
    assert gone() is None
