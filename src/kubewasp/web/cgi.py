"""Guests of style `wasi`: one WASI command per request, with the CGI interface (RFC 3875).

Meta-variables and stdin hold the request; stdout has the head of the response, an empty line and the body. Raw guests
have the same input, and stdout is the body as it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kubewasp.wasi.capabilities import Capabilities, CapabilityError, Preopen, SettingNames
from kubewasp.wasi.command import Ending, run
from kubewasp.wasi.program import check_runnable, load_program
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.web.errors import GuestError
from kubewasp.web.guest_output import Output, log_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kubewasp.web.errors import ErrorKind
    from kubewasp.web.handler_pool import PoolStats
    from kubewasp.web.http_messages import Request, Response
    from kubewasp.web.web_config import GuestConfig

_HEAD_LIMIT: Final = 64 * 1024
_STATUS: Final = re.compile(rb"(\d{3})(?: .*)?")
_END_OF_HEAD: Final = re.compile(rb"(?:\A|\r?\n)\r?\n")
_KINDS: Final[dict[Ending, ErrorKind]] = {
    Ending.TRAPPED: "trap",
    Ending.TIMED_OUT: "timeout",
    Ending.OUT_OF_FUEL: "timeout",
}
# Settings of a guest in the configuration file.
_NAMES: Final = SettingNames(
    directory="dirs:",
    environment="env:",
    memory="limits.memory",
    stack="limits.stack",
    timeout="limits.timeout",
    compile_timeout="limits.compileTimeout",
    compile_memory="limits.compileMemory",
)
# Header Proxy would become HTTP_PROXY: httpoxy.org.
_NOT_FORWARDED: Final = (b"proxy", b"content-type", b"content-length")


class CommandRunner:
    """`Runner` with one run of the command per request; no state outlives a request."""

    prepares = False
    may_be_brief = False

    def __init__(self, config: GuestConfig, wasm: bytes, stats: PoolStats) -> None:
        self._config = config
        self._stats = stats
        try:
            self._preopens = tuple(_preopen(config, text) for text in config.dirs)
            capabilities = self._capabilities({})
            self._program = load_program(wasm, capabilities, name=config.file.name)
            check_runnable(self._program, capabilities)
        except CapabilityError as error:
            raise GuestLoadError(f"wasm: {error}") from None

    def run(self, request: Request, response: Response, following: Callable[[], None]) -> None:  # noqa: ARG002
        output = Output(self._config.limits.output)
        head = _Body(response, self._config.content_type) if self._config.raw else _Head(response)
        self._stats.begin(made=True)
        try:
            outcome = run(
                self._program,
                self._capabilities(meta_variables(request)),
                stdin=request.body.read,
                stdout=head.take,
                stderr=output.take,
            )
        except GuestLoadError as error:
            raise GuestError("start", str(error)) from None
        finally:
            self._stats.end()
            log_lines(self._config.name, output, request.id)
        if outcome.ending is not Ending.EXITED:
            raise GuestError(_KINDS[outcome.ending], outcome.message)
        if outcome.exit_code:
            raise GuestError("exit", f"guest exited with code {outcome.exit_code}")
        if not head.is_complete:
            raise GuestError("answer", f"no response head: expected header lines and an empty line, got {head.shown}")

    def prepare(self) -> None:
        """Nothing to do: a run belongs to one request."""

    def _capabilities(self, request: Mapping[str, str]) -> Capabilities:
        limits = self._config.limits
        return Capabilities(
            preopens=self._preopens,
            environment={**request, **self._config.env},
            arguments=self._config.args,
            memory=limits.memory,
            stack=limits.stack,
            timeout=limits.timeout,
            compilation=limits.compilation,
            names=_NAMES,
        )


def _preopen(config: GuestConfig, text: str) -> Preopen:
    """Relative host paths start at the folder of the configuration."""
    found = Preopen.parse(text, _NAMES)
    return Preopen(str(config.folder / found.host), found.guest, found.read_only)


def meta_variables(request: Request) -> dict[str, str]:
    """Meta-variables of RFC 3875, and the customary REQUEST_URI."""
    headers = request.headers
    length = request.body.length
    found = {
        "GATEWAY_INTERFACE": "CGI/1.1",
        "SERVER_SOFTWARE": "kubewasp",
        "SERVER_PROTOCOL": request.protocol,
        "SERVER_NAME": request.server[0],
        "SERVER_PORT": str(request.server[1] or ""),
        "REMOTE_ADDR": request.client[0],
        "REMOTE_PORT": str(request.client[1] or ""),
        "REQUEST_METHOD": request.method,
        "REQUEST_URI": request.target.decode("latin-1"),
        "SCRIPT_NAME": request.script,
        "PATH_INFO": request.path_info,
        "QUERY_STRING": request.query.decode("latin-1"),
        "CONTENT_TYPE": _text(headers.first(b"content-type")),
        "CONTENT_LENGTH": str(length) if length else "",
    }
    if request.scheme == "https":
        found["HTTPS"] = "on"
    for name in headers.names():
        # X_User would become the variable of X-User.
        if name not in _NOT_FORWARDED and b"_" not in name:
            found[f"HTTP_{_text(name).upper().replace('-', '_')}"] = ", ".join(map(_text, headers.values(name)))
    return {name: value.replace("\0", "") for name, value in found.items()}


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode("latin-1")


class _Body:
    """Sink for stdout of raw guests: all of it is the body."""

    is_complete = True
    shown = ""

    def __init__(self, response: Response, content_type: str) -> None:
        response.headers.set(b"content-type", content_type.encode())
        self.take = response.write


class _Head:
    """Sink for stdout: parses the head of the response and forwards the body."""

    def __init__(self, response: Response) -> None:
        self.is_complete = False
        self._response = response
        self._start = bytearray()

    @property
    def shown(self) -> str:
        return repr(bytes(self._start[:80])) if self._start else "nothing"

    def take(self, chunk: bytes) -> None:
        if self.is_complete:
            self._response.write(chunk)
            return
        self._start += chunk
        end = _END_OF_HEAD.search(self._start)
        if end is not None:
            self.is_complete = True
            self._read(bytes(self._start[: end.start()]))
            self._response.write(bytes(self._start[end.end() :]))
        elif len(self._start) > _HEAD_LIMIT:
            raise GuestError("answer", f"response head is over {_HEAD_LIMIT} bytes: {self.shown}")

    def _read(self, head: bytes) -> None:
        response, seen = self._response, set[bytes]()
        for line in head.splitlines():
            name, colon, value = line.partition(b":")
            if not colon:
                raise GuestError("answer", f"invalid header line: {line[:80]!r}")
            if name.lower() == b"status":
                found = _STATUS.fullmatch(value.strip())
                if found is None:
                    raise GuestError("answer", f"Status: expected a number such as 404, got {value[:80]!r}")
                response.set_status(int(found[1]))
            elif name.lower() in seen:
                response.headers.add(name, value)
            else:  # replaces the value of a middleware
                response.headers.set(name, value)
            seen.add(name.lower())
        if b"location" in seen and b"status" not in seen:
            response.set_status(302)
