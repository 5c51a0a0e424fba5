"""Planning: how many values you need to detect a shift, and what shift you can detect.

The pilot is compared with a copy of itself that is moved by the shift. For large samples this gives
the expected score of the test in closed form. Small samples choose ψ and estimate variances from
few values. For them, thousands of pairs of samples are drawn from the pilot and tested.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, as_sample, nan_error
from dkmd.binned.grid import Grid
from dkmd.binned.summary import Atoms, Summary
from dkmd.inference.defaults import ALPHA, require_shares
from dkmd.inference.direct import MOST_VALUES
from dkmd.inference.pair import Pair, Studentized
from dkmd.inference.pooled_shape import Shape, median_and_spread, shape_of
from dkmd.inference.scale import scale_of
from dkmd.inference.sides import Side
from dkmd.inference.two_sample import row_tails
from dkmd.statistic.witness import Witness

Pilot = npt.ArrayLike | Summary

TRIALS = 2000
"""Pairs of samples drawn if sizes are small. A power of 80% is then known to 0.9 points."""

VALUES = 600_000
"""At most this many values are drawn for one power: 500 pairs of 600 + 600 give 1.8 points."""

MOST_DRAWN = MOST_VALUES
"""Up to this many values in both samples, power is simulated. Above, the closed form is as good."""


def sample_size(
    pilot: Pilot,
    shift: float,
    power: float = 0.8,
    alpha: float = ALPHA,
    ratio: float = 1.0,
    scale: float | str | None = None,
) -> int:
    """The size of the first sample that detects ``shift``. The second has ``ratio`` times as many.

    Parameters
    ----------
    pilot : array_like or Summary
        Data like those that will be compared.
    shift : float
        The shift to detect, in data units.
    power : float
        The probability of detecting the shift.
    alpha : float
        The significance level of the two-sided test.
    ratio : float
        The size of the second sample divided by the size of the first.
    scale
        As in ``dkmd_2samp``.

    Examples
    --------
    >>> import numpy as np
    >>> pilot = np.random.default_rng(4).normal(100, 10, 1000)
    >>> sample_size(pilot, shift=0.5)  # about 2 · (2.8 · 10/0.5)², as for a t-test of normal data
    6477
    """
    _check_power(alpha, power)
    if not (math.isfinite(shift) and shift != 0.0):
        raise ValueError(f"shift must be a finite number other than 0, got {shift!r}")
    if not (ratio > 0.0 and math.isfinite(ratio)):
        raise ValueError(f"ratio must be positive, got {ratio!r}")
    plan = _Plan(pilot, scale, alpha)
    least = max(2.0, 2.0 / ratio)

    near = max(10.0, least)

    def reached(n: float) -> float:
        return plan.power(shift, n, ratio * n)

    def expected(n: float) -> float:
        return plan.expected(shift, n, ratio * n)

    goal = _Goal(power, alpha, least)
    near = goal.reached_at(expected, near, 0.5, 60)
    return math.ceil(goal.reached_at(reached, near, 0.5, STEPS))


def detectable_shift(
    pilot: Pilot,
    n: int,
    m: int | None = None,
    power: float = 0.8,
    alpha: float = ALPHA,
    scale: float | str | None = None,
) -> float:
    """The shift that samples of n and m values (m = n by default) detect with this power.

    Examples
    --------
    >>> import numpy as np
    >>> pilot = np.random.default_rng(4).normal(100, 10, 1000)
    >>> round(detectable_shift(pilot, n=5000), 2)
    0.57
    """
    _check_power(alpha, power)
    m = n if m is None else m
    _check_sizes(n, m)
    plan = _Plan(pilot, scale, alpha)
    near = 3.0 * plan.spread * math.sqrt(1.0 / n + 1.0 / m)
    goal = _Goal(power, alpha, 0.0)
    near = goal.reached_at(lambda shift: plan.expected(shift, n, m), near, 1.0, 60)
    return float(goal.reached_at(lambda shift: plan.power(shift, n, m), near, 1.0, STEPS))


def power(
    pilot: Pilot,
    shift: float,
    n: int,
    m: int | None = None,
    alpha: float = ALPHA,
    scale: float | str | None = None,
) -> float:
    """The probability that samples of n and m values (m = n by default) detect ``shift``.

    Examples
    --------
    >>> import numpy as np
    >>> pilot = np.random.default_rng(4).normal(100, 10, 1000)
    >>> round(power(pilot, shift=0.5, n=7000), 2)
    0.83
    """
    require_shares(alpha=alpha)
    m = n if m is None else m
    _check_sizes(n, m)
    return _Plan(pilot, scale, alpha).power(shift, n, m)


STEPS = 5
"""At most this many powers are simulated to find a size or a shift."""

CLOSE = 0.005
"""The search for a size or shift stops when a step changes it by less than this share."""


class _Goal:
    """A search for the size or shift that reaches a power.

    The score Φ⁻¹(power) + Φ⁻¹(1 − α/2) grows roughly in proportion to √n and to the shift. Each
    step would be exact if this held exactly.
    """

    def __init__(self, power: float, alpha: float, least: float) -> None:
        from scipy.special import ndtri

        self._limit = -float(ndtri(0.5 * alpha))
        self._needed = self._limit + float(ndtri(power))
        self._lowest, self._least = 0.5 * alpha, least

    def reached_at(
        self, reached: Callable[[float], float], start: float, exponent: float, steps: int
    ) -> float:
        """The size or shift at which ``reached`` gives the power, after at most ``steps`` steps."""
        at = start
        for _ in range(steps):
            step = float(self._factor(reached(at)) ** (1.0 / exponent))
            following = max(self._least, at * step)
            if not following < 1e15 * start:
                raise ValueError(
                    "no size reaches that power: the shift is too small for the spread of the pilot"
                )
            if abs(following - at) <= CLOSE * at:
                return following
            at = following
        return at

    def _factor(self, power: float) -> float:
        """The needed score over the current score, limited to a factor of 4."""
        from scipy.special import ndtri

        score = self._limit + float(ndtri(min(max(power, self._lowest), 1.0 - 1e-9)))
        return min(4.0, max(0.25, self._needed / max(score, 0.1)))


class _Plan:
    """A pilot compared with itself moved by a shift: the power of the test at given sizes."""

    def __init__(self, pilot: Pilot, scale: float | str | None, alpha: float) -> None:
        summary = pilot if isinstance(pilot, Summary) else _summary(pilot)
        if summary.size < 2:
            raise ValueError("the pilot needs at least two values")
        median, self.spread = median_and_spread(summary)
        if not math.isfinite(median) or math.isnan(self.spread):
            raise ValueError("the pilot's values are all equal or mostly infinite: it has no scale")
        self._summary, self._scale, self._alpha = summary, scale, alpha
        self._drawn = lru_cache(maxsize=None)(self._simulated)

    def power(self, shift: float, n: float, m: float) -> float:
        """The probability of p < alpha with samples of n and m values, one of them moved."""
        expected = self.expected(shift, n, m)
        if n + m > MOST_DRAWN:
            return expected
        drawn, error = self._drawn(shift, max(2, math.ceil(n)), max(2, math.ceil(m)))
        # differences within two standard errors of the simulation do not correct the closed form
        off = drawn - expected
        return expected + off * max(0.0, 1.0 - (2.0 * error / off) ** 2 if off else 0.0)

    def _simulated(self, shift: float, n: int, m: int) -> tuple[float, float]:
        """The share of drawn pairs that the test rejects, and its standard error.

        The draws for all sizes and shifts begin with the same values, so that the answers of
        ``sample_size``, ``detectable_shift`` and ``power`` agree.
        """
        trials = min(TRIALS, VALUES // (n + m))
        cdf, values = _quantile_function(self._summary)
        x, y = (
            np.interp(np.random.default_rng(seed).random((size, trials)), cdf, values).T
            for seed, size in ((1, n), (2, m))
        )
        tails = row_tails(x + shift, y, self._scale)
        share = float(np.mean(tails.pvalue("two-sided") < self._alpha))
        return share, math.sqrt(max(share * (1.0 - share), 1.0 / trials) / trials)

    def expected(self, shift: float, n: float, m: float) -> float:
        """The power in closed form: the pilot moved, as n values, against itself as m values."""
        from scipy.special import ndtr, ndtri

        pilot, atoms = Side.of(self._summary), self._summary.atoms()
        moved = pilot._replace(offset=pilot.offset + shift).scaled_to(n)
        resized = pilot.scaled_to(m)
        both = [Atoms(atoms.offset + by, atoms.weights * k / pilot.size, atoms.tied)
                for by, k in ((shift, n), (0.0, m))]  # fmt: skip
        shape = Shape(*shape_of(both[0], both[1], self._summary.grid.unit, False))
        width = scale_of(moved, resized, shape, self._scale).width
        pair = Pair(
            moved, resized, Witness(width, width), self._summary.grid.center, False,
            separation=shape.separation, allowance=shape.allowance,
        )  # fmt: skip
        score, limit = _score(pair.test(near=shape.median)), -float(ndtri(0.5 * self._alpha))
        return float(ndtr(score - limit) + ndtr(-score - limit))


def _score(test: Studentized) -> float:
    """The normal score of the smaller tail."""
    from scipy.special import ndtri

    tails = test.tails()
    return min(-float(ndtri(min(tails.upper, tails.lower))), 1e6)


def _quantile_function(summary: Summary) -> tuple[Array, Array]:
    """The quantile function of a pilot, linear between neighbouring values and a step at ties.

    Draws from it are distributed like the pilot without repeating its values.
    """
    values, weights = summary.all_points().ordered()
    passed = np.concatenate([[0.0], np.cumsum(weights)]) / weights.sum()
    tied = np.abs(weights - 1.0) > 1e-9  # several values at one point, or a part of a full bin
    ends = np.column_stack([passed[:-1], passed[1:]])
    middle = ends.mean(axis=1, keepdims=True)
    ends = np.where(tied[:, None] | ~np.isfinite(values)[:, None], ends, middle)
    return ends.reshape(-1), np.repeat(values, 2)


def _summary(pilot: npt.ArrayLike) -> Summary:
    sample = as_sample(pilot, "pilot")
    summary = Summary.of(sample, Grid.fit(sample))
    if summary.nan:
        raise nan_error("pilot", sample)
    return summary


def _check_sizes(n: int, m: int) -> None:
    if min(n, m) < 2:
        raise ValueError(f"each sample needs at least two values, got n={n!r}, m={m!r}")


def _check_power(alpha: float, power: float) -> None:
    require_shares(alpha=alpha, power=power)
    if power <= alpha:
        raise ValueError(
            f"power must be above alpha, the power without any shift; got power={power!r}, "
            f"alpha={alpha!r}"
        )
