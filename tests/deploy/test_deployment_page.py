"""Tables of docs/deployment.md against the roles."""

import re

from tests.deploy.manifests import ROOT, cluster_rules, lease_rules
from tests.deploy.rbac import triples

PAGE = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ([a-z0-9.]+) \| ((?:`[a-z/]+` ?)+(?:named `[a-z-]+` )?)\| ([a-z, ]+) \| \S.* \|$", re.MULTILINE)


def rows() -> list[dict[str, object]]:
    """The rows as RBAC rules."""
    found = []
    for group, resources, verbs in ROW.findall(PAGE):
        names, _, name = resources.partition(" named ")
        rule: dict[str, object] = {
            "apiGroups": ["" if group == "core" else group],
            "resources": re.findall(r"`([a-z/]+)`", names),
            "verbs": verbs.split(", "),
        }
        found.append(rule | ({"resourceNames": re.findall(r"`(.+)`", name)} if name else {}))
    return found


def test_the_page_lists_every_right_and_no_other() -> None:
    assert sorted(triples(rows())) == sorted(triples([*cluster_rules(), *lease_rules()]))


def test_it_names_the_lease() -> None:
    names = [rule["resourceNames"] for rule in rows() if "resourceNames" in rule]
    assert names == [rule["resourceNames"] for rule in lease_rules() if "resourceNames" in rule]
