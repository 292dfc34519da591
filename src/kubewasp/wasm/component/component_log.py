"""Log of a hook call of a component: the log lines and the output of its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubewasp.wasm.guest_log import GuestLog, printed, remark

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kubewasp.wasm.guest_log import Entry

_MOST_BYTES: Final = 2 * 1024 * 1024


class ComponentLog(GuestLog):
    """Log lines as pairs of severity and text, then the output; of each answer in turn."""

    def __init__(self) -> None:
        self.size = self.lines = 0
        self._answers: list[tuple[Sequence[tuple[int, str]], str, int]] = []

    def add(self, lines: Sequence[tuple[int, str]], output: str, dropped: int) -> None:
        """Adds an answer's lines, output, and number of lines and events that were dropped."""
        size = sum(len(text) for _, text in lines) + len(output)
        while lines and self.size + size > _MOST_BYTES:
            size -= len(lines[-1][1])
            lines, dropped = lines[: len(lines) - 1], dropped + 1
        self.size += size
        self.lines += len(lines) + bool(output)
        self._answers.append((lines, output, dropped))

    def entries(self) -> Iterator[Entry]:
        for lines, output, dropped in self._answers:
            for severity, text in lines:
                yield severity, "", text.encode(), b""
            yield from printed(1, [output.encode()])
            if dropped:
                yield remark(f"{dropped} more log lines and events were dropped")
