"""The result of a test: numbers under SciPy's names, a direction in words, and intervals.

An ``Outcome`` is one comparison; ``DkmdResult`` holds one, or an array of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple, cast

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.defaults import CONFIDENCE
from dkmd.base.wording import direction_in_words
from dkmd.inference.kinds.neighbours import Middle
from dkmd.inference.test.intervals import Ratio, Tester, shift_interval, statistic_interval
from dkmd.inference.test.pair import Studentized
from dkmd.inference.test.resampling import Bootstrap
from dkmd.inference.test.riemann_test import RiemannOutcome
from dkmd.inference.test.rows import Rows
from dkmd.inference.test.sides import Side, side_of_sorted
from dkmd.inference.test.tails import tail_share
from dkmd.inference.test.width import robust_scale
from dkmd.statistic.witness import Witness


class ConfidenceInterval(NamedTuple):
    """The ends of an interval, as SciPy names them."""

    low: Any
    high: Any


MIRRORED = {"two-sided": "two-sided", "greater": "less", "less": "greater"}
"""The same alternative with the samples swapped."""


@dataclass(frozen=True)
class ExactOutcome:
    """A test by the exact estimator, of two samples or of pairs. Intervals come on request.

    ``tester`` and ``test`` hold the samples in one canonical order, ``sign`` turns their numbers
    back: −1 if the samples were swapped, 0 if they are equal. So swapping changes no digit (the
    paper's Theorem 1).
    """

    tester: Tester
    sign: float
    test: Studentized
    pvalue: float
    shift: float
    alternative: str
    robust_scale: float
    reference: Array | None = None  # y, for pairs
    bootstrap: Bootstrap | None = None
    notes: tuple[str, ...] = ()
    pairing: Pairing | None = None
    adjustment: Adjustment | None = None
    effective: tuple[float, float] | None = None  # effective sizes of x and y, with weights
    units: tuple[int, int] | None = None  # groups of x and of y
    means: tuple[float, float] | None = None  # of x and of y, or their ratios, if these are tested

    @property
    def statistic(self) -> float:
        """T, or mean ψ(x) − mean ψ(y) for a witness."""
        return self.sign * self.test.statistic if self.sign else 0.0

    @property
    def df(self) -> float:
        """Degrees of freedom of Student's t."""
        return self.test.df

    @property
    def standard_error(self) -> float:
        """Of the statistic."""
        return self.test.standard_error

    @property
    def width(self) -> float:
        """The width σ = τ of ψ."""
        return self.tester.width

    @property
    def witness(self) -> Witness:
        """The ψ: of the differences, or the one that was given."""
        return self.tester.witness

    @property
    def paired(self) -> bool:
        """Whether differences of pairs were tested."""
        return self.reference is not None

    @property
    def designed(self) -> bool:
        """Whether values are not independent or do not count the same: groups, units, weights."""
        return self.units is not None or self.effective is not None

    @property
    def middle(self) -> Middle:
        """Where the samples lie, roughly, and their robust scale."""
        return Middle(self.origin, self.robust_scale if self.robust_scale > 0.0 else 1.0)

    @property
    def sides(self) -> tuple[Side, Side]:
        """x and y as atoms, without what a covariate explains. Pairs have differences only."""
        x, y = self.tester.sides
        return (y, x) if self.sign < 0.0 else (x, y)

    @property
    def origin(self) -> float:
        """The zero point of the offsets of ``sides``."""
        return self.tester.origin

    def of_ratio(self) -> ExactOutcome:
        """The ratio of means, as a difference of logarithms."""
        tester = cast(Ratio, self.tester).on_logs()
        test = tester.test()
        return replace(
            self, tester=tester, test=test, pvalue=test.pvalue(self.alternative),
            shift=tester.shift(), robust_scale=math.nan, means=None, adjustment=None,
        )  # fmt: skip

    @property
    def medians(self) -> tuple[float, float]:
        """The medians of x and of y."""
        x, y = self.sides
        return self.origin + x.median(), self.origin + y.median()

    @property
    def reference_scale(self) -> float:
        """The robust scale of y: the sd in which margins are given."""
        if self.reference is None:
            return robust_scale(self.sides[1])
        finite = np.sort(self.reference[np.isfinite(self.reference)])
        return robust_scale(side_of_sorted(finite, 0.0))

    def statistic_interval(self, confidence_level: float) -> tuple[float, float]:
        """The interval by Student's t, or by the bootstrap if requested."""
        if self.bootstrap:
            return self._turned(partial(self._booted, "statistic", confidence_level))
        return self._turned(partial(statistic_interval, self.test, confidence_level))

    def shift_interval(self, confidence_level: float) -> tuple[float, float]:
        """The interval by inverting the test, or by the bootstrap if requested."""
        if self.bootstrap:
            return self._turned(partial(self._booted, "shift", confidence_level))
        shift = self.sign * self.shift if self.sign else 0.0
        return self._turned(
            partial(shift_interval, self.tester, self.test, shift, confidence_level)
        )

    def _booted(self, what: str, confidence_level: float, alternative: str) -> tuple[float, float]:
        assert self.bootstrap is not None
        share = tail_share(confidence_level, alternative)
        return self.bootstrap.interval(what, share, alternative)

    def _turned(self, ends: Callable[[str], tuple[float, float]]) -> tuple[float, float]:
        """An interval in the order of x and y. ``ends`` takes the alternative."""
        if self.sign < 0.0:
            low, high = ends(MIRRORED[self.alternative])
            return -high, -low
        if self.sign == 0.0 and self.alternative != "two-sided":
            # equal samples: the interval of "greater" is the mirror image of that of "less"
            high = ends("less")[1]
            return (-math.inf, high) if self.alternative == "less" else (-high, math.inf)
        low, high = ends(self.alternative)
        if self.sign == 0.0:
            return min(low, -high), max(high, -low)
        return low, high

    def pvalue_beyond(self, delta: float, alternative: str) -> float:
        """The p-value of the test of (x − delta, y). "greater": the shift is above delta."""
        if self.sign < 0.0:
            delta, alternative = -delta, MIRRORED[alternative]
        return self.tester.coarse.test(delta).pvalue(alternative)

    def equivalence(self, low: float, high: float) -> float:
        """The p-value of the null that the shift lies outside (low, high): two one-sided tests."""
        return max(self.pvalue_beyond(low, "greater"), self.pvalue_beyond(high, "less"))


class Pairing(NamedTuple):
    """Units on both sides, and what pairing them gained."""

    shared: int
    only_x: int
    only_y: int
    weigh: str  # "units": each shared unit counts the same; "values": each value does
    gain: float  # the width of the interval of the shift by groups over that by pairs

    @property
    def left_out(self) -> int:
        """Units on one side only that were left out."""
        return self.only_x + self.only_y if self.weigh == "units" else 0


class Adjustment(NamedTuple):
    """What a comparison was adjusted for, what that was worth, and the test without it."""

    names: tuple[str, ...]
    columns: int  # degrees of freedom that the adjustment cost
    worth: float  # variance without the adjustment over that with it: as good as so much more data
    raw: ExactOutcome


@dataclass(frozen=True)
class NoOutcome:
    """The outcome if nothing can be compared: numbers are NaN."""

    alternative: str
    statistic: float = math.nan
    pvalue: float = math.nan
    df: float = math.nan
    standard_error: float = math.nan
    shift: float = math.nan
    width: float = math.nan
    witness: Witness | None = None
    notes: tuple[str, ...] = ()

    def statistic_interval(self, confidence_level: float) -> tuple[float, float]:
        """NaN, after the level is checked."""
        tail_share(confidence_level, self.alternative)
        return math.nan, math.nan

    def shift_interval(self, confidence_level: float) -> tuple[float, float]:
        """NaN, after the level is checked."""
        return self.statistic_interval(confidence_level)


Outcome = ExactOutcome | RiemannOutcome | NoOutcome
"""One comparison of two samples."""


class TwoNumbers:
    """A result that unpacks as (statistic, pvalue), as SciPy's do."""

    _two = staticmethod(attrgetter("statistic", "pvalue"))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._two(self))

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        return self._two(self)[index]


class DkmdResult(TwoNumbers):
    """The result of ``dkmd_2samp``; unpacks as (statistic, pvalue).

    Attributes
    ----------
    statistic : float or array
        T, the mean of ψ(x − y) over all pairs: positive when x tends to be larger. For a given
        witness it is mean ψ(x) − mean ψ(y).
    pvalue : float or array
    df : float or array
        Degrees of freedom of Student's t (inf for the Riemann estimator's normal limit).
    standard_error : float or array
        Of the statistic.
    shift : float or array
        Pick one value from each sample: the one from x is typically larger by this much.
    width : float or array
        The width σ = τ of ψ, in data units.
    direction : str or array
        "x is larger", "y is larger" or "no direction": the sign of the statistic in words.
    witness : Witness or array
        The ψ that was used; None if nothing could be compared.
    """

    def __init__(self, rows: Rows, on_logs: Callable[[], DkmdResult] | None = None) -> None:
        self._rows = rows
        self._on_logs = on_logs
        self._logs: DkmdResult | None = None

    @property
    def statistic(self) -> Any:
        """T: the mean of ψ(x − y) over all pairs."""
        return self._rows.each("statistic")

    @property
    def pvalue(self) -> Any:
        """The p-value of the chosen alternative."""
        return self._rows.each("pvalue")

    @property
    def df(self) -> Any:
        """Degrees of freedom."""
        return self._rows.each("df")

    @property
    def standard_error(self) -> Any:
        """Of the statistic."""
        return self._rows.each("standard_error")

    @property
    def shift(self) -> Any:
        """How much larger a value of x typically is than one of y, in data units."""
        return self._rows.each("shift")

    @property
    def width(self) -> Any:
        """The width σ = τ of ψ."""
        return self._rows.each("width")

    @property
    def direction(self) -> Any:
        """The sign of the statistic in words."""
        statistics = np.asarray(self.statistic)
        words = [direction_in_words(float(value)) for value in statistics.reshape(-1)]
        return np.array(words, dtype=object).reshape(statistics.shape)[()]

    @property
    def witness(self) -> Any:
        """The ψ that was used."""
        return self._rows.witnesses()

    @property
    def pairing(self) -> Pairing | None:
        """Shared units and what pairing gained, for ``paired=True`` with groups; else None."""
        outcome = self.single()
        return None if outcome is None else outcome.pairing

    @property
    def adjustment(self) -> Adjustment | None:
        """Covariates, what adjusting was worth, and the raw numbers; None without covariates."""
        outcome = self.single()
        return None if outcome is None else outcome.adjustment

    @property
    def effective_sizes(self) -> tuple[float, float] | None:
        """(Σw)²/Σw² of x and of y; None without weights."""
        outcome = self.single()
        return None if outcome is None else outcome.effective

    def single(self) -> ExactOutcome | None:
        """The only comparison, if it is one and by the exact estimator."""
        if self._rows.shape:
            return None
        outcome = self._rows.only()
        return outcome if isinstance(outcome, ExactOutcome) else None

    @property
    def notes(self) -> list[str]:
        """What to watch out for: the warnings of ``dkmd_2samp``."""
        return self._rows.notes()

    def confidence_interval(self, confidence_level: float = CONFIDENCE) -> ConfidenceInterval:
        """An interval of the statistic: D ± t·se, or by bootstrap. One-sided if the test is."""
        return self._interval(lambda o: o.statistic_interval(confidence_level))

    def shift_interval(self, confidence_level: float = CONFIDENCE) -> ConfidenceInterval:
        """An interval of the shift: every δ for which the test does not reject (x − δ, y).

        Without a ``method``, 0 is inside exactly when pvalue ≥ 1 − confidence_level.
        """
        return self._interval(lambda o: o.shift_interval(confidence_level))

    def on_logs(self) -> DkmdResult:
        """The same comparison of the logarithms. Its shift is a change by the factor e^shift.

        For means these are the logarithms of the means.
        """
        if self._logs is None:
            outcome = self.single()
            if outcome is not None and outcome.means is not None:
                self._logs = DkmdResult(Rows.of([outcome.of_ratio()]).shaped(()))
                return self._logs
            if self._on_logs is None:
                raise ValueError(
                    "percentages are worked out on the logarithms of the data, and a summary does "
                    "not hold the data: compare summaries of logarithms instead"
                )
            self._logs = self._on_logs()
        return self._logs

    def with_logs(self, on_logs: Callable[[], DkmdResult] | None) -> DkmdResult:
        """The same result with a function that compares the logarithms, or without one."""
        return DkmdResult(self._rows, on_logs)

    def with_note(self, note: str) -> DkmdResult:
        """The same result of one comparison with one note more."""
        outcome = self.single()
        assert outcome is not None
        outcome = replace(outcome, notes=(*outcome.notes, note))
        return DkmdResult(Rows.of([outcome]).shaped(()), self._on_logs)

    def slim(self) -> DkmdResult:
        """The same result of one comparison with a third of its atoms, and without the data.

        Intervals that are asked for later agree to about 1e-11, as they do for bins.
        """
        outcome = self.outcome()
        if isinstance(outcome, ExactOutcome):
            outcome = replace(outcome, tester=outcome.tester.coarse)
        logs = self.__getstate__()["logs"]
        slim = DkmdResult(Rows.of([outcome]).shaped(()))
        slim._logs = None if logs is None else logs.slim()
        return slim

    def __getstate__(self) -> dict[str, Any]:
        """The function that compares the logarithms cannot be pickled, so its result is."""
        logs = None
        if self._logs is not None or self._on_logs is not None:
            with suppress(ValueError):
                logs = self.on_logs()
        return {"rows": self._rows, "logs": logs}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._rows, self._logs = state["rows"], state["logs"]
        self._on_logs = None

    def outcome(self) -> Outcome:
        """The only comparison in this result."""
        return self._rows.only()

    def __repr__(self) -> str:
        shown = [f"statistic={self.statistic!r}", f"pvalue={self.pvalue!r}"]
        with suppress(AttributeError):  # the Riemann estimator has no shift
            shown.append(f"shift={self.shift!r}")
        shown.append(f"direction={self.direction!r}")
        return f"DkmdResult({', '.join(shown)})"

    def _interval(self, ends: Callable[[Outcome], tuple[float, float]]) -> ConfidenceInterval:
        if not self._rows.shape:
            one = ends(self._rows.only())
            return ConfidenceInterval(float(one[0]), float(one[1]))
        pairs = [ends(o) for o in self._rows]
        low, high = (
            np.array([p[i] for p in pairs], dtype=np.float64).reshape(self._rows.shape)
            for i in (0, 1)
        )
        return ConfidenceInterval(low, high)
