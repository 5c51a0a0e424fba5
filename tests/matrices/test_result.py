"""Intervals, p-values of columns and verdicts agree with each other."""

from __future__ import annotations

import numpy as np
import pytest
from matrix_samples import two_matrices

from dkmd.matrices.multivariate import run_multivariate

pytestmark = pytest.mark.slow  # plain Python would need minutes


def test_intervals_and_p_values_of_columns_agree() -> None:
    rng = np.random.default_rng(18)
    x, y = rng.normal(size=(80, 12)), rng.normal(size=(60, 12))
    x[:, 3] += 0.9
    found = run_multivariate(x, y)
    for level in (0.9, 0.95):
        low, high = found.shift_interval(level)
        excluded = (low > 0.0) | (high < 0.0)
        np.testing.assert_array_equal(excluded, found.column_pvalues < 1.0 - level)
    assert np.flatnonzero(found.column_pvalues < 0.05).tolist() == [3]


def test_an_interval_holds_0_until_the_level_reaches_the_p_value() -> None:
    """At the level of each counted p-value itself, and just beyond it."""
    rng = np.random.default_rng(41)
    x, y = rng.normal(size=(60, 12)) + np.linspace(0.0, 0.6, 12), rng.normal(size=(70, 12))
    found = run_multivariate(x, y)
    counted = np.flatnonzero((found.column_pvalues > 0.002) & (found.column_pvalues < 0.95))
    assert counted.size >= 4
    for j in counted:
        p = float(found.column_pvalues[j])
        for alpha, inside in ((p - 1e-7, True), (p + 1e-7, False)):
            low, high = (float(end[j]) for end in found.shift_interval(1.0 - alpha))
            assert (low <= 0.0 <= high) == inside


def test_a_column_that_relabelling_does_not_reject_has_an_interval_that_holds_0() -> None:
    """Ten skewed rows against 100. The t of the shift alone would name some columns."""
    rng = np.random.default_rng(35)
    kept_by_relabelling = 0
    for trial in range(12):
        x, y = np.exp(rng.normal(size=(10, 60))), np.exp(rng.normal(size=(100, 60)))
        found = run_multivariate(x, y, rng=trial, n_resamples=199)
        null = found.fit.relabelled if found.fit else None
        assert null is not None
        assert null.columns is not None
        own = np.array([(np.sum(null.largest >= t) + 1) / 200 for t in null.columns])
        assert (found.column_pvalues >= own - 1e-12).all()
        for level in (0.5, 0.9, 0.95):
            low, high = found.shift_interval(level)
            excluded = (low > 0.0) | (high < 0.0)
            np.testing.assert_array_equal(excluded, found.column_pvalues < 1.0 - level)
            half = 0.5 * (high - low) / found.standard_error
            kept_by_relabelling += int(np.ptp(half) > 1e-9)
    assert kept_by_relabelling > 0


def test_a_verdict_needs_the_whole_interval() -> None:
    rng = np.random.default_rng(22)
    x, y = rng.normal(size=(3000, 3)), rng.normal(size=(3000, 3))
    still, moved = run_multivariate(x, y), run_multivariate(x + 0.3, y)
    assert still.verdict(0.3) == "equivalent"
    assert still.equivalence(0.3) < 0.01 < still.equivalence(0.01)
    assert still.verdict() == "inconclusive"
    assert moved.verdict() == moved.verdict(0.2) == "moved"
    assert moved.verdict(float(moved.length)) == "inconclusive"
    with pytest.raises(ValueError, match="margin"):
        still.verdict(-1.0)


def test_the_same_data_give_the_same_answer() -> None:
    x, y = two_matrices(24)
    first, second = run_multivariate(x, y), run_multivariate(x, y)
    assert first.pvalue == second.pvalue
    statistic, pvalue = first
    assert statistic is first.statistic
    assert first[1] == pvalue == first.pvalue
    assert len(first) == 2
    assert "pvalue=" in repr(first)
