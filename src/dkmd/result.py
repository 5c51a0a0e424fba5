"""What a test says: numbers under SciPy's names, a direction in words, intervals and a verdict.

An ``Outcome`` is one comparison; ``DkmdResult`` holds one, or an array of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.inference import (
    Pair,
    Studentized,
    pvalue,
    shift_interval,
    statistic_interval,
    tail_share,
)
from dkmd.peers import direction_in_words
from dkmd.resampling import Bootstrap
from dkmd.witness import Witness


class ConfidenceInterval(NamedTuple):
    """The ends of an interval, as SciPy names them."""

    low: Any
    high: Any


@dataclass(frozen=True)
class ExactOutcome:
    """A test by the exact estimator; intervals are worked out when asked for."""

    pair: Pair
    test: Studentized
    pvalue: float
    shift: float
    witness: Witness
    alternative: str
    robust_scale: float
    bootstrap: Bootstrap | None = None

    @property
    def statistic(self) -> float:
        """mean ψ(x) − mean ψ(y)."""
        return self.test.statistic

    @property
    def df(self) -> float:
        """Degrees of freedom of Student's t."""
        return self.test.df

    @property
    def standard_error(self) -> float:
        """Of the statistic."""
        return self.test.standard_error

    def statistic_interval(self, confidence_level: float) -> tuple[float, float]:
        """By Student's t, or by the bootstrap that was asked for."""
        if self.bootstrap:
            share = tail_share(confidence_level, self.alternative)
            return self.bootstrap.interval("statistic", share, self.alternative)
        return statistic_interval(self.test, confidence_level, self.alternative)

    def shift_interval(self, confidence_level: float) -> tuple[float, float]:
        """By inverting the test, or by the bootstrap that was asked for."""
        if self.bootstrap:
            share = tail_share(confidence_level, self.alternative)
            return self.bootstrap.interval("shift", share, self.alternative)
        return shift_interval(self.pair, self.test, self.shift, confidence_level, self.alternative)

    def pvalue_beyond(self, delta: float, alternative: str) -> float:
        """The p-value of the test of (x − delta, y): "greater" asks if the shift is above delta."""
        at = self.pair.test(delta, self.test.center)
        return pvalue(at.t, at.df, alternative)

    def equivalence(self, low: float, high: float) -> float:
        """The p-value of the null that the shift lies outside (low, high): two one-sided tests."""
        return max(self.pvalue_beyond(low, "greater"), self.pvalue_beyond(high, "less"))


@dataclass(frozen=True)
class RiemannOutcome:
    """A test by the paper's estimator against its permutation distribution. It has no shift."""

    statistic: float
    pvalue: float
    standard_error: float
    witness: Witness
    alternative: str
    df: float = math.inf

    @property
    def shift(self) -> float:
        """Not defined: the Riemann estimator is no sum of a fixed ψ over the data."""
        raise AttributeError(NO_SHIFT)

    def statistic_interval(self, confidence_level: float) -> tuple[float, float]:
        """Not defined."""
        raise ValueError(NO_INTERVAL)

    def shift_interval(self, confidence_level: float) -> tuple[float, float]:
        """Not defined."""
        raise ValueError(NO_SHIFT)


NO_SHIFT = "the Riemann estimator has no shift: use estimator='exact' for an amount in data units"
NO_INTERVAL = (
    "the Riemann estimator's distribution is known under the null only, so it has no interval: "
    "use estimator='exact'"
)


@dataclass(frozen=True)
class NoOutcome:
    """What cannot be compared: every number is NaN."""

    alternative: str
    statistic: float = math.nan
    pvalue: float = math.nan
    df: float = math.nan
    standard_error: float = math.nan
    shift: float = math.nan
    witness: Witness | None = None

    def statistic_interval(self, confidence_level: float) -> tuple[float, float]:
        """NaN, after the level is checked."""
        tail_share(confidence_level, self.alternative)
        return math.nan, math.nan

    def shift_interval(self, confidence_level: float) -> tuple[float, float]:
        """NaN, after the level is checked."""
        return self.statistic_interval(confidence_level)


Outcome = ExactOutcome | RiemannOutcome | NoOutcome
"""One comparison of two samples."""


class DkmdResult:
    """The result of ``dkmd_2samp``; unpacks as (statistic, pvalue).

    Attributes
    ----------
    statistic : float or array
        mean ψ(x) − mean ψ(y): positive when x tends to be larger.
    pvalue : float or array
    df : float or array
        Degrees of freedom of Student's t (inf for the Riemann estimator's normal limit).
    standard_error : float or array
        Of the statistic.
    shift : float or array
        M-centre of x − M-centre of y, in data units.
    direction : str or array
        "x is larger", "y is larger" or "no direction": the sign of the statistic in words.
    witness : Witness or array
        The ψ that was used, centre included; None where nothing could be compared.
    """

    def __init__(
        self, outcomes: npt.NDArray[Any], on_logs: Callable[[], DkmdResult] | None = None
    ) -> None:
        self._outcomes = outcomes
        self._on_logs = on_logs

    @property
    def statistic(self) -> Any:
        """mean ψ(x) − mean ψ(y)."""
        return self._each(lambda o: o.statistic)

    @property
    def pvalue(self) -> Any:
        """The p-value of the alternative that was asked for."""
        return self._each(lambda o: o.pvalue)

    @property
    def df(self) -> Any:
        """Degrees of freedom."""
        return self._each(lambda o: o.df)

    @property
    def standard_error(self) -> Any:
        """Of the statistic."""
        return self._each(lambda o: o.standard_error)

    @property
    def shift(self) -> Any:
        """M-centre of x − M-centre of y, in data units."""
        return self._each(lambda o: o.shift)

    @property
    def direction(self) -> Any:
        """The sign of the statistic in words."""
        words = [direction_in_words(o.statistic) for o in self._outcomes.reshape(-1)]
        shaped = np.array(words, dtype=object).reshape(self._outcomes.shape)
        return shaped[()]

    @property
    def witness(self) -> Any:
        """The ψ that was used."""
        shaped = np.empty(self._outcomes.shape, dtype=object)
        shaped.reshape(-1)[:] = [o.witness for o in self._outcomes.reshape(-1)]
        return shaped[()]

    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """An interval of the statistic: D ± t·se, or the bootstrap's; one-sided like the test."""
        return self._interval(lambda o: o.statistic_interval(confidence_level))

    def shift_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """An interval of the shift: every δ for which the test does not reject (x − δ, y).

        Without a ``method``, 0 is inside exactly when pvalue ≥ 1 − confidence_level.
        """
        return self._interval(lambda o: o.shift_interval(confidence_level))

    def on_logs(self) -> DkmdResult:
        """The same comparison of the logarithms: its shift is a change by a factor e^shift."""
        if self._on_logs is None:
            raise ValueError(
                "percentages are worked out on the logarithms of the data, and a summary does not "
                "hold the data: compare summaries of logarithms instead"
            )
        return self._on_logs()

    def with_logs(self, on_logs: Callable[[], DkmdResult]) -> DkmdResult:
        """The same result with a way to compare the logarithms."""
        return DkmdResult(self._outcomes, on_logs)

    def __getstate__(self) -> dict[str, Any]:
        """A way to compare the logarithms cannot be pickled: what it finds is."""
        logs = None
        if self._on_logs is not None:
            with suppress(ValueError):
                logs = self._on_logs()._outcomes
        return {"outcomes": self._outcomes, "logs": logs}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._outcomes, logs = state["outcomes"], state["logs"]
        self._on_logs = None if logs is None else lambda: DkmdResult(logs)

    def outcome(self) -> Any:
        """The one comparison this result holds."""
        if self._outcomes.ndim:
            raise ValueError(
                f"this result holds {self._outcomes.size} comparisons (shape "
                f"{self._outcomes.shape}), one is needed"
            )
        return self._outcomes[()]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.statistic, self.pvalue))

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        return (self.statistic, self.pvalue)[index]

    def __repr__(self) -> str:
        shown = [f"statistic={self.statistic!r}", f"pvalue={self.pvalue!r}"]
        if not any(isinstance(o, RiemannOutcome) for o in self._outcomes.reshape(-1)):
            shown.append(f"shift={self.shift!r}")
        shown.append(f"direction={self.direction!r}")
        return f"DkmdResult({', '.join(shown)})"

    def _each(self, number: Callable[[Any], float]) -> Any:
        values = [number(o) for o in self._outcomes.reshape(-1)]
        shaped = np.array(values, dtype=np.float64).reshape(self._outcomes.shape)
        return float(shaped[()]) if shaped.ndim == 0 else shaped

    def _interval(self, ends: Callable[[Any], tuple[float, float]]) -> ConfidenceInterval:
        pairs = [ends(o) for o in self._outcomes.reshape(-1)]
        low, high = (
            np.array([p[i] for p in pairs], dtype=np.float64).reshape(self._outcomes.shape)
            for i in (0, 1)
        )
        if low.ndim == 0:
            return ConfidenceInterval(float(low), float(high))
        return ConfidenceInterval(low, high)
