import base64
import gzip
import hashlib
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from kubewasp.wasm import download
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest import Guest
from kubewasp.wasm.source import fetch
from tests.guests.build import EXAMPLES, example, wat

MANY = 1 << 20
CONTENT = b"\0asm, let us say"
DIGEST = hashlib.sha256(CONTENT).hexdigest()
RAW = zlib.compressobj(wbits=-15)
ENCODED = {
    "gzip": gzip.compress(CONTENT[:5]) + gzip.compress(CONTENT[5:]),  # two members
    "X-GZIP": gzip.compress(CONTENT),
    "deflate": zlib.compress(CONTENT),
    "Deflate": RAW.compress(CONTENT) + RAW.flush(),
    "identity": CONTENT,
}
AUTHORIZATION = "Basic " + base64.b64encode(b"user:p@ss word").decode()


class Server(ThreadingHTTPServer):
    """A web server on the loopback interface."""

    daemon_threads = False  # closing it waits for them

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.over = threading.Event()
        self.authorizations: list[str | None] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are what some tests are about."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.authorizations.append(self.headers["Authorization"])
        match self.path.partition("?")[0]:
            case "/guest.wasm":
                self.answer(CONTENT)
            case "/filter.wasm":
                self.answer(wat("filter").read_bytes())
            case "/text.wat":
                self.answer(b"(module)")
            case "/encoded.wasm":
                encoding = self.path.partition("?")[2]
                self.answer(ENCODED.get(encoding, CONTENT), encoding)
            case "/bomb.wasm":
                self.answer(gzip.compress(bytes(20 * MANY)), "gzip")
            case "/cut-gzip.wasm":
                self.answer(gzip.compress(CONTENT)[:-4], "gzip")
            case "/broken.wat":
                self.answer(b"(modul")
            case "/private.wasm" if self.headers["Authorization"] == AUTHORIZATION:
                self.answer(CONTENT)
            case "/private.wasm":
                self.send_error(401)
            case "/moved.wasm":
                self.redirect("/guest.wasm")
            case "/to-a-file.wasm":
                self.redirect(wat("filter").as_uri())
            case "/to-ftp.wasm":
                self.redirect("ftp://127.0.0.1/guest.wasm")
            case "/round.wasm":
                self.redirect("/round.wasm")
            case "/to-another-host.wasm":
                self.redirect(f"http://localhost:{self.server.server_port}/guest.wasm")
            case "/to-another-port.wasm":
                self.redirect("http://127.0.0.1:1/guest.wasm")
            case "/to-an-odd-host.wasm":
                self.redirect("https://hun ter2/guest.wasm")
            case "/rude.wasm":
                self.wfile.write(b"HTTP/1.1 555 hunter2\r\nContent-Length: 7\r\n\r\nhunter2")
            case "/no-http.wasm":
                self.wfile.write(b"hunter2\r\n\r\n")
            case "/drip-header.wasm":
                self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                while not self.server.over.wait(0.01):
                    self.wfile.write(b"x" * 200)  # a line may have 64 KiB
            case "/silent.wasm":
                self.server.over.wait()
            case "/drip.wasm":
                self.begin(MANY)
                while not self.server.over.wait(0.01):
                    self.wfile.write(b"x")
            case "/cut.wasm":
                self.begin(MANY)
                self.wfile.write(CONTENT)
            case _:
                self.send_error(404)

    def begin(self, length: int, encoding: str = "") -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        if encoding:
            self.send_header("Content-Encoding", encoding)
        self.end_headers()

    def answer(self, content: bytes, encoding: str = "") -> None:
        self.begin(len(content), encoding)
        self.wfile.write(content)

    def redirect(self, where: str) -> None:
        self.send_response(302)
        self.send_header("Location", where)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.over.set()
        running.shutdown()
        thread.join()


def problem(source: Any, **options: Any) -> str:
    with pytest.raises(GuestLoadError) as caught:
        fetch(source, **{"max_bytes": MANY} | options)
    return str(caught.value)


# ---------------------------------------------------------------- files


@pytest.fixture
def guest_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plug ins").mkdir()
    path = tmp_path / "plug ins" / "guest.wasm"
    path.write_bytes(CONTENT)
    return path


def test_a_guest_is_read_from_a_path(guest_file: Path) -> None:
    assert fetch(guest_file, max_bytes=MANY) == CONTENT
    assert fetch(str(guest_file), max_bytes=MANY) == CONTENT
    assert fetch("plug ins/guest.wasm", max_bytes=MANY) == CONTENT


def test_a_guest_is_read_from_a_file_address(guest_file: Path) -> None:
    assert fetch(guest_file.as_uri(), max_bytes=MANY) == CONTENT
    assert fetch(f"file://{guest_file}", max_bytes=MANY) == CONTENT
    assert fetch(f"FILE://{guest_file}", max_bytes=MANY) == CONTENT


def test_a_file_address_may_be_relative(guest_file: Path) -> None:
    assert fetch("file://plug ins/guest.wasm", max_bytes=MANY) == CONTENT
    assert fetch("file://./plug%20ins/guest.wasm", max_bytes=MANY) == CONTENT


def test_a_file_that_is_not_there_is_told_by_the_name_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.wasm"
    assert problem(path) == f"wasm: cannot load {path}: No such file or directory"
    assert problem("file://nowhere.wasm") == "wasm: cannot load file://nowhere.wasm: No such file or directory"


def test_a_folder_is_no_guest(tmp_path: Path) -> None:
    assert problem(tmp_path) == f"wasm: cannot load {tmp_path}: Is a directory"


def test_a_path_that_cannot_be_one_is_refused() -> None:
    assert problem("a\0b") == r"wasm: cannot load 'a\x00b': embedded null byte"


def test_a_compressed_file_is_unpacked(tmp_path: Path) -> None:
    guest, text, bomb = (tmp_path / name for name in ("filter.wasm.gz", "filter.wat.gz", "bomb.wasm.gz"))
    guest.write_bytes(gzip.compress(wat("filter").read_bytes()))
    text.write_bytes(gzip.compress(b"(module)"))
    bomb.write_bytes(gzip.compress(bytes(20 * MANY)))
    assert Guest.load(guest, sha256=hashlib.sha256(guest.read_bytes()).hexdigest()).name == "filter"
    assert fetch(text, max_bytes=MANY).startswith(b"\0asm")
    assert problem(bomb, max_bytes=MANY) == f"wasm: {bomb} is larger than 1Mi; raise limits.guestSize"
    bomb.write_bytes(b"\x1f\x8bnot really")
    assert problem(bomb).startswith(f"wasm: cannot load {bomb}: not valid compressed data")


def test_a_file_that_is_too_large_is_refused(guest_file: Path) -> None:
    assert fetch(guest_file, max_bytes=len(CONTENT)) == CONTENT
    text = problem(guest_file, max_bytes=len(CONTENT) - 1)
    assert text == f"wasm: {guest_file} is larger than {len(CONTENT) - 1} bytes; raise limits.guestSize"


def test_a_file_of_webassembly_text_is_assembled() -> None:
    assert fetch(EXAMPLES / "nodenumber.wat", max_bytes=MANY) == example("nodenumber").read_bytes()


@pytest.mark.parametrize("content", [b"(modul", b"\xff\xfe"])
def test_text_that_is_not_webassembly_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "broken.wat"
    path.write_bytes(content)
    assert problem(path).startswith(f"wasm: {path} is not WebAssembly text: ")


# ---------------------------------------------------------------- http


def test_a_guest_is_downloaded(server: Server) -> None:
    assert fetch(f"http://{server.address}/guest.wasm", max_bytes=MANY) == CONTENT
    assert fetch(f"HTTP://{server.address}/guest.wasm", max_bytes=MANY) == CONTENT


def test_a_downloaded_guest_is_named_after_its_address(server: Server) -> None:
    guest = Guest.load(f"http://{server.address}/filter.wasm?version=2")
    assert guest.name == "filter"
    assert guest.hooks == ("filter",)


def test_webassembly_text_is_downloaded_and_assembled(server: Server) -> None:
    assert fetch(f"http://{server.address}/text.wat", max_bytes=MANY) == b"\0asm\1\0\0\0"


@pytest.mark.parametrize("encoding", ENCODED)
def test_a_guest_that_the_server_compresses_is_unpacked(encoding: str, server: Server) -> None:
    source = f"http://{server.address}/encoded.wasm?{encoding}"
    assert fetch(source, max_bytes=MANY, sha256=DIGEST) == CONTENT


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip,gzip"])
def test_an_unknown_content_encoding_is_refused(encoding: str, server: Server) -> None:
    assert problem(f"http://{server.address}/encoded.wasm?{encoding}") == (
        f"wasm: cannot load http://{server.address}/encoded.wasm?…: "
        "unknown Content-Encoding; known are gzip, x-gzip, deflate"
    )


def test_a_compressed_guest_that_is_too_large_or_incomplete_is_refused(server: Server) -> None:
    bomb, cut = f"http://{server.address}/bomb.wasm", f"http://{server.address}/cut-gzip.wasm"
    assert problem(bomb, max_bytes=MANY) == f"wasm: {bomb} is larger than 1Mi; raise limits.guestSize"
    assert problem(cut) == f"wasm: cannot load {cut}: the compressed data is incomplete"


def test_an_answer_other_than_ok_is_told(server: Server) -> None:
    url = f"http://{server.address}/nowhere.wasm"
    assert problem(url) == f"wasm: cannot load {url}: HTTP 404 Not Found"


def test_a_server_that_is_not_there_is_told() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as closed:
        url = f"http://127.0.0.1:{closed.server_port}/guest.wasm"
    assert problem(url).startswith(f"wasm: cannot load {url}: ")


@pytest.mark.parametrize("page", ["silent", "drip", "drip-header"])
def test_a_server_that_takes_too_long_is_given_up(page: str, server: Server) -> None:
    url = f"http://{server.address}/{page}.wasm"
    assert problem(url, timeout=0.1) == f"wasm: cannot load {url}: no answer within 0.1 s"


def test_a_download_that_is_too_large_is_refused(server: Server) -> None:
    url = f"http://{server.address}/guest.wasm"
    assert fetch(url, max_bytes=len(CONTENT)) == CONTENT
    assert problem(url, max_bytes=15) == f"wasm: {url} is larger than 15 bytes; raise limits.guestSize"


def test_a_download_that_breaks_off_is_refused(server: Server) -> None:
    url = f"http://{server.address}/cut.wasm"
    assert problem(url) == f"wasm: cannot load {url}: the connection ended after {len(CONTENT)} of {MANY} bytes"


def test_a_redirect_is_followed(server: Server) -> None:
    assert fetch(f"http://{server.address}/moved.wasm", max_bytes=MANY) == CONTENT


@pytest.mark.parametrize(
    ("page", "cause"),
    [
        ("to-a-file", "HTTP 302, a redirect that is not followed"),
        ("to-ftp", "a redirect to another protocol"),
        ("round", "HTTP 302, a redirect that is not followed"),
        ("to-an-odd-host", "a redirect to another host; another host is allowed over HTTPS, and with the sha256"),
        ("to-another-port", "a redirect to 127.0.0.1:1; another host is allowed over HTTPS, and with the sha256"),
    ],
)
def test_a_redirect_to_another_protocol_or_host_is_refused(page: str, cause: str, server: Server) -> None:
    url = f"http://{server.address}/{page}.wasm"
    assert problem(url).startswith(f"wasm: cannot load {url}: {cause}")


def test_even_with_a_digest_another_host_must_use_https(server: Server) -> None:
    assert "a redirect to localhost:" in problem(f"http://{server.address}/to-another-host.wasm", sha256=DIGEST)


@pytest.mark.parametrize(
    ("before", "after", "is_fixed", "cause"),
    [
        ("https://a/x", "http://a/x", True, "from HTTPS to HTTP"),
        ("https://a/x", "https://b/y", False, "a redirect to b;"),
        ("https://a/x", "https://b/y", True, ""),
        ("https://a/x", "https://a:443/y", False, ""),
        ("https://a/x", "https://a:444/y", False, "a redirect to a:444;"),
        ("http://a/x", "https://a/x", False, ""),
    ],
)
def test_redirects_stay_on_a_host_or_lead_to_fixed_content_and_never_lose_tls(
    before: str, after: str, is_fixed: bool, cause: str
) -> None:
    problem = download._Redirects(is_fixed=is_fixed)._problem(urlsplit(before), urlsplit(after))
    assert cause in problem
    assert bool(cause) == bool(problem)


@pytest.mark.parametrize(("page", "cause"), [("rude", "HTTP 555"), ("no-http", "the answer is not HTTP")])
def test_words_of_the_server_are_never_shown(page: str, cause: str, server: Server) -> None:
    url = f"http://{server.address}/{page}.wasm"
    assert problem(url) == f"wasm: cannot load {url}: {cause}"


@pytest.mark.parametrize(
    "url", ["http://[::1/x.wasm", "http://", "http:///x.wasm", "http://host:port/x", "http://a b/"]
)
def test_an_address_that_cannot_be_one_is_refused(url: str) -> None:
    assert problem(url).startswith(f"wasm: cannot load {url}: ")


def test_other_schemes_are_refused() -> None:
    text = problem("ftp://user:secret@host/guest.wasm")
    assert "unknown scheme" in text
    assert text.endswith("use file://, http://, https:// or oci://")
    assert "secret" not in text


# ---------------------------------------------------------------- credentials


def test_credentials_of_an_address_are_sent(server: Server) -> None:
    assert fetch(f"http://user:p%40ss%20word@{server.address}/private.wasm", max_bytes=MANY) == CONTENT


def test_credentials_do_not_follow_a_redirect(server: Server) -> None:
    fetch(f"http://user:secret@{server.address}/moved.wasm", max_bytes=MANY)
    first, second = server.authorizations
    assert first is not None
    assert second is None


@pytest.mark.parametrize(
    ("page", "options"),
    [
        ("nowhere.wasm", {}),
        ("private.wasm", {}),
        ("guest.wasm", {"max_bytes": 1}),
        ("guest.wasm", {"sha256": "0" * 64}),
        ("guest.wasm", {"sha256": "odd"}),
        ("broken.wat", {}),
        ("silent.wasm", {"timeout": 0.05}),
        ("cut.wasm", {}),
        ("to-ftp.wasm", {}),
    ],
)
def test_credentials_are_never_shown(page: str, options: dict[str, Any], server: Server) -> None:
    for query in ("", "?signature=secret"):
        text = problem(f"http://user:secret@{server.address}/{page}{query}", **options)
        assert f"http://{server.address}/{page}" in text
        assert "secret" not in text


def test_credentials_of_an_address_that_cannot_be_one_are_never_shown() -> None:
    assert "secret" not in problem("http://user:secret@host:port/guest.wasm")
    assert "secret" not in problem("http://user:secret@[::1/guest.wasm")


# ---------------------------------------------------------------- digest


@pytest.mark.parametrize("digest", [DIGEST, DIGEST.upper(), f"sha256:{DIGEST}"])
def test_a_guest_with_the_expected_digest_is_taken(digest: str, guest_file: Path) -> None:
    assert fetch(guest_file, sha256=digest, max_bytes=MANY) == CONTENT


def test_a_guest_with_another_digest_is_refused(guest_file: Path) -> None:
    text = problem(guest_file, sha256="0" * 64)
    assert text == f"wasm: {guest_file} has the sha256 {DIGEST}, expected {'0' * 64}"


@pytest.mark.parametrize("digest", ["", "abc", DIGEST[:-1], f"{DIGEST}0", f"sha512:{DIGEST}"])
def test_a_digest_that_cannot_be_one_is_refused(digest: str, guest_file: Path) -> None:
    assert problem(guest_file, sha256=digest).startswith(f"wasm: sha256 of {guest_file}: expected 64 hexadecimal")


def test_the_digest_of_webassembly_text_is_that_of_the_text() -> None:
    path = EXAMPLES / "nodenumber.wat"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert fetch(path, sha256=digest, max_bytes=MANY).startswith(b"\0asm")
