"""`python -m tools.fuzz.capture`: objects of a real API server as seeds, in protobuf and in JSON."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from tools.fuzz.targets.wire_codec import SEEDS
from tools.testbed import build
from tools.testbed.servers import ApiServer, Etcd

if TYPE_CHECKING:
    from tools.testbed.client import Client

OBJECTS: Final = Path(__file__).parent / "captured_objects.yaml"
_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"


def capture(client: Client, folder: Path) -> int:
    """Writes each object, and the list of its kind, as `NAME.bin` and `NAME.json`; their number."""
    folder.mkdir(exist_ok=True)
    found = 0
    for manifest in yaml.safe_load_all(OBJECTS.read_text(encoding="utf-8")):
        metadata, kind, version = manifest["metadata"], manifest["kind"], manifest["apiVersion"]
        status = manifest.get("status")
        created = client.create(manifest)
        if status:
            client.replace(created | {"status": status}, sub="status")
        name = f"{kind.lower()}-{metadata['name']}".replace(".", "-")
        _write(client, client.path(kind, version, metadata.get("namespace", ""), metadata["name"]), folder / name)
        found += 1
        if "namespace" in metadata:
            _write(client, client.path(kind, version, metadata["namespace"]), folder / f"{kind.lower()}-list")
            found += 1
    return found


def _write(client: Client, path: str, target: Path) -> None:
    content: dict[str, Any] = json.loads(client.request("GET", path))
    # With a suffix appended, as names may have dots.
    target.with_name(f"{target.name}.bin").write_bytes(client.request("GET", path, accept=_PROTOBUF))
    text = json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True)
    target.with_name(f"{target.name}.json").write_text(f"{text}\n", encoding="utf-8")


def main() -> None:
    build.programs()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Etcd(folder / "etcd") as etcd, ApiServer(folder / "kube-apiserver", etcd) as api:
            found = capture(api.client(), SEEDS)
    sys.stdout.write(f"{found} answers of the API server in {SEEDS}\n")


if __name__ == "__main__":
    main()
