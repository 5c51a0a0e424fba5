"""Powers in closed form: against the test itself, against simulations, and with designs."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from dkmd import dkmd_2samp, plan, power
from dkmd.inference.plan.models import quantiles
from dkmd.inference.test.sides import side_of_sorted
from dkmd.inference.test.two_sample import row_tails

Values = npt.NDArray[np.float64]

RNG = np.random.default_rng(31)
NORMAL = RNG.normal(50.0, 4.0, 3000)
SKEWED = RNG.exponential(2.0, 3000)
ZEROS = np.where(RNG.random(3000) < 0.3, 0.0, RNG.lognormal(0.0, 1.0, 3000))
ROUNDED = np.round(RNG.normal(0.0, 4.0, 3000))


@pytest.mark.parametrize(("n", "m"), [(2000, 600), (600, 2000), (1500, 1500)])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_large_samples_have_the_power_of_a_z_test(n: int, m: int, alpha: float) -> None:
    """On normal data ψ loses 5% of efficiency, or 3 points of power."""
    effect = 0.4 / NORMAL.std() / math.sqrt(1 / n + 1 / m)
    limit = stats.norm.isf(alpha / 2)
    by_z = stats.norm.sf(limit - effect) + stats.norm.cdf(-limit - effect)
    assert by_z - 0.03 < power(NORMAL, 0.4, n, m, alpha) < by_z


@pytest.mark.parametrize("pilot", [NORMAL, SKEWED])
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_without_a_shift_both_tails_make_up_alpha(pilot: Values, alpha: float) -> None:
    assert power(pilot, 0.0, 5000, 3000, alpha) == pytest.approx(alpha, rel=0.01)
    assert power(pilot, 1e-9, 5000, 3000, alpha) == pytest.approx(alpha, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), [(20, 20), (80, 20), (20, 80), (200, 100)])
@pytest.mark.parametrize(
    ("pilot", "shift"), [(NORMAL, 12.0), (SKEWED, -3.0), (SKEWED, 3.0), (ZEROS, 3.0), (ROUNDED, 12)]
)
def test_the_closed_form_is_within_three_points_of_a_simulation(
    pilot: Values, shift: float, n: int, m: int
) -> None:
    """docs/planning.md promises 3 points. 3,000 pairs have a standard error of 0.9 points."""
    rng = np.random.default_rng(5)
    by = shift / math.sqrt(2.0 / (1.0 / n + 1.0 / m))
    by = round(by) if pilot is ROUNDED else by
    x, y = rng.choice(pilot, (3000, n)) + by, rng.choice(pilot, (3000, m))
    found = np.mean(row_tails(x, y).pvalue("two-sided") < 0.05)
    assert power(pilot, by, n, m) == pytest.approx(found, abs=0.03 + 0.02)


@pytest.mark.parametrize(("copies", "shift"), [((60, 1), 0.8), ((1, 60), 0.8), ((55, 2), -0.5)])
def test_the_closed_form_is_the_normal_score_of_the_pilot_against_itself(
    copies: tuple[int, int], shift: float
) -> None:
    """One side repeats the pilot 60 times, the other once. Swapped sizes would show.

    A second pilot of the same values takes no value out of the comparison.
    """
    pilot = np.sort(SKEWED)[::70]  # 43 values
    n, m = (pilot.size * k for k in copies)
    x, y = (np.random.default_rng(1).permutation(np.tile(pilot, k)) for k in copies)
    x += shift
    p = [dkmd_2samp(x, y, alternative=side).pvalue for side in ("less", "greater")]
    score, limit = stats.norm.isf(min(p)), stats.norm.isf(0.015)
    expected = stats.norm.sf(limit - score) + stats.norm.cdf(-limit - score)
    found, swapped = (
        power(pilot, shift, *sizes, alpha=0.03, other=pilot) for sizes in ((n, m), (m, n))
    )
    assert found == pytest.approx(expected, abs=0.002)  # guards that bind count a little more
    assert abs(swapped - expected) > 0.05


def test_a_value_of_a_small_pilot_is_not_compared_with_itself() -> None:
    """With these pairs, plans from 30 values would promise too much."""
    rng = np.random.default_rng(6)
    right = power(NORMAL, 1.0, 250)
    small = [power(rng.choice(NORMAL, 30, replace=False), 1.0, 250) for _ in range(200)]
    with_them = [
        power(pilot, 1.0, 250, other=pilot)
        for pilot in (rng.choice(NORMAL, 30, replace=False) for _ in range(200))
    ]
    assert np.median(small) == pytest.approx(right, abs=0.03)
    assert np.median(with_them) > right + 0.05


@pytest.mark.slow
def test_the_check_is_a_seeded_simulation_beside_the_closed_form() -> None:
    found = plan(SKEWED, 1.0, n=40, ratio=0.5)
    assert found.check is not None
    assert plan(SKEWED, 1.0, n=40, ratio=0.5).check == found.check
    assert found.check.trials == 1000
    share = found.check.power
    assert found.check.standard_error == pytest.approx(math.sqrt(share * (1.0 - share) / 1000))
    rng = np.random.default_rng(8)
    x, y = rng.choice(SKEWED, (4000, 40)) + 1.0, rng.choice(SKEWED, (4000, 20))
    by_hand = np.mean(row_tails(x, y).pvalue("two-sided") < 0.05)
    assert share == pytest.approx(by_hand, abs=0.05)  # three standard errors of both
    assert found.power == power(SKEWED, 1.0, 40, 20)  # not replaced by the check


def test_samples_too_large_to_draw_have_no_check() -> None:
    large, larger = plan(NORMAL, 0.1, n=24_500), plan(NORMAL, 0.1, n=25_100)
    assert large.check is not None
    assert large.check.trials == 204
    assert larger.check is None
    shares = plan(np.arange(3000) < 300, 0.01, n=100_000).check
    assert shares is not None
    assert shares.trials == 1000  # counts are drawn, not values


def test_draws_from_a_pilot_are_like_it() -> None:
    """Ties keep their share, single values are interpolated, infinite values stay infinite."""
    pilot = np.concatenate([np.zeros(60), np.linspace(1.0, 2.0, 30), [math.inf] * 10])
    drawn = np.interp(np.random.default_rng(1).random(20_000), *quantiles(side_of_sorted(pilot, 0)))
    assert np.mean(drawn == 0.0) == pytest.approx(0.6, abs=0.015)
    assert np.mean(np.isinf(drawn)) == pytest.approx(0.1, abs=0.015)
    between = drawn[(drawn > 1.0) & (drawn < 2.0)]
    assert between.mean() == pytest.approx(1.5, abs=0.02)
    assert np.unique(between).size > 1000


def test_infinite_values_are_data() -> None:
    pilot = np.concatenate([NORMAL, [math.inf] * 150])
    assert 0.0 < power(pilot, 1.0, 200) < power(NORMAL, 1.0, 200)
    found = plan(pilot, 1.0, n=200)
    assert found.check is not None
    assert found.power == pytest.approx(found.check.power, abs=0.06)
