"""Options that several commands share, and parsers for option values such as NAME=VALUE."""

from __future__ import annotations

from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kubewasp.wasm.limits import Limits

Given = TypeVar("Given", str, list[str], None)


def utf8(given: Given) -> Given:
    """Option callback: rejects text that is not UTF-8, which reaches Python as lone surrogates."""
    texts: Iterable[str] = (given,) if isinstance(given, str) else given or ()
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise typer.BadParameter(f"expected UTF-8 text, got {text!r}") from None
    return given


class Output(StrEnum):
    """Output format of results."""

    TABLE = "table"
    JSON = "json"


class JsonOrYaml(StrEnum):
    """Output format of a configuration."""

    JSON = "json"
    YAML = "yaml"


class OutputOrYaml(StrEnum):
    """Output format of results that are also Kubernetes objects."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


class LogFormat(StrEnum):
    """Format of log lines."""

    TEXT = "text"
    JSON = "json"


ConfigFile = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="Scheduler configuration file.")]
Plugins = Annotated[
    list[str] | None, typer.Option("--plugin", metavar="GUEST", help="Wasm plugin with default settings. Repeatable.")
]
PluginConfigs = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin-config",
        metavar="NAME=TEXT",
        help="Configuration of a --plugin, or @FILE. NAME: its file name without ending. Repeatable.",
        callback=utf8,
    ),
]
LoggingFormat = Annotated[LogFormat, typer.Option(help="Format of log lines.")]
AllowedHosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allowed-host",
        metavar="NAME",
        help="Host name to answer on loopback addresses, beside localhost; * for all. Repeatable.",
    ),
]
Verbosity = Annotated[int, typer.Option("-v", "--v", metavar="N", min=0, help="Log level; higher logs more.")]


def assignments(option: str, given: Iterable[str] | None) -> dict[str, str]:
    """`["a=1", "b=2"]` as a mapping. A name ends at the first equals sign."""
    found: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"expected NAME=VALUE, got {text!r}", param_hint=option)
        found[name] = value
    return found


def limits_from(given: Iterable[str] | None) -> Limits:
    """Limits of a guest; defaults for those not given."""
    from kubewasp.wasm.limits import LimitError, Limits

    try:
        return Limits.from_config(assignments("--limit", given))
    except LimitError as error:
        raise typer.BadParameter(str(error), param_hint="--limit") from None


@contextmanager
def naming(guest: str) -> Iterator[None]:
    """Prefixes load errors with the guest's name, unless they contain it."""
    from kubewasp.wasm.errors import GuestLoadError
    from kubewasp.wasm.source import without_credentials

    try:
        yield
    except GuestLoadError as error:
        name, text = without_credentials(guest), str(error)
        raise GuestLoadError(text if name in text.partition("\n")[0] else f"{name}: {text}") from None


def integers(option: str, given: Iterable[str] | None, names: Mapping[str, int] | None = None) -> dict[str, int]:
    """As `assignments`, with integer values; `names` are symbolic values."""
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


def plugin_texts(given: list[str] | None) -> dict[str, str]:
    """Plugin configurations by name. A value of the form @FILE is the content of the file."""
    found = assignments("--plugin-config", given)
    for name, text in found.items():
        if text.startswith("@"):
            try:
                found[name] = Path(text[1:]).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise typer.BadParameter(f"{name}: {text[1:]}: {error}", param_hint="--plugin-config") from None
    return found
