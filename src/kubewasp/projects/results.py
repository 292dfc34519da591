"""What came of tests, whatever ran them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test that was run: it passed, unless there is a text that says why it failed or was skipped."""

    __test__: ClassVar[bool] = False  # pytest takes every class with such a name for one of its own

    name: str
    seconds: float = 0.0
    failure: str = ""
    skipped: str = ""

    @property
    def passed(self) -> bool:
        return not self.failure and not self.skipped
