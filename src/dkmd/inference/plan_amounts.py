"""Plans for amounts: a pilot against itself moved by a shift or multiplied by a factor.

For large samples that gives the expected score of the test in closed form. For small ones, where ψ
is chosen and variances are guessed from few values, thousands of pairs of samples are drawn from
the pilot and tested.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.binned.summary import Atoms, Summary
from dkmd.inference.direct import MOST_VALUES
from dkmd.inference.pair import Pair, Studentized
from dkmd.inference.plan_search import Change
from dkmd.inference.pooled_shape import Shape, median_and_spread, shape_of
from dkmd.inference.scale import scale_of
from dkmd.inference.sides import Side
from dkmd.inference.two_sample import row_tails
from dkmd.statistic.witness import Witness

TRIALS = 2000
"""Pairs of small samples drawn for one power: a power of 80% is then known to 0.9 points."""

VALUES = 600_000
"""The most values drawn for one power: 500 pairs of 600 + 600, known to 1.8 points."""

MOST_DRAWN = MOST_VALUES
"""Power is simulated up to this many values in both samples. Above, the closed form is as good."""


Compared = tuple[Side, Side, Atoms, Atoms]
"""Two samples, and the points that show their shape."""


class AmountsPlan:
    """The pilot compared with a moved copy of itself: what the test would see at given sizes."""

    room: tuple[float, float] = (math.inf, math.inf)
    closed_form: bool = False

    def __init__(self, summary: Summary, scale: float | str | None, alpha: float) -> None:
        if summary.size < 2:
            raise ValueError("the pilot needs at least two values")
        self.median, self.spread = median_and_spread(summary)
        if not math.isfinite(self.median) or math.isnan(self.spread):
            raise ValueError("the pilot's values are all equal or mostly infinite: it has no scale")
        self._summary, self._scale, self._alpha = summary, scale, alpha
        self._drawn = lru_cache(maxsize=None)(self._simulated)
        self._quantiles = _quantile_function(summary)

    def check(self, change: Change) -> None:
        """Reject a change of a share: all values move together."""
        if change.share:
            raise ValueError(
                "a change of share needs a pilot of two values, or one in which at least half of "
                "the values are equal: give a shift or a factor"
            )

    def power(self, change: Change, n: float, m: float) -> float:
        """The probability of p < alpha with n moved values and m others."""
        expected = self.expected(change, n, m)
        if n + m > MOST_DRAWN:
            return expected
        return settled(expected, *self._drawn(change, max(2, math.ceil(n)), max(2, math.ceil(m))))

    def _simulated(self, change: Change, n: int, m: int) -> tuple[float, float]:
        """The share of drawn pairs that the test rejects, and its standard error.

        Draws begin with the same values for all sizes and shifts, so that answers to one question
        agree with answers to another.
        """
        trials = min(TRIALS, VALUES // (n + m))
        x, y = (
            self.draws(np.random.default_rng(seed), (size, trials)).T
            for seed, size in ((1, n), (2, m))
        )
        tails = row_tails(x * change.factor + change.shift, y, self._scale)
        return share_and_error(tails.pvalue("two-sided") < self._alpha)

    def draws(self, rng: np.random.Generator, shape: int | tuple[int, int]) -> Array:
        """Values like those of the pilot."""
        return np.interp(rng.random(shape), *self._quantiles)

    def tested(self, x: Array, y: Array) -> bool:
        """Whether the test rejects for these two samples."""
        return bool(row_tails(x[None], y[None], self._scale).pvalue("two-sided")[0] < self._alpha)

    def on_scale(self, x: Side, y: Side, atoms_x: Atoms, atoms_y: Atoms) -> Compared:
        """The samples as they are compared: here, as they are."""
        return x, y, atoms_x, atoms_y

    def expected(self, change: Change, n: float, m: float) -> float:
        """The test of the pilot against a moved copy of itself, weighted as n and m values."""
        from scipy.special import ndtr, ndtri

        pilot, atoms = Side.of(self._summary), self._summary.atoms()
        # of offsets from the grid's centre: (centre + offset)·factor + shift − centre
        factor, by = change.factor, change.shift + (change.factor - 1.0) * self._summary.grid.center
        n, m = float(n), float(m)
        moved = pilot._replace(
            offset=pilot.offset * factor + by, variance=pilot.variance * factor**2
        ).scaled_to(n)
        resized = pilot.scaled_to(m)
        both = [Atoms(atoms.offset * f + b, atoms.weights * k / pilot.size, atoms.tied)
                for f, b, k in ((factor, by, n), (1.0, 0.0, m))]  # fmt: skip
        moved, resized, atoms_x, atoms_y = self.on_scale(moved, resized, both[0], both[1])
        shape = Shape(*shape_of(atoms_x, atoms_y, self._summary.grid.unit, False))
        width = scale_of(moved, resized, shape, self._scale).width
        pair = Pair(
            moved, resized, Witness(width, width), self._summary.grid.center, False,
            separation=shape.separation, allowance=shape.allowance,
        )  # fmt: skip
        score, limit = _score(pair.test(near=shape.median)), -float(ndtri(0.5 * self._alpha))
        return float(ndtr(score - limit) + ndtr(-score - limit))


def settled(expected: float, drawn: float, error: float) -> float:
    """A simulated power, pulled to the closed form as far as chance explains their difference.

    Two standard errors of the simulation are no fault of the closed form.
    """
    off = drawn - expected
    return expected + off * max(0.0, 1.0 - (2.0 * error / off) ** 2 if off else 0.0)


def share_and_error(rejected: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """The share of rejected pairs, and its standard error."""
    share, trials = float(np.mean(rejected)), rejected.size
    return share, math.sqrt(max(share * (1.0 - share), 1.0 / trials) / trials)


def _score(test: Studentized) -> float:
    """The normal score of the smaller tail."""
    from scipy.special import ndtri

    tails = test.tails()
    return min(-float(ndtri(min(tails.upper, tails.lower))), 1e6)


def _quantile_function(summary: Summary) -> tuple[Array, Array]:
    """Quantiles of a pilot as a polygon: between neighbouring values, and upright at ties.

    Draws from it follow the pilot without repeating its values.
    """
    values, weights = summary.all_points().ordered()
    passed = np.concatenate([[0.0], np.cumsum(weights)]) / weights.sum()
    tied = np.abs(weights - 1.0) > 1e-9  # several values at one point, or a part of a full bin
    ends = np.column_stack([passed[:-1], passed[1:]])
    middle = ends.mean(axis=1, keepdims=True)
    ends = np.where(tied[:, None] | ~np.isfinite(values)[:, None], ends, middle)
    return ends.reshape(-1), np.repeat(values, 2)
