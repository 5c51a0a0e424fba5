"""The facts about each side of a comparison, and the warnings that follow from them.

Counts and quantiles are exact if a side has few values in memory; otherwise they come from bins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dkmd.answers.comparison import QUANTILES, Infinite, SampleFacts
from dkmd.base.arrays import Array, present
from dkmd.bins.summary import Summary
from dkmd.inference.kinds.neighbours import ALIKE, CORRELATED, Middle, neighbour_correlation
from dkmd.inference.test.result import ExactOutcome, Outcome
from dkmd.inference.test.sides import Side
from dkmd.sources.column_data import LARGE, ColumnData, HeldColumn, StreamedColumn

FEW_VALUES = 10
MANY_TIES = 0.25
"""If one value makes up at least this share of a sample, the answer warns about ties."""


def facts_of(
    data: ColumnData,
    summary: Summary | None,
    label: str,
    median: float,
    correlation: float = math.nan,
) -> SampleFacts:
    """The facts about one side. ``correlation`` is that of neighbours."""
    weights = None
    if isinstance(data, HeldColumn) and data.beside is not None:
        weights = data.beside.weights
    if summary is None or weights is not None:
        assert isinstance(data, HeldColumn)
        counts, shares = _exactly(data.values, weights)
    else:
        infinite = int(summary.minus_inf), int(summary.plus_inf)
        counts = (summary.size, summary.nan, *infinite)
        shares = summary.quantile(QUANTILES)
    rows = data.stored if isinstance(data, StreamedColumn) else None
    if rows is not None and summary is not None and rows.weighing() is not None:
        shares = rows.bins(summary.grid, logs=False).quantile(QUANTILES)
    quantiles = dict(zip(QUANTILES, (float(q) for q in shares), strict=True))
    return SampleFacts(label, *counts, median, quantiles, correlation)


def correlation_of(data: ColumnData, middle: Middle | None) -> float:
    """The correlation of neighbours in the order of the rows; NaN where that says nothing."""
    if middle is None or not isinstance(data, HeldColumn) or data.repeated:
        return math.nan
    return neighbour_correlation(data.values, middle)


ROUNDING = 1e-9
"""A median, a shift or a statistic below this share of the scale is rounding error."""


def or_zero(value: float, outcome: Outcome) -> float:
    """A number in data units; 0 if it is only rounding error."""
    scale = outcome.robust_scale if isinstance(outcome, ExactOutcome) else 0.0
    return 0.0 if abs(value) <= ROUNDING * scale else value


def beyond_the_data(outcome: Outcome) -> bool:
    """Whether the shift is larger than any two finite values are apart: it is near ±inf."""
    if not isinstance(outcome, ExactOutcome):
        return False
    finite = np.concatenate([side.offset for side in outcome.sides])
    return bool(abs(outcome.shift) > (1.0 + 1e-9) * np.ptp(finite)) if finite.size else True


def infinite_shares(before: SampleFacts, after: SampleFacts, shift: float) -> Infinite | None:
    """The shares at an infinity, if the shift is there or half of the values of a side are."""
    ends = []
    for where, name in ((math.inf, "plus_inf"), (-math.inf, "minus_inf")):
        old, new = (getattr(side, name) / max(side.size, 1) for side in (before, after))
        ends.append(Infinite(where, old, new))
    most = max(ends, key=lambda end: end.reference + end.current)
    half = max(most.reference, most.current) >= 0.5
    return most if half or math.isinf(shift) else None


def _exactly(held: Array, weights: Array | None) -> tuple[tuple[int, int, int, int], Array]:
    """The numbers of values, NaN, −inf and +inf, and the quantiles, by sorting the values."""
    values = present(held)
    shares = np.full(len(QUANTILES), math.nan)
    if weights is not None:
        shares = _weighted_quantiles(values, weights[~np.isnan(held)])
    elif values.size:  # the inverse of the cdf; sorting is faster than NumPy's quantile
        reached = np.ceil(values.size * np.asarray(QUANTILES)).astype(np.int64)
        shares = np.sort(values)[np.maximum(reached, 1) - 1]
    infinite = int((values == -math.inf).sum()), int((values == math.inf).sum())
    return (values.size, held.size - values.size, *infinite), shares


def _weighted_quantiles(values: Array, weights: Array) -> Array:
    """The smallest values that a share of the weights does not exceed."""
    order = np.argsort(values, kind="stable")
    passed = np.cumsum(weights[order])
    if not passed.size or not passed[-1] > 0.0:
        return np.full(len(QUANTILES), math.nan)
    goals = np.asarray(QUANTILES) * passed[-1] * (1.0 - 1e-12)
    return np.asarray(values[order][np.searchsorted(passed, goals)])


def notes_of(
    facts: Sequence[SampleFacts],
    outcome: Outcome,
    values: Sequence[Array] | None = None,
    ties_are_told: bool = False,
) -> list[str]:
    """Warnings beyond those of the test itself.

    ``facts`` and ``values`` are those of reference and current; ``values`` is None if they are not
    in memory. With ``ties_are_told`` the answer itself says how many values are equal.
    """
    notes = []
    if 2 <= min(f.size for f in facts) < FEW_VALUES:
        few = " and ".join(f"{f.size:,}" for f in facts)
        notes.append(f"only {few} values: the p-value and intervals are rough")
    if not isinstance(outcome, ExactOutcome):
        return notes
    if values is None or any(held.size > LARGE for held in values):
        share = max(map(_binned_tie, outcome.sides))
    else:
        share = max(map(_largest_tie, facts, values))
    if share >= MANY_TIES and not ties_are_told:
        notes.append(f"one value makes up {share:.0%} of a sample (ties)")
    if any(f.neighbour_correlation > CORRELATED for f in facts):
        notes.append(ALIKE)
    return notes


def _largest_tie(facts: SampleFacts, values: Array) -> float:
    """The share of the most common finite value, if that share is at least a quarter.

    Such a value is one of the quantiles of the sample.
    """
    common = {value for value in facts.quantiles.values() if math.isfinite(value)}
    largest = max((int(np.count_nonzero(values == value)) for value in common), default=0)
    return largest / facts.size if largest > 1 else 0.0


def _binned_tie(side: Side) -> float:
    """The share of the most common value, judged by bins."""
    tied = side.counts[(side.variance == 0.0) & (side.counts > 1.0)]
    return float(tied.max()) / side.size if tied.size else 0.0
