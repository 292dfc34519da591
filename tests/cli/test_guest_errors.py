"""Invalid guests in all commands: one error on stderr, nothing on stdout, exit code 1."""

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ended, Kubewasp
from tests.guests.build import wat

COMMANDS = {"call": ("call",), "inspect": ("inspect",), "bench": ("bench", "--nodes", "2", "--pods", "2")}
COMPONENT = b"\0asm\x0d\0\x01\0"

pytestmark = pytest.mark.parametrize("command", COMMANDS)


def run(kubewasp: Kubewasp, command: str, guest: object, *options: object) -> Ended:
    hooks = ["filter"] if command == "call" else []
    return kubewasp("plugin", *COMMANDS[command], guest, *hooks, *options)


def failure(ended: Ended) -> str:
    """The error's text, of which the first line must say all."""
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error: ")
    assert ended.err.count("error: ") - ended.err.count("_start error: ") - ended.err.count("enqueue error: ") == 1
    assert "Traceback" not in ended.err
    assert "\n\n" not in ended.err
    return ended.err.splitlines()[0].removeprefix("error: ")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"hello", "this is not WebAssembly: the file does not start with \\0asm"),
        (b"", "this is not WebAssembly"),
        (b"\0asm\1\0", "the file is truncated: it ends within its 8-byte header"),
        (b"\0asm\7\0\0\0", "unknown WebAssembly version 07000000"),
        (COMPONENT, "the component does not fit the world"),
        (b"\0asm\1\0\0\0\1\2\3", "the file is truncated: section 1 at byte 8 has 1 of 2 bytes"),
        (b"\0asm\1\0\0\0\1\1\1", "guest is not a valid module"),
    ],
    ids=["text", "empty", "short-header", "version", "component", "short-section", "invalid"],
)
def test_content_that_is_no_module(kubewasp: Kubewasp, tmp_path: Path, command: str, content: bytes, told: str) -> None:
    guest = tmp_path / "guest.wasm"
    guest.write_bytes(content)
    error = failure(run(kubewasp, command, guest))
    assert str(guest) in error
    assert told in error


def test_truncated_guest(kubewasp: Kubewasp, tmp_path: Path, command: str) -> None:
    guest = tmp_path / "guest.wasm"
    guest.write_bytes(wat("filter").read_bytes()[:-10])
    assert "the file is truncated: section" in failure(run(kubewasp, command, guest))


def test_text_with_a_mistake_shows_the_place(kubewasp: Kubewasp, tmp_path: Path, command: str) -> None:
    guest = tmp_path / "guest.wat"
    guest.write_text("(module\n  (func oops))\n")
    ended = run(kubewasp, command, guest)
    assert f"{guest} is not WebAssembly text" in failure(ended)
    assert "line 2, column 9: unknown operator" in ended.err


@pytest.mark.parametrize(
    ("guest", "told"),
    [
        ("bad_signature", "wasm: guest exports the wrong signature for func[filter]. should be () -> (i32)"),
        ("bad_signature_params", "wasm: guest exports the wrong signature for func[filter]. should be () -> (i32)"),
        ("no_memory", "wasm: guest doesn't export memory[memory]"),
        ("no_hook", "wasm: guest does not export any plugin functions"),
        ("only_prescore", "wasm: filter, score, reserve, permit or bind must be exported"),
        (
            "unknown_import",
            'wasm: guest imports an unknown function: module "env" function "foo"; there are k8s.io/api',
        ),
        ("unknown_k8s_import", 'wasm: guest imports an unknown function: module "k8s.io/api" function "pods"'),
        (
            "wrong_import_type",
            'module "k8s.io/scheduler" function "currentPod" as (i32) -> (i32). should be (i32, i32)',
        ),
        ("shared_memory", "wasm: guest is not a valid module: threads must be enabled"),
        ("uses_gc", "wasm: guest is not a valid module"),
        ("huge_memory", "wasm: guest starts with 4294967296 bytes of memory, over the limit of 268435456"),
    ],
)
def test_module_that_is_no_plugin(kubewasp: Kubewasp, command: str, guest: str, told: str) -> None:
    error = failure(run(kubewasp, command, wat(guest)))
    assert error.startswith(f"{wat(guest)}: ")
    assert told in error


def test_memory_over_the_given_limit(kubewasp: Kubewasp, command: str) -> None:
    error = failure(run(kubewasp, command, wat("state"), "--limit", "memory=1Mi"))
    assert "wasm: guest starts with 1114112 bytes of memory, over the limit of 1048576" in error


def test_guest_over_the_size_limit(kubewasp: Kubewasp, command: str) -> None:
    assert "is larger than 100 bytes" in failure(run(kubewasp, command, wat("state"), "--limit", "guestSize=100"))


def test_missing_file_and_directory(kubewasp: Kubewasp, tmp_path: Path, command: str) -> None:
    missing = tmp_path / "missing.wasm"
    assert failure(run(kubewasp, command, missing)) == f"wasm: cannot load {missing}: No such file or directory"
    assert failure(run(kubewasp, command, tmp_path)).startswith(f"{tmp_path} is not a plugin project: it has neither ")


@pytest.mark.parametrize("address", ["ftp://example/x.wasm", "http://", "http://[::1/x.wasm", "file://a%00b"])
def test_address_that_cannot_be_used(kubewasp: Kubewasp, command: str, address: str) -> None:
    assert "wasm: cannot load" in failure(run(kubewasp, command, address))


def test_wrong_digest(kubewasp: Kubewasp, command: str) -> None:
    error = failure(run(kubewasp, command, wat("filter"), "--sha256", "f" * 64))
    assert f"{wat('filter')} has the sha256 " in error
    assert error.endswith(f"expected {'f' * 64}")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is inherited
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A web server on the loopback interface that has some files."""
    for guest in ("filter", "start_trap"):
        (tmp_path / f"{guest}.wasm").write_bytes(wat(guest).read_bytes())
    (tmp_path / "component.wasm").write_bytes(COMPONENT)
    handler = functools.partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as web:
        thread = threading.Thread(target=web.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{web.server_port}"
        web.shutdown()
        thread.join()


def test_guest_comes_over_http(kubewasp: Kubewasp, server: str, command: str) -> None:
    assert run(kubewasp, command, f"{server}/filter.wasm").code == 0


def test_http_failures(kubewasp: Kubewasp, server: str, command: str) -> None:
    error = failure(run(kubewasp, command, f"{server}/other.wasm"))
    assert error == f"wasm: cannot load {server}/other.wasm: HTTP 404 Not Found"
    error = failure(run(kubewasp, command, f"{server}/filter.wasm", "--sha256", "0" * 64))
    assert error.startswith(f"wasm: {server}/filter.wasm has the sha256 ")


def test_password_of_an_address_is_not_shown(kubewasp: Kubewasp, server: str, command: str) -> None:
    address = server.replace("://", "://user:secret@")
    for name in ("other.wasm", "", "component.wasm", "start_trap.wasm", "filter.wasm"):
        ended = run(kubewasp, command, f"{address}/{name}")
        assert ended.code == int(name != "filter.wasm")
        assert "secret" not in ended.out + ended.err


START_ERRORS = {
    "start_exit1": "wasm: _start error: bad config",
    "start_trap": "wasm: _start error: wasm trap: wasm `unreachable` instruction executed",
    "start_loop": "wasm: _start error: time limit of 0.2 s exceeded",
    "enqueue_trap": "wasm: enqueue error: wasm trap: wasm `unreachable` instruction executed",
}


@pytest.mark.parametrize("guest", START_ERRORS)
def test_guest_that_fails_at_its_start(kubewasp: Kubewasp, command: str, guest: str) -> None:
    ended = run(kubewasp, command, wat(guest), "--limit", "startTimeout=200ms")
    if command == "inspect":  # which shows what it knows before it fails
        ended = Ended(ended.code, "", ended.err)
    assert START_ERRORS[guest] in failure(ended)
    assert str(wat(guest)) in ended.err
    if guest == "start_exit1":
        assert "guest exited with code 1" in ended.err
