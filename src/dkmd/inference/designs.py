"""The test of a design: values with weights, covariates or strata, with or without units.

The raw test comes first. Its ψ, width and centre serve the adjusted test too.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.inference.adjusted import AdjustedPair
from dkmd.inference.adjusting import ENOUGH, Explained, Powers, adjust, notes_on, skewness_of
from dkmd.inference.categories import category_pvalue
from dkmd.inference.covariates import Known
from dkmd.inference.cross import Cross, Model
from dkmd.inference.crossed_test import compare_crossed
from dkmd.inference.groups import (
    Clusters,
    Effect,
    GroupSums,
    SampleGroups,
    checked_labels,
    group_codes,
)
from dkmd.inference.known_columns import Index, Prepared, prepare
from dkmd.inference.one_test import (
    compare_grouped,
    compare_sides,
    compare_values,
    grid_for,
    is_small,
    stopped_by_nan,
    too_small,
)
from dkmd.inference.options import Options, check_options
from dkmd.inference.pair import Pair
from dkmd.inference.paired_design import PairedUnits
from dkmd.inference.result import ExactOutcome, NoOutcome, Outcome
from dkmd.inference.units import compare_units
from dkmd.inference.weighted_sides import Weighted, weighted_sides
from dkmd.inference.weights import Weights, are_alike, scaled
from dkmd.statistic.witness import Witness

NO_METHOD = "weights, covariates and strata cannot be combined with a resampling method"

WEIGHTS_OR_PAIRS = (
    "give weights or pairs, not both: pairs are weighed by their units (weigh='units')"
)


class Asked(NamedTuple):
    """Covariates, strata, weights and counts, as given."""

    covariate: Any = None
    strata: Any = None
    randomized: bool = False
    weights: Any = None
    counts: Any = None

    @property
    def nothing(self) -> bool:
        """Whether a plain test was asked for."""
        rest = (self.covariate, self.strata, self.weights, self.counts)
        return all(each is None for each in rest)


class Given(NamedTuple):
    """What users know about values beyond groups."""

    known: Known | None = None
    weights: Weights | None = None
    checked: bool = True  # whether covariates are compared between the sides

    def kept(self, rows: tuple[npt.NDArray[Any], npt.NDArray[Any]]) -> Given:
        """The same for some rows of x and y."""
        x, y = rows
        weights = self.weights
        if weights is not None:
            weights = Weights(weights.x[x], weights.y[y])
        return Given(None if self.known is None else self.known.kept(rows), weights, self.checked)


Labels = tuple[SampleGroups, SampleGroups]


def compare_designed(
    x: npt.NDArray[Any], y: npt.NDArray[Any], groups: Labels | None, options: Options, given: Given
) -> Outcome:
    """The test of two one-dimensional samples with weights, covariates or strata."""
    _require_known(options, given)
    plain = groups is None and given.weights is None and options.weigh is None
    if plain and given.known is not None and not is_small(x.size, y.size):
        return _compare_large(x, y, options, given)
    missing = [np.isnan(side) for side in (x, y)]
    if stopped_by_nan(int(sum(gone.sum() for gone in missing)), options):
        return NoOutcome(options.alternative)
    rows = ~missing[0], ~missing[1]
    weighed = _weighed(x, y, given)
    known = None
    if given.known is not None:  # rows without an outcome say where the covariate lies, too
        known = prepare(given.known.kept(weighed), x[weighed[0]], y[weighed[1]]).looked_at()
        known = known.kept([r[w] for r, w in zip(rows, weighed, strict=True)])
    rows = rows[0] & weighed[0], rows[1] & weighed[1]
    if groups is None and options.weigh is not None:
        if x.size != y.size:
            raise ValueError(f"pairs need samples of one size, got {x.size} and {y.size}")
        groups = np.arange(x.size), np.arange(y.size)
    labels = None
    if groups is not None:
        label_x, label_y = (
            checked_labels(g, side.size, name)[kept]
            for g, side, name, kept in zip(groups, (x, y), "xy", rows, strict=True)
        )
        labels = label_x, label_y
    one, two = (
        side.astype(np.float64, copy=False) if kept.all() else side[kept].astype(np.float64)
        for side, kept in zip((x, y), rows, strict=True)
    )
    values = one, two
    if min(side.size for side in values) < 2:
        return too_small(options)
    return _compared(values, labels, options, given.kept(rows), known)


def _weighed(x: npt.NDArray[Any], y: npt.NDArray[Any], given: Given) -> tuple[Mask, Mask]:
    """The rows that have a weight."""
    if given.weights is None:
        return np.ones(x.size, dtype=bool), np.ones(y.size, dtype=bool)
    return given.weights.x > 0.0, given.weights.y > 0.0


Mask = npt.NDArray[np.bool_]


def _require_known(options: Options, given: Given) -> None:
    if options.estimator == "riemann":
        raise ValueError("weights, covariates and strata need estimator='exact'")
    if options.method is not None:
        raise ValueError(NO_METHOD)
    if options.weigh is not None and given.weights is not None:
        raise ValueError(WEIGHTS_OR_PAIRS)


Values = tuple[Array, Array]


def _compared(
    values: Values, labels: Labels | None, options: Options, given: Given, known: Prepared | None
) -> Outcome:
    """The raw test, and the adjusted one if there are covariates."""
    design = _Design.of(values, labels, options, given.weights)
    outcome = design.raw(values, labels, options)
    if not isinstance(outcome, ExactOutcome):
        return outcome
    outcome = replace(outcome, effective=design.effective)
    if known is None:
        return outcome
    prepared = known.kept(design.rows)
    found = adjust(
        outcome, _cross(outcome, design, prepared), prepared.frame, partial(_left, design, prepared)
    )
    if options.weigh is None and given.checked:  # units on both sides balance themselves
        notes = _unbalanced(given, prepared, labels)
        found = replace(found, notes=(*found.notes, *notes))
    return found


def _left(
    design: _Design, prepared: Prepared, pair: AdjustedPair, explained: Explained
) -> tuple[Clusters, Model | None]:
    """The variance of what is left of ψ, by groups, units or weights; θ by units."""
    witness = replace(pair.witness, center=pair.origin + explained.center)
    e_x, e_y = (
        w * np.asarray(witness(side.values)) / witness.length
        for w, side in zip(explained.weights, (design.x, design.y), strict=True)
    )
    columns = prepared.x.columns, prepared.y.columns
    theta, model = explained.theta, None
    if design.paired is not None:
        theta, rank = design.paired.slopes(e_x, e_y, columns)
        assert pair.model is not None
        model = pair.model._replace(theta=theta, rank=rank)
    left = e_x - columns[0].explained(theta), e_y - columns[1].explained(theta)
    return design.clusters(*left), model


def _compare_large(
    x: npt.NDArray[Any], y: npt.NDArray[Any], options: Options, given: Given
) -> Outcome:
    """Many values that are independent and count the same: one pass for all sums."""
    assert given.known is not None
    prepared = prepare(given.known, x, y)
    grid = grid_for(x, y, options.witness)
    one, two = prepared.x.crossed(x, grid), prepared.y.crossed(y, grid)
    frame = prepared.frame.with_missing(one.missing + two.missing, x.size + y.size)
    if frame != prepared.frame:
        prepared = prepared.on(frame)
        one, two = prepared.x.crossed(x, grid), prepared.y.crossed(y, grid)
    if stopped_by_nan(one.summary.nan + two.summary.nan, options):
        return NoOutcome(options.alternative)

    def left(pair: AdjustedPair, explained: Explained) -> tuple[Clusters, None]:
        powers = []
        witness = replace(pair.witness, center=pair.origin + explained.center)
        for side, known, weight in zip((x, y), prepared[1:], explained.weights, strict=True):
            there = ~np.isnan(side)
            e = weight * np.asarray(witness(side[there])) / witness.length
            powers.append(Powers.of(e - known.kept(there).columns.explained(explained.theta)))
        none = Clusters.none(pair.x.size, pair.y.size)
        return none._replace(skewness=skewness_of(powers[0], powers[1])), None

    few = min(one.summary.size, two.summary.size) < ENOUGH
    return compare_crossed(one, two, frame, options, left if few else None, given.checked)


class _Design(NamedTuple):
    """Both sides as they are weighed, and what their variance needs."""

    x: Weighted
    y: Weighted
    rows: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]  # the values that are used
    codes: tuple[Index, Index] | None  # the groups of the values
    paired: PairedUnits | None  # the same units on both sides
    effective: tuple[float, float] | None  # sizes, with weights

    @classmethod
    def of(
        cls, values: Values, labels: Labels | None, options: Options, weights: Weights | None
    ) -> _Design:
        """The design of values without NaN."""
        every = np.ones(values[0].size, dtype=bool), np.ones(values[1].size, dtype=bool)
        if options.weigh is not None:
            assert labels is not None
            units = PairedUnits.of(labels, (values[0].size, values[1].size), options.weigh)
            x, y = (
                Weighted(v[r], w) for v, r, w in zip(values, units.rows, units.weights, strict=True)
            )
            return cls(x, y, units.rows, None, units, None)
        codes = None
        if labels is not None:
            codes = (
                group_codes(labels[0], values[0].size, "x"),
                group_codes(labels[1], values[1].size, "y"),
            )
        if weights is None or are_alike(weights):
            x, y = (Weighted(v, np.ones(v.size)) for v in values)
            return cls(x, y, every, codes, None, None)
        x, y = (Weighted(v, scaled(w)) for v, w in zip(values, weights, strict=True))
        sizes = float(x.weights.sum()), float(y.weights.sum())
        return cls(x, y, every, codes, None, sizes)

    @property
    def equal(self) -> bool:
        """Whether all values count the same."""
        return self.paired is None and self.effective is None

    def raw(self, values: Values, labels: Labels | None, options: Options) -> Outcome:
        """The test without an adjustment."""
        if self.paired is not None:
            assert labels is not None
            return compare_units(values[0], values[1], labels, options)
        if self.effective is None:
            if labels is None:
                return compare_values(values[0], values[1], options)
            return compare_grouped(values[0], values[1], labels, options)
        return compare_sides(*weighted_sides(self.x, self.y, options), options, self._weighted)

    def _weighted(self, witness: Witness, _pair: Pair) -> Effect:
        """What weights do to the raw test."""
        e = [np.asarray(witness(s.values)) / witness.length for s in (self.x, self.y)]
        return Effect(self.clusters(e[0], e[1]))

    def clusters(self, e_x: Array, e_y: Array) -> Clusters:
        """The effect on the variance of e, of which D is the difference of means."""
        if self.paired is not None:
            return self.paired.clusters(e_x, e_y)
        n, m = float(self.x.weights.sum()), float(self.y.weights.sum())
        if self.codes is None and self.effective is None:
            return Clusters.none(n, m)._replace(
                skewness=skewness_of(Powers.of(e_x), Powers.of(e_y))
            )
        sums = [
            _group_sums(side, e, None if self.codes is None else self.codes[i])
            for i, (side, e) in enumerate(((self.x, e_x), (self.y, e_y)))
        ]
        return Clusters.of(sums[0], sums[1])


def _group_sums(side: Weighted, e: Array, codes: Index | None) -> GroupSums:
    """Sums over groups; without groups, each value is one that has its weight."""
    weights, weighted = side.weights, side.weights * e
    squares = float(weighted @ e)
    if codes is None:
        return GroupSums.of(weights, weighted, squares)
    count, sums = (np.bincount(codes, part).astype(np.float64) for part in (weights, weighted))
    return GroupSums.of(count, sums, squares)


def _unbalanced(given: Given, prepared: Prepared, labels: Labels | None) -> list[str]:
    """Notes on covariates and strata that differ between the sides beyond chance."""
    known = given.known
    assert known is not None
    pvalues: dict[str, float] = {}
    alone = labels is None and given.weights is None
    for each in known.covariates:
        if alone:
            found = compare_values(each.x, each.y, BALANCE)
        else:
            rest = Given(None, given.weights)
            found = compare_designed(each.x, each.y, labels, BALANCE, rest)
        pvalues[each.name] = found.pvalue
    for i, factor in enumerate(prepared.frame.factors if alone else ()):
        counts = [
            np.bincount(side.codes[i], minlength=factor.columns + 1)
            for side in (prepared.x, prepared.y)
        ]
        pvalues[factor.name] = category_pvalue(counts[0], counts[1])
    return notes_on(pvalues)


BALANCE = check_options(None, None, "exact", "two-sided", None, "omit")
"""How covariates of both sides are compared."""


def _cross(raw: ExactOutcome, design: _Design, prepared: Prepared) -> tuple[Cross, Cross]:
    """The sums of g over the atoms of both sides."""
    pair, (x, y) = raw.pair, (design.x, design.y)
    sides = (pair.x, x, prepared.x), (pair.y, y, prepared.y)
    if not pair.fixed and is_small(x.values.size, y.values.size):
        one, two = (
            Cross.of_atoms(side, of.values - pair.origin, of.weights, known.columns)
            for side, of, known in sides
        )
        return one, two
    grid = grid_for(x.values, y.values, pair.witness if pair.fixed else None)
    if design.equal:
        one, two = (Cross.of_crossed(s, known.crossed(of.values, grid)) for s, of, known in sides)
        return one, two
    one, two = (
        Cross.of_bins(side, of.values, of.weights, known.columns, grid) for side, of, known in sides
    )
    return one, two
