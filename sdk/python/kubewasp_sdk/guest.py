"""Guest side of the component ABI: settings and requests in, descriptions and answers out. HOT PATH.

sdk/wit/README.md specifies both. An exception in a hook does not end the instance: the answer has its traceback.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import time
from collections.abc import Collection
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NoReturn

import kubewasp_sdk
from kubewasp_sdk import config as configuration
from kubewasp_sdk import sort_keys, tracebacks
from kubewasp_sdk.events import RESOURCES, Action, Change, ClusterEvent
from kubewasp_sdk.logs import LogCollector, OutputCollector
from kubewasp_sdk.mirror import Mirror
from kubewasp_sdk.objects import Node, Pod
from kubewasp_sdk.plugin import METHODS, NORMALIZE_VALUES, WANTS, Plugin, overrides
from kubewasp_sdk.state import CycleState
from kubewasp_sdk.status import Code, Nominate, Status, Wait, as_status
from kubewasp_sdk.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

    Answer = dict[str, Any]
    Hook = Callable[[Mapping[str, Any], Mapping[str, str]], Answer]

PROTOCOL = 1
_LOWEST, _HIGHEST = -(2**31), 2**31 - 1
_SECOND = 10**9
# Hooks whose answers may be shared with other pods.
_SHARED = ("prefilter", "filter", "prescore", "score")
_VERDICTS = (str, Status, bool)


class Cycle:
    """Pod of a scheduling cycle with its state. Preemption trials have states of their own, by number."""

    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        self.state = CycleState()
        self.states = {0: self.state}


class Guest:
    """One plugin in one instance."""

    def __init__(self, plugin_class: type[Plugin]) -> None:
        self._class = plugin_class
        self._logs = LogCollector()
        self._output = OutputCollector()
        self._cycles: dict[int, Cycle] = {}
        self._reported: set[str] = set()
        self._plugin: Plugin
        self._mirror: Mirror
        self._hooks: dict[str, Hook] = {
            "sync": lambda _header, _texts: {},
            "preenqueue": self._pre_enqueue,
            "queuesort": self._sort_key,
            "queueinghint": self._queueing_hint,
            "prefilter": self._pre_filter,
            "addpod": self._trial("add_pod"),
            "removepod": self._trial("remove_pod"),
            "filter": self._filter,
            "postfilter": self._post_filter,
            "prescore": self._pre_score,
            "score": self._score,
            "normalizescore": self._normalize,
            "permit": self._permit,
            "clonestate": self._clone_state,
            "selectstate": self._select_state,
            "dropstate": self._drop_state,
        }
        for hook in ("reserve", "unreserve", "prebind", "bind", "postbind"):
            self._hooks[hook] = self._on_node(METHODS[hook])
        for hook in ("reserve", "prebind"):
            self._hooks[hook] = self._annotating(self._hooks[hook])

    @classmethod
    def of_module(cls, module: ModuleType) -> Guest:
        """The guest of the single plugin class in a module."""
        found = plugin_classes(module)
        if len(found) != 1:
            names = ", ".join(item.__name__ for item in found) or "none"
            raise TypeError(f"{module.__name__}.py must define one class derived from Plugin; it defines {names}")
        return cls(found[0])

    # ------------------------------------------------------------------ start

    def start(self, settings: str) -> str:
        """Starts the plugin. The answer is its description, or an error that fails the load."""
        try:
            description = self._start(json.loads(settings))
        except BaseException as error:  # noqa: BLE001 - reported to the scheduler
            description = {"error": _load_error(error), "refused": isinstance(error, configuration.ConfigError)}
        logs, _ = self._logs.take()
        logs += [(0, line) for line in self._output.take().splitlines()]
        return json.dumps(description | {"protocol": PROTOCOL, "logs": logs})

    def _start(self, settings: Mapping[str, Any]) -> Answer:
        # The instance is a snapshot of the build; without a new seed, all instances have the same random numbers.
        random.seed()
        if sys.platform == "wasi":  # not in tests, which share the interpreter
            time.sleep = _no_sleep
        self._logs.install(int(settings.get("severity", 0)))
        self._output.install(int(settings.get("output", 0)))
        config = configuration.decode(self._class, configuration.parse(settings.get("config", "")))
        unknown = sorted(set(self._class.wants) - set(WANTS))
        if unknown:
            raise configuration.ConfigError(f"wants: unknown {', '.join(unknown)}; there are {', '.join(WANTS)}")
        self._plugin = self._class(config)
        self._watch = Watch() if settings.get("watch") else None
        if not hasattr(self._plugin, "config"):
            self._plugin.config = config
        wants = self._class.wants
        self._mirror = Mirror(
            self._plugin._scheduler,  # noqa: SLF001 - internal interface of the SDK
            wants_pods="pods" in wants,
            wants_waiting_pods="waiting_pods" in wants,
        )
        gc.freeze()
        return {
            "sdk": f"kubewasp-sdk {kubewasp_sdk.__version__}",
            "plugin": self._class.__name__,
            "hooks": implemented_hooks(self._class),
            "events": _events(self._plugin),
            "wants": sorted(wants),
            "signature": 1 if self._class.ignores_pod else 0,
            "signs": overrides(self._class, "signature"),
            **_declarations(self._class),
        }

    # ------------------------------------------------------------------ calls

    def call(self, request: str) -> str:
        """Calls one hook."""
        first, *lines = request.split("\n")
        header = json.loads(first)
        scheduler = self._plugin._scheduler  # noqa: SLF001 - as above
        scheduler.seconds = header["now"] / _SECOND
        for number in header.get("forget", ()):
            self._cycles.pop(number, None)
        answer: Answer
        try:
            texts = self._mirror.update(lines)
            if "waiting" in header:
                self._mirror.keep_waiting(header["waiting"])
            if "p" in texts and header["cycle"]:
                self._cycles[header["cycle"]] = Cycle(Pod(texts["p"], noted=self._class.pure))
            answer = self._hooks[header["hook"]](header, texts)
            if self._class.pure and header["hook"] in _SHARED:
                self._add_reads(header, answer)
        except _HookError as error:
            answer = error.answer
        except BaseException as error:  # noqa: BLE001 - reported to the scheduler
            answer = {"error": tracebacks.told(error)}
        if scheduler.events:
            answer["events"], scheduler.events = [event.wire() for event in scheduler.events], []
        if scheduler.allowed or scheduler.rejected:
            answer |= {"allow": scheduler.allowed, "reject": scheduler.rejected}
            scheduler.allowed, scheduler.rejected = [], []
        if self._logs.lines:
            answer["logs"], answer["dropped"] = self._logs.take()
        if self._output.texts:
            answer["output"] = self._output.take()
        if "measure" in header:
            answer["memory"] = _memory_in_use()
        return json.dumps(answer)

    def _add_reads(self, header: Mapping[str, Any], answer: Answer) -> None:
        """Reports fields of the pod that no hook with a shared answer has read before."""
        found = self._cycle(header).pod.reads - self._reported
        if found:
            answer["read"] = sorted(found)
            self._reported |= found

    def _cycle(self, header: Mapping[str, Any]) -> Cycle:
        return self._cycles[header["cycle"]]

    # ------------------------------------------------------------------ queue

    def _pre_enqueue(self, _header: Mapping[str, Any], texts: Mapping[str, str]) -> Answer:
        return _status(self._plugin.pre_enqueue(Pod(texts["p"])), "pre_enqueue")

    def _sort_key(self, header: Mapping[str, Any], texts: Mapping[str, str]) -> Answer:
        queued_at = datetime.fromtimestamp(header["queued_at"] / _SECOND, UTC)
        return {"key": sort_keys.encoded(self._plugin.sort_key(Pod(texts["p"]), queued_at)).hex()}

    def _queueing_hint(self, header: Mapping[str, Any], texts: Mapping[str, str]) -> Answer:
        resource, action = header["event"]
        kind = {"Pod": Pod, "Node": Node}.get(RESOURCES[resource])
        old, new = (kind(texts[letter]) if kind and letter in texts else None for letter in "uv")
        change = Change(RESOURCES[resource], Action(action), old, new)
        return {"queue": bool(self._plugin.queueing_hint(Pod(texts["p"]), change))}

    # ------------------------------------------------------------------ scheduling cycle

    def _pre_filter(self, header: Mapping[str, Any], _texts: Mapping[str, str]) -> Answer:
        cycle = self._cycle(header)
        cycle.state = CycleState()
        cycle.states = {0: cycle.state}
        answer: Answer = {}
        if overrides(self._class, "signature"):
            answer["signature"] = _hashed(self._plugin.signature(cycle.pod))
        if overrides(self._class, "pre_filter"):
            verdict = self._plugin.pre_filter(cycle.state, cycle.pod)
            if verdict is not None and isinstance(verdict, Collection) and not isinstance(verdict, str):
                answer["nodes"] = [str(getattr(item, "name", item)) for item in verdict]
                # An empty list of names would mean all nodes.
                verdict = None if verdict else Status.unresolvable("pre_filter left no node")
            answer |= _status(verdict, "pre_filter")
        return answer

    def _filter(self, header: Mapping[str, Any], _texts: Mapping[str, str]) -> Answer:
        cycle = self._cycle(header)
        state, pod, judge = cycle.state, cycle.pod, self._plugin.filter
        nodes = self._listed(header)
        verdicts: list[Any] = []
        add = verdicts.append
        try:
            for node in nodes:
                add(judge(state, pod, node))
        except BaseException as error:  # reported with the results so far
            raise _HookError(_verdicts(verdicts), error, nodes[len(verdicts)].name) from error
        return _verdicts(verdicts)

    def _score(self, header: Mapping[str, Any], _texts: Mapping[str, str]) -> Answer:
        cycle = self._cycle(header)
        state, pod, rate = cycle.state, cycle.pod, self._plugin.score
        nodes = self._listed(header)
        scores: list[int] = []
        add = scores.append
        try:
            for node in nodes:
                add(rate(state, pod, node))
            _check_scores(scores, "score")
        except BaseException as error:  # as above
            node = nodes[min(len(scores), len(nodes) - 1)]
            raise _HookError({"scores": []}, error, node.name if len(scores) < len(nodes) else "") from error
        return {"scores": scores}

    def _listed(self, header: Mapping[str, Any]) -> Sequence[Any]:
        nodes = self._mirror.nodes(header["list"], header.get("rows"))
        part = header.get("part")
        return nodes if part is None else nodes[part[0] : part[1]]

    def _post_filter(self, header: Mapping[str, Any], _texts: Mapping[str, str]) -> Answer:
        cycle = self._cycle(header)
        rows, codes = header["statuses"]
        statuses = dict(zip(self._mirror.names(rows), map(Code, codes), strict=True))
        answer = self._plugin.post_filter(cycle.state, cycle.pod, statuses)
        if isinstance(answer, Nominate):
            return {"nominated": getattr(answer.node, "name", answer.node)}
        return _status("no help" if answer is None else answer, "post_filter")

    def _pre_score(self, header: Mapping[str, Any], _texts: Mapping[str, str]) -> Answer:
        cycle = self._cycle(header)
        return _status(self._plugin.pre_score(cycle.state, cycle.pod, self._listed(header)), "pre_score")

    def _normalize(self, header: Mapping[str, Any], _texts: Mapping[str, str]) -> Answer:
        cycle = self._cycle(header)
        if overrides(self._class, NORMALIZE_VALUES):
            given: list[int] = header["scores"]
            count, changed_values = len(given), self._plugin.normalize_values(cycle.state, cycle.pod, given)
            values = given if changed_values is None else list(changed_values)
            if len(values) != count:
                raise ValueError(f"{NORMALIZE_VALUES} gave {len(values)} scores for {count} nodes")
            _check_scores(values, NORMALIZE_VALUES)
            return {"scores": values}
        names = [node.name for node in self._listed(header)]
        scores = dict(zip(names, header["scores"], strict=True))
        answer = self._plugin.normalize_scores(cycle.state, cycle.pod, scores)
        changed = scores if answer is None else answer
        if len(changed) != len(names):
            raise ValueError(f"normalize_scores gave {len(changed)} scores for {len(names)} nodes")
        normalized = [changed[name] for name in names]
        _check_scores(normalized, "normalize_scores")
        return {"scores": normalized}

    def _trial(self, method: str) -> Hook:
        def call(header: Mapping[str, Any], texts: Mapping[str, str]) -> Answer:
            cycle = self._cycle(header)
            change = getattr(self._plugin, method)
            return _status(change(cycle.state, cycle.pod, Pod(texts["t"]), self._mirror.node(header["row"])), method)

        return call

    def _clone_state(self, header: Mapping[str, Any], _texts: Mapping[str, str]) -> Answer:
        cycle = self._cycle(header)
        cycle.states[header["state"]] = cycle.state.clone()
        return {}

    def _select_state(self, header: Mapping[str, Any], _texts: Mapping[str, str]) -> Answer:
        cycle = self._cycle(header)
        cycle.state = cycle.states[header["state"]]
        return {}

    def _drop_state(self, header: Mapping[str, Any], _texts: Mapping[str, str]) -> Answer:
        self._cycle(header).states.pop(header["state"], None)
        return {}

    # ------------------------------------------------------------------ binding

    def _on_node(self, method: str) -> Hook:
        def call(header: Mapping[str, Any], _texts: Mapping[str, str]) -> Answer:
            cycle = self._cycle(header)
            act = getattr(self._plugin, method)
            return _status(act(cycle.state, cycle.pod, self._mirror.node(header["row"])), method)

        return call

    def _annotating(self, hook: Hook) -> Hook:
        def call(header: Mapping[str, Any], texts: Mapping[str, str]) -> Answer:
            scheduler = self._plugin._scheduler  # noqa: SLF001 - a part of it
            scheduler.may_annotate = True
            try:
                answer = hook(header, texts)
            finally:
                scheduler.may_annotate, annotations = False, scheduler.take_annotations()
            return answer | {"annotations": annotations} if annotations else answer

        return call

    def _permit(self, header: Mapping[str, Any], _texts: Mapping[str, str]) -> Answer:
        cycle = self._cycle(header)
        verdict = self._plugin.permit(cycle.state, cycle.pod, self._mirror.node(header["row"]))
        if isinstance(verdict, Wait):
            milliseconds = min(max(int(verdict.seconds * 1000), 0), 2**32 - 1)
            return {"status": [int(Code.WAIT), verdict.reason], "timeout": milliseconds}
        return _status(verdict, "permit")


class _HookError(Exception):
    """An exception at one of many nodes. The results for earlier nodes are still valid."""

    def __init__(self, answer: Answer, error: BaseException, node: str) -> None:
        super().__init__()
        self.answer = answer | {"error": tracebacks.told(error, node=node)}


def plugin_classes(module: ModuleType) -> list[type[Plugin]]:
    """Plugin classes defined in the module, without base classes of others."""
    own = [
        item
        for item in vars(module).values()
        if isinstance(item, type) and issubclass(item, Plugin) and item.__module__ == module.__name__
    ]
    return [item for item in dict.fromkeys(own) if not any(item in other.__mro__[1:] for other in own)]


def implemented_hooks(plugin: type[Plugin]) -> list[str]:
    """Hooks that the plugin implements."""
    hooks = [hook for hook, method in METHODS.items() if overrides(plugin, method)]
    if overrides(plugin, NORMALIZE_VALUES) and "normalizescore" not in hooks:
        hooks.append("normalizescore")
    if overrides(plugin, "events"):
        hooks.append("enqueue")
    if overrides(plugin, "signature") and "prefilter" not in hooks:
        hooks.append("prefilter")
    if "addpod" in hooks or "removepod" in hooks:
        hooks += ["clonestate", "selectstate", "dropstate"]
    return hooks


def _declarations(plugin: type[Plugin]) -> Answer:
    if overrides(plugin, NORMALIZE_VALUES) and overrides(plugin, METHODS["normalizescore"]):
        raise TypeError(f"{plugin.__name__} has {METHODS['normalizescore']} and {NORMALIZE_VALUES}; remove one of them")
    declared: Answer = {"pure": True} if plugin.pure else {}
    if plugin.normalization is not None:
        declared["normalization"] = plugin.normalization.wire()
    return declared


def _events(plugin: Plugin) -> list[tuple[int, int]] | None:
    if not overrides(type(plugin), "events"):
        return None
    events = list(plugin.events())
    for event in events:
        if not isinstance(event, ClusterEvent):
            raise TypeError(f"events returned {event!r}; expected a list of ClusterEvent")
    return [(RESOURCES.index(event.resource), int(event.action)) for event in events]


def _load_error(error: BaseException) -> str:
    if isinstance(error, configuration.ConfigError):
        return str(error)
    told = tracebacks.told(error)
    return f"{told['cause']}\n{told['trace']}".rstrip()


def _status(verdict: object, hook: str) -> Answer:
    if verdict is None or verdict is True:
        return {}
    return {"status": _sent(as_status(verdict, hook))}


def _sent(status: Status) -> tuple[int, str] | tuple[int, str, str]:
    """Code and reason, and the hint if there is one."""
    code = int(status.code)
    return (code, status.reason, status.hint) if status.hint else (code, status.reason)


def _verdicts(verdicts: list[Any]) -> Answer:
    """Filter results: the node count and, unless all passed, a status index per node and the list of statuses."""
    if verdicts.count(None) == len(verdicts):
        return {"count": len(verdicts)}
    known: dict[str | Status | bool, int] = {}
    statuses: list[tuple[int, str] | tuple[int, str, str]] = [(0, "")]
    numbers = []
    for verdict in verdicts:
        if verdict is None or verdict is True:
            numbers.append(0)
            continue
        number = known.get(verdict) if type(verdict) in _VERDICTS else None
        if number is None:
            status = as_status(verdict, "filter")
            known[verdict] = number = len(statuses)
            statuses.append(_sent(status))
        numbers.append(number)
    return {"count": len(numbers), "verdicts": numbers, "statuses": statuses}


def _check_scores(scores: Sequence[int], hook: str) -> None:
    if set(map(type, scores)) - {int}:
        wrong = next(score for score in scores if type(score) is not int)
        raise TypeError(f"{hook} returned {wrong!r} ({type(wrong).__name__}); expected an int")
    if scores and not _LOWEST <= min(scores) <= max(scores) <= _HIGHEST:
        raise ValueError(f"{hook} returned a score outside of 32 bits")


def _hashed(signature: object) -> int:
    """64-bit digest of a signature; never 0, which means no signature."""
    if signature is None:
        return 0
    return int.from_bytes(blake2b(repr(signature).encode(), digest_size=8).digest(), "little") or 1


def _memory_in_use() -> int:
    """Approximate memory in use, from the address of a new block: the allocator fills lower gaps first."""
    try:
        block = bytes(1 << 20)
    except MemoryError:
        return sys.maxsize
    return id(block) + len(block)


def _no_sleep(_seconds: object) -> NoReturn:
    raise RuntimeError("a plugin may not sleep: the scheduler waits for it. In permit, return Wait(seconds)")
