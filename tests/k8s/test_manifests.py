import json
import subprocess
import sys
from pathlib import Path

import pytest

from kubewasp.k8s import manifests
from kubewasp.k8s.errors import ManifestError
from kubewasp.k8s.manifests import Manifest, expect_kind, load, parse


def problem(content: str | bytes) -> str:
    with pytest.raises(ManifestError) as caught:
        parse(content if isinstance(content, bytes) else content.encode(), "pods.yaml")
    return str(caught.value)


def kinds(content: str) -> list[str]:
    return [manifest.kind for manifest in parse(content.encode(), "pods.yaml")]


def unexpected(content: str, kind: str) -> str:
    last = parse(content.encode(), "pods.yaml")[-1]
    with pytest.raises(ManifestError) as caught:
        expect_kind(last, kind)
    return str(caught.value)


def test_file_with_several_documents_is_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "pods.yaml"
    path.write_text("---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n# empty\n---\nkind: Node\n")
    assert load(path) == [
        Manifest(f"{path}: document 1", "v1", "Pod", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}),
        Manifest(f"{path}: document 3", "", "Node", {"kind": "Node"}),
    ]


@pytest.mark.parametrize(
    "content",
    ['{"kind": "Pod"}', '\ufeff{"kind": "Pod"}', " \n{\"kind\": 'Pod'}", "kind: Pod"],
    ids=["json", "byte-order-mark", "flow-yaml", "yaml"],
)
def test_content_decides_between_json_and_yaml(content: str) -> None:
    assert kinds(content) == ["Pod"]


def test_json_objects_may_follow_each_other() -> None:
    assert kinds('{"kind": "Pod"}\n{"kind": "Node"}\n') == ["Pod", "Node"]
    assert kinds('{"kind": "Pod"}\n---\n{"kind": "Node"}\n') == ["Pod", "Node"]


def test_lists_are_taken_apart() -> None:
    items = [{"kind": "Pod", "apiVersion": "v1"}, {"kind": "Node"}]
    assert kinds(json.dumps({"kind": "List", "items": items})) == ["Pod", "Node"]
    assert kinds("kind: PodList") == []


def test_items_of_a_typed_list_have_its_kind() -> None:
    read = parse(b'{"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}]}', "pods.json")
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    assert read == [Manifest("pods.json: document 1: items[0]", "v1", "Pod", body)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("- a", "pods.yaml: document 1: expected an object, found a list"),
        ("kind: Pod\n---\n7", "pods.yaml: document 2: expected an object, found a number"),
        ("kind: [Pod]", "pods.yaml: document 1: kind: expected a string, got a list"),
        ("kind: List\nitems: 7", "pods.yaml: document 1: items: expected a list, got 7"),
        ("kind: List\nitems: [~]", "pods.yaml: document 1: items[0]: expected an object, found nothing"),
        ("kind: Pod\n---\na: b: c", "pods.yaml: document 2: line 3: mapping values are not allowed in this context"),
        (b"a: \xff", "pods.yaml: not UTF-8 text: byte 4 is wrong"),
        ('{"a": ' * 5000, "pods.yaml: document 1: line 1: nested more than 200 deep"),
    ],
)
def test_wrong_content_is_named_with_its_place(content: str | bytes, message: str) -> None:
    assert problem(content) == message


def test_file_that_cannot_be_read_is_a_manifest_error(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"absent\.yaml: cannot be read: No such file or directory"):
        load(tmp_path / "absent.yaml")
    with pytest.raises(ManifestError, match="cannot be read"):
        load("a\0b")


def test_too_large_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "MAX_BYTES", 2**20)
    path = tmp_path / "large.yaml"
    path.write_bytes(b" " * (2**20 + 1))
    with pytest.raises(ManifestError, match=r"large\.yaml: larger than 1Mi"):
        load(path)


def test_expected_kind_gives_the_object() -> None:
    (manifest,) = parse(b"kind: Pod\napiVersion: v1\n", "pods.yaml")
    assert expect_kind(manifest, "Pod") == {"kind": "Pod", "apiVersion": "v1"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("kind: Pod\n---\nkind: Node", "pods.yaml: document 2: expected kind Pod, found Node"),
        ("metadata: {}", "pods.yaml: document 1: kind is missing: add `kind: Pod`"),
        (
            "kind: Pod\napiVersion: apps/v1",
            "pods.yaml: document 1: apiVersion: expected v1 for kind Pod, found apps/v1",
        ),
    ],
)
def test_unexpected_kind_is_refused(content: str, message: str) -> None:
    assert unexpected(content, "Pod") == message


def test_kind_unknown_to_the_wire_table_may_be_expected() -> None:
    (manifest,) = parse(b"kind: Deployment\napiVersion: apps/v1\n", "pods.yaml")
    assert expect_kind(manifest, "Deployment") == manifest.body


def test_reading_manifests_does_not_import_protobuf() -> None:
    script = "import sys; from kubewasp.k8s import manifests as m; m.expect_kind(m.parse(b'kind: Pod', 'a')[0], 'Pod')"
    check = "sys.exit(any(name.startswith('google') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", f"{script}; {check}"], check=False).returncode == 0


@pytest.mark.parametrize("text", ['{"a": {"b": 1, "b": 2}}', '{"kind": "Pod"} {"a": {"b": 1, "b": 2}}'])
def test_a_key_that_occurs_twice_in_json_is_refused_as_in_yaml(text: str) -> None:
    with pytest.raises(ManifestError, match=r'pods\.json: duplicate key "b" in the same object'):
        parse(text.encode(), "pods.json")
