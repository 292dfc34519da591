"""Status codes, reasons and plugins."""

import pytest

from kubewasp.framework.status import SUCCESS, Code, Status, code_label


def test_codes_have_the_numbers_and_names_of_the_framework() -> None:
    assert [(int(code), code.label) for code in Code] == [
        (0, "Success"),
        (1, "Error"),
        (2, "Unschedulable"),
        (3, "UnschedulableAndUnresolvable"),
        (4, "Wait"),
        (5, "Skip"),
    ]


def test_a_number_that_is_no_code_means_error() -> None:
    assert code_label(77) == Status(77).label == "Error"


@pytest.mark.parametrize(
    ("code", "success", "rejected"),
    [
        (Code.SUCCESS, True, False),
        (Code.ERROR, False, False),
        (Code.UNSCHEDULABLE, False, True),
        (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, False, True),
        (Code.WAIT, False, False),
        (Code.SKIP, False, False),
    ],
)
def test_a_pod_is_rejected_by_the_two_unschedulable_codes(code: Code, success: bool, rejected: bool) -> None:
    status = Status(code)
    assert (status.is_success, status.is_rejected) == (success, rejected)


def test_the_message_is_all_reasons_together() -> None:
    assert Status(Code.ERROR, ("a", "b")).reason == "a, b"
    assert Status(Code.ERROR, "a").reasons == ("a",)
    assert Status(Code.ERROR, "").reasons == SUCCESS.reasons == ()


def test_a_status_can_be_said_by_a_plugin() -> None:
    status = Status(Code.UNSCHEDULABLE, "no")
    assert status.of("X") == Status(Code.UNSCHEDULABLE, "no", "X")
    assert status.plugin == ""
