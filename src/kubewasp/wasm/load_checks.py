"""Load checks: a core module in which every endless path loads from a page of the host's own, the guard.

A module gets a second memory, the guard, and one atomic load from it, whose value is dropped, at every loop head, at
the entry of functions that may be on an endless path, and before calls of imports and instructions for whole ranges
of memory. A guest is ended by taking away the rights to that page (guard_timers.py): the next load traps. See
docs/rationale.md, "Load checks".

The binary must be valid without multiple memories, threads, garbage collection and exceptions: what a guest can name is
then its own memory only, and the instructions are known here. Indexes of functions stay as they are.
"""

from __future__ import annotations

import re
import zlib
from array import array
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from kubewasp.k8s.varint import leb128
from kubewasp.wasm.binary import MEMORY_KIND, BinaryError, leb_at, name_at, section_bytes, sections, text_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Part of the key of compiled code: to be raised with every change of what is inserted, or where.
VERSION: Final = 1
# Export name of the guard.
GUARD: Final = "kubewasp:guard"
# A function without a check at its entry: bytes of code, its callees' included, each call counted. Without this bound,
# functions that call each other twice, sixty deep, would run for ever without a loop.
LIGHT: Final = 2048
# Bytes of code without checks that the calls of one function may add up to; then every call is checked.
MOST_CALLED: Final = 1 << 20

# Offsets from here on: the runtime has none for a function that has just begun.
UNKNOWN: Final = 1 << 32
_IMPORT, _MEMORY, _EXPORT, _CODE = 2, 5, 7, 10
# Sections in a module's order: an event section is between memories and globals, the number of data before the code.
_ORDER: Final = (1, 2, 3, 4, 5, 13, 6, 7, 8, 9, 12, 10, 11)
_CALL_COST: Final = 16
# One page of wasm, of fixed size; then its place in the load: aligned to four bytes, with a number of the memory.
_ONE_PAGE: Final = b"\x01\x01\x01"
_ALIGNED, _WITH_MEMORY = 2, 0x40

_N: Final = rb"[\x80-\xff]*+[\x00-\x7f]"
_ANY: Final = rb"[\x00-\xff]"
# Instructions that are copied as they are: those without immediates first.
_PLAIN: Final = rb"|".join(
    [
        rb"[\x00\x01\x05\x0b\x0f\x1a\x1b\x45-\xc4\xd1]",
        rb"[\x02\x04\x0c\x0d\x20-\x26\x3f-\x42\xd0\xd2]" + _N,
        rb"[\x28-\x3e]" + _N + _N,
        rb"\x43" + _ANY + rb"{4}",
        rb"\x44" + _ANY + rb"{8}",
        rb"\x1c\x01" + _ANY,
        rb"\xfc[\x00-\x07]",
        rb"\xfc[\x09\x0d\x0f\x10]" + _N,
        # vectors: memory, constants and shuffles, lanes, lanes of memory, all others
        rb"\xfd[\x00-\x0b\x5c\x5d]" + _N + _N,
        rb"\xfd[\x0c\x0d]" + _ANY + rb"{16}",
        rb"\xfd[\x15-\x22]" + _ANY,
        rb"\xfd[\x54-\x5b]" + _N + _N + _ANY,
        rb"\xfd[\x0e-\x14\x23-\x53\x5e-\x7f]",
        rb"\xfd[\x80-\xff][\x01\x02]",
    ]
)
_STEP: Final = re.compile(
    rb"(?:" + _PLAIN + rb")*+(?:"
    # group 1: a loop; 2: a call of a function; 3: a call through a table; 4: a range; 5: a jump table
    rb"(\x03" + _N + rb")|[\x10\x12](" + _N + rb")|([\x11\x13]" + _N + _N + rb")"
    rb"|(\xfc(?:[\x08\x0a\x0c\x0e]" + _N + _N + rb"|[\x0b\x11]" + _N + rb"))|\x0e(" + _N + rb"))?"
)
_LOOP, _DIRECT, _INDIRECT, _RANGE, _JUMPS = 1, 2, 3, 4, 5
_NUMBER: Final = re.compile(_N)


class Positions:
    """Offsets of the original module for those of the module with checks: for stack traces."""

    def __init__(self, starts: array[int], originals: array[int]) -> None:
        self._starts, self._originals = starts, originals

    def original(self, offset: int) -> int:
        """The offset of an instruction; for a check, that of the next instruction. An unknown one stays unknown."""
        piece = bisect_right(self._starts, offset) - 1
        if piece < 0 or offset >= UNKNOWN:
            return offset
        found = self._originals[piece] + offset - self._starts[piece]
        return min(found, self._originals[piece + 1]) if piece + 1 < len(self._starts) else found

    def packed(self) -> bytes:
        return zlib.compress(self._starts.tobytes() + self._originals.tobytes(), 1)

    @classmethod
    def unpacked(cls, content: bytes) -> Positions:
        both = array("I", zlib.decompress(content))
        return cls(both[: len(both) // 2], both[len(both) // 2 :])


@dataclass(frozen=True, slots=True)
class CheckedModule:
    """A module with checks, their number, and its positions."""

    wasm: bytes
    checks: int
    positions: Positions


def with_checks(wasm: bytes, *, only_guard: bool = False) -> CheckedModule:
    """The module with checks; BinaryError if it has an instruction that is unknown here.

    `only_guard`: without checks, for measurements. Nothing ends such a guest.
    """
    contents = [(section.number, section.content) for section in sections(wasm)]
    imported_functions, memories = _imported(b"".join(content for number, content in contents if number == _IMPORT))
    memories += sum(leb_at(content, 0)[0] for number, content in contents if number == _MEMORY)
    check = b"\x41\x00\xfe\x10" + bytes([_ALIGNED | _WITH_MEMORY]) + leb128(memories) + b"\x00\x1a"
    exported = text_bytes(GUARD) + bytes([MEMORY_KIND]) + leb128(memories)
    contents = _extended(contents, _MEMORY, _ONE_PAGE)
    contents = _extended(contents, _EXPORT, exported)
    made = bytearray(wasm[:8])
    code = _Code(b"", imported_functions)
    start = original = 0
    for number, content in contents:
        if number == _CODE and not only_guard:
            code = _Code(content, imported_functions)
            content = code.checked(check)  # noqa: PLW2901
            start = len(made) + 1 + len(leb128(len(content)))
            original = leb_at(wasm, next(item.offset for item in sections(wasm) if item.number == _CODE) + 1)[1]
        made += section_bytes(number, content)
    return CheckedModule(bytes(made), code.checks, code.positions(start, original))


def _imported(content: bytes) -> tuple[int, int]:
    """Numbers of imported functions and memories."""
    if not content:
        return 0, 0
    count, at = leb_at(content, 0)
    functions = memories = 0
    for _ in range(count):
        _, at = name_at(content, at)
        _, at = name_at(content, at)
        kind, at = leb_at(content, at)
        functions += kind == 0
        memories += kind == MEMORY_KIND
        if kind == 0:
            _, at = leb_at(content, at)
        elif kind == 3:  # a global: type and mutability
            at += 2
        else:  # limits of a table, which has its type in front, or of a memory
            flags, at = leb_at(content, at + (kind == 1))
            for _ in range(1 + (flags & 1)):
                _, at = leb_at(content, at)
    return functions, memories


def _extended(contents: Sequence[tuple[int, bytes]], wanted: int, item: bytes) -> list[tuple[int, bytes]]:
    """The sections with one more item in that one, which is made if there is none."""
    found: list[tuple[int, bytes]] = []
    later, is_done = _ORDER[_ORDER.index(wanted) + 1 :], False
    for number, content in contents:
        if number in later and not is_done:
            found.append((wanted, leb128(1) + item))
            is_done = True
        if number == wanted:
            count, at = leb_at(content, 0)
            found.append((number, leb128(count + 1) + content[at:] + item))
            is_done = True
        else:
            found.append((number, content))
    return found if is_done else [*found, (wanted, leb128(1) + item)]


@dataclass(slots=True)
class _Body:
    """A function: its place in the section, its first instruction, and the places that matter for checks."""

    start: int  # of its size
    first: int
    end: int
    loops: list[int] = field(default_factory=list)  # after the loop instruction
    guarded: list[int] = field(default_factory=list)  # before calls of imports, and before ranges
    calls: list[int] = field(default_factory=list)  # numbers of defined functions
    called_at: list[int] = field(default_factory=list)
    calls_indirectly: bool = False


class _Code:
    """The functions of a code section."""

    def __init__(self, content: bytes, imported: int) -> None:
        self.checks = 0
        self._content = content
        self._imported = imported
        self._starts, self._originals = array("I"), array("I")

    def positions(self, start: int, original: int) -> Positions:
        """Positions in the module, if the sections' contents begin at those offsets."""
        return Positions(
            array("I", (start + at for at in self._starts)), array("I", (original + at for at in self._originals))
        )

    def checked(self, check: bytes) -> bytes:
        """The section with checks."""
        count, at = leb_at(self._content, 0)
        bodies = []
        for _ in range(count):
            bodies.append(self._body(at))
            at = bodies[-1].end
        checked = entry_checks(
            [body.calls for body in bodies],
            [body.end - body.first for body in bodies],
            {number for number, body in enumerate(bodies) if body.calls_indirectly},
        )
        made, copied = bytearray(leb128(count)), leb_at(self._content, 0)[1]
        for number, body in enumerate(bodies):
            points = self._points(body, number in checked.entries, number in checked.callers)
            if not points:
                continue
            self._copy(made, copied, body.start)
            size, content_start = leb_at(self._content, body.start)
            made += leb128(size + len(points) * len(check))
            for begin, end in pairwise([content_start, *points, body.end]):
                self._copy(made, begin, end)
                if end != body.end:
                    made += check
            self.checks += len(points)
            copied = body.end
        self._copy(made, copied, len(self._content))
        return bytes(made)

    def _copy(self, made: bytearray, begin: int, end: int) -> None:
        if begin < end:
            self._starts.append(len(made))
            self._originals.append(begin)
            made += memoryview(self._content)[begin:end]

    def _points(self, body: _Body, has_entry: bool, checks_calls: bool) -> list[int]:
        points = body.loops + body.guarded
        if has_entry:
            points.append(body.first)
        if checks_calls:
            points += body.called_at
        return sorted(set(points)) if points else points

    def _body(self, start: int) -> _Body:
        content = self._content
        size, at = leb_at(content, start)
        end = at + size
        if end > len(content):
            raise BinaryError("a function runs over the end of its section")
        groups, at = leb_at(content, at)
        for _ in range(groups):
            _, at = leb_at(content, at)
            at += 1
        found = _Body(start, at, end)
        imported, step = self._imported, _STEP.match
        while at < end:
            match = step(content, at, end)
            if match is None or match.lastindex is None:
                if match is None or match.end() != end:
                    where = at if match is None else match.end()
                    raise BinaryError(f"unknown instruction {content[where : where + 3].hex()}")
                break
            kind, after = match.lastindex, match.end()
            if kind == _DIRECT:
                number, _ = leb_at(match[_DIRECT], 0)
                place = match.start(_DIRECT) - 1
                if number < imported:
                    found.guarded.append(place)
                else:
                    found.calls.append(number - imported)
                    found.called_at.append(place)
            elif kind == _LOOP:
                found.loops.append(after)
            elif kind == _INDIRECT:
                found.calls_indirectly = True
            elif kind == _RANGE:
                found.guarded.append(match.start(_RANGE))
            else:
                targets, _ = leb_at(match[_JUMPS], 0)
                for _ in range(targets + 1):
                    target = _NUMBER.match(content, after, end)
                    if target is None:
                        raise BinaryError("a jump table runs over the end of its function")
                    after = target.end()
            at = after
        return found


@dataclass(frozen=True, slots=True)
class EntryChecks:
    """Functions with a check at their entry, and those that check before each call."""

    entries: frozenset[int]
    callers: frozenset[int]


def entry_checks(calls: Sequence[Sequence[int]], costs: Sequence[int], always: set[int]) -> EntryChecks:
    """The functions that need checks, so that every cycle of calls has one and no path without one is long.

    Args:
        calls: The functions that each function calls directly, once per call.
        costs: Bytes of code of each function. Loops are checked themselves, so no byte counts twice.
        always: Functions that call through a table: they may call any other one.
    """
    entries = set(always)
    weights: dict[int, int] = dict.fromkeys(always, 0)
    callers: list[list[int]] = [[] for _ in calls]
    waiting: list[int] = []
    for number, called in enumerate(calls):
        distinct = set(called)
        waiting.append(len(distinct))
        for callee in distinct:
            callers[callee].append(number)
    ready = [number for number in range(len(calls)) if not waiting[number] or number in entries]
    known = set(ready)
    while True:
        while ready:
            number = ready.pop()
            if number not in entries:
                weight = costs[number] + sum(weights[callee] + _CALL_COST for callee in calls[number])
                if weight > LIGHT:
                    entries.add(number)
                weights[number] = 0 if number in entries else weight
            for caller in callers[number]:
                waiting[caller] -= 1
                if not waiting[caller] and caller not in known:
                    known.add(caller)
                    ready.append(caller)
        left = [number for number in range(len(calls)) if number not in known]
        if not left:
            break
        ready = list(_in_cycles(left, calls, callers))
        entries.update(ready)
        known.update(ready)
        weights |= dict.fromkeys(ready, 0)
    costly = frozenset(
        number for number, called in enumerate(calls) if sum(weights[callee] for callee in called) > MOST_CALLED
    )
    return EntryChecks(frozenset(entries), costly)


def _in_cycles(left: Sequence[int], calls: Sequence[Sequence[int]], callers: Sequence[Sequence[int]]) -> Iterator[int]:
    """Of functions that all lead to a cycle, those that are called by one: at least all functions on cycles."""
    among = set(left)
    count = {number: sum(caller in among for caller in callers[number]) for number in left}
    free = [number for number in left if not count[number]]
    while free:
        number = free.pop()
        among.discard(number)
        for callee in set(calls[number]):
            if callee in among:
                count[callee] -= 1
                if not count[callee]:
                    free.append(callee)
    return iter(among)
