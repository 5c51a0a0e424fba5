"""The variance of a run's level, by a history or by several runs per side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dkmd.inference.runs import between_runs
from dkmd.inference.runs.between_runs import (
    MEAN,
    UNKNOWN,
    RunVariance,
    from_history,
    from_repeated_runs,
    successive_df,
    together,
)
from dkmd.inference.runs.moderation import inverse_trigamma
from dkmd.inference.runs.outcome import SideRuns, shift_error
from dkmd.inference.runs.run_levels import RunLevel


def _levels(centers: Sequence[float], variance: float = 0.0, df: float = 19.0) -> list[RunLevel]:
    return [RunLevel(center, variance, df, 60, 20) for center in centers]


def _past(centers: Sequence[float] | np.ndarray) -> RunVariance:
    return from_history(_levels(list(centers)))


@pytest.mark.parametrize("runs", [10, 30])
def test_a_history_gives_the_variance_and_the_freedom_it_claims(runs: int) -> None:
    rng = np.random.default_rng(4)
    found = np.array([_past(rng.normal(size=runs)).total for _ in range(1500)])
    assert np.median(found) == pytest.approx(1.0, abs=0.12)
    # fewer degrees of freedom than seen are safe; many fewer would waste runs
    seen = 2.0 * inverse_trigamma(float(np.log(found).var()))
    assert 0.75 * seen < successive_df(runs - 1) < 1.05 * seen


def test_a_level_change_and_a_wild_run_hardly_change_the_spread() -> None:
    rng = np.random.default_rng(5)
    calm = rng.normal(size=40)
    odd = calm.copy()
    odd[20:] += 100.0
    odd[7] -= 1000.0
    before, after = _past(calm).total, _past(odd).total
    assert before < after < 1.6 * before
    plain = float(np.mean(np.diff(odd) ** 2) / 2.0)
    assert plain > 1000.0 * after


@pytest.mark.parametrize("size", [1, 2, 3, 7, 20])
def test_the_spread_solves_the_equation_of_hubers_scale(size: int) -> None:
    """Also if the squares grow so fast that as many as possible lie beyond the bound."""
    for growth in (1.1, 3.0, 1e4):
        levels = np.cumsum([0.0, *(growth**i for i in range(size))])
        square = _past(levels).total
        bounded = np.minimum(np.diff(levels) ** 2 / 2.0 / square, 1.5**2)
        assert bounded.mean() == pytest.approx(MEAN, rel=1e-12)


def test_without_differences_there_is_no_spread() -> None:
    assert from_history(_levels([1.0])) is UNKNOWN
    assert _past(np.ones(5)).total == 0.0


def test_a_history_and_several_runs_are_averaged_by_their_degrees_of_freedom() -> None:
    """The noise within repeated runs is in W already, so it counts once."""
    reference = SideRuns(_levels([0.0, 0.2], variance=0.02))
    current = SideRuns(_levels([0.3, 0.1, 0.5], variance=0.05, df=9.0))
    both = together(RunVariance(0.5, 9.0, 0.03), RunVariance(0.2, 3.0, 0.04, 0.04))
    assert both.df == 12.0
    assert both.total == pytest.approx(0.75 * 0.5 + 0.25 * 0.2)
    assert both.within == pytest.approx(0.75 * 0.03 + 0.25 * 0.04)
    assert both.shared == pytest.approx(0.25 * 0.04)
    between = both._replace(total=0.6)
    assert between.sd == pytest.approx(math.sqrt(0.6 - both.within))
    error, df = shift_error(reference, current, between)
    noise, weight = 0.02 / 2 + 0.05 / 3, 1 / 2 + 1 / 3
    assert error**2 == pytest.approx(noise + weight * (0.6 - 0.75 * 0.03 - 0.25 * 0.04))
    parts = (weight * 0.6, 12.0), (noise - weight * 0.25 * 0.04, 2 * 19.0 + 3 * 9.0)
    assert df == pytest.approx(error**4 / sum(part**2 / of for part, of in parts))
    # heavy tails bound the degrees of freedom; those of means of 2.4 runs are less heavy
    heavy = shift_error(reference, current, between._replace(tails=5.0))
    assert heavy == pytest.approx((error, 4.0 + 1.0 * 2.4))


def test_repeated_runs_vary_about_the_mean_of_their_own_side() -> None:
    source = from_repeated_runs(_levels([1.0, 3.0], 0.1), _levels([7.0]), _levels([5.0, 5.0, 8.0]))
    assert source == pytest.approx(((2.0 + 6.0) / 3.0, 3.0, 0.04, 0.04, math.inf))
    unknown = [level._replace(variance=math.nan) for level in _levels([1.0, 2.0])]
    assert from_repeated_runs(unknown)[2:4] == (0.0, 0.0)
    known = from_history([*unknown, *_levels([1.0, 2.0], 0.3, 7.0)])
    assert known[2:4] == (0.3, 0.0)
    assert from_repeated_runs(_levels([1.0]), _levels([2.0])) is UNKNOWN


NAN, INF = math.nan, math.inf


def test_the_constants_are_the_moments_of_a_bounded_square() -> None:
    """By sums over a fine grid; the kinks at ±1.5 leave an error of about 1e-6."""
    z = np.linspace(-9.0, 9.0, 1801)
    share = stats.norm.pdf(z) * 0.01
    bounded = np.minimum(z**2, 2.25)
    given = np.minimum((-0.5 * z[:, None] + math.sqrt(0.75) * z) ** 2, 2.25) @ share
    mean = float(bounded @ share)
    variance = float(bounded**2 @ share) - mean**2
    inside = float((z**2 * share)[np.abs(z) < 1.495].sum()) + 2.25 * float(share[1050])
    assert (between_runs.MEAN, between_runs.VARIANCE, between_runs.SLOPE) == pytest.approx(
        (mean, variance, inside), abs=2e-5
    )
    covariance = float((bounded * share) @ given) - mean**2
    assert pytest.approx(covariance, abs=2e-5) == between_runs.COVARIANCE


@pytest.mark.parametrize("differences", [1, 2, 9, 40])
def test_degrees_of_freedom_count_the_correlation_of_neighbours(differences: int) -> None:
    """2/Var(log s²), with n variances and 2·(n − 1) covariances of neighbours."""
    cells = np.diag(np.full(differences, between_runs.VARIANCE))
    for i in range(differences - 1):
        cells[i, i + 1] = cells[i + 1, i] = between_runs.COVARIANCE
    noise = float(cells.sum()) / differences**2 / between_runs.SLOPE**2
    assert successive_df(differences) == pytest.approx(2.0 / noise)


def _side(centers: Sequence[float], variances: Sequence[float], dfs: Sequence[float]) -> list[Any]:
    return [RunLevel(c, v, d, 60, 20) for c, v, d in zip(centers, variances, dfs, strict=True)]


def test_variances_are_averaged_by_what_is_known() -> None:
    assert together(UNKNOWN, UNKNOWN) is UNKNOWN
    past, repeated = RunVariance(0.3, 2.0, 0.1), RunVariance(0.2, 4.0, 0.05, 0.05)
    assert together(past, UNKNOWN) == past
    assert together(UNKNOWN, repeated) == repeated
    assert RunVariance(0.25, 7.0, 0.0).sd == 0.5
    assert RunVariance(0.05, 7.0, 0.1).sd == 0.0


def test_two_runs_of_a_history_are_enough() -> None:
    levels = _side([1.0, 3.0], [0.2, 0.4], [5.0, 7.0])
    assert from_history(levels)[1:] == pytest.approx((successive_df(1), 0.3, 0.0, INF))
