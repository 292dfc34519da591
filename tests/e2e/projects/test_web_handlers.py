"""Web handlers in languages whose toolchains take long, built and served."""

from tests.guests import build
from tests.web.client import ask, one_handler

EXAMPLES = build.ROOT / "examples" / "http"


def test_handler_in_python() -> None:
    document = one_handler(build.python_example(EXAMPLES / "hello-python"), "wasi")
    assert ask(document, path="/?name=ada").json() == {"greeting": "hello", "name": "ada"}
    assert ask(document, "POST", content=b"1234").json()["bytes"] == 4


def test_handler_in_javascript() -> None:
    document = one_handler(build.javascript_example(EXAMPLES / "hello-javascript"), "wasi")
    assert ask(document, path="/?name=ada").json() == {"greeting": "hello", "name": "ada"}
    assert ask(document, "POST", content=b"x" * 200_000).json()["bytes"] == 200_000


def test_handlers_in_rust() -> None:
    message, lines, returned = (
        build.rust_handler(EXAMPLES / "rust", name) for name in ("message", "lines", "returned")
    )
    assert ask(one_handler(message, "run"), "POST", content=b"ada").text == "hello, ada\n"
    assert ask(one_handler(message, "run"), "POST").text == "hello, world\n"
    assert ask(one_handler(lines, "run"), "POST", content=b"one\ntwo").text == "1 ONE\n2 TWO\n"
    assert ask(one_handler(returned, "module"), path="/?ada").text == "hello, ada\n"
