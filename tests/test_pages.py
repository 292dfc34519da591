"""Pages about the project against the code: layers, files, versions, length of the README, navigation."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from kubewasp import __version__
from tests.test_docs import PLAIN, ROOT

SOURCE_FILE = re.compile(r"`(src/[\w/]+\.py)`")
PLACE = re.compile(r"`([\w./-]+/[\w.-]+\.(?:py|wat|txt|md))`")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def rows(text: str, heading: str) -> list[list[str]]:
    """The rows of the first table under a heading, without its head."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section, heading
    lines = [line for line in section[1].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_readme_has_at_most_600_words() -> None:
    assert len(read("README.md").split()) <= 600


def test_the_layer_table_is_that_of_import_linter() -> None:
    contracts = tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    (contract,) = [item for item in contracts if item["type"] == "layers"]
    layers = [[name.removeprefix("kubewasp.") for name in layer.split(" | ")] for layer in contract["layers"]]
    table = [re.findall(r"`([\w.]+)`", row[0]) for row in rows(read("CONTRIBUTING.md"), "Layers")]
    assert table == layers


def test_the_places_of_contributing_exist() -> None:
    text = read("CONTRIBUTING.md")
    homes = (ROOT, ROOT / "src" / "kubewasp")
    missing = [place for place in PLACE.findall(text) if not any((home / place).exists() for home in homes)]
    assert [place for place in missing if not re.search(r"NAME|GROUP", place)] == []


def test_the_way_of_a_pod_is_a_numbered_table_of_files_that_exist() -> None:
    text = read("docs/how-a-pod-is-scheduled.md")
    table = rows(text, "Files")
    assert [row[0] for row in table] == [str(number) for number in range(1, len(table) + 1)]
    listed = [SOURCE_FILE.findall(row[1]) for row in table]
    assert all(len(files) == 1 for files in listed)
    files = [name for (name,) in listed]
    assert len(set(files)) == len(files) >= 15
    assert [name for name in SOURCE_FILE.findall(text) if not (ROOT / name).is_file()] == []


def test_all_version_numbers_are_the_same() -> None:
    found = {
        "changelog": re.findall(r"^## (\d\S+) \(\d{4}-\d\d-\d\d\)$", read("CHANGELOG.md"), re.MULTILINE)[0],
        "sdk": re.findall(r'^__version__ = "(.+)"$', read("sdk/python/kubewasp_sdk/__init__.py"), re.MULTILINE)[0],
        "chart": yaml.safe_load(read("deploy/helm/kubewasp/Chart.yaml"))["version"],
        "application": yaml.safe_load(read("deploy/helm/kubewasp/Chart.yaml"))["appVersion"],
        "image": re.findall(r"^ARG VERSION=(\S+)$", read("deploy/Dockerfile"), re.MULTILINE)[0],
        "kustomize": yaml.safe_load(read("deploy/kustomize/base/kustomization.yaml"))["images"][0]["newTag"],
    }
    assert set(found.values()) == {__version__}, found
    for page in ("README.md", "docs/install.md", "docs/deployment.md", "examples/extender/deployment.yaml"):
        assert set(re.findall(r"kubewasp[:-](\d+\.\d+\.\d+)", read(page))) == {__version__}, page


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, whose tags name Python functions."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda _loader, _suffix, _node: None)


def site() -> dict[str, object]:
    return dict(yaml.load(read("mkdocs.yml"), Loader=_Loader))


def pages(nav: object) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    assert not isinstance(parts, str)
    return [page for part in parts for page in pages(part)]  # type: ignore[union-attr]


def test_every_page_is_in_the_navigation_once() -> None:
    docs = ROOT / "docs"
    root_pages = {"changelog.md", "contributing.md", "security.md"}
    written = {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")} | root_pages
    assert sorted(pages(site()["nav"])) == sorted(written)


def test_the_site_loads_nothing_from_other_hosts() -> None:
    settings = site()
    theme, extra = settings["theme"], settings["extra"]
    assert isinstance(theme, dict)
    assert isinstance(extra, dict)
    assert theme["font"] is False
    assert all("://" not in script for script in extra["polyfills"])
    assert "://" not in read("docs/assets/site.css")


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "api").glob("*.md")), ids=lambda page: page.stem)
def test_the_names_of_the_reference_exist(page: Path) -> None:
    blocks = re.findall(r"^::: (\S+)\n((?:    .*\n)*)", page.read_text(encoding="utf-8") + "\n", re.MULTILINE)
    assert blocks
    names = [name for name, _ in blocks]
    for name, options in blocks:
        members = (yaml.safe_load(options) or {}).get("options", {}).get("members") or []
        names += [f"{name}.{member}" for member in members]
    code = f"import pkgutil; [pkgutil.resolve_name(name) for name in {names!r}]"
    path = os.pathsep.join([str(ROOT / "sdk" / "python"), *sys.path])
    subprocess.run([sys.executable, "-c", code], check=True, env=PLAIN | {"PYTHONPATH": path})


@pytest.mark.parametrize("workflow", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.stem)
def test_workflows_begin_without_rights_and_pin_their_actions(workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
    actions = re.findall(r"uses: (\S+)", text)
    assert actions
    assert [action for action in actions if not re.fullmatch(r"[\w.-]+/[\w.-]+@v\d+\.\d+\.\d+", action)] == []


def test_the_in_process_plugin_of_its_page_places_a_pod(tmp_path: Path) -> None:
    fences = re.findall(
        r"^```\w+ title=(\S+)\n(.*?)^```$", read("docs/in-process-plugins.md"), re.MULTILINE | re.DOTALL
    )
    for name, body in fences:
        (tmp_path / name).write_text(body, encoding="utf-8")
    entry = re.search(
        r'^\[project\.entry-points\."(kubewasp\.plugins)"\]\nCheapZone = "(.+)"$',
        read("docs/in-process-plugins.md"),
        re.MULTILINE,
    )
    assert entry
    installed = tmp_path / "cheap_zone-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: cheap-zone\nVersion: 1\n")
    (installed / "entry_points.txt").write_text(f"[{entry[1]}]\nCheapZone = {entry[2]}\n")
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"node-{zone}", "labels": {"zone": zone}},
            "status": {"allocatable": {"cpu": size, "memory": "8Gi", "pods": "9"}},
        }
        for zone, size in (("a", "8"), ("b", "4"), ("c", "8"))
    ]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "web", "image": "web"}]},
    }
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all([*nodes, pod]))
    command = [
        Path(sys.executable).parent / "kubewasp",
        "explain",
        "default/web",
        "cluster.yaml",
        "--config",
        "scheduler.yaml",
    ]
    ended = subprocess.run(
        command, cwd=tmp_path, env=PLAIN | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert re.search(r"^node +node-b$", ended.stdout, re.MULTILINE)
    assert re.search(r"^node-c +CheapZone +zone is forbidden", ended.stdout, re.MULTILINE)
