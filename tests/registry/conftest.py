"""Fixtures of registry tests: no files of the user, and a registry in this process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubewasp.registry.registry_client import RegistryClient
from kubewasp.registry.settings import RegistrySettings
from tests.registry.fake_registry import FakeRegistry, without_user_files


@pytest.fixture(autouse=True)
def _no_user_files(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    without_user_files(monkeypatch, tmp_path_factory.mktemp("home"))


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with FakeRegistry().serving() as served:
        yield served


@pytest.fixture
def client(tmp_path: Path) -> Iterator[RegistryClient]:
    """A client that never waits between attempts."""
    with RegistryClient(RegistrySettings(uses_user_files=False), sleep=lambda _: None) as opened:
        yield opened
