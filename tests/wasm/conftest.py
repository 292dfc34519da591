"""Fixtures of guests in a registry."""

from collections.abc import Iterator

import pytest

from kubewasp.registry.registry_client import RegistryClient
from kubewasp.registry.settings import RegistrySettings
from tests.registry.fake_registry import FakeRegistry


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with FakeRegistry().serving() as served:
        yield served


@pytest.fixture
def client() -> Iterator[RegistryClient]:
    with RegistryClient(RegistrySettings(uses_user_files=False), sleep=lambda _: None) as opened:
        yield opened
