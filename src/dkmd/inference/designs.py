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
from dkmd.inference.covariates import Columns, Known, Prepared, prepare
from dkmd.inference.direct import small_sides
from dkmd.inference.groups import Clusters, Effect, SampleGroups, group_codes, note_on_few
from dkmd.inference.intervals import balanced_shift
from dkmd.inference.one_test import (
    Clustering,
    compare_sides,
    compare_summaries,
    is_small,
    stopped_by_nan,
    too_small,
)
from dkmd.inference.options import Options, check_options
from dkmd.inference.pair import Pair
from dkmd.inference.result import Adjustment, ExactOutcome, NoOutcome, Outcome
from dkmd.inference.sample_ratio import UNLIKELY
from dkmd.inference.scale import scale_of
from dkmd.inference.tails import relabelled_skewness
from dkmd.inference.unit_design import Design, Index, UnitSide
from dkmd.inference.units import Units, common_codes, weighed
from dkmd.inference.weighted_sides import WeightedSides, weighted_sides
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

    def kept(self, rows: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]) -> Given:
        """The same for some rows of x and y."""
        x, y = rows
        weights = None if self.weights is None else Weights(self.weights.x[x], self.weights.y[y])
        return Given(None if self.known is None else self.known.kept(rows), weights)


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
    values = x[rows[0]].astype(np.float64), y[rows[1]].astype(np.float64)
    if min(side.size for side in values) < 2:
        return too_small(options)
    labels = None
    if options.weigh is not None:
        labels = _unit_labels(groups, (x.size, y.size), rows)
    elif groups is not None:
        codes = [group_codes(g, a.size, s) for g, a, s in zip(groups, (x, y), "xy", strict=True)]
        labels = np.empty(0), [
            _renumbered(c[kept])
            for c, kept in zip(codes, rows, strict=True)
        ]
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


def _unit_labels(
    groups: Labels | None, sizes: tuple[int, int], rows: tuple[npt.NDArray[np.bool_], ...]
) -> tuple[npt.NDArray[Any], list[Index]]:
    """The labels of units; without groups, x[i] and y[i] are one unit."""
    if groups is None:
        if sizes[0] != sizes[1]:
            raise ValueError(f"pairs need samples of one size, got {sizes[0]} and {sizes[1]}")
        groups = np.arange(sizes[0]), np.arange(sizes[1])
    labels, codes = common_codes(groups, sizes)
    return labels, [c[kept] for c, kept in zip(codes, rows, strict=True)]


class _Sides(NamedTuple):
    """Both sides of a design with what their variance needs."""

    x: UnitSide
    y: UnitSide
    sides: WeightedSides
    units: Units | None  # the same units on both sides
    clustered: bool  # whether groups, units or weights change the variance
    effective: tuple[float, float] | None

    def clusters(self, e_x: Array, e_y: Array) -> Clusters:
        """The effect on the variance of e, of which D is the difference of means."""
        if self.units is not None:
            of_x, of_y = self.unit_sums(e_x, e_y)
            return self.units.clusters(of_x, of_y, Design.of(of_x, of_y, 1.0, 1.0))
        sums = [side.sums_of(e, _count(side)) for side, e in ((self.x, e_x), (self.y, e_y))]
        return Clusters.of(sums[0].grouped(), sums[1].grouped())

    def unit_sums(self, e_x: Array, e_y: Array) -> tuple[Any, Any]:
        """The sums of e over units on both sides."""
        assert self.units is not None
        count = self.units.labels.size
        return self.x.sums_of(e_x, count), self.y.sums_of(e_y, count)

    def effect(self, witness: Witness, pair: Pair) -> Effect:
        """The effect on the raw test."""
        if self.units is not None:
            return self.units.effect(witness, pair)
        sums = [side.sums(witness, _count(side)).grouped() for side in (self.x, self.y)]
        note = note_on_few(*sums) if self.effective is None else ""
        return Effect(Clusters.of(*sums), (note,) if note else ())

    @property
    def grouped(self) -> Clustering | None:
        """``effect`` if there is one."""
        return self.effect if self.clustered else None


def _count(side: UnitSide) -> int:
    return int(side.codes.max(initial=-1)) + 1


def _compared(
    values: tuple[Array, Array],
    labels: tuple[npt.NDArray[Any], list[Index]] | None,
    options: Options,
    given: Given,
) -> Outcome:
    """The raw test, and the adjusted one if there are covariates."""
    design, rows = _sides_of(values, labels, options, given.weights)
    prepared = None
    if given.known is not None:
        known = given.known if rows is None else given.known.kept(rows)
        prepared = prepare(known, design.x.values, design.y.values)
    outcome = compare_sides(*design.sides.compared, options, design.grouped)
    if not isinstance(outcome, ExactOutcome):
        return outcome
    outcome = replace(outcome, effective=design.effective)
    if prepared is None or given.known is None:
        return outcome
    found = _adjusted(outcome, design, prepared, given.known.names)
    if options.weigh is None:  # units on both sides balance themselves
        notes = _unbalanced(given, prepared, labels)
        found = replace(found, notes=(*found.notes, *notes))
    return found


def _unbalanced(
    given: Given, prepared: Prepared, labels: tuple[npt.NDArray[Any], list[Index]] | None
) -> list[str]:
    """Notes on covariates and strata that differ between the sides beyond chance."""
    known = given.known
    assert known is not None
    pvalues: dict[str, float] = {}
    alone = labels is None and given.weights is None
    for each, (name, x, y) in zip(known.covariates, prepared.summaries, strict=True):
        if alone:
            pvalues[name] = compare_summaries(x, y, BALANCE).pvalue
            continue
        there = ~np.isnan(each.x), ~np.isnan(each.y)
        marks = None
        if labels is not None:
            marks = labels[0], [_renumbered(c[t]) for c, t in zip(labels[1], there, strict=True)]
        covariate = each.x[there[0]], each.y[there[1]]
        if min(covariate[0].size, covariate[1].size) > 1:
            weights = Given(None, given.weights).kept(there)
            pvalues[name] = _compared(covariate, marks, BALANCE, weights).pvalue
    if alone:
        for i, each in enumerate(known.strata):
            counts = (np.bincount(side.codes[i]) for side in (prepared.x, prepared.y))
            longest = max(prepared.x.levels[i], prepared.y.levels[i]) + 1
            x, y = (np.pad(c, (0, longest - c.size)) for c in counts)
            pvalues[each.name] = category_pvalue(x, y)
    return [
        f"{name} differs between the sides (p = {p:.1g}), which chance hardly explains: check that "
        "units joined the sides by chance and that it was measured before"
        for name, p in pvalues.items()
        if p * len(pvalues) < UNLIKELY
    ]


def _renumbered(codes: Index) -> Index:
    return np.unique(codes, return_inverse=True)[1].reshape(-1)


BALANCE = check_options(None, None, "exact", "two-sided", None, "omit")
"""How covariates of both sides are compared."""


def _sides_of(
    values: tuple[Array, Array],
    labels: tuple[npt.NDArray[Any], list[Index]] | None,
    options: Options,
    weights: Weights | None,
) -> tuple[_Sides, tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]] | None]:
    """The sides of a design, and the rows that they use if units were left out."""
    if options.weigh is not None:
        assert labels is not None
        units = weighed(list(values), labels[1], labels[0], options.weigh)
        sides = weighted_sides(units.x, units.y, options.weigh == "values", options)
        return _Sides(units.x, units.y, sides, units, True, None), units.rows
    codes = [np.arange(v.size) for v in values] if labels is None else labels[1]
    effective = None
    weighing = [np.ones(v.size) for v in values]
    if weights is not None and not are_alike(weights):
        weighing = [scaled(weights.x), scaled(weights.y)]
        effective = float(weighing[0].sum()), float(weighing[1].sum())
    x, y = (UnitSide(v, w, c) for v, w, c in zip(values, weighing, codes, strict=True))
    if effective is None and options.witness is None and is_small(x.values.size, y.values.size):
        small = small_sides(x.values, y.values, options.label_free)
        fitted = scale_of(small.x, small.y, small.shape, options.scale)
        sides = WeightedSides(small.x, small.y, small.origin, fitted)
    else:
        sides = weighted_sides(x, y, effective is None, options)
    clustered = labels is not None or effective is not None
    return _Sides(x, y, sides, None, clustered, effective), None


def _adjusted(
    raw: ExactOutcome, design: _Sides, prepared: Prepared, names: tuple[str, ...]
) -> ExactOutcome:
    """The same comparison with its test adjusted for the columns."""
    notes = (*raw.notes, *prepared.notes)
    if not prepared.x.count or not math.isfinite(raw.test.center):
        return replace(raw, notes=notes)
    cross = tuple(_cross(design, i, (prepared.x, prepared.y)[i]) for i in range(2))
    pair = raw.pair
    model = Model.of(cross[0], cross[1], (pair.x.size, pair.y.size))
    if not model.rank:
        return replace(raw, notes=notes)
    psi = [np.asarray(raw.witness(s.values)) / raw.witness.length for s in (design.x, design.y)]
    weights = pair.weights(raw.test.center)
    if design.units is not None:
        model = model._replace(theta=_theta_of_units(design, prepared, psi, weights))
    theta = model.theta if model.theta.size else _theta(model, design, prepared, psi, weights)
    left = [
        w * e - g.explained(theta)
        for w, e, g in zip(weights, psi, (prepared.x, prepared.y), strict=True)
    ]
    n, m = pair.x.size, pair.y.size
    if design.clustered:
        clusters = design.clusters(left[0], left[1])
    else:
        clusters = Clusters.none(n, m)._replace(skewness=_skewness(left, n, m))
    _require_room(model.rank, clusters, n, m)
    found = AdjustedPair(
        pair.x, pair.y, pair.witness, pair.origin, pair.fixed, clusters, pair.separation,
        pair.allowance, (cross[0], cross[1]), model,
    )  # fmt: skip
    test = found.test(near=raw.test.center)
    gained = (raw.standard_error / test.standard_error) ** 2 if test.standard_error else math.inf
    adjustment = Adjustment(names, int(model.rank), gained, raw)
    return replace(
        raw,
        pair=found,
        test=test,
        pvalue=test.pvalue(raw.alternative),
        shift=balanced_shift(found, raw.shift),
        notes=notes,
        adjustment=adjustment,
    )


def _cross(design: _Sides, i: int, columns: Columns) -> Cross:
    """The sums of g over the atoms of one side."""
    side, of = (design.sides.x, design.x) if i == 0 else (design.sides.y, design.y)
    bins = design.sides.bins
    if bins is None:
        return Cross.of_atoms(side, of.values - design.sides.origin, of.weights, columns)
    numbers = bins.x if i == 0 else bins.y
    return Cross.of_bins(side, numbers, of.values, of.weights, columns, bins.grid)


def _theta(
    model: Model, design: _Sides, prepared: Prepared, psi: list[Array], weights: tuple[float, float]
) -> Array:
    """θ at the centre: least squares of e on g within the sides."""
    products = np.zeros(model.apart.size)
    for side, g, e, w in zip(
        (design.x, design.y), (prepared.x, prepared.y), psi, weights, strict=True
    ):
        around = side.weights * w * (e - float(side.weights @ e) / float(side.weights.sum()))
        for at, block in g.pieces():
            products += around[at] @ block
    return np.asarray(model.within @ products)


def _theta_of_units(
    design: _Sides, prepared: Prepared, psi: list[Array], weights: tuple[float, float]
) -> Array:
    """θ from the moves of D and of ḡx − ḡy by leaving out one unit at a time."""
    units = design.units
    assert units is not None

    def moves(e_x: Array, e_y: Array) -> Array:
        of_x, of_y = design.unit_sums(e_x, e_y)
        return np.asarray(of_x.moves() - of_y.moves())

    of_e = moves(weights[0] * psi[0], weights[1] * psi[1])
    columns = np.eye(prepared.x.count)
    of_g = np.column_stack(
        [moves(prepared.x.explained(one), prepared.y.explained(one)) for one in columns]
    )
    return np.asarray(np.linalg.lstsq(of_g, of_e, rcond=1e-10)[0])


def _skewness(left: list[Array], n: float, m: float) -> float:
    """The skewness of D under relabelling of what is left of ψ."""
    both = np.concatenate(left)
    around = both - both.mean()
    second = float(around @ around) / both.size
    if not second > 1e-28:
        return 0.0
    return float(relabelled_skewness(float(around @ (around * around)) / both.size / second**1.5, n, m))


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
