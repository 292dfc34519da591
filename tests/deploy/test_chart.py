"""The Helm chart, as far as it can be checked without Helm; tests/e2e/deploy renders it."""

import json
import re
from typing import Any

import pytest
import yaml

from tests.deploy.manifests import BASE, CHART, DEPLOY, one, resources

SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
VALUES = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
TEMPLATES = sorted((CHART / "templates").iterdir())


def test_every_value_is_in_the_schema_and_has_a_default() -> None:
    assert keys(SCHEMA) - {"global"} == set(VALUES)
    for name, schema in SCHEMA["properties"].items():
        if "properties" in schema:
            assert keys(schema) == set(VALUES[name]), name


def keys(schema: dict[str, Any]) -> set[str]:
    return set(schema["properties"])


def test_templates_use_values_that_exist() -> None:
    used = {path for file in TEMPLATES for path in re.findall(r"\.Values\.([\w.]+)", file.read_text(encoding="utf-8"))}
    assert {path.split(".")[0] for path in used} == set(VALUES)
    for path in used:
        value: Any = VALUES
        for part in path.split("."):
            assert part in value, path
            value = value[part]


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.name)
def test_a_template_holds_one_object_and_closes_what_it_opens(file: Any) -> None:
    text = file.read_text(encoding="utf-8")
    assert len(re.findall(r"^kind: ", text, re.MULTILINE)) == (0 if file.name in ("_helpers.tpl", "NOTES.txt") else 1)
    opened = len(re.findall(r"{{-?\s*(?:if|with|range|define)\b", text))
    assert opened == len(re.findall(r"{{-?\s*end\b", text))


def test_the_values_for_the_only_scheduler_are_known() -> None:
    values = yaml.safe_load((DEPLOY / "helm" / "only-scheduler.yaml").read_text(encoding="utf-8"))
    assert set(values) <= keys(SCHEMA)


def test_the_network_policy_is_on_and_admits_the_same_as_the_one_of_kustomize() -> None:
    assert VALUES["networkPolicy"]["enabled"] is True
    (rule,) = one(resources(BASE), "NetworkPolicy")["spec"]["ingress"]
    assert VALUES["networkPolicy"]["from"] == rule["from"]


def test_extras_are_off() -> None:
    assert VALUES["serviceMonitor"]["enabled"] is False
    assert VALUES["plugins"] == []
    assert VALUES["console"]["enabled"] is VALUES["console"]["service"]["enabled"] is False
