"""Two sides, with all that belongs to their rows, become the outcome of a test.

The sides, with their weights, give the plain test and its width. Every row is then scored, scores
are summed up (``stored``), and the sums say what the design does to the test (``designs``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.bins.grid import Grid
from dkmd.inference.design.columns import OUTCOME, Frame, fit_covariate, fit_factor
from dkmd.inference.design.designs import Design, Left, design_of
from dkmd.inference.design.guards import Drawn
from dkmd.inference.design.held import AtomScores, HeldRows
from dkmd.inference.design.means import INFINITE, MeanPair, linear_scores, with_cubes
from dkmd.inference.design.shared import kinds_of_labels, parts_of_units
from dkmd.inference.design.stored import (
    RowSums,
    ScoreTable,
    Stored,
    Table,
    Tables,
    UnitTable,
    Weighings,
    scores_of_pair,
)
from dkmd.inference.design.units import unbalanced
from dkmd.inference.test.one_sample import flip_share
from dkmd.inference.test.one_test import all_equal, outcome_of, too_small
from dkmd.inference.test.options import Options
from dkmd.inference.test.pair import Pair
from dkmd.inference.test.result import Adjustment, ExactOutcome, NoOutcome, Outcome
from dkmd.inference.test.scan import Moments
from dkmd.inference.test.sides import Side, side_of_values
from dkmd.inference.test.width import MULTIPLE, chosen_width

FEW_ROWS = 2048
"""Up to this many rows in both samples together, the values are compared without bins."""

ENOUGH = FEW_ROWS // 2 + 1
"""With so many rows on both sides, the skewness under relabelling is that of Ψ, not of what is left
of Ψ. Either is at most 0.03 of that of single rows."""

SEPARATED = 0.9
"""Beyond this |T|, in units of 2σ, scores hardly vary at δ = 0. A design is then found where the
samples are aligned, at the shift."""

BESIDE = "groups, pairs, covariates, strata, weights and counts"

INFINITE_COVARIATE = "a mean needs finite covariates; the shift does not"

Sizes = tuple[float, float]
"""The effective numbers of rows of x and of y, (Σw)²/Σw²."""


def require_known(options: Options, weighted: bool) -> None:
    """Reject what no design can do."""
    if options.estimator == "riemann":
        raise ValueError(f"{BESIDE} need estimator='exact'")
    if options.witness is not None:
        raise ValueError(
            f"{BESIDE} cannot be combined with a witness: the paper's own statistic takes "
            "independent values that count the same"
        )
    if options.weigh is not None and weighted:
        raise ValueError(
            "give weights or pairs, not both: pairs are weighed by their units (weigh='units')"
        )
    if options.method is None:
        return
    if options.weigh is None:
        raise ValueError(
            "weights, covariates, strata and groups cannot be combined with a resampling method"
        )
    if not options.label_free:
        raise ValueError("units can be resampled by a PermutationMethod (sign flips) only")
    if options.weigh == "values":
        raise ValueError(
            "sign flips exchange the two sides of a unit, so both must weigh the same: "
            "use weigh='units'"
        )


def compare_stored(
    x: Stored, y: Stored, options: Options, logs: bool = False, grid: Grid | None = None
) -> Outcome:
    """The test of two sides, wherever their rows are. NaN is left out."""
    require_known(options, x.weighing() is not None or y.weighing() is not None)
    frame, weighings = frame_of(x, y), weighings_of(x, y)
    effective = None
    if weighings is not None:
        effective = weighings[0].effective, weighings[1].effective
    found = plain_test(x, y, effective, options, logs, grid)
    if isinstance(found, NoOutcome):
        if options.weigh is not None:  # too few shared units are the more helpful reason
            kinds_of_labels(x.labels(), y.labels()).require(options.weigh)
        return replace(found, notes=(*frame.notes(), *found.notes))
    if options.estimand == "mean":
        scored = _scored_by_value(x, y, found.pair, frame.unbounded(), logs, grid)
    elif x.has_units or frame.width or effective:
        scored = _scored_by_psi(x, y, found, frame, logs, options.weigh is not None)
    else:
        return outcome_of(found.pair, options, 1.0, found.robust, tuple(frame.notes()))
    whole = scored.design(options.weigh, weighings)
    notes = [*frame.notes(), *whole.notes]
    if options.weigh is None and frame.width:
        notes += unbalanced(*scored.aligned, frame.column_names, scored.scores)

    def outcome(design: Design, notes: Sequence[str] = ()) -> ExactOutcome:
        pair = scored.tester(design)
        result = outcome_of(pair, options.without_method(), 1.0, found.robust, tuple(notes))
        return replace(result, means=pair.means) if isinstance(pair, MeanPair) else result

    adjustment = None
    if whole.rank:
        raw = outcome(scored.bare().design(options.weigh, weighings))
        adjustment = Adjustment(frame.names, whole.rank, whole.worth, raw)
    result = outcome(whole, notes)
    return replace(
        result,
        pvalue=result.pvalue if options.method is None else _flipped(scored, options),
        pairing=whole.pairing,
        adjustment=adjustment,
        effective=effective,
        units=(int(whole.units[0]), int(whole.units[1])) if x.has_units else None,
    )


def _flipped(scored: Scored, options: Options) -> float:
    """The p-value by sign flips of shared units that weigh the same."""
    x, y = scored.at_zero
    assert isinstance(x, UnitTable)
    assert isinstance(y, UnitTable)
    parts = parts_of_units(x, y, scored.scores)
    ones = np.ones(parts.size, dtype=np.int64)
    return flip_share(parts, ones, options.alternative, options.method)


class PlainTest(NamedTuple):
    """The plain test of weighted sides, and how their rows are scored."""

    pair: Pair
    robust: float  # the robust scale of both samples
    delta: float  # 0, or the shift if the samples lie too far apart to be scored at 0
    moments: Moments  # at this shift
    scores: Callable[[float], Sequence[Any]]  # of x and of y at a shift: ``Scores``


def plain_test(
    x: Stored, y: Stored, sizes: Sizes | None, options: Options, logs: bool, grid: Grid | None
) -> PlainTest | NoOutcome:
    """The plain test, or why there is none."""
    held = (x, y) if isinstance(x, HeldRows) and isinstance(y, HeldRows) else None
    if held and grid is None and min(x.size for x in held) < 2.0:
        return too_small(options)
    bins = None
    if held and grid is None and sum(x.size for x in held) <= FEW_ROWS:
        of_x, of_y, origin = _sides_of_few(*held, options.weigh)
    else:
        if grid is None:
            samples = [each.sample().values for each in (x, y)]
            grid = Grid.fit(*(np.log(s[s > 0.0]) if logs else s for s in samples))
        if options.weigh == "units":
            bins = x.shared_bins(grid, y, logs), y.shared_bins(grid, x, logs)
        else:
            bins = x.bins(grid, logs), y.bins(grid, logs)
        if min(each.size for each in bins) < 2:
            return too_small(options)
        of_x, of_y = (Side.of(each)._replace(size=each.total) for each in bins)
        origin = grid.center
    if sizes is not None:
        of_x, of_y = of_x.scaled_to(sizes[0]), of_y.scaled_to(sizes[1])
    width = chosen_width(of_x, of_y, options.scale, options.label_free)
    if not width > 0.0:
        return all_equal(options)
    robust = width / MULTIPLE
    if options.scale is not None:
        robust = chosen_width(of_x, of_y, None, options.label_free) / MULTIPLE or math.nan
    pair = Pair(of_x, of_y, width, origin)
    delta, moments = 0.0, pair.moments()
    if abs(moments.mean) > SEPARATED and math.isfinite(shift := pair.shift()):
        delta, moments = shift, pair.moments(shift)
    of_few = partial(_atom_scores, pair)
    scores = of_few if bins is None else partial(ScoreTable.of_pair, pair, *bins)
    return PlainTest(pair, robust, delta, moments, scores)


def _sides_of_few(x: HeldRows, y: HeldRows, weigh: str | None) -> tuple[Side, Side, float]:
    """Few values as sides without bins, and the origin of their offsets."""
    held: list[tuple[Array, Array | None]]
    if weigh == "units":
        held = [x.shared_values(y), y.shared_values(x)]
    else:
        held = [(side.values, side.row_weights) for side in (x, y)]
    together = np.concatenate([values[np.isfinite(values)] for values, _ in held])
    origin = float(np.median(together)) if together.size else 0.0
    of_x, of_y = (_side_of_few(*each, origin) for each in held)
    return of_x, of_y, origin


def _side_of_few(values: Array, weights: Array | None, origin: float) -> Side:
    order = np.argsort(values)
    return side_of_values(values[order], origin, None if weights is None else weights[order])


def _atom_scores(pair: Pair, delta: float) -> list[AtomScores]:
    """The scores of x and of y at a shift, without bins."""
    return [
        AtomScores(pair.origin, side.offset, coefficients[:, :, 0], infinite)
        for side, (coefficients, infinite) in zip(
            pair.sides, scores_of_pair(pair, delta, 1.0), strict=True
        )
    ]


class Scored(NamedTuple):
    """The rows of both sides, scored and summed up, and the test that a design makes of them."""

    scores: int  # of a row
    aligned: Tables
    at_zero: Tables  # at δ = 0; the same unless the samples lie far apart
    left: Left | None
    tester: Callable[[Design], Pair | MeanPair]

    def design(self, weigh: str | None, weighings: Weighings | None) -> Design:
        """The design where the samples are aligned. Sign flips and notes are those at δ = 0."""
        found = design_of(*self.aligned, self.scores, weigh, weighings, self.left)
        if self.at_zero is self.aligned:
            return found
        there = design_of(*self.at_zero, self.scores, weigh, weighings, self.left)
        return found._replace(least=there.least, notes=there.notes)

    def bare(self) -> Scored:
        """The same without columns g."""
        aligned, at_zero = (
            (x.bare(self.scores), y.bare(self.scores)) for x, y in (self.aligned, self.at_zero)
        )
        return self._replace(aligned=aligned, at_zero=at_zero)


def _summed(side: Stored, scores: Any, frame: Frame, logs: bool) -> Table:
    """The sums of one side, by unit if it has units."""
    return (side.units if side.has_units else side.rows)(scores, frame, logs)


def _scored_by_psi(
    x: Stored, y: Stored, found: PlainTest, frame: Frame, logs: bool, shared: bool
) -> Scored:
    """The scores of the shift. Of shared units, sign flips need those at δ = 0."""
    pair = found.pair
    of_x, of_y = found.scores(found.delta)
    aligned = at_zero = _summed(x, of_x, frame, logs), _summed(y, of_y, frame, logs)
    if shared and found.delta != 0.0:
        one, two = found.scores(0.0)
        at_zero = _summed(x, one, frame, logs), _summed(y, two, frame, logs)

    def left(theta: Array) -> tuple[RowSums, RowSums]:
        return x.rows(of_x, frame, logs, theta), y.rows(of_y, frame, logs, theta)

    few = min(pair.x.size, pair.y.size) < ENOUGH
    variances = pair.variances(found.moments)
    single = not (x.has_units or frame.width)
    return Scored(
        of_x.scores, aligned, at_zero, left if few else None,
        lambda design: replace(pair, design=design.effect(single, *variances)),
    )  # fmt: skip


def _scored_by_value(
    x: Stored, y: Stored, pair: Pair, frame: Frame, logs: bool, grid: Grid | None
) -> Scored:
    """The values themselves as scores, for means."""
    if pair.x.finite + pair.y.finite < pair.x.size + pair.y.size:
        raise ColumnError(INFINITE)
    at = Grid.of_scale(pair.origin, pair.width / MULTIPLE) if grid is None else grid
    at = with_cubes(at, pair.x, pair.y)
    scores = linear_scores(at)
    tables = _summed(x, scores, frame, logs), _summed(y, scores, frame, logs)
    if not all(np.isfinite(of.sums).all() for of in tables):
        raise ColumnError(INFINITE_COVARIATE)

    def tester(design: Design) -> MeanPair:
        found = MeanPair.of_design(design, pair.x, pair.y, at)
        if x.has_units:
            return found
        if not design.rank:
            return replace(found, drawn=Drawn.of_sides(pair.x, pair.y))
        if isinstance(x, HeldRows) and isinstance(y, HeldRows) and x.size + y.size <= FEW_ROWS:
            left = (
                x.left(scores, frame, logs, design.theta),
                y.left(scores, frame, logs, design.theta),
            )
            return replace(found, drawn=Drawn.of_rows(x, y, left).scaled(at.unit))
        return found

    return Scored(1, tables, tables, None, tester)


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
