"""Relabelled blocks: their statistics by hand, and the level if spreads differ."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from dkmd.matrices import relabelling
from dkmd.matrices.multivariate import run_multivariate
from dkmd.matrices.relabelling import FixedRows, Relabelling

pytestmark = pytest.mark.slow  # plain Python would need minutes


@pytest.mark.parametrize("resting", [0.0, 1.0])
def test_all_relabellings_of_few_rows_give_the_exact_p_value(resting: float) -> None:
    """By hand: every choice of 3 of 8 blocks, each with its own slopes and covariances.

    With ``resting``, 9 rows of x and 5 rows of y stay where they are.
    """
    rng = np.random.default_rng(7)
    sums, sizes = rng.normal(size=(8, 2)), np.array([1.0, 2, 1, 1, 3, 1, 2, 1])
    slopes = sizes * rng.uniform(0.3, 1.0, size=8)
    unit = sums / np.sqrt((sums**2).sum(axis=0))
    still = (
        FixedRows(resting * np.array([1.0, -2.0]), resting * 9.0, resting * 5.0),
        FixedRows(resting * np.array([0.5, 1.5]), resting * 5.0, resting * 4.0),
    )
    pooled = (slopes.sum() + still[0].slope + still[1].slope) / (
        sizes.sum() + still[0].size + still[1].size
    )

    def statistics(chosen: tuple[int, ...]) -> tuple[float, float]:
        difference, variance, terms = np.zeros(2), np.zeros(2), np.zeros((8, 2))
        others = sorted({*range(8)} - {*chosen})
        for of_side, sign, rest in ((list(chosen), 1.0, still[0]), (others, -1.0, still[1])):
            moving, count = sizes[of_side].sum(), len(of_side)
            rows = moving + rest.size
            step = pooled / ((slopes[of_side].sum() + rest.slope) / rows)
            mean = (sums[of_side].sum(axis=0) + rest.sums) / rows
            # the blocks that move stand for the rows that stay, too
            per = step / math.sqrt(moving * rows)
            about = per * (sums[of_side] - sizes[of_side][:, None] * mean)
            variance += (about**2).sum(axis=0) * count / (count - 1)
            difference += sign * step * mean
            terms[of_side] = per * unit[of_side]
        t = difference**2 / variance
        pairs = sum((terms[i] @ terms[j]) ** 2 for i in range(8) for j in range(8) if i != j)
        freedom = min(max((terms**2).sum() ** 2 / pairs, 1.0), 2.0)
        return -stats.chi2.logsf(t.sum() * freedom / 2, freedom), float(t.max())

    found = Relabelling(sums, sizes, slopes, 3, still).statistics(999, rng)
    every = np.array([statistics(chosen) for chosen in combinations(range(8), 3)])
    assert found.complete
    np.testing.assert_allclose(np.sort(found.total), np.sort(every[:, 0]), rtol=1e-9)
    np.testing.assert_allclose(np.sort(found.largest), np.sort(every[:, 1]), rtol=1e-9)
    assert found.pvalues()[0] == pytest.approx(np.mean(every[:, 0] >= every[0, 0] * (1 - 1e-10)))


def test_many_blocks_in_single_precision_have_the_same_statistics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(3)
    sums, sizes = rng.normal(size=(90, 7)), np.ones(90)
    still = FixedRows(rng.normal(size=7), 40.0, 30.0), FixedRows(rng.normal(size=7), 5.0, 4.0)
    given = Relabelling(sums, sizes, rng.uniform(0.3, 1.0, size=90), 30, still)
    single = given.statistics(99, np.random.default_rng(1))
    monkeypatch.setattr(relabelling, "SMALL", 90)
    double = given.statistics(99, np.random.default_rng(1))
    np.testing.assert_allclose(single.total, double.total, rtol=1e-4)
    np.testing.assert_allclose(single.largest, double.largest, rtol=1e-4)
    assert single.columns is not None
    assert single.columns.max() == pytest.approx(single.observed_largest)


def test_relabelling_is_about_right_if_only_spreads_and_correlations_differ() -> None:
    """The variance of D alone rejected 12%; 300 trials of 5% have more than 9% once in 900 runs."""
    rng = np.random.default_rng(21)
    rejected = 0
    for trial in range(300):
        x = rng.normal(size=(60, 10))
        y = 3.0 * (rng.normal(size=(120, 10)) + rng.normal(size=(120, 1))) / math.sqrt(2.0)
        found = run_multivariate(x, y, n_resamples=99, rng=trial)
        assert found.fit is not None
        rejected += found.fit.relabelled.pvalues()[2] <= 0.05
    assert rejected <= 27
