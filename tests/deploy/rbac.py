"""RBAC rules as data, with the semantics of the API server's authorizer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Rules = Sequence[Mapping[str, Any]]


def allows(rules: Rules, verb: str, group: str, resource: str, name: str = "") -> bool:
    """Whether one of the rules allows a call. A subresource is part of the resource: `pods/binding`.

    `name` is that of the object; list, watch and create have none, and a rule for certain names does not allow them.
    """
    return any(_allows(rule, verb, group, resource, name) for rule in rules)


def triples(rules: Rules) -> Iterator[tuple[str, str, str]]:
    """Every verb, group and resource that a rule names."""
    for rule in rules:
        for verb in rule["verbs"]:
            for group in rule.get("apiGroups", ()):
                for resource in rule.get("resources", ()):
                    yield verb, group, resource


def _allows(rule: Mapping[str, Any], verb: str, group: str, resource: str, name: str) -> bool:
    names = rule.get("resourceNames") or ()
    return (
        _is_one_of(verb, rule["verbs"])
        and _is_one_of(group, rule.get("apiGroups") or ())
        and _is_resource(resource, rule.get("resources") or ())
        and (not names or name in names)
    )


def _is_one_of(item: str, items: Sequence[str]) -> bool:
    return item in items or "*" in items


def _is_resource(resource: str, resources: Sequence[str]) -> bool:
    subresource = resource.partition("/")[2]
    return _is_one_of(resource, resources) or bool(subresource and f"*/{subresource}" in resources)
