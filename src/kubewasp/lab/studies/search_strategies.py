"""Strategies of a search: random points, successive halving on random points, and Bayesian optimization by optuna.

A strategy proposes points in batches whose size does not depend on the machine, so that a seed gives the same search.
"""

from __future__ import annotations

import importlib
import random
import warnings
from typing import TYPE_CHECKING, Any, Final, Protocol

from kubewasp.errors import KubewaspError
from kubewasp.lab.studies import search_space
from kubewasp.lab.studies.search_space import Choices, Integers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubewasp.lab.studies.search_space import Parameter, Point

RANDOM: Final = "random"
HALVING: Final = "halving"
BAYESIAN: Final = "bayesian"
STRATEGIES: Final = (RANDOM, HALVING, BAYESIAN)
_BATCH: Final = 8
_MAX_REPEATS: Final = 50


class StrategyError(KubewaspError):
    """A strategy that cannot be used."""


class Strategy(Protocol):
    """Proposals of points. Each is proposed once."""

    def ask(self, count: int) -> list[Point]:
        """The next points, at most `count`; none if there are no more."""

    def tell(self, point: Point, losses: Sequence[float] | None, violation: float) -> None:
        """The result of a point; no losses if it has failed."""


class RandomStrategy:
    """Points drawn at random, without repetition."""

    def __init__(self, parameters: Sequence[Parameter], seed: int) -> None:
        self._parameters = parameters
        self._chance = random.Random(seed)  # noqa: S311 - no secret
        self._known: set[Point] = set()

    def ask(self, count: int) -> list[Point]:
        found: list[Point] = []
        while len(found) < count:
            point = search_space.sample(self._parameters, self._chance, self._known)
            if point is None:
                break
            self._known.add(point)
            found.append(point)
        return found

    def tell(self, point: Point, losses: Sequence[float] | None, violation: float) -> None: ...


class BayesianStrategy:
    """Optuna's tree-structured Parzen estimator, with constraints and several objectives."""

    def __init__(self, parameters: Sequence[Parameter], seed: int, objectives: int) -> None:
        self._optuna = optuna = _optuna()
        self._parameters = parameters
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of experimental options
            sampler = optuna.samplers.TPESampler(
                seed=seed % 2**32, multivariate=True, constant_liar=True, constraints_func=_violations
            )
        self._study = optuna.create_study(directions=["minimize"] * objectives, sampler=sampler)
        self._distributions = {
            str(index): _distribution(optuna, parameter) for index, parameter in enumerate(parameters)
        }
        self._open: dict[Point, Any] = {}
        self._results: dict[Point, tuple[Sequence[float] | None, float]] = {}

    def ask(self, count: int) -> list[Point]:
        found: list[Point] = []
        for _ in range(_MAX_REPEATS):
            if len(found) >= min(count, _BATCH):
                break
            trial = self._study.ask(self._distributions)
            point = tuple(
                parameter.domain.values[trial.params[str(index)]]
                if isinstance(parameter.domain, Choices)
                else trial.params[str(index)]
                for index, parameter in enumerate(self._parameters)
            )
            if point in self._results:
                self._finish(trial, *self._results[point])
            elif point in self._open:
                self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
            else:
                self._open[point] = trial
                found.append(point)
        return found

    def tell(self, point: Point, losses: Sequence[float] | None, violation: float) -> None:
        self._results[point] = losses, violation
        if point in self._open:
            self._finish(self._open.pop(point), losses, violation)

    def _finish(self, trial: Any, losses: Sequence[float] | None, violation: float) -> None:
        if losses is None:
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
            return
        trial.set_user_attr("violation", violation)
        self._study.tell(trial, list(losses))


def strategy_of(name: str, parameters: Sequence[Parameter], *, seed: int, objectives: int) -> Strategy:
    if name == BAYESIAN:
        return BayesianStrategy(parameters, seed, objectives)
    return RandomStrategy(parameters, seed)


def _violations(trial: Any) -> tuple[float]:
    return (float(trial.user_attrs.get("violation", 1.0)),)


def _distribution(optuna: Any, parameter: Parameter) -> Any:
    domain = parameter.domain
    if isinstance(domain, Choices):
        return optuna.distributions.CategoricalDistribution(range(len(domain.values)))
    kind = optuna.distributions.IntDistribution if isinstance(domain, Integers) else None
    return (kind or optuna.distributions.FloatDistribution)(domain.low, domain.high, log=domain.is_log)


def _optuna() -> Any:
    try:
        return importlib.import_module("optuna")
    except ModuleNotFoundError:
        raise StrategyError(
            "strategy bayesian requires optuna; run `pip install 'kubewasp[tune]'`, or take random or halving"
        ) from None
