"""The result of a test: numbers under SciPy's names, a direction in words, and intervals.

An ``Outcome`` is one comparison; ``DkmdResult`` holds one, or an array of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.wording import direction_in_words
from dkmd.inference.defaults import CONFIDENCE
from dkmd.inference.direct import FINE, Numbers
from dkmd.inference.groups import Pairing
from dkmd.inference.intervals import shift_interval, statistic_interval
from dkmd.inference.limits import LimitOutcome
from dkmd.inference.one_sample import PairedOutcome
from dkmd.inference.pair import Pair, Studentized
from dkmd.inference.pooled_shape import robust_scale_of
from dkmd.inference.resampling import Bootstrap
from dkmd.inference.riemann_outcome import RiemannOutcome
from dkmd.inference.tails import tail_share
from dkmd.statistic.witness import Witness


class ConfidenceInterval(NamedTuple):
    """The ends of an interval, as SciPy names them."""

    low: Any
    high: Any


@dataclass(frozen=True)
class ExactOutcome:
    """A test by the exact estimator. Intervals are computed on request."""

    pair: Pair
    test: Studentized
    pvalue: float
    shift: float
    witness: Witness
    alternative: str
    robust_scale: float
    bootstrap: Bootstrap | None = None
    notes: tuple[str, ...] = ()
    pairing: Pairing | None = None
    adjustment: Adjustment | None = None
    effective: tuple[float, float] | None = None  # effective sizes of x and y, with weights

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

    @property
    def reference_scale(self) -> float:
        """The robust scale of y: the sd in which margins are given."""
        return robust_scale_of(self.raw_pair.y)

    @property
    def raw_pair(self) -> Pair:
        """The two samples without an adjustment."""
        return self.pair if self.adjustment is None else self.adjustment.raw.pair

    def statistic_interval(self, confidence_level: float) -> tuple[float, float]:
        """The interval by Student's t, or by the bootstrap if requested."""
        if self.bootstrap:
            share = tail_share(confidence_level, self.alternative)
            return self.bootstrap.interval("statistic", share, self.alternative)
        return statistic_interval(self.test, confidence_level, self.alternative)

    def shift_interval(self, confidence_level: float) -> tuple[float, float]:
        """The interval by inverting the test, or by the bootstrap if requested."""
        if self.bootstrap:
            share = tail_share(confidence_level, self.alternative)
            return self.bootstrap.interval("shift", share, self.alternative)
        return shift_interval(self.pair, self.test, self.shift, confidence_level, self.alternative)

    def pvalue_beyond(self, delta: float, alternative: str) -> float:
        """The p-value of the test of (x − delta, y). "greater": the shift is above delta."""
        return self.pair.coarse.test(delta, self.test.center).pvalue(alternative)

    def equivalence(self, low: float, high: float) -> float:
        """The p-value of the null that the shift lies outside (low, high): two one-sided tests."""
        return max(self.pvalue_beyond(low, "greater"), self.pvalue_beyond(high, "less"))


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
    witness: Witness | None = None
    notes: tuple[str, ...] = ()

    def statistic_interval(self, confidence_level: float) -> tuple[float, float]:
        """NaN, after the level is checked."""
        tail_share(confidence_level, self.alternative)
        return math.nan, math.nan

    def shift_interval(self, confidence_level: float) -> tuple[float, float]:
        """NaN, after the level is checked."""
        return self.statistic_interval(confidence_level)


Outcome = ExactOutcome | PairedOutcome | RiemannOutcome | LimitOutcome | NoOutcome
"""One comparison of two samples."""


class Rows:
    """Outcomes in the shape of an array. An outcome is made at the start or when first used."""

    def __init__(self, numbers: Numbers, pvalues: Array, make: Make) -> None:
        fine = numbers.state == FINE
        self._made: list[Outcome | None] = [
            None if known else make(i) for i, known in enumerate(fine)
        ]
        self._make = make
        self._known = {
            "statistic": numbers.statistic, "pvalue": pvalues, "df": numbers.df,
            "standard_error": numbers.standard_error, "shift": numbers.shift,
        }  # fmt: skip
        self._widths, self._centers = numbers.width, numbers.center
        self.shape: tuple[int, ...] = (fine.size,)

    @classmethod
    def of(cls, outcomes: list[Outcome]) -> Rows:
        """Rows of outcomes that are already made."""
        rows = cls.__new__(cls)
        rows._made = list(outcomes)
        rows._make = outcomes.__getitem__
        rows._known = {}
        rows.shape = (len(outcomes),)
        return rows

    def shaped(self, shape: tuple[int, ...]) -> Rows:
        """The same outcomes in another shape."""
        self.shape = shape
        return self

    def __iter__(self) -> Iterator[Outcome]:
        return (self._at(i) for i in range(len(self._made)))

    def _at(self, i: int) -> Outcome:
        made = self._made[i]
        if made is None:
            made = self._made[i] = self._make(i)
        return made

    def each(self, name: str) -> Any:
        """One number of every outcome, in the shape of the array; a float for a single outcome."""
        known = self._known.get(name)
        values = np.array(
            [
                getattr(outcome, name) if outcome is not None or known is None else known[i]
                for i, outcome in enumerate(self._made if known is not None else self)
            ],
            dtype=np.float64,
        ).reshape(self.shape)
        return float(values[()]) if values.ndim == 0 else values

    def witnesses(self) -> Any:
        """The ψ of every outcome; None if nothing could be compared."""
        shaped = np.empty(self.shape, dtype=object)
        flat = shaped.reshape(-1)
        for i, made in enumerate(self._made):
            if made is not None or not self._known:
                flat[i] = self._at(i).witness
            else:
                width, center = float(self._widths[i]), float(self._centers[i])
                flat[i] = Witness(width, width, center)
        return shaped[()]

    def notes(self) -> list[str]:
        """What to watch out for, each note once. Rows compared in compiled code have no notes."""
        made = (o for o in self._made if o is not None)
        return list(dict.fromkeys(note for outcome in made for note in outcome.notes))

    def only(self) -> Outcome:
        """The only outcome."""
        if self.shape:
            raise ValueError(
                f"this result holds {len(self._made)} comparisons (shape {self.shape}), one is "
                "needed"
            )
        return self._at(0)

    def __getstate__(self) -> dict[str, Any]:
        return {"outcomes": list(self), "shape": self.shape}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(Rows.of(state["outcomes"]).shaped(state["shape"]).__dict__)


Make = Callable[[int], Outcome]


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
        The ψ that was used, including its centre; None if nothing could be compared.
    """

    def __init__(self, rows: Rows, on_logs: Callable[[], DkmdResult] | None = None) -> None:
        self._rows = rows
        self._on_logs = on_logs
        self._logs: DkmdResult | None = None

    @property
    def statistic(self) -> Any:
        """mean ψ(x) − mean ψ(y)."""
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
        """M-centre of x − M-centre of y, in data units."""
        return self._rows.each("shift")

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
        """The same comparison of the logarithms. Its shift is a change by the factor e^shift."""
        if self._logs is None:
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
            outcome = replace(outcome, pair=outcome.pair.coarse)
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

    def __iter__(self) -> Iterator[Any]:
        return iter((self.statistic, self.pvalue))

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        return (self.statistic, self.pvalue)[index]

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
