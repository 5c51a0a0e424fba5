"""Several columns at once: definitions, symmetries, odd data, size and power."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest
from matrix_samples import two_matrices
from scipy.optimize import brentq

import dkmd
from dkmd.base.arrays import Array
from dkmd.base.errors import DkmdError
from dkmd.bins.grid import PER_MAD
from dkmd.matrices.multivariate import run_multivariate

pytestmark = pytest.mark.slow  # plain Python would need minutes


def test_statistic_and_shift_follow_their_definitions() -> None:
    x, y = two_matrices(1, n=21, m=14)
    result = run_multivariate(x, y, n_resamples=9)
    assert result.fit is not None
    pooled = np.vstack([x, y])
    median = np.median(pooled, axis=0)
    scale = PER_MAD * np.median(np.abs(pooled - median), axis=0)
    z = (pooled - median) / scale
    c = naive.vector_center(z, np.zeros(3))
    psi = np.array([naive.radial_psi(row - c) for row in z])
    expected = scale * (psi[:21].mean(axis=0) - psi[21:].mean(axis=0))
    np.testing.assert_allclose(result.statistic, expected, rtol=1e-7, atol=1e-9)
    own = np.concatenate([side - np.median(side, axis=0) for side in (x, y)])
    within = PER_MAD * np.median(np.abs(own), axis=0)
    np.testing.assert_allclose(result.scale, within, rtol=1e-12)
    centers = [naive.vector_center(side / within, np.zeros(3)) for side in (x, y)]
    np.testing.assert_allclose(
        result.shift, within * (centers[0] - centers[1]), rtol=1e-7, atol=1e-8
    )


def _m_center(values: Array, width: float) -> float:
    """The c with Σ ψ(value − c) = 0, by bisection."""
    psi = dkmd.Witness(sigma=width, tau=width)
    ends = float(values.min()), float(values.max())
    return float(brentq(lambda c: float(np.sum(psi(values - c))), *ends, xtol=1e-14))


def test_one_column_is_the_paper_s_statistic_at_the_centre_of_both_samples() -> None:
    x, y = two_matrices(3, n=60, m=45, d=1)
    found = run_multivariate(x, y, n_resamples=99)
    assert found.fit is not None
    pooled = np.vstack([x, y])
    scale = float(PER_MAD * np.median(np.abs(pooled - np.median(pooled))))
    psi = dkmd.Witness(sigma=scale, tau=scale, center=_m_center(pooled[:, 0], scale))
    assert found.statistic[0] == pytest.approx(dkmd.exact(x[:, 0], y[:, 0], psi), rel=1e-7)
    # the shift is the difference of both samples' own centres, each with its own error
    within = float(found.scale[0])
    centers, variances = [], []
    for side in (x[:, 0], y[:, 0]):
        at = _m_center(side, within)
        own = dkmd.Witness(sigma=within, tau=within, center=at)
        centers.append(at)
        slope = float(np.mean(own.derivative(side)))
        variances.append(float(np.var(own(side), ddof=1)) / slope**2 / side.size)
    assert found.shift[0] == pytest.approx(centers[0] - centers[1], rel=1e-7)
    assert found.standard_error[0] == pytest.approx(math.sqrt(sum(variances)), rel=0.03)


def test_swapping_the_samples_flips_the_signs() -> None:
    x, y = two_matrices(5)
    first, second = run_multivariate(x, y), run_multivariate(y, x)
    np.testing.assert_allclose(first.statistic, -second.statistic, rtol=1e-9)
    np.testing.assert_allclose(first.shift, -second.shift, rtol=1e-7)
    assert first.length == pytest.approx(second.length, rel=1e-7)


def test_other_units_and_offsets_change_no_p_value() -> None:
    x, y = two_matrices(6, d=4)
    units, offset = np.array([1e-6, 1.0, 250.0, 1e9]), np.array([1e3, -5.0, 0.0, 1e12])
    first = run_multivariate(x, y)
    second = run_multivariate(x * units + offset, y * units + offset)
    np.testing.assert_allclose(second.shift, first.shift * units, rtol=1e-5)
    assert second.pvalue == pytest.approx(first.pvalue, rel=1e-3)


def test_a_million_rows_of_100_columns() -> None:
    """float32 of 400 MB. A shift of 0.02 scales is ten standard errors; a row is at infinity."""
    rng = np.random.default_rng(9)
    x, y = (rng.standard_normal((500_000, 100), dtype=np.float32) for _ in range(2))
    x[:, 7] += np.float32(0.02)
    x[3] = np.inf
    found = run_multivariate(x, y)
    assert found.sizes == (500_000, 500_000)
    assert found.pvalue == pytest.approx(1 / 1000)
    assert np.flatnonzero(found.column_pvalues < 0.05).tolist() == [7]
    assert found.shift[7] == pytest.approx(0.02, abs=3 * found.standard_error[7])
    assert found.standard_error[7] == pytest.approx(0.002, rel=0.1)
    low, high = found.length_interval()
    assert low < 0.02 < high < 0.03


def test_a_side_at_infinity_has_no_centre() -> None:
    x, y = two_matrices(12, d=3)
    x[: len(x) // 2, 0] = np.inf
    assert math.isfinite(run_multivariate(x, y, n_resamples=19).length)
    x[:, 0] = np.inf
    with pytest.raises(DkmdError, match="more than half of the rows of x have infinite values"):
        run_multivariate(x, y)


def test_pairs_at_infinity_have_no_centre() -> None:
    x, y = two_matrices(12, d=3)
    x = x[: len(y)]
    x[: len(x) // 2, 0] = np.inf
    assert math.isfinite(run_multivariate(x, y, paired=True, n_resamples=19).length)
    x[:, 0] = np.inf
    with pytest.raises(DkmdError, match="more than half of the pairs have infinite values"):
        run_multivariate(x, y, paired=True)


def test_infinite_values_are_far_points_in_their_direction() -> None:
    x, y = two_matrices(11, d=3)
    far, farther = x.copy(), x.copy()
    far[0], farther[0] = [-np.inf, 1.0, 2.0], [-1e60, 1.0, 2.0]
    first, second = run_multivariate(far, y), run_multivariate(farther, y)
    np.testing.assert_allclose(first.shift, second.shift, rtol=1e-9)
    assert first.pvalue == second.pvalue
    far[0] = [np.inf, 1.0, -np.inf]
    both = run_multivariate(far, y).shift - run_multivariate(x[1:], y).shift
    assert both[0] > 0.0 > both[2]


def test_constant_and_duplicate_columns() -> None:
    x, y = two_matrices(13, d=2)
    wide = [np.column_stack([side, np.full(len(side), 7.0), side[:, 0]]) for side in (x, y)]
    found = run_multivariate(wide[0], wide[1])
    assert found.shift[2] == 0.0
    assert found.column_pvalues[2] == 1.0
    assert found.notes == ("column 2 is constant and was left out",)
    assert found.shift[3] == pytest.approx(found.shift[0], rel=1e-9)
    same = run_multivariate(np.ones((5, 2)), np.ones((4, 2)))
    assert math.isnan(same.pvalue)
    assert same.shift.tolist() == [0.0, 0.0]


def test_more_columns_than_rows() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(12, 80)), rng.normal(size=(15, 80))
    assert run_multivariate(x, y).pvalue > 0.05
    assert run_multivariate(x + 0.8, y).pvalue < 0.01


def test_groups_widen_the_noise_of_repeated_rows() -> None:
    rng = np.random.default_rng(17)
    x, y = (np.repeat(rng.normal(size=(15, 4)), 8, axis=0) for _ in range(2))
    labels = np.repeat(np.arange(15), 8)
    grouped = run_multivariate(x, y, groups=(labels, labels))
    alone = run_multivariate(x, y)
    ratio = grouped.standard_error / alone.standard_error
    np.testing.assert_allclose(ratio, math.sqrt(8), rtol=0.15)
    assert grouped.pvalue > alone.pvalue
    with pytest.raises(DkmdError, match="one group"):
        run_multivariate(x, y, groups=(np.zeros(120), labels))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d", "n", "m", "spread"), [(2, 60, 60, 1.0), (40, 30, 90, 1.0), (10, 30, 90, 3.0)]
)
def test_size_is_close_to_the_level(d: int, n: int, m: int, spread: float) -> None:
    """200 trials at 10%: within four standard errors above, and not far below."""
    rng = np.random.default_rng([d, n])
    rejected = 0
    for trial in range(200):
        x = rng.standard_t(3, size=(n, d))
        y = spread * rng.standard_t(3, size=(m, d))
        rejected += run_multivariate(x, y, n_resamples=99, rng=trial).pvalue <= 0.1
    assert 5 <= rejected <= 20 + 4 * math.sqrt(18)


def test_wild_rows_do_not_hide_a_move() -> None:
    """One row in twenty is 50 times as long. Means see nothing, dkmd still does."""
    rng = np.random.default_rng(23)
    x, y = rng.normal(size=(60, 100)), rng.normal(size=(60, 100))
    x[:3] *= 50.0
    y[:3] *= 50.0
    assert run_multivariate(x + 0.25, y).pvalue < 0.01
