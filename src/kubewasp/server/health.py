"""Health checks by name and endpoint, in the text format of Kubernetes."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

logger = logging.getLogger(__name__)
ENDPOINTS: Final = ("healthz", "livez", "readyz")


@dataclass(frozen=True, slots=True)
class Check:
    """A health check. `problem` returns the cause of a failure, empty on success; it must not block."""

    name: str
    problem: Callable[[], str]


@dataclass(slots=True)
class Report:
    """Results of the checks of an endpoint."""

    endpoint: str
    lines: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        end = "failed" if self.failed else "passed"
        return "".join(f"{line}\n" for line in self.lines) + f"{self.endpoint} check {end}\n"


class Health:
    """Checks of each endpoint; `ping` is always one of them."""

    def __init__(self) -> None:
        self._checks: dict[str, dict[str, Check]] = {endpoint: {} for endpoint in ENDPOINTS}
        self.add("ping", lambda: "")

    def add(self, name: str, problem: Callable[[], str], *, to: Sequence[str] = ENDPOINTS) -> None:
        for endpoint in to:
            self._checks[endpoint][name] = Check(name, problem)

    def check(self, endpoint: str, name: str) -> Check | None:
        return self._checks[endpoint].get(name)

    def report(self, endpoint: str, *, exclude: Collection[str] = ()) -> Report:
        """Runs the checks. Causes of failures go to the log only, as the endpoints are public."""
        report = Report(endpoint)
        unknown = sorted(set(exclude) - self._checks[endpoint].keys())
        for check in list(self._checks[endpoint].values()):
            if check.name in exclude:
                report.lines.append(f"[+]{check.name} excluded: ok")
                continue
            problem = problem_of(check)
            if problem:
                report.failed[check.name] = problem
                report.lines.append(f"[-]{check.name} failed: reason withheld")
            else:
                report.lines.append(f"[+]{check.name} ok")
        if unknown:
            names = ", ".join(f'"{name}"' for name in unknown)
            report.lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        for name, problem in report.failed.items():
            logger.info("Health check failed", extra={"endpoint": endpoint, "check": name, "problem": problem})
        return report


def problem_of(check: Check) -> str:
    try:
        return check.problem()
    except Exception as error:
        logger.exception("Health check raised an exception", extra={"check": check.name})
        return f"{type(error).__name__}: {error}"
