"""From values or bins to sides: origins, grids, and samples that cannot be compared."""

from __future__ import annotations

import math

import numpy as np
import pytest
from families import two_of
from naive import two_sample as naive_two_sample

from dkmd import Grid, Summary, Witness, dkmd_2samp
from dkmd.inference.test.one_test import origin_of
from dkmd.inference.test.sides import side_of_values


def test_an_origin_is_a_value_of_y_or_else_of_x() -> None:
    assert origin_of(np.array([1.0, 2.0, 3.0]), np.array([7.0, 8.0, 9.0, 10.0])) == 9.0
    assert origin_of(np.array([1.0, 2.0, 3.0]), np.array([1.0, math.inf, math.inf])) == 2.0
    assert origin_of(np.array([1.0, 2.0, 3.0]), np.empty(0)) == 2.0
    assert origin_of(np.array([math.inf]), np.array([-math.inf])) == 0.0


@pytest.mark.parametrize("widths", [(0.004, 0.004), (0.004, 0.02), (0.02, 0.004)])
def test_a_narrow_witness_gets_a_grid_as_fine_as_itself(widths: tuple[float, float]) -> None:
    """Half of the values spread over hundreds. ψ resolves the others to thousandths."""
    rng = np.random.default_rng(18)
    x, y = (
        np.concatenate([rng.normal(at, 0.005, near), rng.normal(0.0, 300.0, far)])
        for at, near, far in ((0.203, 900, 1100), (0.2, 700, 800))
    )
    psi = Witness(*widths, 0.2)
    result = dkmd_2samp(x, y, witness=psi)
    statistic, error, df = naive_two_sample(x, y, lambda v: psi(v + 0.2), 0.2)
    assert result.statistic == pytest.approx(statistic, abs=1e-6 * psi.bound)
    assert (result.standard_error, result.df) == pytest.approx((error, df), rel=1e-5)
    sign = Witness(0.004, 50.0, 0.2, weight="sign")
    found = dkmd_2samp(x, y, witness=sign).statistic
    assert found == pytest.approx(sign(x).mean() - sign(y).mean(), abs=1e-5 * sign.bound)


def test_small_samples_whose_range_overflows_are_rejected() -> None:
    """Infinite values are fine: only finite ones can be too far from the origin."""
    with pytest.raises(ValueError, match="too far apart to be compared as doubles"):
        side_of_values(np.array([-1.7e308, 1.0]), 1.7e308)
    assert side_of_values(np.array([-math.inf, 1.0]), 3.0).size == 2


def test_summaries_of_a_tiny_range_are_rejected_and_constants_are_not() -> None:
    grid = Grid(0.0, 1e-160)
    tiny = [Summary.of(np.array([0.0, 1.0, 2.0]) * 1e-160, grid) for _ in "xy"]
    with pytest.raises(ValueError, match="out of range"):
        dkmd_2samp(tiny[0], tiny[1])
    same = [Summary.of([3.0, 3.0], Grid(3.0, 1.0)) for _ in "xy"]
    with pytest.warns(RuntimeWarning, match="all values are equal"):
        assert math.isnan(dkmd_2samp(same[0], same[1]).pvalue)


def test_an_offset_of_1e9_costs_nothing() -> None:
    rng = np.random.default_rng(14)
    x, y = (np.round(rng.normal(size=500) * 1024) / 1024 for _ in range(2))  # exact at 1e9
    near, far = dkmd_2samp(x, y), dkmd_2samp(x + 1e9, y + 1e9)
    assert far.statistic == pytest.approx(near.statistic, rel=1e-6, abs=1e-9)
    assert far.shift_interval() == pytest.approx(tuple(near.shift_interval()), rel=1e-5)


def test_summaries_give_what_the_arrays_give() -> None:
    x, y = two_of("t3", 5000, 4000)
    grid = Grid.fit(x, y)
    from_bins = dkmd_2samp(Summary.of(x, grid), Summary.of(y, grid))
    direct = dkmd_2samp(x, y)
    assert tuple(from_bins) == tuple(direct)
    assert from_bins.shift_interval() == direct.shift_interval()
    with pytest.raises(TypeError, match="both be summaries"):
        dkmd_2samp(Summary.of(x, grid), y)
    with pytest.raises(ValueError, match="different grids"):
        dkmd_2samp(Summary.of(x, grid), Summary.of(y, Grid(0, 1)))
    with pytest.raises(ValueError, match="Riemann estimator needs single values"):
        dkmd_2samp(Summary.of(x, grid), Summary.of(y, grid), estimator="riemann")
    with pytest.raises(ValueError, match=r"groups, pairs, .* need single values"):
        dkmd_2samp(Summary.of(x, grid), Summary.of(y, grid), groups=(x, y))
