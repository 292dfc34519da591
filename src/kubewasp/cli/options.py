"""Options that several commands share, and parsers for option values such as NAME=VALUE."""

from __future__ import annotations

import re
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kubewasp.cli.inputs import Inputs
    from kubewasp.input_file import StandardInput
    from kubewasp.wasm.limits import Limits

ERROR_CODE = 3  # exit code: a plugin failed on a pod
PENDING_CODE = 4  # exit code: pods are pending, where that is a failure
DIFFERENCE_CODE = 5  # exit code: placements or decisions differ, where that is a failure

Given = TypeVar("Given", str, list[str], None)
# The setting of a configuration file in an error, which is an option here.
_LIMIT: Final = re.compile(r"raise limits\.(\w+)")


def utf8(given: Given) -> Given:
    """Option callback: rejects text that is not UTF-8, which reaches Python as lone surrogates."""
    texts: Iterable[str] = (given,) if isinstance(given, str) else given or ()
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise typer.BadParameter(f"expected UTF-8 text, got {text!r}") from None
    return given


def host_names(given: list[str] | None) -> list[str] | None:
    """Option callback: rejects what no request can name."""
    if given:
        from kubewasp.server.allowed_hosts import HOST_FORM, is_host

        for name in given:
            if not is_host(name):
                raise typer.BadParameter(f"{HOST_FORM}, got {name!r}")
    return given


def seconds(text: str, option: str) -> float:
    """The value of an option that is a duration, which may be 0."""
    from kubewasp.k8s.duration import parse_duration

    try:
        found = parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
    if found < 0:
        raise typer.BadParameter("must not be negative", param_hint=option)
    return found


class Output(StrEnum):
    """Output format of results; JSON and YAML have the same content."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


class JsonOrYaml(StrEnum):
    """Output format of a configuration."""

    JSON = "json"
    YAML = "yaml"


class FailOn(StrEnum):
    """Results of a simulation with an exit code other than 0."""

    PENDING = "pending"
    ERROR = "error"
    NEVER = "never"


class ConsoleAccess(StrEnum):
    """Ways in which viewers of a console identify themselves."""

    LOCAL = "local"
    TOKEN = "token"  # noqa: S105 - a word of the command line
    KUBERNETES = "kubernetes"


class ProfileFormat(StrEnum):
    """Format of the file of a profile."""

    FIREFOX = "firefox"
    PPROF = "pprof"


class LogFormat(StrEnum):
    """Format of log lines."""

    TEXT = "text"
    JSON = "json"


FORMATS: Final = "|".join(Output)
Format = Annotated[Output, typer.Option("-o", "--output", metavar=FORMATS, help="Output format.")]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Scheduler configuration file, or -.")
]
Plugins = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        metavar="[NAME=]GUEST[,weight=N]",
        help="Wasm plugin: a .wasm or .wat file, a URL, a plugin project (built if needed), or -. Repeatable.",
    ),
]
PluginConfigs = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin-config",
        metavar="NAME=TEXT",
        help="Configuration of a --plugin, or @FILE. Default NAME: its file name without ending. Repeatable.",
        callback=utf8,
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Unknown fields and kinds in manifests are errors, not warnings.")
]
LoggingFormat = Annotated[LogFormat, typer.Option(metavar="text|json", help="Format of log lines.")]
AllowedHosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allowed-host",
        metavar="NAME",
        help="Host name to answer on loopback addresses, beside localhost; * for all. Repeatable.",
        callback=host_names,
    ),
]
Verbosity = Annotated[int, typer.Option("-v", "--v", metavar="N", min=0, help="Log level; higher logs more.")]
ShowLogs = Annotated[
    bool, typer.Option("--logs", help="Show log lines, printed output and recorded events of wasm plugins.")
]
FoldLogs = Annotated[
    bool,
    typer.Option(
        "--fold-logs/--no-fold-logs", help="Log equal lines of a plugin once per hook call, with their count."
    ),
]


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
def naming(guest: str | StandardInput) -> Iterator[None]:
    """Prefixes load errors with the guest's name, unless they contain it."""
    from kubewasp.wasm.download import without_credentials
    from kubewasp.wasm.errors import GuestLoadError

    try:
        yield
    except GuestLoadError as error:
        name, text = without_credentials(str(guest)), _LIMIT.sub(r"raise it with --limit \1=", str(error))
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


def byte_count(option: str, text: str, *, low: int, high: int) -> int:
    """A size such as 256Mi, 64Ki, or a number of bytes."""
    from kubewasp.k8s import quantity

    try:
        count = quantity.parse(text).value()
    except ValueError:
        raise typer.BadParameter(f"expected a size such as 64Ki or 256Mi, got {text!r}", param_hint=option) from None
    if not low <= count <= high:
        bounds = f"from {quantity.format_size(low)} to {quantity.format_size(high)}"
        raise typer.BadParameter(f"expected a size {bounds}, got {quantity.format_size(count)}", param_hint=option)
    return count


def listen_address(text: str, *, option: str = "--listen") -> tuple[str, int]:
    """Host and port of an option such as --listen."""
    from kubewasp.server.http_server import ServeError, host_and_port

    try:
        return host_and_port(text)
    except ServeError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def text_or_file(option: str, given: str, inputs: Inputs) -> str:
    """The text, or for @FILE the content of the file; @- is standard input."""
    if not given.startswith("@"):
        return given
    file = inputs.file(Path(given[1:]))
    try:
        with file.open("rb") as opened:
            return opened.read().decode("utf-8")
    except UnicodeDecodeError:
        raise typer.BadParameter(f"{file}: not UTF-8 text", param_hint=option) from None
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or error
        raise typer.BadParameter(f"{file}: {cause}", param_hint=option) from None


def plugin_texts(given: list[str] | None, inputs: Inputs) -> dict[str, str]:
    """Plugin configurations by name. A value of the form @FILE is the content of the file."""
    option = "--plugin-config"
    return {name: text_or_file(option, text, inputs) for name, text in assignments(option, given).items()}
