"""The door of designs: two sides with all that belongs to their rows become a ``Pair``.

The sides, with their weights, give the plain test and its width. Every row is then scored, scores
are summed by unit (``stored``), and the sums say what the design does to the test (``units``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.bins.grid import Grid
from dkmd.inference.design.columns import (
    OUTCOME,
    Frame,
    Known,
    check_known,
    fit_covariate,
    fit_factor,
)
from dkmd.inference.design.guards import Drawn, Table, Weighings
from dkmd.inference.design.held import HeldRows
from dkmd.inference.design.labels import Coded, check_groups, numbered, numbered_alone
from dkmd.inference.design.means import INFINITE, MeanPair, linear_scores, with_cubes
from dkmd.inference.design.plain import FEW_ROWS, PlainTest, Sizes, plain_pair
from dkmd.inference.design.shared import DesignRule, Tables, kinds_of_labels, parts_of_units
from dkmd.inference.design.stored import RowSums, Stored, UnitTable
from dkmd.inference.design.units import Design, Left, PlainVariances, unbalanced
from dkmd.inference.design.weights import check_counts, check_weights, repeated
from dkmd.inference.test.options import Options
from dkmd.inference.test.pair import Pair, Studentized
from dkmd.inference.test.result import Pairing
from dkmd.inference.test.sides import side_sums
from dkmd.inference.test.tails import smooth_variances
from dkmd.inference.test.width import MULTIPLE
from dkmd.inference.test.witness_pair import WitnessPair

ENOUGH = FEW_ROWS // 2 + 1
"""With so many rows on both sides, the skewness under relabelling is that of Ψ, not of what is left
of Ψ. Either is at most 0.03 of that of single rows."""

NO_METHOD = "weights, covariates, strata and groups cannot be combined with a resampling method"

WEIGHTS_OR_PAIRS = (
    "give weights or pairs, not both: pairs are weighed by their units (weigh='units')"
)

INFINITE_COVARIATE = "a mean needs finite covariates; the shift does not"

TOO_FEW, ALL_EQUAL = "too few", "all equal"
"""Why there is no test: a side has fewer than two rows, or all values are equal."""


class DesignArrays(NamedTuple):
    """What belongs to the rows of two arrays, checked."""

    groups: tuple[Any, Any] | None = None
    known: Known | None = None
    weights: tuple[Array, Array] | None = None
    counts: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None = None


def check_design(
    sizes: tuple[int, int],
    groups: Any = None,
    covariate: Any = None,
    strata: Any = None,
    randomized: bool = False,
    weights: Any = None,
    counts: Any = None,
) -> DesignArrays:
    """The arguments of ``dkmd_2samp``, checked."""
    return DesignArrays(
        None if groups is None else check_groups(groups),
        check_known(covariate, strata, randomized, sizes),
        check_weights(weights, sizes),
        check_counts(counts, sizes),
    )


class Adjusted(NamedTuple):
    """What a comparison was adjusted for, and what that was worth."""

    names: tuple[str, ...]
    columns: int  # degrees of freedom that the adjustment cost
    worth: float  # variance without the adjustment over that with it: as good as so much more data


class Designed(NamedTuple):
    """The test of a design, or the reason why there is none."""

    pair: DesignedPair | None  # with the effect of the design
    raw: DesignedPair | None = None  # without the adjustment
    nothing: str = ""  # TOO_FEW or ALL_EQUAL, if there is no pair
    notes: tuple[str, ...] = ()
    pairing: Pairing | None = None
    adjustment: Adjusted | None = None
    effective: Sizes | None = None  # effective sizes, with weights
    units: tuple[int, int] | None = None  # units of x and of y, with labels
    parts: Array | None = None  # of each shared unit in T, for sign flips


DesignedPair = Pair | WitnessPair | MeanPair


def designed_pair(
    x: npt.NDArray[Any], y: npt.NDArray[Any], design: DesignArrays, options: Options
) -> Designed:
    """The test of two one-dimensional arrays with a design. NaN is left out."""
    return stored_pair(*held_sides(x, y, design, options), options)


def held_sides(
    x: npt.NDArray[Any], y: npt.NDArray[Any], design: DesignArrays, options: Options
) -> tuple[HeldRows, HeldRows]:
    """Both arrays with what belongs to their rows."""
    if options.weigh is not None and design.weights is not None:
        raise ValueError(WEIGHTS_OR_PAIRS)
    sizes = x.size, y.size
    units: list[Coded | None] = [None, None]
    if options.weigh is not None:
        groups = design.groups
        if groups is None:
            if x.size != y.size:
                raise ValueError(f"pairs need samples of one size, got {x.size} and {y.size}")
            groups = np.arange(x.size), np.arange(y.size)
        known = numbered(groups[0], groups[1], sizes)
        units = [Coded(known.x, known.labels), Coded(known.y, known.labels)]
    elif design.groups is not None:
        given = zip(design.groups, sizes, "xy", strict=True)
        units = [numbered_alone(*side) for side in given]
    rest = design.known or Known()
    sides = [
        HeldRows(
            values,
            None if design.weights is None else design.weights[i],
            None if design.counts is None else design.counts[i].astype(np.float64),
            units[i],
            {each.name: (each.x, each.y)[i] for each in rest.covariates},
            {each.name: (each.x, each.y)[i] for each in rest.strata},
        )
        for i, values in enumerate((x, y))
    ]
    if design.counts is not None and sides[0].size + sides[1].size <= FEW_ROWS:
        rows = repeated(design.counts)
        groups = design.groups
        if groups is not None:
            groups = np.asarray(groups[0])[rows[0]], np.asarray(groups[1])[rows[1]]
        again = DesignArrays(
            groups,
            None if design.known is None else design.known.kept(*rows),
            None
            if design.weights is None
            else tuple(w[r] for w, r in zip(design.weights, rows, strict=True)),  # type: ignore[arg-type]
        )
        return held_sides(x[rows[0]], y[rows[1]], again, options)
    return sides[0], sides[1]


def stored_pair(
    x: Stored,
    y: Stored,
    options: Options,
    logs: bool = False,
    grid: Grid | None = None,
    checked: bool = True,
) -> Designed:
    """The test of two sides, wherever their rows are.

    ``checked`` compares covariates and strata between the sides.
    """
    if options.estimator == "riemann":
        raise ValueError("weights, covariates, strata and groups need estimator='exact'")
    frame = frame_of(x, y)
    weighings = weighings_of(x, y) if options.weigh is None else None
    effective = None
    if weighings is not None:
        effective = weighings[0].effective, weighings[1].effective
    found = plain_pair(x, y, effective, options, logs, grid)
    if found is None or found.pair is None:
        if options.weigh is not None:  # too few shared units are the more helpful reason
            kinds_of_labels(x.labels(), y.labels()).require(options.weigh)
        nothing = TOO_FEW if found is None else ALL_EQUAL
        return Designed(None, nothing=nothing, notes=tuple(frame.notes()))
    if options.estimand == "mean":
        frame = frame.unbounded()
        scored = _scored_by_value(x, y, found.pair, frame, logs, grid)
    elif not (x.has_units or frame.width or effective):
        return Designed(found.pair, found.pair, notes=tuple(frame.notes()))
    else:
        scored = _scored_by_psi(x, y, found, frame, logs, options.weigh is not None)
    rule = DesignRule(scored.scores, weighings, options.weigh, scored.left)
    design, pairing = rule.design_at(scored.aligned, scored.at_zero)
    notes = [*frame.notes(), *design.notes]
    if options.weigh is None and checked and frame.width:
        notes += unbalanced(*scored.aligned, frame.column_names, rule.scores)
    whole = raw = scored.tester(design)
    adjustment = None
    if design.rank:
        adjustment = Adjusted(frame.names, design.rank, design.worth)
        bare, _ = rule.design_at(rule.bare(scored.aligned), rule.bare(scored.at_zero))
        raw = scored.tester(bare)
    parts = None
    of_x, of_y = scored.at_zero
    if isinstance(of_x, UnitTable) and isinstance(of_y, UnitTable) and options.weigh == "units":
        parts = parts_of_units(of_x, of_y, rule.scores)
    units = (int(design.units[0]), int(design.units[1])) if x.has_units else None
    return Designed(whole, raw, "", tuple(notes), pairing, adjustment, effective, units, parts)


class Scored(NamedTuple):
    """The rows of both sides, scored and summed up, and the test that a design makes of them."""

    scores: int  # of a row
    aligned: Tables
    at_zero: Tables  # at δ = 0; the same unless the samples lie far apart
    left: Left | None
    tester: Callable[[Design], DesignedPair]


def _scored_by_psi(
    x: Stored, y: Stored, found: PlainTest, frame: Frame, logs: bool, shared: bool
) -> Scored:
    """The scores of the shift. Of shared units, sign flips need those at δ = 0."""
    pair = found.pair
    assert pair is not None

    def tables(scores: Sequence[Any]) -> Tables:
        of_x, of_y = (
            side.units(table, frame, logs) if side.has_units or found.few
            else side.rows(table, frame, logs)
            for side, table in zip((x, y), scores, strict=True)
        )  # fmt: skip
        return of_x, of_y

    def left(theta: Array) -> tuple[RowSums, RowSums]:
        of_x, of_y = found.aligned
        return x.rows(of_x, frame, logs, theta), y.rows(of_y, frame, logs, theta)

    aligned = at_zero = tables(found.aligned)
    if shared and found.delta != 0.0:
        at_zero = tables(found.scores)
    variances = _variances(pair, found.delta)
    single = not (x.has_units or frame.width)
    return Scored(
        found.aligned[0].scores,
        aligned,
        at_zero,
        left if min(pair.x.size, pair.y.size) < ENOUGH else None,
        lambda design: replace(pair, design=design.effect(variances, single)),
    )


def _scored_by_value(
    x: Stored, y: Stored, pair: Pair | WitnessPair, frame: Frame, logs: bool, grid: Grid | None
) -> Scored:
    """The values themselves as scores, for means."""
    if pair.x.finite + pair.y.finite < pair.x.size + pair.y.size:
        raise ColumnError(INFINITE)
    at = Grid.of_scale(pair.origin, pair.width / MULTIPLE) if grid is None else grid
    at = with_cubes(at, pair.x, pair.y)
    scores = linear_scores(at)
    # with covariates, what is left of few rows is drawn row by row
    few = isinstance(x, HeldRows) and isinstance(y, HeldRows) and x.size + y.size <= FEW_ROWS
    by_row = x.has_units or (frame.width > 0 and few)
    of_x, of_y = (
        side.units(scores, frame, logs) if by_row else side.rows(scores, frame, logs)
        for side in (x, y)
    )
    if not (np.isfinite(of_x.sums).all() and np.isfinite(of_y.sums).all()):
        raise ColumnError(INFINITE_COVARIATE)
    tables = of_x, of_y
    plain = None if x.has_units or frame.width else Drawn.of_sides(pair.x, pair.y)

    def tester(design: Design) -> MeanPair:
        found = MeanPair.of_design(design, pair.x, pair.y, at)
        return found if plain is None else replace(found, drawn=plain)

    return Scored(1, tables, tables, None, tester)


def design_test(
    x: Table, y: Table, weighings: Weighings | None = None, weigh: str | None = None
) -> tuple[float, Studentized]:
    """The difference of the means of the only score, adjusted for the columns, and its test.

    For a mean, a share, a percentile or a covariate. With ``weigh``, equal labels in x and y are
    one unit.
    """
    found, _ = DesignRule(1, weighings, weigh, None).design(x, y)
    return found.difference, found.test()


def _variances(pair: Pair | WitnessPair, delta: float) -> PlainVariances:
    """The variances of the plain test, over the squared bound."""
    n, m = pair.x.size, pair.y.size
    if isinstance(pair, Pair):
        found = pair.moments(delta)
        independent = found.variance_x / n + found.variance_y / m
        parts = smooth_variances(n, m, found.within_x, found.within_y)
        smooth = sum(part for part, _ in parts)
        return PlainVariances(independent, found.pooled * (1.0 / n + 1.0 / m), smooth)
    x, y = (side_sums(side, pair.witness, pair.center) for side in (pair.x, pair.y))
    mean = (n * x.mean + m * y.mean) / (n + m)
    around = (n - 1.0) * x.variance + (m - 1.0) * y.variance
    around += n * (x.mean - mean) ** 2 + m * (y.mean - mean) ** 2
    spread = around / (n + m - 1.0) * (1.0 / n + 1.0 / m)
    squared = pair.bound**2
    independent = (x.variance / n + y.variance / m) / squared
    return PlainVariances(independent, spread / squared, independent)


def frame_of(x: Stored, y: Stored) -> Frame:
    """How the covariates and strata of both sides become columns."""
    if tuple(x.covariates) != tuple(y.covariates) or tuple(x.strata) != tuple(y.strata):
        raise ColumnError("covariates and strata are needed on both sides")
    fitted = []
    if x.covariates:
        some = x.sample(), y.sample()
        for i, name in enumerate(x.covariates):
            sides = [known.covariates[i] for known in some]
            if all(_same(side, known.values) for known, side in zip(some, sides, strict=True)):
                raise ColumnError(OUTCOME.format(name=repr(name)))
            found = fit_covariate(name, sides)
            if not all(known.whole for known in some):
                # a column that says where it is missing costs nothing if it never is
                found = found._replace(missing=True)
            fitted.append(found)
    factors = []
    if x.strata:
        for name, one, two in zip(x.strata, x.levels(), y.levels(), strict=True):
            counts = Counter(one)
            counts.update(two)
            # equal counts keep the order of the names; missing labels come last
            order = sorted(counts, key=lambda level: (level is None, str(level)))
            factors.append(fit_factor(name, {level: counts[level] for level in order}))
    return Frame(tuple(fitted), tuple(factors))


def _same(covariate: Array, outcome: Array) -> bool:
    """Whether a covariate is the outcome itself."""
    start = slice(16)  # most covariates differ at once
    return outcome.size > 0 and all(
        bool(np.array_equal(covariate[part], outcome[part], equal_nan=True))
        for part in (start, slice(None))
    )


def weighings_of(x: Stored, y: Stored) -> Weighings | None:
    """The weights; None without weights, and if they are all equal on each side."""
    one, two = x.weighing(), y.weighing()
    if one is None or two is None or (one.alike and two.alike):
        return None
    return one, two
