"""Reader and writer of `rollout:` and `reload:` in a configuration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from kubewasp.framework.config.rollout import DEFAULT_ROLLOUT, Amount, Bounds, PodShare, ReloadSettings, RolloutSettings
from kubewasp.k8s.duration import format_duration
from kubewasp.k8s.errors import shown
from kubewasp.k8s.selectors import SelectorError, label_selector

if TYPE_CHECKING:
    from kubewasp.framework.config.fields import Section

    Json = dict[str, Any]

_PERCENTAGE: Final = re.compile(r"(\d{1,3}(?:\.\d{1,2})?)\s*%")
_PODS: Final = re.compile(r"(\d{1,9})(?:\s+pods)?")
_AFTER: Final = re.compile(r"after\s+(\d{1,9})\s+pods")
_MOST_PODS: Final = 100_000_000
_LEAST_INTERVAL: Final = 1.0
MANUAL, NEVER = "manual", "never"


def read_rollout(section: Section, name: str) -> RolloutSettings:
    """The field of that name; the default without it."""
    if not section.has(name):
        section.take(name)
        return DEFAULT_ROLLOUT
    given = section.section(name)
    promote_after, promote_bounds = _promotion(given)
    within, rollback_bounds = _rollback(given)
    found = RolloutSettings(
        shadow=_percentage(given, "shadow", "a percentage of the pods such as 20%"),
        canary=_canary(given),
        promote_after=promote_after,
        promote_bounds=promote_bounds,
        rollback_within=within,
        rollback_bounds=rollback_bounds,
    )
    given.refuse_unknown()
    if given.has("promote") and not found.has_stages:
        given.problems.add(given.at("promote"), "without shadow or canary there is nothing to promote: add one of them")
    return found


def read_reload(section: Section) -> ReloadSettings:
    default = ReloadSettings()
    found = ReloadSettings(section.boolean("watch", default.watch), section.seconds("interval", default.interval))
    section.refuse_unknown()
    if found.interval < _LEAST_INTERVAL:
        text = f"must be at least {format_duration(_LEAST_INTERVAL)}: registries limit requests"
        section.problems.invalid(section.at("interval"), format_duration(found.interval), text)
    return found


def _percentage(section: Section, name: str, expected: str) -> float:
    value = section.take(name)
    if value is None:
        return 0.0
    match = _PERCENTAGE.fullmatch(value) if isinstance(value, str) else None
    if match is None or not 0 < float(match[1]) <= 100:
        section.problems.unreadable(section.at(name), f"expected {expected}, got {shown(value)}")
        return 0.0
    return float(match[1])


def _canary(given: Section) -> PodShare | None:
    value = given.take("canary")
    if value is None:
        return None
    if not isinstance(value, dict):
        return PodShare(_percentage(given, "canary", "a percentage of the pods such as 5%, or an object"))
    section = given.section("canary")
    percentage = _percentage(section, "percent", "a percentage of the pods such as 5%") or 100.0
    namespaces = tuple(section.texts("namespaces"))
    document, selector = None, None
    if section.has("labelSelector"):
        document = _selector(section.section("labelSelector"))
        try:
            selector = label_selector(document)
        except SelectorError as error:
            section.problems.add(section.at("labelSelector"), str(error))
    section.take("labelSelector")
    section.refuse_unknown()
    return PodShare(percentage, namespaces, selector, document or {})


def _selector(section: Section) -> Json:
    found: Json = {}
    labels = section.section("matchLabels")
    if labels.names():
        found["matchLabels"] = {name: labels.text(name) for name in labels.names() if isinstance(name, str)}
    expressions = []
    for item in section.sections("matchExpressions"):
        expressions.append({"key": item.text("key"), "operator": item.text("operator"), "values": item.texts("values")})
        item.refuse_unknown()
    if expressions:
        found["matchExpressions"] = expressions
    section.refuse_unknown()
    return found


def _promotion(given: Section) -> tuple[int | None, Bounds]:
    value = given.take("promote")
    if value is None or value == MANUAL:
        return None, Bounds()
    if isinstance(value, str):
        match = _AFTER.fullmatch(value)
        if match is None or not 0 < int(match[1]) <= _MOST_PODS:
            expected = f"expected `{MANUAL}`, or a number of pods such as `after 500 pods`"
            given.problems.unreadable(given.at("promote"), f"{expected}, got {shown(value)}")
            return None, Bounds()
        return int(match[1]), Bounds()
    section = given.section("promote")
    after = None if section.take("after") == MANUAL else _pods(section, "after", None)
    bounds = _bounds(section)
    section.refuse_unknown()
    return after, bounds


def _rollback(given: Section) -> tuple[int, Bounds]:
    default = RolloutSettings()
    value = given.take("rollback")
    if value is None or value == NEVER:
        return default.rollback_within if value is None else 0, Bounds()
    section = given.section("rollback")
    within = _pods(section, "within", default.rollback_within) or 0
    bounds = _bounds(section)
    section.refuse_unknown()
    return within, bounds


def _pods(section: Section, name: str, default: int | None) -> int | None:
    """A number of pods: 500, or `500 pods`."""
    value = section.take(name)
    if value is None:
        return default
    match = _PODS.fullmatch(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else None
    if match is None or not 0 < int(match[1]) <= _MOST_PODS:
        section.problems.unreadable(section.at(name), f"expected a number of pods such as 500, got {shown(value)}")
        return default
    return int(match[1])


def _bounds(section: Section) -> Bounds:
    default = Bounds()
    max_p99 = section.seconds("maxP99", 0.0)
    if max_p99 < 0:
        section.problems.invalid(section.at("maxP99"), format_duration(max_p99), "must be greater than zero")
    return Bounds(
        max_errors=_amount(section, "maxErrors", default.max_errors),
        max_timeouts=_amount(section, "maxTimeouts", default.max_timeouts),
        max_p99=max_p99 or None,
        max_disagreement=_amount(section, "maxDisagreement", default.max_disagreement),
    )


def _amount(section: Section, name: str, default: Amount | None) -> Amount | None:
    value = section.take(name)
    if value is None:
        return default
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_PODS:
        return Amount(value)
    match = _PERCENTAGE.fullmatch(value) if isinstance(value, str) else None
    if match is None or float(match[1]) > 100:
        expected = "a number of pods such as 5, or a percentage such as 1%"
        section.problems.unreadable(section.at(name), f"expected {expected}, got {shown(value)}")
        return default
    return Amount(float(match[1]), is_percentage=True)


# ---------------------------------------------------------------------- writing


def rollout_document(settings: RolloutSettings) -> Json:
    written: Json = {}
    if settings.shadow:
        written["shadow"] = f"{settings.shadow:g}%"
    if settings.canary is not None:
        written["canary"] = _share_document(settings.canary)
    if settings.has_stages:
        after = MANUAL if settings.promote_after is None else settings.promote_after
        written["promote"] = {"after": after, **_bounds_document(settings.promote_bounds)}
    written["rollback"] = (
        {"within": settings.rollback_within, **_bounds_document(settings.rollback_bounds)}
        if settings.rollback_within
        else NEVER
    )
    return written


def reload_document(settings: ReloadSettings) -> Json:
    return {"watch": settings.watch, "interval": format_duration(settings.interval)}


def _share_document(share: PodShare) -> Json:
    written: Json = {"percent": f"{share.percentage:g}%"}
    if share.namespaces:
        written["namespaces"] = list(share.namespaces)
    if share.selector is not None:
        written["labelSelector"] = dict(share.label_selector)
    return written


def _bounds_document(bounds: Bounds) -> Json:
    amounts = {
        "maxErrors": bounds.max_errors,
        "maxTimeouts": bounds.max_timeouts,
        "maxDisagreement": bounds.max_disagreement,
    }
    written: Json = {
        name: str(amount) if amount.is_percentage else int(amount.value)
        for name, amount in amounts.items()
        if amount is not None
    }
    return written | ({} if bounds.max_p99 is None else {"maxP99": format_duration(bounds.max_p99)})
