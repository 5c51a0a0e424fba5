"""Other statistics for the same samples: those that the paper compares with or names.

Signed statistics are positive when x tends to be larger. SciPy's tests are used as
they are. ``scipy.stats`` is imported on first use because it is slow to load.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, RealArray, as_sample, nan_error
from dkmd.base.compiled import compiled
from dkmd.base.quiet import without_warnings
from dkmd.base.wording import direction_in_words
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
    sample_x, sample_y = _finite_sorted(x, "x"), _finite_sorted(y, "y")
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
    sample_x, sample_y = _finite_sorted(x, "x"), _finite_sorted(y, "y")
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


def ks(x: npt.ArrayLike, y: npt.ArrayLike) -> KSResult:
    """The Kolmogorov–Smirnov tests of SciPy, with the direction in words.

    Samples of more than 1,000 values get the asymptotic p-value.

    Examples
    --------
    >>> ks([1.0, 2.0, 3.0], [2.5, 3.5, 4.5]).direction
    'y is larger'
    """
    from scipy.stats import ks_2samp

    one, other = _ordered(x, "x"), _ordered(y, "y")
    # the exact p-value of 1,000 + 1,000 values takes 50 times as long and differs by parts in 100
    method = "auto" if max(one.size, other.size) <= EXACT_KS else "asymp"
    # SciPy's "less" asks whether x's cdf lies below y's, that is, whether x is larger
    both, x_larger, y_larger = (
        _tested(ks_2samp, one, other, alternative=side, method=method)
        for side in ("two-sided", "less", "greater")
    )
    direction = direction_in_words(x_larger[0] - y_larger[0])
    return KSResult(*both, *x_larger, *y_larger, direction)


Tested = tuple[float, float]
"""A statistic and its p-value."""


def _tested(test: Callable[..., Any], x: RealArray, y: RealArray, **options: Any) -> Tested:
    """Run a test of SciPy without its warnings about samples that are small or hardly vary."""
    with without_warnings():  # in doubles: SciPy adds the ranks of short floats as short floats
        found = test(x.astype(np.float64), y.astype(np.float64), **options)
    return float(found.statistic), float(found.pvalue)


def welch(x: npt.ArrayLike, y: npt.ArrayLike) -> Tested:
    """Welch's t with its two-sided p-value: ``scipy.stats.ttest_ind(equal_var=False)``.

    Both numbers are NaN for a side of one value, or if nothing varies and the means agree.

    Examples
    --------
    >>> tuple(round(number, 6) for number in welch([1.0, 2.0, 4.0], [3.0, 5.0, 8.0, 9.0]))
    (-2.395342, 0.064488)
    """
    from scipy.stats import ttest_ind

    return _tested(ttest_ind, _finite_sample(x, "x"), _finite_sample(y, "y"), equal_var=False)


def mann_whitney(x: npt.ArrayLike, y: npt.ArrayLike) -> Tested:
    """P(X > Y) + P(X = Y)/2, and the two-sided p-value of ``scipy.stats.mannwhitneyu``.

    SciPy's p-value is exact up to 8 values on a side if there are no ties.

    Examples
    --------
    >>> tuple(round(number, 6) for number in mann_whitney([1.0, 2.0, 4.0], [3.0, 5.0, 8.0, 9.0]))
    (0.083333, 0.114286)
    """
    from scipy.stats import mannwhitneyu

    one, other = _ordered(x, "x"), _ordered(y, "y")
    above, pvalue = _tested(mannwhitneyu, one, other)
    return above / (float(one.size) * other.size), pvalue


def brown_forsythe(x: npt.ArrayLike, y: npt.ArrayLike) -> Tested:
    """The Brown–Forsythe test: ``scipy.stats.levene(center="median")`` of two samples.

    Examples
    --------
    >>> tuple(round(number, 6) for number in brown_forsythe([1, 2, 4], [3, 5, 8, 9]))
    (2.819549, 0.15396)
    """
    from scipy.stats import levene

    return _tested(levene, _finite_sample(x, "x"), _finite_sample(y, "y"), center="median")


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


def _finite_sorted(values: npt.ArrayLike, name: str) -> Array:
    sample = sorted_sample(values, name)
    _require_finite(name, sample)
    return sample


def _require_finite(name: str, sample: RealArray) -> None:
    if not np.isfinite(sample).all():
        if np.isnan(sample).any():
            raise nan_error(name, sample)
        raise ValueError(f"{name} has infinite values, which this statistic cannot handle")
