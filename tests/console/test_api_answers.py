"""Answers of the API: every endpoint as described, paging, errors, bounds, and hostile names and texts."""

import json
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewasp.console.api_answers import ENDPOINTS, Answers, openapi
from kubewasp.console.console_source import NotThereError
from tests.console.sources import check, get, problem, source
from tests.simulation.simulating import node, pod, priority_class

OF_RUNNING_SCHEDULERS = {"/events", "/plugins/{name}/promote", "/plugins/{name}/abort"}
HOSTILE = "<script>alert(1)</script>\u202egnp\x07" + "x" * 100_000


@pytest.fixture(scope="module")
def shop() -> Any:
    return source(
        node("a", zone="x"),
        node("b", zone="y", cpu="8"),
        priority_class("high", 10),
        *(pod(f"web-{number}", cpu="1", labels={"app": "web"}) for number in range(4)),
        pod("huge", cpu="64"),
        pod("gated", schedulingGates=[{"name": "later"}]),
        pod("other", schedulerName="somebody-else"),
    )


def test_the_description_has_all_endpoints_and_parameters() -> None:
    described = openapi()["paths"]
    assert set(described) == {endpoint.path for endpoint in ENDPOINTS} | OF_RUNNING_SCHEDULERS
    for endpoint in ENDPOINTS:
        given = described[endpoint.path]["get"].get("parameters", [])
        assert tuple(item["name"] for item in given if item["in"] == "query") == endpoint.parameters
        assert [item["name"] for item in given if item["in"] == "path"] == list(endpoint.pattern.groupindex)


def test_every_answer_is_as_described(shop: Any) -> None:
    (group, *_) = get(shop, "/pending")["groups"]
    for path, query in [
        ("/session", ""),
        ("/overview", "at=2"),
        (f"/pending/{group['id']}", "limit=1"),
        ("/pods/default/web-1", ""),
        ("/pods/default/web-1/decision", ""),
        ("/pods/default/huge/decision", "limit=1"),
        ("/pods/default/web-1/decision", "weights=NodeResourcesFit:3,ImageLocality:0&without=TaintToleration&at=0"),
        ("/map", ""),
        ("/map", "by=kubernetes.io/hostname"),
        ("/map/scores", "pod=default/web-1"),
        ("/map/scores", "pod=default/web-1&plugin=NodeResourcesFit"),
        ("/nodes/a", "limit=1"),
        ("/queue", ""),
        ("/timeline", ""),
        ("/timeline/changes", "from=1&limit=2"),
        ("/timeline/next", "kind=unschedulable"),
        ("/plugins", ""),
        ("/search", "q=web"),
    ]:
        get(shop, path, query)


def test_lists_are_paged(shop: Any) -> None:
    keys, after = [], ""
    while True:
        page = get(shop, "/queue", f"limit=1{after}")
        assert page["total"] == 2
        keys += [item["key"] for item in page["pods"]]
        if "next" not in page:
            break
        after = f"&after={page['next']}"
    assert keys == ["default/huge", "default/gated"]


@pytest.mark.parametrize(
    ("path", "query", "text"),
    [
        ("/overview", "colour=red", "unknown parameter 'colour'; known here: run, at"),
        ("/overview", "at=-1", "at: expected an integer"),
        ("/overview", "at=1&at=2", "given twice"),
        ("/queue", "limit=0", "limit: expected an integer from 1 to 1000"),
        ("/queue", "limit=1001", "limit"),
        ("/queue", "part=lost", "part: expected one of active"),
        ("/queue", "after=x", "after: expected"),
        ("/pods/default/web-1/decision", "weights=NodeResourcesFit", "weights: expected PLUGIN:WEIGHT"),
        ("/pods/default/web-1/decision", "weights=Nobody:3", "has no plugin Nobody"),
        ("/pods/default/web-1/decision", "only=some", "only: expected one of feasible, rejected"),
        ("/pods/default/web-1/decision", "sort=Nobody", "sort: expected total, name or a plugin of the profile"),
        ("/map/scores", "pod=default/web-1&plugin=Nobody", "plugin: expected total or a plugin"),
        ("/map/scores", "", "pod: expected namespace/name"),
        ("/search", "q=" + "x" * 5000, "longer than 4096"),
        ("/search", "&".join(f"q{n}=1" for n in range(50)), "too many parameters"),
    ],
)
def test_bad_values_are_refused(shop: Any, path: str, query: str, text: str) -> None:
    code, message = problem(shop, path, query)
    assert code == 400
    assert text in message


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/nowhere", ""),
        ("/", ""),
        ("", ""),
        ("/pods/default", ""),
        ("/pods/default/nobody", ""),
        ("/pods/default/nobody/decision", ""),
        ("/nodes/nowhere", ""),
        ("/pending/0000", ""),
        ("/overview", "run=7"),
        ("/overview", "at=99999"),
        ("/compare", ""),
        ("/timeline/next", "kind=preempted"),
    ],
)
def test_what_is_not_there_is_404(shop: Any, path: str, query: str) -> None:
    assert problem(shop, path, query)[0] == 404


def test_a_pod_of_another_scheduler_is_409(shop: Any) -> None:
    code, message = problem(shop, "/pods/default/other/decision")
    assert code == 409
    assert "no profile has the schedulerName somebody-else" in message


def test_a_failing_view_is_500_and_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_run: str, _at: int | None) -> Any:
        raise ZeroDivisionError

    found: Any = SimpleNamespace(picture=broken, generation=lambda: 0, activity=None)
    assert problem(found, "/overview") == (500, "this view failed; the log of the process has the cause")
    assert "ZeroDivisionError" in caplog.text


def test_answers_of_one_generation_are_made_once() -> None:
    calls: list[int] = []

    def picture(_run: str, _at: int | None) -> Any:
        calls.append(1)
        raise NotThereError("nothing")

    state = SimpleNamespace(generation=1)
    whole = source(node("a"), pod("web"))
    found: Any = SimpleNamespace(
        generation=lambda: state.generation,
        picture=lambda run, at: (calls.append(1), whole.picture(run, at))[1],
        activity=whole.activity,
    )
    answers = Answers(found)
    first = answers.answer("/overview")
    assert answers.answer("/overview") is first
    assert len(calls) == 1
    state.generation = 2
    assert answers.answer("/overview") is not first
    assert len(calls) == 2
    found.picture = picture
    state.generation = 3
    assert [answers.answer("/overview").status for _ in range(2)] == [404, 404]
    assert len(calls) == 4  # errors are not kept


def test_kept_answers_are_bounded() -> None:
    answers = Answers(source(node("a"), pod("web")))
    for number in range(300):
        assert answers.answer("/search", f"q={number}").status == 200
    assert len(answers._kept) == 64
    assert answers._size == sum(len(found.body) for found in answers._kept.values())


def test_hostile_names_and_texts_are_bounded_data() -> None:
    hostile = pod("web", labels={"app": "x" * 60}, cpu="64")
    hostile["metadata"]["annotations"] = {"note": HOSTILE}
    hostile["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": "hunter2"}]
    found = source(node("a", note=HOSTILE[:63]), hostile)
    for address in ("/pods/default/web", "/pods/default/web/decision", "/nodes/a", "/map", "/pending", "/search?q=w"):
        path, _, query = address.partition("?")
        answer = Answers(found).answer(path, query)
        assert answer.status == 200
        assert len(answer.body) < 50_000
        assert b"hunter2" not in answer.body
        assert b"alert(1)" not in answer.body or path == "/nodes/a"
    assert get(found, "/pods/default/web")["annotations"] == ["note"]


PARAMETERS = sorted({name for endpoint in ENDPOINTS for name in endpoint.parameters})


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([endpoint.path for endpoint in ENDPOINTS]),
    st.lists(st.tuples(st.sampled_from([*PARAMETERS, "x"]), st.text(max_size=20)), max_size=4),
    st.text(max_size=20),
)
def test_any_request_has_an_answer_as_described(path: str, query: list[tuple[str, str]], name: str) -> None:
    part = quote(name, safe="") or "web"
    for place in ("{namespace}", "{name}", "{id}"):
        path = path.replace(place, part)
    asked = "&".join(f"{key}={quote(value)}" for key, value in query)
    answer = ANSWERS.answer(path, asked)
    assert answer.status in (200, 400, 404)
    document = json.loads(answer.body)
    if answer.status != 200:
        check(document, {"$ref": "#/components/schemas/Error"})


ANSWERS = Answers(source(node("a"), pod("web"), pod("big", cpu="64")))
