"""The same units on both sides: hosts before and after, users in two months.

Equal labels in x and y are one unit. What its values on both sides share cancels in the influence
of the unit on D. One variance covers every design (``unit_design``). Values are in memory here, or
summed up per unit elsewhere (``unit_streams``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import spread
from dkmd.base.errors import TOO_FAR_APART, ColumnError
from dkmd.binned.filling import value_range
from dkmd.binned.summary import Atoms, Summary
from dkmd.binned.unit_bins import UnitSide, unit_bins
from dkmd.binned.weighted import BinSums, WeightedBins
from dkmd.inference.direct import origin_of, side_of
from dkmd.inference.groups import FEW_GROUPS, Clusters, Effect, Pairing, SampleGroups
from dkmd.inference.one_sample import NO_PSI, flip_share, flip_tails
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
from dkmd.inference.unit_design import Design, UnitRows, UnitSums, UnitValues, reach, rows_of
from dkmd.inference.unit_labels import Numbered, common_codes
from dkmd.statistic.witness import Witness

NOTHING_DIFFERS = "no unit differs between the samples"

UNLIKE = 1_000.0
"""A unit with this many times the values of a typical unit is named."""


class KindsOfUnits(NamedTuple):
    """How many units there are: on both sides, in x only, in y only."""

    shared: int
    only_x: int
    only_y: int

    @classmethod
    def of(cls, in_x: Array, in_y: Array) -> KindsOfUnits:
        """From the number of values of every unit on both sides."""
        there_x, there_y = in_x > 0, in_y > 0
        shared = int((there_x & there_y).sum())
        return cls(shared, int(there_x.sum()) - shared, int(there_y.sum()) - shared)

    def require(self, weigh: str) -> None:
        """Reject samples without shared units, or with a single one."""
        if not self.shared:
            raise ColumnError(
                "no unit is in both samples: give a unit the same label in both, or compare "
                "without pairing"
            )
        few = self.shared if weigh == "units" else self.shared + min(self.only_x, self.only_y)
        if few < 2:
            raise ColumnError(
                "only one unit is in both samples, and one unit shows no variance"
                if weigh == "units"
                else "one sample has a single unit, and one unit shows no variance"
            )


def value_weights(in_x: Array, in_y: Array, weigh: str) -> tuple[Array, Array]:
    """What a value of each unit weighs, on both sides; 0 for units that are left out.

    With "units", every shared unit has the same weight on both sides. All weights of a side add up
    to half the number of values.
    """
    if weigh == "values":
        return np.ones(in_x.size), np.ones(in_y.size)
    both = (in_x > 0) & (in_y > 0)
    unit = 0.5 * float(in_x[both].sum() + in_y[both].sum()) / float(both.sum())
    zero = np.zeros(in_x.size)
    return (
        np.divide(unit, in_x, out=zero.copy(), where=both),
        np.divide(unit, in_y, out=zero, where=both),
    )


@dataclass(frozen=True)
class Units:
    """Units with common numbers on two sides, wherever their values are, and how they are weighed.

    ``rows`` gives the sums over the units of both sides at a witness, and ``name`` the label of a
    unit. ``slopes`` gives the means of ψ' over all values of both sides, each with a weight of 1.
    """

    rows: Callable[[Witness], tuple[UnitRows, UnitRows]]
    name: Callable[[int], object]
    slopes: Callable[[Pair, float], tuple[float, float]]
    weigh: str

    def effect(self, witness: Witness, pair: Pair) -> Effect:
        """What the units do to the test of a pair at a witness, including its centre."""
        rows = self.rows(witness)
        in_x, in_y = (side.counts for side in rows)
        kinds = KindsOfUnits.of(in_x, in_y)
        kinds.require(self.weigh)
        of_x, of_y = self._weighed(rows)
        design = Design.of(of_x, of_y, *pair.weights(witness.center - pair.origin))
        inflation = design.inflation
        clusters = Clusters.of(of_x.grouped(), of_y.grouped())._replace(
            inflation_x=inflation, inflation_y=inflation, df=design.df
        )
        guard = self._guard(kinds, design)
        clusters = clusters._replace(relabelling=clusters.relabelling * guard)
        pairing = Pairing(*kinds, self.weigh, self._gain(design, witness, pair, rows))
        balanced = self.weigh == "units" or np.array_equal(of_x.weight, of_y.weight)
        least = _least_tails(of_x, of_y) if balanced else Tails(0.0, 0.0)
        notes = notes_on(kinds, self.weigh) + self._unlike(in_x, in_y)
        if min(least) >= 1.0:
            notes += (NOTHING_DIFFERS,)
        return Effect(clusters, notes, pairing, least)

    def _weighed(self, rows: tuple[UnitRows, UnitRows]) -> tuple[UnitSums, UnitSums]:
        """The sums over units with their weights, without units that are left out."""
        x, y = rows
        each_x, each_y = value_weights(x.counts, y.counts, self.weigh)
        of_x, of_y = x.weighed(each_x), y.weighed(each_y)
        kept = of_x.there | of_y.there
        if kept.all():
            return of_x, of_y
        return of_x.at(kept), of_y.at(kept)

    def flipped(self, witness: Witness) -> Array:
        """The part of each unit in D. Its sign changes if the two sides of the unit change."""
        of_x, of_y = self._weighed(self.rows(witness))
        return of_x.psi / of_x.size - of_y.psi / of_y.size

    def _gain(
        self, design: Design, witness: Witness, pair: Pair, rows: tuple[UnitRows, UnitRows]
    ) -> float:
        """How many times wider the interval of the shift is for all values by groups.

        Both widths come from the same ψ: the error of D over the slope of D in the shift.
        """
        n, m = pair.x.size, pair.y.size
        center = witness.center - pair.origin
        a, b = pair.slopes(center)
        slopes = (a, b) if self.weigh == "values" else self.slopes(pair, center)
        parts, freedoms = [], []
        for side, slope in zip(rows, slopes, strict=True):
            sums = side.grouped()
            if not slope > 0.0 or sums.groups < 2:
                return math.nan
            parts.append(sums.variance() / slope**2)
            freedoms.append(sums.df)
        if not a * b > 0.0:
            return math.nan
        wide = reach(sum(parts), float(satterthwaite(*parts, *freedoms)))
        return wide / (reach(design.variance, design.df) * (n * a + m * b) / ((n + m) * a * b))

    def _guard(self, kinds: KindsOfUnits, design: Design) -> float:
        """The factor by which sharing changes the variance of D under relabelling of units.

        NaN if all units are shared: Student's t alone holds its size there. With few units on one
        side it does not, and relabelling guards it, as it does without shared units.
        """
        if self.weigh == "units" or not any(kinds[1:]) or not design.unpaired > 0.0:
            return math.nan
        return design.variance / design.unpaired

    def _unlike(self, in_x: Array, in_y: Array) -> tuple[str, ...]:
        """Notes that name units with far more values than the others."""
        notes = []
        for counts in (in_x, in_y):
            largest, total = int(counts.argmax()), float(counts.sum())
            most, there = float(counts[largest]), counts[counts > 0.0]
            outweighs = self.weigh == "values" and most > 0.5 * total
            if not outweighs and most < UNLIKE * float(there.min()):
                continue  # the median is not smaller
            if not outweighs and most < UNLIKE * float(np.median(there)):
                continue
            told = (
                "and outweighs the others: weigh='units' weighs all units alike"
                if self.weigh == "values"
                else "and counts no more than a unit with few: weigh='values' weighs all values "
                "alike"
            )
            name = str(self.name(largest))[:40]
            notes.append(f"unit {name!r} has {most:,.0f} of {total:,.0f} values of one side {told}")
        return tuple(dict.fromkeys(notes))


def notes_on(kinds: KindsOfUnits, weigh: str) -> tuple[str, ...]:
    """What to watch out for: units that are left out, and too few units."""
    shared, only_x, only_y = kinds
    if weigh == "values":
        if min(shared + only_x, shared + only_y) >= FEW_GROUPS:
            return ()
        return (
            f"only {shared + only_x} and {shared + only_y} units: with fewer than "
            f"{FEW_GROUPS} on a side the p-value and intervals are rough",
        )
    notes = []
    if only_x + only_y:
        verb = "unit has" if only_x + only_y == 1 else "units have"
        out = "is" if only_x + only_y == 1 else "are"
        notes.append(f"{only_x + only_y:,} {verb} values on one side only and {out} left out")
    if shared < FEW_GROUPS:
        notes.append(
            f"only {shared} shared units: with fewer than {FEW_GROUPS} the p-value and "
            "intervals are rough"
        )
    return tuple(notes)


def _least_tails(x: UnitSums, y: UnitSums) -> Tails:
    """The shares of sign flips: lower bounds, because t does not know how few signs there are.

    If no unit changed, its two sides could be exchanged. That changes the sign of its part of D.
    """
    n, m = x.size, y.size
    parts = x.psi / n - y.psi / m
    rounding = NO_PSI * float(np.abs(x.psi).sum() / n + np.abs(y.psi).sum() / m)
    parts = parts[np.abs(parts) > rounding]
    return flip_tails(parts, np.ones(parts.size))


def compare_units(
    x: npt.NDArray[Any],
    y: npt.NDArray[Any],
    groups: tuple[SampleGroups, SampleGroups],
    options: Options,
) -> Outcome:
    """The test of two one-dimensional samples in which equal labels are one unit."""
    weigh = options.weigh or "units"
    require_known(options, weigh)
    known = common_codes(groups, (x.size, y.size))
    x, y = (np.ascontiguousarray(side, dtype=np.float64) for side in (x, y))
    held = _Held(x, y, known)
    if weigh == "units" and held.all_shared and not is_small(x.size, y.size):
        with suppress(_FoundNaN):
            return held.test(weigh, options)
    ranges = spread(value_range, (x, y), x.size + y.size)
    if any(math.isnan(end) for ends in ranges for end in ends):
        missing = np.isnan(x), np.isnan(y)
        if stopped_by_nan(int(missing[0].sum() + missing[1].sum()), options):
            return NoOutcome(options.alternative)
        x, y = x[~missing[0]], y[~missing[1]]
        held = _Held(x, y, known.kept(~missing[0], ~missing[1]))
    return held.test(weigh, options)


class _FoundNaN(Exception):  # noqa: N818
    """A value is NaN. Bins find that out, so many values are not looked at for this alone."""


class _Held:
    """The values of both sides in memory, and the numbers of their units."""

    def __init__(self, x: Array, y: Array, known: Numbered) -> None:
        self.x, self.y, self.known = x, y, known
        self._rows: tuple[Witness, tuple[UnitRows, UnitRows]] | None = None
        self.counts = known.counts()

    @property
    def all_shared(self) -> bool:
        """Whether no unit is on one side only."""
        return KindsOfUnits.of(*self.counts)[1:] == (0, 0)

    def test(self, weigh: str, options: Options) -> Outcome:
        """The test of units that are weighed in one way."""
        in_x, in_y = self.counts
        KindsOfUnits.of(in_x, in_y).require(weigh)
        sides = self._weighed(value_weights(in_x, in_y, weigh), weigh)
        of_x, of_y, origin, fitted = sides.fitted(options)
        units = Units(self.rows, self.known.labels.__getitem__, self.slopes, weigh)
        return tested_units(of_x, of_y, origin, fitted, units, options)

    def _weighed(self, each: tuple[Array, Array], weigh: str) -> _Weighed:
        """Both sides, where a value of unit g weighs ``each[g]``."""
        x, y = (
            UnitSide(values, codes, weights).kept(counts)
            for values, codes, weights, counts in zip(
                (self.x, self.y), self.known[:2], each, self.counts, strict=True
            )
        )
        return _Weighed(x, y, weigh)

    def rows(self, witness: Witness) -> tuple[UnitRows, UnitRows]:
        """The sums over units at a witness."""
        if self._rows is None or self._rows[0] != witness:
            sides = zip((self.x, self.y), self.known[:2], self.counts, strict=True)
            x, y = rows_of([UnitValues(*side) for side in sides], witness)
            self._rows = witness, (x, y)
        return self._rows[1]

    def slopes(self, pair: Pair, center: float) -> tuple[float, float]:
        """The means of ψ' over all values of both sides."""
        x, y = self.rows(replace(pair.witness, center=pair.origin + center))
        return x.slope / self.x.size, y.slope / self.y.size


class _Weighed(NamedTuple):
    """Both sides as they are weighed, without values of units that are left out."""

    x: UnitSide
    y: UnitSide
    weigh: str

    def fitted(self, options: Options) -> tuple[Side, Side, float, Scale]:
        """Both sides for inference, their origin, and the width of ψ."""
        x, y = self.x, self.y
        scale = scale_asked(options)
        if options.witness is None and is_small(x.values.size, y.values.size):
            origin = float(origin_of(np.sort(x.values), np.sort(y.values)))
            atoms = tuple(_atoms(s.values, s.each[s.codes], origin) for s in (x, y))
            shape = Shape(*shape_of(atoms[0], atoms[1], 0.0, options.label_free))
            of_x, of_y = (side_of(a, float(a.weights.sum())) for a in atoms)
            return of_x, of_y, origin, scale_of(of_x, of_y, shape, scale)
        grid = grid_for(x.values, y.values, options.witness)
        if self.weigh == "values":
            summaries = Summary.of(x.values, grid), Summary.of(y.values, grid)
            of_x, of_y, fitted = fitted_sides(*summaries, scale, options.label_free)
            return of_x, of_y, grid.center, fitted
        bins = unit_bins((x, y), grid)
        if bins is None:
            if any(np.isnan(side.values).any() for side in (x, y)):
                raise _FoundNaN
            bins = [BinSums.of_units(*side, grid).times(1.0, grid) for side in (x, y)]
        of_x, of_y, fitted = fitted_bins((bins[0], bins[1]), grid.unit, options)
        return of_x, of_y, grid.center, fitted


def tested_units(
    x: Side, y: Side, origin: float, fitted: Scale, units: Units, options: Options
) -> Outcome:
    """The test of two weighted sides and their units."""
    outcome = compare_sides(x, y, origin, fitted, replace(options, method=None), units.effect)
    if options.method is None or not isinstance(outcome, ExactOutcome):
        return outcome
    parts = units.flipped(outcome.witness)
    ones = np.ones(parts.size, dtype=np.int64)
    return replace(outcome, pvalue=flip_share(parts, ones, options.alternative, options.method))


def require_known(options: Options, weigh: str) -> None:
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


def fitted_bins(
    bins: tuple[WeightedBins, WeightedBins], unit: float, options: Options
) -> tuple[Side, Side, Scale]:
    """Weighted bins as sides, and the width of ψ."""
    of_x, of_y = map(_of_bins, bins)
    within = bins[0].within, bins[1].within
    scale = scale_of_bins(of_x, of_y, within, unit, scale_asked(options), options.label_free)
    return of_x, of_y, scale


def _atoms(given: Array, each: Array, origin: float) -> Atoms:
    """Weighted values as sorted atoms. Equal values share an atom."""
    values, at, counts = np.unique(given, return_inverse=True, return_counts=True)
    weights = np.bincount(at.reshape(-1), each, values.size).astype(np.float64)
    with np.errstate(over="ignore"):
        offset = values - origin
    if not np.array_equal(np.isinf(offset), np.isinf(values)):
        raise ColumnError(TOO_FAR_APART)
    return Atoms(offset, weights, (counts > 1).astype(np.float64))


def _of_bins(bins: WeightedBins) -> Side:
    """Weighted bins as a side."""
    size = float(bins.moments.counts.sum()) + bins.minus_inf + bins.plus_inf
    return Side(*bins.moments, bins.minus_inf, bins.plus_inf, size)
