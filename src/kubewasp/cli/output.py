"""Printing: tables that fit the terminal, JSON, YAML, and text without control characters."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO

from kubewasp.k8s import printable_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_GAP: Final = 2  # between columns
_PIPE: Final = 80  # columns of an output that is no terminal
printable = printable_text.printable


def print_json(value: Any) -> None:
    import orjson

    # Binary: JSON is UTF-8 regardless of the terminal's encoding.
    sys.stdout.buffer.write(orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n")


def print_yaml(documents: Iterable[Any]) -> None:
    import yaml

    text = yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True, width=120)
    sys.stdout.buffer.write(text.encode())


def print_document(value: Any, form: str) -> None:
    """A result for other programs: `form` is json or yaml, with the same content."""
    if form == "json":
        print_json(value)
    else:
        import orjson

        print_yaml([orjson.loads(orjson.dumps(value))])


def warn(text: str) -> None:
    sys.stderr.write(f"warning: {printable(text)}\n")


def note(text: str) -> None:
    """A line on stderr about what the command does."""
    sys.stderr.write(f"{printable(text)}\n")
    sys.stderr.flush()


def has_styles(*, stderr: bool = False) -> bool:
    """Whether colours and bold text are wanted: on a terminal, unless NO_COLOR or FORCE_COLOR say otherwise."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return _is_capable(sys.stderr if stderr else sys.stdout)


def has_progress() -> bool:
    """Whether stderr can show a progress bar."""
    return _is_capable(sys.stderr)


def _is_capable(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    colours: Literal["standard"] | None = "standard" if has_styles(stderr=stderr) else None
    return Console(stderr=stderr, color_system=colours, highlight=False, soft_wrap=False, emoji=False)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """A table without lines. If it is too wide, the widest columns wrap, between words where there is room for them."""
    from rich.table import Table
    from rich.text import Text

    cells = [tuple(printable(cell) for cell in row) for row in rows]
    widths = _unbroken([columns, *cells], console().width, [name not in right for name in columns])
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold", expand=False)
    for name, width in zip(columns, widths, strict=True):
        number = name in right
        table.add_column(name, justify="right" if number else "left", overflow="fold", no_wrap=number, width=width)
    for row in cells:
        table.add_row(*map(Text, row))
    _print(table)


def _unbroken(rows: Sequence[Sequence[str]], screen: int, may_wrap: Sequence[bool]) -> Sequence[int | None]:
    """Widths that fit the screen without a broken word; None where there are none, or none are needed."""
    from rich.cells import cell_len

    columns = list(zip(*rows, strict=True))
    room = screen - _GAP * (len(columns) - 1)
    widths = [max(cell_len(line) for cell in column for line in cell.split("\n")) for column in columns]
    longest = [
        max((cell_len(word) for cell in column for word in cell.split()), default=1) if may else width
        for column, may, width in zip(columns, may_wrap, widths, strict=True)
    ]
    equal = _narrowed(widths, room, [1 if may else width for may, width in zip(may_wrap, widths, strict=True)])
    is_broken = any(width < word for width, word in zip(equal, longest, strict=True))
    return _narrowed(widths, room, longest) if is_broken and sum(longest) <= room else [None] * len(widths)


def _narrowed(widths: Sequence[int], room: int, least: Sequence[int]) -> list[int]:
    """The widths with the widest ones narrowed until all fit."""
    found = list(widths)
    for _ in range(sum(widths) - room):
        wide = [place for place, width in enumerate(found) if width > least[place]]
        if not wide:
            break
        found[max(wide, key=lambda place: found[place])] -= 1
    return found


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Names and values, one pair per line."""
    shown = [(name, printable(value)) for name, value in facts]
    if _are_plain(shown):
        width = max((len(name) for name, _ in shown), default=0) + _GAP
        write("".join(f"{name:<{width}}{value}".rstrip() + "\n" for name, value in shown))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in shown:
        table.add_row(name, Text(value))
    _print(table)


def _are_plain(facts: Sequence[tuple[str, str]]) -> bool:
    """Whether pairs for a pipe or file need no wrapping and no styles: without rich, a command takes 40 ms less."""
    if sys.stdout.isatty() or has_styles() or "COLUMNS" in os.environ:
        return False
    width = max((len(name) for name, _ in facts), default=0) + _GAP
    return all(value.isascii() and value.isprintable() and width + len(value) <= _PIPE for _, value in facts)


def _print(table: Table) -> None:
    """Prints a table without trailing blanks."""
    screen = console()
    with screen.capture() as captured:
        screen.print(table)
    write("\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n")


def print_lines(lines: Iterable[Text]) -> None:
    """Styled lines, unwrapped."""
    screen = console()
    with screen.capture() as captured:
        for line in lines:
            screen.print(line, soft_wrap=True)
    write(captured.get())


def write(text: str) -> None:
    """Text on stdout; characters outside its encoding are escaped."""
    encoding = sys.stdout.encoding
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()
