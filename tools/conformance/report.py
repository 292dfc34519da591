"""Reports of a conformance run: all answers as text, or a Markdown table with a line per guest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.conformance.expectations import COMMIT, REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tools.conformance.guest_runs import Answer


def lines(answers: Iterable[Answer]) -> Iterator[str]:
    """Guests, cases, and each call with its answer; one that differs with the expected one beside it."""
    guest = case = None
    for answer in answers:
        if answer.case.guest != guest:
            guest = answer.case.guest
            yield f"{guest}.wasm"
        if answer.case is not case:
            case = answer.case
            yield f"  {case.title}"
        yield f"    {_mark(answer)} {answer.call}: {answer.given}"
        if not answer.is_expected:
            yield f"        expected: {answer.expected}"
        if answer.is_known:
            yield f"        known difference: {case.note}"


def _mark(answer: Answer) -> str:
    return "✓" if answer.is_expected else "~" if answer.is_known else "✗"


def summary(answers: Sequence[Answer]) -> str:
    expected, known = sum(answer.is_expected for answer in answers), sum(answer.is_known for answer in answers)
    guests = len({answer.case.guest for answer in answers})
    counts = f"{_counted(guests, 'guest')}, {_counted(len(answers), 'answer')}: {expected} as expected"
    return f"{counts}, {_counted(known, 'known difference')}, {len(answers) - expected - known} unexpected"


def _counted(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"


def markdown(answers: Sequence[Answer]) -> Iterator[str]:
    """A table with a line per guest, then the differences."""
    yield f"{summary(answers)}. Commit {COMMIT[:7]} of [{REPOSITORY}](https://github.com/{REPOSITORY})."
    yield ""
    yield "| guest | hooks called | answers | as expected |"
    yield "| --- | --- | ---: | ---: |"
    for guest in dict.fromkeys(answer.case.guest for answer in answers):
        own = [answer for answer in answers if answer.case.guest == guest]
        hooks = dict.fromkeys(answer.call.partition(" ")[0] for answer in own)
        yield f"| `{guest}` | {', '.join(hooks)} | {len(own)} | {sum(answer.is_expected for answer in own)} |"
    different = [answer for answer in answers if not answer.is_expected]
    if different:
        yield ""
        yield "| guest, call | expected | answer | cause |"
        yield "| --- | --- | --- | --- |"
        for answer in different:
            call = f"`{answer.case.guest}`, {answer.case.title}, {answer.call}"
            cause = answer.case.note if answer.is_known else "unknown"
            yield f"| {call} | {answer.expected} | {answer.given} | {cause} |"
