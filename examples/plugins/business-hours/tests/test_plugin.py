from datetime import datetime, timedelta
from typing import Any

import pytest
from kubewasp_sdk import ConfigError, NodeInfo, Pod
from kubewasp_sdk.testing import FakeCluster, Outcome, make_node, make_pod, run

from hours import WEEKDAYS, Hours, SummerTime
from plugin import BusinessHours

WEB = make_pod("web")
BATCH = make_pod("report", spec={"priorityClassName": "batch"})
AGENT = make_pod("agent", spec={"tolerations": [{"operator": "Exists"}]})
NOON, NIGHT, SUNDAY = "2026-01-05T12:00Z", "2026-01-05T23:00Z", "2026-01-04T12:00Z"


def nodes() -> list[NodeInfo]:
    return [make_node("day", labels={"kubewasp.dev/business-hours": ""}), make_node("always")]


def scheduled(pod: Pod, at: str, **config: Any) -> Outcome:
    return run(BusinessHours, pod, nodes(), config=config, now=datetime.fromisoformat(at))


def takes(pod: Pod, at: str, **config: Any) -> bool:
    """True if the node with business hours accepts the pod."""
    return "day" not in scheduled(pod, at, **config).rejected


def test_during_business_hours_all_pods_are_taken() -> None:
    assert takes(WEB, NOON)
    assert takes(BATCH, NOON)


@pytest.mark.parametrize("at", [NIGHT, SUNDAY])
def test_outside_of_them_only_batch_pods_are(at: str) -> None:
    assert not takes(WEB, at)
    assert takes(BATCH, at)


def test_the_reason_tells_the_hours_and_other_nodes_are_left_alone() -> None:
    reason = "node(s) take batch pods only outside of business hours (Mon/Tue/Wed/Thu/Fri 08:00-18:00 UTC+00:00)"
    outcome = scheduled(WEB, NIGHT)
    assert outcome.rejected == {"day": reason}
    assert outcome.node == "always"


def test_a_pod_can_tolerate_it_like_a_taint() -> None:
    assert takes(AGENT, NIGHT, outside="none")


@pytest.mark.parametrize(
    ("admits", "web", "batch"),
    [("all", True, True), ("batch", False, True), ("others", True, False), ("none", False, False)],
)
def test_the_configuration_says_who_is_taken_when(admits: str, web: bool, batch: bool) -> None:
    assert (takes(WEB, NIGHT, outside=admits), takes(BATCH, NIGHT, outside=admits)) == (web, batch)
    assert (takes(WEB, NOON, during=admits), takes(BATCH, NOON, during=admits)) == (web, batch)


def test_a_pod_that_was_rejected_is_taken_when_the_hours_begin() -> None:
    cluster = FakeCluster(nodes()[0], now=datetime.fromisoformat("2026-01-05T07:00Z"))
    plugin = cluster.start(BusinessHours, {})
    assert not cluster.schedule(plugin, WEB).node
    cluster.advance(3600)
    assert cluster.schedule(plugin, WEB).node == "day"


def test_pods_share_answers_only_while_the_hours_are_the_same() -> None:
    cluster = FakeCluster(now=datetime.fromisoformat("2026-01-05T07:00Z"))
    plugin = cluster.start(BusinessHours, {"during": "batch", "outside": "none"})
    early = plugin.signature(WEB)
    assert early == plugin.signature(make_pod("other"))
    cluster.advance(3600)
    cluster.schedule(plugin, BATCH)  # updates the plugin's time
    assert plugin.signature(WEB) not in (early, plugin.signature(BATCH))


@pytest.mark.parametrize(
    ("at", "is_open"),
    [
        ("2026-01-05T07:59:59Z", False),
        ("2026-01-05T08:00Z", True),
        ("2026-01-05T17:59:59Z", True),
        ("2026-01-05T18:00Z", False),
        ("2026-01-05T19:30+02:00", True),
    ],
)
def test_when_the_hours_begin_and_end(at: str, is_open: bool) -> None:
    assert Hours.parse("08:00-18:00", ("Mon",), "+00:00", "none").include(datetime.fromisoformat(at)) is is_open


@pytest.mark.parametrize(
    ("at", "is_open"),
    [
        ("2026-01-05T23:00Z", True),
        ("2026-01-06T05:59Z", True),
        ("2026-01-06T06:00Z", False),
        ("2026-01-05T05:00Z", False),
    ],
)
def test_hours_past_midnight_belong_to_the_day_they_begin_on(at: str, is_open: bool) -> None:
    assert Hours.parse("22:00-06:00", ("Mon",), "+00:00", "none").include(datetime.fromisoformat(at)) is is_open


def test_hours_may_end_at_midnight() -> None:
    late = Hours.parse("18:00-00:00", ("Mon",), "+00:00", "none")
    assert late.include(datetime.fromisoformat("2026-01-05T23:59Z"))
    assert not late.include(datetime.fromisoformat("2026-01-06T00:00Z"))


@pytest.mark.parametrize(
    ("rule", "offset", "winter_ends", "summer_ends"),
    [
        ("eu", "+01:00", "2026-03-29T01:00Z", "2026-10-25T01:00Z"),
        ("us", "-05:00", "2026-03-08T07:00Z", "2026-11-01T06:00Z"),
    ],
)
def test_summer_time(rule: SummerTime, offset: str, winter_ends: str, summer_ends: str) -> None:
    winter, summer = (Hours.parse("08:00-18:00", WEEKDAYS, offset, item) for item in ("none", rule))
    hour, minute = timedelta(hours=1), timedelta(minutes=1)
    for moment, is_later in ((datetime.fromisoformat(winter_ends), True), (datetime.fromisoformat(summer_ends), False)):
        assert summer.local(moment) - winter.local(moment) == is_later * hour
        assert summer.local(moment - minute) - winter.local(moment - minute) == (not is_later) * hour


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"hours": "8-18"}, 'config.hours: expected a time such as 08:00, got "8"'),
        ({"hours": "08:00"}, 'config.hours: expected hours such as 08:00-18:00, got "08:00"'),
        ({"hours": "08:00-25:00"}, 'config.hours: expected a time such as 08:00, got "25:00"'),
        ({"days": []}, "config.days: expected at least one"),
        ({"days": ["Monday"]}, r"config.days\[0\]: expected one of 'Mon'"),
        ({"utcOffset": "Europe/Berlin"}, "config.utcOffset: expected an offset such as"),
        ({"outside": "nobody"}, "config.outside: expected one of 'all', 'batch', 'others', 'none'"),
    ],
)
def test_a_bad_configuration_is_refused(config: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        run(BusinessHours, WEB, nodes(), config=config)
