"""Other statistics for the same samples: those that the paper compares with or names.

Signed statistics are positive when x tends to be larger. SciPy's version is used where it is as
fast. ``scipy.stats`` is imported on first use because it is slow to load.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, RealArray, as_sample, nan_error
from dkmd.base.compiled import compiled
from dkmd.statistic.embedding import mean_embedding, sorted_sample
from dkmd.statistic.witness import positive_width


def mean_difference(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Mean of x minus mean of y. One outlier can flip its sign.

    Examples
    --------
    >>> mean_difference([1, 2, 3], [1, 2, 9])
    -2.0
    """
    sample_x, sample_y = _finite_sample(x, "x"), _finite_sample(y, "y")
    with np.errstate(over="ignore", invalid="ignore"):  # sums beyond a double are infinite
        return float(sample_x.mean(dtype=np.float64) - sample_y.mean(dtype=np.float64))


def mmd2(x: npt.ArrayLike, y: npt.ArrayLike, sigma: float, unbiased: bool = False) -> float:
    """The squared maximum mean discrepancy with the Laplacian kernel.

    ``unbiased`` leaves out the pairs of a value with itself. The unbiased version can be negative
    and needs two values per side. O(N log N) time and linear memory; a Gram matrix needs N².

    Examples
    --------
    >>> round(mmd2([0.0, 1.0], [0.0, 2.0], sigma=1.0), 6)
    0.31606
    >>> round(mmd2([0.0, 1.0], [0.0, 2.0], sigma=1.0, unbiased=True), 6)
    -0.432332
    """
    sigma = positive_width("sigma", sigma)
    sample_x, sample_y = sorted_sample(x, "x"), sorted_sample(y, "y")
    _require_finite("x", sample_x)
    _require_finite("y", sample_y)
    within_x = _mean_of(sample_x, sample_x, sigma)
    within_y = _mean_of(sample_y, sample_y, sigma)
    if unbiased:
        if min(sample_x.size, sample_y.size) < 2:
            raise ValueError("unbiased mmd2 needs at least two values in each sample")
        within_x = _without_self_pairs(within_x, sample_x.size)
        within_y = _without_self_pairs(within_y, sample_y.size)
    return within_x + within_y - 2.0 * _mean_of(sample_x, sample_y, sigma)


def _mean_of(x: Array, y: Array, sigma: float) -> float:
    """The mean of e^{−|xᵢ − yⱼ|/σ} over all pairs."""
    return float(mean_embedding(x, y, sigma).mean())


def _without_self_pairs(mean: float, size: int) -> float:
    return (size * mean - 1.0) / (size - 1.0)


def energy_distance(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """√(2 E|X−Y| − E|X−X'| − E|Y−Y'|), as ``scipy.stats.energy_distance``, by one merge.

    Examples
    --------
    >>> round(energy_distance([0.0], [2.0]), 12)
    2.0
    """
    _, squares = _cdf_areas(x, y)
    return math.sqrt(2.0 * squares)


def wasserstein(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """The distance ∫|F_x − F_y| of ``scipy.stats.wasserstein_distance``, by one merge.

    Examples
    --------
    >>> wasserstein([0, 1], [1, 4])
    2.0
    """
    area, _ = _cdf_areas(x, y)
    return area


def signed_wasserstein(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """∫(F_y − F_x), Wasserstein-1 with its sign. It equals the mean difference (paper, section 6).

    Examples
    --------
    >>> signed_wasserstein([0, 1], [1, 4])
    -2.0
    """
    return mean_difference(x, y)


def _cdf_areas(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[float, float]:
    """∫|F_x − F_y| and ∫(F_x − F_y)²."""
    sample_x, sample_y = sorted_sample(x, "x"), sorted_sample(y, "y")
    _require_finite("x", sample_x)
    _require_finite("y", sample_y)
    area, squares = _areas(sample_x, sample_y)
    return float(area), float(squares)


@compiled
def _areas(x: Array, y: Array) -> tuple[float, float]:
    """Walk the merged points. Both empirical cdfs are constant between neighbouring points."""
    i = j = 0
    area = squares = 0.0
    here = min(x[0], y[0])
    while i < x.size or j < y.size:
        from_x = j == y.size or (i < x.size and x[i] <= y[j])
        there = x[i] if from_x else y[j]
        difference = i / x.size - j / y.size
        area += abs(difference) * (there - here)
        squares += difference * difference * (there - here)
        here = there
        i += from_x
        j += not from_x
    return area, squares


class KSResult(NamedTuple):
    """The Kolmogorov–Smirnov test: two-sided, and one-sided in both directions."""

    statistic: float
    pvalue: float
    x_larger: float
    """The largest lead of y's cdf over x's: evidence that x is larger."""
    x_larger_pvalue: float
    y_larger: float
    y_larger_pvalue: float
    direction: str
    """"x is larger", "y is larger" or "no direction", by the larger one-sided statistic."""


EXACT_KS = 1_000
"""The Kolmogorov–Smirnov test is exact up to this many values per side."""


EXACT_RANKS = 8
"""The Mann-Whitney test is SciPy's, and may be exact, up to this many values on a side."""


def ks(x: npt.ArrayLike, y: npt.ArrayLike) -> KSResult:
    """The Kolmogorov–Smirnov tests of SciPy, with the direction in words.

    Samples of more than 1,000 values get the asymptotic p-value.

    Examples
    --------
    >>> ks([1.0, 2.0, 3.0], [2.5, 3.5, 4.5]).direction
    'y is larger'
    """
    samples = [_ordered(x, "x"), _ordered(y, "y")]
    # the exact p-value of 1,000 + 1,000 values takes 50 times as long and differs by parts in 100
    few = max(sample.size for sample in samples) <= EXACT_KS
    both, x_larger, y_larger = (_ks_exact if few else _ks_asymptotic)(*samples)
    direction = direction_in_words(x_larger[0] - y_larger[0])
    return KSResult(*both, *x_larger, *y_larger, direction)


Tested = tuple[float, float]
"""A statistic and its p-value."""


def _ks_exact(x: RealArray, y: RealArray) -> tuple[Tested, Tested, Tested]:
    """SciPy's tests: two-sided, x is larger, y is larger."""
    from scipy.stats import ks_2samp

    # SciPy's "less" asks whether x's cdf lies below y's, that is, whether x is larger
    found = (ks_2samp(x, y, alternative=side) for side in ("two-sided", "less", "greater"))
    both, x_larger, y_larger = ((float(test.statistic), float(test.pvalue)) for test in found)
    return both, x_larger, y_larger


def _ks_asymptotic(x: RealArray, y: RealArray) -> tuple[Tested, Tested, Tested]:
    """The same with SciPy's asymptotic p-values, by one sort instead of three."""
    from scipy.stats import kstwo

    merged = np.concatenate([x, y])
    merged.sort()
    cdf_x, cdf_y = (
        np.searchsorted(np.sort(side), merged, side="right") / side.size for side in (x, y)
    )
    lead = cdf_y - cdf_x
    x_larger, y_larger = max(0.0, float(lead.max())), max(0.0, -float(lead.min()))
    statistic = max(x_larger, y_larger)
    n, m = sorted((float(x.size), float(y.size)))
    size = n * m / (n + m)

    def one_sided(d: float) -> Tested:
        """The approximation of Hodges (1958), equation 5.3."""
        z = math.sqrt(size) * d
        correction = 2.0 * z * (m + 2.0 * n) / math.sqrt(m * n * (m + n)) / 3.0
        return d, math.exp(-2.0 * z * z - correction)

    both = statistic, float(kstwo.sf(statistic, round(size)))
    return both, one_sided(x_larger), one_sided(y_larger)


def welch(x: npt.ArrayLike, y: npt.ArrayLike) -> Tested:
    """Welch's t with its two-sided p-value, as ``scipy.stats.ttest_ind(equal_var=False)``.

    SciPy's function needs a millisecond for its arguments alone. Both numbers are NaN for a side
    of one value, or if nothing varies and the means agree.

    Examples
    --------
    >>> tuple(round(float(number), 6) for number in welch([1.0, 2.0, 4.0], [3.0, 5.0, 8.0, 9.0]))
    (-2.395342, 0.064488)
    """
    one, other = _finite_sample(x, "x"), _finite_sample(y, "y")
    if min(one.size, other.size) < 2:
        return math.nan, math.nan
    of_x, of_y = (_scatter(side) / (side.size - 1.0) / side.size for side in (one, other))
    square = of_x + of_y
    doubt = of_x * of_x / (one.size - 1.0) + of_y * of_y / (other.size - 1.0)
    df = square * square / doubt if doubt > 0.0 else 1.0
    return _student(mean_difference(one, other), square, df)


def mann_whitney(x: npt.ArrayLike, y: npt.ArrayLike) -> Tested:
    """P(X > Y) + P(X = Y)/2, and the two-sided p-value of ``scipy.stats.mannwhitneyu``.

    Up to 8 values on a side SciPy's exact p-value is taken, else the normal law with corrections
    for ties and for continuity.

    Examples
    --------
    >>> tuple(round(number, 6) for number in mann_whitney([1.0, 2.0, 4.0], [3.0, 5.0, 8.0, 9.0]))
    (0.083333, 0.114286)
    """
    one, other = (np.sort(_ordered(side, name)) for side, name in ((x, "x"), (y, "y")))
    pairs = float(one.size) * other.size
    if min(one.size, other.size) <= EXACT_RANKS:
        from scipy.stats import mannwhitneyu

        with np.errstate(divide="ignore", invalid="ignore"):  # where all values are alike
            test = mannwhitneyu(one, other)
        return float(test.statistic) / pairs, float(test.pvalue)
    from scipy.special import ndtr

    sides = (np.searchsorted(other, one, side=side).sum() for side in ("left", "right"))
    lower = 0.5 * float(sum(sides))  # the pairs with a smaller y; ties count half
    merged = np.sort(np.concatenate([one, other]))
    ends = np.flatnonzero(np.append(merged[1:] != merged[:-1], True))
    ties = np.diff(ends, prepend=-1).astype(np.float64)
    size = float(merged.size)
    square = pairs / 12.0 * (size + 1.0 - float((ties**3 - ties).sum()) / (size * (size - 1.0)))
    if not square > 0.0:
        return 0.5, 1.0
    z = (abs(lower - 0.5 * pairs) - 0.5) / math.sqrt(square)
    return lower / pairs, min(1.0, float(2.0 * ndtr(-z)))


def brown_forsythe(x: npt.ArrayLike, y: npt.ArrayLike) -> Tested:
    """The Brown–Forsythe test, as ``scipy.stats.levene(center="median")`` of two samples.

    For two samples Levene's W is the square of Student's t of the distances from the medians.

    Examples
    --------
    >>> tuple(round(float(number), 6) for number in brown_forsythe([1, 2, 4], [3, 5, 8, 9]))
    (2.819549, 0.15396)
    """
    one, other = (
        np.abs(side - np.median(side)) for side in (_finite_sample(x, "x"), _finite_sample(y, "y"))
    )
    df = one.size + other.size - 2.0
    sizes = 1.0 / one.size + 1.0 / other.size
    square = (_scatter(one) + _scatter(other)) / df * sizes if df else math.nan
    t, pvalue = _student(mean_difference(one, other), square, df)
    return t * t, pvalue


def _scatter(sample: RealArray) -> float:
    """The sum of squared distances from the mean; inf if it is too large for a double."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(sample.var(dtype=np.float64)) * sample.size


def _student(difference: float, square: float, df: float) -> Tested:
    """t of a difference with this squared error, and its two-sided p-value."""
    from scipy.special import stdtr

    if square > 0.0:
        t = difference / math.sqrt(square)
    else:
        t = math.copysign(math.inf, difference) if difference else math.nan
    return t, float(2.0 * stdtr(df, -abs(t)))


def direction_in_words(signed: float) -> str:
    """A sign in words, the same words everywhere."""
    if signed > 0.0:
        return "x is larger"
    return "y is larger" if signed < 0.0 else "no direction"


class MeanEmbeddingResult(NamedTuple):
    """The mean-embedding test: a difference per location, and one test for all locations."""

    differences: Array
    """(locations,) mean k(t, x) − mean k(t, y): positive where x has more mass near t."""
    statistic: float
    """n·m/(n+m) · d' S⁻¹ d with S the pooled covariance of the features."""
    pvalue: float
    """The p-value from χ² with as many degrees of freedom as locations."""


def mean_embedding_test(
    x: npt.ArrayLike, y: npt.ArrayLike, locations: npt.ArrayLike, sigma: float
) -> MeanEmbeddingResult:
    """The mean-embedding test of Chwialkowski et al. (2015) with the Laplacian kernel.

    Choose the locations without looking at these samples. Otherwise the p-value is too small.
    The samples may differ in size: the covariance is pooled over both.

    Examples
    --------
    >>> result = mean_embedding_test([0.1, -0.3, 0.2, 0.4], [1.0, 1.3, 0.7, 0.9], [0.0, 1.0], 1.0)
    >>> (result.differences > 0).tolist()
    [True, False]
    """
    from scipy.special import chdtrc

    sigma = positive_width("sigma", sigma)
    at = as_sample(locations, "locations").astype(np.float64)
    n, mean_x, scatter_x = _features(as_sample(x, "x"), "x", at, sigma)
    m, mean_y, scatter_y = _features(as_sample(y, "y"), "y", at, sigma)
    if n + m - 2 < at.size:
        raise ValueError(f"{at.size} locations need at least {at.size + 2} values in all")
    differences = mean_x - mean_y
    covariance = (scatter_x + scatter_y) / (n + m - 2)
    if np.linalg.matrix_rank(covariance, hermitian=True) < at.size:
        raise ValueError("the features at these locations are collinear: choose other locations")
    statistic = float(n * m / (n + m) * (differences @ np.linalg.solve(covariance, differences)))
    return MeanEmbeddingResult(differences, statistic, float(chdtrc(at.size, statistic)))


def _features(
    sample: RealArray, name: str, locations: Array, sigma: float
) -> tuple[int, Array, Array]:
    """Size, mean and scatter matrix of the features k(location, value), each (locations,) wide."""
    values = sample.astype(np.float64, copy=False)
    if np.isnan(values).any():
        raise nan_error(name, sample)
    features = np.exp(-np.abs(values[:, None] - locations) / sigma)  # (values, locations)
    mean = features.mean(axis=0)
    features -= mean
    return sample.size, mean, features.T @ features


def _ordered(values: npt.ArrayLike, name: str) -> RealArray:
    """A sample whose values have an order: infinite ones do, NaN does not."""
    sample = as_sample(values, name)
    if np.isnan(sample).any():
        raise nan_error(name, sample)
    return sample


def _finite_sample(values: npt.ArrayLike, name: str) -> RealArray:
    sample = as_sample(values, name)
    _require_finite(name, sample)
    return sample


def _require_finite(name: str, sample: RealArray) -> None:
    if not np.isfinite(sample).all():
        if np.isnan(sample).any():
            raise nan_error(name, sample)
        raise ValueError(f"{name} has infinite values, which this statistic cannot handle")
