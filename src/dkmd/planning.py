"""Planning: how many values a shift takes, and what shift a number of values can show.

A pilot is set against itself moved by the shift. That gives the statistic and its standard error
per √n in closed form, with the scale the test would choose, and so all three answers.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dkmd.grid import Grid
from dkmd.inference import Pair, critical
from dkmd.scale import Pooled, fitted_scale, scale_of
from dkmd.sources.arrays import as_sample, nan_error
from dkmd.summary import Points, Summary
from dkmd.witness import Witness

Pilot = npt.ArrayLike | Summary


def sample_size(
    pilot: Pilot,
    shift: float,
    power: float = 0.8,
    alpha: float = 0.05,
    ratio: float = 1.0,
    scale: float | str | None = None,
) -> int:
    """Values that the first sample needs to show ``shift``; the second has ``ratio`` times as many.

    Parameters
    ----------
    pilot : array_like or Summary
        Data like those to come.
    shift : float
        The shift to be shown, in data units.
    power : float
        The probability of showing it.
    alpha : float
        The level of the two-sided test.
    ratio : float
        Size of the second sample over that of the first.
    scale
        As in ``dkmd_2samp``.

    Examples
    --------
    >>> import numpy as np
    >>> pilot = np.random.default_rng(4).normal(100, 10, 1000)
    >>> sample_size(pilot, shift=3)  # about 2 · (2.8 · 10/3)², as for a t-test of normal data
    182
    """
    _check_power(alpha, power)
    if not (math.isfinite(shift) and shift != 0.0):
        raise ValueError(f"shift must be a finite number other than 0, got {shift!r}")
    if not (ratio > 0.0 and math.isfinite(ratio)):
        raise ValueError(f"ratio must be positive, got {ratio!r}")
    plan = _Plan(pilot, scale)
    n = 20.0
    for _ in range(30):  # the best scale depends on n a little, so a few rounds are needed
        needed = _critical(alpha, n, ratio * n) + critical(power, math.inf)
        following = max(2.0, n * (needed / plan.noncentrality(shift, n, ratio * n)) ** 2)
        if abs(following - n) < 0.5:
            break
        n = following
    return math.ceil(max(n, following))


def detectable_shift(
    pilot: Pilot,
    n: int,
    m: int | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    scale: float | str | None = None,
) -> float:
    """The shift that samples of n and m values (m = n by default) show with this power.

    Examples
    --------
    >>> import numpy as np
    >>> pilot = np.random.default_rng(4).normal(100, 10, 1000)
    >>> round(detectable_shift(pilot, n=200), 1)
    2.9
    """
    _check_power(alpha, power)
    m = n if m is None else m
    _check_sizes(n, m)
    plan = _Plan(pilot, scale)
    needed = _critical(alpha, n, m) + critical(power, math.inf)
    shift = plan.pair(0.0, n, m).witness.sigma * math.sqrt(1.0 / n + 1.0 / m)
    for _ in range(50):
        following = shift * needed / plan.noncentrality(shift, n, m)
        if abs(following - shift) <= 1e-6 * shift:
            break
        shift = following
    return float(following)


def power(
    pilot: Pilot,
    shift: float,
    n: int,
    m: int | None = None,
    alpha: float = 0.05,
    scale: float | str | None = None,
) -> float:
    """The probability that samples of n and m values (m = n by default) show ``shift``.

    Examples
    --------
    >>> import numpy as np
    >>> pilot = np.random.default_rng(4).normal(100, 10, 1000)
    >>> round(power(pilot, shift=3, n=200), 2)
    0.84
    """
    from scipy.special import ndtr

    _check(alpha=alpha)
    m = n if m is None else m
    _check_sizes(n, m)
    effect, limit = _Plan(pilot, scale).noncentrality(shift, n, m), _critical(alpha, n, m)
    return float(ndtr(effect - limit) + ndtr(-effect - limit))


class _Plan:
    """A pilot against itself moved by a shift: what the test would meet at given sizes."""

    def __init__(self, pilot: Pilot, scale: float | str | None) -> None:
        summary = pilot if isinstance(pilot, Summary) else _summary(pilot)
        if summary.size < 2:
            raise ValueError("the pilot needs at least two values")
        if math.isnan(fitted_scale(summary, "robust").width):
            raise ValueError("the pilot's values are all equal or mostly infinite: it has no scale")
        self._pooled, self._origin, self._scale = Pooled.of(summary), summary.grid.center, scale

    def pair(self, shift: float, n: float, m: float) -> Pair:
        """The moved pilot and the pilot, with the scale that samples of n and m would have."""
        (values, weights), side, zero, grid = self._pooled
        moved = side._replace(offset=side.offset + shift)
        points = Points(
            np.concatenate([values + shift, values]), np.concatenate([weights, weights])
        )
        both = Pooled(points, moved.joined(side), zero, grid)
        width = scale_of(both, self._scale, (n, m), self._origin).width
        return Pair(moved, side, Witness(width, width), self._origin, False)

    def noncentrality(self, shift: float, n: float, m: float) -> float:
        """The statistic in standard errors to expect from samples of n and m values."""
        pair = self.pair(shift, n, m)
        # the same bins, counted as n and m values: means stay, standard errors shrink
        resized = replace(pair, x=pair.x.scaled_to(n), y=pair.y.scaled_to(m))
        return float(abs(resized.test().t))


def _summary(pilot: npt.ArrayLike) -> Summary:
    sample = as_sample(pilot, "pilot")
    summary = Summary.of(sample, Grid.fit(sample))
    if summary.nan:
        raise nan_error("pilot", sample)
    return summary


def _critical(alpha: float, n: float, m: float) -> float:
    """The critical value of the two-sided test."""
    return critical(1.0 - alpha / 2.0, max(1.0, n + m - 2.0))


def _check_sizes(n: int, m: int) -> None:
    if min(n, m) < 2:
        raise ValueError(f"each sample needs at least two values, got n={n!r}, m={m!r}")


def _check_power(alpha: float, power: float) -> None:
    _check(alpha=alpha, power=power)
    if power <= alpha:
        raise ValueError(
            f"power must be above alpha, which is reached without any shift; got power={power!r}, "
            f"alpha={alpha!r}"
        )


def _check(**shares: float) -> None:
    for name, value in shares.items():
        if not 0.0 < value < 1.0:
            raise ValueError(f"{name} must lie between 0 and 1, got {value!r}")
