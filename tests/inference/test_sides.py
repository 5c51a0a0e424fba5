"""Samples as atoms: sums of ψ, centres, quantiles, and two samples as one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from atoms import PSI, X, Y, sides
from naive import m_center as naive_center
from scipy.stats import PermutationMethod

from dkmd import Grid, Summary, Witness, dkmd_2samp
from dkmd.base.arrays import Array
from dkmd.inference.test.sides import (
    EMPTY_SIDE,
    Form,
    Side,
    m_center,
    means_of,
    quantile,
    side_of_sorted,
    side_sums,
)


@pytest.mark.parametrize("psi", [PSI, Witness(1.3, 0.6, kernel="gaussian")])
def test_means_over_a_side_are_those_of_its_values(psi: Witness) -> None:
    """ψ(∞) is 2 lengths for Laplace, where 2·2 = 2²; other kernels have other limits."""
    for values, side in zip((X, Y), sides(), strict=True):
        f = psi(values - 0.7)
        slopes = psi.derivative(values[np.isfinite(values)] - 0.7)
        mean, variance, slope, squares, cubes = means_of(side, 0.7, Form.of(psi))
        length = psi.length
        assert length * mean == pytest.approx(f.mean(), rel=1e-12)
        assert length**2 * variance == pytest.approx(f.var(ddof=1), rel=1e-12)
        assert slope == pytest.approx(slopes.sum() / values.size, rel=1e-12)
        assert length**2 * squares == pytest.approx(np.sum(f**2), rel=1e-12)
        assert length**3 * cubes == pytest.approx(np.sum(f**3), rel=1e-12)
        sums = side_sums(side, psi, 0.7)
        assert sums == pytest.approx((f.mean(), slope, f.var(ddof=1)), rel=1e-12)


def test_a_side_of_one_value_or_of_ties_has_no_variance() -> None:
    single, ties = sides([2.0], [3.1] * 9)
    assert math.isnan(means_of(single, 0.5, Form.of(PSI))[1])
    assert means_of(ties, 0.5, Form.of(PSI))[1] == 0.0
    nearly = sides([3.1, 3.1 + 1e-5] * 5, [0.0])[0]
    assert means_of(nearly, 0.5, Form.of(PSI))[1] > 0.0
    linear = Witness(1.0, 1.0, 0.0, weight="linear")
    assert math.isnan(side_sums(single, linear, 0.5).variance)
    pair = side_sums(sides([2.0, 6.0], [1.0])[0], linear, 0.5)
    slope = linear.derivative(0.0)
    assert pair == pytest.approx((3.5 * slope, slope, 8.0 * slope**2))


def test_bins_are_corrected_for_their_width() -> None:
    """Bins a tenth of ψ wide: sums are off by 1e-4 without ½ f''·v, and by 1e-6 with it."""
    rng = np.random.default_rng(3)
    centers = np.array([-1.2, 0.4, 0.9, 2.6])
    values = centers[:, None] + 0.13 * rng.uniform(-1.0, 1.0, (4, 500))
    side = Side(
        values.mean(axis=1), values.var(axis=1), np.full(4, 500.0), 0.0, 0.0, 2000.0
    )  # fmt: skip
    found = means_of(side, 0.2, Form.of(PSI))
    every = sides(values.ravel(), Y)[0]
    exact = means_of(every, 0.2, Form.of(PSI))
    plain = means_of(side._replace(variance=np.zeros(4)), 0.2, Form.of(PSI))
    for i in range(5):
        # third moments and fourth order are left out; the correction removes most of the error
        assert abs(found[i] - exact[i]) < 0.12 * abs(plain[i] - exact[i])


def test_sides_are_joined_and_resized() -> None:
    x, y = sides()
    both = x.joined(y)
    assert (both.size, both.plus_inf, both.minus_inf) == (12.0, 1.0, 1.0)
    assert (both.finite, x.finite, y.finite) == (10.0, 6.0, 4.0)
    assert (both.lean, x.lean, y.lean) == (0.0, 1.0, -1.0)
    assert both.offset.tolist() == sorted([*x.offset, *y.offset])
    assert (both.counts.size, both.variance.size) == (10, 10)
    half = x.scaled_to(3.5)
    assert (half.size, half.plus_inf, half.minus_inf) == (3.5, 0.5, 0.0)
    assert half.counts.sum() == pytest.approx(3.0)
    assert y.scaled_to(2.5).minus_inf == 0.5
    summary = Summary.of(X, Grid(1.0, 1e-6))
    again = Side.of(summary)
    assert sorted(again.offset + 1.0) == pytest.approx(sorted(set(X[np.isfinite(X)])))
    assert (again.size, again.plus_inf, again.minus_inf) == (7.0, 1.0, 0.0)


@pytest.mark.parametrize("near", [0.0, 300.0, -7e4])
def test_the_centre_is_the_root_wherever_the_search_begins(near: float) -> None:
    x, _ = sides()
    assert m_center(x, PSI, near=near) == pytest.approx(naive_center(X, PSI), abs=1e-10)


def test_a_gap_that_psi_does_not_bridge_has_its_centre_in_between() -> None:
    center = m_center(sides([0.0, 1.0, 1e6, 1e6 + 1.0], Y)[0], PSI)
    assert 1.0 < center < 1e6
    values = np.array([0.0] * 2 + [1e6] * 3)
    more = m_center(sides(values, Y)[0], PSI)
    assert more == pytest.approx(naive_center(values, PSI), rel=1e-9)
    assert more > 1e6 - 10.0


@pytest.mark.parametrize("psi", [PSI, Witness(weight="linear")])
def test_half_of_all_values_at_one_infinity_is_where_a_centre_ends(psi: Witness) -> None:
    inf = math.inf
    for values, center in (
        ([inf, inf, 1.0, 2.0], inf),  # exactly half
        ([-inf, -inf, 1.0, 2.0], -inf),
        ([inf, -inf, 1.0, 4.0], 2.5),
    ):
        assert m_center(sides(values, Y)[0], psi) == pytest.approx(center)
    assert math.isfinite(m_center(sides([inf, 3.0, 1.0, 2.0], Y)[0], psi))
    assert math.isnan(m_center(sides([inf, -inf], Y)[0], psi))


@pytest.mark.parametrize("level", [0.25, 0.5, 0.9])
def test_quantiles_of_atoms_are_those_of_repeated_values(level: float) -> None:
    values, counts = np.array([1.0, 2.0, 5.0, 9.0]), np.array([3.0, 1.0, 4.0, 2.0])
    every = np.repeat(values, counts.astype(int))
    expected = np.quantile(every, level, method="averaged_inverted_cdf")
    assert quantile(values, counts, level) == pytest.approx(expected)
    assert quantile(values, 7.0 * counts, level) == pytest.approx(expected)


def _side(values: Array, origin: float = 0.0) -> Side:
    return side_of_sorted(np.sort(values), origin)


def test_two_samples_as_one_are_in_order() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=30), rng.exponential(size=40)
    both = _side(x).joined(_side(y))
    assert (np.diff(both.offset) >= 0.0).all()
    assert both.median() == np.median(np.concatenate([x, y]))


def test_quantiles_count_infinite_values() -> None:
    side = _side(np.array([-math.inf, 3.0, 3.0, 7.0, math.inf, math.inf, math.inf, 1.0]), 2.0)
    assert [side.quantile(level) for level in (0.1, 0.2, 0.3, 0.5, 0.6, 0.9)] == [
        -math.inf, -1.0, 1.0, 3.0, 5.0, math.inf,
    ]  # fmt: skip
    assert math.isnan(EMPTY_SIDE.quantile(0.5))


def test_the_width_for_permutations_does_not_depend_on_labels() -> None:
    rng = np.random.default_rng(2)
    values = rng.exponential(size=60)
    widths = set()
    for _ in range(5):
        values = rng.permutation(values)
        found = dkmd_2samp(values[:25], values[25:], method=PermutationMethod(99, rng=1))
        widths.add(found.width)
    assert len(widths) == 1
