"""Planning: how many values a shift takes, and what shift a number of values can show.

The standard error of a shift is √(V/a²·(1/n + 1/m)), with V the variance of ψ and a the mean of ψ'
over the pilot, so all three questions have closed forms. They hold for shifts that are small
against the spread of the data (up to about one robust scale).
"""

from __future__ import annotations

import math

import numpy.typing as npt

from dkmd.grid import Grid
from dkmd.inference import NOTHING, Side, critical, m_center, side_sums
from dkmd.scale import fitted_scale
from dkmd.sources.arrays import as_sample, nan_error
from dkmd.summary import Summary
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
    180
    """
    _check(alpha=alpha, power=power)
    if not (math.isfinite(shift) and shift != 0.0):
        raise ValueError(f"shift must be a finite number other than 0, got {shift!r}")
    if not (ratio > 0.0 and math.isfinite(ratio)):
        raise ValueError(f"ratio must be positive, got {ratio!r}")
    spread = _spread(pilot, scale)
    needed = ((_normal(1.0 - alpha / 2.0) + _normal(power)) * spread / shift) ** 2
    return max(2, math.ceil(needed * (1.0 + 1.0 / ratio)))


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
    2.8
    """
    _check(alpha=alpha, power=power)
    error = _spread(pilot, scale) * _root_of_sizes(n, n if m is None else m)
    return (_normal(1.0 - alpha / 2.0) + _normal(power)) * error


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
    error = _spread(pilot, scale) * _root_of_sizes(n, n if m is None else m)
    effect, limit = abs(shift) / error, _normal(1.0 - alpha / 2.0)
    return float(ndtr(effect - limit) + ndtr(-effect - limit))


def _spread(pilot: Pilot, scale: float | str | None) -> float:
    """√V/a of the pilot: what the standard deviation is to a mean."""
    summary = pilot if isinstance(pilot, Summary) else _summary(pilot)
    if summary.size < 2:
        raise ValueError("the pilot needs at least two values")
    width = fitted_scale(summary, scale).width
    if math.isnan(width):
        raise ValueError("the pilot's values are all equal or mostly infinite: it has no scale")
    side, psi = Side.of(summary), Witness(width, width)
    sums = side_sums(side, psi, m_center(side, NOTHING, psi))
    if not (sums.variance > 0.0 and sums.slope > 0.0):
        raise ValueError("the pilot's values do not vary")
    return math.sqrt(sums.variance) / sums.slope


def _summary(pilot: npt.ArrayLike) -> Summary:
    sample = as_sample(pilot, "pilot")
    summary = Summary.of(sample, Grid.fit(sample))
    if summary.nan:
        raise nan_error("pilot", sample)
    return summary


def _root_of_sizes(n: int, m: int) -> float:
    if min(n, m) < 2:
        raise ValueError(f"each sample needs at least two values, got n={n!r}, m={m!r}")
    return math.sqrt(1.0 / n + 1.0 / m)


def _normal(level: float) -> float:
    return critical(level, math.inf)


def _check(**shares: float) -> None:
    for name, value in shares.items():
        if not 0.0 < value < 1.0:
            raise ValueError(f"{name} must lie between 0 and 1, got {value!r}")
