"""Options of the form NAME=VALUE."""

from __future__ import annotations

from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kubewasp.wasm.limits import Limits

Given = TypeVar("Given", str, list[str], None)


def utf8(given: Given) -> Given:
    """What was given, if it is text: bytes that are not UTF-8 reach Python as lone surrogates."""
    texts: Iterable[str] = (given,) if isinstance(given, str) else given or ()
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise typer.BadParameter(f"expected UTF-8 text, got {text!r}") from None
    return given


class Output(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"


class JsonOrYaml(StrEnum):
    """How a piece of configuration is printed."""

    JSON = "json"
    YAML = "yaml"


class OutputOrYaml(StrEnum):
    """How results are printed that are Kubernetes objects too."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def assignments(option: str, given: Iterable[str] | None) -> dict[str, str]:
    """`["a=1", "b=2"]` as a mapping. A name may hold dots and slashes, but no equals sign."""
    found: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"expected NAME=VALUE, got {text!r}", param_hint=option)
        found[name] = value
    return found


def limits_from(given: Iterable[str] | None) -> Limits:
    """The limits of a guest, those that are not given having their defaults."""
    from kubewasp.wasm.limits import LimitError, Limits

    try:
        return Limits.from_config(assignments("--limit", given))
    except LimitError as error:
        raise typer.BadParameter(str(error), param_hint="--limit") from None


@contextmanager
def naming(guest: str) -> Iterator[None]:
    """Puts the guest's name before an error that does not tell which guest it is about."""
    from kubewasp.wasm.errors import GuestLoadError
    from kubewasp.wasm.source import without_credentials

    try:
        yield
    except GuestLoadError as error:
        name, text = without_credentials(guest), str(error)
        raise GuestLoadError(text if name in text.partition("\n")[0] else f"{name}: {text}") from None


def integers(option: str, given: Iterable[str] | None, names: Mapping[str, int] | None = None) -> dict[str, int]:
    """As `assignments`, the values being integers (or one of the names, which stand for integers)."""
    found: dict[str, int] = {}
    for name, value in assignments(option, given).items():
        try:
            found[name] = names[value] if names and value in names else _int64(value)
        except ValueError:
            wanted = f"a 64-bit integer or one of {', '.join(names)}" if names else "a 64-bit integer"
            raise typer.BadParameter(f"{name}: expected {wanted}, got {value!r}", param_hint=option) from None
    return found


def _int64(text: str) -> int:
    number = int(text, 0)
    if not -(2**63) <= number < 2**63:
        raise ValueError("more than 64 bits")
    return number
