"""Sources of consoles for tests: small clusters that have run, answers of the API, and their formal description."""

import json
import re
from datetime import datetime
from typing import Any

from kubewasp.console.api_answers import Answers, openapi
from kubewasp.console.console_source import ConsoleSource
from kubewasp.console.history_recorder import HistoryRecorder
from kubewasp.console.played_run import PlayedRun, played
from kubewasp.console.simulated_source import SimulatedSource
from kubewasp.framework.config.model import SchedulerConfig
from kubewasp.lab.experiments.experiment import Candidate
from tests.framework.configs import read
from tests.simulation.simulating import Object, filled


def ran(*objects: Object, config: SchedulerConfig | None = None, late: tuple[Object, ...] = ()) -> PlayedRun:
    """A cluster that has run; `late` objects are applied afterwards, one after the other."""
    settings = config or read()
    cluster = filled(*objects, config=settings)
    recorder = HistoryRecorder.of_cluster(cluster)
    cluster.settle()
    for body in late:
        cluster.apply(body)
        cluster.settle()
    frameworks = list(cluster.scheduler.frameworks.values())
    return played(recorder, Candidate("run", settings), 0, frameworks)


def source(*objects: Object, **more: Any) -> SimulatedSource:
    return SimulatedSource("cluster", [ran(*objects, **more)])


def get(found: ConsoleSource, path: str, query: str = "") -> Any:
    """The document of an answer that succeeds, checked against the description of the API."""
    answer = Answers(found).answer(path, query)
    document = json.loads(answer.body)
    assert answer.status == 200, document
    check(document, described(path))
    return document


def problem(found: ConsoleSource, path: str, query: str = "") -> tuple[int, str]:
    answer = Answers(found).answer(path, query)
    document = json.loads(answer.body)
    check(document, {"$ref": "#/components/schemas/Error"})
    assert document["error"]["code"] == answer.status
    return answer.status, document["error"]["message"]


def described(path: str, method: str = "get") -> dict[str, Any]:
    """The schema of an answer."""
    for known, operations in openapi()["paths"].items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", known), path):
            schema: dict[str, Any] = operations[method]["responses"]["200"]["content"]["application/json"]["schema"]
            return schema
    raise AssertionError(f"{path} is not described")


def check(value: Any, schema: dict[str, Any], place: str = "$") -> None:
    """Checks a value against the part of JSON Schema that the description uses."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        check(value, openapi()["components"]["schemas"][name], f"{place}({name})")
        return
    if "anyOf" in schema:
        if value is not None:
            check(value, schema["anyOf"][0], place)
        return
    kinds = schema.get("type", [])
    assert _kind(value) & {kinds, *kinds} if isinstance(kinds, str) else _kind(value) & set(kinds), (place, value)
    if "enum" in schema:
        assert value in schema["enum"], (place, value)
    if schema.get("format") == "date-time" and value is not None:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", value), (place, value)
        datetime.fromisoformat(value)
    if isinstance(value, dict) and "properties" in schema:
        missing = set(schema["required"]) - value.keys()
        unknown = value.keys() - schema["properties"].keys()
        assert (missing, unknown) == (set(), set()), place
        for key, item in value.items():
            check(item, schema["properties"][key], f"{place}.{key}")
    elif isinstance(value, dict) and "additionalProperties" in schema:
        for key, item in value.items():
            check(item, schema["additionalProperties"], f"{place}.{key}")
    elif isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            check(item, schema["items"], f"{place}[{number}]")


def _kind(value: Any) -> set[str]:
    if value is None:
        return {"null"}
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, int):
        return {"integer", "number"}
    return {{str: "string", float: "number", dict: "object", list: "array"}[type(value)]}
