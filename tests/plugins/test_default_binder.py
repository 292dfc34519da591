"""DefaultBinder: binds through the API."""

from kubewasp.framework.cycle_state import CycleState
from kubewasp.framework.status import SUCCESS, Code, Status
from kubewasp.plugins.default_binder import DefaultBinder
from tests.plugins.building import FakeHandle, make_pod


def test_a_pod_is_bound_to_its_node() -> None:
    handle, pod = FakeHandle(), make_pod()
    assert DefaultBinder({}, handle).bind(CycleState(), pod, "n") == SUCCESS
    assert handle.client.calls == [("bind", pod, "n")]


def test_what_the_api_says_is_the_error() -> None:
    handle = FakeHandle()
    handle.client.errors["bind"] = "already assigned"
    assert DefaultBinder({}, handle).bind(CycleState(), make_pod(), "n") == Status(Code.ERROR, "already assigned")
