"""From a raw outcome and the sums of columns g to the adjusted outcome, with its notes.

Values in memory, long files, dask and engines meet here: each brings its sums, and says what is
left of ψ where groups, units or few values need it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.binned.crossed import Crossed
from dkmd.binned.crossed_loops import PSI
from dkmd.inference.adjusted import AdjustedPair
from dkmd.inference.categories import category_pvalue
from dkmd.inference.cross import Cross, Model
from dkmd.inference.direct import MOST_VALUES
from dkmd.inference.frame import Frame
from dkmd.inference.groups import Clusters
from dkmd.inference.intervals import balanced_shift
from dkmd.inference.pair import satterthwaite
from dkmd.inference.result import Adjustment, ExactOutcome
from dkmd.inference.sample_ratio import UNLIKELY
from dkmd.inference.tails import relabelled_skewness, student_tails

ENOUGH = MOST_VALUES // 2 + 1
"""With so many values on both sides, the skewness under relabelling is that of ψ, not of what is
left of ψ. Either is at most 0.03 of that of single values."""

SAME_WITHIN_UNITS = (
    "some covariates or strata are the same for each unit on both sides: pairing has already "
    "removed what they explain"
)


class Explained(NamedTuple):
    """What is subtracted from e = w·ψ: w of x and of y at a centre, and θ."""

    center: float  # offset from the origin
    weights: tuple[float, float]
    theta: Array


Effect = Callable[[AdjustedPair, Explained], tuple[Clusters, Model | None]]
"""The effect of groups, units or skewness on what is left, and the model if units change θ."""


def adjust(
    raw: ExactOutcome, cross: tuple[Cross, Cross], frame: Frame, effect: Effect | None
) -> ExactOutcome:
    """The same comparison with its test adjusted for the columns of a frame."""
    notes = (*raw.notes, *frame.notes())
    if not frame.width or not math.isfinite(raw.test.center):
        return replace(raw, notes=notes)
    pair = raw.pair
    sizes = pair.x.size, pair.y.size
    model = Model.of(*cross, sizes)
    if not model.rank:
        return replace(raw, notes=notes)
    clusters = Clusters.none(*sizes)
    found = AdjustedPair(
        pair.x, pair.y, pair.witness, pair.origin, pair.fixed, clusters, pair.separation,
        pair.allowance, cross, model,
    )  # fmt: skip
    if effect is not None:
        center = raw.test.center
        explained = Explained(center, pair.weights(center), found.theta(center))
        clusters, other = effect(found, explained)
        found = replace(found, clusters=clusters, model=other or model)
        if other is not None and other.rank < model.rank:
            notes = (*notes, SAME_WITHIN_UNITS)
    return _outcome(raw, found, frame.names, notes)


def _outcome(
    raw: ExactOutcome, pair: AdjustedPair, names: tuple[str, ...], notes: tuple[str, ...]
) -> ExactOutcome:
    """The outcome of the adjusted test."""
    assert pair.model is not None
    assert pair.clusters is not None
    rank = pair.model.rank
    _require_room(rank, pair.clusters, pair.x.size, pair.y.size)
    test = pair.coarse.test(near=raw.test.center)
    gained = (raw.standard_error / test.standard_error) ** 2 if test.standard_error else math.inf
    return replace(
        raw,
        pair=pair,
        test=test,
        pvalue=test.pvalue(raw.alternative),
        shift=_shift(pair, raw.shift),
        notes=notes,
        adjustment=Adjustment(names, int(rank), gained, raw),
    )


def _shift(pair: AdjustedPair, near: float) -> float:
    """The shift at which D_adj is 0: found on merged bins, then one step on all of them."""
    coarse = pair.coarse
    found = balanced_shift(coarse, near)
    if coarse is pair or not math.isfinite(found):
        return found
    step = 1e-3 * pair.witness.length
    rise = coarse.test(found + step).statistic - coarse.test(found).statistic
    off = pair.test(found).statistic
    return found - off * step / rise if rise < 0.0 else found


MOST_SPENT = 0.75
"""The adjustment may cost at most this share of the degrees of freedom of a side."""


def _require_room(rank: float, clusters: Clusters, n: float, m: float) -> None:
    """Reject more columns than the values, groups or units of a side can bear."""
    lost = rank / (n + m)
    spent = max(lost * n / clusters.df_x, lost * m / clusters.df_y)
    if not math.isnan(clusters.df):
        spent = rank / clusters.df
    if not spent <= MOST_SPENT:
        raise ColumnError(
            f"the covariates and strata are {rank:.0f} columns, too many for so few values or "
            "units: give fewer of them"
        )


class Powers(NamedTuple):
    """How many values, and the sums of the first three powers of what is left of them."""

    size: float
    first: float
    second: float
    third: float

    @classmethod
    def of(cls, left: Array) -> Powers:
        """The sums of values in memory."""
        squares = left * left
        return cls(float(left.size), float(left.sum()), float(squares.sum()), float(squares @ left))


def skewness_of(x: Powers, y: Powers) -> float:
    """The skewness of D under relabelling of what is left of ψ."""
    size, first, second, third = (one + two for one, two in zip(x, y, strict=True))
    mean = first / size
    around = second / size - mean * mean
    if not around > 1e-28 + 1e-14 * second / size:
        return 0.0
    cube = third / size - 3.0 * mean * second / size + 2.0 * mean**3
    return float(relabelled_skewness(cube / around**1.5, x.size, y.size))


def imbalance(x: Crossed, y: Crossed, frame: Frame) -> dict[str, float]:
    """How likely chance explains the difference of each covariate and factor, from their sums.

    A covariate's test is that of its mean g, the dkmd test with the centre held at the median.
    """
    found = {}
    for j, (i, kind) in enumerate(frame.numbers):
        if kind == PSI:
            gone = x.missing[i], y.missing[i]
            found[frame.covariates[i].name] = _pvalue((x, y), gone, j)
    at = len(frame.numbers)
    for factor in frame.factors:
        columns = slice(at, at + factor.columns)
        at += factor.columns
        counts = [side.totals[columns] for side in (x, y)]
        rest = [
            side.summary.size - float(own.sum()) for side, own in zip((x, y), counts, strict=True)
        ]
        every = [
            np.append(own, left).round().astype(np.int64)
            for own, left in zip(counts, rest, strict=True)
        ]
        found[factor.name] = category_pvalue(every[0], every[1])
    return found


def _pvalue(sides: tuple[Crossed, Crossed], gone: tuple[float, float], column: int) -> float:
    """Welch's test of a column's mean over the values that have the covariate."""
    parts, means, freedoms = [], [], []
    for side, missing in zip(sides, gone, strict=True):
        size = side.summary.size - float(missing)
        if size < 2.0:
            return 1.0
        mean = float(side.totals[column]) / size
        around = max(0.0, float(side.gram[column, column]) - size * mean * mean)
        parts.append(around / (size - 1.0) / size)
        means.append(mean)
        freedoms.append(size - 1.0)
    error = math.sqrt(sum(parts))
    if not error > 0.0:
        return 1.0 if means[0] == means[1] else 0.0
    df = satterthwaite(parts[0], parts[1], freedoms[0], freedoms[1])
    return float(student_tails((means[0] - means[1]) / error, df).pvalue("two-sided"))


def notes_on(pvalues: dict[str, float]) -> list[str]:
    """Notes on covariates and strata that differ between the sides beyond chance."""
    return [
        f"{name} differs between the sides (p = {p:.1g}), which chance hardly explains: check that "
        "units joined the sides by chance and that it was measured before"
        for name, p in pvalues.items()
        if p * len(pvalues) < UNLIKELY
    ]
