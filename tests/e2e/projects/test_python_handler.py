"""The web handler in Python, built and served."""

from tests.guests import build
from tests.web.client import ask, one_handler

EXAMPLES = build.ROOT / "examples" / "http"


def test_handler_in_python() -> None:
    document = one_handler(build.python_example(EXAMPLES / "hello-python"), "wasi")
    assert ask(document, path="/?name=ada").json() == {"greeting": "hello", "name": "ada"}
    assert ask(document, "POST", content=b"1234").json()["bytes"] == 4
