"""The Dockerfile, as far as it can be checked without a container engine."""

import json
import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from kubewasp import __version__
from kubewasp.console.live_console import DEFAULT_PORT as CONSOLE_PORT
from kubewasp.server.http_server import DEFAULT_PORT
from tests.deploy.dockerfile import stages
from tests.deploy.manifests import BASE, DEPLOY, ROOT, one, resources

DOCKERFILE = DEPLOY / "Dockerfile"
KNOWN = {"ARG", "FROM", "ENV", "WORKDIR", "COPY", "RUN", "LABEL", "USER", "EXPOSE", "ENTRYPOINT", "CMD"}
BUILD, FINAL = stages(DOCKERFILE)


def pip_commands() -> list[str]:
    commands = (part.strip() for run in BUILD.all("RUN") for part in run.split("&&"))
    return [command for command in commands if command.startswith("pip ")]


def test_it_has_known_instructions_only() -> None:
    assert {keyword for stage in (BUILD, FINAL) for keyword, _ in stage.instructions} <= KNOWN


def test_both_stages_have_one_base_of_a_fixed_python_and_no_registry() -> None:
    assert BUILD.image == FINAL.image
    name, _, tag = BUILD.image.partition(":")
    assert name == "python"  # no host before it: the registry is the builder's choice
    assert re.fullmatch(r"3\.\d+-slim", tag)
    assert "latest" not in DOCKERFILE.read_text(encoding="utf-8")


def test_its_python_is_one_that_the_package_is_for() -> None:
    minor = re.search(r"python:(3\.\d+)", BUILD.image)
    assert minor
    assert f"Programming Language :: Python :: {minor[1]}" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_a_release_is_built_from_the_digest_of_its_base(tmp_path: Path) -> None:
    """The steps of the workflow are run with a docker command that knows one digest."""
    digest = f"sha256:{'0' * 64}"
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
    steps = workflow["jobs"]["image"]["steps"]
    (resolving,) = [step for step in steps if step.get("name") == "Base image, by digest"]
    (building,) = [step for step in steps if "build-push-action" in step.get("uses", "")]
    (tmp_path / "docker").write_text(f'#!/bin/sh\ntest "$4" = "{BUILD.image}" && echo {digest}\n')
    (tmp_path / "docker").chmod(0o755)
    variables = tmp_path / "env"
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "GITHUB_ENV": str(variables)}
    subprocess.run(["bash", "-euo", "pipefail", "-c", resolving["run"]], cwd=ROOT, env=environment, check=True)
    assert variables.read_text() == f"PYTHON_IMAGE={BUILD.image}@{digest}\n"
    assert steps.index(resolving) < steps.index(building)
    assert "PYTHON_IMAGE=${{ env.PYTHON_IMAGE }}" in building["with"]["build-args"].split("\n")
    assert 'org.opencontainers.image.base.name="${PYTHON_IMAGE}"' in " ".join(FINAL.all("LABEL"))


def test_downloads_are_wheels_checked_by_hash() -> None:
    """One command goes to the network; all others take what it has checked."""
    online = [command for command in pip_commands() if "--no-index" not in command]
    (download,) = online
    assert download.startswith("pip download ")
    assert {"--require-hashes", "--only-binary=:all:", "--requirement=requirements.lock"} <= set(download.split())
    assert len(pip_commands()) == 4


def test_nothing_is_fetched_past_pip() -> None:
    text = " ".join(BUILD.all("RUN") + FINAL.all("RUN"))
    assert not re.search(r"\b(curl|wget|apt|apt-get|git|ADD|gcc|make)\b", text)


def test_the_lock_has_what_builds_the_wheel() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert re.search(r"^hatchling==", lock, re.MULTILINE)


@pytest.mark.parametrize("copied", BUILD.all("COPY"))
def test_what_is_copied_is_there_and_not_ignored(copied: str) -> None:
    *sources, _ = copied.split()
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for source in sources:
        assert (ROOT / source).exists()
        assert f"!{source}" in ignored


def test_the_wheel_finds_every_file_that_its_build_reads() -> None:
    """Files named in pyproject.toml are copied before the wheel is built."""
    copied = {source for copy in BUILD.all("COPY") for source in copy.split()[:-1]}
    assert copied == {"requirements.lock", "pyproject.toml", "README.md", "LICENSE", "src", "sdk"}
    order = [keyword + " " + rest for keyword, rest in BUILD.instructions]
    wheel = next(index for index, line in enumerate(order) if line.startswith("RUN pip wheel"))
    assert all(index < wheel for index, line in enumerate(order) if line.startswith("COPY"))


def test_the_context_has_nothing_else() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in ignored if line and not line.startswith("#")]
    assert rules[0] == "*"
    allowed = {line[1:] for line in rules if line.startswith("!")}
    assert not any(fnmatch(secret, pattern) for secret in (".git", ".venv", ".build", "tests") for pattern in allowed)


def test_the_final_image_takes_only_the_environment_from_the_build() -> None:
    assert FINAL.all("COPY") == [f"--from={BUILD.name} /opt/kubewasp /opt/kubewasp"]
    assert any("python -m venv --without-pip /opt/kubewasp" in run for run in BUILD.all("RUN"))
    assert not any("pip" in run for run in FINAL.all("RUN"))


def test_it_runs_as_the_user_of_the_deployment() -> None:
    security = one(resources(BASE), "Deployment")["spec"]["template"]["spec"]["securityContext"]
    (user,) = FINAL.all("USER")
    assert user == f"{security['runAsUser']}:{security['runAsGroup']}"
    words = [keyword for keyword, _ in FINAL.instructions]
    assert not {"RUN", "COPY"} & set(words[words.index("USER") :])


def test_the_environment_suits_a_read_only_root() -> None:
    environment = " ".join(FINAL.all("ENV")).split()
    assert "PYTHONDONTWRITEBYTECODE=1" in environment
    (container,) = one(resources(BASE), "Deployment")["spec"]["template"]["spec"]["containers"]
    (cache,) = (item["value"] for item in container["env"] if item["name"] == "KUBEWASP_CACHE_DIR")
    assert f"KUBEWASP_CACHE_DIR={cache}" in environment
    assert "--no-compile" not in " ".join(pip_commands())


def test_the_entrypoint_is_the_command_and_the_port_is_told() -> None:
    (entrypoint,) = FINAL.all("ENTRYPOINT")
    assert json.loads(entrypoint) == ["kubewasp"]
    assert FINAL.all("EXPOSE") == [f"{DEFAULT_PORT} {CONSOLE_PORT}"]
    assert any("/opt/kubewasp/bin:$PATH" in setting for setting in FINAL.all("ENV"))


def test_labels_say_what_it_is() -> None:
    labels = dict(re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]*)"', " ".join(FINAL.all("LABEL"))))
    assert labels.keys() == {"title", "description", "licenses", "version", "revision"}
    assert (labels["title"], labels["licenses"]) == ("kubewasp", "Apache-2.0")
    assert f"VERSION={__version__}" in FINAL.all("ARG")
