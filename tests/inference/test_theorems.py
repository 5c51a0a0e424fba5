"""The paper's theorems as properties: for T, exact and population all, for riemann some.

Theorem 3.1 antisymmetry, 3.2 symmetric immunity, 3.3 directional monotonicity, and the bound
|ψ| ≤ 2σ of section 5.2. Where the Riemann estimator differs, an example shows it.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from families import FAMILIES as DRAWS
from families import SYMMETRIC, Family, two_of
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from dkmd import DkmdResult, Witness, dkmd_2samp, exact, population, riemann

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)
NEAR = st.lists(st.floats(-5, 5), min_size=1, max_size=30)
WIDTHS = st.floats(0.1, 10.0)
WITNESSES = st.builds(
    Witness,
    sigma=WIDTHS,
    tau=WIDTHS,
    center=st.floats(-3, 3),
    kernel=st.sampled_from(["laplace", "gaussian", "matern32", "matern52"]),
    weight=st.sampled_from(["tanh", "erf", "algebraic", "sign"]),
)


@given(VALUES, VALUES, WITNESSES)
def test_swapping_the_samples_flips_the_sign_to_the_bit(
    x: list[float], y: list[float], psi: Witness
) -> None:
    assert exact(y, x, psi) == -exact(x, y, psi)


@given(VALUES, VALUES, WIDTHS)
def test_riemann_is_antisymmetric_too(x: list[float], y: list[float], sigma: float) -> None:
    psi = Witness(sigma=sigma)
    size = max(map(abs, [*x, *y, 1.0]))
    assert riemann(y, x, psi) == pytest.approx(-riemann(x, y, psi), rel=1e-9, abs=1e-14 * size)


@given(VALUES, VALUES, WITNESSES)
def test_the_order_of_values_does_not_matter(x: list[float], y: list[float], psi: Witness) -> None:
    shuffled = exact(x[::-1], sorted(y), psi)
    assert shuffled == pytest.approx(exact(x, y, psi), abs=1e-14 * psi.bound)


@given(NEAR, NEAR, WITNESSES)
def test_reflecting_both_samples_flips_the_sign(
    x: list[float], y: list[float], psi: Witness
) -> None:
    mirrored = [[2 * psi.center - v for v in sample] for sample in (x, y)]
    expected = pytest.approx(-exact(x, y, psi), abs=1e-12 * psi.bound)
    assert exact(mirrored[0], mirrored[1], psi) == expected


@given(NEAR, NEAR, NEAR, NEAR, WITNESSES)
def test_every_symmetric_change_about_the_centre_is_ignored(
    x: list[float], y: list[float], add_x: list[float], add_y: list[float], psi: Witness
) -> None:
    """Two samples symmetric about the centre never differ, whatever their spread or shape.

    Symmetric additions only dilute the mean of ψ on their side.
    """

    def symmetric(offsets: list[float]) -> list[float]:
        return [psi.center + side * d for d in offsets for side in (-1, 1)]

    assert abs(exact(symmetric(x), symmetric(y), psi)) <= 1e-12 * psi.bound
    more_x, more_y = [*x, *symmetric(add_x)], [*y, *symmetric(add_y)]
    diluted = np.sum(psi(x)) / len(more_x) - np.sum(psi(y)) / len(more_y)
    assert exact(more_x, more_y, psi) == pytest.approx(diluted, abs=1e-12 * psi.bound)


@given(
    st.lists(st.tuples(st.floats(-5, 5), st.floats(0, 3)), min_size=1, max_size=30),
    WITNESSES.filter(lambda psi: psi.weight != "sign"),
)
def test_a_dominating_sample_has_a_positive_statistic(
    pairs: list[tuple[float, float]], psi: Witness
) -> None:
    """x_i = y_i + d_i with d ≥ 0, not all 0: first-order stochastic dominance."""
    assume(max(d for _, d in pairs) > 1e-6)
    assume(min(psi.sigma, psi.tau) > 0.3)  # closer in, ψ is flat to double precision at ±5
    y = np.array([v for v, _ in pairs])
    x = y + np.array([d for _, d in pairs])
    assert exact(x, y, psi) > 0.0


@given(st.lists(st.floats(), min_size=1).filter(lambda v: not np.isnan(v).any()), NEAR, WITNESSES)
def test_no_sample_moves_it_beyond_the_bound(x: list[float], y: list[float], psi: Witness) -> None:
    assert abs(exact(x, y, psi)) <= 2.0 * psi.bound
    one_more = abs(exact([*x, np.inf], y, psi) - exact(x, y, psi))
    assert one_more <= 2.0 * psi.bound / (len(x) + 1) + 1e-14 * psi.bound


@given(NEAR, NEAR, st.floats(-1e3, 1e3), st.floats(-6, 6), WITNESSES)
def test_it_follows_shifts_and_scales_of_the_data(
    x: list[float], y: list[float], shift: float, exponent: float, psi: Witness
) -> None:
    scale = 10.0**exponent
    moved = Witness(
        scale * psi.sigma, scale * psi.tau, scale * psi.center + shift, psi.kernel, psi.weight
    )
    new_x, new_y = (scale * np.array(v) + shift for v in (x, y))
    # adding `shift` rounds the data to 1e-13 absolute, ψ' is at most 2 for the laplacian kernel
    tolerance = 1e-11 * psi.bound + 1e-11 * abs(shift) / scale
    assert exact(new_x, new_y, moved) / scale == pytest.approx(exact(x, y, psi), abs=tolerance)


@given(NEAR, NEAR, st.floats(-1e3, 1e3), st.floats(-6, 6))
def test_riemann_follows_shifts_and_scales_too(
    x: list[float], y: list[float], shift: float, exponent: float
) -> None:
    scale = 10.0**exponent
    psi, moved = Witness(2.0, 1.0, 0.5), Witness(2.0 * scale, scale, 0.5 * scale + shift)
    new_x, new_y = (scale * np.array(v) + shift for v in (x, y))
    tolerance = 1e-11 + 1e-10 * abs(shift) / scale
    assert riemann(new_x, new_y, moved) / scale == pytest.approx(riemann(x, y, psi), abs=tolerance)


def test_reflection_does_not_flip_riemann() -> None:
    """Steps reach to the left neighbour, so a mirror image has other steps."""
    x, y = [0.2, 1.5], [-0.7, 0.9, 3.0]
    mirrored = riemann([-v for v in x], [-v for v in y], Witness())
    assert abs(mirrored + riemann(x, y, Witness())) > 0.1


FAMILIES = st.sampled_from([stats.norm, stats.cauchy, stats.logistic, stats.laplace, stats.uniform])
LOCATIONS = st.floats(-2, 2).map(lambda v: round(v, 2))
SCALES = st.floats(0.2, 5).map(lambda v: round(v, 2))


@given(FAMILIES, FAMILIES, LOCATIONS, LOCATIONS, SCALES)
def test_population_is_antisymmetric(
    p: stats.rv_continuous, q: stats.rv_continuous, a: float, b: float, scale: float
) -> None:
    psi = Witness()
    forth, back = (population(*pair, psi) for pair in ((p(a), q(b, scale)), (q(b, scale), p(a))))
    assert forth == -back


@given(FAMILIES.filter(lambda f: f is not stats.uniform), LOCATIONS, SCALES, SCALES)
def test_population_ignores_symmetric_changes(
    family: stats.rv_continuous, center: float, one: float, other: float
) -> None:
    psi = Witness(center=center)
    assert abs(population(family(center, one), family(center, other), psi)) < 1e-12 * psi.bound


@given(FAMILIES, LOCATIONS, SCALES, st.floats(0.01, 3), WITNESSES)
def test_population_is_positive_under_dominance(
    family: stats.rv_continuous, location: float, scale: float, step: float, psi: Witness
) -> None:
    higher, lower = family(location + step, scale), family(location, scale)
    assert population(higher, lower, psi) > 0.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("p", "q"), [(stats.norm(0), stats.norm(1)), (stats.cauchy(0), stats.cauchy(0.5, 2))]
)
def test_exact_is_unbiased_for_the_population_value_and_riemann_is_not(
    p: stats.rv_continuous, q: stats.rv_continuous
) -> None:
    rng = np.random.default_rng(7)
    psi = Witness(sigma=2.0)
    value = population(p, q, psi)
    exacts, riemanns = np.empty(400), np.empty(400)
    for i in range(400):
        x, y = p.rvs(200, random_state=rng), q.rvs(200, random_state=rng)
        exacts[i], riemanns[i] = exact(x, y, psi), riemann(x, y, psi)
    assert abs(exacts.mean() - value) < 4 * exacts.std() / 20
    assert abs(np.median(riemanns) - value) > 4 * exacts.std() / 20


def test_riemann_is_not_immune_to_symmetric_change() -> None:
    """Steps are one-sided, so a symmetric pair of samples does not give 0."""
    x, y = [-1.0, 1.0], [-3.0, 0.0, 3.0]
    assert abs(riemann(x, y, Witness())) > 0.1
    assert abs(exact(x, y, Witness())) < 1e-15


def test_riemann_can_have_the_wrong_sign_under_dominance() -> None:
    x, y = [-0.5, 1.0, 3.0, 0.6], [-0.5, 1.0, 3.0, -100.0]
    assert exact(x, y, Witness()) > 0.0
    assert riemann(x, y, Witness()) < 0.0


# T, the mean of ψ(x − y) over all pairs: the default test.

GRID = st.integers(-640, 640).map(lambda k: k / 64)
"""Values that doubles add and double without rounding."""

FEW = st.lists(GRID, min_size=2, max_size=25)
WITH_INFINITE = st.lists(
    st.one_of(GRID, st.sampled_from([math.inf, -math.inf])), min_size=2, max_size=25
)
ALTERNATIVES = {"two-sided": "two-sided", "less": "greater", "greater": "less"}


def _tested(x: Any, y: Any, **how: Any) -> DkmdResult:
    """The test without its warnings, which other files are about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return dkmd_2samp(x, y, **how)


def _numbers(result: DkmdResult) -> list[float]:
    """Everything that a swap may not change."""
    return [result.pvalue, result.standard_error, result.df, result.width]


@given(WITH_INFINITE, WITH_INFINITE, st.sampled_from(list(ALTERNATIVES)))
def test_swapping_flips_every_sign_of_the_test_and_changes_no_bit(
    x: list[float], y: list[float], alternative: str
) -> None:
    one = _tested(x, y, alternative=alternative)
    two = _tested(y, x, alternative=ALTERNATIVES[alternative])
    np.testing.assert_array_equal(_numbers(one), _numbers(two))
    np.testing.assert_array_equal([one.statistic, one.shift], [-two.statistic, -two.shift])
    for level in (0.5, 0.95):
        low, high = one.shift_interval(level)
        np.testing.assert_array_equal([-high, -low], two.shift_interval(level))


@given(WITH_INFINITE, WITH_INFINITE, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_bit(x: list[float], y: list[float], random: Any) -> None:
    one = _tested(x, y)
    random.shuffle(x)
    random.shuffle(y)
    two = _tested(x, y)
    np.testing.assert_array_equal(_numbers(one), _numbers(two))
    np.testing.assert_array_equal([one.statistic, one.shift], [two.statistic, two.shift])
    np.testing.assert_array_equal(one.shift_interval(), two.shift_interval())


@given(WITH_INFINITE, WITH_INFINITE)
def test_a_mirror_flips_the_sign_of_the_test(x: list[float], y: list[float]) -> None:
    one, two = _tested(x, y), _tested(-np.array(x), -np.array(y))
    unit = one.width if one.width > 0.0 else 1.0
    assert _numbers(two) == pytest.approx(_numbers(one), rel=1e-9, abs=1e-12, nan_ok=True)
    assert two.statistic == pytest.approx(-one.statistic, abs=1e-12 * unit, nan_ok=True)
    assert two.shift == pytest.approx(-one.shift, abs=1e-8 * unit, nan_ok=True)


@given(
    st.lists(st.tuples(GRID, st.integers(0, 200).map(lambda k: k / 64)), min_size=2, max_size=25)
)
def test_a_sample_that_dominates_has_a_statistic_of_at_least_0(
    pairs: list[tuple[float, float]],
) -> None:
    """x = y + d with d ≥ 0: first-order stochastic dominance."""
    y = np.array([value for value, _ in pairs])
    x = y + np.array([more for _, more in pairs])
    result = _tested(x, y)
    assert result.statistic >= -1e-14
    if result.width > 0.0 and (x > y).any():
        assert result.statistic > 0.0
    assert not result.shift < -1e-12


@given(WITH_INFINITE, WITH_INFINITE, st.floats(0.01, 100.0))
def test_no_sample_moves_the_statistic_beyond_the_bound(
    x: list[float], y: list[float], width: float
) -> None:
    result = _tested(x, y, scale=width)
    assert math.isnan(result.statistic) or abs(result.statistic) <= 2.0 * width
    more = _tested([*x, math.inf], y, scale=width)
    # one value more takes part in 1/(n + 1) of all pairs
    assert abs(more.statistic - result.statistic) <= 4.0 * width / (len(x) + 1) + 1e-12 * width


@given(FEW, FEW, GRID)
def test_two_samples_symmetric_about_one_point_do_not_differ(
    x: list[float], y: list[float], center: float
) -> None:
    """Whatever the point, their spreads and their shapes: x − y is symmetric about 0."""
    one, two = ([center + side * d for d in half for side in (-1, 1)] for half in (x, y))
    result = _tested(one, two)
    if math.isnan(result.pvalue):
        return
    unit = result.width
    assert result.statistic == pytest.approx(0.0, abs=1e-12 * unit)
    assert result.pvalue == pytest.approx(1.0)
    low, high = result.shift_interval()
    assert low <= 0.0 <= high
    # between clusters too far apart for ψ every shift balances them, and the middle one is told
    assert result.shift == pytest.approx(0.0, abs=1e-6 * max(unit, *map(abs, [*one, *two])))


@pytest.mark.parametrize("name", SYMMETRIC)
def test_another_spread_is_no_direction_in_the_population(name: str) -> None:
    """200,000 values of a symmetric family, one side five times as wide: T is 0 up to chance."""
    rng = np.random.default_rng(3)
    x, y = 5.0 * DRAWS[name](rng, 200_000) + 7.0, DRAWS[name](rng, 200_000) + 7.0
    result = _tested(x, y)
    assert abs(result.statistic) < 3.5 * result.standard_error


@given(WITH_INFINITE, WITH_INFINITE, st.integers(-1000, 1000), st.integers(-20, 20))
def test_shift_and_interval_follow_translations_and_scales(
    x: list[float], y: list[float], offset: int, power: int
) -> None:
    """Doubles hold all of these values exactly, so hardly a digit changes."""
    factor = 2.0**power
    one = _tested(x, y)
    two = _tested(factor * (np.array(x) + offset), factor * (np.array(y) + offset))
    assert two.pvalue == pytest.approx(one.pvalue, rel=1e-12, nan_ok=True)
    unit = factor * one.width
    slack = 1e-12 * (unit + factor * abs(offset))
    assert two.shift == pytest.approx(factor * one.shift, abs=slack, nan_ok=True)
    share = one.statistic / one.width
    assert two.statistic / two.width == pytest.approx(share, abs=1e-13, nan_ok=True)
    ends = [factor * end for end in one.shift_interval()]
    assert list(two.shift_interval()) == pytest.approx(ends, rel=1e-6, nan_ok=True)


@given(FEW, FEW, st.integers(-1000, 1000), st.sampled_from([0.01, 0.3, 5.0]))
def test_moving_one_sample_moves_the_shift(
    x: list[float], y: list[float], offset: int, width: float
) -> None:
    one = _tested(x, y, scale=width)
    two = _tested(np.array(x) + offset, y, scale=width)
    if math.isnan(one.pvalue) or math.isnan(two.pvalue):
        return
    slack = 1e-6 * width + 1e-12 * abs(offset)
    assert two.shift == pytest.approx(one.shift + offset, abs=slack)


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("offset", [0.1, -0.3, 1.25, 400.0])
def test_moving_one_sample_moves_its_interval(name: str, offset: float) -> None:
    x, y = two_of(name, 40, 30)
    low, high = _tested(x, y).shift_interval()
    expected = (low + offset, high + offset)
    slack = 1e-5 * (high - low)
    assert _tested(x + offset, y).shift_interval() == pytest.approx(expected, abs=slack)


@given(WITH_INFINITE, WITH_INFINITE)
def test_an_infinite_value_is_one_beyond_all_others(x: list[float], y: list[float]) -> None:
    """ψ is flat beyond 40 widths, so ±1000 is as far as ±∞. inf − inf counts as 0."""
    result = _tested(x, y, scale=1.0)
    near = _tested(np.clip(x, -1e3, 1e3), np.clip(y, -1e3, 1e3), scale=1.0)
    if math.isnan(near.statistic) or not near.standard_error > 0.0:
        return
    assert result.statistic == pytest.approx(near.statistic, abs=1e-12)
    assert result.standard_error == pytest.approx(near.standard_error, rel=1e-9)
    assert result.pvalue == pytest.approx(near.pvalue, rel=1e-9)


@given(
    WITH_INFINITE,
    WITH_INFINITE,
    st.sampled_from(list(ALTERNATIVES)),
    st.sampled_from([0.001, 0.01, 0.05, 0.1, 0.5]),
)
def test_0_is_inside_the_interval_exactly_when_p_is_at_least_alpha(
    x: list[float], y: list[float], alternative: str, alpha: float
) -> None:
    result = _tested(x, y, alternative=alternative)
    if math.isnan(result.pvalue):
        return
    low, high = result.shift_interval(1.0 - alpha)
    assert (low <= 0.0 <= high) == (result.pvalue >= 1.0 - (1.0 - alpha))


@given(FEW, FEW)
def test_the_shift_lies_in_its_interval(x: list[float], y: list[float]) -> None:
    result = _tested(x, y)
    if math.isnan(result.pvalue):
        return
    low, high = result.shift_interval(0.5)
    slack = 1e-6 * result.width
    assert low - slack <= result.shift <= high + slack


NESTED: dict[str, tuple[Family, Family]] = {
    "30% at + 6": (
        lambda rng, n: rng.normal(size=n) + 6.0 * (rng.random(n) < 0.3),
        lambda rng, n: rng.normal(size=n),
    ),
    "5 exp against exp": (
        lambda rng, n: 5.0 * rng.exponential(size=n),
        lambda rng, n: rng.exponential(size=n),
    ),
    "lognormal against gamma": (
        lambda rng, n: rng.lognormal(size=n),
        lambda rng, n: rng.gamma(2.0, size=n),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("shapes", NESTED)
def test_more_data_do_not_change_what_is_estimated(shapes: str) -> None:
    """One x of 100,000 values against the first m of one y, and the limit from 2 × 2,000,000."""
    draw_x, draw_y = NESTED[shapes]
    rng = np.random.default_rng(11)
    limit = _tested(draw_x(rng, 2_000_000), draw_y(rng, 2_000_000)).shift
    x, y = draw_x(rng, 100_000), draw_y(rng, 100_000)
    for m in (200, 1_000, 5_000, 20_000, 100_000):
        low, high = _tested(x, y[:m]).shift_interval(0.99)
        assert low <= limit <= high, m
        few = _tested(y[:m], x)
        assert few.shift == pytest.approx(-_tested(x, y[:m]).shift)


def test_the_sign_of_statistic_shift_and_direction_agree() -> None:
    for seed in range(20):
        x, y = two_of("cauchy", 7, 9, seed)
        result = dkmd_2samp(x, y)
        assert np.sign(result.statistic) == np.sign(result.shift)
        expected = "x is larger" if result.shift > 0 else "y is larger"
        assert result.direction == expected
        back = dkmd_2samp(y, x)
        assert back.statistic == pytest.approx(-result.statistic, rel=1e-9)
        assert back.pvalue == pytest.approx(result.pvalue, rel=1e-9)


@given(st.floats(-1e6, 1e6), st.floats(-6, 6))
def test_units_do_not_matter(shift: float, exponent: float) -> None:
    x, y = two_of("lognormal", 50, 40)
    factor = 10.0**exponent
    result, moved = dkmd_2samp(x, y), dkmd_2samp(factor * x, factor * y)
    assert moved.pvalue == pytest.approx(result.pvalue, rel=1e-6)
    assert moved.shift == pytest.approx(factor * result.shift, rel=1e-6)
    offset = dkmd_2samp(x + shift, y + shift)
    assert offset.pvalue == pytest.approx(result.pvalue, rel=1e-4)
