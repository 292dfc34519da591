import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewasp.server import logs
from kubewasp.server.event_log import EventLog

logger = logging.getLogger("kubewasp.tests.events")


def log_here() -> None: ...


EVENTS = EventLog(logger, log_here.__code__)


@contextmanager
def configured(form: logs.LogFormat) -> Iterator[io.StringIO]:
    """Logging as in a process of its own."""
    root, stream = logging.getLogger(), io.StringIO()
    before, level = root.handlers[:], root.level
    root.handlers[:] = []
    try:
        logs.configure(form, stream=stream)
        yield stream
    finally:
        root.handlers[:] = before
        root.setLevel(level)


def lines(form: logs.LogFormat, fields: dict[str, str | int | float]) -> tuple[str, str]:
    """The line of an event, and that of a log record with the same fields."""
    with configured(form) as stream:
        EVENTS.write("Request", fields)
        logger.info("Request", extra=fields)
    ours, record = stream.getvalue().splitlines()
    return ours, record


# Surrogates: a path that is not UTF-8.
texts = st.text() | st.sampled_from(
    ["a\nb", 'a"b', "\\", "token=abc", "https://user:pass@host/", "x" * 40_000, "\udc80"]
)


@given(texts, st.integers(), st.floats(allow_nan=False, allow_infinity=False))
def test_text_lines_are_those_of_records(path: str, status: int, seconds: float) -> None:
    ours, record = lines("text", {"path": path, "status": status, "seconds": seconds})
    assert ours.partition("] ")[2] == record.partition("] ")[2]
    assert ours.startswith("I")
    assert " test_event_log.py:" in ours.partition("]")[0]
    assert len(ours.partition(" test_event_log")[0]) == len(record.partition(" test_event_log")[0])


@given(texts, st.integers(), st.floats(allow_nan=False, allow_infinity=False))
def test_json_lines_are_those_of_records(path: str, status: int, seconds: float) -> None:
    ours, record = lines("json", {"path": path, "status": status, "seconds": seconds})
    found, expected = json.loads(ours), json.loads(record)
    assert list(found) == list(expected)
    assert found | {"ts": 0, "caller": ""} == expected | {"ts": 0, "caller": ""}


def test_other_handlers_get_records(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        EVENTS.write("Request", {"path": "/"})
    (record,) = caplog.records
    assert (record.getMessage(), record.path, record.filename) == ("Request", "/", "test_event_log.py")  # type: ignore[attr-defined]


def test_a_closed_stream_is_no_error() -> None:
    with configured("text") as stream:
        stream.close()
        EVENTS.write("Request", {})
