"""Help of all commands: width, names of values, examples that run."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubewasp.images.building import ImagePlan, build_image
from kubewasp.registry.copying import LayoutDestination, StoreDestination, copy_artifact, push_artifact
from kubewasp.registry.formats import wasm_artifact
from kubewasp.registry.references import Reference
from kubewasp.registry.registry_client import RegistryClient
from kubewasp.registry.settings import RegistrySettings
from kubewasp.registry.store import user_store
from kubewasp.trust.bundle import sign_content
from tests.cli.all_commands import BENCH, KUBEWASP, Found, name
from tests.cli.conftest import Kubewasp
from tests.command_line import examples
from tests.guests.build import ROOT, example
from tests.images.archives import layout
from tests.registry.fake_registry import FakeRegistry, without_user_files
from tests.trust.signing import key
from tests.wasi.running import probe_file

COMMAND = Path(sys.executable).parent / "kubewasp"
SCHEDULER = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: NodeNumber}]}
  pluginConfig:
  - name: NodeNumber
    args: {guestURL: "file://nodenumber.wasm"}
"""
METAVAR = re.compile(r"(?:@?[A-Z]+|,weight=|\[|\]|[:|=/.]|-- |[a-z0-9]+(?=[|\]\n]|$)|json)+")
# Endless, or with a compiler: their examples have tests of their own.
SERVERS = {("run",), ("extender",), ("http", "serve"), ("console",)}
WITH_COMPILER = {("plugin", "build"), ("plugin", "test")}
# Of a running scheduler.
WITH_SCHEDULER = {("rollout", action) for action in ("status", "promote", "abort", "reload")}


def shown(found: Found, kubewasp: Kubewasp, columns: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    ended = kubewasp(*found.words, "--help")
    assert (ended.code, ended.err) == (0, "")
    return ended.out


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("found", KUBEWASP, ids=name)
def test_help_fits_the_terminal_and_has_every_word(
    found: Found, columns: int, kubewasp: Kubewasp, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = shown(found, kubewasp, columns, monkeypatch)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text.replace("clocks …", "")
    words = " ".join(text.split())
    for param in found.command.params:
        if not param.hidden:
            assert " ".join(param.help.split()) in words
    for option in {param.opts[0] for param in found.command.params if param.opts[0].startswith("-")}:
        hidden = any(param.hidden for param in found.command.params if option in param.opts)
        assert (re.search(rf"^ +(-\w, )?{re.escape(option)}\b", text, re.MULTILINE) is None) == hidden


@pytest.mark.parametrize("found", KUBEWASP, ids=name)
def test_short_and_long_help_are_the_same(found: Found, kubewasp: Kubewasp) -> None:
    short, long = kubewasp(*found.words, "-h"), kubewasp(*found.words, "--help")
    assert short == long
    assert short.out.startswith(" ".join(["Usage: kubewasp", *found.words, "[OPTIONS]"]))


@pytest.mark.parametrize("found", [*KUBEWASP, *BENCH], ids=name)
def test_values_have_readable_names(found: Found) -> None:
    for param in found.command.params:
        if getattr(param, "is_flag", False):
            continue
        assert param.metavar, param.name
        assert METAVAR.fullmatch(param.metavar), param.metavar


@pytest.mark.parametrize("found", [*KUBEWASP, *BENCH], ids=name)
def test_options_that_can_be_given_again_say_so(found: Found) -> None:
    for param in found.command.params:
        if getattr(param, "multiple", False):
            assert "Repeatable." in param.help, param.name


@pytest.mark.parametrize("found", [found for found in KUBEWASP if not found.is_group], ids=name)
def test_a_command_says_what_it_prints(found: Found) -> None:
    text = found.command.help
    assert re.search(r"\b([Pp]rints?|[Ss]hows?|[Ll]ogs|[Mm]easure|JSON|placements|rejected nodes)\b", text), text


def runnable() -> list[Found]:
    leaves = [found for found in KUBEWASP if not found.is_group and not found.command.hidden]
    return [found for found in leaves if found.words not in SERVERS | WITH_COMPILER | WITH_SCHEDULER]


@pytest.mark.parametrize("found", [found for found in KUBEWASP if found.words], ids=name)
def test_every_command_has_an_example_of_itself(found: Found, kubewasp: Kubewasp) -> None:
    if found.is_group and found.words != ("extender",):
        return
    commands = examples(kubewasp(*found.words, "--help").out)
    assert commands
    wanted = "check" if found.words == ("http", "routes") else found.words[-1]
    assert all(command.split()[len(found.words)] == wanted for command in commands)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the examples."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "words.txt").write_text("a\nb\n", encoding="utf-8")
    shutil.copy(example("nodenumber"), tmp_path / "nodenumber.wasm")
    shutil.copy(probe_file(), tmp_path / "count.wasm")
    layout(tmp_path / "images", build_image(ImagePlan(probe_file().read_bytes(), "count.wasm")), "count")
    for manifest in ("pod.yaml", "nodes.yaml"):
        shutil.copy(ROOT / "examples" / "manifests" / manifest, tmp_path / manifest)
    (tmp_path / "scheduler.yaml").write_text(SCHEDULER, encoding="utf-8")
    (tmp_path / "team-a.key").write_bytes(key().pkcs8_pem(b""))
    (tmp_path / "team-a.pub").write_bytes(key().public.pem)
    signature = sign_content((tmp_path / "nodenumber.wasm").read_bytes(), key()).write()
    (tmp_path / "nodenumber.wasm.sigstore.json").write_bytes(signature)
    monkeypatch.setenv("KUBEWASP_PASSWORD", "secret")
    return tmp_path


@pytest.fixture(scope="module")
def registry() -> Iterator[FakeRegistry]:
    with FakeRegistry().serving() as served:
        yield served


@pytest.fixture
def plugins(workplace: Path, registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugins of the examples: a file, in a registry, in a layout and in the local store."""
    without_user_files(monkeypatch, workplace / "home")
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(workplace / "cache"))
    wasm = (workplace / "nodenumber.wasm").read_bytes()
    (workplace / "policy.wasm").write_bytes(wasm)
    reference = Reference.parse(registry.reference("policy:v1"))
    with RegistryClient(RegistrySettings(uses_user_files=False)) as client:
        push_artifact(client, reference, wasm_artifact(wasm, file_name="policy.wasm", annotations={}))
        copy_artifact(client, reference, LayoutDestination(workplace / "plugins.tar", reference), tag="v1")
        copy_artifact(client, reference, StoreDestination(user_store(), reference), tag="v1")


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize("found", runnable(), ids=name)
def test_the_example_of_a_command_runs(
    found: Found, kubewasp: Kubewasp, workplace: Path, registry: FakeRegistry
) -> None:
    for command in examples(kubewasp(*found.words, "--help").out):
        if "~/.kube/config" in command:
            continue  # a real cluster
        _, *words = shlex.split(command.partition(" > ")[0].replace("registry.example.com", registry.host))
        if found.words == ("wasi", "run"):
            words[-1:] = ["args", words[-1]]  # the test program prints its arguments
        ended = subprocess.run([COMMAND, *words], cwd=workplace, env=os.environ, capture_output=True, text=True)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert ended.stdout


@pytest.mark.parametrize("words", sorted(SERVERS | WITH_COMPILER), ids=" ".join)
def test_the_example_of_a_longer_command_is_right_usage(
    words: tuple[str, ...], kubewasp: Kubewasp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work of the command is left out."""
    (command, *_) = examples(kubewasp(*words, "--help").out)
    called = []
    for work in (
        "run.run",
        "extender_server.run",
        "http_serve.serve",
        "console.show",
        "plugin_project.build",
        "plugin_project.run_tests",
    ):
        monkeypatch.setattr(f"kubewasp.cli.{work}", lambda *_, **__: called.append(1))
    assert kubewasp(*shlex.split(command)[1:]).code == 0
    assert called == [1]
