"""Fixtures of the API server client: no proxy of the environment, and a certificate authority."""

import pytest

from tests.apiserver.certificates import Authority


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority()
