"""Scales, M-centres, slopes and influences."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from matrix_samples import two_matrices

from dkmd.base.arrays import Array
from dkmd.matrices import center
from dkmd.matrices.center import Slope
from dkmd.matrices.multivariate import run_multivariate
from dkmd.matrices.radial import radial
from dkmd.matrices.rows import CenterScale, MatrixRows

pytestmark = pytest.mark.slow  # plain Python would need minutes


@pytest.mark.parametrize("rows", [30, 4])
def test_the_slope_of_the_mean_is_its_derivative(rows: int) -> None:
    """With fewer rows than columns it is solved by a matrix of rows by rows."""
    z, _ = two_matrices(4, n=rows, d=5)
    slope = Slope.of(z, radial(5))
    assert slope.wide == (rows < 5)
    vectors = np.arange(10.0).reshape(2, 5)
    expected = np.linalg.solve(naive.vector_slope(z), vectors.T).T
    np.testing.assert_allclose(slope.solve(vectors), expected, rtol=1e-6)


def test_passes_over_many_rows_agree_with_all_rows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of 300 rows, small pieces and threads: the centre is still that of all rows."""
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(3000, 4)), rng.normal(0.1, 2.0, size=(2000, 4))
    whole = run_multivariate(x, y)
    monkeypatch.setattr(center, "SAMPLED", 300)
    monkeypatch.setattr(center, "FEWEST_SAMPLED", 10)
    monkeypatch.setattr(center, "MOST_BLOCKS", 64)
    at = CenterScale(np.zeros(4), np.ones(4))
    rows = MatrixRows(y, np.arange(2000), np.arange(4))
    few = center.center_of_sample(y[:300], at, radial(4))
    slope = Slope.of(few.standardized(y[:300]), radial(4))
    found = center.refined((rows,), few, radial(4), slope).center
    expected = center.center_of_sample(y, at, radial(4)).center
    np.testing.assert_allclose(found, expected, atol=1e-6)
    parts = run_multivariate(x, y)
    np.testing.assert_allclose(parts.shift, whole.shift, atol=0.02)
    assert parts.pvalue < 0.01 or whole.pvalue >= 0.01


@pytest.mark.parametrize("columns", [1, 4, 50])
def test_the_variance_of_a_centre_is_that_of_the_jackknife(columns: int) -> None:
    """Leaving out each row and fitting again gives the same variance, up to 1% for 30 rows."""
    rng = np.random.default_rng(21)
    x, y = rng.standard_t(3, size=(30, columns)), rng.normal(size=(25, columns))
    found = run_multivariate(x, y, n_resamples=19).fit
    assert found is not None
    at = CenterScale(np.zeros(columns), found.scale)

    def centre_of(rows: Array) -> Array:
        return center.center_of_sample(rows, at, radial(columns)).center / at.scale

    moves = np.array([centre_of(np.delete(x, i, axis=0)) - centre_of(x) for i in range(len(x))])
    jackknife = (1.0 - 1.0 / len(x)) * np.sum(moves**2, axis=0)
    np.testing.assert_allclose(found.sides[0].variance, jackknife, rtol=0.01)


def test_a_rare_value_beyond_the_sample_is_not_taken_for_a_constant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(center, "SAMPLED", 50)
    monkeypatch.setattr(center, "FEWEST_SAMPLED", 50)
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(400, 2)), rng.normal(size=(400, 2))
    x[:, 1] = y[:, 1] = 0.0
    y[:5, 1] = 3.0
    assert run_multivariate(x, y).notes == ()
