"""Files of snapshots: what is written is read, and nothing else."""

import gzip
import hashlib
import io
from pathlib import Path

import orjson
import pytest

from kubewasp.k8s import manifests, snapshot_file
from kubewasp.k8s.errors import ManifestError
from kubewasp.k8s.snapshot_file import SnapshotHead

NODE = b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}'
POD = b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}'
HEAD = SnapshotHead("1.0", "2026-01-05T12:00:00Z", "v1.36.0", counts={"Node": 1, "Pod": 1}, warnings=["without jobs"])


def written(head: SnapshotHead = HEAD, *objects: bytes) -> bytes:
    file = io.BytesIO()
    snapshot_file.write(head, objects or (NODE, POD), file)
    return file.getvalue()


def lines(content: bytes | None = None) -> list[bytes]:
    return gzip.decompress(content or written()).splitlines()


def packed(*parts: bytes) -> bytes:
    return gzip.compress(b"".join(part + b"\n" for part in parts))


def signed(*parts: bytes) -> bytes:
    """A file with a correct end, whatever is in it."""
    digest = hashlib.sha256(b"".join(part + b"\n" for part in parts)).hexdigest()
    return packed(*parts, orjson.dumps({"kind": "SnapshotEnd", "sha256": digest}))


def head(**changes: object) -> bytes:
    return orjson.dumps({**orjson.loads(lines()[0]), **changes})


def problem(content: bytes) -> str:
    with pytest.raises(ManifestError) as caught:
        manifests.parse(content, "cluster.kwsnap")
    return str(caught.value)


def test_a_snapshot_is_read_as_manifests_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "any.name"
    path.write_bytes(written())
    found = manifests.read(path)
    assert found.head == SnapshotHead(HEAD.kubewasp, HEAD.taken, HEAD.server, False, HEAD.counts, tuple(HEAD.warnings))
    assert [(item.kind, item.source) for item in found.manifests] == [
        ("Node", f"{path}: line 2"),
        ("Pod", f"{path}: line 3"),
    ]
    assert [orjson.dumps(item.body) for item in manifests.load(path)] == [NODE, POD]


def test_equal_content_gives_equal_bytes() -> None:
    assert written() == written()
    assert written() != written(HEAD, POD, NODE)


def test_an_unpacked_snapshot_is_read_too() -> None:
    assert len(manifests.parse(gzip.decompress(written()), "-")) == 2


def test_manifests_in_gzip_are_read_as_if_they_were_not() -> None:
    text = b"apiVersion: v1\nkind: Node\nmetadata: {name: a}\n---\n" + POD
    assert manifests.parse(gzip.compress(text), "f") == manifests.parse(text, "f")


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.99])
def test_a_file_that_was_cut_off_is_refused(kept: float) -> None:
    content = written()
    wanted = "cluster.kwsnap: cut off: the end is missing; copy the file again"
    assert problem(content[: int(len(content) * kept)]) == wanted
    assert problem(packed(*lines()[:-1])) == wanted
    assert problem(gzip.compress(b"\n".join(lines()))) == wanted  # even one byte


def test_a_changed_file_is_refused() -> None:
    first, node, pod, end = lines()
    changed = "damaged or changed by hand: the digest or the number of objects differs"
    assert problem(packed(first, node.replace(b'"a"', b'"b"'), pod, end)) == f"cluster.kwsnap: line 4: {changed}"
    assert problem(signed(first, node)) == f"cluster.kwsnap: line 3: {changed}"
    more = 'cluster.kwsnap: line 3: kind: "Node" is more than the head counts'
    assert problem(signed(first, node, node, pod)) == more
    assert problem(packed(*lines(), b"{}")) == "cluster.kwsnap: damaged: more lines after the end"
    content = bytearray(written())
    content[-6] ^= 1
    assert problem(bytes(content)).startswith("cluster.kwsnap: damaged gzip data: ")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"", "expected one JSON object"),
        (b"[]", "expected one JSON object"),
        (b"{} {}", "expected one JSON object"),
        (b'{"kind":"Node","kind":"Node"}', 'duplicate key "kind" in the same object'),
        (b'{"kind":"Node","a":' + b"[" * 300 + b"]" * 300 + b"}", "nested more than 200 deep"),
        (b'{"kind":"\xff"}', "not UTF-8 text: byte 10 is wrong"),
        (b'{"kind":1}', "kind: 1 is more than the head counts"),
        (b'{"kind":"Secret"}', 'kind: "Secret" is more than the head counts'),
    ],
)
def test_a_bad_line_is_named(line: bytes, complaint: str) -> None:
    assert problem(signed(lines()[0], NODE, line)) == f"cluster.kwsnap: line 3: {complaint}"


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"format": 2}, "format: format 2 is not 1: the file needs another version of kubewasp"),
        ({"format": None}, "format: format null is not 1: the file needs another version of kubewasp"),
        ({"counts": []}, "not the head of a snapshot: fields are missing or have another type"),
        ({"counts": {"Pod": -1}}, "not the head of a snapshot: fields are missing or have another type"),
        ({"warnings": [1]}, "not the head of a snapshot: fields are missing or have another type"),
        ({"taken": 1}, "not the head of a snapshot: fields are missing or have another type"),
        ({"counts": {"Pod": 10**9}}, "counts: more than 2,000,000 objects"),
    ],
)
def test_a_bad_head_is_told(changes: dict[str, object], complaint: str) -> None:
    assert problem(signed(head(**changes))) == f"cluster.kwsnap: line 1: {complaint}"


def test_unpacking_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_file, "MAX_LINE", 2**20)
    bomb = packed(lines()[0], b" " * (2**22))
    assert problem(bomb) == "cluster.kwsnap: a line is longer than 1Mi"
    monkeypatch.setattr(snapshot_file, "MAX_BYTES", 2**19)
    many = packed(head(counts={"Node": 100_000}), *[NODE] * 20_000)
    assert problem(many) == "cluster.kwsnap: larger than 512Ki when unpacked"
    monkeypatch.setattr(manifests, "MAX_BYTES", 2**20)
    assert problem(gzip.compress(b" " * 2**22)) == "cluster.kwsnap: larger than 1Mi when unpacked"
