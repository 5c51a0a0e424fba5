"""Plans agree with simulations: for unequal sizes, levels other than 5%, and both tails."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dkmd import Grid, Summary, detectable_shift, dkmd_2samp, power, sample_size
from dkmd.inference import plan_amounts
from dkmd.inference.plan_search import Change

RNG = np.random.default_rng(27)
NORMAL = RNG.normal(50.0, 4.0, 3000)
LEANING = RNG.exponential(2.0, 1500)

pytestmark = pytest.mark.slow  # small samples are simulated


def _z_power(effect: float, alpha: float) -> float:
    """The power of a two-sided z-test, with both tails."""
    limit = stats.norm.isf(alpha / 2)
    return float(stats.norm.sf(limit - effect) + stats.norm.cdf(-limit - effect))


@pytest.mark.parametrize(("n", "m"), [(2000, 600), (600, 2000), (1500, 1500)])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_large_samples_have_the_power_of_a_z_test(n: int, m: int, alpha: float) -> None:
    """On normal data ψ loses a few percent of efficiency, or 2 points of power."""
    effect = 0.4 / NORMAL.std() / math.sqrt(1 / n + 1 / m)
    found = power(NORMAL, 0.4, n, m, alpha=alpha)
    assert found == pytest.approx(_z_power(effect, alpha), abs=0.02)


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_without_a_shift_both_tails_make_up_alpha(alpha: float) -> None:
    assert power(NORMAL, 0.0, 5000, 3000, alpha=alpha) == pytest.approx(alpha, rel=1e-6)
    tiny = power(NORMAL, 1e-9, 5000, 3000, alpha=alpha)
    assert tiny == pytest.approx(alpha, rel=1e-3)


@pytest.mark.parametrize(("n", "m"), [(90, 20), (20, 90)])
def test_small_samples_have_the_power_that_a_simulation_finds(n: int, m: int) -> None:
    """The shift moves x up. Skewed data make (n, m) and (m, n) different."""
    rng = np.random.default_rng(5)
    drawn = rng.choice(LEANING, (1500, n)) + 1.0, rng.choice(LEANING, (1500, m))
    share = np.mean(dkmd_2samp(*drawn, axis=1).pvalue < 0.1)
    # two simulations of 2,000 and 1,500 pairs: ± 3 standard errors
    assert power(LEANING, 1.0, n, m, alpha=0.1) == pytest.approx(share, abs=0.05)


def test_the_larger_sample_is_the_one_that_was_named() -> None:
    up, down = (power(LEANING, 1.1, n, m, alpha=0.02) for n, m in ((150, 12), (12, 150)))
    assert abs(up - down) > 0.02  # else a swap would not show
    mirrored = power(-LEANING, -1.1, 150, 12, alpha=0.02)
    assert mirrored == pytest.approx(up, abs=0.03)


@pytest.mark.parametrize("ratio", [0.25, 3.0])
@pytest.mark.parametrize("wanted", [0.6, 0.95])
def test_the_three_questions_have_one_answer_for_unequal_sizes(ratio: float, wanted: float) -> None:
    n = sample_size(NORMAL, -0.9, power=wanted, alpha=0.01, ratio=ratio, scale="robust")
    m = math.ceil(ratio * n)
    assert power(NORMAL, -0.9, n, m, alpha=0.01, scale="robust") == pytest.approx(wanted, abs=0.02)
    found = detectable_shift(NORMAL, n, m, power=wanted, alpha=0.01, scale="robust")
    assert found == pytest.approx(0.9, rel=0.02)
    # Φ⁻¹ of power and level: what a z-test needs, up to the 5% that ψ loses
    score = stats.norm.isf(0.005) + stats.norm.ppf(wanted)
    needed = (score * NORMAL.std() / 0.9) ** 2 * (1.0 + 1.0 / ratio)
    assert n == pytest.approx(needed, rel=0.08)


@pytest.mark.parametrize(("copies", "shift"), [((60, 1), 0.8), ((1, 60), 0.8), ((55, 2), -0.5)])
def test_the_closed_form_is_the_score_of_the_pilot_against_itself(
    copies: tuple[int, int], shift: float
) -> None:
    """One side repeats the pilot 60 times, the other once. Swapped sizes would show."""
    pilot = np.sort(LEANING)[::35]  # 43 values
    n, m = (pilot.size * k for k in copies)
    alpha = 0.03
    x, y = np.sort(np.tile(pilot, copies[0])) + shift, np.sort(np.tile(pilot, copies[1]))
    p = [dkmd_2samp(x, y, scale="robust", alternative=side).pvalue for side in ("less", "greater")]
    score, limit = stats.norm.isf(min(p)), stats.norm.isf(alpha / 2)
    expected = stats.norm.sf(limit - score) + stats.norm.cdf(-limit - score)
    found, swapped = (
        power(pilot, shift, *sizes, alpha=alpha, scale="robust") for sizes in ((n, m), (m, n))
    )
    assert found == pytest.approx(expected, abs=1e-4)
    assert abs(swapped - expected) > 0.05


def test_m_is_n_unless_it_is_given() -> None:
    assert power(NORMAL, 0.4, 1400) == power(NORMAL, 0.4, 1400, 1400)
    assert power(NORMAL, 0.4, 1400) != power(NORMAL, 0.4, 1400, 1500)
    assert detectable_shift(NORMAL, 1400) == detectable_shift(NORMAL, 1400, 1400)


def test_a_large_shift_needs_few_values_and_never_fewer_than_two() -> None:
    assert sample_size(NORMAL, 400.0) in range(2, 8)
    assert sample_size(NORMAL, 400.0, ratio=0.1) >= 20
    assert sample_size(NORMAL, 400.0, ratio=90.0) == 2
    with pytest.raises(ValueError, match="no size reaches that power"):
        sample_size(NORMAL, 1e-12)


@pytest.mark.parametrize(("n", "m"), [(1, 9), (9, 1)])
def test_both_samples_need_two_values(n: int, m: int) -> None:
    with pytest.raises(ValueError, match=f"n={n}, m={m}"):
        power(NORMAL, 1.0, n, m)
    assert 0.0 < power(NORMAL, 1.0, 2, 2) < 0.2


def test_the_width_is_the_one_that_was_asked_for() -> None:
    """A narrow ψ is worse on normal data, and a plan for it says so."""
    narrow = power(NORMAL, 0.4, 1400, 900, scale=0.4)
    assert narrow < power(NORMAL, 0.4, 1400, 900, scale="robust") - 0.03


def test_the_seam_between_simulation_and_formula_is_small(monkeypatch: Any) -> None:
    below = power(NORMAL, 0.5, 1024, 1024)
    above = power(NORMAL, 0.5, 1025, 1024)
    assert below == pytest.approx(above, abs=0.04)
    drawn: list[tuple[int, int]] = []
    original = plan_amounts.AmountsPlan._simulated

    def seen(self: Any, change: Change, n: int, m: int) -> tuple[float, float]:
        drawn.append((n, m))
        return original(self, change, n, m)

    monkeypatch.setattr(plan_amounts.AmountsPlan, "_simulated", seen)
    power(NORMAL, 0.5, 1025, 1024)
    assert drawn == []
    power(NORMAL, 0.5, 30, 20)
    assert drawn == [(30, 20)]


def test_draws_from_a_pilot_are_like_it() -> None:
    """Ties keep their share, single values are interpolated, infinite values stay infinite."""
    pilot = np.concatenate([np.zeros(60), np.linspace(1.0, 2.0, 30), [math.inf] * 10])
    cdf, values = plan_amounts._quantile_function(Summary.of(pilot, Grid(0.0, 1e-6)))
    drawn = np.interp(np.random.default_rng(1).random(20_000), cdf, values)
    assert np.mean(drawn == 0.0) == pytest.approx(0.6, abs=0.015)
    assert np.mean(np.isinf(drawn)) == pytest.approx(0.1, abs=0.015)
    between = drawn[(drawn > 1.0) & (drawn < 2.0)]
    assert between.mean() == pytest.approx(1.5, abs=0.02)
    assert np.unique(between).size > 1000
