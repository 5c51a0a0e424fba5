"""Plans for mostly-one-value data: the share of the other values, and the values themselves.

The test has two parts, p = min(1, 2·min(p_share, p_rest)): ``share_tails`` of how many values
differ from the common one, and the comparison of those that do, on a ``Curve``. So
each part is tested at alpha/2.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dkmd.base.arrays import Array
from dkmd.binned.summary import Atoms, Summary
from dkmd.inference.curve import Curve, curve_of_values, fitted_curve
from dkmd.inference.plan_amounts import (
    MOST_DRAWN,
    AmountsPlan,
    Compared,
    settled,
    share_and_error,
)
from dkmd.inference.plan_search import Change
from dkmd.inference.plan_shares import SharesPlan
from dkmd.inference.proportions import Counts, share_tails
from dkmd.inference.sides import Side

PAIRS = 1000
"""Pairs of samples drawn for one power: a power of 80% is then known to 1.3 points."""

DRAWN = 400_000
"""The most values of the rest that are drawn for one power."""

NEVER = 1.0
"""Shares within this many standard errors are never rejected, so the exact test is skipped."""


class RestPlan(AmountsPlan):
    """A plan for the values other than the common one, which are compared on a ``Curve``."""

    def __init__(
        self, common: float, rest: Summary, scale: float | str | None, alpha: float
    ) -> None:
        super().__init__(rest, scale, alpha)
        self._common, self._offset = common, common - rest.grid.center

    def tested(self, x: Array, y: Array) -> bool:
        """Whether the test rejects for these two samples."""
        curve = curve_of_values(x, y, self._common)
        return super().tested(curve.bent(x), curve.bent(y))

    def on_scale(self, x: Side, y: Side, atoms_x: Atoms, atoms_y: Atoms) -> Compared:
        """The samples on the curve for both together."""
        offset = np.concatenate([atoms_x.offset, atoms_y.offset])
        order = np.argsort(offset)
        weights = np.concatenate([atoms_x.weights, atoms_y.weights])
        curve = fitted_curve(offset[order], weights[order], self._offset)
        return (
            _bent_side(x, curve),
            _bent_side(y, curve),
            atoms_x._replace(offset=curve.bent(atoms_x.offset)),
            atoms_y._replace(offset=curve.bent(atoms_y.offset)),
        )


def _bent_side(side: Side, curve: Curve) -> Side:
    """A sample on a curve."""
    offset, variance = curve.moments(side.offset, side.variance)
    return side._replace(offset=offset, variance=variance)


class TwoPartPlan:
    """A pilot with a common value: the share of the rest, and the rest as amounts."""

    closed_form: bool = False

    def __init__(
        self, common: float, rest: Summary, size: int, scale: float | str | None, alpha: float
    ) -> None:
        self.common, self._alpha = common, 0.5 * alpha
        self.shares = SharesPlan(rest.size / size, 0.5 * alpha)
        self.rest = RestPlan(common, rest, scale, 0.5 * alpha)
        self.spread, self.room = math.nan, (0.0, 0.0)
        self._drawn = lru_cache(maxsize=None)(self._simulated)

    def check(self, change: Change) -> None:
        """Reject a plain shift, which would move the common value too, and impossible shares."""
        if change.shift:
            raise ValueError(self.needs())
        moved = self.shares.share + change.share
        if not 0.0 <= moved <= 1.0:
            raise ValueError(
                f"{100 * self.shares.share:.3g}% of the pilot's values are not {self.common:g}, "
                f"and the change would make that {100 * moved:.3g}%: shares lie between 0% and 100%"
            )

    def needs(self) -> str:
        """What to give in place of a shift."""
        return (
            f"{100 * (1.0 - self.shares.share):.3g}% of the pilot's values are {self.common:g}, so "
            "one shift does not describe a change. Give a factor, which multiplies the other "
            "values (--factor 1.5, or factor=1.5), or a change of their share (--share 0.01, or "
            f"share=0.01: one percentage point more values differ from {self.common:g})"
        )

    def expected(self, change: Change, n: float, m: float) -> float:
        """The probability that either part rejects. The two parts are independent."""
        share = self.shares.share
        by_share = self.shares.expected(Change(share=change.share), n, m)
        counts = n * (share + change.share), m * share
        by_rest = 0.0
        if min(counts) >= 2.0:
            by_rest = self._alpha
            if change.factor != 1.0:
                by_rest = self.rest.expected(Change(factor=change.factor), *counts)
        return 1.0 - (1.0 - by_share) * (1.0 - by_rest)

    def power(self, change: Change, n: float, m: float) -> float:
        """By simulation, unless the rest is large or does not move."""
        expected = self.expected(change, n, m)
        share = self.shares.share
        if change.factor == 1.0 or n * (share + change.share) + m * share > MOST_DRAWN:
            return expected
        return settled(expected, *self._drawn(change, math.ceil(n), math.ceil(m)))

    def _simulated(self, change: Change, n: int, m: int) -> tuple[float, float]:
        """The share of drawn pairs that the two-part test rejects, and its standard error."""
        share = self.shares.share
        shares = min(1.0, share + change.share), share
        pairs = int(min(PAIRS, max(200, DRAWN // (n * shares[0] + m * share + 1))))
        counting, x_rng, y_rng = (np.random.default_rng(seed) for seed in (3, 1, 2))
        counts = [
            counting.binomial(size, part, pairs)
            for size, part in zip((n, m), shares, strict=True)
        ]  # fmt: skip
        rejected = np.zeros(pairs, dtype=bool)
        for pair, (a, b) in enumerate(zip(*counts, strict=True)):
            x, y = self.rest.draws(x_rng, int(a)) * change.factor, self.rest.draws(y_rng, int(b))
            by_rest = min(a, b) >= 2 and self.rest.tested(x, y)
            rejected[pair] = by_rest or self._shares_differ(Counts(int(a), n, int(b), m))
        return share_and_error(rejected)

    def _shares_differ(self, counts: Counts) -> bool:
        """Whether the exact test of shares rejects. Close shares never do."""
        pooled = (counts.yes_x + counts.yes_y) / (counts.n + counts.m)
        error = math.sqrt(pooled * (1.0 - pooled) * (1.0 / counts.n + 1.0 / counts.m))
        if self._alpha < 0.2 and abs(counts.difference) <= NEVER * error:
            return False
        return bool(_share_pvalue(counts) < self._alpha)


@lru_cache(maxsize=100_000)
def _share_pvalue(counts: Counts) -> float:
    """The two-sided p-value of two shares."""
    return float(share_tails(counts).pvalue("two-sided"))
