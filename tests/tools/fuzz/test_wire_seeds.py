"""Codec against the bytes of a real API server."""

import json
from pathlib import Path
from typing import Any

import pytest

from kubewasp.k8s import codec
from tools.fuzz.targets.wire_codec import SEEDS


def filled(value: Any) -> Any:
    """Without what is empty: Go writes some empty fields in JSON."""
    if isinstance(value, dict):
        return {key: kept for key, item in value.items() if (kept := filled(item))}
    return [filled(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("path", sorted(SEEDS.glob("*.bin")), ids=lambda path: path.stem)
def test_the_bytes_of_the_api_server_are_its_json_and_back(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    api_version, kind, raw = codec.unwrap_unknown(path.read_bytes())
    assert (api_version, kind) == (expected.pop("apiVersion"), expected.pop("kind"))
    name = codec.message_name(api_version, kind)
    decoded = codec.decode_message(name, raw)
    assert filled(decoded) == filled(expected)
    assert codec.encode_message(name, decoded) == raw
    assert codec.unwrap_unknown(codec.wrap_unknown(api_version, kind, raw)) == (api_version, kind, raw)


def test_each_kind_has_seeds() -> None:
    assert len(list(SEEDS.glob("*.bin"))) > 20
