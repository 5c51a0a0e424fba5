"""The width of ψ is a tenth of the robust scale of both samples; a fitted ψ has all of it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from atoms import sides
from families import two_of
from naive import m_center as naive_center
from naive import robust_scale as naive_scale

from dkmd import Summary, Witness, dkmd_2samp, fit_witness
from dkmd.base.arrays import Array
from dkmd.bins.grid import Grid
from dkmd.inference.test.sides import Side, side_of_values
from dkmd.inference.test.width import chosen_width, require_squares, robust_scale, spread_in_bins


@pytest.mark.parametrize("sizes", [(5, 7), (30, 31), (12, 300), (400, 20)])
@pytest.mark.parametrize("family", ["lognormal", "rounded", "half zeros", "rare", "infinite"])
def test_the_width_is_its_definition(sizes: tuple[int, int], family: str) -> None:
    rng = np.random.default_rng(sizes[0])
    draws: dict[str, Callable[[int], Array]] = {
        "lognormal": lambda n: rng.lognormal(0.0, 1.0, n),
        "rounded": lambda n: np.round(rng.normal(0.0, 2.0, n)),
        "half zeros": lambda n: np.where(rng.random(n) < 0.5, 0.0, rng.exponential(1.0, n)),
        "rare": lambda n: np.where(np.arange(n) < 2, 1.0, 0.0),
        "infinite": lambda n: np.concatenate([rng.normal(size=n - 2), [math.inf, -math.inf]]),
    }
    x, y = (draws[family](n) for n in sizes)
    pair = side_of_values(np.sort(x), 0.0), side_of_values(np.sort(y), 0.0)
    expected = 0.1 * naive_scale(x, y)
    assert chosen_width(*pair, None, False) == pytest.approx(expected, rel=1e-12)
    one, two = (side_of_values(np.sort(3.0 * values - 7.0), 0.0) for values in (x, y))
    assert chosen_width(one, two, None, False) == pytest.approx(3.0 * expected, rel=1e-9)
    pooled = robust_scale(side_of_values(np.sort(np.concatenate([x, y])), 0.0))
    assert chosen_width(*pair, None, True) == pytest.approx(0.1 * pooled, rel=1e-12)
    assert chosen_width(*pair, 0.7, False) == 0.7
    assert spread_in_bins(pair[0]) == 0.0


def test_what_has_no_scale_has_the_distance_of_two_constants_as_width() -> None:
    assert chosen_width(*sides([3.0, 3.0], [5.0, 5.0, 5.0]), None, False) == 2.0
    assert chosen_width(*sides([3.0, 3.0], [3.0]), None, False) == 0.0
    assert chosen_width(*sides([math.inf] * 3, [math.inf, -math.inf]), None, False) == 1.0


def test_more_data_do_not_change_what_the_width_means() -> None:
    """Each sample weighs one half: 5,000 values beside 100,000 give the same width."""
    rng = np.random.default_rng(21)
    x, y = rng.normal(0.0, 1.0, 100_000), rng.normal(0.0, 5.0, 100_000)
    widths = [dkmd_2samp(x, y[:m]).width for m in (100_000, 20_000, 5_000)]
    assert widths == pytest.approx([widths[0]] * 3, rel=0.03)


@pytest.mark.parametrize(("width", "fits"), [(0.0, True), (1e-141, False), (1e-139, True)])
@pytest.mark.parametrize("inverse", [False, True])
def test_scales_must_have_squares(width: float, fits: bool, inverse: bool) -> None:
    """0 is the scale of constant data, which is told elsewhere."""
    width = 1.0 / width if inverse and width else width
    if fits:
        require_squares(width)
    else:
        with pytest.raises(ValueError, match="out of range"):
            require_squares(width)


@pytest.mark.parametrize("fraction", [0.6, 0.7, 0.8, 0.95])
def test_bins_have_the_scale_of_the_values_although_a_few_values_share_the_bin_of_the_zeros(
    fraction: float,
) -> None:
    """Values within a thousandth of the scale are in that bin and count as zeros: here ten each."""
    rng = np.random.default_rng(16)
    n = 30_000
    x, y = (np.where(rng.random(n) < fraction, 0.0, rng.exponential(1.0, n)) for _ in "xy")
    x[:10], y[:10] = 1e-5, 2e-5
    grid = Grid.fit(x, y)
    binned = [Side.of(Summary.of(values, grid)) for values in (x, y)]
    assert all(side.variance[np.argmax(side.counts)] > 0.0 for side in binned)
    expected = 0.1 * naive_scale(x, y)
    assert chosen_width(binned[0], binned[1], None, False) == pytest.approx(expected, rel=0.02)
    assert robust_scale(binned[0]) == pytest.approx(naive_scale(x, np.empty(0)), rel=0.02)


@pytest.mark.parametrize("fraction", [0.9, 0.99])
def test_revenue_like_data_keep_a_scale(fraction: float) -> None:
    rng = np.random.default_rng(15)
    x, y = (np.where(rng.random(3000) < fraction, 0.0, rng.lognormal(3, 1, 3000)) for _ in "xy")
    result = dkmd_2samp(x, y)
    assert result.witness.sigma > 1.0
    assert 0.001 < result.pvalue <= 1.0


def test_a_fitted_psi_has_the_scale_and_the_centre_of_all_values() -> None:
    x, y = two_of("laplace", 300, 300)
    pooled = np.concatenate([x, y])
    fitted = fit_witness(x, y)
    assert fitted.sigma == fitted.tau == pytest.approx(naive_scale(pooled, np.empty(0)))
    around = Witness(fitted.sigma, fitted.tau)
    assert fitted.center == pytest.approx(naive_center(pooled, around), abs=1e-9)
    given = fit_witness(x, y, scale=0.3)
    assert (given.sigma, given.tau) == (0.3, 0.3)
    assert fit_witness(np.append(x, math.nan), y) == fitted


def test_values_without_a_scale_or_a_centre_are_refused() -> None:
    for empty in ([], [math.nan], [3.0, 3.0], [math.inf, math.inf, 1.0]):
        with pytest.raises(ValueError, match=r"no scale|no centre"):
            fit_witness(empty)
