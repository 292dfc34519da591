"""Fixtures of registry tests: no files of the user, and a registry in this process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubewasp.registry.registry_client import RegistryClient
from kubewasp.registry.settings import RegistrySettings
from tests.registry.fake_registry import FakeRegistry


@pytest.fixture(autouse=True)
def _no_user_files(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in (
        "DOCKER_CONFIG",
        "REGISTRY_AUTH_FILE",
        "XDG_RUNTIME_DIR",
        "XDG_CONFIG_HOME",
        "CONTAINERS_REGISTRIES_CONF",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with FakeRegistry().serving() as served:
        yield served


@pytest.fixture
def client(tmp_path: Path) -> Iterator[RegistryClient]:
    """A client that never waits between attempts."""
    with RegistryClient(RegistrySettings(uses_user_files=False), sleep=lambda _: None) as opened:
        yield opened
