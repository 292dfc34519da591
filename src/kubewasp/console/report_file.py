"""Report: one HTML file with the page and the answers to most of its questions. Nothing else is needed to read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

import orjson

from kubewasp.console.api_answers import Answers
from kubewasp.console.page import inline_page
from kubewasp.console.parameters import MOST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubewasp.console.console_source import ConsoleSource
    from kubewasp.console.picture import Picture

MOST_BYTES: Final = 24 * 1024 * 1024  # of answers
_MOST_DECISIONS: Final = 20
_DECIDED_NODES: Final = 200
_MOST_GROUPS: Final = 100
_MOST_PODS: Final = 2000
_MOST_NODES: Final = 500
_MOST_LABELS: Final = 8


def report_file(source: ConsoleSource) -> str:
    """The file: overviews, pending pods, map, queue, timeline, comparison and plugins of all runs; then nodes, pods and
    decisions, those of pending pods first, as long as there is room.
    """
    answers, documents, size = Answers(source), dict[str, Any](), 0
    for path, given in _questions(source):
        found = answers.answer(path, urlencode({**given, **_limit_of(path)}))
        if found.status != 200:
            continue
        size += len(found.body)
        if size > MOST_BYTES:
            break
        query = urlencode(sorted(given.items()), quote_via=quote)
        documents[f"{path}?{query}" if query else path] = orjson.loads(found.body)
    return inline_page(documents)


def _limit_of(path: str) -> dict[str, str]:
    """The length of lists; a reader of the file cannot ask for more."""
    if path.endswith("/decision"):
        return {"limit": str(_DECIDED_NODES)}
    is_list = path in ("/pending", "/queue", "/compare/pods", "/timeline/changes")
    return {"limit": str(MOST)} if is_list or path.startswith(("/pending/", "/nodes/")) else {}


def _questions(source: ConsoleSource) -> Iterator[tuple[str, dict[str, str]]]:
    """Paths and parameters, without defaults; the most important first."""
    session = source.session
    yield "/session", {}
    if session.capabilities.compare:
        yield "/compare", {}
        yield "/compare/pods", {}
    of_runs = [(run.id, {"run": run.id} if place else {}) for place, run in enumerate(session.runs)]
    for _, run in of_runs:
        for path in ("/overview", "/pending", "/map", "/queue", "/plugins"):
            yield path, run
        if session.capabilities.timeline:
            yield "/timeline", run
            yield "/timeline/changes", run
    for run_id, run in of_runs:
        picture = source.picture(run_id, None)
        yield from _details(source, run, run_id, picture)


def _details(
    source: ConsoleSource, run: dict[str, str], run_id: str, picture: Picture
) -> Iterator[tuple[str, dict[str, str]]]:
    answers = Answers(source)
    session = orjson.loads(answers.answer("/session").body)
    for label in session["labels"][:_MOST_LABELS]:
        yield "/map", {**run, "by": label}
    groups = orjson.loads(answers.answer("/pending", urlencode({**run, "limit": str(_MOST_GROUPS)})).body)["groups"]
    for group in groups:
        yield f"/pending/{group['id']}", run
    pods = list(dict.fromkeys([*(group["oldest"]["pod"] for group in groups), *picture.pods]))
    decided = [pod for pod in pods if pod in picture.pods][:_MOST_DECISIONS]
    timeline = source.timeline(run_id)
    for pod in decided if source.session.capabilities.decisions else ():
        path = f"/pods/{_quoted(pod)}/decision"
        yield path, run
        at = None if timeline is None else timeline.decided_at(pod)
        if at is not None:
            yield path, {**run, "at": str(at)}
    for pod in pods[:_MOST_PODS]:
        yield f"/pods/{_quoted(pod)}", run
    for name in list(picture.nodes)[:_MOST_NODES]:
        yield f"/nodes/{quote(name, safe='')}", run


def _quoted(pod: str) -> str:
    namespace, _, name = pod.partition("/")
    return f"{quote(namespace, safe='')}/{quote(name, safe='')}"
