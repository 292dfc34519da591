"""Fixtures with real registries: one of each kind for all tests, more on request, and the clients of others."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tools.testbed import registries
from tools.testbed.certificates import Authority
from tools.testbed.debian_programs import UnavailableError
from tools.testbed.registries import COSIGN, REGISTRIES, DockerRegistry, Olareg, Registry, Tool, ToolError

StartRegistry = Callable[..., Registry]


@pytest.fixture(scope="session")
def registry_programs(pytestconfig: pytest.Config) -> Path:
    """The folder with registries and clients, built on first use, with progress."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        return REGISTRIES.folder()


@pytest.fixture(scope="session")
def registry_authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Signs the certificates of the registries of this run."""
    return Authority(tmp_path_factory.mktemp("registry-keys"))


@pytest.fixture(scope="session")
def olareg(registry_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Olareg]:
    """A registry with the referrers API, without TLS and users, for tests that keep to their own repository."""
    with Olareg(tmp_path_factory.mktemp("olareg")) as server:
        yield server


@pytest.fixture(scope="session")
def docker_registry(registry_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerRegistry]:
    """The same without the referrers API."""
    with DockerRegistry(tmp_path_factory.mktemp("docker-registry")) as server:
        yield server


@pytest.fixture(params=["olareg", "docker_registry"], ids=["referrers", "no-referrers"])
def registry(request: pytest.FixtureRequest) -> Registry:
    """A test runs with each kind of registry."""
    found: Registry = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def repository() -> str:
    """A name of this test's own."""
    return f"team/{uuid.uuid4().hex[:12]}"


@pytest.fixture
def start_registry(registry_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartRegistry]:
    """Starts a registry of a kind, with its keyword arguments, that is stopped after the test."""
    with ExitStack() as stack:

        def start(kind: type[Registry] = Olareg, **options: Any) -> Registry:
            return stack.enter_context(kind(tmp_path_factory.mktemp(kind.name), **options))

        yield start


@pytest.fixture
def crane(registry_programs: Path, tmp_path: Path) -> Tool:
    return registries.crane(tmp_path / "home")


@pytest.fixture
def oras(registry_programs: Path, tmp_path: Path) -> Tool:
    return registries.oras(tmp_path / "home")


@pytest.fixture
def cosign(tmp_path: Path) -> Tool:
    """The real cosign, where it is built: that takes minutes, and the release workflow does it."""
    if not COSIGN.is_built():
        pytest.skip(f"cosign is not built; `python -m tools.testbed.registries cosign` does it ({COSIGN.cost})")
    return registries.cosign(tmp_path / "home")


@pytest.fixture
def skopeo(tmp_path: Path) -> Tool:
    try:
        return registries.skopeo(tmp_path / "home")
    except UnavailableError as error:
        pytest.skip(f"no skopeo: {error}")


@pytest.fixture
def buildah(tmp_path: Path) -> Tool:
    try:
        found = registries.buildah(tmp_path / "home")
        found("from", "scratch")
    except UnavailableError as error:
        pytest.skip(f"no buildah: {error}")
    except ToolError as error:  # without root it needs user namespaces, and helpers for them
        pytest.skip(f"buildah does not work on this machine: {error}")
    return found
