"""Answers of the API: endpoints with their parameters, and the document of each. HTTP and report files use the same.

Answers of one generation are kept, within bounds: several pages that ask the same cost as much as one.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, unquote

import orjson

from kubewasp.console.console_source import NotThereError
from kubewasp.console.json_values import Document, encoded, text_of
from kubewasp.console.parameters import ParameterError, Parameters
from kubewasp.console.picture import PARTS
from kubewasp.console.profile_variants import AS_IS, StudyError, WhatIf
from kubewasp.console.study import BusyError
from kubewasp.console.views import (
    compare_view,
    decision_view,
    node_map,
    node_view,
    order,
    overview,
    pending_groups,
    plugin_view,
    pod_view,
    queue_view,
    search_view,
    timeline_view,
)
from kubewasp.errors import KubewaspError
from kubewasp.explain.dry_run import ExplainError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubewasp.console.console_source import ConsoleSource, Timeline
    from kubewasp.console.picture import Picture
    from kubewasp.console.run_comparison import RunComparison
    from kubewasp.console.study import StudiedDecision

logger = logging.getLogger(__name__)
_KEPT_ANSWERS: Final = 64
_KEPT_BYTES: Final = 32 * 1024 * 1024
_PAGED: Final = ("limit", "after")
_WHEN: Final = ("run", "at")


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and body, which is JSON."""

    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A path with its parameters. `path` is written as in OpenAPI; the last part may contain slashes."""

    path: str
    parameters: tuple[str, ...]
    answer: Callable[[ConsoleSource, Parameters], Document]

    @property
    def pattern(self) -> re.Pattern[str]:
        parts = re.split(r"\{(\w+)\}", self.path)
        text = "".join(f"(?P<{part}>[^/]+)" if place % 2 else re.escape(part) for place, part in enumerate(parts))
        return re.compile(text)


class Answers:
    """Answers for one source. Safe from any thread."""

    def __init__(self, source: ConsoleSource) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Answer] = OrderedDict()
        self._size = 0
        self._generation = -1

    def answer(self, path: str, query: str = "") -> Answer:
        """The answer to a GET of a path below `/api/v1`, with its raw query. Errors are answers too."""
        key = f"{path}?{query}"
        generation = self._source.generation()
        with self._lock:
            if generation != self._generation:
                self._kept.clear()
                self._size, self._generation = 0, generation
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
                return known
        found = self._made(path, query)
        if found.status == 200:
            self._keep(key, found, generation)
        return found

    def _keep(self, key: str, found: Answer, generation: int) -> None:
        with self._lock:
            if generation != self._generation or len(found.body) > _KEPT_BYTES or key in self._kept:
                return
            self._kept[key] = found
            self._size += len(found.body)
            while len(self._kept) > _KEPT_ANSWERS or self._size > _KEPT_BYTES:
                self._size -= len(self._kept.popitem(last=False)[1].body)

    def _made(self, path: str, query: str) -> Answer:
        for endpoint, pattern in _patterns():
            match = pattern.fullmatch(path)
            if match is not None:
                return self._of(endpoint, {name: unquote(part) for name, part in match.groupdict().items()}, query)
        return problem(404, "there is no such endpoint", "the list is at /api/v1/openapi.json")

    def _of(self, endpoint: Endpoint, parts: dict[str, str], query: str) -> Answer:
        try:
            pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=20)
        except ValueError:
            return problem(400, "too many parameters")
        try:
            asked = Parameters.read(pairs, endpoint.parameters, parts)
            return Answer(200, encoded(endpoint.answer(self._source, asked)))
        except (ParameterError, StudyError) as error:
            return problem(400, str(error))
        except NotThereError as error:
            return problem(404, str(error))
        except ExplainError as error:
            return problem(409, str(error), "the pod cannot be scheduled by this scheduler")
        except BusyError as error:
            return problem(503, str(error))
        except KubewaspError as error:
            return problem(500, str(error))
        except Exception:
            # One answer's: the others must not fail with it.
            logger.exception("Failed to answer a page", extra={"endpoint": endpoint.path})
            return problem(500, "this view failed; the log of the process has the cause")


def problem(code: int, message: str, hint: str = "") -> Answer:
    """An error with its cause, and a remedy if there is one."""
    return Answer(code, encoded({"error": {"code": code, "message": text_of(message), "hint": hint}}))


# ---------------------------------------------------------------------- endpoints


def _picture(source: ConsoleSource, asked: Parameters) -> Picture:
    return source.picture(asked.text("run"), asked.at)


def _session(source: ConsoleSource, _asked: Parameters) -> Document:
    return overview.session(source.session, source.picture("", None))


def _overview(source: ConsoleSource, asked: Parameters) -> Document:
    return overview.overview(_picture(source, asked), source.activity(asked.text("run")))


def _pending(source: ConsoleSource, asked: Parameters) -> Document:
    study = source.study(asked.text("run"))
    return pending_groups.pending(_picture(source, asked), study, asked.after, asked.limit())


def _pending_group(source: ConsoleSource, asked: Parameters) -> Document:
    study = source.study(asked.text("run"))
    picture, group = _picture(source, asked), asked.path["id"]
    found = pending_groups.pending_group(picture, study, group, asked.after, asked.limit())
    return _there(found, "there is no such group of pending pods now")


def _pod(source: ConsoleSource, asked: Parameters) -> Document:
    timeline = source.timeline(asked.text("run"))
    decided_at = None if timeline is None else timeline.decided_at(_key(asked))
    text = f"there is no pod {_key(asked)}"
    if decided_at is not None:
        text += f" at this position; its last attempt was at position {decided_at}"
    return _there(pod_view.pod_document(_picture(source, asked), _key(asked), decided_at), text)


def _decision(source: ConsoleSource, asked: Parameters) -> Document:
    sort = asked.text("sort") or order.TOTAL
    only = asked.choice("only", order.ALL)
    after, limit = asked.after, asked.limit(decision_view.MOST_NODES)
    decision, before = _decided(source, asked)
    _check_plugin("sort", sort, (order.TOTAL, order.NAME), decision)
    return decision_view.decision_document(decision, before, sort=sort, only=only, after=after, limit=limit)


def _decided(source: ConsoleSource, asked: Parameters) -> tuple[StudiedDecision, StudiedDecision | None]:
    """The decision, and the one without the changes that are asked for."""
    study = source.study(asked.text("run"))
    if study is None:
        raise NotThereError("decisions cannot be made here")
    what_if = WhatIf(asked.weights(), frozenset(asked.names("without")))
    picture, key = _picture(source, asked), _key(asked)
    return study.decide(picture, key, what_if), study.decide(picture, key, AS_IS) if what_if else None


def _map(source: ConsoleSource, asked: Parameters) -> Document:
    return node_map.map_document(_picture(source, asked), asked.text("by") or node_map.BY_ZONE)


def _map_scores(source: ConsoleSource, asked: Parameters) -> Document:
    study, key = source.study(asked.text("run")), asked.text("pod")
    if study is None:
        raise NotThereError("decisions cannot be made here")
    if "/" not in key:
        raise ParameterError("pod: expected namespace/name")
    picture, plugin = _picture(source, asked), asked.text("plugin") or order.TOTAL
    decision = study.decide(picture, key)
    _check_plugin("plugin", plugin, (order.TOTAL,), decision)
    return node_map.scores_document(picture, decision, plugin)


def _check_plugin(parameter: str, given: str, others: Sequence[str], decision: StudiedDecision) -> None:
    if given not in others and given not in {plugin.name for plugin in decision.plugins}:
        raise ParameterError(
            f"{parameter}: expected {', '.join(others)} or a plugin of the profile, got {given[:100]!r}"
        )


def _node(source: ConsoleSource, asked: Parameters) -> Document:
    name = asked.path["name"]
    return _there(
        node_view.node_document(_picture(source, asked), name, asked.after, asked.limit()), f"there is no node {name}"
    )


def _queue(source: ConsoleSource, asked: Parameters) -> Document:
    part = asked.choice("part", PARTS)
    return queue_view.queue_document(_picture(source, asked), part, asked.after, asked.limit())


def _timeline(source: ConsoleSource, asked: Parameters) -> Document:
    return timeline_view.timeline_document(_timeline_of(source, asked))


def _changes(source: ConsoleSource, asked: Parameters) -> Document:
    start = asked.number("from", 0) or 0
    return timeline_view.changes_document(_timeline_of(source, asked), start, asked.limit())


def _next(source: ConsoleSource, asked: Parameters) -> Document:
    kind = asked.choice("kind", timeline_view.KINDS, "any")
    found = _timeline_of(source, asked).next(asked.number("from", 0) or 0, kind)
    if found is None:
        raise NotThereError("there is no such change after this position")
    return {"position": found}


def _compare(source: ConsoleSource, _asked: Parameters) -> Document:
    return compare_view.compare_document(source.session, _comparison_of(source))


def _compared_pods(source: ConsoleSource, asked: Parameters) -> Document:
    return compare_view.compared_pods(_comparison_of(source), asked.after, asked.limit())


def _plugins(source: ConsoleSource, asked: Parameters) -> Document:
    return plugin_view.plugins_document(source.plugins(asked.text("run")))


def _search(source: ConsoleSource, asked: Parameters) -> Document:
    return search_view.search_document(_picture(source, asked), source.plugins(asked.text("run")), asked.text("q"))


def _openapi(_source: ConsoleSource, _asked: Parameters) -> Document:
    return openapi()


@cache
def openapi() -> dict[str, Any]:
    """The formal description of the API."""
    found: dict[str, Any] = orjson.loads((resources.files("kubewasp.console") / "openapi.json").read_bytes())
    return found


def _timeline_of(source: ConsoleSource, asked: Parameters) -> Timeline:
    found = source.timeline(asked.text("run"))
    if found is None:
        raise NotThereError("there is no timeline here")
    return found


def _comparison_of(source: ConsoleSource) -> RunComparison:
    found = source.comparison()
    if found is None:
        raise NotThereError("there is nothing to compare here")
    return found


def _key(asked: Parameters) -> str:
    return f"{asked.path['namespace']}/{asked.path['name']}"


def _there(found: Document | None, problem_text: str) -> Document:
    if found is None:
        raise NotThereError(problem_text)
    return found


ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint("/session", (), _session),
    Endpoint("/overview", _WHEN, _overview),
    Endpoint("/pending", (*_WHEN, *_PAGED), _pending),
    Endpoint("/pending/{id}", (*_WHEN, *_PAGED), _pending_group),
    Endpoint("/pods/{namespace}/{name}", _WHEN, _pod),
    Endpoint("/pods/{namespace}/{name}/decision", (*_WHEN, "weights", "without", "sort", "only", *_PAGED), _decision),
    Endpoint("/map", (*_WHEN, "by"), _map),
    Endpoint("/map/scores", (*_WHEN, "pod", "plugin"), _map_scores),
    Endpoint("/nodes/{name}", (*_WHEN, *_PAGED), _node),
    Endpoint("/queue", (*_WHEN, "part", *_PAGED), _queue),
    Endpoint("/timeline", ("run",), _timeline),
    Endpoint("/timeline/changes", ("run", "from", "limit"), _changes),
    Endpoint("/timeline/next", ("run", "from", "kind"), _next),
    Endpoint("/compare", (), _compare),
    Endpoint("/compare/pods", _PAGED, _compared_pods),
    Endpoint("/plugins", ("run",), _plugins),
    Endpoint("/search", (*_WHEN, "q"), _search),
    Endpoint("/openapi.json", (), _openapi),
)


@cache
def _patterns() -> list[tuple[Endpoint, re.Pattern[str]]]:
    return [(endpoint, endpoint.pattern) for endpoint in ENDPOINTS]
