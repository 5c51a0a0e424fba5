"""The same units on both sides: hosts before and after, users in two months.

Equal labels in x and y are one unit. What its values on both sides share cancels in the influence
of the unit on D. One variance covers every design (``unit_design``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import TOO_FAR_APART, ColumnError
from dkmd.binned.summary import Atoms, Summary
from dkmd.binned.weighted import WeightedBins
from dkmd.inference.direct import origin_of, side_of
from dkmd.inference.groups import (
    FEW_GROUPS,
    Clusters,
    Effect,
    Pairing,
    SampleGroups,
    checked_labels,
)
from dkmd.inference.one_sample import FEW_SIGNS, NO_PSI, flip_share, flipped_tails
from dkmd.inference.one_test import (
    compare_sides,
    grid_for,
    is_small,
    scale_asked,
    stopped_by_nan,
)
from dkmd.inference.options import Options
from dkmd.inference.pair import Pair, satterthwaite
from dkmd.inference.pooled_shape import Shape, shape_of
from dkmd.inference.result import ExactOutcome, NoOutcome, Outcome
from dkmd.inference.scale import Scale, fitted_sides, scale_of, scale_of_bins
from dkmd.inference.sides import Side
from dkmd.inference.tails import Tails
from dkmd.inference.unit_design import Design, Index, UnitSide, UnitSums, by_unit, reach
from dkmd.statistic.witness import Witness

NOTHING_DIFFERS = "no unit differs between the samples"

UNLIKE = 1_000.0
"""A unit with this many times the values of a typical unit is named."""


@dataclass(frozen=True)
class Units:
    """Two sides whose units have common numbers, and how they are weighed."""

    x: UnitSide
    y: UnitSide
    labels: npt.NDArray[Any]  # the label of each number
    counts: tuple[int, int, int]  # units that are shared, in x only, in y only
    weigh: str
    every: tuple[UnitSide, UnitSide]  # all values of both sides, each with a weight of 1

    def effect(self, witness: Witness, pair: Pair) -> Effect:
        """What the units do to the test of a pair at a witness, including its centre."""
        of_x, of_y = (side.sums(witness, self.labels.size) for side in (self.x, self.y))
        design = Design.of(of_x, of_y, *pair.weights(witness.center - pair.origin))
        inflation = design.inflation
        clusters = Clusters.of(of_x.grouped(), of_y.grouped())._replace(
            inflation_x=inflation, inflation_y=inflation, df=design.df
        )
        clusters = clusters._replace(relabelling=clusters.relabelling * self._guard(design))
        pairing = Pairing(*self.counts, self.weigh, self._gain(design, witness))
        least = _least_tails(of_x, of_y) if self.weigh == "units" else Tails(0.0, 0.0)
        notes = (*self.notes(), NOTHING_DIFFERS) if min(least) >= 1.0 else self.notes()
        return Effect(clusters, notes, pairing, least)

    def _gain(self, design: Design, witness: Witness) -> float:
        """How many times wider the interval of the shift is for all values by groups.

        Both widths come from the same ψ: the error of D over the slope of D in the shift.
        """
        n, m = (float(side.weights.sum()) for side in (self.x, self.y))
        a, b = (side.slope(witness) for side in (self.x, self.y))
        parts, freedoms = [], []
        for side in self.every:
            sums = side.sums(witness, int(side.codes.max()) + 1).grouped()
            slope = side.slope(witness)
            if not slope > 0.0 or sums.groups < 2:
                return math.nan
            parts.append(sums.variance() / slope**2)
            freedoms.append(sums.df)
        if not a * b > 0.0:
            return math.nan
        wide = reach(sum(parts), float(satterthwaite(*parts, *freedoms)))
        return wide / (reach(design.variance, design.df) * (n * a + m * b) / ((n + m) * a * b))

    def _guard(self, design: Design) -> float:
        """The factor by which sharing changes the variance of D under relabelling of units.

        NaN if all units are shared: Student's t alone holds its size there. With few units on one
        side it does not, and relabelling guards it, as it does without shared units.
        """
        if self.weigh == "units" or not any(self.counts[1:]) or not design.unpaired > 0.0:
            return math.nan
        return design.variance / design.unpaired

    def notes(self) -> tuple[str, ...]:
        """What to watch out for."""
        shared, only_x, only_y = self.counts
        notes = []
        if self.weigh == "units":
            if only_x + only_y:
                verb = "unit has" if only_x + only_y == 1 else "units have"
                out = "is" if only_x + only_y == 1 else "are"
                notes.append(
                    f"{only_x + only_y:,} {verb} values on one side only and {out} left out"
                )
            if shared < FEW_GROUPS:
                notes.append(
                    f"only {shared} shared units: with fewer than {FEW_GROUPS} the p-value and "
                    "intervals are rough"
                )
            return tuple(notes)
        if min(shared + only_x, shared + only_y) < FEW_GROUPS:
            notes.append(
                f"only {shared + only_x} and {shared + only_y} units: with fewer than "
                f"{FEW_GROUPS} on a side the p-value and intervals are rough"
            )
        notes += filter(None, (self._unlike(side) for side in (self.x, self.y)))
        return tuple(dict.fromkeys(notes))

    def _unlike(self, side: UnitSide) -> str:
        """A note that names a unit with far more values than the others; empty without one."""
        counts = np.bincount(side.codes, minlength=self.labels.size)
        largest, total = int(counts.argmax()), int(counts.sum())
        typical = float(np.median(counts[counts > 0]))
        if counts[largest] <= 0.5 * total and counts[largest] < UNLIKE * typical:
            return ""
        return (
            f"unit {str(self.labels[largest])[:40]!r} has {counts[largest]:,} of {total:,} values "
            "of one side and outweighs the others: weigh='units' weighs all units alike"
        )


def _least_tails(x: UnitSums, y: UnitSums) -> Tails:
    """The shares of sign flips, if t does not know how few signs there are; else 0.

    If no unit changed, its two sides could be exchanged. That changes the sign of its part of D.
    """
    n, m = x.size, y.size
    parts = x.psi / n - y.psi / m
    rounding = NO_PSI * float(np.abs(x.psi).sum() / n + np.abs(y.psi).sum() / m)
    differ = np.abs(parts) > rounding
    count = int(differ.sum())
    if count and float(np.ptp(parts)) <= rounding:  # all alike: one choice of signs, of 2^G
        share = 0.5 ** min(float(count), 1074.0)
        return Tails(share, 1.0) if parts[0] > 0.0 else Tails(1.0, share)
    if not count:
        return Tails(1.0, 1.0)
    if count > FEW_SIGNS or count == parts.size:
        return Tails(0.0, 0.0)
    return Tails(*flipped_tails(parts[differ], np.ones(count)))


def compare_units(
    x: npt.NDArray[Any],
    y: npt.NDArray[Any],
    groups: tuple[SampleGroups, SampleGroups],
    options: Options,
) -> Outcome:
    """The test of two one-dimensional samples in which equal labels are one unit."""
    weigh = options.weigh or "units"
    _require_known(options, weigh)
    labels, codes = common_codes(groups, (x.size, y.size))
    missing = [np.isnan(a) for a in (x, y)]
    if stopped_by_nan(int(sum(gone.sum() for gone in missing)), options):
        return NoOutcome(options.alternative)
    values = [a[~gone].astype(np.float64) for a, gone in zip((x, y), missing, strict=True)]
    codes = [c[~gone] for c, gone in zip(codes, missing, strict=True)]
    units = _weighed(values, codes, labels, weigh)
    sides = _sides(units, options)
    outcome = compare_sides(*sides, replace(options, method=None), units.effect)
    if options.method is None or not isinstance(outcome, ExactOutcome):
        return outcome
    of_x, of_y = (side.sums(outcome.witness, units.labels.size) for side in (units.x, units.y))
    parts = of_x.psi / of_x.size - of_y.psi / of_y.size
    ones = np.ones(parts.size, dtype=np.int64)
    return replace(outcome, pvalue=flip_share(parts, ones, options.alternative, options.method))


def _require_known(options: Options, weigh: str) -> None:
    """Reject what units cannot do."""
    if options.estimator == "riemann":
        raise ValueError("paired=True needs estimator='exact'")
    if options.method is None:
        return
    if not options.label_free:
        raise ValueError("units can be resampled by a PermutationMethod (sign flips) only")
    if weigh == "values":
        raise ValueError(
            "sign flips exchange the two sides of a unit, so both must weigh the same: "
            "use weigh='units'"
        )


def common_codes(
    groups: tuple[SampleGroups, SampleGroups], sizes: tuple[int, int]
) -> tuple[npt.NDArray[Any], list[Index]]:
    """The labels of both samples in order, and the number of each value's label."""
    given = [checked_labels(g, n, name) for g, n, name in zip(groups, sizes, "xy", strict=True)]
    for labels, name in zip(given, "xy", strict=True):
        gone = int(_missing(labels).sum())
        if gone:
            raise ValueError(f"groups: {gone:,} labels of {name} are missing")
    kinds = [_kind(labels) for labels in given if labels.size]
    if len(set(kinds)) > 1:
        raise ValueError(f"groups: labels of x are {kinds[0]} and labels of y are {kinds[1]}")
    labels, codes = _numbered(np.concatenate(given))
    return labels, [codes[: sizes[0]], codes[sizes[0] :]]


def _numbered(given: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Index]:
    """The labels in order, and the number of each. Close integers need no sorting."""
    if given.size and given.dtype.kind in "iu":
        low, high = int(given.min()), int(given.max())
        if high - low <= 4 * given.size:
            away = (given - given.min()).astype(np.int64)
            there = np.bincount(away) > 0
            return np.flatnonzero(there) + low, (np.cumsum(there) - 1)[away]
    try:
        labels, codes = np.unique(given, return_inverse=True)
    except TypeError:
        raise ValueError("groups: all labels must be of one type") from None
    return labels, np.asarray(codes, dtype=np.int64).reshape(-1)


def _missing(labels: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which labels are None, NaN or NaT."""
    if labels.dtype.kind == "O":
        words = {"None", "nan", "NaT", "<NA>"}
        return np.array([not isinstance(v, str) and str(v) in words for v in labels], dtype=bool)
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels))
    if labels.dtype.kind in "mM":
        return np.asarray(np.isnat(labels))
    return np.zeros(labels.size, dtype=bool)


def _kind(labels: npt.NDArray[Any]) -> str:
    """What labels are, as far as it decides whether they can be equal."""
    kind = labels.dtype.kind
    if kind == "O":
        kind = np.asarray(labels[:1].tolist()).dtype.kind
    return {"U": "text", "S": "bytes", "M": "times", "m": "durations", "b": "true or false"}.get(
        kind, "numbers"
    )


def _weighed(
    values: list[Array], codes: list[Index], labels: npt.NDArray[Any], weigh: str
) -> Units:
    """Both sides with the weights that ``weigh`` asks for. Units without values are dropped."""
    there = [np.bincount(c, minlength=labels.size) > 0 for c in codes]
    both = there[0] & there[1]
    shared = int(both.sum())
    counts = shared, int(there[0].sum()) - shared, int(there[1].sum()) - shared
    _require_units(counts, weigh)
    kept = both if weigh == "units" else there[0] | there[1]
    number = np.cumsum(kept) - 1
    sides = []
    for v, c in zip(values, codes, strict=True):
        inside = kept[c]
        sides.append((v[inside], number[c[inside]]))
    total = 0.5 * sum(v.size for v, _ in sides)

    def weights(of: Index) -> Array:
        if weigh == "values":
            return np.ones(of.size)
        return (total / shared / np.bincount(of, minlength=shared))[of]

    x, y = (UnitSide(v, weights(of), of) for v, of in sides)
    every_x, every_y = (UnitSide(v, np.ones(v.size), c) for v, c in zip(values, codes, strict=True))
    return Units(x, y, labels[kept], counts, weigh, (every_x, every_y))


def _require_units(counts: tuple[int, int, int], weigh: str) -> None:
    """Reject samples without shared units, or with a single one."""
    shared, only_x, only_y = counts
    if not shared:
        raise ColumnError(
            "no unit is in both samples: units need the same labels there, or the samples are to "
            "be compared without pairing"
        )
    few = shared if weigh == "units" else shared + min(only_x, only_y)
    if few < 2:
        raise ColumnError(
            "only one unit is in both samples, and one unit shows no variance"
            if weigh == "units"
            else "one sample has a single unit, and one unit shows no variance"
        )


def _sides(units: Units, options: Options) -> tuple[Side, Side, float, Scale]:
    """Both sides for inference, their origin, and the width of ψ."""
    x, y = units.x, units.y
    scale = scale_asked(options)
    if options.witness is None and is_small(x.values.size, y.values.size):
        origin = float(origin_of(np.sort(x.values), np.sort(y.values)))
        atoms = _atoms(x, origin), _atoms(y, origin)
        shape = Shape(*shape_of(*atoms, 0.0, options.label_free))
        of_x, of_y = (side_of(a, float(a.weights.sum())) for a in atoms)
        return of_x, of_y, origin, scale_of(of_x, of_y, shape, scale)
    grid = grid_for(x.values, y.values, options.witness)
    if units.weigh == "values":
        summaries = Summary.of(x.values, grid), Summary.of(y.values, grid)
        of_x, of_y, fitted = fitted_sides(*summaries, scale, options.label_free)
        return of_x, of_y, grid.center, fitted
    binned = [WeightedBins.of(s.values, s.weights, grid) for s in (x, y)]
    of_x, of_y = map(_of_bins, binned)
    fit = partial(scale_of_bins, of_x, of_y, (binned[0].within, binned[1].within))
    return of_x, of_y, grid.center, fit(grid.unit, scale, options.label_free)


def _atoms(side: UnitSide, origin: float) -> Atoms:
    """Weighted values as sorted atoms. Equal values share an atom."""
    values, at, counts = np.unique(side.values, return_inverse=True, return_counts=True)
    weights = by_unit(at.reshape(-1), side.weights, values.size)
    with np.errstate(over="ignore"):
        offset = values - origin
    if not np.array_equal(np.isinf(offset), np.isinf(values)):
        raise ColumnError(TOO_FAR_APART)
    return Atoms(offset, weights, (counts > 1).astype(np.float64))


def _of_bins(bins: WeightedBins) -> Side:
    """Weighted bins as a side."""
    size = float(bins.moments.counts.sum()) + bins.minus_inf + bins.plus_inf
    return Side(*bins.moments, bins.minus_inf, bins.plus_inf, size)
