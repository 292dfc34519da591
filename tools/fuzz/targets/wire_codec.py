"""Objects in Kubernetes' protobuf: decoded, encoded again, and parsed as the scheduler does.

The seeds in `wire_seeds` (with their JSON form) come from a real API server (`python -m tools.fuzz.capture`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewasp.errors import KubewaspError
from kubewasp.k8s import codec
from kubewasp.k8s.nodes import parse_node
from kubewasp.k8s.pods import PodParser
from tools.fuzz.labels import error_label

if TYPE_CHECKING:
    from collections.abc import Iterable

SEEDS: Final = Path(__file__).parent / "wire_seeds"


def seeds() -> Iterable[bytes]:
    for path in sorted(SEEDS.glob("*.bin")):
        yield path.read_bytes()
    yield codec.wrap_unknown("v1", "Pod", codec.encode("Pod", {"metadata": {"name": "p"}}))


def one(data: bytes) -> str:
    try:
        api_version, kind, raw = codec.unwrap_unknown(data)
        name = codec.message_name(api_version, kind)
        decoded = codec.decode_message(name, raw)
        again = codec.decode_message(name, codec.encode_message(name, decoded))
        if again != decoded:
            raise AssertionError(f"{name}: an object differs after it was written and read again")
        if kind == "Pod":
            PodParser().parse(decoded, raw)
        elif kind == "Node":
            parse_node(decoded, raw)
    except KubewaspError as error:
        return error_label(error)
    return f"{name}: {sorted(decoded)}"
