"""Profiles of a core module: the stacks of its calls at every tick of a fast timer, with function names.

The runtime's own profiler takes the samples and writes the profile in Firefox's format; `stacks` and `read` turn it
into stacks and times of functions, `pprof` writes these in its own format. A guest is sampled where it looks at its
time limit: in function entries and loop heads. That is close enough to tell one function from another.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.wasm.core.abi import BY_KEY
from kubewasp.wasm.deadlines import Ticker
from kubewasp.wasm.ffi import GuestProfiler
from kubewasp.wasm.hook_failures import readable_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wasmtime import Store

    from kubewasp.wasm.core.core_module import CoreModule

PERIOD: Final = 0.001
# Most samples of a profile: a guest that runs for minutes must not fill the memory.
_MOST: Final = 200_000
# Name of the host's own modules in a profile, and of its work around the calls of hooks.
HOST: Final = "kubewasp host"
CALLS: Final = "(calls of hooks)"


class Recording:
    """Samples of one module's instances. `profile` has them when the recording has ended."""

    def __init__(self, module: CoreModule, title: str) -> None:
        self.samples = 0
        self.profile = b""
        engine = module.engine
        modules = [(title, module.compiled), (HOST, engine.adapter), (HOST, engine.shim)]
        self._profiler = GuestProfiler(engine.engine, title, round(PERIOD * 1e9), modules)
        self._cpu_ns = time.thread_time_ns()

    def sample(self, store: Store) -> None:
        now = time.thread_time_ns()
        if self.samples < _MOST:
            self._profiler.sample(store, max(now - self._cpu_ns, 0))
            self.samples += 1
        self._cpu_ns = now

    def end(self) -> None:
        self.profile = self._profiler.finish()


@contextmanager
def recording(module: CoreModule, title: str) -> Iterator[Recording]:
    """Samples the instances of the module that are made inside of the context. It must have epochs."""
    if module.engine.load_checks:
        raise ValueError("a module with load checks has no callback that takes samples: load it with epochs")
    engine, made = module.engine, Recording(module, title)
    ticker = engine.ticker
    engine.ticker, engine.watch = Ticker(engine.engine, period=PERIOD), made.sample
    try:
        with engine.ticker.running():  # also between calls: most are shorter than a tick
            yield made
    finally:
        engine.ticker, engine.watch = ticker, None
        made.end()


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the guest, or of the host: an import, with all of the host's work for it, or CALLS."""

    name: str
    is_host: bool


@dataclass(frozen=True, slots=True)
class FunctionTime:
    """Samples in a function itself, and in it with all that it calls."""

    name: str
    own: int
    total: int
    is_host: bool = False


def stacks(profile: bytes) -> Counter[tuple[Function, ...]]:
    """Number of samples of each stack in a profile of Firefox's format, outermost function first."""
    found: Counter[tuple[Function, ...]] = Counter()
    for thread in _document(profile)["threads"]:
        of_thread = _Stacks(thread)
        found.update(of_thread.of_author(stack) for stack in thread["samples"]["stack"])
    del found[()]
    return found


def read(profile: bytes) -> list[FunctionTime]:
    """Times of functions in a profile of Firefox's format, those with the most samples of their own first."""
    own: Counter[Function] = Counter()
    total: Counter[Function] = Counter()
    for functions, samples in stacks(profile).items():
        own[functions[-1]] += samples
        for item in set(functions):
            total[item] += samples
    found = [FunctionTime(item.name, own[item], total[item], item.is_host) for item in total]
    return sorted(found, key=lambda item: (-item.own, -item.total, item.name))


def readable(profile: bytes) -> bytes:
    """The profile with the names of functions as their author knows them."""
    document = _document(profile)
    for thread in document["threads"]:
        thread["stringArray"] = [readable_name(text) for text in thread["stringArray"]]
    return orjson.dumps(document)


def _document(profile: bytes) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(profile)
    return found


class _Stacks:
    """Stacks of a thread, outermost function first."""

    def __init__(self, thread: dict[str, Any]) -> None:
        texts, functions = thread["stringArray"], thread["funcTable"]
        resources = thread["resourceTable"]["name"]
        of_function = [
            Function(
                readable_name(texts[name]), is_host=resource is not None and texts[resources[resource]].startswith(HOST)
            )
            for name, resource in zip(functions["name"], functions["resource"], strict=True)
        ]
        self._functions = [of_function[place] for place in thread["frameTable"]["func"]]
        self._prefixes, self._frames = thread["stackTable"]["prefix"], thread["stackTable"]["frame"]
        self._known: dict[int | None, tuple[Function, ...]] = {None: ()}

    def of_author(self, stack: int | None) -> tuple[Function, ...]:
        """The functions of the guest; at the end, if the host was at work, one for that.

        The host calls a hook, and answers imports: its own functions in between mean nothing to an author.
        """
        found = self._known.get(stack)
        if found is None:
            whole = self._whole(stack)
            guest = [place for place, item in enumerate(whole) if not item.is_host]
            inner = whole[guest[-1] + 1 :] if guest else whole
            found = tuple(whole[place] for place in guest)
            if inner:
                called = next((item.name for item in inner if item.name in BY_KEY), "")
                found = (*found, Function(called or CALLS, is_host=True))
            self._known[stack] = found
        return found

    def _whole(self, stack: int | None) -> list[Function]:
        found = []
        while stack is not None:
            found.append(self._functions[self._frames[stack]])
            stack = self._prefixes[stack]
        return found[::-1]
