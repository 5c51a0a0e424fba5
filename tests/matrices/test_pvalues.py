"""P-values are counts: relabelling guarded by flips, rare events, columns without noise."""

from __future__ import annotations

import numpy as np
import pytest

from dkmd.bins.grid import PER_MAD
from dkmd.matrices.multivariate import run_multivariate

pytestmark = pytest.mark.slow  # plain Python would need minutes


@pytest.mark.parametrize(("n", "m", "guard"), [(30, 200, 0.85), (45, 300, 0.925), (100, 120, 1.0)])
def test_p_is_that_of_relabelling_but_guarded_by_flips(n: int, m: int, guard: float) -> None:
    """The guard depends on the rows of the smaller side. Counts of flips are divided by it."""
    decided = set()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        found = run_multivariate(rng.normal(size=(n, 3)), 2.0 * rng.normal(size=(m, 3)), rng=seed)
        assert found.fit is not None
        by_label = found.fit.relabelled.pvalues()[2]
        flipped = found.fit.flips.statistics.pvalues()[2]
        by_flips = min(0.001 + (flipped - 0.001) / guard, 1.0)
        assert found.pvalue == pytest.approx(max(by_label, by_flips))
        decided.add(by_label > by_flips)
    assert decided == {True, False}


@pytest.mark.parametrize("seed", [67, 255])
def test_rare_events_have_the_p_value_of_relabelling(seed: int) -> None:
    """Data sets of equal sides of which relabelling rejects 3 in 1,000, and flips nearly all."""
    rng = np.random.default_rng(seed)
    x, y = (np.asarray(rng.random((n, 60)) < 0.02, dtype=float) for n in (60, 300))
    found = run_multivariate(x, y)
    assert found.fit is not None
    assert found.fit.flips.statistics.pvalues()[2] == pytest.approx(1 / 1000)
    assert found.pvalue == pytest.approx(found.fit.relabelled.pvalues()[2])
    assert 0.001 < found.pvalue < 0.01


def test_columns_that_differ_without_noise_have_a_counted_p_value() -> None:
    """x is always 1 and y always 0: no noise to measure, so only relabellings count."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    x[:, 1], y[:, 1] = 1.0, 0.0
    found = run_multivariate(x, y)
    assert found.pvalue == pytest.approx(1 / 1000)
    assert found.shift[1] == pytest.approx(1.0)
    assert found.scale[1] == pytest.approx(0.5 * PER_MAD)  # that of both sides together


@pytest.mark.parametrize("resamples", [19, 199])
@pytest.mark.parametrize("paired", [False, True])
def test_a_p_value_is_a_count_and_never_below_one_of_all_resamples(
    resamples: int, paired: bool
) -> None:
    """A move of 20 standard errors in two of three columns: no resample comes close."""
    rng = np.random.default_rng(39)
    x, y = rng.normal(size=(80, 3)), rng.normal(size=(80, 3))
    x[:, :2] += 3.0
    found = run_multivariate(x, y, paired=paired, n_resamples=resamples)
    least = 1.0 / (resamples + 1)
    assert found.pvalues == pytest.approx((least, least, least))
    assert found.column_pvalues[:2] == pytest.approx([least, least])
    counts = np.array([*found.fit.relabelled.pvalues()]) / least if found.fit else np.array([0.5])
    np.testing.assert_allclose(counts, counts.round(), atol=1e-9)
