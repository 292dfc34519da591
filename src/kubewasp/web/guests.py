"""Guests of a web configuration: loading, running for a request, reloading after a change of the file or tag."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

from kubewasp.registry.references import Reference
from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.guest_files import signature_files
from kubewasp.web import handler_abi, handler_module, middleware_abi, run_abi
from kubewasp.web.cgi import CommandRunner
from kubewasp.web.errors import GuestError
from kubewasp.web.guest_style import detect_style
from kubewasp.web.handler_instance import HandlerInstance
from kubewasp.web.handler_pool import InstancePool, PoolStats
from kubewasp.web.web_config import misplaced_settings, role_problem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kubewasp.wasm.source import GuestSources
    from kubewasp.web.handler_module import HandlerModule
    from kubewasp.web.http_messages import Request, Response
    from kubewasp.web.web_config import GuestConfig, Style

logger = logging.getLogger(__name__)


class Runner(Protocol):
    """One version of a guest, of any style."""

    def run(self, request: Request, response: Response, following: Callable[[], None]) -> None:
        """Handles the request, or calls `following` for the rest of the pipeline; GuestError or ClientError."""

    @property
    def may_be_brief(self) -> bool:
        """Whether short requests may run on the event loop: the guest can wait for nothing but the host."""

    @property
    def prepares(self) -> bool:
        """Whether `prepare` is useful between requests."""

    def prepare(self) -> None:
        """Starts an instance for a later request."""


class _Instances:
    """Instances of a module, in its engine. The engine's ticker runs during a request, for all calls."""

    def __init__(self, module: HandlerModule, config: GuestConfig, stats: PoolStats) -> None:
        text = config.config.encode()

        def make(brief: bool) -> HandlerInstance:
            return HandlerInstance(module, config.limits, name=config.name, config=text, env=config.env, brief=brief)

        self._ticker = module.engine.ticker
        self._pool = InstancePool(make, stats, uses=config.reuse)
        with self._ticker.running():
            make(False).close()  # a failing start function is reported now, not by the first request

    def run(self, serve: Callable[[HandlerInstance], None], request: Request) -> None:
        self._ticker.begin()
        try:
            self._pool.run(serve, request.id, brief=request.brief)
        finally:
            self._ticker.end()

    def prepare(self) -> None:
        with self._ticker.running():
            self._pool.prepare()


class CoreRunner:
    """Runner for the styles `module`, `run` and `http-wasm`: core modules with a pool of instances.

    Instances for one brief request have their memory from the pool of an engine, if there is a place in it.
    """

    may_be_brief = True

    def __init__(self, config: GuestConfig, style: Style, wasm: bytes, stats: PoolStats) -> None:
        module = handler_module.load_handler_module(
            wasm, style, config.limits, config.import_module, lasts=config.reuse > 1
        )
        self._serve = {"module": _handle, "http-wasm": _pass_through}.get(style) or self._run_text
        self._takes_message = ("run", 2, "") in module.abi.exports
        self._content_type = config.content_type.encode()
        self._buffer = config.limits.buffer
        self.prepares = bool(module.start) and config.reuse == 1
        self._instances = _Instances(module, config, stats)
        self._places = module.pooled.engine.places if module.pooled else []
        self._pooled = _Instances(module.pooled, config, stats) if module.pooled else self._instances

    def run(self, request: Request, response: Response, following: Callable[[], None]) -> None:
        serve = partial(self._serve, request, response, following)
        if not request.brief:
            self._instances.run(serve, request)
            return
        try:
            place = self._places.pop()
        except IndexError:  # none, or none left
            self._instances.run(serve, request)
            return
        try:
            self._pooled.run(serve, request)
        finally:
            self._places.append(place)

    def _run_text(
        self, request: Request, response: Response, _following: Callable[[], None], instance: HandlerInstance
    ) -> None:
        response.headers.set(b"content-type", self._content_type)
        exchange = run_abi.RunExchange(request, response, self._buffer)
        run_abi.run(instance, exchange, takes_message=self._takes_message)

    def prepare(self) -> None:
        self._instances.prepare()


def _handle(request: Request, response: Response, _following: Callable[[], None], instance: HandlerInstance) -> None:
    handler_abi.run(instance, handler_abi.HandlerExchange(request, response))


def _pass_through(
    request: Request, response: Response, following: Callable[[], None], instance: HandlerInstance
) -> None:
    middleware_abi.run(instance, middleware_abi.MiddlewareExchange(request, response), following)


@dataclass(frozen=True, slots=True)
class _FileVersion:
    """Identity of a file's content, without reading it."""

    modified: int
    size: int
    inode: int


class Guest:
    """Newest usable version of a guest."""

    def __init__(self, config: GuestConfig, sources: GuestSources) -> None:
        self.config = config
        self.name = config.name
        self._sources = sources
        self.stats = PoolStats()
        self.reloads = {"success": 0, "failure": 0}
        self._version = self._file_version()
        self._meaning = ""  # of a reference
        self.digest, self.source = "", ""
        self._failure: tuple[str, str] | None = None  # of the last reload: one log line for all tries of a tag
        self._style: Style | None = config.style
        self._runner = self._load(config.place)

    def run(self, request: Request, response: Response, following: Callable[[], None]) -> None:
        try:
            self._runner.run(request, response, following)
        except GuestError as error:
            error.guest = error.guest or self.name
            raise

    @property
    def style(self) -> Style:
        """Its style, from the configuration or from its exports."""
        return cast("Style", self._style)

    @property
    def may_be_brief(self) -> bool:
        return self._runner.may_be_brief

    @property
    def prepares(self) -> bool:
        return self._runner.prepares

    def status(self) -> dict[str, Any]:
        """The version in use, and what became of later ones."""
        failure = "" if self._failure is None else self._failure[1]
        counts = {"succeeded": self.reloads["success"], "failed": self.reloads["failure"], "lastFailure": failure}
        return {"guest": self.name, "digest": self.digest, "source": self.source, "reloads": counts}

    def prepare(self) -> None:
        try:
            self._runner.prepare()
        except GuestError as error:  # the next request reports it
            logger.warning("Guest start failed", extra={"guest": self.name, "problem": error.detail})

    def reload_if_changed(self) -> None:
        """Loads a changed file. An unusable version is logged and not used; requests in progress keep their version."""
        version = self._file_version()
        if version is not None and version != self._version:
            self._version = version
            self._reload(self.config.place)

    def reload_if_moved(self) -> None:
        """Loads the new meaning of a tag, by its digest."""
        reference = self.config.reference
        if not reference or self.config.image_pull_policy == "Never" or Reference.parse(reference).digest:
            return
        try:
            meaning = self._sources.resolve(reference)
        except GuestLoadError as error:
            logger.warning("Tag not checked", extra=self._keys(error))
            return
        if meaning != self._meaning:  # also after a failure to fetch it: it may be signed by now
            self._reload(str(Reference.parse(reference).at(meaning)))

    def _reload(self, place: str) -> None:
        try:
            self._runner = self._load(place)
        except GuestLoadError as error:
            failure = place, str(error)
            if failure != self._failure or not self.config.reference:
                logger.error("Guest reload failed, previous version stays", extra=self._keys(error))  # noqa: TRY400
            self._failure = failure
            self.reloads["failure"] += 1
        else:
            self._failure = None
            self.reloads["success"] += 1
            logger.info("Guest reloaded", extra=self._keys())

    def _keys(self, error: Exception | None = None) -> dict[str, str]:
        keys = {"guest": self.name, "file": self.config.place}
        return keys | {"problem": str(error)} if error else keys

    def _load(self, place: str) -> Runner:
        config = self.config
        fetched = self._sources.fetch(place, max_bytes=config.limits.guest_size, pull_policy=config.image_pull_policy)
        self._meaning = fetched.version
        style = config.style or self._detected(fetched.wasm)
        try:
            if style == "wasi":
                runner: Runner = CommandRunner(config, fetched.wasm, self.stats)
            else:
                runner = CoreRunner(config, style, fetched.wasm, self.stats)
        except GuestError as error:
            raise GuestLoadError(f"wasm: guest start failed: {error.detail}") from None
        self._style = style
        self.digest, self.source = fetched.digest, fetched.source
        return runner

    def _detected(self, wasm: bytes) -> Style:
        style = detect_style(wasm)
        if self._style is not None and role_problem(self.name, style, is_middleware=self._style == "http-wasm"):
            raise GuestLoadError(f"wasm: guest of style {self._style} was replaced by one of style {style}")
        for field, problem in misplaced_settings(self.config, style):
            raise GuestLoadError(f"wasm: guest has style {style}; {field}: {problem}")
        return style

    def _file_version(self) -> tuple[_FileVersion | None, ...] | None:
        """Versions of the file and of its signatures: a guest may be replaced before its signature is."""
        if self.config.reference:
            return None
        found = _version_of(self.config.file)
        if found is None:
            return None  # possibly in the middle of a replacement
        return found, *map(_version_of, signature_files(self.config.file))


def _version_of(file: Path) -> _FileVersion | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return _FileVersion(found.st_mtime_ns, found.st_size, found.st_ino)


def load_guest(config: GuestConfig, sources: GuestSources) -> Guest:
    """GuestLoadError, with the guest's name and file, for an unusable guest."""
    try:
        return Guest(config, sources)
    except GuestLoadError as error:
        raise GuestLoadError(f'guest "{config.name}" ({config.place}): {error}') from None
