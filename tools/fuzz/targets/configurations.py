"""Scheduler configurations: read, checked, expanded to profiles, written, and read again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewasp.errors import KubewaspError
from kubewasp.framework.config.reading import default_config, parse_config, read_config
from kubewasp.framework.config.writing import as_document, as_template
from kubewasp.framework.registry import Registry
from kubewasp.wasm.limits import limits_problem
from tools.fuzz.labels import error_label

if TYPE_CHECKING:
    from collections.abc import Iterable

_EXAMPLES: Final = Path(__file__).parents[3] / "examples"


class _AnyGuest:
    """Guests that exist without a file."""

    def points(self, *_: Any) -> set[str]:
        return {"filter", "score"}

    def asks_each_node(self, *_: Any) -> bool:
        return False

    def create(self, *_: Any) -> Any:
        raise NotImplementedError


def seeds() -> Iterable[bytes]:
    yield from (path.read_bytes() for path in sorted((_EXAMPLES / "configs").glob("*.yaml")))
    yield orjson.dumps(as_template(default_config()))


def one(data: bytes) -> str:
    try:
        config = parse_config(data, "fuzz.yaml", check_limits=limits_problem)
        profiles = Registry(wasm=_AnyGuest()).profiles(config)
    except KubewaspError as error:
        return error_label(error)
    written = as_document(config, profiles)
    again = read_config(written, check_limits=limits_problem)
    if as_document(again, Registry(wasm=_AnyGuest()).profiles(again)) != written:
        raise AssertionError("what is written is not what is read")
    return f"{len(profiles)} profiles, {len(config.warnings)} warnings"
