"""The guests of a configuration: loaded, used by handlers and middlewares, and loaded anew when their files change."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kubewasp.wasm.errors import GuestLoadError
from kubewasp.wasm.source import fetch
from kubewasp.web import handler_abi, handler_module, middleware_abi
from kubewasp.web.cgi import CommandRunner
from kubewasp.web.faults import GuestFault
from kubewasp.web.handler_instance import Instance
from kubewasp.web.handler_pool import CorePool, PoolStats

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubewasp.web.exchange import Request, Response
    from kubewasp.web.site_config import GuestConfig

logger = logging.getLogger(__name__)


class Runner(Protocol):
    """One version of a guest, whatever its style."""

    def run(self, request: Request, response: Response, following: Callable[[], None]) -> None:
        """Answers, or has `following` answer; GuestFault or ClientFault."""

    @property
    def prepares(self) -> bool:
        """Whether there is something to do ahead of the next request."""

    def prepare(self) -> None:
        """Does it."""


class CoreRunner:
    """Implements `Runner` for the styles whose guests are called through functions."""

    def __init__(self, config: GuestConfig, wasm: bytes, stats: PoolStats) -> None:
        loaded = handler_module.load(wasm, config.style, config.limits)
        text = config.config.encode()

        def make() -> Instance:
            return Instance(loaded, config.limits, name=config.name, config=text, env=config.env)

        self._is_middleware = config.style == "http-wasm"
        self.prepares = bool(loaded.start) and not config.reuse
        self._pool = CorePool(make, stats, reuse=config.reuse)
        make()  # a guest that cannot start is told now, and not by the first request

    def run(self, request: Request, response: Response, following: Callable[[], None]) -> None:
        with self._pool.instance(request.id) as instance:
            if self._is_middleware:
                duty = middleware_abi.MiddlewareDuty(request, response)
                middleware_abi.run(instance, duty, following)
            else:
                handler_abi.run(instance, handler_abi.HandlerDuty(request, response))

    def prepare(self) -> None:
        self._pool.prepare()


@dataclass(frozen=True, slots=True)
class _Stamp:
    """What changes when a file does."""

    modified: int
    size: int
    number: int


class Guest:
    """A guest in its newest version that could be loaded."""

    def __init__(self, config: GuestConfig) -> None:
        self.config = config
        self.name = config.name
        self.stats = PoolStats()
        self.reloads = {"success": 0, "failure": 0}
        self._stamp = self._look()
        self._runner = self._load()

    def run(self, request: Request, response: Response, following: Callable[[], None]) -> None:
        try:
            self._runner.run(request, response, following)
        except GuestFault as fault:
            fault.guest = fault.guest or self.name
            raise

    @property
    def prepares(self) -> bool:
        return self._runner.prepares

    def prepare(self) -> None:
        try:
            self._runner.prepare()
        except GuestFault as fault:  # the next request will be told
            logger.warning("Guest did not start", extra={"guest": self.name, "problem": fault.detail})

    def reload_if_changed(self) -> None:
        """A version that cannot be used is told, and the one before stays. Requests under way end with theirs."""
        stamp = self._look()
        if stamp is None or stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._runner = self._load()
        except GuestLoadError as error:
            self.reloads["failure"] += 1
            logger.error("Changed guest cannot be used, the one before stays", extra=self._keys(error))  # noqa: TRY400
        else:
            self.reloads["success"] += 1
            logger.info("Guest reloaded", extra=self._keys())

    def _keys(self, error: Exception | None = None) -> dict[str, str]:
        keys = {"guest": self.name, "file": str(self.config.file)}
        return keys | {"problem": str(error)} if error else keys

    def _load(self) -> Runner:
        wasm = fetch(os.fspath(self.config.file), max_bytes=self.config.limits.guest_size)
        try:
            if self.config.style == "wasi":
                return CommandRunner(self.config, wasm, self.stats)
            return CoreRunner(self.config, wasm, self.stats)
        except GuestFault as fault:
            raise GuestLoadError(f"wasm: the guest cannot start: {fault.detail}") from None

    def _look(self) -> _Stamp | None:
        try:
            found = self.config.file.stat()
        except OSError:
            return None  # it is being replaced, perhaps
        return _Stamp(found.st_mtime_ns, found.st_size, found.st_ino)


def load_guest(config: GuestConfig) -> Guest:
    """GuestLoadError, with the guest's name and file, if it cannot be used."""
    try:
        return Guest(config)
    except GuestLoadError as error:
        raise GuestLoadError(f'guest "{config.name}" ({config.file}): {error}') from None
