"""`kubewasp plugin push`, `pull`, `tag`, `digest`, `annotate`, `info`, `save`, `load`, `ls` and `rm`."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kubewasp.registry.oci_manifests import Manifest
from tests.cli.conftest import Kubewasp
from tests.guests.build import wat
from tests.registry.fake_registry import FakeRegistry, digest_of, without_user_files


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_user_files(monkeypatch, tmp_path / "home")
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with FakeRegistry().serving() as served:
        yield served


@pytest.fixture
def guest(tmp_path: Path) -> Path:
    path = tmp_path / "policy.wasm"
    path.write_bytes(wat("filter").read_bytes())
    return path


def _manifest(registry: FakeRegistry, tag: str = "v1") -> Manifest:
    content, media_type = registry.manifests["team/policy", tag]
    return Manifest.read(content, "m", media_type=media_type)


def _pushed(kubewasp: Kubewasp, registry: FakeRegistry, guest: Path, *options: object) -> str:
    reference = registry.reference("team/policy:v1")
    ended = kubewasp("plugin", "push", guest, reference, "-o", "json", *options)
    assert ended.code == 0, ended.err
    assert ended.json["digest"] == digest_of(registry.manifests["team/policy", "v1"][0])
    return reference


def test_a_pushed_plugin_says_what_it_is(kubewasp: Kubewasp, registry: FakeRegistry, guest: Path) -> None:
    options = ("--title", "My policy", "--licenses", "Apache-2.0", "--version", "1.2", "--annotation", "a=b=c")
    _pushed(kubewasp, registry, guest, *options, "--source", "https://example.com", "--description", "d")
    assert dict(_manifest(registry).annotations) == {
        "org.opencontainers.image.title": "My policy",
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.version": "1.2",
        "org.opencontainers.image.source": "https://example.com",
        "org.opencontainers.image.description": "d",
        "a": "b=c",
        "io.kubewasp.abi": "core module, classic ABI",
        "io.kubewasp.hooks": "filter",
        "io.kubewasp.memory": "64Ki initial",
    }


def test_the_output_of_a_push_fits_the_screen(kubewasp: Kubewasp, registry: FakeRegistry, guest: Path) -> None:
    ended = kubewasp("plugin", "push", guest, registry.reference("team/policy:v1"))
    lines = ended.out.splitlines()
    assert [line.split()[0] for line in lines] == ["name", "digest", "size", "hooks", "sent"]
    assert max(map(len, lines)) <= 80
    again = kubewasp("plugin", "push", guest, registry.reference("team/policy:v1"))
    assert "nothing, the registry had it" in again.out


def test_the_same_plugin_has_the_same_digest(
    kubewasp: Kubewasp, registry: FakeRegistry, guest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = [
        kubewasp("plugin", "push", guest, registry.reference("team/policy:v1"), "-o", "json").json["digest"]
        for _ in range(2)
    ]
    assert digests[0] == digests[1]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767323045")
    _pushed(kubewasp, registry, guest)
    config = registry.blobs["team/policy", _manifest(registry).config.digest]
    assert json.loads(config)["created"] == "2026-01-02T03:04:05Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "tomorrow")
    told = kubewasp("plugin", "push", guest, registry.reference("team/policy:v1")).usage_error
    assert "SOURCE_DATE_EPOCH" in told


def test_a_module_that_is_no_plugin_is_pushed_with_a_warning(
    kubewasp: Kubewasp, registry: FakeRegistry, tmp_path: Path
) -> None:
    module = tmp_path / "handler.wat"
    module.write_text('(module (func (export "_start")))', encoding="utf-8")
    ended = kubewasp("plugin", "push", module, registry.reference("team/policy:v1"))
    assert ended.code == 0
    assert "warning: the module is pushed, but it is no usable plugin as it is: " in ended.err
    quiet = kubewasp("plugin", "push", module, registry.reference("team/policy:v1"), "--no-inspect")
    assert (quiet.code, quiet.err) == (0, "")


@pytest.mark.parametrize("content", [b"\x7fELF", b"text", b""])
def test_something_else_is_not_pushed(
    kubewasp: Kubewasp, registry: FakeRegistry, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "x.wasm"
    file.write_bytes(content)
    ended = kubewasp("plugin", "push", file, registry.reference("team/policy:v1"))
    assert (ended.code, ended.out, registry.requests) == (1, "", [])
    assert ended.err.startswith(f"error: {file}: ")
    assert ended.err.count("\n") == 1


def test_a_plugin_is_pulled_into_the_store_and_to_a_file(
    kubewasp: Kubewasp, registry: FakeRegistry, guest: Path, tmp_path: Path
) -> None:
    reference = _pushed(kubewasp, registry, guest)
    ended = kubewasp("plugin", "pull", reference, "--out", tmp_path / "out.wasm", "-o", "json")
    assert ended.json["sha256"] == hashlib.sha256(guest.read_bytes()).hexdigest()
    assert ended.json["received_bytes"] == guest.stat().st_size
    assert (tmp_path / "out.wasm").read_bytes() == guest.read_bytes()
    again = kubewasp("plugin", "pull", reference)
    assert "from the local store" in again.out
    assert max(map(len, again.out.splitlines())) <= 80


def test_the_compat_form_is_a_container_image(kubewasp: Kubewasp, registry: FakeRegistry, guest: Path) -> None:
    reference = _pushed(kubewasp, registry, guest, "--compat")
    assert kubewasp("plugin", "info", reference, "-o", "json").json["kind"] == "container image (compat)"
    pulled = kubewasp("plugin", "pull", reference, "-o", "json").json
    assert pulled["sha256"] == hashlib.sha256(guest.read_bytes()).hexdigest()


def test_a_refused_artifact_names_the_compat_form(kubewasp: Kubewasp, registry: FakeRegistry, guest: Path) -> None:
    registry.on("PUT", "/manifests/", lambda exchange: bool(exchange.body()) and exchange.send(400))
    ended = kubewasp("plugin", "push", guest, registry.reference("team/policy:v1"), "--no-inspect")
    assert ended.err.endswith("the registry refuses this kind of manifest; --compat writes another\n")


def test_a_tag_is_added_and_its_digest_is_printed(kubewasp: Kubewasp, registry: FakeRegistry, guest: Path) -> None:
    reference = _pushed(kubewasp, registry, guest)
    assert kubewasp("plugin", "tag", reference, "stable").code == 0
    printed = [kubewasp("plugin", "digest", registry.reference(f"team/policy:{tag}")).out for tag in ("v1", "stable")]
    assert printed == [f"{digest_of(registry.manifests['team/policy', 'v1'][0])}\n"] * 2
    assert kubewasp("plugin", "tag", reference, "no tag").err.startswith('error: "no tag" is no tag')


def test_annotations_are_changed(kubewasp: Kubewasp, registry: FakeRegistry, guest: Path) -> None:
    reference = _pushed(kubewasp, registry, guest, "--version", "1")
    before = digest_of(registry.manifests["team/policy", "v1"][0])
    ended = kubewasp("plugin", "annotate", reference, "--version", "2", "--remove", "io.kubewasp.memory", "-o", "json")
    assert ended.json["previous_digest"] == before != ended.json["digest"]
    found = _manifest(registry).annotations
    assert found["org.opencontainers.image.version"] == "2"
    assert "io.kubewasp.memory" not in found
    assert "nothing to change" in kubewasp("plugin", "annotate", reference).usage_error
    unknown = kubewasp("plugin", "annotate", reference, "--remove", "x")
    assert unknown.err == f"error: {reference}: has no annotation x\n"


def test_info_shows_a_plugin_without_its_code(kubewasp: Kubewasp, registry: FakeRegistry, guest: Path) -> None:
    reference = _pushed(kubewasp, registry, guest)
    registry.requests.clear()
    ended = kubewasp("plugin", "info", reference)
    assert not any(line.startswith("GET") and "/blobs/" in line for line in registry.requests)
    assert "kind    CNCF wasm artifact\n" in ended.out
    assert "signed  no\n" in ended.out
    assert "hooks   filter\n" in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80


@pytest.mark.parametrize("ending", [".tar", ""])
def test_a_saved_plugin_is_loaded_where_no_registry_is(
    kubewasp: Kubewasp, registry: FakeRegistry, guest: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = _pushed(kubewasp, registry, guest)
    path = guest.with_name(f"saved{ending}")
    assert kubewasp("plugin", "save", reference, path).code == 0
    assert "exists already" in kubewasp("plugin", "save", reference, path).err
    assert kubewasp("plugin", "info", path, "-o", "json").json["kind"] == "CNCF wasm artifact"
    monkeypatch.setenv("KUBEWASP_CACHE_DIR", str(guest.with_name("other")))
    registry.on("*", "", lambda exchange: exchange.send(500))
    assert kubewasp("plugin", "load", path).code == 0
    assert kubewasp("plugin", "inspect", reference, "-o", "json").json["hooks"] == ["filter"]
    other = "oci://internal.example.com/policy:v1"
    assert kubewasp("plugin", "load", path, "--as", other).code == 0
    assert [entry["reference"] for entry in kubewasp("plugin", "ls", "-o", "json").json["plugins"]] == [
        reference,
        other,
    ]


def test_a_layout_is_pushed_to_another_registry(
    kubewasp: Kubewasp, registry: FakeRegistry, guest: Path, tmp_path: Path
) -> None:
    reference = _pushed(kubewasp, registry, guest)
    kubewasp("plugin", "save", reference, tmp_path / "saved.tar")
    with FakeRegistry().serving() as other:
        target = other.reference("copies/policy:v1")
        assert kubewasp("plugin", "push", tmp_path / "saved.tar", target).code == 0
        assert kubewasp("plugin", "digest", target).out == kubewasp("plugin", "digest", reference).out
        refused = kubewasp("plugin", "push", tmp_path / "saved.tar", target, "--title", "x")
        assert "a layout is pushed as it is" in refused.usage_error


def test_the_store_is_listed_and_cleared(kubewasp: Kubewasp, registry: FakeRegistry, guest: Path) -> None:
    reference = _pushed(kubewasp, registry, guest)
    kubewasp("plugin", "pull", reference)
    kubewasp("plugin", "pull", kubewasp("plugin", "tag", reference, "v2", "-o", "json").json["reference"])
    listed = kubewasp("plugin", "ls").out
    assert listed.splitlines()[0].split() == ["REFERENCE", "DIGEST", "SIZE", "PULLED"]
    assert reference in listed
    assert kubewasp("plugin", "rm", reference).code == 0
    missing = kubewasp("plugin", "rm", reference)
    assert missing.err == f"error: {reference}: not in the local store; kubewasp plugin ls shows what is\n"
    removed = kubewasp("plugin", "rm", "--all", "-o", "json").json
    assert removed["free_bytes"] >= guest.stat().st_size
    assert kubewasp("plugin", "ls", "-o", "json").json["plugins"] == []
    assert "give references, or --all" in kubewasp("plugin", "rm").usage_error


def test_yaml_has_the_content_of_json(kubewasp: Kubewasp, registry: FakeRegistry, guest: Path) -> None:
    reference = _pushed(kubewasp, registry, guest)
    saved = guest.with_name("saved.tar")
    kubewasp("plugin", "save", reference, saved)
    kubewasp("plugin", "pull", reference)
    commands: list[tuple[object, ...]] = [
        ("push", guest, reference),
        ("pull", reference),
        ("tag", reference, "v2"),
        ("digest", reference),
        ("annotate", registry.reference("team/policy:v2"), "--title", "x"),
        ("info", reference),
        ("info", saved),
        ("load", saved),
        ("ls",),
    ]
    for command in commands:
        as_json, as_yaml = (kubewasp("plugin", *command, "-o", form) for form in ("json", "yaml"))
        found, wanted = yaml.safe_load(as_yaml.out), as_json.json
        for document in (found, wanted):
            document.pop("previous_digest", None)
        assert found == wanted, command


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (("pull", "example.com/policy"), "does not begin with oci://"),
        (("push", "x.wasm", "oci://example.com"), "the repository is missing"),
        (("push", "x.wasm", f"oci://example.com/x@sha256:{'0' * 64}"), "a push has a tag"),
        (("tag", "oci://example.com/x", "a b"), '"a b" is no tag'),
        (("digest", "oci://example.com/x", "--credentials", "/nowhere"), "/nowhere: no such file"),
        (("digest", "oci://example.com/x", "--insecure", "--ca-file", "/ca"), "an insecure registry is not verified"),
    ],
)
def test_wrong_usage_is_explained(kubewasp: Kubewasp, command: tuple[str, ...], problem: str) -> None:
    assert problem in kubewasp("plugin", *command).usage_error


def test_a_plugin_of_a_registry_schedules(
    kubewasp: Kubewasp, registry: FakeRegistry, guest: Path, tmp_path: Path
) -> None:
    reference = _pushed(kubewasp, registry, guest)
    config = tmp_path / "config.yaml"
    settings = f"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
registries: {{timeout: 10s}}
profiles:
- plugins: {{multiPoint: {{enabled: [{{name: policy}}]}}}}
  pluginConfig:
  - name: policy
    args: {{guestURL: "{reference}", imagePullPolicy: Always}}
"""
    config.write_text(settings, encoding="utf-8")
    ended = kubewasp("config", "check", config, "-o", "json")
    assert ended.code == 0, ended.err
    args = {item["name"]: item["args"] for item in ended.json["profiles"][0]["pluginConfig"]}["policy"]
    assert (args["guestURL"], args["imagePullPolicy"]) == (reference, "Always")
    assert ended.json["registries"] == {"timeout": "10s", "userFiles": True}
    pods = tmp_path / "pods.yaml"
    pods.write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {allocatable: {cpu: '1', memory: 1Gi, pods: '9'}}\n"
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n",
        encoding="utf-8",
    )
    for options in (("--config", config), ("--plugin", reference)):
        ended = kubewasp("simulate", pods, *options, "-o", "json")
        assert ended.code == 0, ended.err
