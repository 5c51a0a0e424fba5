"""The test of a design: values with weights, covariates or strata, with or without units.

The raw test comes first. Its ψ, width and centre serve the adjusted test too.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.inference.adjusted import AdjustedPair, Cross, Model
from dkmd.inference.categories import category_pvalue
from dkmd.inference.covariates import Columns, Index, Known, Prepared, prepare
from dkmd.inference.groups import (
    Clusters,
    Effect,
    GroupSums,
    SampleGroups,
    checked_labels,
    group_codes,
)
from dkmd.inference.intervals import balanced_shift
from dkmd.inference.one_test import (
    compare_grouped,
    compare_sides,
    compare_summaries,
    compare_values,
    grid_for,
    is_small,
    stopped_by_nan,
    too_small,
)
from dkmd.inference.options import Options, check_options
from dkmd.inference.pair import Pair
from dkmd.inference.paired_design import PairedUnits
from dkmd.inference.result import Adjustment, ExactOutcome, NoOutcome, Outcome
from dkmd.inference.sample_ratio import UNLIKELY
from dkmd.inference.tails import relabelled_skewness
from dkmd.inference.units import compare_units
from dkmd.inference.weighted_sides import Weighted, weighted_sides
from dkmd.inference.weights import Weights, are_alike, scaled
from dkmd.statistic.witness import Witness

NO_METHOD = "weights, covariates and strata cannot be combined with a resampling method"


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
    missing = [np.isnan(side) for side in (x, y)]
    if stopped_by_nan(int(sum(gone.sum() for gone in missing)), options):
        return NoOutcome(options.alternative)
    rows = ~missing[0], ~missing[1]
    if given.weights is not None:
        rows = rows[0] & (given.weights.x > 0.0), rows[1] & (given.weights.y > 0.0)
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
    return _compared(values, labels, options, given.kept(rows))


def _require_known(options: Options, given: Given) -> None:
    if options.estimator == "riemann":
        raise ValueError("weights, covariates and strata need estimator='exact'")
    if options.method is not None:
        raise ValueError(NO_METHOD)
    if options.weigh is not None and given.weights is not None:
        raise ValueError(
            "give weights or pairs, not both: pairs are weighed by their units (weigh='units')"
        )


Values = tuple[Array, Array]


def _compared(values: Values, labels: Labels | None, options: Options, given: Given) -> Outcome:
    """The raw test, and the adjusted one if there are covariates."""
    design = _Design.of(values, labels, options, given.weights)
    prepared = None
    if given.known is not None:
        prepared = prepare(given.known.kept(design.rows), design.x.values, design.y.values)
    outcome = design.raw(values, labels, options)
    if not isinstance(outcome, ExactOutcome):
        return outcome
    outcome = replace(outcome, effective=design.effective)
    if prepared is None or given.known is None:
        return outcome
    found = _adjusted(outcome, design, prepared, given.known.names)
    if options.weigh is None and given.checked:  # units on both sides balance themselves
        notes = _unbalanced(given, prepared, labels)
        found = replace(found, notes=(*found.notes, *notes))
    return found


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
    def alone(self) -> bool:
        """Whether all values are independent and count the same."""
        return self.codes is None and self.paired is None and self.effective is None

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
            return Clusters.none(n, m)._replace(skewness=_skewness((e_x, e_y), n, m))
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
    for each, binned in zip(known.covariates, prepared.summaries, strict=True):
        if not alone:
            rest = Given(None, given.weights)
            found = compare_designed(each.x, each.y, labels, BALANCE, rest)
        elif binned is None:
            found = compare_values(each.x, each.y, BALANCE)
        else:
            found = compare_summaries(*binned, BALANCE)
        pvalues[each.name] = found.pvalue
    if alone:
        for i, each in enumerate(known.strata):
            size = prepared.x.levels[i] + 1
            counts = [
                np.bincount(side.codes[i], minlength=size) for side in (prepared.x, prepared.y)
            ]
            pvalues[each.name] = category_pvalue(counts[0], counts[1])
    return [
        f"{name} differs between the sides (p = {p:.1g}), which chance hardly explains: check that "
        "units joined the sides by chance and that it was measured before"
        for name, p in pvalues.items()
        if p * len(pvalues) < UNLIKELY
    ]


BALANCE = check_options(None, None, "exact", "two-sided", None, "omit")
"""How covariates of both sides are compared."""


def _adjusted(
    raw: ExactOutcome, design: _Design, prepared: Prepared, names: tuple[str, ...]
) -> ExactOutcome:
    """The same comparison with its test adjusted for the columns."""
    notes = (*raw.notes, *prepared.notes)
    if not prepared.x.width or not math.isfinite(raw.test.center):
        return replace(raw, notes=notes)
    pair, columns = raw.pair, (prepared.x, prepared.y)
    cross = _cross(raw, design, columns)
    model = Model.of(*cross, (pair.x.size, pair.y.size))
    if not model.rank:
        return replace(raw, notes=notes)
    found = AdjustedPair(
        pair.x, pair.y, pair.witness, pair.origin, pair.fixed, None, pair.separation,
        pair.allowance, cross, model,
    )  # fmt: skip
    if design.alone and design.x.values.size + design.y.values.size > MANY:
        clusters = Clusters.none(pair.x.size, pair.y.size)
        return _outcome(raw, replace(found, clusters=clusters), names, notes)
    weights = pair.weights(raw.test.center)
    e_x, e_y = (
        w * np.asarray(raw.witness(side.values)) / raw.witness.length
        for w, side in zip(weights, (design.x, design.y), strict=True)
    )
    if design.paired is not None:
        model = model._replace(theta=design.paired.theta(e_x, e_y, columns))
        theta = model.theta
    elif math.isinf(pair.witness.bound):
        theta = _theta(model, design, (e_x, e_y), columns)
    else:
        theta = found.theta(raw.test.center)
    clusters = design.clusters(e_x - columns[0].explained(theta), e_y - columns[1].explained(theta))
    return _outcome(raw, replace(found, clusters=clusters, model=model), names, notes)


MANY = 200_000
"""With more values, the skewness under relabelling is that of ψ, not of what is left of ψ."""


def _outcome(
    raw: ExactOutcome, pair: AdjustedPair, names: tuple[str, ...], notes: tuple[str, ...]
) -> ExactOutcome:
    """The outcome of the adjusted test."""
    assert pair.model is not None
    assert pair.clusters is not None
    rank = pair.model.rank
    _require_room(rank, pair.clusters, pair.x.size, pair.y.size)
    test = pair.test(near=raw.test.center)
    gained = (raw.standard_error / test.standard_error) ** 2 if test.standard_error else math.inf
    return replace(
        raw,
        pair=pair,
        test=test,
        pvalue=test.pvalue(raw.alternative),
        shift=balanced_shift(pair, raw.shift),
        notes=notes,
        adjustment=Adjustment(names, int(rank), gained, raw),
    )


def _cross(
    raw: ExactOutcome, design: _Design, columns: tuple[Columns, Columns]
) -> tuple[Cross, Cross]:
    """The sums of g over the atoms of both sides."""
    pair, (x, y) = raw.pair, (design.x, design.y)
    sides = (pair.x, x, columns[0]), (pair.y, y, columns[1])
    if not pair.fixed and is_small(x.values.size, y.values.size):
        one, two = (
            Cross.of_atoms(side, of.values - pair.origin, of.weights, g) for side, of, g in sides
        )
        return one, two
    grid = grid_for(x.values, y.values, pair.witness if pair.fixed else None)
    one, two = (Cross.of_bins(side, of.values, of.weights, g, grid) for side, of, g in sides)
    return one, two


def _theta(
    model: Model, design: _Design, e: tuple[Array, Array], columns: tuple[Columns, Columns]
) -> Array:
    """θ at the centre: least squares of e on g within the sides."""
    products = np.zeros(model.apart.size)
    for side, of_side, g in zip((design.x, design.y), e, columns, strict=True):
        mean = float(side.weights @ of_side) / float(side.weights.sum())
        around = side.weights * (of_side - mean)
        for at, block in g.pieces():
            products += around[at] @ block
    return np.asarray(model.within @ products)


def _skewness(left: Values, n: float, m: float) -> float:
    """The skewness of D under relabelling of what is left of ψ."""
    both = np.concatenate(left)
    around = both - both.mean()
    second = float(around @ around) / both.size
    if not second > 1e-28:
        return 0.0
    third = float(around @ (around * around)) / both.size
    return float(relabelled_skewness(third / second**1.5, n, m))


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
