"""From the sums of both sides to what a design says about a difference of means (DESIGN 2.12).

One path serves every design: independent units or shared ones (``shared``), weights, covariates.
The moves of the units give the variance (``units``). What relabelling the units would do guards it
(``guards``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.inference.design.guards import (
    Drawn,
    powers_of,
    single_values_move,
    smooth_guard,
    values_move,
    weights_move_along,
)
from dkmd.inference.design.shared import UnitsOfBoth, flipped, units_of_both
from dkmd.inference.design.stored import RowSums, Table, UnitTable, Weighing, Weighings
from dkmd.inference.design.units import Part, Regressed, freedom_of, pooled, regressed
from dkmd.inference.test.pair import NO_VARIANCE, DesignEffect, Relabelled
from dkmd.inference.test.result import Pairing
from dkmd.inference.test.tails import NO_LEAST, Tails, critical

NOTHING_DIFFERS = "no unit differs between the samples"

SAME_WITHIN_UNITS = (
    "some covariates or strata are the same for each unit on both sides: pairing has already "
    "removed what they explain"
)


class Design(NamedTuple):
    """What a design says about a difference of means of scores."""

    means: tuple[float, float]  # of e, in x and in y
    difference: float  # of these means, without what the columns explain
    explained: float  # θ·(ḡx − ḡy)
    variance: float
    df: float
    rank: int  # how many directions of g were adjusted for
    raw: float  # the variance without an adjustment
    relabelled: tuple[Relabelled, ...]
    floor: float
    units: tuple[float, float]
    notes: tuple[str, ...]
    theta: Array
    reference: tuple[float, float]  # variance of the mean of y, covariance with the difference
    drawn: Drawn | None = None  # what relabelling would exchange; None if only its sums are known
    least: Tails = NO_LEAST
    pairing: Pairing | None = None

    @property
    def worth(self) -> float:
        """The variance without an adjustment over that with it: as good as so much more data."""
        return self.raw / self.variance if self.variance > 0.0 else math.inf

    @property
    def least_at_zero(self) -> Tails:
        """Lower bounds of both tails at δ = 0."""
        if self.drawn is None or not self.relabelled:
            return self.least
        return self.least.at_least(self.drawn.least(self.relabelled[0].skewness))

    def effect(
        self, single: bool, independent: float, relabelled: float, smooth: float
    ) -> DesignEffect:
        """The effect on a plain test, from its ``variances`` in the same units.

        ``single`` says whether relabelling exchanges single rows as they are.
        """
        inflation, guards = 1.0, self.relabelled[:0]
        if independent > NO_VARIANCE and relabelled > 0.0:
            inflation = self.variance / independent
            of_smooth = 1.0 / smooth if smooth > 0.0 else 0.0
            guards = tuple(each.times(1.0 / relabelled, of_smooth) for each in self.relabelled)
        return DesignEffect(
            self.explained, inflation, self.df, guards, self.floor, self.least_at_zero, single
        )


Left = Callable[[Array], tuple[RowSums, RowSums]]
"""Sums the rows of both sides up again, with d = r − g·θ."""


def design_of(
    x: Table,
    y: Table,
    scores: int,
    weigh: str | None = None,
    weighings: Weighings | None = None,
    left: Left | None = None,
) -> Design:
    """The design of two sides. With ``weigh``, equal labels in x and y are one unit.

    With ``left``, relabelling of single rows moves what is left of r. Otherwise it moves r, with
    the variance of what is left.
    """
    both = units_of_both(x, y, weigh)
    found = regressed(both.parts, both.one, both.two, scores)
    apart = both.one.mean - both.two.mean
    explained = float(found.theta @ apart[scores:])
    drawn = None
    if weigh is None:
        relabelled = _relabelled(both, found, scores, weighings, left)
        if isinstance(both.x, UnitTable) and isinstance(both.y, UnitTable):
            drawn = Drawn.of_units(both.x, both.y, found.theta, scores)
    else:
        relabelled = _relabelled_shared(both, found, scores)
    design = Design(
        (float(both.one.mean[0]), float(both.two.mean[0])), float(apart[0]) - explained, explained,
        found.variance, found.df, found.rank, found.raw[0],
        tuple(each for each in relabelled if each.variance > 0.0), both.floor,
        (both.one.units, both.two.units), both.notes, found.theta,
        _error_of_reference(both, found, weigh), drawn,
    )  # fmt: skip
    return design if weigh is None else _with_pairing(design, both, found, scores, weigh)


def _error_of_reference(
    both: UnitsOfBoth, found: Regressed, weigh: str | None
) -> tuple[float, float]:
    """The variance of the mean of y, and its covariance with the difference of means."""
    one, two = both.one, both.two
    together = -two.gram[:, 0]
    if weigh is not None:
        together = one.moves.T @ two.moves[:, 0] + together
    left = np.concatenate([[1.0], np.zeros(together.size - found.theta.size - 1), -found.theta])
    return float(two.gram[0, 0]), float(left @ together)


def _relabelled(
    both: UnitsOfBoth,
    found: Regressed,
    scores: int,
    weighings: Weighings | None,
    left: Left | None,
) -> list[Relabelled]:
    """What relabelling does if all units are independent."""
    x, y, share = both.x, both.y, 1.0
    if isinstance(x, RowSums) and found.rank:
        if left is not None:
            x, y = left(found.theta)
        else:
            share = found.share
    powers = [powers_of(side, found.theta, scores) for side in (x, y)]
    relabelled = [values_move(powers[0], powers[1])]
    if weighings is None:
        smooth = None
        if all(part > 0.0 for part in found.parts):
            left_of_r = np.concatenate([np.zeros(scores - 1), [1.0], -found.theta])
            of_x, of_y = (float(left_of_r @ m.gram @ left_of_r) for m in (both.one, both.two))
            sizes = both.one.df + 1.0, both.two.df + 1.0
            smooth = smooth_guard(of_x, of_y, *sizes, found.rank)
        relabelled = [relabelled[0]._replace(smooth=smooth)]
    elif not all(each.alike for each in weighings):
        units = [
            Weighing.of(side.weight) if isinstance(side, UnitTable) else of
            for side, of in zip((x, y), weighings, strict=True)
        ]
        relabelled += weights_move_along(powers[0], powers[1], units[0], units[1])
    relabelled = [each._replace(variance=share * each.variance) for each in relabelled]
    if not (isinstance(x, UnitTable) and isinstance(y, UnitTable)):
        return relabelled
    if max(x.rows.max(), y.rows.max()) > 1.0:  # otherwise units are single rows
        relabelled.append(single_values_move(x, y, weighings, found.share))
    return relabelled


def _relabelled_shared(both: UnitsOfBoth, found: Regressed, scores: int) -> list[Relabelled]:
    """What relabelling does if some units are on one side only.

    With few units on one side t alone is wrong, as it is without shared units.
    """
    sides = [side for side in (both.x, both.y) if isinstance(side, UnitTable)]
    there = [side.weight > 0.0 for side in sides]
    unpaired = float(both.one.gram[0, 0] + both.two.gram[0, 0])
    if all(units.all() for units in there) or not unpaired > 0.0:
        return []
    powers = [
        powers_of(side.some(units), found.theta, scores)
        for side, units in zip(sides, there, strict=True)
    ]
    moved = values_move(powers[0], powers[1])
    return [moved._replace(variance=moved.variance * (found.raw[0] / unpaired))]


def _with_pairing(
    design: Design, both: UnitsOfBoth, found: Regressed, scores: int, weigh: str
) -> Design:
    """The design of shared units, with what pairing gained and the sign flips."""
    x, y, one, two = both.x, both.y, both.one, both.two
    assert isinstance(x, UnitTable)
    assert isinstance(y, UnitTable)
    assert both.kinds is not None
    least, notes = NO_LEAST, both.notes
    if weigh == "units" or np.array_equal(x.weight, y.weight):
        least = flipped(x, y, found.theta, scores)
        notes += (NOTHING_DIFFERS,) if min(least) >= 1.0 else ()
    if found.rank < found.apart:
        notes += (SAME_WITHIN_UNITS,)
    unpaired = float(one.gram[0, 0] + two.gram[0, 0])
    freedom = freedom_of([(one.gram[0, 0], one.df), (two.gram[0, 0], two.df)])
    gain = _reach(unpaired, freedom) / _reach(*found.raw)
    return design._replace(least=least, notes=notes, pairing=Pairing(*both.kinds, weigh, gain))


def _reach(variance: float, df: float) -> float:
    """Half the width of a 95% interval; NaN if nothing varies."""
    return critical(0.975, df) * math.sqrt(variance) if variance > 0.0 and df > 0.0 else math.nan


def joint_pvalue(x: UnitTable, y: UnitTable, directions: int, weigh: str | None = None) -> float:
    """The p-value of the null that no score differs. All columns of the tables are scores.

    It is an F test that all means are equal (Rao and Scott). The statistic is Q = Σ(x̄ − ȳ)² over
    the scores. If nothing differs, E Q is the trace of V, the gram of the moves, and Q/tr V follows
    about an F law. Its first degrees of freedom (tr V)²/tr V² count how many directions vary.

    Scores should have comparable sizes, and at most ``directions`` of them can vary. With
    ``weigh``, equal labels in x and y are one unit. The p-value is at least that of one variance
    for the units of both sides: few units on one side can look too much alike by chance.
    """
    both = units_of_both(x, y, weigh, x.columns)
    one, two = both.one, both.two
    apart = float(((one.mean - two.mean) ** 2).sum())
    if not apart > NO_VARIANCE:
        return 1.0
    gram, df = pooled(one, two)
    alone = float(np.trace(one.gram + two.gram))
    # pairing gains as much with one variance as with two
    gained = sum(float(np.trace(part)) for part, _ in both.parts) / alone if alone > 0.0 else 1.0
    together = [(gained * gram, df)]
    tails = (_tail(apart, each, directions) for each in (both.parts, together))
    return min(1.0, max(*tails, 2.0 * both.floor))


def _tail(apart: float, parts: Sequence[Part], directions: int) -> float:
    """The tail of the F law at Q, from the grams of the moves of independent kinds of units."""
    from scipy.special import fdtrc

    traces = [(float(np.trace(gram)), df) for gram, df in parts]
    expected = sum(trace for trace, _ in traces)
    if not expected > 0.0:
        return 0.0
    vary = expected**2 / max(_squared_trace(parts), expected**2 / directions)
    vary = max(vary, 1.0)
    return float(fdtrc(vary, vary * freedom_of(traces), apart / expected))


def _squared_trace(parts: Sequence[Part]) -> float:
    """tr V² of the true V. That of an estimate is too large: few units vary in few directions.

    The estimate of a part with k degrees of freedom adds (tr V)²/k on average, as if it had a
    Wishart law (Bai and Saranadasa 1996).
    """
    gram: Array = np.sum([part for part, _ in parts], axis=0)
    total = float((gram**2).sum())
    for part, k in parts:
        squared = float((part**2).sum())
        if k > 1.0:
            left = max(0.0, squared - float(np.trace(part)) ** 2 / k)
            total += k * k / ((k + 2.0) * (k - 1.0)) * left - squared
    return total
