"""Guests of style wasi: a WASI command is run for each request, as CGI programs are (RFC 3875).

The request is in its variables and on its stdin; it prints the head of the response, an empty line and the body.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from kubewasp.wasi.command import Ending, run
from kubewasp.wasi.grants import Directory, GrantError, Grants
from kubewasp.wasi.program import check_runnable, load
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.web.faults import GuestFault
from kubewasp.web.guest_log import tell_lines
from kubewasp.web.handler_instance import Output

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kubewasp.web.exchange import Request, Response
    from kubewasp.web.handler_pool import PoolStats
    from kubewasp.web.site_config import GuestConfig

_HEAD_LIMIT: Final = 64 * 1024
_STATUS: Final = re.compile(rb"(\d{3})(?: .*)?")
_END_OF_HEAD: Final = re.compile(rb"(?:\A|\r?\n)\r?\n")
_KINDS: Final = {Ending.TRAPPED: "trap", Ending.TIMED_OUT: "timeout", Ending.OUT_OF_FUEL: "timeout"}
# Proxy makes programs use the proxy that a client names in a header: httpoxy.org.
_NOT_PASSED_ON: Final = (b"proxy", b"content-type", b"content-length")


class CommandRunner:
    """Implements `Runner`. Each request is a run of its own, so nothing can be left from another one."""

    prepares = False

    def __init__(self, config: GuestConfig, wasm: bytes, stats: PoolStats) -> None:
        self._config = config
        self._stats = stats
        try:
            self._directories = tuple(_directory(config, text) for text in config.dirs)
            grants = self._grants({})
            self._program = load(wasm, grants, name=os.path.basename(config.file))  # noqa: PTH119 - a name, no path
            check_runnable(self._program, grants)
        except GrantError as error:
            raise GuestLoadError(f"wasm: {error}") from None

    def run(self, request: Request, response: Response, following: Callable[[], None]) -> None:  # noqa: ARG002
        output = Output(self._config.limits.output)
        head = _Head(response)
        self._stats.begin(made=True)
        try:
            outcome = run(
                self._program,
                self._grants(variables(request)),
                stdin=request.body.read,
                stdout=head.take,
                stderr=output.take,
            )
        except GuestLoadError as error:
            raise GuestFault("start", str(error)) from None
        finally:
            self._stats.end()
            tell_lines(self._config.name, output, request.id)
        if outcome.ending is not Ending.EXITED:
            raise GuestFault(_KINDS[outcome.ending], outcome.message)
        if outcome.exit_code:
            raise GuestFault("exit", f"guest exited with code {outcome.exit_code}")
        if not head.is_complete:
            raise GuestFault("answer", f"no head: expected header lines and an empty line, got {head.shown}")

    def prepare(self) -> None:
        """There is nothing to do ahead: a command that has begun belongs to a request."""

    def _grants(self, request: Mapping[str, str]) -> Grants:
        limits = self._config.limits
        return Grants(
            directories=self._directories,
            environment={**self._config.env, **request},
            arguments=self._config.args,
            memory=limits.memory,
            stack=limits.stack,
            timeout=limits.timeout,
        )


def _directory(config: GuestConfig, text: str) -> Directory:
    """The host's side of it is looked for beside the configuration, as the guest's file is."""
    found = Directory.parse(text)
    return Directory(str(config.folder / found.host), found.guest, found.read_only)


def variables(request: Request) -> dict[str, str]:
    """The meta-variables of RFC 3875, and REQUEST_URI, which everybody else has too."""
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
        if name not in _NOT_PASSED_ON:
            found[f"HTTP_{_text(name).upper().replace('-', '_')}"] = ", ".join(map(_text, headers.values(name)))
    return {name: value.replace("\0", "") for name, value in found.items()}


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode("latin-1")


class _Head:
    """A sink: reads the head of the response from what the program prints, and passes the body on."""

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
            raise GuestFault("answer", f"the head of the response is over {_HEAD_LIMIT} bytes: {self.shown}")

    def _read(self, head: bytes) -> None:
        response, seen = self._response, set[bytes]()
        for line in head.splitlines():
            name, colon, value = line.partition(b":")
            if not colon:
                raise GuestFault("answer", f"not a header line: {line[:80]!r}")
            if name.lower() == b"status":
                found = _STATUS.fullmatch(value.strip())
                if found is None:
                    raise GuestFault("answer", f"Status: expected a number such as 404, got {value[:80]!r}")
                response.set_status(int(found[1]))
            elif name.lower() in seen:
                response.headers.add(name, value)
            else:  # it takes the place of what a middleware has set
                response.headers.set(name, value)
            seen.add(name.lower())
        if b"location" in seen and b"status" not in seen:
            response.set_status(302)
