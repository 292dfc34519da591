"""The owner thread of an extender."""

import asyncio

import pytest

from kubewasp.extender.worker import Worker


def test_a_thread_that_ends_is_a_problem_and_its_request_fails() -> None:
    worker = Worker()
    worker.start()

    def end(_body: bytes) -> bytes:
        raise SystemExit("out")

    with pytest.raises(BaseException, match="out"):
        asyncio.run(worker.ask(end, b""))
    worker.stop()
    assert worker.problem == "SystemExit: out"


def test_an_error_of_a_question_is_its_own() -> None:
    worker = Worker()
    worker.start()

    def fail(_body: bytes) -> bytes:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        asyncio.run(worker.ask(fail, b""))
    assert asyncio.run(worker.ask(bytes.upper, b"body")) == b"BODY"
    worker.stop()
    assert worker.problem == ""
